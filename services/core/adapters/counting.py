"""What is counted of a store before it is backed up and after it is restored: all that is somebody's. Canaries' facts come again by themselves."""

from services.core import models
from services.core.adapters.points import AnyOf, Only

PEOPLES = Only(none_of=[AnyOf("team", models.CANARY_TEAMS)])


def of_kind(kind: str) -> Only:
    """Notes, or passages."""
    return PEOPLES._replace(clauses=[(AnyOf("kind", (kind,)),)])

"""Who is shown what of a memory."""

import msgspec
import pytest

from services.core import api, models, rights
from tests.support.in_memory import memory

ANA = models.Principal("acme", "ana")
SAID = (
    models.Evidence("We use Postgres", "turn-1", 1.0, "session-1"),
    models.Evidence("Postgres, because I know it from my last job", "turn-2", 2.0, "session-2"),
)
PROOF = (models.Evidence("We use Postgres", "", 1.0, ""),)


@pytest.mark.parametrize("visibility", models.Visibility)
@pytest.mark.parametrize(
    ("viewer", "evidence"),
    [
        (ANA, SAID),
        (models.Principal("acme", "ana", models.Role.CURATOR), SAID),
        (models.Scope("acme", "ana"), SAID),
        (models.Principal("acme", "bob"), PROOF),
        (models.Principal("acme", "bob", models.Role.ADMIN), PROOF),
        (models.Scope("acme", "bob", None, curates=True), PROOF),
        (models.Principal("else", "ana"), PROOF),
        (rights.OPERATOR, PROOF),
    ],
)
def test_of_somebody_elses_memory_the_first_words_are_shown_and_not_where_they_were_said(
    viewer: api.Viewer, evidence: tuple[models.Evidence, ...], visibility: models.Visibility
) -> None:
    one = memory("We use Postgres", team="acme", owner="ana", visibility=visibility, evidence=SAID)
    shown = rights.shown(viewer, one)
    assert shown.evidence == evidence
    assert msgspec.structs.replace(shown, evidence=SAID) == one
    assert len(api.memory_of(one, viewer).evidence) == len(evidence)


def test_a_memory_without_words_is_shown_without() -> None:
    assert rights.shown(ANA, memory("We use Postgres", team="acme", owner="bob", evidence=())).evidence == ()

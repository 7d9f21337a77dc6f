"""What handlers are given: aliases of the dependencies that `app.create_app` provides by parameter name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from litestar.di import NamedDependency
from litestar.params import SkipValidation

from services.core import models
from services.proxy import access, gauges, parts
from services.proxy.web import sessions


@dataclass(frozen=True, slots=True)
class Watch:
    """What the operations routes look at beside the parts: a ping for each dependency, the number of jobs that wait for Redis here,
    what a self-test tries beside its own (each says what it found, or raises), and the gauges that are not read at each scrape."""

    pings: Mapping[str, Callable[[], None]]
    spooled: Callable[[], int]
    version: str
    selftests: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    mirror: gauges.Mirror = field(default_factory=gauges.Mirror)


Parts = NamedDependency[SkipValidation[parts.Parts]]
Watching = NamedDependency[SkipValidation[Watch]]
Doors = NamedDependency[SkipValidation[access.Access]]
Pages = NamedDependency[SkipValidation[sessions.Sessions]]
Principal = NamedDependency[SkipValidation[models.Principal]]

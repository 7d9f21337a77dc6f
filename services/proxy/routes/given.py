"""What handlers are given: aliases of the dependencies that `app.create_app` provides by parameter name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from litestar.di import NamedDependency
from litestar.params import SkipValidation

from services.core import models
from services.proxy import parts


@dataclass(frozen=True, slots=True)
class Watch:
    """What the operations routes look at beside the parts: a ping for each dependency, and the number of jobs that wait for Redis here."""

    pings: Mapping[str, Callable[[], None]]
    spooled: Callable[[], int]
    version: str


Parts = NamedDependency[SkipValidation[parts.Parts]]
Watching = NamedDependency[SkipValidation[Watch]]
Principal = NamedDependency[SkipValidation[models.Principal]]

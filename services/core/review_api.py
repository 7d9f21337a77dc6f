"""The JSON of what waits for a decision, and of deciding. Times are ISO 8601 in UTC."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from services.core import api, models

MOST_AT_ONCE = 500
DEFAULT_PAGE = 20
LARGEST_PAGE = 100

Choice = Literal["approve", "reject", "keep", "release"]
Relation = Literal["same", "contradicts", "similar"]
Outcome = Literal["done", "refused", "denied", "not_found"]


class Beside(api.Memory, frozen=True, kw_only=True):
    """A current memory that is near to one that waits. cosine: of the two texts. relation: the same statement; the same attribute with another
    value; neither."""

    cosine: float
    relation: Relation


class Waiting(msgspec.Struct, frozen=True):
    """may: what the caller may decide about it. beside: of what the team has (and, of what is only its owner's, of his own), nearest first: what it
    repeats, and what it contradicts. supersedes in the memory: what of its author's it took the place of already."""

    memory: api.Memory
    why: models.Why
    may: tuple[models.Decision, ...]
    beside: tuple[Beside, ...]


class Reviews(msgspec.Struct, frozen=True):
    """One page, newest first; `total` counts all pages. as_of: when it was read, to be sent along with a decision. notices: why nothing is shown
    beside."""

    waiting: tuple[Waiting, ...]
    total: int
    limit: int
    offset: int
    as_of: datetime
    notices: tuple[str, ...] = ()


class Decide(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of `POST /reviews`. force: approve also what the team has in the same words. as_of: of the list that the caller has looked at: what was
    worded anew since is refused."""

    decision: Choice
    ids: tuple[str, ...]
    force: bool = False
    as_of: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class Result(msgspec.Struct, frozen=True):
    """Of one memory. memory: as it is now, if it was done; message: why not, otherwise."""

    id: str
    outcome: Outcome
    message: str = ""
    memory: api.Memory | None = None


class Decided(msgspec.Struct, frozen=True):
    """event: its name in the audit log, by which it can be undone; "" if nothing was done, or could not be recorded."""

    event: str
    decision: models.Decision
    results: tuple[Result, ...]


def beside_of(memory: models.Memory, viewer: api.Viewer, cosine: float, relation: Relation) -> Beside:
    return Beside(**msgspec.structs.asdict(api.memory_of(memory, viewer)), cosine=round(cosine, 4), relation=relation)

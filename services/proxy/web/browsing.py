"""Which memories a list shows."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from typing import NamedTuple, get_args
from urllib.parse import urlencode

import msgspec

from services.core import api, models, ports, rights, walking
from services.proxy import auditing
from services.proxy.routes import memories
from services.proxy.web import visits

SIZE = 50
AGES: Mapping[str, str] = {"": "any age", "week": "from the last week", "month": "from the last month", "older": "older than three months"}
_WITHIN = {"week": timedelta(days=7), "month": timedelta(days=30)}
_OLDER = timedelta(days=91)


class Filters(msgspec.Struct, frozen=True):
    """age: a key of `AGES`. unused: only what has not been recalled since it was last said. page: from 1."""

    q: str = ""
    scope: str = "all"
    status: str = "current"
    category: str = ""
    project: str = ""
    age: str = ""
    unused: bool = False
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Filters":
        """What a query asks for; what makes no sense asks for nothing."""
        return cls(
            q=query.get("q", "").strip()[: api.LONGEST_QUERY],
            scope=_one_of(query.get("scope"), get_args(api.Whose), "all"),
            status=_one_of(query.get("status"), get_args(memories.Shown), "current"),
            category=_one_of(query.get("category"), [each.value for each in models.Category], ""),
            project=query.get("project", "").strip()[: api.LONGEST_NAME],
            age=_one_of(query.get("age"), [*AGES], ""),
            unused=query.get("unused", "") not in ("", "0"),
            page=visits.page_number(query.get("page", "")),
        )

    @property
    def active(self) -> bool:
        return self != Filters(q=self.q, page=self.page)

    def address(self, **changes: object) -> str:
        """Of the list with these filters, changed so."""
        wanted, plain = msgspec.structs.replace(self, **changes), Filters()
        given = {name: value for name in self.__struct_fields__ if (value := getattr(wanted, name)) != getattr(plain, name)}
        query = urlencode({name: int(value) if value is True else value for name, value in given.items()})
        return f"/ui?{query}" if query else "/ui"

    def takes(self, memory: api.Memory, now: float) -> bool:
        """now: epoch seconds."""
        age = api.time_of(now) - memory.created_at
        return (
            self.scope in ("all", memory.visibility)
            and self.status in ("all", memory.status)
            and self.category in ("", memory.category)
            and self.project in ("", memory.project)
            and (self.age not in _WITHIN or age <= _WITHIN[self.age])
            and (self.age != "older" or age > _OLDER)
            and not (self.unused and memory.accessed_at > max(memory.said_at, memory.reinforced_at, memory.created_at))
        )


class Listed(NamedTuple):
    """total: None if they were not all counted; more: whether there is a next page."""

    memories: Sequence[api.Memory]
    total: int | None
    more: bool


def listed(visit: visits.Visit, filters: Filters) -> Listed:
    """A page, newest first. What the store can't filter by is looked for among all."""
    offset = (filters.page - 1) * SIZE
    if not (filters.project or filters.age or filters.unused):
        category = models.Category(filters.category) if filters.category else None
        page: api.Memories = visit.ask(memories.listed, limit=SIZE, offset=offset, status=filters.status, category=category, whose=filters.scope)
        return Listed(page.memories, page.total, offset + len(page.memories) < page.total)
    found = [*islice(_taken(visit, filters), offset, offset + SIZE + 1)]
    auditing.note(visit.parts, visit.principal, ports.Act.READ, [one.id for one in found[:SIZE]], detail="list")
    return Listed(found[:SIZE], None, len(found) > SIZE)


def _taken(visit: visits.Visit, filters: Filters) -> Iterable[api.Memory]:
    where = ports.Where(
        status=None if filters.status == "all" else models.Status(filters.status),
        category=models.Category(filters.category) if filters.category else None,
        visibility=None if filters.scope == "all" else models.Visibility(filters.scope),
    )
    sight = rights.managed(visit.principal)
    every = (api.memory_of(memory, sight) for memory in walking.memories(visit.parts.store, sight, where))
    return (one for one in every if filters.takes(one, visit.now))


def _one_of(given: str | None, allowed: Sequence[str], otherwise: str) -> str:
    return given if given is not None and given in allowed else otherwise

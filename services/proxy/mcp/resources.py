"""What can be read by address: a memory, a note, and what is current for a project."""

from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import quote, unquote

from services.core import errors, models, ports
from services.core.recall import budget
from services.proxy import auditing, framing
from services.proxy.mcp import few, shown
from services.proxy.mcp.tools import Caller

MEMORY, NOTE, BRIEF = "brb://memory/", "brb://note/", "brb://brief/"
MARKDOWN = "text/markdown"

_LOOKED_AT = 500  # memories of which a brief shows those that fit
_HEADINGS = {
    models.Category.DECISION: "Decisions",
    models.Category.CONSTRAINT: "Constraints",
    models.Category.TECHNICAL_CHOICE: "Technical choices",
    models.Category.PROJECT_CONTEXT: "About the project",
    models.Category.TODO: "To do",
    models.Category.PREFERENCE: "Preferences",
    models.Category.PERSONAL_INFO: "About the people",
}


class Template(NamedTuple):
    uri: str
    name: str
    description: str


class _Line(NamedTuple):
    category: models.Category
    id: str
    text: str


TEMPLATES = (
    Template(MEMORY + "{id}", "memory", "A memory with the words that prove it."),
    Template(NOTE + "{id}", "note", "A note as a whole."),
    Template(BRIEF + "{project}", "brief", "What is current for a project (its folder, percent-encoded): decisions first, as much as fits."),
)


def brief_of(project: str) -> str:
    """The address of a project's brief."""
    return BRIEF + quote(project, safe="")


def read(caller: Caller, uri: str) -> str:
    """Markdown. `NotFound` for what is not there, or not for this caller."""
    for start, reader in _READERS.items():
        if uri.startswith(start):
            return reader(caller, unquote(uri.removeprefix(start)))
    raise errors.NotFound(f"there is no resource {uri[:200]}: addresses are {', '.join(one.uri for one in TEMPLATES)}")


def brief(caller: Caller, project: str) -> str:
    """What a call from the project may be told, by kind, the last confirmed first. Within the default budget: the kinds share it in turns."""
    now = caller.parts.clock()
    scope = models.Scope(caller.principal.team, caller.principal.user, frozenset({project}) if project else frozenset())
    found = [one for one in caller.parts.store.find(scope, limit=_LOOKED_AT) if one.valid_to is None or one.valid_to > now]
    found.sort(key=lambda one: (not one.project, -one.reinforced_at, one.id))
    texts = caller.clean([framing.visible(one.text) for one in found])
    lines = [_Line(one.category, one.id, _line(one, text)) for one, text in zip(found, texts, strict=True)]
    kept = budget.fit(_in_turns(lines), shown.DEFAULT_TOKENS, whole=lambda some: _brief(project, some), shorter=lambda *_: None)
    auditing.note(caller.parts, caller.principal, ports.Act.READ, [line.id for line in kept])
    return _brief(project, kept)


def _brief(project: str, lines: Sequence[_Line]) -> str:
    head = [f"# {framing.neutral(project) or 'No project'}", shown.RECORDS]
    sections = [
        "\n".join([f"## {heading}", *(line.text for line in lines if line.category is category)])
        for category, heading in _HEADINGS.items()
        if any(line.category is category for line in lines)
    ]
    return "\n\n".join([*head, *(sections or ["Nothing is remembered about it."])])


def _in_turns(lines: Sequence[_Line]) -> list[_Line]:
    """The first of each kind, then the second ones."""
    by_kind = [[line for line in lines if line.category is category] for category in _HEADINGS]
    longest = max(map(len, by_kind))
    return [of_kind[place] for place in range(longest) for of_kind in by_kind if place < len(of_kind)]


def _line(one: models.Memory, text: str) -> str:
    return f"- [{one.visibility}, {shown.named(one.owner)}, {shown.day(one.said_at)}] {framing.neutral(text)}"


def _item(kind: str) -> Callable[[Caller, str], str]:
    def reader(caller: Caller, one_id: str) -> str:
        one = few.item(caller, one_id)
        if one is None or one.kind != kind:
            raise errors.NotFound(f"there is no {kind} {one_id[:80]}")
        return few.told(few.whole([one], shown.MOST_TOKENS))

    return reader


_READERS: dict[str, Callable[[Caller, str], str]] = {MEMORY: _item("memory"), NOTE: _item("note"), BRIEF: brief}

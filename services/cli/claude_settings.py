"""Changing the environment in Claude Code's settings.json (pure): everything else of the file keeps its bytes."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from services.core import errors

ENV = "env"
HEADERS = "ANTHROPIC_CUSTOM_HEADERS"
KEY_HEADER = "X-BRB-Key"

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class Member(NamedTuple):
    """A key of an object and where it stands: from the quotation mark of the key to the end of the value."""

    key: str
    start: int
    value_start: int
    end: int


class Object(NamedTuple):
    """An object of the text, from its brace to behind its other one."""

    start: int
    members: tuple[Member, ...]
    end: int


def environment(text: str) -> dict[str, str]:
    """What the settings set; `BadInput` if they are not ones."""
    found = _root(text).get(ENV, {})
    if not isinstance(found, dict):
        raise errors.BadInput('"env" is no object')
    return {name: value for name, value in found.items() if isinstance(value, str)}


def wanted(url: str, key: str, now: Mapping[str, str]) -> dict[str, str]:
    """The variables that lead Claude Code through BRB. Headers that are sent already stay.

    ENABLE_TOOL_SEARCH: without it Claude Code loads the definition of every MCP tool up front behind an address that is not Anthropic's, as its
    documents say; BRB passes on what it takes.
    """
    values = {"ANTHROPIC_BASE_URL": url}
    if key:
        values[HEADERS] = "\n".join([*_without_key(now.get(HEADERS, "")), f"{KEY_HEADER}: {key}"])
    if "ENABLE_TOOL_SEARCH" not in now:
        values["ENABLE_TOOL_SEARCH"] = "true"
    return values


def set_variables(text: str, values: Mapping[str, str]) -> str:
    """The settings with these variables; `text` is "" for a file that is not there."""
    if not text.strip():
        return json.dumps({ENV: dict(values)}, indent=2) + "\n"
    environment(text)
    for name, value in values.items():
        if _member(text, _read(text, _start(text)), ENV) is None:
            text = _with(text, _read(text, _start(text)), ENV, "{}")
        text = _with(text, _env(text), name, json.dumps(value, ensure_ascii=False))
    return text


def undone(text: str, values: Mapping[str, str], before: str) -> tuple[str, list[str]]:
    """The settings without what was set (`values`), as far as it still stands there, and with what stood there before; and the names of the
    variables that somebody has changed since, which stay."""
    now, then = environment(text), environment(before) if before.strip() else {}
    changed: list[str] = []
    for name, value in values.items():
        if now.get(name) == value:
            text = _restored(text, name, then.get(name))
        elif name == HEADERS and name in now and _without_key(now[name]) != now[name].splitlines():
            rest = "\n".join(_without_key(now[name]))
            text = _restored(text, name, rest or None)
        elif name in now:
            changed.append(name)
    root = _read(text, _start(text))
    env = _member(text, root, ENV)
    if env is not None and not _env(text).members and (not before.strip() or ENV not in _root(before)):
        text = _without(text, root, env)
    return text, changed


def _restored(text: str, name: str, value: str | None) -> str:
    env = _env(text)
    if value is not None:
        return _with(text, env, name, json.dumps(value, ensure_ascii=False))
    member = _member(text, env, name)
    return text if member is None else _without(text, env, member)


def _without_key(headers: str) -> list[str]:
    return [line for line in headers.splitlines() if line.partition(":")[0].strip().lower() != KEY_HEADER.lower()]


def _root(text: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise errors.BadInput(f"it is no JSON ({error})") from None
    if not isinstance(found, dict):
        raise errors.BadInput("it holds no object")
    return found


def _start(text: str) -> int:
    return _space(text, 0)


def _env(text: str) -> Object:
    member = _member(text, _read(text, _start(text)), ENV)
    assert member is not None  # noqa: S101 - the callers have put or seen it there
    return _read(text, member.value_start)


def _member(text: str, within: Object, key: str) -> Member | None:
    """Of several of one name the last: so reads JSON's every reader."""
    return next((member for member in reversed(within.members) if member.key == key), None)


def _read(text: str, start: int) -> Object:
    members = tuple(_members(text, start))
    return Object(start, members, text.index("}", members[-1].end if members else start) + 1)


def _members(text: str, start: int) -> Iterator[Member]:
    place = _space(text, start + 1)
    while text[place] != "}":
        key, key_end = _DECODER.raw_decode(text, place)
        value_start = _space(text, _space(text, key_end) + 1)  # behind the colon
        _, end = _DECODER.raw_decode(text, value_start)
        yield Member(key, place, value_start, end)
        place = _space(text, end)
        if text[place] == ",":
            place = _space(text, place + 1)


def _space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    assert found is not None  # noqa: S101 - it matches nothing as well
    return found.end()


def _with(text: str, within: Object, key: str, value: str) -> str:
    """With the key's value replaced, or with the key at the end, set off as the keys before it are."""
    if (member := _member(text, within, key)) is not None:
        return text[: member.value_start] + value + text[member.end :]
    put = f"{json.dumps(key)}: {value}"
    if within.members:
        first, last = within.members[0], within.members[-1]
        gap = text[within.start + 1 : first.start]
        return text[: last.end] + "," + (gap or " ") + put + text[last.end :]
    line, inner, outer = _indents(text, within.start)
    inside = f"{line}{inner}{put}{line}{outer}"
    return text[: within.start + 1] + inside + text[within.end - 1 :]


def _indents(text: str, start: int) -> tuple[str, str, str]:
    """How a first key of an empty object is set off: the end of the line before it, and the blanks before it and before the closing brace."""
    outer = re.search(r"[ \t]*", text[text.rfind("\n", 0, start) + 1 :])
    blanks = outer.group() if outer else ""
    line = "\r\n" if "\r\n" in text else "\n"
    return line, blanks + (blanks or "  "), blanks


def _without(text: str, within: Object, member: Member) -> str:
    """With the comma and the white space that set it off."""
    place = within.members.index(member)
    if place > 0:
        return text[: within.members[place - 1].end] + text[member.end :]
    if len(within.members) > 1:
        return text[: member.start] + text[within.members[1].start :]
    return text[: within.start + 1] + text[within.end - 1 :]

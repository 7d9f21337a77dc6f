"""The YAML that a page may begin with, as JSON values."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import yaml

from services.core import models

_BLOCK = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LONGEST = 16_000  # characters
_MOST_VALUES = 1_000
_DEEPEST = 10
_DATES = ("updated", "modified", "last_modified", "lastmod", "date", "created")
_TAGS = ("tags", "tag", "keywords")


class FrontMatter(NamedTuple):
    """fields: as JSON values, dates in ISO form. body: the text behind it. notice: why it was left in the text, "" if it was not."""

    fields: dict[str, Any]
    body: str
    notice: str = ""


class _TooMuch(Exception):
    pass


class _Loader(yaml.SafeLoader):
    """Without aliases: no page needs them, and a few lines with them can stand for more than fits in any memory."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise _TooMuch
        return super().compose_node(parent, index)


def split(text: str) -> FrontMatter:
    """A block that is no YAML, or too large, stays text, and the notice says so. Two rules (`---`) around prose are no front matter."""
    block = _BLOCK.match(text)
    if block is None:
        return FrontMatter({}, text)
    if len(block[1]) > _LONGEST:
        return FrontMatter({}, text, "the front matter is too long to be one: taken as text")
    try:
        loaded = yaml.load(block[1], _Loader)  # noqa: S506 - a safe loader
        if not isinstance(loaded, dict):
            return FrontMatter({}, text if loaded is not None else text[block.end() :])
        return FrontMatter(_Values().of_mapping(loaded, 0), text[block.end() :])
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:  # the loader raises those of datetime, too
        where = getattr(error, "problem_mark", None)
        return FrontMatter({}, text, f"the front matter is no YAML{f' (line {where.line + 2})' if where else ''}: taken as text")
    except _TooMuch:
        return FrontMatter({}, text, "the front matter holds too much: taken as text")


def title(fields: Mapping[str, Any]) -> str:
    value = fields.get("title")
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def tags(fields: Mapping[str, Any]) -> list[str]:
    """Of a list, or of words separated by commas (or else by blanks)."""
    found: list[str] = []
    for value in (fields.get(name) for name in _TAGS):
        if isinstance(value, str):
            found += value.split(",") if "," in value else value.split()
        elif isinstance(value, list):
            found += [str(each) for each in value if isinstance(each, str | int | float)]
    return found


def described(fields: Mapping[str, Any]) -> dict[str, Any]:
    """All but title and tags."""
    return {name: value for name, value in fields.items() if name != "title" and name not in _TAGS}


def dated_at(fields: Mapping[str, Any]) -> float | None:
    """When the page says that it was written (epoch seconds): the last change before the beginning. Without a zone UTC is meant."""
    for name in _DATES:
        try:
            moment = datetime.fromisoformat(fields[name])
            return models.within_calendar((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
    return None


class _Values:
    """JSON values of YAML's, counted."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES

    def of_mapping(self, mapping: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        return {str(name): self.of(value, depth + 1) for name, value in mapping.items()}

    def of(self, value: object, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            raise _TooMuch
        if isinstance(value, dict):
            return self.of_mapping(value, depth)
        if isinstance(value, list | tuple | set):
            return [self.of(each, depth + 1) for each in value]
        if isinstance(value, datetime | date):
            return value.isoformat()
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int):
            return value if abs(value) < 2**63 else str(value)
        return value if isinstance(value, float) and math.isfinite(value) else str(value)

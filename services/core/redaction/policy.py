"""What is done with each kind of finding."""

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

import msgspec

from services.core.redaction.spans import PLACEHOLDER, Kind


class Action(StrEnum):
    """redact: a placeholder takes its place. keep: it stays. drop: as redact, and no fact that holds it is kept."""

    REDACT = "redact"
    KEEP = "keep"
    DROP = "drop"


_DEFAULTS = dict.fromkeys(Kind, Action.REDACT) | {Kind.PERSON: Action.KEEP}  # why: docs/adr/0006


class Policy(msgspec.Struct, frozen=True):
    """An action for each kind; those not named have their default."""

    actions: Mapping[Kind, Action] = {}

    def of(self, kind: Kind) -> Action:
        return self.actions.get(kind, _DEFAULTS[kind])

    def drops(self, text: str) -> bool:
        """Whether a redacted text holds the placeholder of something that no fact may hold."""
        return any(self.of(Kind[name]) is Action.DROP for name, _ in PLACEHOLDER.findall(text))


_Name = TypeVar("_Name", bound=StrEnum)

EVERYTHING = Policy(dict.fromkeys(Kind, Action.REDACT))


def parse(text: str) -> Policy:
    """Of `person=redact, ip=keep` or the same as a JSON object; `ValueError` says what is wrong with it."""
    actions: dict[Kind, Action] = {}
    for name, value in _pairs(text.strip()):
        kind, action = _one_of(Kind, name, "kind"), _one_of(Action, value, "action")
        if kind in actions:
            raise ValueError(f"{kind} is named twice")
        if kind is Kind.SECRET and action is Action.KEEP:
            raise ValueError("secret=keep is not possible: secrets are never stored")
        actions[kind] = action
    return Policy(actions)


def _pairs(text: str) -> list[tuple[str, str]]:
    if not text.startswith("{"):
        return [_pair(part) for part in re.split(r"[\s,;]+", text) if part]
    try:
        read = json.loads(text)
    except ValueError as error:
        raise ValueError(f"is no JSON object: {error}") from None
    return [(name, str(value)) for name, value in read.items()]


def _pair(part: str) -> tuple[str, str]:
    name, equals, value = part.partition("=")
    if not equals:
        raise ValueError(f"must be a list such as person=redact,ip=keep ({part!r} has no =)")
    return name, value


def _one_of(values: type[_Name], name: str, what: str) -> _Name:
    try:
        return values(name.strip().lower())
    except ValueError:
        raise ValueError(f"{name!r} is no {what}: {', '.join(values)} are") from None

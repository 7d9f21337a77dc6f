"""A proxy's parts that carry out a number of single writes, over all stores together, before the process is gone."""

import dataclasses
from collections.abc import Callable
from typing import Any

from services.proxy.parts import Parts

_WRITES = {
    "store": ("put", "update", "delete"),
    "notes": ("put", "prune", "delete"),
    "ledger": ("forget",),
    "book": ("add", "forget"),
    "tokens": ("revoke",),
    "turns": ("forget", "drop", "clear"),
    "uses": ("forget", "clear"),
    "audit": ("add",),
}
_ONE_BY_ONE = ("update", "delete")


class Killed(Exception):
    """The process is gone."""


class Life:
    """left: writes that are still carried out; None for all."""

    def __init__(self, left: int | None) -> None:
        self.left = left

    def spend(self) -> None:
        if self.left == 0:
            raise Killed
        self.left = None if self.left is None else self.left - 1


class _Dying:
    def __init__(self, real: Any, writes: tuple[str, ...], life: Life) -> None:
        self._real, self._writes, self._life = real, writes, life

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._real, name)
        return self._spending(name, real) if name in self._writes else real

    def _spending(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def spent(*before: Any, **named: Any) -> Any:
            *scope, many = before or (None,)
            if name not in _ONE_BY_ONE or many is None:
                self._life.spend()
                return real(*before, **named)
            done: list[Any] = []
            for one in many:
                self._life.spend()
                done.append(real(*scope, [one], **named))
            return sum(done) if name == "delete" else None

        return spent


def dying(parts: Parts, life: Life) -> Parts:
    return dataclasses.replace(parts, **{name: _Dying(getattr(parts, name), writes, life) for name, writes in _WRITES.items()})

"""`ports.Ledger` in memory: for tests, and for one process that need not replay after a restart."""

from collections.abc import Mapping, Sequence

import msgspec

from services.core import ports


class InMemoryLedger:
    def __init__(self) -> None:
        self._entries: dict[str, ports.Entry] = {}

    def read(self, keys: Sequence[str]) -> dict[str, ports.Entry]:
        return {key: self._entries[key] for key in keys if key in self._entries}

    def write(self, entries: Mapping[str, ports.Entry]) -> None:
        self._entries.update(entries)

    def forget(self, memory_ids: Sequence[str]) -> int:
        shown = [key for key, entry in self._entries.items() if not set(memory_ids).isdisjoint(entry.memories)]
        return len({msgspec.structs.replace(self._entries.pop(key), answered=False) for key in shown})

    def ping(self) -> None:
        return None

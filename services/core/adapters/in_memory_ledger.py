"""`ports.Ledger` in memory: for tests, and for one process that need not replay after a restart."""

from collections.abc import Mapping, Sequence

import msgspec

from services.core import ports


class InMemoryLedger:
    def __init__(self) -> None:
        self._entries: dict[str, ports.Entry] = {}
        self._forgotten: set[int] = set()  # hashes of entries as they were before their answer

    def read(self, keys: Sequence[str]) -> dict[str, ports.Entry]:
        return {key: self._entries[key] for key in keys if key in self._entries}

    def write(self, entries: Mapping[str, ports.Entry]) -> None:
        for key, entry in entries.items():
            self._entries[key] = ports.FORGOTTEN if ports.follows(entry) and hash(_asked(entry)) in self._forgotten else entry

    def forget(self, memory_ids: Sequence[str]) -> int:
        shown = {key: entry for key, entry in self._entries.items() if not set(memory_ids).isdisjoint(entry.memories)}
        for key, entry in shown.items():
            self._forgotten.add(hash(_asked(entry)))
            if entry.answered:
                self._entries[key] = ports.FORGOTTEN
            else:
                del self._entries[key]
        return len({_asked(entry) for entry in shown.values()})

    def ping(self) -> None:
        return None


def _asked(entry: ports.Entry) -> ports.Entry:
    """As it was before its answer."""
    return msgspec.structs.replace(entry, answered=False)

"""The embedded stores: memories and notes in Qdrant Edge, each in a folder of its own."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, Self

from services.core import models, ports
from services.core.adapters import edge_points, memory_payload, note_payload
from services.core.adapters.point_memories import PointMemories
from services.core.adapters.point_notes import PointNotes

_BATCH = 16
_NOTES_BATCH = 4

Embed = Callable[[Sequence[str]], list[list[float]]]


class CarryOver(Protocol):
    """`carry_over` or `carry_notes_over`."""

    def __call__(self, directory: Path, backups: Path, *, model: str, dimension: int, embed: Embed, progress: Callable[[float], None]) -> int: ...


class EdgeStore(PointMemories):
    """`ports.MemoryStore` in this process; see `edge_points`."""

    @classmethod
    def open(cls, directory: Path, *, model: str, dimension: int) -> Self:
        """Create or load. `WrongModel` if the folder holds memories of another model, `SetupError` if another process owns it or can't be used."""
        return cls(edge_points.EdgePoints.open(directory, memory_payload.LAYOUT, model=model, dimension=dimension))


class EdgeNoteStore(PointNotes):
    """`ports.NoteStore` in this process; see `edge_points`."""

    @classmethod
    def open(cls, directory: Path, *, model: str, dimension: int) -> Self:
        """Create or load. `WrongModel` if the folder holds notes of another model, `SetupError` if another process owns it or can't be used."""
        return cls(edge_points.EdgePoints.open(directory, note_payload.LAYOUT, model=model, dimension=dimension))


def carry_over(directory: Path, backups: Path, *, model: str, dimension: int, embed: Embed, progress: Callable[[float], None]) -> int:
    """Give the memories of the one collection in `directory`, of whatever model, the embeddings of this model; how many memories.

    The new collection is built beside and moved into place whole; the former one goes to `backups`. No process may have the store open.
    """
    with edge_points.replaced(directory, backups, model) as (payloads, draft):
        memories = [memory_payload.decode(payload) for payload in payloads]
        store = EdgeStore.open(draft, model=model, dimension=dimension)
        for batch in edge_points.in_batches(memories, _BATCH, progress):
            store.put([ports.Embedded(memory, vector) for memory, vector in zip(batch, embed([m.text for m in batch]), strict=True)])
        store.close()
    return len(memories)


def carry_notes_over(directory: Path, backups: Path, *, model: str, dimension: int, embed: Embed, progress: Callable[[float], None]) -> int:
    """The same for the notes in `directory`, with their passages; how many notes."""
    with edge_points.replaced(directory, backups, model) as (payloads, draft):
        notes: list[models.Note] = []
        passages: dict[str, list[models.Passage]] = {}
        for payload in payloads:
            if payload["kind"] == "note":
                notes.append(note_payload.decode_note(payload))
            else:
                passage = note_payload.decode_passage(payload)
                passages.setdefault(passage.note, []).append(passage)
        store = EdgeNoteStore.open(draft, model=model, dimension=dimension)
        store.put(notes)
        for batch in edge_points.in_batches(list(map(note_payload.in_order, passages.values())), _NOTES_BATCH, progress):
            vectors = iter(embed([passage.embedded for pieces in batch for passage in pieces]))
            store.put([], [one for pieces in batch for one in ports.EmbeddedPassage.of_note(pieces, [next(vectors) for _ in pieces])])
        store.close()
    return len(notes)

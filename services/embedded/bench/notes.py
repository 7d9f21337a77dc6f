"""Whether a folder that is indexed again after each of many commits is what indexing it afresh would make of it.

data: JSON lines: `{"type": "base", "files": {path: text}}`, then `{"type": "commit", "changes": [{"op": "A"|"M"|"D"|"R", "path", "content", ...}]}`
(R: `old` names what was renamed). The files are really written, walked and read; they go by the production code into a Qdrant
Edge in a temporary folder. Embeddings are made by hashing: it is about which passages are embedded, not about their vectors.

embedded_exact: after how many of the commits the number of embedded passages was that of the passages which were nowhere before.
"""

import contextlib
import hashlib
import math
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from services.core import errors, models, note_api, ports
from services.core.adapters import edge_points, note_payload
from services.core.adapters.in_memory_notes import InMemoryNoteStore
from services.core.adapters.point_notes import PointNotes
from services.core.notes.writing import NoteWriter
from services.embedded.bench import data as labelled
from services.embedded.bench import report
from services.indexer.notes import syncing

_DIMENSION = 384
_SCOPE = models.Scope(models.LOCAL.team, models.LOCAL.user, None)

Progress = Callable[[str, float], None]
Content = Mapping[str, object]


class HashedEmbedder:
    """Unit vectors that depend on the text alone."""

    model = "hashed"
    dimension = _DIMENSION

    def __init__(self) -> None:
        self.asked = 0

    def embed(self, texts: Sequence[str], kind: Literal["query", "document"], *, timeout_seconds: float | None = None) -> list[list[float]]:
        self.asked += len(texts)
        return [self._vector(text) for text in texts]

    def ping(self) -> None:
        return None

    def _vector(self, text: str) -> list[float]:
        drawn = random.Random(hashlib.sha256(text.encode()).digest())  # noqa: S311 - no secret
        numbers = [drawn.uniform(-1, 1) for _ in range(_DIMENSION)]
        length = math.sqrt(sum(number * number for number in numbers))
        return [number / length for number in numbers]


class Shelf:
    """A `syncing.Notebook` over an Edge store in a folder."""

    def __init__(self, folder: Path) -> None:
        self.embedder = HashedEmbedder()
        self._points = edge_points.EdgePoints.open(folder, note_payload.LAYOUT, model=self.embedder.model, dimension=_DIMENSION)
        self._store = PointNotes(self._points)
        self._writer = NoteWriter(self._store, self.embedder, owner_lock=lambda _: contextlib.nullcontext(), clock=time.time)

    def files(self, source: str) -> note_api.Files:
        found = self._store.find(_SCOPE, ports.NoteWhere(source=source), limit=100_000)
        return note_api.Files(tuple(note_api.File(one.id, one.path, one.digest, one.modified_at, one.updated_at) for one in found))

    def put(self, batch: note_api.PutNotes) -> note_api.PutResult:
        done = self._writer.put(models.LOCAL, batch.notes)
        return note_api.PutResult(tuple(done), self._writer.delete(models.LOCAL, batch.gone) if batch.gone else 0)

    def content(self) -> tuple[Content, set[str]]:
        """By path what a fresh index would make again (no ids, no times of writing), and the digests of all passages."""
        notes: dict[str, models.Note] = {}
        passages: dict[str, list[models.Passage]] = {}
        for payload in self._points.everything():
            if payload["kind"] == "note":
                note = note_payload.decode_note(payload)
                notes[note.id] = note
            else:
                passage = note_payload.decode_passage(payload)
                passages.setdefault(passage.note, []).append(passage)
        if orphans := passages.keys() - notes.keys():
            return {f"passages without a note: {sorted(orphans)}": None}, set()
        made = {note.path: (_shown(note), *map(_shown, note_payload.in_order(passages.get(note.id, [])))) for note in notes.values()}
        return made, {passage.digest for each in passages.values() for passage in each}

    def close(self) -> None:
        self._store.close()


class Step(NamedTuple):
    """One commit: the files that it changed, passages that are new and that were embedded, seconds, and whether the index was what it should be."""

    files: int
    new: int
    embedded: int
    seconds: float
    equal: bool


def measure(data: Path, progress: Progress) -> report.Report:
    [file, *_] = labelled.files(data, "notes", ("*.jsonl", "*.jsonl.gz"))
    rows = list(labelled.rows(file))
    if not rows or rows[0].get("type") != "base":
        raise errors.BadInput(f"{file} does not begin with a base")
    with tempfile.TemporaryDirectory(prefix="brb-notes-") as name:
        folder = Path(name).resolve()
        steps = list(_replayed(folder, rows, progress))
    return _report(steps)


def _replayed(folder: Path, rows: Sequence[Mapping[str, Any]], progress: Progress) -> Iterator[Step]:
    """The first step is the base."""
    root = folder / "files"
    root.mkdir()
    shelf, expected = Shelf(folder / "kept"), Expected(folder)
    known: set[str] = set()
    for number, row in enumerate(rows):
        changed = _applied(root, row)
        before = shelf.embedder.asked
        started = time.monotonic()
        outcome = syncing.sync(root, shelf, syncing.Settings(prune=True), progress=lambda _stage, _share: None)
        seconds = time.monotonic() - started
        content, digests = shelf.content()
        equal = content == expected.after(root, whole=number in (0, len(rows) - 1))
        assert outcome.embedded == shelf.embedder.asked - before  # noqa: S101 - what is told is what was done
        yield Step(changed, len(digests - known), outcome.embedded, seconds, equal)
        known = digests
        progress("Replaying commits", (number + 1) / len(rows))
    shelf.close()


class Expected:
    """What a fresh index holds: at the first and the last step it is made as a whole, by a sync of its own; in between of each file's part, which
    is made in a store in memory and kept for as long as the file stays as it is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: dict[tuple[str, float, str], object] = {}

    def after(self, root: Path, *, whole: bool) -> Content:
        if whole:
            shelf = Shelf(Path(tempfile.mkdtemp(prefix="fresh-", dir=self._folder)))
            syncing.sync(root, shelf, syncing.Settings(), progress=lambda _stage, _share: None)
            content, _ = shelf.content()
            shelf.close()
            return content
        files = [path for path in root.rglob("*.md") if path.is_file()]
        return {str(file.relative_to(root)): self._part(root, file) for file in files}

    def _part(self, root: Path, file: Path) -> object:
        path, text, modified_at = str(file.relative_to(root)), file.read_bytes().decode(), file.stat().st_mtime
        key = path, modified_at, text
        if key not in self._parts:
            embedder, store = HashedEmbedder(), InMemoryNoteStore(_DIMENSION)
            writer = NoteWriter(store, embedder, owner_lock=lambda _: contextlib.nullcontext(), clock=time.time)
            [put] = writer.put(models.LOCAL, [note_api.PutNote(text=text, source=str(root), path=path, modified_at=modified_at)])
            note = store.get(_SCOPE, put.id)
            assert note is not None  # noqa: S101 - just put
            self._parts[key] = (_shown(note), *map(_shown, store.passages(_SCOPE, put.id)))
        return self._parts[key]


def _applied(root: Path, row: Mapping[str, Any]) -> int:
    """How many files were written, moved or erased."""
    try:
        if row["type"] == "base":
            for path, text in row["files"].items():
                _write(root / path, text)
            return len(row["files"])
        for change in row["changes"]:
            _change(root, change)
        return len(row["changes"])
    except (KeyError, TypeError) as error:
        raise errors.BadInput(f"a row needs type, and files or changes with op and path ({error})") from None


def _change(root: Path, change: Mapping[str, Any]) -> None:
    path = root / change["path"]
    if change["op"] == "D":
        path.unlink(missing_ok=True)
        return
    former = change.get("old")
    if former and (root / former).exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        (root / former).rename(path)
    if change.get("content") is not None and (not path.exists() or path.read_text("utf-8") != change["content"]):
        _write(path, change["content"])


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8", newline="")


def _shown(one: models.Note | models.Passage) -> tuple[object, ...]:
    left_out = {"id", "note", "created_at", "updated_at"}
    return tuple(getattr(one, field) for field in one.__struct_fields__ if field not in left_out)


def _report(steps: Sequence[Step]) -> report.Report:
    base, commits = steps[0], steps[1:]
    if not commits:
        raise errors.BadInput("the data holds no commits")
    seconds = [step.seconds for step in commits]
    figures = {
        "equal": sum(step.equal for step in steps),
        "steps": len(steps),
        "embedded_exact": sum(step.embedded == step.new for step in steps),
        "base.files": base.files,
        "base.embedded": base.embedded,
        "base.seconds": base.seconds,
        "commits.files": sum(step.files for step in commits),
        "commits.embedded": sum(step.embedded for step in commits),
        "commit.p50_ms": report.p50_ms(seconds),
        "commit.p95_ms": report.p95_ms(seconds),
    }
    rows = (
        ("equal to a fresh index", f"{sum(step.equal for step in steps)} of {len(steps)}"),
        ("embedded exactly what was new", f"{sum(step.embedded == step.new for step in steps)} of {len(steps)}"),
        ("passages embedded: base, then all commits", f"{base.embedded}, {sum(step.embedded for step in commits)}"),
        ("time of a commit (p50, p95)", f"{report.p50_ms(seconds):.0f} ms, {report.p95_ms(seconds):.0f} ms"),
    )
    return report.Report(
        name="notes: a folder indexed again after each commit",
        figures=report.rounded(figures),
        n=len(commits),
        notes=("times are without embedding: vectors come from a hash",),
        columns=("what", "#figure"),
        rows=rows,
    )

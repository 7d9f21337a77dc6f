"""Making the notes what the files of a folder are, and keeping them so."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import NamedTuple, Protocol

from services.core import errors, models, note_api
from services.core.notes.writing import digest_of
from services.indexer.notes import planning, walking

Progress = Callable[[str, float], None]
Say = Callable[[str], None]

_BATCH_NOTES = 16
_BATCH_CHARACTERS = 50_000  # what is lost when a request fails
_LOOK_AGAIN_SECONDS = 60.0  # for what no event tells of: behind links, on network drives


class Notebook(Protocol):
    """Where the notes are kept."""

    def files(self, source: str) -> note_api.Files: ...

    def put(self, batch: note_api.PutNotes) -> note_api.PutResult: ...


class Outcome(NamedTuple):
    """How many files were new, changed, moved to another path, touched (another time, the same content), gone, the same; and how many passages
    the written notes have, and were embedded for it. skipped: with a word each. notices: path and what was not understood."""

    new: int
    changed: int
    moved: int
    touched: int
    gone: int
    same: int
    passages: int
    embedded: int
    skipped: tuple[walking.Skipped, ...]
    notices: tuple[tuple[str, str], ...]

    @property
    def did_anything(self) -> bool:
        return bool(self.new or self.changed or self.moved or self.touched or self.gone)


class Settings(NamedTuple):
    """project, visibility: of the notes. prune: erase all notes of a folder that holds none (any more)."""

    project: str = ""
    visibility: models.Visibility = models.Visibility.PRIVATE
    prune: bool = False


def sync(root: Path, notebook: Notebook, settings: Settings, *, progress: Progress) -> Outcome:
    """`BadInput` if `root` is no folder, or holds nothing though notes of it are known (a disk that is not there must not erase them)."""
    source = source_of(root)
    walk = walking.walk(Path(source))
    known = notebook.files(source).files
    if known and not walk.found and not settings.prune:
        held = f"{source} holds no markdown file, but {len(known)} notes of it are known"
        raise errors.BadInput(f"{held}: is it the right folder? To erase them say --prune")
    digests: dict[str, str] = {}
    unread: list[walking.Skipped] = []
    for one in planning.to_read(known, walk.found):
        text = walking.read(one)
        if isinstance(text, walking.Skipped):
            unread.append(text)
        else:
            digests[one.path] = digest_of(text)
    skipped = (*walk.skipped, *unread)
    plan = planning.plan(known, _without(walk.found, unread), skipped, digests)
    return _carried_out(plan, source, notebook, settings, skipped, progress)


def forget(root: Path, notebook: Notebook) -> int:
    """Erase all notes of a folder, which need not be there any more; how many."""
    ids = [file.id for file in notebook.files(_path(root)).files]
    return notebook.put(note_api.PutNotes(gone=tuple(ids))).deleted if ids else 0


def watch(
    root: Path, notebook: Notebook, settings: Settings, *, progress: Progress, say: Say, told: Callable[[Outcome], None], stop: Event | None = None
) -> None:
    """Sync whenever something changes, until `stop` is set or Ctrl-C. told: of every sync that did something. BRB may go away in between."""
    import watchfiles

    source = source_of(root)
    changes = watchfiles.watch(
        source,
        stop_event=stop,
        rust_timeout=int(_LOOK_AGAIN_SECONDS * 1000),
        yield_on_timeout=True,
        raise_interrupt=False,
        ignore_permission_denied=True,
    )
    for _ in changes:
        try:
            outcome = sync(root, notebook, settings, progress=progress)
        except (errors.Transient, errors.BadInput) as error:
            say(f"not now: {error}")
            continue
        if outcome.did_anything:
            told(outcome)


def source_of(root: Path) -> str:
    """What a folder is called in its notes: its real path."""
    if not root.expanduser().is_dir():
        raise errors.BadInput(f"{root} is no folder")
    return _path(root)


def _path(root: Path) -> str:
    return str(root.expanduser().resolve())


def _without(found: Sequence[walking.Found], skipped: Sequence[walking.Skipped]) -> list[walking.Found]:
    """A file that can't be read counts as gone, unless its skipping says that it can't be told."""
    left_out = {one.path for one in skipped}
    return [one for one in found if one.path not in left_out]


def _carried_out(
    plan: planning.Plan, source: str, notebook: Notebook, settings: Settings, skipped: tuple[walking.Skipped, ...], progress: Progress
) -> Outcome:
    """Puts before what goes: a piece that went to another file is known still."""
    results: list[note_api.Put] = []
    late: list[walking.Skipped] = []
    for batch in _batches(plan.puts, source, settings, late):
        results += notebook.put(note_api.PutNotes(notes=tuple(batch))).notes
        progress("indexing notes", (len(results) + len(late)) / len(plan.puts))
    if plan.gone:
        notebook.put(note_api.PutNotes(gone=plan.gone))
    return Outcome(
        new=len(plan.new),
        changed=len(plan.changed),
        moved=len(plan.moved),
        touched=len(plan.touched),
        gone=len(plan.gone),
        same=plan.same,
        passages=sum(one.passages for one in results),
        embedded=sum(one.embedded for one in results),
        skipped=(*skipped, *late),
        notices=tuple((one.path, notice) for one in results for notice in one.notices),
    )


def _batches(puts: Sequence[planning.Put], source: str, settings: Settings, late: list[walking.Skipped]) -> Iterator[list[note_api.PutNote]]:
    """Read again, so that a large folder is never held as a whole. late: gets what can't be read any more."""
    batch: list[note_api.PutNote] = []
    size = 0
    for put in puts:
        text = walking.read(put.found)
        if isinstance(text, walking.Skipped):
            late.append(text)
            continue
        if batch and (len(batch) == _BATCH_NOTES or size + len(text) > _BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(_note(put, text, source, settings))
        size += len(text)
    if batch:
        yield batch


def _note(put: planning.Put, text: str, source: str, settings: Settings) -> note_api.PutNote:
    return note_api.PutNote(
        text=text,
        id=put.id,
        source=source,
        path=put.found.path,
        project=settings.project,
        visibility=settings.visibility,
        modified_at=put.found.modified_at,
        digest=digest_of(text),
    )

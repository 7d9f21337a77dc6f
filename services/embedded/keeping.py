"""What backing up and restoring have in common: where all that a BRB keeps is, and how much of it there is."""

import fcntl
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import redis

from services.core import backup, config, errors, model_lock
from services.core.adapters import edge_copies, redis_client, vectors
from services.core.adapters.counting import PEOPLES, of_kind
from services.embedded import models, supervisor

if TYPE_CHECKING:
    from services.core.adapters.server_snapshots import Collections

_LOCK = "lock"
STORE, NOTES = "store", "notes"
"""The folders of an archive, for what is in those of the same settings."""


def folders(settings: config.Settings) -> dict[str, Path]:
    return {STORE: settings.store_dir, NOTES: settings.notes_dir}


def counted(store: Path, notes: Path) -> backup.Counts:
    """What is in Qdrant Edge's folders. Nobody may have them open."""
    return backup.Counts(
        memories=edge_copies.count(store, PEOPLES),
        notes=edge_copies.count(notes, of_kind("note")),
        passages=edge_copies.count(notes, of_kind("passage")),
    )


@contextmanager
def collections(settings: config.Settings, manifest: backup.Manifest | None = None) -> "Iterator[Collections]":
    """Those on the Qdrant server: of the model of the manifest, else of the settings."""
    from services.core.adapters import qdrant_server, server_snapshots  # their client takes seconds to import

    model, dimension = (manifest.model, manifest.dimension) if manifest else (settings.embed_model, model_lock.embedding(settings).dimension)
    spaces = qdrant_server.memories(model, dimension), qdrant_server.notes(model, dimension)
    with closing(vectors.qdrant_client(settings)) as client:
        yield server_snapshots.Collections(client, settings.qdrant_url or "", vectors.qdrant_key(settings), *spaces)


@contextmanager
def broker(settings: config.Settings, say: supervisor.Say, progress: models.Progress) -> Iterator[redis.Redis]:
    """The Redis of this BRB; one of its own that does not run is started for it."""
    with ExitStack() as stack:
        if settings.redis_url is None and supervisor.state(settings) is None:
            stack.enter_context(supervisor.alone(settings, "redis", say=say, progress=progress))
        yield stack.enter_context(closing(redis_client.connect(settings.redis_address, timeout_seconds=30)))


@contextmanager
def staged(beside: Path, name: str) -> Iterator[Path]:
    """A folder for work in progress, which goes with it; what one of that name that was killed has left there goes now."""
    try:
        for left in beside.glob(f".brb-{name}-*"):
            _remove_left(left)
        outer = Path(tempfile.mkdtemp(prefix=f".brb-{name}-", dir=beside))
    except OSError as error:
        raise errors.SetupError(f"can't write to {beside}: {error.strerror}") from None
    try:
        with (outer / _LOCK).open("x") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (outer / "content").mkdir()
            yield outer / "content"
    except OSError as error:
        raise errors.SetupError(f"can't write to {beside}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(outer, ignore_errors=True)


def _remove_left(folder: Path) -> None:
    """Unless somebody works in it."""
    try:
        with (folder / _LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except (FileNotFoundError, PermissionError, BlockingIOError):  # it begins or ends now, is another user's, or goes on
        return


def stamp() -> str:
    """For names of what is put aside."""
    return time.strftime("%Y%m%dT%H%M%S", time.gmtime())

"""`brb backup`: all that a BRB keeps, in one file (`core.backup`), while it runs or not.

Taken in an order in which nothing is lost: what waits on this machine, then Redis, then the stores. A job that was done in between is done again by
whoever restores it, which changes nothing; the other way round one would be missing.
"""

import os
import shutil
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import redis

from services.core import backup, config, errors, model_lock, seal
from services.core.adapters import edge_copies, points, redis_client, redis_replication, store_gate
from services.embedded import keeping, models, supervisor

_SECRETS = {"redis_url", "qdrant_api_key", "key", "secret_key"}


class Made(NamedTuple):
    """held_seconds: for how long writers waited; recalls and conversations went on."""

    manifest: backup.Manifest
    size: int
    held_seconds: float


def run(settings: config.Settings, to: Path, *, with_key: bool, say: supervisor.Say, progress: models.Progress) -> Made:
    """Back up to a file, which appears when it is whole. `SetupError` if it is there already, or can't be written."""
    if to.exists():
        raise errors.SetupError(f"{to} is there already: a backup overwrites nothing, choose another name")
    secret = seal.kept_secret(settings)
    if secret is None:
        raise errors.NotFound(f"there is nothing to back up in {settings.data}: BRB was not started there yet")
    with keeping.staged(to.parent, to.name) as folder, keeping.broker(settings, say, progress) as client:
        progress("backing up", 0.0)
        _copy_spool(settings.spool_path, folder / backup.SPOOL)
        redis_replication.take(client, folder / backup.REDIS)
        progress("backing up", 0.4)
        held, counts = _take_collections(settings, folder) if settings.qdrant_url else _take_files(settings, client, folder)
        if settings.erased_path.exists():
            shutil.copyfile(settings.erased_path, folder / backup.ERASED)
        (folder / backup.SETTINGS).write_bytes(msgspec.json.format(msgspec.json.encode(public(settings))))
        if with_key:
            (folder / backup.KEY).write_text(secret)
        progress("backing up", 0.7)
        manifest = _manifest(settings, secret, client, counts, folder)
        size = _written(folder, manifest, to)
        progress("backing up", 1.0)
    return Made(manifest, size, held)


def public(settings: config.Settings) -> dict[str, Any]:
    """What is set, without what opens anything."""
    return settings.model_dump(mode="json", exclude_defaults=True, exclude=_SECRETS)


def _take_files(settings: config.Settings, client: redis.Redis, folder: Path) -> tuple[float, backup.Counts]:
    with store_gate.held(client) as still_held:
        started = time.monotonic()
        for name, source in keeping.folders(settings).items():
            if source.is_dir():
                edge_copies.copied(source, folder / name)
        if not still_held():
            raise errors.Unavailable("the store", "its writers did not wait long enough: try again")
        took = time.monotonic() - started
    return took, keeping.counted(folder / keeping.STORE, folder / keeping.NOTES)  # opened once: what can't be restored is no backup


def _take_collections(settings: config.Settings, folder: Path) -> tuple[float, backup.Counts]:
    """The server does it while it is written to."""
    with keeping.collections(settings) as collections:
        for name, space in ((keeping.STORE, collections.memories), (keeping.NOTES, collections.notes)):
            (folder / name).mkdir()
            collections.take(space, folder / name / backup.SNAPSHOT)
        return 0.0, collections.counts()


def _copy_spool(source: Path, to: Path) -> None:
    """SQLite's own way: whole, whoever writes meanwhile."""
    if source.exists():
        with closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as there, closing(sqlite3.connect(to)) as here:
            there.backup(here)


def _manifest(settings: config.Settings, secret: str, client: redis.Redis, counts: backup.Counts, folder: Path) -> backup.Manifest:
    return backup.Manifest(
        brb=metadata.version("brb"),
        made_at=datetime.now(UTC),
        store="server" if settings.qdrant_url else "edge",
        model=settings.embed_model,
        dimension=model_lock.embedding(settings).dimension,
        schema_version=points.SCHEMA_VERSION,
        redis=redis_client.version(client),
        key=backup.key_of(secret),
        counts=counts,
        files=backup.described(folder),
    )


def _written(folder: Path, manifest: backup.Manifest, to: Path) -> int:
    draft = folder.with_name(f"{folder.name}.tar")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            backup.write(folder, manifest, stream, compressed=to.suffix in (".gz", ".tgz"))
            stream.flush()
            os.fsync(stream.fileno())
        draft.rename(to)
    finally:
        draft.unlink(missing_ok=True)
    return to.stat().st_size

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
from services.core.adapters import edge_copies, edge_points, points, redis_client, redis_replication, store_gate
from services.embedded import keeping, models, supervisor

_SECRETS = {name for name, field in config.Settings.model_fields.items() if "SecretStr" in str(field.annotation)}


class _Taken(NamedTuple):
    """Of the stores. of: what they were embedded with and written by."""

    held_seconds: float
    counts: backup.Counts
    of: edge_points.Collection


class Made(NamedTuple):
    """held_seconds: for how long writers waited; recalls and conversations went on."""

    manifest: backup.Manifest
    size: int
    held_seconds: float


def run(settings: config.Settings, to: Path, *, with_key: bool, say: supervisor.Say, progress: models.Progress) -> Made:
    """Back up to a file, which appears when it is whole. `SetupError` if it is there already, or can't be written."""
    if to.exists():
        raise errors.SetupError(f"{to} is there already: a backup overwrites nothing, choose another name")
    backup.check_whole(settings.data)
    secret = seal.kept_secret(settings)
    if secret is None:
        raise errors.NotFound(f"there is nothing to back up in {settings.data}: BRB was not started there yet")
    with keeping.staged(to.parent, "backup") as folder, keeping.broker(settings, say, progress) as client:
        progress("backing up", 0.0)
        _copy_spool(settings.spool_path, folder / backup.SPOOL)
        redis_replication.take(client, folder / backup.REDIS)
        progress("backing up", 0.4)
        taken = _take_collections(settings, client, folder) if settings.qdrant_url else _take_files(settings, client, folder)
        if settings.erased_path.exists():
            shutil.copyfile(settings.erased_path, folder / backup.ERASED)
        (folder / backup.SETTINGS).write_bytes(msgspec.json.format(msgspec.json.encode(public(settings))))
        if with_key:
            (folder / backup.KEY).write_text(secret)
        progress("backing up", 0.7)
        manifest = _manifest(settings, secret, client, taken, folder)
        size = _written(folder, manifest, to)
        progress("backing up", 1.0)
    return Made(manifest, size, taken.held_seconds)


def public(settings: config.Settings) -> dict[str, Any]:
    """What is set, without what opens anything."""
    return settings.model_dump(mode="json", exclude_defaults=True, exclude=_SECRETS)


def _take_files(settings: config.Settings, client: redis.Redis, folder: Path) -> _Taken:
    copied: list[edge_points.Collection] = []
    with store_gate.held(client) as still_held:
        started = time.monotonic()
        for name, source in keeping.folders(settings).items():
            if source.is_dir():
                copied += edge_copies.copied(source, folder / name)
        if not still_held():
            raise errors.Unavailable("the store", "its writers did not wait long enough: try again")
        took = time.monotonic() - started
    counts = keeping.counted(folder / keeping.STORE, folder / keeping.NOTES)  # opened once: what can't be restored is no backup
    return _Taken(took, counts, copied[0] if copied else _collection(settings))


def _take_collections(settings: config.Settings, client: redis.Redis, folder: Path) -> _Taken:
    """The server does it while it is written to. `SetupError` or `WrongModel` unless the configured model is the one in use: it would be a backup of
    nothing, or of former times."""
    if (writers := store_gate.writers(client)) and writers != settings.embed_model:
        raise errors.SetupError(f"the model in use is {writers}, not {settings.embed_model}: set BRB_EMBED_MODEL={writers}")
    with keeping.collections(settings) as collections:
        for name, space in ((keeping.STORE, collections.memories), (keeping.NOTES, collections.notes)):
            (folder / name).mkdir()
            collections.take(space, folder / name / backup.SNAPSHOT)
        return _Taken(0.0, collections.counts(), _collection(settings))


def _collection(settings: config.Settings) -> edge_points.Collection:
    return edge_points.Collection(settings.embed_model, model_lock.embedding(settings).dimension, points.SCHEMA_VERSION)


def _copy_spool(source: Path, to: Path) -> None:
    """SQLite's own way: whole, whoever writes meanwhile."""
    if not source.exists():
        return
    try:
        with closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True)) as there, closing(sqlite3.connect(to)) as here:
            there.backup(here)
    except sqlite3.Error as error:
        raise errors.SetupError(f"{source} can't be copied: {error}") from error


def _manifest(settings: config.Settings, secret: str, client: redis.Redis, taken: _Taken, folder: Path) -> backup.Manifest:
    return backup.Manifest(
        brb=metadata.version("brb"),
        made_at=datetime.now(UTC),
        store="server" if settings.qdrant_url else "edge",
        model=taken.of.model,
        dimension=taken.of.dimension,
        schema_version=taken.of.schema_version,
        redis=redis_client.version(client),
        key=backup.key_of(secret),
        counts=taken.counts,
        files=backup.described(folder),
    )


def _written(folder: Path, manifest: backup.Manifest, to: Path) -> int:
    draft = folder.with_name("draft")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        backup.write(folder, manifest, stream, compressed=to.suffix in (".gz", ".tgz"))
        stream.flush()
        os.fsync(stream.fileno())
    if to.exists():  # by now: another one was as slow
        raise errors.SetupError(f"{to} is there already: a backup overwrites nothing, choose another name")
    draft.rename(to)
    return to.stat().st_size

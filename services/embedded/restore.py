"""`brb restore`: out of a backup again, into a BRB that has nothing yet.

BRB must be stopped; a Qdrant server and a Redis that are not BRB's own must run. Every byte is checked before anything is changed, and what is there
already is never written over: with `force` it is put aside.
"""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import redis

from services.core import backup, config, errors, seal
from services.core.adapters import points, redis_client, redis_replication
from services.embedded import keeping, models, supervisor

_KEPT = ("brb:jobs:", "brb:ledger:", "brb:block", "brb:tokens", "brb:audit:", "brb:told:", "brb:uses:")
"""What is in a Redis that somebody has used."""


class Restored(NamedTuple):
    """kept: where what was there before is now, "" if there was nothing. notices: what is to be seen to before BRB is started."""

    manifest: backup.Manifest
    kept: str
    notices: tuple[str, ...]


def run(settings: config.Settings, file: Path, *, dry_run: bool, force: bool, say: supervisor.Say, progress: models.Progress) -> Restored:
    """`BadInput` for a damaged backup or one of a later version. `SetupError` for one that does not fit, or if there is something already."""
    progress("restoring", 0.0)
    manifest = backup.read(file)
    notices = fitting(manifest, "server" if settings.qdrant_url else "edge", settings.embed_model)
    if dry_run:
        backup.verified(file)
        progress("restoring", 1.0)
        why = _locked_out(settings, manifest)
        return Restored(manifest, "", (*notices, why) if why else notices)
    if supervisor.state(settings) is not None:
        raise errors.SetupError("BRB is running: stop it first (`brb down`)")
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with keeping.staged(settings.data, "restore") as folder:
        backup.verified(file, folder)
        progress("restoring", 0.4)
        if why := _locked_out(settings, manifest):
            raise errors.SetupError(why)
        here = keeping.counted(folder / keeping.STORE, folder / keeping.NOTES)  # what does not open is noticed before anything is changed
        with keeping.broker(settings, say, progress) as client:
            if settings.redis_url:  # its own is of those processes only that `broker` knows to be stopped
                redis_replication.freed(client)
                _check_stopped(client)
            kept = _put_aside(settings, client, force=force)
            (settings.data / backup.UNFINISHED).touch()
            _put_key(settings, manifest, folder, kept)
            redis_replication.give(client, folder / backup.REDIS)
        progress("restoring", 0.7)
        counts = _give_collections(settings, manifest, folder) if settings.qdrant_url else _give_files(settings, folder, here)
        for name, place in ((backup.SPOOL, settings.spool_path), (backup.ERASED, settings.erased_path)):
            if (folder / name).exists():
                (folder / name).replace(place)
        progress("restoring", 1.0)
    if counts != manifest.counts:
        raise errors.SetupError(f"there is not what was backed up: {counts}, not {manifest.counts}. Restore another backup, with --force")
    (settings.data / backup.UNFINISHED).unlink(missing_ok=True)
    return Restored(manifest, kept, (*notices, *_owned(settings.data)))


def _owned(data: Path) -> list[str]:
    owner = data.stat().st_uid
    if os.geteuid() == owner:
        return []
    return [f"{data} belongs to the user {owner}, what was restored to {os.geteuid()}: give it to who runs BRB (chown -R)"]


def fitting(manifest: backup.Manifest, store: str, model: str) -> tuple[str, ...]:
    """Notices. `SetupError` if a BRB with such a store can't do anything with it. model: the configured one."""
    if manifest.store != store:
        other = "a Qdrant server: set BRB_QDRANT_URL" if manifest.store == "server" else "a BRB without a Qdrant server: unset BRB_QDRANT_URL"
        raise errors.SetupError(f"it is the backup of {other}. From one to the other go `brb memories export` and `brb memories import`")
    if manifest.schema_version > points.SCHEMA_VERSION:
        raise errors.SetupError(f"it was written by a later BRB ({manifest.brb}, schema {manifest.schema_version}): use that version")
    notices = []
    if manifest.schema_version < points.SCHEMA_VERSION:
        notices.append(f"it is of an earlier version ({manifest.brb}): run `brb reindex` before BRB is started")
    if manifest.model != model:
        notices.append(f"it is of the embedding model {manifest.model}: set BRB_EMBED_MODEL={manifest.model}, or run `brb reindex`")
    return tuple(notices)


def _fits(settings: config.Settings, manifest: backup.Manifest) -> bool:
    """Whether the key that is here opens it."""
    here = seal.kept_secret(settings)
    return here is not None and backup.key_of(here) == manifest.key


def _locked_out(settings: config.Settings, manifest: backup.Manifest) -> str:
    """Why what is in it could not be opened here, "" if it can: its key must be here, or come with it."""
    if _fits(settings, manifest):
        return ""
    if backup.KEY not in manifest.files:
        return (
            "what is in it is sealed with another key, and it does not hold that key: put the former secret.key into the data folder, "
            "or set BRB_SECRET_KEY to it (ops/runbook.md, Lost key)"
        )
    if settings.secret_key is not None:
        return "BRB_SECRET_KEY is another key than that of the backup: unset it, or set it to the former one"
    return ""


def _put_key(settings: config.Settings, manifest: backup.Manifest, folder: Path, kept: str) -> None:
    """Unless it is here. The former one is put to what it has sealed."""
    if _fits(settings, manifest):
        return
    place = settings.data / "secret.key"
    if place.exists():
        place.rename(Path(kept) / place.name if kept else place.with_name(f"secret.key.{keeping.stamp()}"))
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as key:
        key.write((folder / backup.KEY).read_text())


def _check_stopped(client: redis.Redis) -> None:
    with redis_client.translated():
        alive = sorted(name.decode().rpartition(":")[2] for name in client.scan_iter("brb:alive:*", count=1000))
    if alive:
        raise errors.SetupError(f"BRB is running ({', '.join(alive)}): stop it, and try again 20 seconds later")


def _put_aside(settings: config.Settings, client: redis.Redis, *, force: bool) -> str:
    """Where what is there was put, "" if there is nothing. `SetupError` if there is and nobody said `force`. A collection on a server is put aside
    when another one takes its place."""
    there = {"jobs, conversations or tokens": _used(client), "memories or notes": _holds(settings), "waiting turns": _spooled(settings.spool_path)}
    found = [what for what, is_there in there.items() if is_there]
    if found and not force:
        raise errors.SetupError(f"there are {' and '.join(found)} here already: restore into an empty BRB, or --force puts them aside")
    aside = settings.data / "backups" / f"before-restore-{keeping.stamp()}"
    moved = [path for path in (settings.erased_path, *settings.data.glob(f"{settings.spool_path.name}*")) if path.exists()]
    if settings.qdrant_url is None:
        moved += [path for path in keeping.folders(settings).values() if path.exists()]
    if not found:
        for path in moved:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        return ""
    aside.mkdir(mode=0o700, parents=True)
    redis_replication.take(client, aside / backup.REDIS)
    for path in moved:
        shutil.move(path, aside / path.name)  # backups may be on another disk
    return str(aside)


def _used(client: redis.Redis) -> bool:
    with redis_client.translated():
        return any(next(client.scan_iter(f"{prefix}*", count=1000), None) is not None for prefix in _KEPT)


def _holds(settings: config.Settings) -> bool:
    if settings.qdrant_url is None:
        return keeping.counted(settings.store_dir, settings.notes_dir) != backup.Counts()
    with keeping.collections(settings) as collections:
        return collections.counts() != backup.Counts()


def _spooled(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(path)) as spool:
            return spool.execute("SELECT 1 FROM jobs LIMIT 1").fetchone() is not None
    except sqlite3.Error:  # empty as a start that was killed leaves it, or damaged: then nobody knows what was in it
        return path.stat().st_size > 0


def _give_files(settings: config.Settings, folder: Path, counts: backup.Counts) -> backup.Counts:
    for name, place in keeping.folders(settings).items():
        if (folder / name).is_dir():
            (folder / name).replace(place)
    return counts


def _give_collections(settings: config.Settings, manifest: backup.Manifest, folder: Path) -> backup.Counts:
    with keeping.collections(settings, manifest) as collections:
        for name, space in ((keeping.STORE, collections.memories), (keeping.NOTES, collections.notes)):
            if (folder / name / backup.SNAPSHOT).exists():
                collections.give(space, folder / name / backup.SNAPSHOT)
        return collections.counts()

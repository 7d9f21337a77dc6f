"""Backup and restore of a BRB whose memories are on a Qdrant server, through the client: snapshots, and Redis over its own connection."""

import contextlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import redis
from pydantic import SecretStr

from services.core import backup, config, errors, messages, models, note_api, ports, seal
from services.core.adapters import qdrant_server, redis_jobs, vectors
from services.core.notes.writing import NoteWriter
from services.embedded import backup as backing_up
from services.embedded import restore
from tests.support import in_memory, qdrant_rest
from tests.support.embedding import HashingEmbedder
from tests.support.redis_server import started

EVERYTHING = models.Scope(models.LOCAL.team, models.LOCAL.user, None)
EMBEDDER = HashingEmbedder(384)
SECRET = "a-secret-of-tests"


class Stack(NamedTuple):
    settings: config.Settings
    qdrant: qdrant_rest.Qdrant
    redis: "redis.Redis[bytes]"


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        yield Path(path)


@contextlib.contextmanager
def stack(folder: Path, **settings: object) -> Iterator[Stack]:
    with qdrant_rest.running() as qdrant, started(folder / "redis") as client:
        values: dict[str, object] = {
            "data_dir": folder / "data",
            "qdrant_url": qdrant.url,
            "redis_url": SecretStr(f"unix://{folder / 'redis' / 'r.sock'}"),
            "secret_key": SecretStr(SECRET),
        }
        (folder / "data").mkdir()
        yield Stack(config.Settings(**{**values, **settings}), qdrant, client)  # type: ignore[arg-type]


@pytest.fixture
def one(folder: Path) -> Iterator[Stack]:
    (folder / "one").mkdir()
    with stack(folder / "one") as made:
        yield made


@pytest.fixture
def two(folder: Path) -> Iterator[Stack]:
    (folder / "two").mkdir()
    with stack(folder / "two") as made:
        yield made


def filled(one: Stack, *texts: str) -> models.NoteId:
    with contextlib.closing(vectors.open_store(one.settings)) as store, contextlib.closing(vectors.open_notes(one.settings)) as notes:
        made = [in_memory.memory(text) for text in texts]
        store.put([ports.Embedded(each, vector) for each, vector in zip(made, EMBEDDER.embed(texts, "document"), strict=True)])
        writer = NoteWriter(notes, EMBEDDER, owner_lock=lambda _: contextlib.nullcontext(), clock=lambda: 5.0)
        [put] = writer.put(models.LOCAL, [note_api.PutNote(text="# Travel\n\nBy night train.\n\n## Food\n\nNoodles.", path="t.md")])
    jobs(one).add([messages.Job("touch-1", messages.Task.TOUCH, messages.Touch(turn="t", principal=models.LOCAL, ids=("a",), at=1.0))])
    return put.id


def jobs(of: Stack) -> redis_jobs.RedisJobBook:
    return redis_jobs.RedisJobBook(of.redis, seal.Seal(SECRET), lease_seconds=5, done_seconds=60)


def say(_: str) -> None:
    return None


def progress(_: str, share: float) -> None:
    assert 0 <= share <= 1


def backed_up(one: Stack, to: Path, *, with_key: bool = False) -> backing_up.Made:
    return backing_up.run(one.settings, to, with_key=with_key, say=say, progress=progress)


def restored(two: Stack, file: Path, *, dry_run: bool = False, force: bool = False) -> restore.Restored:
    return restore.run(two.settings, file, dry_run=dry_run, force=force, say=say, progress=progress)


def test_all_is_there_again_in_an_empty_stack(one: Stack, two: Stack, folder: Path) -> None:
    note = filled(one, "I like green tea", "We use Postgres 15")
    made = backed_up(one, folder / "b.tar")
    assert made.manifest.counts == backup.Counts(memories=2, notes=1, passages=2)
    assert one.qdrant._snapshots == {}, "the server keeps none"

    assert restored(two, folder / "b.tar", dry_run=True).manifest == made.manifest
    assert two.qdrant.sent("POST", "/upload") == []
    assert restored(two, folder / "b.tar").kept == ""

    with contextlib.closing(vectors.open_store(one.settings)) as former, contextlib.closing(vectors.open_store(two.settings)) as store:
        assert store.find(EVERYTHING, ports.ANY) == former.find(EVERYTHING, ports.ANY)
        asked = EMBEDDER.embed(["tea"], "query")
        assert store.search(EVERYTHING, asked, "postgres", limit=5) == former.search(EVERYTHING, asked, "postgres", limit=5)
    with contextlib.closing(vectors.open_notes(two.settings)) as notes:
        assert [one.text for one in notes.passages(EVERYTHING, note)] == ["By night train.", "Noodles."]
    assert jobs(two).pending()[messages.Lane.INDEX] == 1
    claim = jobs(two).claim("touch-1")
    assert claim is not None
    assert claim.job.payload == messages.Touch(turn="t", principal=models.LOCAL, ids=("a",), at=1.0)


def test_nothing_is_written_over_unless_it_is_put_aside(one: Stack, two: Stack, folder: Path) -> None:
    filled(one, "I like green tea")
    filled(two, "I like coffee", "I like cake")
    backed_up(one, folder / "b.tar")

    with pytest.raises(errors.SetupError, match=r"jobs, conversations or tokens and memories or notes here already.*--force"):
        restored(two, folder / "b.tar")

    kept = Path(restored(two, folder / "b.tar", force=True).kept)
    assert (kept / backup.REDIS).stat().st_size > 0
    with contextlib.closing(vectors.open_store(two.settings)) as store:
        assert [one.text for one in store.find(EVERYTHING)] == ["I like green tea"]
    space = qdrant_server.memories(two.settings.embed_model, 384)
    assert two.qdrant.local.count(space.former).count == 2, "the former ones are beside them"


def test_one_that_runs_is_not_restored_into_and_half_a_restore_is_not_started(one: Stack, two: Stack, folder: Path) -> None:
    filled(one, "I like green tea")
    backed_up(one, folder / "b.tar")
    two.redis.set("brb:alive:worker", "1", ex=20)
    assert restored(two, folder / "b.tar", dry_run=True).notices == (), "it may be looked at"
    with pytest.raises(errors.SetupError, match=r"BRB is running \(worker\)"):
        restored(two, folder / "b.tar")

    two.redis.delete("brb:alive:worker")

    def full(request: qdrant_rest.Request) -> None:
        if request.path.endswith("/upload"):
            raise qdrant_rest.Refused(500, "no room")

    two.qdrant.before = full
    with pytest.raises(errors.Unavailable, match="refuses the snapshot"):
        restored(two, folder / "b.tar")
    with pytest.raises(errors.SetupError, match="was broken off: run it again"):
        backup.check_whole(two.settings.data)
    with pytest.raises(errors.SetupError, match="was broken off: run it again"):
        backed_up(two, folder / "half.tar")

    two.qdrant.before = lambda _: None
    restored(two, folder / "b.tar", force=True)
    backup.check_whole(two.settings.data)


def test_a_key_that_does_not_open_it_is_refused_before_anything_is_changed(one: Stack, folder: Path) -> None:
    filled(one, "I like green tea")
    backed_up(one, folder / "b.tar")
    backed_up(one, folder / "key.tar", with_key=True)
    (folder / "three").mkdir()
    with stack(folder / "three", secret_key=None) as three:
        key = three.settings.data / "secret.key"
        key.write_text("another")
        three.redis.set("brb:tokens", "of somebody")

        [notice] = restored(three, folder / "b.tar", dry_run=True).notices
        assert "sealed with another key" in notice
        with pytest.raises(errors.SetupError, match="sealed with another key"):
            restored(three, folder / "b.tar")
        with pytest.raises(errors.SetupError, match="--force"):
            restored(three, folder / "key.tar")
        assert three.qdrant.sent("POST", "/upload") == []
        assert three.redis.keys() == [b"brb:tokens"]
        assert key.read_text() == "another", "what is here opens with it still"

        three.settings.spool_path.touch()  # of a start that was killed
        kept = Path(restored(three, folder / "key.tar", force=True).kept)
        assert (kept / "secret.key").read_text() == "another", "with what was sealed with it"
        assert (key.read_text(), key.stat().st_mode & 0o777) == (SECRET, 0o600)


def test_what_does_not_arrive_or_is_not_of_the_model_in_use_is_no_backup(one: Stack, folder: Path) -> None:
    filled(one, "I like green tea")

    def gone(request: qdrant_rest.Request) -> None:
        if request.method == "GET" and "/snapshots/" in request.path:
            raise qdrant_rest.Refused(500, "no room")

    one.qdrant.before = gone
    with pytest.raises(errors.Unavailable, match="does not hand out its snapshot"):
        backed_up(one, folder / "b.tar")
    assert [path.name for path in folder.iterdir()] == ["one"], "nothing is left of it"

    one.qdrant.before = lambda _: None
    other = one._replace(settings=one.settings.model_copy(update={"embed_model": "nomic-embed-text-v1.5"}))
    with pytest.raises(errors.WrongModel, match=re.escape(one.settings.embed_model)):
        backed_up(other, folder / "b.tar")
    one.redis.set("brb:writers", "nomic-embed-text-v1.5")
    with pytest.raises(errors.SetupError, match=r"BRB_EMBED_MODEL=nomic-embed-text-v1\.5"):
        backed_up(one, folder / "b.tar")

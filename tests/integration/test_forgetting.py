"""Forgetting while jobs of the same turn wait, are held, or are being done: a real Redis, the embedded store, the real rules, model and spool."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import redis
from celery import Celery
from litestar import Litestar
from litestar.testing import TestClient

from services.core import config, messages, models, ports, seal
from services.core.adapters import llama_cpp, qdrant_edge, redis_client, redis_jobs, redis_ledger, redis_turn_log, redis_use_log, spool
from services.core.recall import cache
from services.indexer.app import create_indexer
from services.indexer.writing import Writer
from services.proxy import erasing, sweeping
from services.proxy.app import create_app
from services.proxy.parts import Parts
from services.worker.app import create_worker
from tests.conftest import wait_until
from tests.support import in_memory
from tests.support import sealed as unsealed

ME = models.LOCAL
ANA = models.Principal(ME.team, "ana")
SAID = "We use the Zyzzyva database for the quokka service."
LATER = "Our office is in Heidelberg."
LEARN, STORE = messages.Task.LEARN_TURN, messages.Task.STORE_FACTS


class Host(NamedTuple):
    """A BRB whose jobs are done when they are asked for."""

    client: TestClient[Litestar]
    parts: Parts
    book: redis_jobs.RedisJobBook
    intake: spool.Intake
    waiting: spool.Spool
    apps: dict[messages.Task, Celery]
    folder: Path

    def say(self, turn: str, words: str, *, who: models.Principal = ME, session: str = "s1", context: tuple[str, ...] = ()) -> messages.Job:
        payload = messages.LearnTurn(turn=turn, principal=who, said_at=1.0, words=words, session=session, context=context)
        job = messages.Job.of(LEARN, payload)
        self.book.add([job])
        return job

    def do(self, task: messages.Task, turn: str) -> str:
        name = f"{task.removeprefix('brb.')}-{turn}"
        return str(self.apps[task].tasks[str(task)](name))

    def learn(self, turn: str, words: str, **said: Any) -> str:
        """The id of the one memory that comes of it."""
        before = {one.id for one in self.every(said.get("who", ME))}
        self.say(turn, words, **said)
        assert [self.do(LEARN, turn), self.do(STORE, turn)] == ["done", "done"]
        (made,) = {one.id for one in self.every(said.get("who", ME))} - before
        return made

    def every(self, who: models.Principal = ME) -> list[models.Memory]:
        return self.parts.store.find(models.Scope(who.team, who.user, None), ports.Where(status=None, owner=who.user))

    def forget(self, **asked: Any) -> dict[str, Any]:
        answer = self.client.post("/forget", json=asked)
        assert answer.status_code == 200, answer.text
        receipt: dict[str, Any] = answer.json()["receipt"]
        return receipt


@pytest.fixture
def settings(redis_address: str, tmp_path: Path) -> config.Settings:
    return config.Settings(data_dir=tmp_path, redis_url=redis_address)  # type: ignore[arg-type]


@pytest.fixture
def host(settings: config.Settings, llama_socket: Path) -> Iterator[Host]:
    connection = redis_client.connect(settings.redis_address, timeout_seconds=5)
    sealed = seal.Seal(seal.secret_of(settings))
    book = redis_jobs.RedisJobBook(connection, sealed, lease_seconds=30, done_seconds=60)
    lock = redis_client.owner_lock(connection)
    embedder = llama_cpp.LlamaCppEmbedder(llama_socket, model="all-MiniLM-L6-v2", dimension=384)
    ledger = redis_ledger.RedisLedger(connection, sealed, lifetime_seconds=60)
    turns = redis_turn_log.RedisTurnLog(connection, sealed, lifetime_seconds=60)
    with closing(qdrant_edge.EdgeStore.open(settings.store_dir, model=embedder.model, dimension=384)) as store:
        waiting = spool.Spool(settings.spool_path, sealed)
        intake = spool.Intake(book, lambda *_: None, waiting)
        purge = (store.purge, lambda: redis_client.rewrite_log(connection))
        sweeper = sweeping.Sweeper(settings.erased_path, purge=purge, ledger=ledger, turns=turns, settled_seconds=0.2)
        parts = replace(
            in_memory.parts(settings.data_dir),
            settings=settings,
            store=store,
            embedder=embedder,
            book=book,
            enqueue=intake.enqueue,
            owner_lock=lock,
            ledger=ledger,
            turns=turns,
            uses=redis_use_log.RedisUseLog(connection, sealed, lifetime_seconds=60),
            answers=cache.Cache(redis_client.write_clock(connection), lambda: in_memory.NOW),
            unspool=intake.forget,
            sweeper=sweeper,
        )
        indexer = create_indexer(settings, writer=Writer(store, embedder, clock=parts.clock), book=book, owner_lock=lock, figures=parts.figures)
        apps = {LEARN: create_worker(settings), STORE: indexer}
        sweeper.start()
        with TestClient(create_app(parts), base_url="http://127.0.0.1:3000", raise_server_exceptions=False) as client:
            yield Host(client, parts, book, intake, waiting, apps, settings.data_dir)
        sweeper.stop()
        sweeper.join()
        waiting.close()
    embedder.close()
    connection.close()


def test_the_files_hold_it_no_longer_when_the_receipt_says_so(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasing, "_WAIT_SECONDS", 60.0)
    gone, kept = host.learn("t1", SAID), host.learn("t2", LATER)

    receipt = host.forget(ids=[gone])

    assert receipt["purged"] is True
    content = {path: path.read_bytes() for path in host.folder.rglob("*") if path.is_file()}
    assert [path for path, held in content.items() if b"yzzyva" in held] == []
    assert any(b"Heidelberg" in held for held in content.values())
    assert [one.id for one in host.every()] == [kept]
    wait_until(lambda: not (host.folder / "erased.jsonl").exists())


def test_the_same_turn_does_not_come_back_when_it_is_sent_again(host: Host) -> None:
    gone = host.learn("t1", SAID)
    host.forget(ids=[gone])

    host.say("t1", SAID)

    assert (host.do(LEARN, "t1"), host.do(STORE, "t1"), host.every()) == ("gone", "gone", [])


def test_forgotten_before_it_is_learnt_it_never_is(host: Host) -> None:
    host.say("t1", SAID)
    receipt = host.forget(session="s1", confirm=True)
    assert (receipt["jobs"], host.do(LEARN, "t1"), host.every()) == (1, "gone", [])


def test_forgotten_between_its_two_jobs_it_never_is(host: Host) -> None:
    host.say("t1", SAID)
    assert host.do(LEARN, "t1") == "done"
    receipt = host.forget(session="s1", confirm=True)
    assert (receipt["jobs"], host.do(STORE, "t1"), host.every()) == (1, "gone", [])


def test_forgotten_while_a_worker_reads_it_nothing_follows(host: Host) -> None:
    job = host.say("t1", SAID)
    claim = host.book.claim(job.id)
    assert claim is not None

    host.forget(session="s1", confirm=True)

    follows = messages.Job.of(STORE, messages.StoreFacts(turn="t1", principal=ME, said_at=1.0, facts=()))
    assert not host.book.extend(claim)
    assert not host.book.finish(claim, [follows])
    assert (host.do(STORE, "t1"), dict(host.book.pending())[messages.Lane.INDEX]) == ("gone", 0)


@pytest.mark.parametrize("by", ["ids", "session", "all"])
def test_an_indexer_that_waits_for_the_lock_meanwhile_writes_nothing(host: Host, by: str) -> None:
    """It has the job, and all that it takes to write. It waits for the owner's lock, which forgetting holds."""
    earlier = host.learn("t0", SAID)
    host.say("t1", SAID)
    assert host.do(LEARN, "t1") == "done"
    outcome: list[str] = []
    indexer = threading.Thread(target=lambda: outcome.append(host.do(STORE, "t1")))
    forget_jobs = host.book.forget

    def claimed_meanwhile(concerns: Callable[[messages.Job], bool]) -> int:
        if not indexer.ident:
            indexer.start()
            wait_until(lambda: host.book._client.hget("brb:job:store_facts-t1", "token"))
        return forget_jobs(concerns)

    host.book.forget = claimed_meanwhile  # type: ignore[method-assign]
    host.forget(**{"ids": {"ids": [earlier]}, "session": {"session": "s1", "confirm": True}, "all": {"all": True, "confirm": True}}[by])
    indexer.join(30)

    assert (outcome, host.every()) == (["lost"], [])


def test_a_job_that_is_finished_while_jobs_are_looked_for_leaves_nothing_behind(host: Host) -> None:
    """What follows is recorded when the list of jobs is read already."""
    host.say("t0", LATER)
    host.say("t1", SAID)
    done: list[str] = []

    def finished_meanwhile(job: messages.Job) -> bool:
        if not done:
            done.append(host.do(LEARN, "t1"))
        return job.payload.turn == "t1"

    host.book.forget(finished_meanwhile)

    assert done == ["done"]
    assert (host.do(STORE, "t1"), host.every()) == ("gone", [])


def test_what_waits_in_the_spool_goes_and_is_in_no_file_of_it(host: Host) -> None:
    gone = host.learn("t1", SAID)
    waits = messages.Job.of(LEARN, messages.LearnTurn(turn="t9", principal=ME, said_at=1.0, words=f"Again: {SAID}"))
    other = messages.Job.of(LEARN, messages.LearnTurn(turn="t8", principal=ME, said_at=1.0, words=LATER))
    host.waiting.put([waits, other])
    (sealed,) = host.waiting._db.execute("SELECT payload FROM jobs WHERE id = ?", (waits.id,)).fetchone()

    receipt = host.forget(ids=[gone])

    assert (receipt["spooled"], [job.id for job in host.waiting.peek()]) == (1, [other.id])
    assert not any(sealed in path.read_bytes() for path in host.folder.glob("spool.sqlite*"))


def test_a_job_on_its_way_from_the_spool_to_redis_is_met_there(host: Host) -> None:
    gone = host.learn("t1", SAID)
    host.waiting.put([messages.Job.of(LEARN, messages.LearnTurn(turn="t9", principal=ME, said_at=1.0, words=f"Again: {SAID}"))])
    draining, added = threading.Event(), threading.Event()
    add = host.book.add

    def slowly(jobs: list[messages.Job]) -> list[str]:
        draining.set()
        assert added.wait(10)
        return add(jobs)

    host.book.add = slowly  # type: ignore[method-assign,assignment]
    drain = threading.Thread(target=host.intake.drain)
    drain.start()
    assert draining.wait(10)
    forgetting = threading.Thread(target=lambda: host.forget(ids=[gone]))
    forgetting.start()
    added.set()
    drain.join(10)
    forgetting.join(30)

    assert (len(host.waiting), host.do(LEARN, "t9"), host.every()) == (0, "gone", [])


def test_a_turn_that_follows_is_learnt_all_the_same(host: Host) -> None:
    gone = host.learn("t1", SAID)
    host.say("t2", LATER, context=(SAID,))

    host.forget(ids=[gone])

    assert [host.do(LEARN, "t2"), host.do(LEARN, "t2-cleared"), host.do(STORE, "t2")] == ["gone", "done", "done"]
    assert ["Heidelberg" in one.text for one in host.every()] == [True]


def test_redis_holds_nothing_of_it_for_whoever_has_the_key(host: Host, settings: config.Settings) -> None:
    gone = host.learn("t1", SAID)
    host.learn("t2", LATER)
    host.parts.ledger.write({"a": ports.Entry(f"<memories>{SAID}</memories>", (gone,))})
    host.parts.turns.add(ME, ports.Told(turn="t1", at=1.0, outcome="empty", words=SAID))
    host.parts.turns.add(ME, ports.Told(turn="t3", at=3.0, outcome="shown", considered=(ports.Considered(gone, 0.9, 0.9),), block=SAID))
    host.client.get("/memories/search", params={"q": "Zyzzyva database"})
    host.say("t4", f"I repeat: {SAID}")
    before = opened(settings)
    assert sum(b"yzzyva" in value for value in before) >= 5

    host.forget(ids=[gone])

    assert [value for value in opened(settings) if b"yzzyva" in value] == []


def opened(settings: config.Settings) -> list[bytes]:
    """Every value in Redis, unsealed where it is sealed."""
    sealed = seal.Seal(seal.secret_of(settings))
    connection = redis.Redis.from_url(settings.redis_address)
    values: list[bytes] = []
    for key in connection.scan_iter():
        held: Any = {
            b"string": lambda key: [connection.get(key)],
            b"hash": lambda key: [*connection.hgetall(key).values()],  # type: ignore[union-attr]
            b"set": lambda key: [*connection.smembers(key)],  # type: ignore[misc]
            b"zset": lambda key: [*connection.zrange(key, 0, -1)],  # type: ignore[misc]
            b"stream": lambda key: [value for _, fields in connection.xrange(key) for value in fields.values()],  # type: ignore[union-attr]
            b"list": lambda key: [*connection.lrange(key, 0, -1)],  # type: ignore[misc]
        }[connection.type(key)](key)  # type: ignore[index]
        values += [unsealed.opened(sealed, value) for value in held]
    connection.close()
    return values


def test_two_people_forget_at_once_and_each_loses_his_own(host: Host) -> None:
    for number in range(4):
        host.learn(f"me-{number}", f"My sister number {number} is called Zyzzyva{number}.")
        host.learn(f"ana-{number}", f"My brother number {number} is called Quokka{number}.", who=ANA)
    kept = host.learn("ana-kept", LATER, who=ANA, session="s2")
    failures: list[BaseException] = []

    def run(work: Callable[[], object]) -> threading.Thread:
        def guarded() -> None:
            try:
                work()
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=guarded)
        thread.start()
        return thread

    threads = [run(lambda: host.forget(all=True, confirm=True)), run(lambda: erasing.session(host.parts, ANA, "s1"))]
    for thread in threads:
        thread.join(60)

    assert failures == []
    assert ([one.id for one in host.every()], [one.id for one in host.every(ANA)]) == ([], [kept])

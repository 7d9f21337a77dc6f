"""The canary: facts of nobody, written and recalled as people's are, to see every hour whether that still works (docs/quality.md).

Facts are written as jobs, by whoever consumes the index queue, and recalled by the code and the settings of the wire. What a round found is kept for
all processes to show (`ports.Figures`). A round that can't be carried out says nothing about quality: it counts as failed, and the figures stay.
"""

import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager

import msgspec
import structlog

from services.core import config, errors, jobs, memory_ids, messages, models, ports
from services.core.recall import engine
from services.core.telemetry import CANARY_KS
from services.indexer import canary_facts
from services.indexer.canary_facts import ASKER, PROJECT, Known, Place

STALE_SECONDS = 30 * 86_400.0
"""Facts are written anew after so long: memories fade, and the figures are to tell of the code, not of that."""

_WRITTEN_SECONDS = 60.0  # for a job to be done; behind a long queue it is not
_POLL_SECONDS = 0.02
_PAUSE_SECONDS = 0.05  # between two probes: people come first
_EMBED_SECONDS = 5.0  # how fast people are answered is measured elsewhere
_BEACON = "The beacon on my pier flashes {code}"
_BEACON_QUESTION = "Which code does the beacon on my pier flash?"
_log = structlog.get_logger()

Ask = Callable[[str], Sequence[str]]
"""The ids of the memories that the asker is told in her project, best first, when she says these words."""
OwnerLock = Callable[[models.Principal], AbstractContextManager[object]]


class Probed(msgspec.Struct, frozen=True):
    """What probes were told. ranks: of the wanted memory for each known item (from 1), None if it was not told. silent: whether a negative probe was
    told nothing. told: by all of them."""

    ranks: tuple[int | None, ...]
    silent: tuple[bool, ...]
    told: tuple[str, ...]


class Stopped(Exception):
    """The process is about to end."""


def graded(probed: Probed, seen: Collection[str], *, at: float, write_to_read_seconds: float) -> ports.Canary:
    """seen: the ids of all that the asker may be told."""
    count = max(1, len(probed.ranks))
    return ports.Canary(
        at=at,
        recall={k: sum(rank is not None and rank <= k for rank in probed.ranks) / count for k in CANARY_KS},
        mrr=sum(1 / rank for rank in probed.ranks if rank is not None) / count,
        silent=sum(probed.silent) / max(1, len(probed.silent)),
        crossings=sum(each not in seen for each in probed.told),
        write_to_read_seconds=write_to_read_seconds,
    )


def visible(memory: models.Memory) -> bool:
    """Whether the asker may be told of it in her project. Said without the store, which is what is being tested."""
    return (memory.team, memory.owner) == (ASKER.team, ASKER.user) and memory.project in ("", PROJECT)


def intact(found: Iterable[models.Memory], wanted: Iterable[Known], now: float) -> bool:
    """Whether the facts of one principal are all there, as they are to be, and fresh."""
    held = list(found)
    return (
        sorted(memory.text for memory in held) == sorted(fact.text for fact in wanted)
        and all(memory.status is models.Status.CURRENT for memory in held)
        and all(0 <= now - memory.created_at < STALE_SECONDS for memory in held)
    )


def asking(store: ports.MemoryStore, embedder: ports.Embedder, settings: config.Settings, clock: Callable[[], float]) -> Ask:
    """As the wire asks, but with more time to embed. `Unavailable` where the wire would have to do by words alone."""
    knobs = engine.Knobs.of(settings)
    scope = models.Scope(ASKER.team, ASKER.user, frozenset({PROJECT}))

    def ask(words: str) -> Sequence[str]:
        found = engine.recall(words, scope, store=store, embedder=embedder, knobs=knobs, now=clock(), embed_timeout_seconds=_EMBED_SECONDS)
        if found.mode != "hybrid":
            raise errors.Unavailable("the embedder", "; ".join(found.notices))
        return [one.memory.id for one in found.ranked]

    return ask


class Canary:
    """One round is `run`, in a thread of its own: it waits for jobs that others do. tick: seconds of a clock that only goes forward."""

    def __init__(
        self,
        store: ports.MemoryStore,
        book: ports.JobBook,
        publish: jobs.Publish,
        ask: Ask,
        *,
        owner_lock: OwnerLock,
        clock: Callable[[], float],
        tick: Callable[[], float] = time.monotonic,
        facts: Mapping[Place, Sequence[Known]] = canary_facts.FACTS,
        written_seconds: float = _WRITTEN_SECONDS,
        pause_seconds: float = _PAUSE_SECONDS,
    ) -> None:
        self._store = store
        self._book = book
        self._publish = publish
        self._ask = ask
        self._owner_lock = owner_lock
        self._clock = clock
        self._tick = tick
        self._facts = facts
        self._written = written_seconds
        self._pause = pause_seconds

    def run(self, stopping: threading.Event) -> ports.Canary:
        """`Unavailable` if something that it takes is away or too slow; `Stopped`."""
        self._prepare(stopping)
        code = f"{uuid.uuid4().hex[:8]}-{uuid.uuid4().hex[:4]}"
        turn, place = f"canary-{uuid.uuid4().hex}", Place(ASKER, PROJECT)
        started = self._tick()
        beacon = memory_ids.of_fact(ASKER, turn, 0)
        try:
            self._write(place, [Known(_BEACON.format(code=code), _BEACON_QUESTION)], turn)
            self._await(lambda: self._store.get(_sight(ASKER), beacon) is not None, stopping)
            told = self._ask(_BEACON_QUESTION)
            seconds = self._tick() - started
            found = self._probed(stopping)
            found = msgspec.structs.replace(found, ranks=(*found.ranks, _rank(beacon, told)), told=(*found.told, *told))
        except BaseException:
            self._clear(ASKER, [beacon])
            raise
        self._erase(ASKER, [beacon])
        seen = {beacon, *(memory.id for memory in self._held(ASKER) if visible(memory))}
        return graded(found, seen, at=self._clock(), write_to_read_seconds=seconds)

    def _prepare(self, stopping: threading.Event) -> None:
        """Have all facts there, written anew where one is missing, changed or old, or something else is left of an earlier round."""
        for owner in dict.fromkeys(place.owner for place in self._facts):
            wanted = {place: facts for place, facts in self._facts.items() if place.owner == owner}
            every = [fact for facts in wanted.values() for fact in facts]
            self._erase(owner, [memory.id for memory in self._held(owner) if memory.text.startswith(_BEACON.partition("{")[0])])
            held = self._held(owner)
            if intact(held, every, self._clock()):
                continue
            self._clear(owner, [memory.id for memory in held])
            for place, facts in wanted.items():
                self._write(place, facts, f"canary-{uuid.uuid4().hex}")
            self._await(lambda owner=owner, every=every: intact(self._held(owner), every, self._clock()), stopping)  # type: ignore[misc]

    def _probed(self, stopping: threading.Event) -> Probed:
        known = [fact for facts in self._facts.values() for fact in facts if fact in canary_facts.KNOWN]
        foreign = [fact for fact in canary_facts.FOREIGN if any(fact in facts for facts in self._facts.values())]
        ids = {memory.text: memory.id for memory in self._held(ASKER)}
        ranks: list[int | None] = []
        told: list[str] = []
        for fact in known:
            answer = self._asked(fact.question, stopping)
            ranks.append(_rank(ids[fact.text], answer) if fact.text in ids else None)
            told += answer
        for fact in foreign:
            told += self._asked(fact.question, stopping)
        silent: list[bool] = []
        for question in canary_facts.NEGATIVE:
            answer = self._asked(question, stopping)
            silent.append(not answer)
            told += answer
        return Probed(tuple(ranks), tuple(silent), tuple(told))

    def _asked(self, words: str, stopping: threading.Event) -> Sequence[str]:
        if stopping.wait(self._pause):
            raise Stopped
        return self._ask(words)

    def _held(self, owner: models.Principal) -> list[models.Memory]:
        """All of a principal's, whatever the store makes of scopes."""
        found = self._store.find(_sight(owner), ports.Where(status=None, owner=owner.user), limit=1000)
        return [memory for memory in found if (memory.team, memory.owner) == (owner.team, owner.user)]

    def _write(self, place: Place, facts: Sequence[Known], turn: str) -> None:
        made = tuple(models.Fact(text=fact.text, category=fact.category, confidence=0.9, quote=fact.text) for fact in facts)
        payload = messages.StoreFacts(turn=turn, principal=place.owner, said_at=self._clock(), facts=made, project=place.project)
        job = messages.Job.of(messages.Task.STORE_FACTS, payload)
        self._book.add([job])
        self._publish(job.id, job.task)

    def _clear(self, owner: models.Principal, ids: Sequence[str]) -> None:
        """With what waits to be written of his: it would come back."""
        self._book.forget(lambda job: (job.principal.team, job.principal.user) == (owner.team, owner.user))
        self._erase(owner, ids)

    def _erase(self, owner: models.Principal, ids: Sequence[str]) -> None:
        if ids:
            with self._owner_lock(owner):
                self._store.delete(_sight(owner), ids)

    def _await(self, there: Callable[[], bool], stopping: threading.Event) -> None:
        deadline = self._tick() + self._written
        while not there():
            if self._tick() > deadline:
                raise errors.Unavailable("the indexer", f"a fact was not written within {self._written:.0f} s")
            if stopping.wait(_POLL_SECONDS):
                raise Stopped


def _rank(wanted: str, told: Sequence[str]) -> int | None:
    return told.index(wanted) + 1 if wanted in told else None


def _sight(owner: models.Principal) -> models.Scope:
    return models.Scope(owner.team, owner.user, projects=None)

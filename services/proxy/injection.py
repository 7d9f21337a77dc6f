"""Which blocks a call gets: those of its old turns replayed from the ledger, and one for a new human turn, recalled within the deadline.

Decisions are pure (`replay`, `reusable`, `worth_embedding`, `kept`); `Injection` does the I/O in threads, because core is synchronous.
"""

import asyncio
import hashlib
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Literal

import msgspec
import structlog

from services.core import errors, models, ports, rights, telemetry, tracing
from services.core.recall import budget, engine, rewriting
from services.proxy import framing, learning, leaving, observing, redacting, relay, telling
from services.proxy.parts import Parts
from services.proxy.wire import calls, splice

_log = structlog.get_logger()

_REWRITE_SHARE = 0.4  # of what is left of the deadline
_EMBED_SHARE = 0.6  # of what is left of the deadline; the rest is for recalling by words alone
_EMBED_SECONDS = 0.02  # what is expected of llama.cpp before it has embedded anything
_NEWS_SHARE = 0.2  # of a new time in the average
_RECALLS = 8  # at once: so many may wait for the one llama.cpp within the deadline, while others recall by words alone
_RETRY_SECONDS = 900.0  # clients give up on a call long before
_LEDGER_CALLS = 4
_KEPT_ANSWER = "resp_"  # OpenAI's responses can be continued by their id


class Replay(msgspec.Struct, frozen=True):
    """Blocks for the old turns, and the memories that they show, or that the upstream keeps of it: these are not shown again in this conversation."""

    blocks: Mapping[splice.Spot, str]
    shown: frozenset[str]


class Injected(relay.Prepared, frozen=True):
    """What was decided for a call, kept until its answer is there.

    entry: what the ledger holds for the new turn, if it was recalled for. shown: the memories of the whole conversation, with those of `entry`.
    """

    entry: ports.Entry | None = None
    shown: frozenset[str] = frozenset()


def keys_of(turn: calls.Turn) -> tuple[str, ...]:
    """Where to look a turn up, best first: its session's key; the one bound to the reply, which tells conversations that begin alike apart;
    the plain one."""
    *session, plain = turn.keys
    return (*session, replied(plain, turn.reply), plain) if turn.reply else turn.keys


def replied(key: str, reply: str) -> str:
    """The key of a turn that got this reply. Clients may trim what they keep of it."""
    return hashlib.sha256(f"{key}\0{' '.join(reply.split())}".encode(errors="surrogatepass")).hexdigest()


def turn_id(call: calls.Call, entry: ports.Entry | None) -> str:
    """The id of the new turn: that of the entry it repeats; else its own. Each conversation's turns are others, however alike."""
    if entry is not None and entry.turn:
        return entry.turn
    return call.turn_id if _placed(call) else uuid.uuid4().hex


def _placed(call: calls.Call) -> bool:
    """Whether the keys of a turn name its place in one conversation. Of a conversation that the upstream keeps under one name they tell only
    that it is one of it."""
    return bool(call.session) and not call.lasting


def replay(call: calls.Call, ledger: Mapping[str, ports.Entry]) -> Replay:
    """What was inserted at the turns that are not new."""
    found = [(turn, entry) for turn in call.old_turns if (entry := _first(keys_of(turn), ledger)) is not None]
    entries = [entry for _, entry in found] + ([ledger[call.follows]] if call.follows in ledger else [])
    return Replay(
        blocks={turn.spot: entry.block for turn, entry in found if lacks(turn, entry)},
        shown=frozenset(memory for entry in entries for memory in entry.memories),
    )


def lacks(turn: calls.Turn, entry: ports.Entry) -> bool:
    """Whether a turn is still without the block of its entry. It has it already if another BRB has put it there, or the client kept it."""
    return bool(entry.block) and entry.block not in turn.given


def unanswered(call: calls.Call, ledger: Mapping[str, ports.Entry]) -> calls.Call:
    """The call, with those turns before the new one that belong to it and that no earlier call has had answered: their words were learnt then,
    also if the client has dropped the answer."""
    begun = 0
    for turn in reversed(call.old_turns[len(call.old_turns) - call.begun :]):
        entry = _first(keys_of(turn), ledger)
        if entry is not None and entry.answered:
            break
        begun += 1
    return msgspec.structs.replace(call, begun=begun)


def reusable(call: calls.Call, ledger: Mapping[str, ports.Entry]) -> ports.Entry | None:
    """The entry of the new turn if this call repeats it: a retry or a rewind must send the same bytes again.

    Within one session the same conversation is the same turn. Elsewhere a conversation that begins with the same words is told from a retry
    by whether the turn was answered, since nobody repeats a call that was, and by how long ago it was.
    """
    if call.new_turn is None:
        return None
    if _placed(call):
        entry = ledger.get(call.new_turn.keys[0])
        return None if entry == ports.FORGOTTEN else entry
    entry = ledger.get(call.new_turn.keys[-1])
    return entry if entry is not None and not entry.answered and call.at - entry.at <= _RETRY_SECONDS else None


def worth_embedding(ahead: int, seconds_each: float, left_seconds: float) -> bool:
    """Whether a recall's turn at llama.cpp comes in time: it embeds one text after the other. Who is alone always tries."""
    return ahead == 0 or (ahead + 1) * seconds_each <= left_seconds


def kept(call: calls.Call, answer: calls.Answer, shown: frozenset[str]) -> dict[str, ports.Entry]:
    """What the ledger is to hold of a conversation that the upstream keeps: all the memories that were shown in it, so far and now.

    Under the name of the answer, by which it can be continued, and under that of a conversation, which stays the same.
    """
    if not shown or not (call.follows or answer.message_id.startswith(_KEPT_ANSWER)):
        return {}
    keys = ([calls.kept_key(call.principal, answer.message_id)] if answer.message_id else []) + ([call.follows] if call.lasting else [])
    return dict.fromkeys(keys, ports.Entry("", tuple(sorted(shown)), answered=True))


def answered(prepared: Injected, answer: calls.Answer) -> dict[str, ports.Entry]:
    """What the ledger is to hold after the answer: that the turn was answered, also under the key of its reply; and what the upstream keeps.

    A turn that was told nothing, for whatever reason, is recorded as such: another one's block must not be replayed in its place.
    """
    found = kept(prepared.call, answer, prepared.shown)
    turn = prepared.call.new_turn
    if turn is not None:
        keys = (*turn.keys, replied(turn.keys[-1], answer.reply)) if answer.reply else turn.keys
        entry = prepared.entry or ports.Entry("", (), turn=prepared.call.turn_id, at=prepared.call.at)
        found |= dict.fromkeys(keys, msgspec.structs.replace(entry, answered=True))
    return found


class InTurn:
    """An embedder that many ask at once, of which it serves one after the other: whom it can't serve in time it turns away at once (`Unavailable`),
    so that they recall by words alone while there is time."""

    def __init__(self, embedder: ports.Embedder, clock: Callable[[], float] = time.monotonic) -> None:
        self._embedder = embedder
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting = 0
        self._seconds_each = _EMBED_SECONDS

    @property
    def model(self) -> str:
        return self._embedder.model

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed(self, texts: Sequence[str], kind: Literal["query", "document"], *, timeout_seconds: float | None = None) -> list[list[float]]:
        with self._lock:
            ahead = self._waiting
            if timeout_seconds is not None and not worth_embedding(ahead, self._seconds_each, timeout_seconds):
                raise errors.Unavailable("llama.cpp", "too many are waiting for it")
            self._waiting += 1
        started = self._clock()
        try:
            return self._embedder.embed(texts, kind, timeout_seconds=timeout_seconds)
        finally:
            with self._lock:
                self._waiting -= 1
                self._seconds_each += _NEWS_SHARE * ((self._clock() - started) / (ahead + 1) - self._seconds_each)

    def ping(self) -> None:
        self._embedder.ping()


class _Case:
    """One call on its way through the threads. What they find out counts until the loop closes it."""

    def __init__(self, call: calls.Call, keys: Sequence[str], deadline: float) -> None:
        self.call = call
        self.keys = keys
        self.deadline = deadline
        self.ledger: Mapping[str, ports.Entry] | None = None
        self.old = Replay({}, frozenset())
        self.entry: ports.Entry | None = None
        self.finding: telling.Finding | None = None
        self.outcome = ""
        self.started = time.monotonic()
        self._lock = threading.Lock()
        self._closed = False

    def decide(self, entry: ports.Entry, outcome: str) -> bool:
        """Whether it was in time."""
        with self._lock:
            if not self._closed:
                self.entry, self.outcome = entry, outcome
            return not self._closed

    def fail(self, outcome: str) -> None:
        """That nothing was decided, and why; the first cause counts."""
        with self._lock:
            if not self._closed:
                self.outcome = self.outcome or outcome

    def close(self) -> None:
        with self._lock:
            self._closed = True

    @property
    def closed(self) -> bool:
        return self._closed


class Injection:
    """The relay's interceptor: recalls, injects and replays; hands answered turns on to be learnt."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._knobs = engine.Knobs.of(parts.settings)
        self._embedder = InTurn(parts.embedder)
        self._rewriter = rewriting.Rewriter(parts.ask)
        self._redacting = redacting.Redacting.of(parts.settings)
        self._recalls = ThreadPoolExecutor(_RECALLS, thread_name_prefix="recall")
        self._recalling = _Count()
        self._ledger_calls = ThreadPoolExecutor(_LEDGER_CALLS, thread_name_prefix="ledger")  # of its own: old blocks wait for no recall
        self._recorder = ThreadPoolExecutor(2, thread_name_prefix="record")
        self._telling = telling.Recorder()

    def warm(self) -> None:
        """Load what the first recall would wait for."""
        budget.tokens("")
        self._rewriter.warm()

    def close(self) -> None:
        """Record what is still to be recorded."""
        self._recorder.shutdown(wait=True)
        self._telling.close()
        self._rewriter.close()
        for pool in (self._recalls, self._ledger_calls):
            pool.shutdown(wait=False, cancel_futures=True)

    async def before(self, call: calls.Call) -> Injected:
        keys = [*(key for turn in call.turns for key in keys_of(turn)), *([call.follows] if call.follows else [])]
        if not keys:
            return Injected(call)
        case = _Case(call, keys, time.monotonic() + self._parts.settings.recall_deadline_ms / 1000)
        try:
            await self._worked(case)
        except TimeoutError:
            case.fail("ledger_away" if case.ledger is None else "deadline")
        except errors.BrbError:
            case.fail("ledger_away")
        finally:
            case.close()
        telemetry.REPLAYED.inc(len(case.old.blocks))
        injected = _injected(case)
        if case.outcome:
            telemetry.RECALL_OUTCOME.labels(case.outcome).inc()
            self._tell(case, injected.call)
        return injected

    def _tell(self, case: _Case, call: calls.Call) -> None:
        """Keep what the new turn was told, and why. A repeated one was recorded when it came first."""
        outcome, finding = case.outcome, case.finding
        if call.new_turn is None or outcome == "repeated":
            return
        took_ms = (time.monotonic() - case.started) * 1000
        redact = self._redacting.within(call.principal.team)
        self._telling.submit(lambda: self._keep(call.principal, telling.told(call, outcome, finding, took_ms=took_ms, redact=redact)))
        if finding is not None:
            self._telling.submit(lambda: self._observe(call, outcome, finding))

    def _keep(self, principal: models.Principal, told: ports.Told) -> None:
        """A memory may be forgotten while its turn is recorded: whoever forgets deletes it first, and then what tells of it."""
        parts = self._parts
        parts.turns.add(principal, told)
        scope = rights.managed(principal)
        shown = {one.id: parts.store.get(scope, one.id) for one in told.considered if not one.reason}
        parts.turns.forget(principal.team, [each for each, memory in shown.items() if memory is None])
        observing.superseded(shown.values())

    def _observe(self, call: calls.Call, outcome: str, finding: telling.Finding) -> None:
        parts = self._parts
        if outcome == "injected":
            observing.block(finding, parts.clock())
        observing.shadowed(call.turn_id, _scope(call), finding.recall, store=parts.store, share=parts.settings.shadow_share)

    async def _worked(self, case: _Case) -> None:
        """One hand-over to a thread is all that a call waits for; but when the recalls are busy, the ledger is not to wait for them."""
        if case.call.new_turn is None or not self._recalling.under(_RECALLS):
            await _within(case.deadline, self._ledger_calls.submit(self._look_up, case))
        if case.call.new_turn is not None:
            future = self._recalls.submit(self._recall_for, case)
            self._recalling.until(future)
            await _within(case.deadline, future)

    def _look_up(self, case: _Case) -> None:
        found = self._parts.ledger.read(case.keys)
        case.old = replay(case.call, found)
        case.ledger = found

    def _recall_for(self, case: _Case) -> None:
        """Find or make the entry of the new turn. One that could not be recorded in time is not used: it could not be replayed."""
        if case.ledger is None:
            self._look_up(case)
        assert case.ledger is not None  # noqa: S101 - just looked up
        repeated = reusable(case.call, case.ledger)
        case.call = msgspec.structs.replace(unanswered(case.call, case.ledger), turn_id=turn_id(case.call, repeated))
        if repeated is not None:
            case.decide(repeated, "repeated")
            return
        try:
            self._make_entry(case)
        except Exception as error:
            case.fail("error")
            _log.warning("recall_failed", exc_info=error)

    def _make_entry(self, case: _Case) -> None:
        turn = case.call.new_turn
        assert turn is not None  # noqa: S101 - the caller looked
        with tracing.span("recall", case.call.turn_id):
            framed = self._recalled(case, self._query(case))
        if case.closed:
            return
        entry = ports.Entry(framed.text if framed else "", framed.memory_ids if framed else (), turn=case.call.turn_id, at=case.call.at)
        self._parts.ledger.write(dict.fromkeys(turn.keys, entry))
        if not case.decide(entry, "injected" if entry.block else "empty"):
            self._parts.ledger.write(
                dict.fromkeys(turn.keys, ports.Entry("", (), turn=entry.turn, at=entry.at))
            )  # what was not inserted is not replayed
            return
        if framed:
            telemetry.INJECTED_MEMORIES.observe(len(framed.memory_ids))
            telemetry.INJECTED_TOKENS.observe(framed.tokens)

    def _query(self, case: _Case) -> str:
        """The person's words, with what was said before where they lean on it."""
        words, before = case.call.words, case.call.old_turns
        if self._parts.settings.no_rewrite:
            return words
        earlier = [turn.words for turn in before[: len(before) - case.call.begun]]
        return self._rewriter.query(words, earlier, timeout_seconds=(case.deadline - time.monotonic()) * _REWRITE_SHARE)

    def _recalled(self, case: _Case, words: str) -> framing.Framed | None:
        parts, call = self._parts, case.call
        found = engine.recall(
            words,
            _scope(call),
            store=parts.store,
            embedder=self._embedder,
            knobs=self._knobs,
            now=parts.clock(),
            exclude=case.old.shown,
            embed_timeout_seconds=max(0.01, (case.deadline - time.monotonic()) * _EMBED_SHARE),
            keep_vectors=True,
        )
        engine.observe(found)
        redact = self._redacting.within(call.principal.team)
        framed = framing.block(found.ranked, now=parts.clock(), redact=redact, max_tokens=parts.settings.max_memory_tokens)
        case.finding = telling.Finding(words, found, framed)
        return framed

    async def after(self, prepared: relay.Prepared, answer: calls.Answer) -> None:
        """Record the answered turn durably: what happens to this process later, the turn is learnt."""
        if not answer.complete or not isinstance(prepared, Injected):
            return
        if prepared.call.new_turn is not None or kept(prepared.call, answer, prepared.shown):
            await asyncio.get_running_loop().run_in_executor(self._recorder, self._record, prepared, answer)

    def _record(self, prepared: Injected, answer: calls.Answer) -> None:
        found = learning.jobs(prepared.call, answer, prepared.entry, self._redacting.within(prepared.call.principal.team), self._parts.clock())
        if leaving.shut_out(self._parts, prepared.call.principal):  # while the answer came
            return
        recorded = self._parts.enqueue(found) if found else True
        if prepared.call.new_turn is not None:
            telemetry.TURNS.labels(observing.turned(found, recorded=recorded)).inc()
            block = prepared.entry.block if prepared.entry else ""
            self._telling.submit(lambda: observing.answered(prepared.call, answer, block))
        if leaving.shut_out(self._parts, prepared.call.principal):
            return leaving.take_back(self._parts, found)
        try:
            self._parts.ledger.write(answered(prepared, answer))
        except errors.Unavailable:
            _log.warning("ledger_away")  # a later conversation that begins alike is then told the same


def _scope(call: calls.Call) -> models.Scope:
    """What a recall for the call may see: of the team's projects only the one that it is in."""
    return models.Scope(call.principal.team, call.principal.user, frozenset({call.project} if call.project else ()))


class _Count:
    """How many futures are not done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0

    def under(self, most: int) -> bool:
        return self._number < most

    def until(self, future: "Future[None]") -> None:
        """One more, until it is done or cancelled."""
        self._add(1)
        future.add_done_callback(lambda _: self._add(-1))

    def _add(self, number: int) -> None:
        with self._lock:
            self._number += number


async def _within(deadline: float, future: "Future[None]") -> None:
    await asyncio.wait_for(asyncio.wrap_future(future), max(0.0, deadline - time.monotonic()))


def _injected(case: _Case) -> Injected:
    call, entry = case.call, case.entry
    shown = case.old.shown | frozenset(entry.memories if entry else ())
    if call.new_turn is None:
        return Injected(call, blocks=case.old.blocks, shown=shown)
    fresh = {call.new_turn.spot: entry.block} if entry is not None and lacks(call.new_turn, entry) else {}
    headers = (("x-brb-memories", str(len(entry.memories) if entry else 0)), ("x-brb-turn", call.turn_id))
    return Injected(call, blocks={**case.old.blocks, **fresh}, headers=headers, entry=entry, shown=shown)


def _first(keys: tuple[str, ...], ledger: Mapping[str, ports.Entry]) -> ports.Entry | None:
    return next((ledger[key] for key in keys if key in ledger), None)

"""Which blocks a call gets: those of its old turns replayed from the ledger, and one for a new human turn, recalled within the deadline.

Decisions are pure (`replay`, `reusable`, `entries`); `Injection` does the I/O in threads, because core is synchronous.
"""

import asyncio
import hashlib
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec
import structlog

from services.core import errors, models, ports, redaction, telemetry
from services.core.recall import engine
from services.proxy import framing, learning, relay
from services.proxy.parts import Parts
from services.proxy.wire import calls, splice

_T = TypeVar("_T")
_log = structlog.get_logger()

_EMBED_SHARE = 0.6  # of what is left of the deadline; the rest is for recalling by words alone
_RECALLS = 4  # at once; more only wait for the one llama.cpp and for each other
_LEDGER_CALLS = 4


class Replay(msgspec.Struct, frozen=True):
    """Blocks for the old turns, and the memories that they show: these are not shown again in this conversation."""

    blocks: Mapping[splice.Spot, str]
    shown: frozenset[str]


class Injected(relay.Prepared, frozen=True):
    """What was decided for a call, kept until its answer is there. `entry`: what the ledger holds for the new turn, if it was recalled for."""

    entry: ports.Entry | None = None


def keys_of(turn: calls.Turn) -> tuple[str, ...]:
    """Where to look a turn up, best first: its session's key; the one bound to the reply, which tells conversations that begin alike apart;
    the plain one."""
    *session, plain = turn.keys
    return (*session, replied(plain, turn.reply), plain) if turn.reply else turn.keys


def replied(key: str, reply: str) -> str:
    """The key of a turn that got this reply. Clients may trim what they keep of it."""
    return hashlib.sha256(f"{key}\0{' '.join(reply.split())}".encode(errors="surrogatepass")).hexdigest()


def turn_id(call: calls.Call, entry: ports.Entry | None) -> str:
    """The id of the new turn: that of the entry it repeats; else its own. Without a session each conversation's turns are others, however alike."""
    if entry is not None and entry.turn:
        return entry.turn
    return call.turn_id if call.session else uuid.uuid4().hex


def replay(call: calls.Call, ledger: Mapping[str, ports.Entry]) -> Replay:
    """What was inserted at the turns that are not new."""
    found = {turn.spot: entry for turn in call.old_turns if (entry := _first(keys_of(turn), ledger)) is not None}
    return Replay(
        blocks={spot: entry.block for spot, entry in found.items() if entry.block},
        shown=frozenset(memory for entry in found.values() for memory in entry.memories),
    )


def reusable(call: calls.Call, ledger: Mapping[str, ports.Entry]) -> ports.Entry | None:
    """The entry of the new turn if this call repeats it: a retry or a rewind must send the same bytes again.

    Within one session the same conversation is the same turn. Without a session, a conversation that begins with the same words is told
    from a retry by whether the turn was answered: nobody repeats a call that was.
    """
    if call.new_turn is None:
        return None
    if call.session:
        return ledger.get(call.new_turn.keys[0])
    entry = ledger.get(call.new_turn.keys[-1])
    return entry if entry is not None and not entry.answered else None


class Injection:
    """The relay's interceptor: recalls, injects and replays; hands answered turns on to be learnt."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._knobs = engine.Knobs.of(parts.settings)
        self._recalls = ThreadPoolExecutor(_RECALLS, thread_name_prefix="recall")
        self._ledger_calls = ThreadPoolExecutor(
            _LEDGER_CALLS, thread_name_prefix="ledger"
        )  # of its own: what was recalled in time is recorded in time
        self._recorder = ThreadPoolExecutor(2, thread_name_prefix="record")

    def close(self) -> None:
        """Record what is still to be recorded."""
        self._recorder.shutdown(wait=True)
        for pool in (self._recalls, self._ledger_calls):
            pool.shutdown(wait=False, cancel_futures=True)

    async def before(self, call: calls.Call) -> Injected:
        deadline = time.monotonic() + self._parts.settings.recall_deadline_ms / 1000
        keys = [key for turn in call.turns for key in keys_of(turn)]
        if not keys:
            return Injected(call)
        try:
            ledger = await _within(deadline, self._ledger_calls, lambda: self._parts.ledger.read(keys))
        except (errors.BrbError, TimeoutError):
            _outcome("ledger_away")
            return _injected(call, Replay({}, frozenset()), None) if call.new_turn else Injected(call)
        old = replay(call, ledger)
        telemetry.REPLAYED.inc(len(old.blocks))
        if call.new_turn is None:
            return Injected(call, blocks=old.blocks)
        entry = reusable(call, ledger)
        call = msgspec.structs.replace(call, turn_id=turn_id(call, entry))
        if entry is None:
            entry = await self._new_entry(call, old.shown, deadline)
        else:
            _outcome("repeated")
        return _injected(call, old, entry)

    async def _new_entry(self, call: calls.Call, shown: frozenset[str], deadline: float) -> ports.Entry | None:
        """Recall and record. None: too late, or something failed; then nothing is inserted, since it could not be replayed."""
        turn = call.new_turn
        assert turn is not None  # noqa: S101 - the caller looked
        try:
            framed = await _within(deadline, self._recalls, lambda: self._recall(call, turn.words, shown, deadline))
            entry = ports.Entry(framed.text if framed else "", framed.memory_ids if framed else (), turn=call.turn_id)
            await _within(deadline, self._ledger_calls, lambda: self._parts.ledger.write(dict.fromkeys(turn.keys, entry)))
        except TimeoutError:
            _outcome("deadline")
            return None
        except Exception as error:
            _outcome("error")
            _log.warning("recall_failed", exc_info=error)
            return None
        _outcome("injected" if entry.block else "empty")
        if framed:
            telemetry.INJECTED_MEMORIES.observe(len(framed.memory_ids))
            telemetry.INJECTED_TOKENS.observe(framed.tokens)
        return entry

    def _recall(self, call: calls.Call, words: str, shown: frozenset[str], deadline: float) -> framing.Framed | None:
        parts = self._parts
        projects = frozenset({call.project}) if call.project else frozenset()
        found = engine.recall(
            words,
            models.Scope(call.principal.team, call.principal.user, projects),
            store=parts.store,
            embedder=parts.embedder,
            knobs=self._knobs,
            now=parts.clock(),
            exclude=shown,
            embed_timeout_seconds=max(0.01, (deadline - time.monotonic()) * _EMBED_SHARE),
        )
        engine.observe(found)
        redact = _counted(redaction.Redactor())
        return framing.block(found.ranked, now=parts.clock(), redact=lambda text: redact([text])[0], max_tokens=parts.settings.max_memory_tokens)

    async def after(self, prepared: relay.Prepared, answer: calls.Answer) -> None:
        """Record the answered turn durably: what happens to this process later, the turn is learnt."""
        if not answer.complete or not isinstance(prepared, Injected) or prepared.call.new_turn is None:
            return
        await asyncio.get_running_loop().run_in_executor(self._recorder, self._record, prepared, answer)

    def _record(self, prepared: Injected, answer: calls.Answer) -> None:
        found = learning.jobs(prepared.call, answer, prepared.entry, _counted(redaction.Redactor()), self._parts.clock())
        if found:
            self._parts.enqueue(found)
        turn = prepared.call.new_turn
        if prepared.entry is not None and turn is not None:
            keys = (*turn.keys, replied(turn.keys[-1], answer.text)) if answer.text else turn.keys
            try:
                self._parts.ledger.write(dict.fromkeys(keys, msgspec.structs.replace(prepared.entry, answered=True)))
            except errors.Unavailable:
                _log.warning("ledger_away")  # a later conversation that begins alike is then told the same


async def _within(deadline: float, pool: ThreadPoolExecutor, do: Callable[[], _T]) -> _T:
    future = asyncio.get_running_loop().run_in_executor(pool, do)
    return await asyncio.wait_for(future, max(0.0, deadline - time.monotonic()))


def _injected(call: calls.Call, old: Replay, entry: ports.Entry | None) -> Injected:
    turn = call.new_turn
    assert turn is not None  # noqa: S101 - the caller looked
    fresh = {turn.spot: entry.block} if entry is not None and entry.block else {}
    headers = (("x-brb-memories", str(len(entry.memories) if entry else 0)), ("x-brb-turn", call.turn_id))
    return Injected(call, blocks={**old.blocks, **fresh}, headers=headers, entry=entry)


def _counted(redactor: redaction.Redactor) -> learning.Redact:
    """Redact the texts of one turn, with the same placeholder for the same value."""

    def redact(texts: Sequence[str]) -> list[str]:
        redacted = redactor.redact_all(texts)
        for one in redacted:
            for kind, count in one.counts.items():
                telemetry.REDACTIONS.labels(kind).inc(count)
        return [one.text for one in redacted]

    return redact


def _first(keys: tuple[str, ...], ledger: Mapping[str, ports.Entry]) -> ports.Entry | None:
    return next((ledger[key] for key in keys if key in ledger), None)


def _outcome(outcome: str) -> None:
    telemetry.RECALL_OUTCOME.labels(outcome).inc()

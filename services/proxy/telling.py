"""What is kept of each new turn, so that its person can ask why they were told what they were: pure, and a recorder off the path of calls."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec
import structlog

from services.core import ports
from services.core.recall import engine
from services.proxy import framing
from services.proxy.redacting import Redact
from services.proxy.wire import calls

LONGEST_WORDS = 500  # characters that are kept of a question
_READ = 2 * LONGEST_WORDS  # that are redacted: half a secret would pass for something else
_MOST_CONSIDERED = 20
_MOST_WAITING = 100  # records: when Redis is slow, turns go unrecorded rather than memory being used up

_log = structlog.get_logger()


class Finding(msgspec.Struct, frozen=True):
    """What a turn's recall came to. asked: the words that it was given, after rewriting. framed: None if there was nothing to tell."""

    asked: str
    recall: engine.Recall
    framed: framing.Framed | None


def told(call: calls.Call, outcome: str, finding: Finding | None, *, took_ms: float, redact: Redact) -> ports.Told:
    """The record of a new turn. finding: None if the recall did not get so far. Only what was inserted counts as told, whatever was found."""
    asked = (finding.recall.query or finding.asked) if finding else ""
    words, looked_up = redact([call.words[:_READ], asked[:_READ]])
    told = finding.framed if finding and outcome == "injected" else None
    return ports.Told(
        turn=call.turn_id,
        at=call.at,
        project=call.project,
        session=call.session,
        words=_cut(words),
        asked="" if looked_up == words else _cut(looked_up),
        outcome=outcome,
        block=told.text if told else "",
        tokens=told.tokens if told else 0,
        took_ms=took_ms,
        gate=finding.recall.gate if finding else None,
        notices=finding.recall.notices if finding else (),
        considered=considered(finding, told) if finding else (),
    )


def considered(finding: Finding, told: framing.Framed | None) -> tuple[ports.Considered, ...]:
    """The best candidates: those that passed, in their order, and those that fell short."""
    shown = frozenset(told.memory_ids if told else ())
    too_late = "it was found too late" if finding.framed and told is None else "it did not fit into the block"
    passed = [(one, "" if one.memory.id in shown else too_late) for one in finding.recall.ranked]
    short = [(one.ranked, one.reason) for one in finding.recall.considered]
    return tuple(
        ports.Considered(one.memory.id, round(one.score, 4), round(one.similarity, 4), None if one.cosine is None else round(one.cosine, 4), reason)
        for one, reason in (passed + short)[:_MOST_CONSIDERED]
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_WORDS else text[: LONGEST_WORDS - 1] + "…"


class Recorder:
    """Does small pieces of work one after the other, in a thread of its own. What comes while too much waits is left out: nobody waits for it."""

    def __init__(self, most_waiting: int = _MOST_WAITING) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tell")
        self._room = threading.Semaphore(most_waiting)

    def submit(self, work: Callable[[], None]) -> bool:
        """Whether it will be done. Returns at once."""
        if not self._room.acquire(blocking=False):
            _log.warning("turn_not_recorded", reason="too many are waiting")
            return False
        try:
            self._thread.submit(self._do, work)
        except RuntimeError:  # it is closed
            self._room.release()
            return False
        return True

    def close(self) -> None:
        """Do what is still to be done."""
        self._thread.shutdown(wait=True)

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            _log.warning("turn_not_recorded", reason=type(error).__name__)
        finally:
            self._room.release()

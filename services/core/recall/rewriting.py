"""What a person's words ask for when they only make sense after what was said before ("and pears?", "who leads it?").

Without a language model the person's last turns before them are looked up together with them. A language model, where there is one, puts them as one
question; what it adds of its own is not taken.
"""

import math
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from typing import Literal

import msgspec

from services.core import errors, telemetry
from services.core.recall import lexical, query

MOST_TURNS = 3
"""Turns before the words that are looked at."""
TURN_TOKENS = 64
"""Of each of them (as the embedding model counts, over-estimated): what it is about, not all that it says."""
LONGEST = 300
"""Characters of a rewritten question."""
REST_SECONDS = 300.0
WARMING_SECONDS = 30.0

_MOST_STEMS = 2  # telling ones, of words that need what was said before
_MOST_WORDS = 12
_MOST_CHARS = 200
_FEW_WORDS = 4
_LEADING = re.compile(
    r"(?:(?:ok|okay|yes|yeah|no|right|thanks|thank you|cool|great|good|fine|hm+|so|now)\b[,.! ]*)*"
    r"(?:and|or|but|also|plus|then|otherwise|(?:what|how) about|what if|what else|anything else|(?:the )?same|which ones?)\b",
    re.IGNORECASE,
)
_PLACED = "other|others|same|former|latter|rest|first|second|third|last|next"
_REFERRING = re.compile(
    r"\b(?:it|its|they|them|their|theirs|this|that|these|those|one|ones|he|him|his|she|her|hers|there|both|another|again|too|as well|instead|either|"
    rf"as before|above|the (?:{_PLACED}))\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+(?:['’]\w+)?")

Talk = Sequence[tuple[Literal["system", "user", "assistant"], str]]
Ask = Callable[[Talk, float], str]
"""The next message of a language model, as JSON of `SCHEMA`, at most `MOST_TOKENS` of it, within so many seconds; a `BrbError` if there is none."""

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"question": {"type": "string", "maxLength": LONGEST}},
    "required": ["question"],
    "additionalProperties": False,
}
MOST_TOKENS = 60
_SYSTEM = (
    "You get a person's messages, oldest first. Write the last one as one short question that can be understood without the others. "
    "Use only words that stand in the messages. Answer nothing."
)
_EXAMPLE: Talk = (
    ("user", "1. Which editor does Ann use?\n2. and Bob?"),
    ("assistant", '{"question": "Which editor does Bob use?"}'),
)


class _Rewritten(msgspec.Struct):
    question: str


def is_vague(words: str) -> bool:
    """Whether the words say too little by themselves: few of them, about next to nothing that they name, and leaning on what was said before."""
    found = _WORD.findall(words) if len(words) <= _MOST_CHARS else []
    if not 0 < len(found) <= _MOST_WORDS or query.is_phatic(words):
        return False
    asked = query.parse(words)
    if asked is None or asked.listing or asked.identifiers.hard or sum(map(lexical.is_telling, asked.stems)) > _MOST_STEMS:
        return False
    short = len(found) <= _FEW_WORDS and words.rstrip().endswith("?") and not asked.own
    return short or bool(_LEADING.match(words.strip()) or _REFERRING.search(words))


def in_context(words: str, earlier: Sequence[str]) -> str:
    """The words with the person's turns before them that they lean on, back to one that stands alone; as they are if they need none.

    earlier: what the person said before, oldest first.
    """
    return "\n".join([*_leaned_on(words, earlier), words])


def _leaned_on(words: str, earlier: Sequence[str]) -> list[str]:
    found: list[str] = []
    vague = is_vague(words)
    for turn in reversed(earlier[-MOST_TURNS:]):
        if not vague:
            break
        if not query.is_phatic(turn):
            found.insert(0, query.query_text(turn, TURN_TOKENS))
            vague = is_vague(turn)
    return found


def talk(words: str, earlier: Sequence[str]) -> Talk:
    """What a language model is asked."""
    messages = [*earlier, query.query_text(words, TURN_TOKENS)]
    return (("system", _SYSTEM), *_EXAMPLE, ("user", "\n".join(f"{number}. {text}" for number, text in enumerate(messages, 1))))


def understood(answer: str, words: str, earlier: Sequence[str]) -> str:
    """The question in a language model's answer, "" if it can't be used: it must hold what the words name, and name nothing that was not said."""
    try:
        question = " ".join(msgspec.json.decode(answer, type=_Rewritten).question.split())
    except msgspec.DecodeError:
        return ""
    asked = _telling(question)
    said = _telling(" ".join([*earlier, words]))
    return question if len(question) <= LONGEST and _telling(words) <= asked <= said and asked else ""


def _telling(text: str) -> set[str]:
    return set(filter(lexical.is_telling, lexical.stems(text)))


class Rewriter:
    """Asks a language model, if there is one: one question at a time, and never longer than there is time for. After one that was away or late, it is
    left alone for `rest_seconds`: nobody waits for it in vain each time. Thread-safe."""

    def __init__(self, ask: Ask | None, *, rest_seconds: float = REST_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._rest = rest_seconds
        self._clock = clock
        self._not_before = -math.inf
        self._free = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rewrite")

    def query(self, words: str, earlier: Sequence[str], *, timeout_seconds: float) -> str:
        """What to look up for the words; where the model is of no help, `in_context`."""
        leaned_on = _leaned_on(words, earlier)
        if not leaned_on:
            return words
        question = self._asked(words, leaned_on, timeout_seconds)
        telemetry.RECALL_REWRITTEN.labels("model" if question else "context").inc()
        return question or "\n".join([*leaned_on, words])

    def warm(self) -> None:
        """Ask something in the background: the first question to a model takes longer than there is time for."""
        self._begin(talk("and Bob?", ["Which editor does Ann use?"]), WARMING_SECONDS)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _asked(self, words: str, earlier: Sequence[str], timeout_seconds: float) -> str:
        if timeout_seconds <= 0 or self._clock() < self._not_before:
            return ""
        future = self._begin(talk(words, earlier), timeout_seconds)
        try:
            return understood(future.result(timeout_seconds), words, earlier) if future else ""
        except (errors.BrbError, LateError):
            self._not_before = self._clock() + self._rest
            return ""

    def _begin(self, said: Talk, timeout_seconds: float) -> "Future[str] | None":
        """None if there is no model, or it is busy."""
        if self._ask is None or not self._free.acquire(blocking=False):
            return None
        future = self._thread.submit(self._ask, said, timeout_seconds)
        future.add_done_callback(lambda _: self._free.release())
        return future

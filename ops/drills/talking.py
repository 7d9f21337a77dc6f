"""People who talk through a BRB: many conversations at once, several turns each. What they say and see goes into `Talk.turns`."""

import asyncio
import contextlib
import hashlib
import random
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import aiohttp
import msgspec

from ops.drills import upstream
from ops.drills.proof import Attempt, Outcome, Turn

_FACTS = (
    "The mascot of team {} is called {}.",
    "The staging server of {} is called {}.",
    "The database of project {} is called {}.",
    "Our {} server is called {}.",
    "The release of project {} is called {}.",
)
_QUESTION = "Thanks! What do you know about {}?"
_CONSONANTS, _VOWELS, _ENDS = "bdfgklmnprstvz", "aeiou", "xkrn"
_PAUSE_SECONDS = 0.3  # before a call is made again
_PATIENCE_SECONDS = 90.0  # with calls that don't come through, before a turn is given up
_CALL_SECONDS = 60.0
_END = b'data: {"type":"message_stop"}'


class Person(NamedTuple):
    team: str
    user: str
    key: str

    @property
    def name(self) -> str:
        return f"{self.team}/{self.user}"


class Pace(msgspec.Struct, frozen=True):
    """turns: of a conversation. think_seconds: between its turns. stream_seconds, pieces: of an answer. streamed, stating: the share of turns that
    are answered with a stream, and that state a fact (the others ask); the latter is where `Talk.stating` begins."""

    conversations: int = 2
    turns: int = 4
    think_seconds: float = 1.0
    stream_seconds: float = 1.0
    pieces: int = 20
    streamed: float = 0.7
    stating: float = 1.0


class Words:
    """Made-up names, no two of them alike: memories about things that are called alike might be taken for one."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._used: set[str] = set()

    def new(self) -> str:
        while True:
            made = "".join(self._random.choice(_CONSONANTS) + self._random.choice(_VOWELS) for _ in range(4)) + self._random.choice(_ENDS)
            if made[:6] not in self._used:
                self._used.add(made[:6])
                return made.capitalize()


class Talk:
    """All the talking of one drill. `whose`: every made-up word, and who said it."""

    def __init__(
        self, url: str, people: list[Person], pace: Pace, *, seed: int = 0, whose: dict[str, str] | None = None, words: Words | None = None
    ) -> None:
        """whose, words: those of an earlier talk with the same BRB, if there was one."""
        self._url = f"{url}/v1/messages"
        self._people = people
        self._pace = pace
        self._random = random.Random(seed)
        self._words = words or Words(seed)
        self._stopping = asyncio.Event()
        self._talking: set[asyncio.Task[None]] = set()
        self.stating = pace.stating
        self._http: aiohttp.ClientSession | None = None
        self.turns: list[Turn] = []
        self.whose: dict[str, str] = {} if whose is None else whose
        self.open_streams = 0
        self.most_open_streams = 0

    async def __aenter__(self) -> "Talk":
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=_CALL_SECONDS),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=2**18,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping.set()
        for task in self._talking:
            task.cancel()
        await asyncio.gather(*self._talking, return_exceptions=True)
        assert self._http is not None  # noqa: S101 - made when this was entered
        await self._http.close()

    def start(self) -> None:
        for person in self._people:
            for _ in range(self._pace.conversations):
                self._talking.add(asyncio.create_task(self._go_on(person)))

    async def finish(self) -> None:
        """Begin no more turns, and wait until those that are begun are answered or given up."""
        self._stopping.set()
        for done in await asyncio.gather(*self._talking, return_exceptions=True):
            if isinstance(done, BaseException):
                raise done
        self._talking.clear()

    async def say(self, person: Person, words: str, *, word: str = "") -> Turn:
        """One turn of a conversation of its own."""
        turn = self._note(person, word)
        await self._answered(person, turn, [_said("user", words)], str(uuid.uuid4()))
        return turn

    def stated(self, person: Person) -> tuple[str, str]:
        """A statement, and the word that only it has."""
        about, word = self._words.new(), self._words.new()
        self.whose[about] = self.whose[word] = person.name
        return self._random.choice(_FACTS).format(about, word), word

    async def _go_on(self, person: Person) -> None:
        await self._rest(self._random.random() * (self._pace.think_seconds + self._pace.stream_seconds))
        while not self._stopping.is_set():
            await self._converse(person)

    async def _converse(self, person: Person) -> None:
        messages: list[dict[str, Any]] = []
        session = str(uuid.uuid4())
        asked = "the mascot"
        for _ in range(self._pace.turns):
            if self._stopping.is_set():
                return
            words, word = self.stated(person) if self._random.random() < self.stating else (_QUESTION.format(asked), "")
            asked = word or asked
            turn = self._note(person, word)
            messages.append(_said("user", words))
            answer = await self._answered(person, turn, messages, session)
            if answer is None:
                return
            messages.append(_said("assistant", answer))
            await self._rest(self._pace.think_seconds * (0.5 + self._random.random()))

    def _note(self, person: Person, word: str) -> Turn:
        turn = Turn(word, person.name)
        self.turns.append(turn)
        return turn

    async def _answered(self, person: Person, turn: Turn, messages: list[dict[str, Any]], session: str) -> str | None:
        """Call until there is an answer, as clients do."""
        patience = time.monotonic() + _PATIENCE_SECONDS
        streamed = self._random.random() < self._pace.streamed
        while time.monotonic() < patience:
            call = uuid.uuid4().hex[:12]
            turn.attempts.append(await self._call(person, call, messages, session, streamed=streamed))
            if turn.answered_at is not None:
                return f"Noted, {call}."
            await asyncio.sleep(_PAUSE_SECONDS)
        return None

    async def _call(self, person: Person, call: str, messages: list[dict[str, Any]], session: str, *, streamed: bool) -> Attempt:
        pace = self._pace
        body = msgspec.json.encode({"model": "claude-x", "max_tokens": 100, "stream": streamed, "messages": messages})
        order = upstream.Order(call, hashlib.sha256(body).hexdigest(), streamed, pace.pieces, pace.stream_seconds)
        headers = {
            "content-type": "application/json",
            "x-api-key": "sk-ant-of-the-client",
            "x-brb-key": person.key,
            "x-claude-code-session-id": session,
            upstream.ORDER: msgspec.json.encode(order).decode(),
        }
        expected = b"".join(upstream.events(call, pace.pieces)) if streamed else upstream.document(call)
        got = _Answer(expected, pace.stream_seconds / pace.pieces if streamed else 0.0, own_seconds=0.0 if streamed else pace.stream_seconds / 2)
        assert self._http is not None  # noqa: S101 - made when this was entered
        self.open_streams += streamed
        self.most_open_streams = max(self.most_open_streams, self.open_streams)
        try:
            async with self._http.post(self._url, data=body, headers=headers) as answer:
                got.head(answer.status, answer.headers)
                while piece := await answer.content.readany():
                    got.piece(piece)
            got.whole = True
        except (aiohttp.ClientError, TimeoutError, ConnectionError, OSError):
            pass
        finally:
            self.open_streams -= streamed
        return got.attempt(lambda word: self.whose.get(word, person.name) != person.name)

    async def _rest(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


class _Answer:
    """What a client sees of an answer, as it comes."""

    def __init__(self, expected: bytes, interval_seconds: float, *, own_seconds: float) -> None:
        self._expected = expected
        self._interval = interval_seconds
        self._own = own_seconds
        self._began = self._last = time.monotonic()
        self._first: float | None = None
        self._gap = 0.0
        self._body = b""
        self._status = 0
        self._unaltered = True
        self._seen: list[str] = []
        self._turn = ""
        self.whole = False

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        self._status = status
        self._unaltered = status != 200 or headers.get(upstream.UNALTERED) == "1"  # other statuses may be BRB's own
        self._seen = headers.get(upstream.SEEN, "").split()
        self._turn = headers.get("x-brb-turn", "")

    def piece(self, data: bytes) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = now - self._began - self._own
        else:
            self._gap = max(self._gap, now - self._last - self._interval)
        self._last = now
        self._body += data

    def attempt(self, is_foreign: Callable[[str], bool]) -> Attempt:
        ok = self._status == 200
        complete = ok and self._body == self._expected
        if self._status == 0:
            outcome = Outcome.UNREACHED
        elif not ok:
            outcome = Outcome.REFUSED
        else:
            outcome = Outcome.WHOLE if self.whole else Outcome.CUT
        return Attempt(
            outcome,
            self._began,
            time.monotonic(),
            ended_seen=complete or (ok and _END in self._body),
            first_byte_seconds=self._first if ok else None,
            gap_seconds=self._gap,
            exact=not ok or (complete if self.whole else self._expected.startswith(self._body)),
            unaltered=self._unaltered,
            foreign=tuple(word for word in self._seen if is_foreign(word)),
            status=self._status,
            turn=self._turn,
        )


def _said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}

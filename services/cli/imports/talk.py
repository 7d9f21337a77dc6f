"""A conversation of any source, as turns."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from services.core import import_api

_MOST_EARLIER = 6  # as on the wire
_EARLIER_CHARS = 4_000
_ANSWER_CHARS = 2_000
_WORDS_CHARS = 200_000  # of one message, all its texts together: far more than is read of it


class Message(NamedTuple):
    """id: the source's, stable. person: said by the person, else by the assistant. at: epoch seconds, None if unknown."""

    id: str
    person: bool
    texts: tuple[str, ...]
    at: float | None = None
    project: str = ""


class Talk:
    """What was said so far, as much of it as the next turn needs."""

    def __init__(self, *, session: str, began: float) -> None:
        self._session = session
        self._at = began
        self._earlier: deque[str] = deque(maxlen=_MOST_EARLIER)
        self._answer = ""

    def turn(self, message: Message) -> import_api.Turn | None:
        """None for what is no person's. A message without a time is as old as the one before it."""
        self._at = self._at if message.at is None else message.at
        texts = _cut(message.texts)
        if not texts:
            return None
        if not message.person:
            self._answer = texts[-1][-_ANSWER_CHARS:]
            return None
        made = import_api.Turn(
            id=message.id[: import_api.LONGEST_ID],
            said_at=self._at,
            words=texts,
            context=tuple(self._earlier),
            answer=self._answer,
            project=message.project,
            session=self._session,
        )
        self._earlier.append("\n".join(texts)[:_EARLIER_CHARS])
        return made


def turns(messages: Iterable[Message], *, session: str, began: float) -> Iterator[import_api.Turn]:
    talk = Talk(session=session, began=began)
    for message in messages:
        if turn := talk.turn(message):
            yield turn


def _cut(texts: Iterable[str]) -> tuple[str, ...]:
    left, kept = _WORDS_CHARS, []
    for text in texts:
        if text.strip() and left > 0:
            kept.append(text[:left])
            left -= len(text)
    return tuple(kept[: import_api.MOST_TEXTS])

"""Calls as they left Claude Code, paired with what arrived upstream: a call that differs by more than BRB's blocks fails the test it is made in."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from services.core import block
from services.embedded import standin
from tests.claude_code.wiretap import Tapped, Wiretap

MESSAGES = "/v1/messages?beta=true"
COUNT_TOKENS = "/v1/messages/count_tokens?beta=true"

_OF_THE_CONNECTION = ("host", "connection", "content-length")
_BLOCK = rb',\{"type":"text","text":"' + block.OPEN.encode() + rb'(?:[^"\\]|\\.)*"\}'
_INSERTED = re.compile(rb'\[\{"type":"text","text":("(?:[^"\\]|\\.)*")\}' + _BLOCK + rb"\]|" + _BLOCK)


@dataclass(frozen=True)
class Call:
    """One call, as it was sent and as it was received."""

    sent: Tapped
    received: standin.Recorded

    @property
    def body(self) -> Any:
        return json.loads(self.received.body)

    @property
    def body_sent(self) -> Any:
        """As it left, with Claude Code's own spelling."""
        return json.loads(self.sent.body)

    @property
    def messages(self) -> list[Any]:
        """As they arrived, in the spelling of `bare`."""
        return bare(self.body["messages"])

    @property
    def newest(self) -> list[str]:
        """The texts of the newest message of the role "user"."""
        return [piece["text"] for piece in [m for m in self.messages if m["role"] == "user"][-1]["content"] if "text" in piece]

    @property
    def blocks(self) -> list[str]:
        """What BRB inserted, in the order of the conversation."""
        return [piece["text"] for message in self.messages for piece in message["content"] if is_block(piece)]

    @property
    def untouched(self) -> bool:
        return self.sent.body == self.received.body

    @property
    def told(self) -> int | None:
        """How many memories the turn was told; None if BRB did not take the call for a new turn of a person."""
        value = self.sent.answer_headers.get("x-brb-memories")
        return None if value is None else int(value)

    @property
    def turn(self) -> str:
        return self.sent.answer_headers.get("x-brb-turn", "")

    @property
    def agent(self) -> str:
        return self.sent.headers.get("x-claude-code-agent-id", "")


def bare(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Without what may differ between a message and its repetition: cache markers, and a string instead of a list of one text."""
    return [{"role": message["role"], "content": [_unmarked(piece) for piece in _pieces(message["content"])]} for message in messages]


def is_block(piece: Mapping[str, Any]) -> bool:
    return str(piece.get("text", "")).startswith(block.OPEN)


def _pieces(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _unmarked(piece: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in piece.items() if key != "cache_control"}


def without_blocks(received: bytes, sent: bytes) -> bytes:
    """What arrived, less the inserted blocks. A string that became a list is a string again where `sent` has one."""
    removed = 0

    def original(inserted: re.Match[bytes]) -> bytes:
        nonlocal removed
        at = inserted.start() - removed
        was_string = inserted[1] is not None and sent[at : at + 1] == b'"'
        kept = inserted[1] if was_string else re.sub(_BLOCK, b"", inserted[0])
        removed += len(inserted[0]) - len(kept)
        return kept

    return _INSERTED.sub(original, received)


class Wire:
    """Both ends of what BRB relays."""

    def __init__(self, tap: Wiretap, upstream: standin.StandIn) -> None:
        self.tap = tap
        self.upstream = upstream
        self._seen = 0

    @property
    def fresh(self) -> list[Tapped]:
        """Calls that began since they were last taken."""
        return self.tap.calls[self._seen :]

    def take(self) -> tuple[list[Call], list[Tapped]]:
        """The calls since the last time in the order in which they arrived upstream, and those that BRB answered itself. They must be over."""
        fresh = self.fresh
        probes = [call for call in fresh if call.method == "HEAD"]
        assert all(probe.status == 204 for probe in probes)
        waiting = [call for call in fresh if call.method != "HEAD"]
        calls = []
        for received in list(self.upstream.recorded):
            sent = next((call for call in waiting if _is_same(call, received)), None)
            assert sent is not None, f"nobody sent what arrived: {received.method} {received.path}, {_difference(waiting, received)}"
            waiting.remove(sent)
            calls.append(Call(sent, received))
        assert not waiting, f"never arrived: {[(call.method, call.target) for call in waiting]}"
        self._seen += len(fresh)
        self.upstream.recorded.clear()
        return calls, probes


def _is_same(sent: Tapped, received: standin.Recorded) -> bool:
    """Whether these are the same but for the blocks, BRB's own headers and what belongs to a connection."""
    relayed = {name: value for name, value in sent.headers.items() if not name.startswith("x-brb-")}
    return (
        (sent.method, sent.target) == (received.method, received.path)
        and _lasting(relayed) == _lasting({name.lower(): value for name, value in received.headers})
        and without_blocks(received.body, sent.body) == sent.body
    )


def _lasting(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in _OF_THE_CONNECTION}


def _difference(candidates: Sequence[Tapped], received: standin.Recorded) -> str:
    """How a call differs from the one that was sent and is most like it."""
    pairs = [(sent.body, without_blocks(received.body, sent.body)) for sent in candidates]
    alike, sent, arrived = max(((_alike(*pair), *pair) for pair in pairs), default=(0, b"", received.body))
    if sent == arrived:
        return "with another target or other headers"
    return f"equal for {alike} of {len(sent)} bytes, then {arrived[alike : alike + 80]!r} instead of {sent[alike : alike + 80]!r}"


def _alike(one: bytes, other: bytes) -> int:
    return next((at for at, (mine, yours) in enumerate(zip(one, other, strict=False)) if mine != yours), min(len(one), len(other)))

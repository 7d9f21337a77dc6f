"""How the stand-in upstream is told to answer, and what it answers in whichever API."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from services.core import block

_BLOCK = re.compile(rf"<{block.TAG}[^>]*>(.*?){block.CLOSE}", re.DOTALL)


class ToolUse(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool that the model asks for."""

    name: str
    input: dict[str, object] = {}


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to answer one call. `error` is the whole body, sent as it is; `chunks` are the pieces to send instead of the proper answer;
    the connection is cut after `cut_after_chunks` pieces (an event is a piece). `tool` is asked for behind the text, if there is one, and only
    by calls that don't bring a tool's result: those are answered with text."""

    status: int = 200
    error: str | None = None
    text: str | None = None
    tool: ToolUse | None = None
    headers: dict[str, str] = {}
    delay_ms: int = 0
    chunks: tuple[str, ...] | None = None
    chunk_delay_ms: int = 0
    cut_after_chunks: int | None = None
    gzip: bool = False


class Rule(Script, frozen=True):
    """A script for the next `times` main-loop calls (those that carry tools of the client) whose newest message is the user's and has `when` in
    its text. For clients that can't set a header for one call."""

    when: str = ""
    times: int = 1


class Answer(msgspec.Struct, frozen=True):
    """A body in pieces. A stream has no length of its own and comes chunked."""

    pieces: tuple[bytes, ...]
    status: int = 200
    stream: bool = False


def as_json(value: object, status: int = 200) -> Answer:
    return Answer((json.dumps(value).encode(),), status)


def reply(texts: Iterable[str]) -> str:
    """Says what the texts of the newest human message were told by BRB, if anything."""
    lines = [line.strip() for text in texts for told in _BLOCK.findall(text) for line in told.splitlines()]
    items = [line for line in lines if line.startswith("- ")]
    return "I was told:\n" + "\n".join(items) if items else "Noted."


def words(text: str) -> list[str]:
    """The pieces in which a text is streamed."""
    return re.findall(r"\s*\S+|\s+$", text)


def tokens(body: bytes) -> int:
    return max(1, len(body) // 4)


def texts(message: Mapping[str, Any]) -> Iterator[str]:
    """Of a message of either API."""
    content = message.get("content")
    if isinstance(content, str):
        yield content
    for piece in content if isinstance(content, list) else []:
        if isinstance(piece, dict) and isinstance(piece.get("text"), str):
            yield piece["text"]

"""Transcripts of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, a line for each message.

Its person's messages are those of type `user` that no tool, subagent or the program itself wrote, and what was typed while it was at work
(`queued_command`). What the program puts around a person's words is taken away where they are learnt.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from services.cli.imports import talk
from services.cli.imports.items import Conversation, Document, Item, Skipped, Wanted, seconds

_LONGEST_LINE = 64_000_000


class _Spoken(msgspec.Struct):
    content: Any = None


class _Line(msgspec.Struct, rename="camel"):
    type: str = ""
    uuid: str | None = None
    session_id: str | None = None
    timestamp: Any = None
    cwd: str | None = None
    message: _Spoken | None = None
    attachment: dict[str, Any] | None = None
    origin: Any = None
    tool_use_result: Any = None
    user_type: str | None = None
    is_meta: bool | None = None
    is_sidechain: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_api_error_message: bool | None = None


_LINE = msgspec.json.Decoder(_Line)


def read(document: Document, wanted: Wanted) -> Iterator[Item]:
    so_far: talk.Talk | None = None
    for number, raw in enumerate(_lines(document), 1):
        place = f"{document.name}, line {number}"
        if isinstance(raw, str):
            yield Skipped(place, raw)
            continue
        line = _line(raw)
        if line is None:
            yield Skipped(place, "not a line as Claude Code writes it (one that it is writing now comes whole the next time)")
            continue
        said = _said(line)
        if said is None:
            continue
        if so_far is None:
            yield Conversation()
            so_far = talk.Talk(session=line.session_id or "", began=seconds(line.timestamp) or document.modified_at)
        person, texts = said
        project = (line.cwd or "") if wanted.project is None else wanted.project
        named = line.uuid or f"{line.session_id or document.name} {number}"
        if turn := so_far.turn(talk.Message(named, person, texts, seconds(line.timestamp), project)):
            yield turn


def _lines(document: Document) -> Iterator[bytes | str]:
    with document.open() as stream:
        while line := stream.readline(_LONGEST_LINE):
            if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                while (rest := stream.readline(_LONGEST_LINE)) and not rest.endswith(b"\n"):
                    pass
                yield f"a line of more than {_LONGEST_LINE} bytes"
            elif line.strip():
                yield line


def _line(raw: bytes) -> _Line | None:
    """Half a character, as of a text that was cut, is read as a question mark; the strict decoder takes none."""
    try:
        return _LINE.decode(raw)
    except msgspec.DecodeError:
        pass
    try:
        whole = json.dumps(json.loads(raw), ensure_ascii=False).encode(errors="replace")
        return _LINE.decode(whole)
    except (ValueError, RecursionError, msgspec.DecodeError):
        return None


def _said(line: _Line) -> tuple[bool, tuple[str, ...]] | None:
    """Whether a person says it, and the texts; None if it is neither a person's nor the assistant's."""
    own = not (line.is_meta or line.is_sidechain or line.is_compact_summary or line.is_visible_in_transcript_only or line.is_api_error_message)
    if not own or (isinstance(line.origin, dict) and line.origin.get("kind") not in (None, "human")):
        return None
    if line.type == "attachment":
        return _queued(line.attachment or {})
    if line.message is None or line.type not in ("user", "assistant"):
        return None
    person = line.type == "user"
    if person and (line.tool_use_result is not None or _of_tool(line.message.content) or line.user_type not in (None, "external")):
        return None
    texts = _texts(line.message.content)
    return (person, texts) if texts else None


def _queued(attachment: dict[str, Any]) -> tuple[bool, tuple[str, ...]] | None:
    if attachment.get("type") != "queued_command" or attachment.get("commandMode", "prompt") != "prompt":
        return None
    texts = _texts(attachment.get("prompt"))
    return (True, texts) if texts else None


def _of_tool(content: object) -> bool:
    return isinstance(content, list) and any(isinstance(block, dict) and block.get("type") == "tool_result" for block in content)


def _texts(content: object) -> tuple[str, ...]:
    if isinstance(content, str):
        return (content,) if content.strip() else ()
    if not isinstance(content, list):
        return ()
    blocks = (block for block in content if isinstance(block, dict) and block.get("type") == "text")
    return tuple(text for block in blocks if isinstance(text := block.get("text"), str) and text.strip())

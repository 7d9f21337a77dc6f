"""Claude's data export: `conversations.json`. It says of no conversation which project it belongs to.

What is attached to a message, and what Claude itself remembers (`memories.json`), are not the person's words.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from services.cli.imports import records, talk
from services.cli.imports.items import Conversation, Document, Item, Skipped, Wanted, seconds


class _Said(msgspec.Struct):
    sender: str
    uuid: str | None = None
    text: str | None = None
    content: list[Any] | None = None
    created_at: str | None = None
    parent_message_uuid: str | None = None


class _Conversation(msgspec.Struct):
    chat_messages: list[Any]
    uuid: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    current_leaf_message_uuid: str | None = None


def read(document: Document, wanted: Wanted) -> Iterator[Item]:
    for found in records.shaped(document, ("conversations",), _Conversation, "conversation", "Claude"):
        if isinstance(found, Skipped):
            yield found
            continue
        place, one = found
        yield Conversation()
        yield from _turns(one, place, document.modified_at, wanted.project or "")


def _turns(one: _Conversation, place: str, modified_at: float, project: str) -> Iterator[Item]:
    began = seconds(one.created_at) or seconds(one.updated_at) or modified_at
    so_far = talk.Talk(session=one.uuid or "", began=began)
    said: list[tuple[int, _Said]] = []
    for number, record in enumerate(one.chat_messages, 1):
        try:
            said.append((number, msgspec.convert(record, _Said)))
        except msgspec.ValidationError as error:
            yield Skipped(f"{place}, message {number}", f"not as Claude writes it: {error}")
    for number, message in _branch(said, one.current_leaf_message_uuid):
        person = message.sender in ("human", "user")
        if person or message.sender == "assistant":
            named = message.uuid or f"{one.uuid or place} {number}"
            if turn := so_far.turn(talk.Message(named, person, _texts(message), seconds(message.created_at), project)):
                yield turn


def _branch(said: list[tuple[int, _Said]], leaf: str | None) -> list[tuple[int, _Said]]:
    """What was shown last, where the export tells; else all of it, in order."""
    by_id = {message.uuid: (number, message) for number, message in said if message.uuid}
    branch: dict[str, tuple[int, _Said]] = {}
    while leaf in by_id and leaf not in branch:
        branch[leaf] = by_id[leaf]
        leaf = by_id[leaf][1].parent_message_uuid
    return list(reversed(branch.values())) if branch else said


def _texts(message: _Said) -> tuple[str, ...]:
    blocks = [block for block in message.content or () if isinstance(block, dict) and block.get("type", "text") == "text"]
    texts = tuple(text for block in blocks if isinstance(text := block.get("text"), str) and text.strip())
    return texts or tuple(filter(None, [message.text]))

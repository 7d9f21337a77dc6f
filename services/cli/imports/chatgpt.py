"""ChatGPT's data export: `conversations.json`, or `conversations-000.json` and so on.

A conversation is a tree of messages (`mapping`); what was shown last is the branch that ends at `current_node`. The custom instructions of its person
stand in it as messages of the content type `user_editable_context`.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from services.cli.imports import records, talk
from services.cli.imports.items import Conversation, Document, Item, Skipped, Wanted, seconds
from services.core import import_api

_FENCED = re.compile(r"```(.*?)```", re.DOTALL)


class _Author(msgspec.Struct):
    role: str = ""


class _Content(msgspec.Struct):
    content_type: str = "text"
    parts: list[Any] | None = None
    user_profile: str | None = None


class _Said(msgspec.Struct):
    author: _Author
    content: _Content
    id: str | None = None
    create_time: Any = None
    metadata: dict[str, Any] | None = None


class _Node(msgspec.Struct):
    message: _Said | None = None
    parent: str | None = None


class _Conversation(msgspec.Struct):
    mapping: dict[str, Any]
    id: str | None = None
    conversation_id: str | None = None
    current_node: str | None = None
    create_time: Any = None
    update_time: Any = None


def read(document: Document, wanted: Wanted) -> Iterator[Item]:
    for found in records.shaped(document, ("conversations",), _Conversation, "conversation", "ChatGPT"):
        if isinstance(found, Skipped):
            yield found
            continue
        place, one = found
        yield Conversation()
        yield from _turns(one, place, document.modified_at, wanted.project or "")


def _turns(one: _Conversation, place: str, modified_at: float, project: str) -> Iterator[Item]:
    began = seconds(one.create_time) or seconds(one.update_time) or modified_at
    session = one.conversation_id or one.id or ""
    so_far = talk.Talk(session=session, began=began)
    for key in _branch(one):
        try:
            said = msgspec.convert(one.mapping[key], _Node).message
        except msgspec.ValidationError as error:
            yield Skipped(f"{place}, message {key[:80]}", f"not as ChatGPT writes it: {error}")
            continue
        if said is None:
            continue
        if profile := _profile(said.content):
            at = seconds(said.create_time) or began
            yield import_api.Turn(id=f"profile {_digest(profile)}", said_at=at, words=(profile,), project=project, session=session)
        elif (said.metadata or {}).get("is_visually_hidden_from_conversation") is not True and said.author.role in ("user", "assistant"):
            message = talk.Message(said.id or key, said.author.role == "user", _texts(said.content), seconds(said.create_time), project)
            if turn := so_far.turn(message):
                yield turn


def _branch(one: _Conversation) -> list[str]:
    """The messages that were shown last, oldest first. Without an end that is there: up to the message that was written last."""
    end = one.current_node if one.current_node in one.mapping else max(one.mapping, key=lambda key: _written(one.mapping[key]), default=None)
    branch: dict[str, None] = {}
    while end is not None and end in one.mapping and end not in branch:
        branch[end] = None
        node = one.mapping[end]
        parent = node.get("parent") if isinstance(node, dict) else None
        end = parent if isinstance(parent, str) else None
    return list(reversed(branch))


def _written(node: object) -> float:
    message = node.get("message") if isinstance(node, dict) else None
    return (seconds(message.get("create_time")) or 0.0) if isinstance(message, Mapping) else 0.0


def _texts(content: _Content) -> tuple[str, ...]:
    """What was typed or spoken; not images, nor what tools say."""
    if content.content_type not in ("text", "multimodal_text"):
        return ()
    return tuple(text for part in content.parts or () if (text := _text(part)))


def _text(part: object) -> str:
    if isinstance(part, dict) and part.get("content_type") == "audio_transcription":
        part = part.get("text")
    return part if isinstance(part, str) else ""


def _profile(content: _Content) -> str:
    """What its person tells of himself in every conversation: between the fences that ChatGPT puts around it."""
    if content.content_type != "user_editable_context" or not content.user_profile:
        return ""
    fenced = _FENCED.search(content.user_profile)
    return (fenced[1] if fenced else "").strip()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]

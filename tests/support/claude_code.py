"""Conversations spelt as Claude Code spells them: the newest human message as a list with the cache marker, earlier ones as strings, the first
one as a list with its reminder, a note of the system behind a human message, compact JSON with `messages` before `system` and `tools`."""

import json
import re
import uuid
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2

MARKER = {"cache_control": {"type": "ephemeral"}}
HUMAN, ASSISTANT, TOOL, RESULT = "human", "assistant", "tool", "result"

_STRING = rb'"(?:[^"\\]|\\.)*"'
_MARKER = b',"cache_control":{"type":"ephemeral"}'
_LONE_TEXT = re.compile(rb'"content":\[\{"type":"text","text":(' + _STRING + rb")\}\]")
_REMINDER = re.compile(rb'\{"type":"text","text":"<system-reminder>(?:[^"\\]|\\.)*"\},?')
_NOTE = re.compile(rb',?\{"role":"system","content":' + _STRING + rb"\}")
_BLOCK = re.compile(rb',\{"type":"text","text":("<brb-memories>(?:[^"\\]|\\.)*")\}')
_WRAPPED = re.compile(rb'\[\{"type":"text","text":(' + _STRING + rb')\},\{"type":"text","text":"<brb-memories>(?:[^"\\]|\\.)*"\}\]')


@dataclass(frozen=True)
class Layout:
    """What the client changes between calls of one conversation.

    reminders: in front of the first message. notes: whether messages of the system are there. marker: on the newest message, on the answer
    before it, or nowhere. as_string: the newest message is a string. as_list: earlier ones are lists.
    """

    model: str = "claude-x"
    reminders: int = 1
    notes: bool = True
    marker: str = "newest"
    as_string: bool = False
    as_list: bool = False
    stream: bool = True
    max_tokens: int = 32_000


PLAIN = Layout()


@dataclass(frozen=True)
class Sent:
    """One call: the body as the client wrote it and as it arrived upstream, and BRB's count of new memories."""

    written: bytes
    arrived: bytes
    status: int
    memories: int

    @property
    def blocks(self) -> list[tuple[int, str]]:
        """The inserted texts, and the place of the message of each."""
        messages = json.loads(self.arrived)["messages"]
        return [(place, text) for place, message in enumerate(messages) for text in _texts(message) if text.startswith("<brb-memories>")]

    @property
    def without_blocks(self) -> bytes:
        """What arrived, less the blocks. A string that became a list is one again where the client wrote one."""
        messages = json.loads(self.written)["messages"]
        strings = {json.dumps(message["content"], ensure_ascii=False).encode() for message in messages if isinstance(message["content"], str)}
        body = _WRAPPED.sub(lambda found: found[1] if found[1] in strings else found[0], self.arrived)
        return _BLOCK.sub(b"", body)

    def conversation(self, *, reminders: bool = True, notes: bool = True) -> bytes:
        """The list of messages that arrived, without its last bracket, and without what the client itself changes: markers, and whether a
        text is a string or a list of one block; on request also reminders and notes of the system."""
        text = self.arrived.decode()
        start = text.index('"messages":') + len('"messages":')
        _, length = json.JSONDecoder().raw_decode(text[start:])
        messages = text[start : start + length].encode().replace(_MARKER, b"")
        messages = messages if reminders else _REMINDER.sub(b"", messages)
        messages = messages if notes else _NOTE.sub(b"", messages)
        return _LONE_TEXT.sub(rb'"content":\1', messages).removesuffix(b"]")


@dataclass
class Conversation:
    """A session of Claude Code in a project of its own. `items`: what was said so far, by kind."""

    url: str
    upstream: Any
    session: str = field(default_factory=lambda: str(uuid.uuid4()))
    project: str = field(default_factory=lambda: f"/srv/{uuid.uuid4().hex}")
    items: list[tuple[str, str]] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)

    def fork(self, *, upto: int | None = None, session: str | None = None, url: str | None = None) -> "Conversation":
        """The same conversation so far (or up to an item), in another session, or through another proxy."""
        return replace(self, session=session or self.session, url=url or self.url, items=self.items[:upto], sent=[])

    def ask(self, words: str, *, steps: int = 0, answer: str = "Well, sure.", layout: Layout = PLAIN) -> list[Sent]:
        """A turn: the person's words, so many steps of tools, and the last answer."""
        self.items.append((HUMAN, words))
        calls = [self.send(answer=answer, layout=layout)]
        for _ in range(steps):
            self.items += [(TOOL, "Let me look."), (RESULT, 'a file\n{"messages":[{"role":"user"}]}')]
            calls.append(self.send(answer=answer, layout=layout))
        self.items.append((ASSISTANT, answer))
        return calls

    def send(self, *, answer: str = "Well, sure.", layout: Layout = PLAIN, url: str | None = None, **script: object) -> Sent:
        """The conversation as it stands."""
        body = self.body(layout)
        headers = {
            "content-type": "application/json",
            "user-agent": "claude-cli/2.1.197 (external, cli)",
            "x-app": "cli",
            "x-claude-code-session-id": self.session,
            "x-standin": json.dumps({"text": answer} | script),
        }
        with httpx2.Client(trust_env=False, timeout=30) as client:
            got = client.post(f"{url or self.url}/v1/messages?beta=true", content=body, headers=headers)
        sent = Sent(body, self.upstream.recorded[-1].body, got.status_code, int(got.headers.get("x-brb-memories", "0")))
        self.sent.append(sent)
        return sent

    def body(self, layout: Layout) -> bytes:
        system = [
            {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.197;"},
            {"type": "text", "text": "You are Claude Code.", **MARKER},
            {"type": "text", "text": f"Instructions.\nWorking directory: {self.project}\n", **MARKER},
        ]
        tools = [{"name": "Read", "description": "Reads.", "input_schema": {"type": "object", "properties": {}}}]
        call: dict[str, Any] = {"model": layout.model, "messages": self._messages(layout), "system": system, "tools": tools}
        call |= {"max_tokens": layout.max_tokens} | ({"stream": True} if layout.stream else {})
        return json.dumps(call, separators=(",", ":"), ensure_ascii=False).encode()

    def _messages(self, layout: Layout) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        first = True
        for place, (kind, text) in enumerate(self.items):
            newest = place == len(self.items) - 1
            before = place == len(self.items) - 2
            marker = MARKER if (newest and layout.marker == "newest") or (before and layout.marker == "answer") else {}
            match kind:
                case "human":
                    messages.append({"role": "user", "content": self._human(text, layout, first=first, newest=newest, marker=marker)})
                    messages += [{"role": "system", "content": f"Note {place}: be brief."}] if layout.notes else []
                    first = False
                case "assistant":
                    messages.append({"role": "assistant", "content": [{"type": "text", "text": text, **marker}]})
                case "tool":
                    use = {"type": "tool_use", "id": f"toolu_{place}", "name": "Read", "input": {"path": "é/x", "lines": 3}}
                    thinking = {"type": "thinking", "thinking": "hm", "signature": "QUJD/+=="}
                    messages.append({"role": "assistant", "content": [thinking, {"type": "text", "text": text}, use]})
                case "result":
                    result = {"tool_use_id": f"toolu_{place - 1}", "type": "tool_result", "content": text, **marker}
                    messages.append({"role": "user", "content": [result]})
        return messages

    def _human(self, text: str, layout: Layout, *, first: bool, newest: bool, marker: dict[str, Any]) -> str | list[dict[str, Any]]:
        said = {"type": "text", "text": text, **marker}
        if first:
            reminders = [{"type": "text", "text": f"<system-reminder>\nReminder {n}.\n</system-reminder>\n"} for n in range(layout.reminders)]
            return [*reminders, said]
        return [said] if (newest and not layout.as_string) or layout.as_list else text


def _texts(message: dict[str, Any]) -> list[str]:
    content = message["content"]
    return [content] if isinstance(content, str) else [block["text"] for block in content if "text" in block]

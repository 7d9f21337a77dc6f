"""Calls as a coding client makes them deep in a session: long results of tools, system prompts, tools with schemas."""

import random
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from services.embedded.bench import report

QUESTION = "Which database does the billing service use, and who has to approve a release?"
"""What the person says in the newest turn."""

_NUMBER = b"ticket %08d"
_TICKET = (_NUMBER % 0).decode()
_TOOLS = 24
_STEPS_IN_A_TURN = 4
_TEXT = (
    "the service request handler returns value index queue worker config module test import function class result error file path line "
    "database schema migration release deploy branch commit review cache token stream buffer socket timeout retry metric naïve — “quoted”"
)
_MARKER: Mapping[str, object] = {"cache_control": {"type": "ephemeral"}}


class _Block(msgspec.Struct):
    type: str
    text: str = ""
    id: str = ""
    name: str = ""
    input: object = None
    tool_use_id: str = ""
    content: str = ""


class _Message(msgspec.Struct):
    role: str
    content: list[_Block]

    @property
    def parts(self) -> tuple[str, list[_Block], list[_Block]]:
        """What it says, the tools that it calls, and their results."""
        said = "\n".join(block.text for block in self.content if block.text)
        return said, [block for block in self.content if block.id], [block for block in self.content if block.tool_use_id]


class _Call(msgspec.Struct):
    messages: list[_Message]
    system: list[_Block]
    tools: msgspec.Raw
    stream: bool


def body(size: int, *, stream: bool, question: str = QUESTION) -> bytes:
    """A request to `/v1/messages` of exactly `size` bytes (at least 64,000), the same each time. Its last message is a new turn of the person."""
    return session(size, 1, stream=stream, question=question)[0]


def session(size: int, calls: int, *, stream: bool, question: str = QUESTION) -> list[bytes]:
    """The calls of one session: the first as `body` makes it, each later one with the history of the one before and a step of tools."""
    draw = random.Random(report.SEED)  # noqa: S311 - repeatable, not secret
    start = _request(draw, stream=stream)
    turns = _turns(draw)
    messages: list[object] = []
    room = size - len(_encoded(start, [_opening(), _result("0", ""), _asked(question, **_MARKER)]))
    for message in turns:
        length = len(msgspec.json.encode(message)) + 1
        if length > room:
            break
        room -= length
        messages.append(message)
    messages = [_opening(), *messages, _result("0", "x" * room)]
    steps = [_step(draw, number, 3) for number in range(calls - 1)]
    return [
        _encoded(start, [*messages, _asked(question, **_MARKER)]),
        *(_encoded(start, [*messages, _asked(question), *_marked(steps[: number + 1])]) for number in range(len(steps))),
    ]


def numbered(body: bytes, number: int) -> bytes:
    """The like call of another conversation: system prompt and tools are the same, each message but the newest of the person is another."""
    return body.replace(_NUMBER % 0, _NUMBER % number)


def chat(body: bytes) -> bytes:
    """The same call as a client of OpenAI's makes it to `/v1/chat/completions`."""
    call = msgspec.json.decode(body, type=_Call)
    messages: list[object] = [{"role": "system", "content": "\n".join(block.text for block in call.system)}]
    for message in call.messages:
        said, uses, results = message.parts
        messages += [{"role": "tool", "tool_call_id": block.tool_use_id, "content": block.content} for block in results]
        asked = [{"id": use.id, "type": "function", "function": {"name": use.name, "arguments": _written(use.input)}} for use in uses]
        if said or uses:
            messages.append({"role": message.role, "content": said, **({"tool_calls": asked} if asked else {})})
    return msgspec.json.encode({"model": "gpt-5", "messages": messages, "tools": call.tools, "stream": call.stream})


def response(body: bytes) -> bytes:
    """The same call as a client of OpenAI's makes it to `/v1/responses`, which keeps the conversation itself."""
    call = msgspec.json.decode(body, type=_Call)
    items: list[object] = []
    for message in call.messages:
        said, uses, results = message.parts
        kind = "input_text" if message.role == "user" else "output_text"
        items += [{"type": "function_call_output", "call_id": block.tool_use_id, "output": block.content} for block in results]
        items += [{"type": "message", "role": message.role, "content": [{"type": kind, "text": said}]}] if said else []
        items += [{"type": "function_call", "call_id": use.id, "name": use.name, "arguments": _written(use.input)} for use in uses]
    instructions = "\n".join(block.text for block in call.system)
    return msgspec.json.encode(
        {"model": "gpt-5", "instructions": instructions, "input": items, "tools": call.tools, "stream": call.stream, "store": False}
    )


def headers(session: str) -> dict[str, str]:
    """Those of a coding client; each session is another conversation."""
    return {
        "accept": "application/json",
        "content-type": "application/json",
        "user-agent": "claude-cli/2.1.133 (external, cli)",
        "authorization": "Bearer of-nobody",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14",
        "x-app": "cli",
        "x-stainless-lang": "js",
        "x-claude-code-session-id": session,
    }


def _request(draw: random.Random, *, stream: bool) -> dict[str, object]:
    return {
        "max_tokens": 32_000,
        "stream": stream,
        "system": [
            {"type": "text", "text": "You are an agent for software work."},
            {"type": "text", "text": f"{_lines(draw, 150)}\nWorking directory: /home/someone/billing\n", **_MARKER},
        ],
        "tools": [_tool(draw, number) for number in range(_TOOLS)],
        "metadata": {"user_id": "user_0_account_0_session_0"},
    }


def _tool(draw: random.Random, number: int) -> dict[str, object]:
    fields = {f"field_{i}": {"type": "string", "description": _prose(draw, 20)} for i in range(4)}
    schema = {"type": "object", "properties": fields, "required": ["field_0"], "additionalProperties": False}
    return {"name": f"tool_{number}", "description": _prose(draw, 100), "input_schema": schema}


def _turns(draw: random.Random) -> Iterator[dict[str, object]]:
    """Turns of the person, each with steps of tools and an answer, for ever."""
    number = 0
    while True:
        yield {"role": "user", "content": [_reminder(draw), {"type": "text", "text": f"{_TICKET}: {_prose(draw, 40)}"}]}
        for _ in range(_STEPS_IN_A_TURN):
            number += 1
            yield from _step(draw, number, draw.choice((20, 60, 200)))
        yield {"role": "assistant", "content": [{"type": "text", "text": f"{_TICKET}: {_prose(draw, 120)}"}]}


def _step(draw: random.Random, number: int, lines: int) -> list[dict[str, object]]:
    """A call of a tool, and a result of so many lines."""
    use = {"type": "tool_use", "id": f"toolu_{number:024}", "name": f"tool_{number % _TOOLS}", "input": {"field_0": _prose(draw, 6)}}
    said = {"type": "text", "text": f"{_TICKET}: {_prose(draw, 30)}"}
    return [{"role": "assistant", "content": [said, use]}, _result(f"{number:024}", f"{_TICKET}\n{_listing(draw, lines)}")]


def _result(number: str, text: str) -> dict[str, object]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}]}


def _marked(steps: Sequence[Sequence[dict[str, object]]]) -> list[dict[str, object]]:
    """The messages of the steps, the newest with the client's marker."""
    *earlier, last = [message for step in steps for message in step]
    content = last["content"]
    assert isinstance(content, list)  # noqa: S101 - `_result` made it
    return [*earlier, {**last, "content": [{**content[0], **_MARKER}]}]


def _opening() -> dict[str, object]:
    return {"role": "user", "content": [{"type": "text", "text": f"{_TICKET}: have a look."}]}


def _asked(question: str, **more: object) -> dict[str, object]:
    return {"role": "user", "content": [{"type": "text", "text": question, **more}]}


def _reminder(draw: random.Random) -> dict[str, object]:
    return {"type": "text", "text": f"<system-reminder>\n{_prose(draw, 60)}\n</system-reminder>"}


def _listing(draw: random.Random, lines: int) -> str:
    return "\n".join(f'{number:>6}\t    {_prose(draw, 5)} = "{_prose(draw, 2)}"' for number in range(lines))


def _lines(draw: random.Random, count: int) -> str:
    return "\n".join(_prose(draw, 14) for _ in range(count))


def _prose(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(_TEXT.split(), k=words))


def _written(arguments: object) -> str:
    return msgspec.json.encode(arguments).decode()


def _encoded(start: Mapping[str, object], messages: Sequence[object]) -> bytes:
    """Messages before system prompt and tools, as Claude Code sends them."""
    return msgspec.json.encode({"model": "claude-sonnet-4-5", "messages": messages, **start})

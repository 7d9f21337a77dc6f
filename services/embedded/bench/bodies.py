"""Calls as a coding client makes them deep in a session: system prompts, tools with schemas, long results of tools."""

import random
from collections.abc import Iterator, Mapping

import msgspec

from services.embedded.bench import report

QUESTION = "Which database does the billing service use, and who has to approve a release?"
"""What the person says in the newest turn."""

_TOOLS = 24
_STEPS_IN_A_TURN = 4
_TEXT = (
    "the service request handler returns value index queue worker config module test import function class result error file path line "
    "database schema migration release deploy branch commit review cache token stream buffer socket timeout retry metric naïve — “quoted”"
)
_MARKER: Mapping[str, object] = {"cache_control": {"type": "ephemeral"}}


def body(size: int, *, stream: bool) -> bytes:
    """A request to `/v1/messages` of exactly `size` bytes (at least 64,000), the same each time. Its last message is a new turn of the person."""
    draw = random.Random(report.SEED)  # noqa: S311 - repeatable, not secret
    start = _request(draw, stream=stream)
    turns = _turns(draw)
    messages: list[object] = []
    room = size - len(_encoded(start, [*messages, _result("0", ""), _last()]))
    while True:
        message = next(turns)
        room -= len(msgspec.json.encode(message)) + 1
        if room < 0:
            break
        messages.append(message)
    filler = "x" * (size - len(_encoded(start, [*messages, _result("0", ""), _last()])))
    return _encoded(start, [*messages, _result("0", filler), _last()])


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
        "model": "claude-sonnet-4-5",
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
        yield {"role": "user", "content": [_reminder(draw), {"type": "text", "text": _prose(draw, 40)}]}
        for _ in range(_STEPS_IN_A_TURN):
            number += 1
            use = {"type": "tool_use", "id": f"toolu_{number:024}", "name": f"tool_{number % _TOOLS}", "input": {"field_0": _prose(draw, 6)}}
            yield {"role": "assistant", "content": [{"type": "text", "text": _prose(draw, 30)}, use]}
            yield _result(f"{number:024}", _listing(draw, draw.choice((20, 60, 200))))
        yield {"role": "assistant", "content": [{"type": "text", "text": _prose(draw, 120)}]}


def _result(number: str, text: str) -> dict[str, object]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}]}


def _last() -> dict[str, object]:
    return {"role": "user", "content": [{"type": "text", "text": QUESTION, **_MARKER}]}


def _reminder(draw: random.Random) -> dict[str, object]:
    return {"type": "text", "text": f"<system-reminder>\n{_prose(draw, 60)}\n</system-reminder>"}


def _listing(draw: random.Random, lines: int) -> str:
    return "\n".join(f'{number:>6}\t    {_prose(draw, 5)} = "{_prose(draw, 2)}"' for number in range(lines))


def _lines(draw: random.Random, count: int) -> str:
    return "\n".join(_prose(draw, 14) for _ in range(count))


def _prose(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(_TEXT.split(), k=words))


def _encoded(start: dict[str, object], messages: list[object]) -> bytes:
    return msgspec.json.encode({**start, "messages": messages})

"""What the upstream is told to answer."""

import json
from collections.abc import Mapping

import httpx2

from services.embedded import standin


def play(upstream: standin.StandIn, *rules: Mapping[str, object]) -> None:
    """Answer main-loop calls by these rules (`services.embedded.standin_scripts.Rule`), each of which is used up."""
    httpx2.put(f"{upstream.url}/_scripts", json=rules).raise_for_status()


def events(*data: Mapping[str, object]) -> list[str]:
    """Server-sent events, as pieces of a script."""
    return [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in data]


def opening() -> Mapping[str, object]:
    """The event that begins an answer."""
    usage = {"input_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
    message: dict[str, object] = {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [],
        "stop_reason": None,
        "usage": usage,
    }
    return {"type": "message_start", "message": message}


def tool_use(identifier: str, name: str, **arguments: object) -> list[str]:
    """An answer that asks for a tool, whatever the call brings."""
    use = {"type": "tool_use", "id": identifier, "name": name, "input": {}}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    return events(
        opening(),
        {"type": "content_block_start", "index": 0, "content_block": use},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    )

"""The Anthropic API as the stand-in speaks it."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from services.embedded.standin_scripts import Answer, Script, as_json, reply, texts, tokens, words

MESSAGES = "/v1/messages"
_LARGEST_MESSAGE_BYTES = 33_554_432  # as the real API: larger ones are answered with 413
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def failure(status: int, message: str) -> Answer:
    error = {"type": _ERROR_TYPES.get(status, "api_error"), "message": message}
    return as_json({"type": "error", "error": error, "request_id": "req_standin"}, status)


def models() -> Answer:
    model = {"type": "model", "id": "claude-standin", "display_name": "Stand-in", "created_at": "2026-01-01T00:00:00Z"}
    return as_json({"data": [model], "has_more": False, "first_id": model["id"], "last_id": model["id"]})


def count(body: bytes) -> Answer:
    return as_json({"input_tokens": tokens(body)})


def said(call: Mapping[str, Any]) -> str | None:
    """The text of the newest message of a main-loop call; None for other calls."""
    tools = call.get("tools")
    own = any(isinstance(tool, dict) and "input_schema" in tool for tool in tools) if isinstance(tools, list) else False
    message = _newest(call.get("messages"))
    return "\n".join(texts(message)) if own and message.get("role") == "user" else None


def answer(body: bytes, script: Script) -> Answer:
    """What the API says to `POST /v1/messages`."""
    if len(body) > _LARGEST_MESSAGE_BYTES:
        return failure(413, "Request exceeds the maximum size")
    try:
        call = json.loads(body)
    except ValueError:
        return failure(400, "The request body is not valid JSON")
    messages = call.get("messages") if isinstance(call, dict) else None
    if not isinstance(messages, list) or not messages:
        return failure(400, "messages: at least one message is required")
    digest = hashlib.sha256(body).hexdigest()[:24]
    content = list(_content(messages, script, digest))
    message = {
        "id": f"msg_{digest}",
        "type": "message",
        "role": "assistant",
        "model": call.get("model", "claude-standin"),
        "content": content,
        "stop_reason": "tool_use" if content[-1]["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens(body),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": sum(tokens(_said(piece).encode()) for piece in content),
        },
    }
    return Answer(tuple(_events(message)), stream=True) if call.get("stream") is True else as_json(message)


def _content(messages: list[Any], script: Script, digest: str) -> Iterator[dict[str, Any]]:
    asks = script.tool is not None and not _has_results(_newest(messages))
    if script.text is not None or not asks:
        newest = next((m for m in reversed(messages) if isinstance(m, dict) and m.get("role") == "user"), {})
        yield {"type": "text", "text": script.text if script.text is not None else reply(texts(newest))}
    if script.tool is not None and asks:
        yield {"type": "tool_use", "id": f"toolu_{digest}", "name": script.tool.name, "input": script.tool.input}


def _said(piece: Mapping[str, Any]) -> str:
    return piece["text"] if piece["type"] == "text" else json.dumps(piece["input"])


def _events(message: Mapping[str, Any]) -> Iterator[bytes]:
    opening = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield _event("message_start", message=opening)
    for index, piece in enumerate(message["content"]):
        is_text = piece["type"] == "text"
        yield _event("content_block_start", index=index, content_block={**piece, **({"text": ""} if is_text else {"input": {}})})
        if index == 0:
            yield _event("ping")
        for part in words(_said(piece)):
            delta = {"type": "text_delta", "text": part} if is_text else {"type": "input_json_delta", "partial_json": part}
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    stopped = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=stopped, usage={"output_tokens": message["usage"]["output_tokens"]})
    yield _event("message_stop")


def _event(name: str, **data: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


def _newest(messages: object) -> Mapping[str, Any]:
    """System messages may trail it."""
    talk = [m for m in messages if isinstance(m, dict) and m.get("role") != "system"] if isinstance(messages, list) else []
    return talk[-1] if talk else {}


def _has_results(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(isinstance(piece, dict) and piece.get("type") == "tool_result" for piece in content)

"""The OpenAI API as the stand-in speaks it: chat completions and responses. It keeps nothing: a `previous_response_id` is only echoed."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from services.embedded.standin_scripts import Answer, Script, as_json, reply, texts, tokens, words

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
_CREATED = 1_767_225_600
_NOTHING: Mapping[str, Any] = {}
_DONE = b"data: [DONE]\n\n"
_ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def failure(status: int, message: str) -> Answer:
    kind = _ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return as_json({"error": {"message": message, "type": kind, "param": None, "code": None}}, status)


def models() -> Answer:
    return as_json({"object": "list", "data": [{"id": "gpt-standin", "object": "model", "created": _CREATED, "owned_by": "standin"}]})


def said(call: Mapping[str, Any]) -> str | None:
    """The text of the newest message of a main-loop call; None for other calls."""
    message = _newest(_items(call))
    return "\n".join(texts(message)) if call.get("tools") and message.get("role") == "user" else None


def answer(path: str, body: bytes, script: Script) -> Answer:
    """What the API says to a POST to one of the two paths."""
    try:
        call = json.loads(body)
    except ValueError:
        return failure(400, "We could not parse the JSON body of your request.")
    if not isinstance(call, dict) or not _items(call):
        return failure(400, f"Missing required parameter: '{'messages' if path == CHAT else 'input'}'.")
    made = _made(_items(call), script, body)
    return _chat(call, made) if path == CHAT else _responses(call, made)


class _Made(NamedTuple):
    """What the model says. `digest` makes ids. tool: name and arguments. spent: tokens in and out."""

    digest: str
    text: str | None
    tool: tuple[str, str] | None
    spent: tuple[int, int]


def _made(items: Sequence[Mapping[str, Any]], script: Script, body: bytes) -> _Made:
    asked = script.tool if not _is_result(_newest(items)) else None
    tool = (asked.name, json.dumps(asked.input)) if asked is not None else None
    text = script.text
    if text is None and tool is None:
        text = reply(texts(next((item for item in reversed(items) if item.get("role") == "user"), _NOTHING)))
    said = (text or "") + (tool[1] if tool else "")
    return _Made(hashlib.sha256(body).hexdigest()[:24], text, tool, (tokens(body), tokens(said.encode())))


def _chat(call: Mapping[str, Any], made: _Made) -> Answer:
    stop = "tool_calls" if made.tool else "stop"
    frame = {"id": f"chatcmpl-{made.digest}", "created": _CREATED, "model": call.get("model", "gpt-standin"), "service_tier": "default"}
    usage = {
        "prompt_tokens": made.spent[0],
        "completion_tokens": made.spent[1],
        "total_tokens": sum(made.spent),
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    }
    indexes = range(count if isinstance(count := call.get("n"), int) else 1)
    if call.get("stream") is not True:
        message = {"role": "assistant", "content": made.text, "refusal": None} | ({"tool_calls": [_tool_call(made)]} if made.tool else {})
        choices = [{"index": index, "message": message, "logprobs": None, "finish_reason": stop} for index in indexes]
        return as_json({**frame, "object": "chat.completion", "choices": choices, "usage": usage})
    options = call.get("stream_options")
    counted = isinstance(options, dict) and options.get("include_usage") is True
    frame |= {"object": "chat.completion.chunk", "obfuscation": "x"}
    steps = [_choice(index, delta) for delta in _deltas(made) for index in indexes] + [_choice(index, {}, stop) for index in indexes]
    chunks = [{**frame, "choices": [step]} | ({"usage": None} if counted else {}) for step in steps]
    chunks += [{**frame, "choices": [], "usage": usage}] if counted else []
    return Answer((*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), _DONE), stream=True)


def _tool_call(made: _Made, **more: object) -> dict[str, object]:
    name, arguments = made.tool or ("", "")
    return {"id": f"call_{made.digest}", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def _deltas(made: _Made) -> Iterator[dict[str, object]]:
    yield {"role": "assistant", "content": None if made.text is None else ""}
    for word in words(made.text or ""):
        yield {"content": word}
    if made.tool is not None:
        yield {"tool_calls": [_tool_call(made._replace(tool=(made.tool[0], "")), index=0)]}
        for part in words(made.tool[1]):
            yield {"tool_calls": [{"index": 0, "function": {"arguments": part}}]}


def _choice(index: int, delta: object, finish_reason: str | None = None) -> dict[str, object]:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _responses(call: Mapping[str, Any], made: _Made) -> Answer:
    conversation = call.get("conversation")
    opening = {
        "id": f"resp_{made.digest}",
        "object": "response",
        "created_at": _CREATED,
        "status": "in_progress",
        "background": call.get("background", False),
        "conversation": {"id": conversation} if isinstance(conversation, str) else conversation,
        "error": None,
        "incomplete_details": None,
        "instructions": call.get("instructions"),
        "metadata": call.get("metadata") or {},
        "model": call.get("model", "gpt-standin"),
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": call.get("previous_response_id"),
        "store": call.get("store", True),
        "tool_choice": call.get("tool_choice", "auto"),
        "tools": call.get("tools", []),
        "usage": None,
    }
    usage = {
        "input_tokens": made.spent[0],
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": made.spent[1],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sum(made.spent),
    }
    closing = {**opening, "status": "completed", "output": list(_output(made)), "usage": usage}
    if call.get("stream") is True:
        return Answer(tuple(_numbered(_events(opening, closing))), stream=True)
    return as_json({**opening, "status": "queued"} if call.get("background") is True else closing)


def _output(made: _Made) -> Iterator[dict[str, Any]]:
    if made.text is not None:
        content = [{"type": "output_text", "text": made.text, "annotations": [], "logprobs": []}]
        yield {"type": "message", "id": f"msg_{made.digest}", "status": "completed", "role": "assistant", "content": content}
    if made.tool is not None:
        name, arguments = made.tool
        yield {
            "type": "function_call",
            "id": f"fc_{made.digest}",
            "status": "completed",
            "call_id": f"call_{made.digest}",
            "name": name,
            "arguments": arguments,
        }


def _events(opening: Mapping[str, Any], closing: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": opening}
    yield {"type": "response.in_progress", "response": opening}
    for index, item in enumerate(closing["output"]):
        place = {"item_id": item["id"], "output_index": index}
        empty: dict[str, object] = {"content": []} if item["type"] == "message" else {"arguments": ""}
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "status": "in_progress", **empty}}
        if item["type"] == "message":
            (part,) = item["content"]
            place["content_index"] = 0
            yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
            for word in words(part["text"]):
                yield {"type": "response.output_text.delta", **place, "delta": word, "logprobs": [], "obfuscation": "x"}
            yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
            yield {"type": "response.content_part.done", **place, "part": part}
        else:
            for word in words(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", **place, "delta": word, "obfuscation": "x"}
            yield {"type": "response.function_call_arguments.done", **place, "name": item["name"], "arguments": item["arguments"]}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": closing}


def _numbered(events: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    for number, event in enumerate(events):
        yield f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n".encode()


def _items(call: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages of either API, as items."""
    given = call.get("messages", call.get("input"))
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []


def _newest(items: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    talk = [item for item in items if item.get("role") not in ("system", "developer")]
    return talk[-1] if talk else _NOTHING


def _is_result(item: Mapping[str, Any]) -> bool:
    return item.get("role") == "tool" or str(item.get("type")).endswith("_call_output")

"""What answers of OpenAI's APIs, and of servers that speak them, said."""

import gzip
import json
from typing import Any

import pytest

from services.proxy.wire import answers, calls, openai_answers, routes

CHAT, RESPONSES = routes.Route.CHAT, routes.Route.RESPONSES
STREAM = "text/event-stream; charset=utf-8"
JSON = "application/json"
ERROR = {"error": {"message": "overloaded", "type": "server_error", "param": None, "code": None}}


def chunk(*choices: Any, **more: Any) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": list(choices), "usage": None, **more}


def delta(index: int = 0, finish_reason: str | None = None, **said: Any) -> dict[str, Any]:
    return {"index": index, "delta": said, "logprobs": None, "finish_reason": finish_reason}


USAGE = {
    "prompt_tokens": 7,
    "completion_tokens": 31,
    "total_tokens": 38,
    "prompt_tokens_details": {"cached_tokens": 900, "cache_write_tokens": 3, "audio_tokens": 0},
}
CHUNKS = [
    chunk(delta(role="assistant", content="", refusal=None), obfuscation="ab"),
    chunk(delta(content="Café ")),
    chunk(delta(1, content="another")),
    chunk(delta(content=None, reasoning_content="hm")),
    chunk(delta(content="中\n\nok")),
    chunk(delta(tool_calls=[{"index": 0, "id": "call_1", "function": {"name": "read", "arguments": "{"}}])),
    chunk(delta(1, "length")),
    chunk(delta(0, "tool_calls")),
    chunk(usage=USAGE),
]
ANSWER = calls.Answer(True, "Café 中\n\nok", "tool_calls", "chatcmpl-1", calls.Usage(7, 31, 900, 3), "read call_1")


def sse(events: list[Any], newline: str = "\n") -> bytes:
    """Data only, as chats have it; what is a string is sent as it is."""
    lines = [": keepalive", ""]
    for event in events:
        lines += [f"data: {event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)}", ""]
    return newline.join([*lines, ""]).encode()


def named(events: list[dict[str, Any]], newline: str = "\n") -> bytes:
    lines = []
    for number, event in enumerate(events):
        lines += [f"event: {event['type']}", f"data: {json.dumps({**event, 'sequence_number': number}, ensure_ascii=False)}", ""]
    return newline.join([*lines, ""]).encode()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_streamed_chat_is_read_whole_however_it_was_cut_into_chunks(newline: str) -> None:
    body = sse([*CHUNKS, "[DONE]"], newline)
    for cut in range(len(body)):
        assert answers.read(CHAT, STREAM, "", [body[:cut], body[cut:]]) == ANSWER
    assert answers.read(CHAT, STREAM, "gzip", [gzip.compress(body)]) == ANSWER


@pytest.mark.parametrize(
    "events",
    [
        [*CHUNKS, "[DONE]"],
        CHUNKS,
        [*CHUNKS[:6], "[DONE]"],
        [*CHUNKS, {"new": "event"}, "[DONE]"],
        [*CHUNKS, "not JSON", "[DONE]"],
        [CHUNKS[0], {**chunk(delta(0, "stop")), "error": None}],
    ],
    ids=["as it should be", "no [DONE]", "no reasons", "unknown data", "garbage", "no error"],
)
def test_a_chat_that_came_to_its_end_is_complete(events: list[Any]) -> None:
    """litellm#1255: `[DONE]` was missing."""
    assert openai_answers.answer(CHAT, STREAM, sse(events)).complete


@pytest.mark.parametrize(
    "events",
    [
        CHUNKS[:6],
        CHUNKS[:7],
        [*CHUNKS[:3], ERROR],
        [*CHUNKS, ERROR, "[DONE]"],
        [ERROR, *CHUNKS, "[DONE]"],
        [{**CHUNKS[0], "error": "quota"}, "[DONE]"],
        ["[DONE]"],
        [chunk(usage=USAGE), "[DONE]"],
        [],
    ],
    ids=["cut", "one choice open", "error", "error at the end", "error first", "error in a chunk", "nothing", "only usage", "empty"],
)
def test_a_chat_that_broke_off_is_not_complete(events: list[Any]) -> None:
    """litellm#32086: an error after a 200 became an empty success."""
    assert not openai_answers.answer(CHAT, STREAM, sse(events)).complete


def test_usage_stays_when_later_chunks_have_none() -> None:
    assert openai_answers.answer(CHAT, STREAM, sse([*CHUNKS, chunk(), "[DONE]"])) == ANSWER


def test_an_error_of_a_response_without_the_name_of_an_event_is_an_error() -> None:
    assert openai_answers.answer(RESPONSES, STREAM, sse(EVENTS)) == SAID
    assert not openai_answers.answer(RESPONSES, STREAM, sse([*EVENTS, ERROR_EVENT])).complete


def test_a_named_error_event_of_any_content_is_an_error() -> None:
    for route, body in ((CHAT, sse([*CHUNKS, "[DONE]"])), (RESPONSES, named(EVENTS))):
        assert not openai_answers.answer(route, STREAM, b"event: error\ndata: oops\n\n" + body).complete


def test_a_chat_cut_at_any_byte_before_its_last_reason_is_not_complete() -> None:
    body = sse([*CHUNKS, "[DONE]"])
    end = body.index(b"\n\n", body.index(b'"finish_reason": "tool_calls"'))
    assert not any(openai_answers.answer(CHAT, STREAM, body[:cut]).complete for cut in range(end))
    assert openai_answers.answer(CHAT, STREAM, body[:end]).complete


def completion(*choices: Any, **more: Any) -> bytes:
    return json.dumps({"id": "chatcmpl-2", "object": "chat.completion", "choices": list(choices), "usage": USAGE, **more}).encode()


def choice(content: Any, index: int = 0, reason: str = "stop") -> dict[str, Any]:
    return {"index": index, "message": {"role": "assistant", "content": content, "refusal": None}, "finish_reason": reason}


def test_a_chat_that_was_not_streamed_is_read() -> None:
    usage = calls.Usage(7, 31, 900, 3)
    body = completion(choice("other", 1), choice("a\nb"))
    assert openai_answers.answer(CHAT, JSON, body) == calls.Answer(True, "a\nb", "stop", "chatcmpl-2", usage)
    listed = completion(choice([{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]))
    assert openai_answers.answer(CHAT, JSON, listed).text == "ab"
    asks = openai_answers.answer(CHAT, JSON, completion(choice(None, reason="tool_calls"), usage={"prompt_tokens": 1, "prompt_tokens_details": None}))
    assert asks == calls.Answer(True, "", "tool_calls", "chatcmpl-2", calls.Usage(1, 0, 0, 0))
    assert openai_answers.answer(CHAT, JSON, completion(choice("x", reason="length"), usage="none")).usage == calls.Usage()


@pytest.mark.parametrize("route", [CHAT, RESPONSES])
@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", json.dumps(ERROR).encode(), b'{"choices":7,"output":7}', b'{"choices":[]}', b"[" * 100_000, b"null"]
)
def test_what_is_no_answer_says_nothing(route: routes.Route, body: bytes) -> None:
    assert not openai_answers.answer(route, JSON, body).complete
    assert not openai_answers.answer(route, JSON, body).text


# responses


def message(*texts: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {
        "type": "message",
        "id": "msg_1",
        "status": "completed",
        "role": "assistant",
        "content": [*content, {"type": "refusal", "refusal": "no"}, {"type": "hologram", "text": "no"}],
    }


def response(status: str = "completed", **more: Any) -> dict[str, Any]:
    output = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
        message("Café ", "中"),
        message("ok"),
    ]
    usage = {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 900, "cache_write_tokens": 3},
        "output_tokens": 31,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 38,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "status": status,
        "output": output,
        "incomplete_details": None,
        "error": None,
        "usage": usage,
        **more,
    }


OPENING = response("in_progress", output=[], usage=None)


def piece(text: str, output: int = 1, content: int = 0) -> dict[str, Any]:
    return {
        "type": "response.output_text.delta",
        "item_id": "msg_1",
        "output_index": output,
        "content_index": content,
        "delta": text,
        "obfuscation": "x",
    }


EVENTS: list[dict[str, Any]] = [
    {"type": "response.created", "response": OPENING},
    {"type": "response.in_progress", "response": OPENING},
    {"type": "response.reasoning_text.delta", "item_id": "rs_1", "output_index": 0, "content_index": 0, "delta": "hm"},
    piece("Caf"),
    piece("é "),
    {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 3, "delta": '{"a":'},
    piece("ok", 2),
    piece("中", 1, 1),
    {"type": "response.hologram.delta", "delta": {"x": 1}},
    {"type": "response.completed", "response": response()},
]
SAID = calls.Answer(True, "Café \n中\nok", "completed", "resp_1", calls.Usage(7, 31, 900, 3))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_streamed_response_is_read_whole_however_it_was_cut_into_chunks(newline: str) -> None:
    body = named(EVENTS, newline)
    for cut in range(0, len(body), 3):
        assert answers.read(RESPONSES, STREAM, "", [body[:cut], body[cut:]]) == SAID
    assert answers.read(RESPONSES, STREAM, "gzip", [gzip.compress(body)]) == SAID


def test_the_text_of_a_stream_is_gathered_if_its_end_does_not_repeat_it() -> None:
    ending = {"type": "response.completed", "response": response(output=[])}
    assert openai_answers.answer(RESPONSES, STREAM, named([*EVENTS[:-1], ending])) == SAID
    assert (
        openai_answers.answer(RESPONSES, STREAM, named([*EVENTS[:-1], {**ending, "response": {"id": "resp_1", "status": "completed"}}])).text
        == SAID.text
    )


def test_a_response_that_was_not_streamed_is_read() -> None:
    assert openai_answers.answer(RESPONSES, JSON, json.dumps(response()).encode()) == SAID


def test_a_response_that_stopped_at_a_limit_is_complete() -> None:
    """As a message of Anthropic's that stopped at `max_tokens`."""
    stopped = response("incomplete", incomplete_details={"reason": "max_output_tokens"})
    for said in (
        openai_answers.answer(RESPONSES, JSON, json.dumps(stopped).encode()),
        openai_answers.answer(RESPONSES, STREAM, named([*EVENTS[:-1], {"type": "response.incomplete", "response": stopped}])),
    ):
        assert (said.complete, said.text, said.stop_reason) == (True, SAID.text, "max_output_tokens")


ERROR_EVENT = {"type": "error", "code": "server_error", "message": "overloaded", "param": None}


@pytest.mark.parametrize(
    "events",
    [
        EVENTS[:-1],
        [*EVENTS[:-1], {"type": "response.failed", "response": response("failed")}],
        [*EVENTS[:-1], ERROR_EVENT],
        [ERROR_EVENT, *EVENTS],
        [*EVENTS, ERROR_EVENT],
        EVENTS[:2],
        [{"type": "response.queued", "response": response("queued")}],
        [],
    ],
    ids=["cut", "failed", "error", "error first", "error at the end", "only begun", "queued", "empty"],
)
def test_a_response_that_broke_off_is_not_complete(events: list[dict[str, Any]]) -> None:
    assert not openai_answers.answer(RESPONSES, STREAM, named(events)).complete


@pytest.mark.parametrize("status", ["failed", "cancelled", "queued", "in_progress", "", None])
def test_a_response_that_is_not_at_its_end_is_not_complete_but_has_its_name(status: str | None) -> None:
    """One in the background is fetched later, and continued by its name."""
    said = openai_answers.answer(RESPONSES, JSON, json.dumps({**response(), "status": status}).encode())
    assert (said.complete, said.message_id) == (False, "resp_1")


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_a_response_that_is_worked_on_in_the_background_has_taken_the_persons_words(status: str) -> None:
    """Its text is fetched by another call, which says nothing of the conversation. A stream of it may be left and taken up again."""
    accepted = response(status, background=True, output=[], usage=None)
    for said in (
        openai_answers.answer(RESPONSES, JSON, json.dumps(accepted).encode()),
        openai_answers.answer(RESPONSES, STREAM, named([{"type": "response.created", "response": accepted}, piece("Caf")])),
    ):
        assert (said.complete, said.message_id, said.stop_reason) == (True, "resp_1", status)
    for status_of_others in ("failed", "cancelled"):
        body = json.dumps(response(status_of_others, background=True)).encode()
        assert not openai_answers.answer(RESPONSES, JSON, body).complete
    assert not openai_answers.answer(RESPONSES, STREAM, named([{"type": "response.created", "response": accepted}, ERROR_EVENT])).complete


# tools


def called(name: str | None = "read", call_id: str | None = "call_9", arguments: str | None = '{"b": 1, "a": "é"}', **more: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def asked_for(**said: Any) -> str:
    return openai_answers.answer(CHAT, JSON, completion({"index": 0, "message": {"content": None, **said}, "finish_reason": "tool_calls"})).asks


def test_the_first_tool_that_an_answer_calls_is_read_streamed_or_not() -> None:
    assert asked_for(tool_calls=[called(), called("write", "call_10")]) == "read call_9"
    assert asked_for(tool_calls=[called(call_id=None)]) == 'read {"a":"é","b":1}'
    assert asked_for(function_call={"name": "read", "arguments": '{"a":"é","b":1}'}) == 'read {"a":"é","b":1}'
    assert asked_for(tool_calls=7, function_call="x") == asked_for(tool_calls=[]) == ""
    for call_id, asks in (("call_9", "read call_9"), ("", 'read {"a":"é","b":1}'), (None, 'read {"a":"é","b":1}')):
        pieces = [
            called(call_id=call_id, arguments="", index=0),
            called(None, None, '{"b": 1,', index=0),
            called("write", "call_10", "{}", index=1),
            called(None, None, ' "a": "é"}', index=0),
        ]
        chunks = [chunk(delta(tool_calls=[piece])) for piece in pieces]
        assert openai_answers.answer(CHAT, STREAM, sse([*chunks, chunk(delta(0, "tool_calls")), "[DONE]"])).asks == asks


def test_the_first_tool_that_a_response_calls_is_read_streamed_or_not() -> None:
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_9", "name": "read", "arguments": "{}", "status": "completed"}
    whole = response(output=[{"type": "reasoning", "id": "rs_1"}, item, {**item, "call_id": "call_10"}])
    ending = {"type": "response.completed", "response": whole}
    assert openai_answers.answer(RESPONSES, JSON, json.dumps(whole).encode()).asks == "read call_9"
    assert openai_answers.answer(RESPONSES, STREAM, named([ending])).asks == "read call_9"
    forgetful = [{"type": "response.output_item.done", "output_index": 1, "item": item}, {**ending, "response": response(output=[])}]
    assert openai_answers.answer(RESPONSES, STREAM, named(forgetful)).asks == "read call_9"


def test_an_answer_is_told_by_its_text_and_if_it_has_none_by_the_tool_that_it_calls() -> None:
    assert calls.Answer(text="Hi.", asks="read call_9").reply == "Hi."
    assert calls.Answer(text=" \n", asks="read call_9").reply == "read call_9"


def test_a_response_cut_at_any_byte_before_its_last_event_is_not_complete() -> None:
    body = named(EVENTS)
    end = body.rindex(b"}")
    assert not any(openai_answers.answer(RESPONSES, STREAM, body[:cut]).complete for cut in range(end + 1))
    assert openai_answers.answer(RESPONSES, STREAM, body[: end + 1]).complete


@pytest.mark.parametrize("route", [CHAT, RESPONSES, routes.Route.MESSAGES])
def test_what_cannot_be_decoded_says_nothing(route: routes.Route) -> None:
    assert answers.read(route, STREAM, "gzip", [named(EVENTS)]) == calls.NO_ANSWER
    assert answers.read(route, JSON, "lzma", [b"{}"]) == calls.NO_ANSWER

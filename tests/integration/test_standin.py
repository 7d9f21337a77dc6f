"""The stand-in upstream, driven by the real `anthropic` and `openai` SDKs and by raw HTTP."""

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Iterator

import anthropic
import httpx2
import openai
import pytest

from services.embedded import standin

BLOCK = '<brb-memories source="brb">\nRemembered:\n- [private, me, 2026-11-30] We use Postgres 15\n</brb-memories>'
TOLD = "I was told:\n- [private, me, 2026-11-30] We use Postgres 15"
PERSON = [{"role": "user", "content": "Which database?"}]
TOOLS = [{"name": "Read", "description": "Reads a file", "input_schema": {"type": "object"}}]
FUNCTION = {"name": "Read", "parameters": {"type": "object", "properties": {}}}
READ = {"name": "Read", "input": {"path": "a é.txt", "lines": [1, 2]}}


@pytest.fixture
def upstream() -> Iterator[standin.StandIn]:
    with standin.running() as server:
        yield server


@pytest.fixture
def client(upstream: standin.StandIn) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=upstream.url, api_key="sk-test", max_retries=0) as sdk:
        yield sdk


@pytest.fixture
def gpt(upstream: standin.StandIn) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{upstream.url}/v1", api_key="sk-test", max_retries=0) as sdk:
        yield sdk


def scripted(**script: object) -> dict[str, str]:
    return {"x-standin": json.dumps(script)}


def post(upstream: standin.StandIn, body: bytes, path: str = "/v1/messages", **script: object) -> httpx2.Response:
    return httpx2.post(upstream.url + path, content=body, headers={"content-type": "application/json", **scripted(**script)})


def test_a_plain_call_is_answered_with_the_same_message_each_time(client: anthropic.Anthropic) -> None:
    first, second = (client.messages.create(model="claude-x", max_tokens=9, messages=PERSON) for _ in range(2))
    assert first.content[0].text == "Noted."
    assert (first.model, first.stop_reason) == ("claude-x", "end_turn")
    assert first.id == second.id


def test_a_stream_has_the_events_of_the_real_one_in_order(client: anthropic.Anthropic) -> None:
    with client.messages.stream(model="claude-x", max_tokens=9, messages=PERSON, extra_headers=scripted(text="Two words")) as stream:
        names = [event.type for event in stream if event.type not in {"text"}]
        assert stream.get_final_text() == "Two words"
        assert stream.get_final_message().usage.output_tokens == len("Two words") // 4
    assert names[:2] == ["message_start", "content_block_start"]
    assert names.count("content_block_delta") == 2
    assert names[-3:] == ["content_block_stop", "message_delta", "message_stop"]


def test_it_says_what_it_was_told_by_the_newest_human_message(client: anthropic.Anthropic) -> None:
    told = [{"role": "user", "content": [{"type": "text", "text": "Which database?"}, {"type": "text", "text": BLOCK}]}]
    answer = client.messages.create(model="claude-x", max_tokens=9, messages=told)
    assert answer.content[0].text == TOLD


@pytest.mark.parametrize("text", [None, "Let me see."])
def test_a_tool_is_asked_for_by_script_and_its_result_is_answered_with_text(client: anthropic.Anthropic, text: str | None) -> None:
    call = {"model": "claude-x", "max_tokens": 9, "tools": TOOLS, "extra_headers": scripted(tool=READ, text=text)}
    plain = client.messages.create(messages=PERSON, **call)
    with client.messages.stream(messages=PERSON, **call) as stream:
        streamed = stream.get_final_message()
    for message in (plain, streamed):
        assert message.stop_reason == "tool_use"
        assert [block.text for block in message.content if block.type == "text"] == ([text] if text else [])
        assert (message.content[-1].name, message.content[-1].input) == ("Read", READ["input"])
    result = {"type": "tool_result", "tool_use_id": plain.content[-1].id, "content": "ok"}
    talk = [*PERSON, {"role": "assistant", "content": plain.content}, {"role": "user", "content": [result]}]
    after = client.messages.create(messages=talk, **call)
    assert (after.stop_reason, [block.text for block in after.content]) == ("end_turn", [text or "Noted."])


def test_rules_are_used_up_in_their_order_by_main_loop_calls_that_fit(upstream: standin.StandIn, client: anthropic.Anthropic) -> None:
    rules = [{"when": "database", "times": 2, "status": 529}, {"when": "database", "tool": READ}, {"when": "weather", "text": "Rain."}]
    assert httpx2.put(f"{upstream.url}/_scripts", json=rules).status_code == 204
    title = client.messages.create(model="claude-x", max_tokens=9, messages=PERSON)  # no tools: not a main-loop call
    assert title.content[0].text == "Noted."
    assert client.messages.count_tokens(model="claude-x", messages=PERSON, tools=TOOLS).input_tokens > 1
    main = {"model": "claude-x", "max_tokens": 9, "tools": TOOLS}
    for _ in range(2):
        with pytest.raises(anthropic.InternalServerError) as refused:
            client.messages.create(messages=PERSON, **main)
        assert refused.value.status_code == 529
    used = client.messages.create(messages=PERSON, **main)
    assert used.stop_reason == "tool_use"
    assert [rule["when"] for rule in httpx2.get(f"{upstream.url}/_scripts").json()] == ["weather"]
    result = {"type": "tool_result", "tool_use_id": used.content[0].id, "content": "the weather"}
    talk = [*PERSON, {"role": "assistant", "content": used.content}, {"role": "user", "content": [result]}]
    assert client.messages.create(messages=talk, **main).content[0].text == "Noted."
    note = {"role": "system", "content": "database"}
    assert client.messages.create(messages=[{"role": "user", "content": "How is the weather?"}, note], **main).content[0].text == "Rain."


def test_a_wrong_rule_is_told_to_its_author_and_changes_nothing(upstream: standin.StandIn) -> None:
    httpx2.put(f"{upstream.url}/_scripts", json=[{"when": "x"}])
    answer = httpx2.put(f"{upstream.url}/_scripts", json=[{"wehn": "x"}])
    assert (answer.status_code, "wehn" in answer.text) == (400, True)
    assert [rule["when"] for rule in httpx2.get(f"{upstream.url}/_scripts").json()] == ["x"]


def test_a_chat_completion_says_what_it_was_told_each_time_alike(gpt: openai.OpenAI) -> None:
    told = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"Which database?\n\n{BLOCK}"}]
    first, second = (gpt.chat.completions.create(model="gpt-x", messages=told) for _ in range(2))
    assert (first.id, first.model, first.choices[0].message.content, first.choices[0].finish_reason) == (second.id, "gpt-x", TOLD, "stop")
    assert [choice.index for choice in gpt.chat.completions.create(model="gpt-x", messages=PERSON, n=2).choices] == [0, 1]


@pytest.mark.parametrize("counted", [True, False])
def test_a_streamed_chat_completion_has_the_chunks_of_the_real_one(upstream: standin.StandIn, gpt: openai.OpenAI, counted: bool) -> None:
    options = {"stream_options": {"include_usage": True}} if counted else {}
    chunks = list(gpt.chat.completions.create(model="gpt-x", messages=PERSON, stream=True, n=2, extra_headers=scripted(text="Two words"), **options))
    said = {0: "", 1: ""}
    for choice in (choice for chunk in chunks for choice in chunk.choices):
        said[choice.index] += choice.delta.content or ""
    assert said == {0: "Two words", 1: "Two words"}
    assert [chunk.usage is not None for chunk in chunks] == [*[False] * (len(chunks) - 1), counted]
    assert bool(chunks[-1].choices) is not counted
    assert post(upstream, json.dumps({"messages": PERSON, "stream": True}).encode(), "/v1/chat/completions").content.endswith(b"\n\ndata: [DONE]\n\n")


@pytest.mark.parametrize("text", [None, "Let me see."])
def test_a_chat_completion_asks_for_a_tool_by_script(gpt: openai.OpenAI, text: str | None) -> None:
    call = {"model": "gpt-x", "tools": [{"type": "function", "function": FUNCTION}], "extra_headers": scripted(tool=READ, text=text)}
    plain = gpt.chat.completions.create(messages=PERSON, **call)
    with gpt.chat.completions.stream(messages=PERSON, **call) as stream:
        streamed = stream.get_final_completion()
    for (choice,) in (plain.choices, streamed.choices):
        assert (choice.finish_reason, choice.message.content) == ("tool_calls", text)
        (asked,) = choice.message.tool_calls
        assert (asked.function.name, json.loads(asked.function.arguments)) == ("Read", READ["input"])
    result = {"role": "tool", "tool_call_id": asked.id, "content": "ok"}
    (after,) = gpt.chat.completions.create(messages=[*PERSON, plain.choices[0].message, result], **call).choices
    assert (after.finish_reason, after.message.content) == ("stop", text or "Noted.")


@pytest.mark.parametrize("given", [f"Which?\n\n{BLOCK}", [{"role": "user", "content": [{"type": "input_text", "text": BLOCK}]}]])
def test_a_response_says_what_it_was_told_and_echoes_what_it_follows(gpt: openai.OpenAI, given: object) -> None:
    first = gpt.responses.create(model="gpt-x", input=given, previous_response_id="resp_1", instructions="Be brief.")
    assert (first.output_text, first.status, first.previous_response_id) == (TOLD, "completed", "resp_1")
    with gpt.responses.stream(model="gpt-x", input=given, store=False) as stream:
        names = [event.type for event in stream]
        assert stream.get_final_response().output_text == TOLD
    assert names[:4] == ["response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"]
    assert names[-4:] == ["response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed"]


@pytest.mark.parametrize("text", [None, "Let me see."])
def test_a_response_asks_for_a_tool_by_script(gpt: openai.OpenAI, text: str | None) -> None:
    call = {"model": "gpt-x", "tools": [{"type": "function", **FUNCTION, "strict": False}], "extra_headers": scripted(tool=READ, text=text)}
    plain = gpt.responses.create(input=PERSON, **call)
    with gpt.responses.stream(input=PERSON, **call) as stream:
        streamed = stream.get_final_response()
    for response in (plain, streamed):
        assert response.output_text == (text or "")
        assert (response.output[-1].name, json.loads(response.output[-1].arguments)) == ("Read", READ["input"])
    result = {"type": "function_call_output", "call_id": plain.output[-1].call_id, "output": "ok"}
    assert gpt.responses.create(input=[*PERSON, *plain.output, result], **call).output_text == (text or "Noted.")


def test_a_response_names_its_conversation(gpt: openai.OpenAI) -> None:
    for spelt in ("conv_1", {"id": "conv_1"}):
        answer = gpt.responses.create(model="gpt-x", input="Which?", conversation=spelt)
        assert answer.conversation is not None
        assert answer.conversation.id == "conv_1"


def test_a_background_response_is_only_queued(gpt: openai.OpenAI) -> None:
    assert gpt.responses.create(model="gpt-x", input="Which?", background=True).status == "queued"


def test_rules_serve_openai_clients_too(upstream: standin.StandIn, gpt: openai.OpenAI) -> None:
    httpx2.put(f"{upstream.url}/_scripts", json=[{"when": "database", "times": 2, "text": "Postgres."}])
    chat = gpt.chat.completions.create(model="gpt-x", messages=PERSON, tools=[{"type": "function", "function": FUNCTION}])
    response = gpt.responses.create(model="gpt-x", input="Which database?", tools=[{"type": "function", **FUNCTION, "strict": False}])
    assert (chat.choices[0].message.content, response.output_text) == ("Postgres.", "Postgres.")


@pytest.mark.parametrize(("status", "error"), [(401, openai.AuthenticationError), (429, openai.RateLimitError), (500, openai.InternalServerError)])
def test_failures_on_the_routes_of_openai_have_its_shape(gpt: openai.OpenAI, status: int, error: type[openai.APIStatusError]) -> None:
    with pytest.raises(error, match="as the script says") as refused:
        gpt.responses.create(model="gpt-x", input="x", extra_headers=scripted(status=status))
    assert refused.value.type
    assert refused.value.request_id == "req_standin"
    assert [model.id for model in gpt.models.list()] == ["gpt-standin"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
@pytest.mark.parametrize("body", [b"not json", b"[]", b"{}", b'{"messages":[],"input":[]}'])
def test_bad_bodies_for_openai_are_answered_as_the_real_api_answers_them(upstream: standin.StandIn, path: str, body: bytes) -> None:
    answer = post(upstream, body, path)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


def test_tokens_are_counted_and_models_listed(client: anthropic.Anthropic) -> None:
    assert client.messages.count_tokens(model="claude-x", messages=PERSON).input_tokens > 1
    assert [model.id for model in client.models.list()] == ["claude-standin"]


def test_every_other_path_is_echoed_and_recorded_byte_for_byte(upstream: standin.StandIn) -> None:
    raw = b'{"n": 1.10, "odd": "\\ud800"}\xff'
    answer = httpx2.put(upstream.url + "/v1/files/a%2Fb?x=%7E&x=1", content=raw, headers=[("X-One", "1"), ("X-One", "2")])
    (call,) = upstream.recorded
    assert (call.method, call.path, call.body) == ("PUT", "/v1/files/a%2Fb?x=%7E&x=1", raw)
    assert [(name.lower(), value) for name, value in call.headers if name.lower() == "x-one"] == [("x-one", "1"), ("x-one", "2")]
    assert answer.json()["bytes"] == len(raw)


def test_the_recording_is_shown_over_http_and_can_be_cleared(upstream: standin.StandIn) -> None:
    httpx2.get(upstream.url + "/v1/anything")
    (shown,) = httpx2.get(upstream.url + "/_recorded").json()
    assert (shown["method"], shown["path"], shown["body"]) == ("GET", "/v1/anything", "")
    assert httpx2.delete(upstream.url + "/_recorded").status_code == 204
    assert httpx2.get(upstream.url + "/_recorded").json() == []


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (b"not json", 400, "invalid_request_error"),
        (b"[]", 400, "invalid_request_error"),
        (b'{"messages": []}', 400, "invalid_request_error"),
        (b'{"messages": [{"role": "user", "content": "' + b"x" * 33_554_432 + b'"}]}', 413, "request_too_large"),
        (b'{"messages": [{"role": "user", "content": "\\ud800"}]}', 200, None),
        (b'{"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": [{"type": "new"}, 7]}]}', 200, None),
    ],
    ids=["not JSON", "no object", "no messages", "too large", "lone surrogate", "unknown blocks"],
)
def test_bad_bodies_are_answered_as_the_real_api_answers_them(upstream: standin.StandIn, body: bytes, status: int, kind: str | None) -> None:
    answer = post(upstream, body)
    assert answer.status_code == status
    assert kind is None or answer.json()["error"]["type"] == kind


def test_a_scripted_failure_has_its_status_headers_and_exact_body(upstream: standin.StandIn) -> None:
    answer = post(upstream, b"{}", status=429, error='{"odd":  1}', headers={"retry-after": "7"})
    assert (answer.status_code, answer.content, answer.headers["retry-after"]) == (429, b'{"odd":  1}', "7")
    assert post(upstream, b"{}", status=529).json()["error"]["type"] == "overloaded_error"


def test_scripted_chunks_replace_the_stream_and_a_cut_breaks_it(upstream: standin.StandIn) -> None:
    assert post(upstream, b"{}", chunks=["event: error\n", "data: {}\n\n"]).content == b"event: error\ndata: {}\n\n"
    with pytest.raises(httpx2.RemoteProtocolError):
        post(upstream, b"{}", chunks=["one", "two"], cut_after_chunks=1)


@pytest.mark.parametrize("stream", [True, False])
def test_a_compressed_answer_says_so_and_unpacks(upstream: standin.StandIn, stream: bool) -> None:
    body = json.dumps({"messages": PERSON, "stream": stream}).encode()
    with httpx2.stream("POST", upstream.url + "/v1/messages", content=body, headers=scripted(gzip=True)) as answer:
        raw = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    assert b"Noted." in gzip.decompress(raw)


def test_a_wrong_script_is_told_to_its_author(upstream: standin.StandIn) -> None:
    answer = post(upstream, b"{}", stauts=500)
    assert answer.status_code == 400
    assert "stauts" in answer.json()["error"]["message"]


def test_it_can_be_away_for_a_while_and_come_back_at_the_same_address(upstream: standin.StandIn) -> None:
    address = upstream.url
    with upstream.away(), pytest.raises(httpx2.ConnectError):
        post(upstream, b"{}")
    assert httpx2.get(f"{address}/v1/models").status_code == 200


def test_it_counts_the_calls_whose_client_went_away(upstream: standin.StandIn) -> None:
    with httpx2.stream("POST", upstream.url + "/v1/messages", content=b"{}", headers=scripted(chunks=["one", "two"], chunk_delay_ms=5000)) as answer:
        next(answer.iter_raw())
    deadline = time.monotonic() + 5
    while not upstream.abandoned and time.monotonic() < deadline:
        time.sleep(0.01)
    assert upstream.abandoned == 1


def test_it_runs_as_a_program_that_prints_its_address_and_keeps_a_record(tmp_path: object) -> None:
    record = f"{tmp_path}/record.jsonl"
    program = [sys.executable, "-m", "services.embedded.standin", "--port", "0", "--record", record]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            httpx2.get(f"{url}/v1/models")
        finally:
            process.terminate()
        assert process.wait(10) == 0
    with open(record) as file:
        assert [json.loads(line)["path"] for line in file] == ["/v1/models"]

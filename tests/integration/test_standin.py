"""The stand-in upstream, driven by the real `anthropic` SDK and by raw HTTP."""

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Iterator

import anthropic
import httpx2
import pytest

from services.embedded import standin

BLOCK = '<brb-memories source="brb">\nRemembered:\n- [private, me, 2026-11-30] We use Postgres 15\n</brb-memories>'
PERSON = [{"role": "user", "content": "Which database?"}]


@pytest.fixture
def upstream() -> Iterator[standin.StandIn]:
    with standin.running() as server:
        yield server


@pytest.fixture
def client(upstream: standin.StandIn) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=upstream.url, api_key="sk-test", max_retries=0) as sdk:
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
    assert answer.content[0].text == "I was told:\n- [private, me, 2026-11-30] We use Postgres 15"


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

"""What BRB must not change: errors, streams, and bodies that it can't read. Nothing is learnt from those."""

import json
import threading
import time
from collections.abc import Callable, Iterator

import anthropic
import httpx2
import pytest
from harness import Brb, Person, scripted

from services.embedded import standin

New = Callable[..., Person]

MESSAGE = {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "I prefer dark roast coffee."}]}
QUESTION = {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "What is a monad?"}]}
OVERLOADED = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'


def odd_bodies() -> Iterator[tuple[str, bytes]]:
    opening, closing = b'{"model":"claude-x","max_tokens":9,"messages":', b"}"
    yield "not JSON", b"I prefer dark roast coffee."
    yield "not UTF-8", opening + b'[{"role":"user","content":"I prefer \xff coffee."}]' + closing
    yield "no object", b'["I prefer dark roast coffee."]'
    yield "cut off", opening + b'[{"role":"user","content":"I prefer dark roast cof'
    yield "no messages", b'{"model":"claude-x"}'
    yield "empty messages", opening + b"[]" + closing
    yield "messages of another shape", opening + b'[7, null, {"role":"user"}, {"role":"user","content":{"text":"I prefer coffee."}}]' + closing
    yield "lone surrogate", opening + b'[{"role":"user","content":"I prefer dark roast \\ud800 coffee."}]' + closing
    yield "twice the same key", opening + b'[{"role":"user","content":"I prefer tea.","content":"I prefer coffee."}],"messages":[]' + closing
    yield "quota probe", b'{"model":"claude-x","max_tokens":1,"messages":[{"role":"user","content":"quota"}]}'
    yield "deeply nested", opening + b"[" * 2000 + b"]" * 2000 + closing
    yield "nothing", b""


def post(brb: Brb, body: bytes, path: str = "/v1/messages", **script: object) -> httpx2.Response:
    headers = {"content-type": "application/json", "x-claude-code-session-id": "odd"} | (scripted(**script) if script else {})
    return brb.http.post(path, content=body, headers=headers)


def direct(upstream: standin.StandIn, body: bytes, path: str = "/v1/messages", **script: object) -> httpx2.Response:
    return httpx2.post(upstream.url + path, content=body, headers={"content-type": "application/json"} | (scripted(**script) if script else {}))


def nothing_is_learnt(brb: Brb, person: New) -> None:
    """A later turn is learnt and nothing else is there: jobs are taken in their order."""
    brb.worked_off(person().say(f"My ticket is called {time.monotonic_ns()}-sentinel.").turn)
    assert [text for text in brb.texts() if "sentinel" not in text] == []


@pytest.mark.parametrize("body", [body for _, body in odd_bodies()], ids=[name for name, _ in odd_bodies()])
def test_a_body_that_brb_cannot_read_is_forwarded_byte_for_byte_and_the_upstream_answers(brb: Brb, upstream: standin.StandIn, body: bytes) -> None:
    answer = post(brb, body)
    assert [call.body for call in upstream.recorded] == [body]
    expected = direct(upstream, body)
    assert (answer.status_code, answer.content) == (expected.status_code, expected.content)


def test_nothing_is_learnt_from_bodies_that_brb_cannot_read(brb: Brb, person: New) -> None:
    for _, body in odd_bodies():
        post(brb, body)
    nothing_is_learnt(brb, person)


@pytest.mark.parametrize("over", [0, 1000], ids=["32 MiB", "more than that"])
def test_a_body_of_32_mib_goes_through_byte_for_byte(brb: Brb, upstream: standin.StandIn, over: int) -> None:
    frame = len(json.dumps({**MESSAGE, "messages": [{"role": "user", "content": ""}]}))
    body = json.dumps({**MESSAGE, "messages": [{"role": "user", "content": "x" * (33_554_432 + over - frame)}]}).encode()
    answer = post(brb, body)
    assert upstream.recorded[-1].body == body
    assert answer.status_code == (413 if over else 200)


def test_unknown_blocks_and_a_system_message_among_the_messages_keep_their_place(brb: Brb, person: New, upstream: standin.StandIn) -> None:
    person().say("Our message broker is NATS.")
    brb.memory("NATS")
    body = (
        b'{"messages": [ {"role":"user","content":[{"type":"hologram","data":1.10,"n":1e20},\t'
        b'{"type":"text","text":"What is our message broker\\u003f"}]},\n'
        b'{"content":"Be brief.","role":"system"} ], "max_tokens":9,"model":"claude-x", "x":"\\/"}'
    )
    assert post(brb, body).status_code == 200
    received = upstream.recorded[-1].body
    at = body.index(b"]},\n")
    assert received[:at] == body[:at]
    assert received.endswith(body[at:])
    assert b"NATS" in received[at : len(received) - len(body) + at]


@pytest.mark.parametrize("path", ["/v1/messages/count_tokens?beta=true", "/v1/messages/batches", "/v1/files/a%2Fb?x=%7E&y=+", "/v1/complete"])
def test_other_paths_reach_the_upstream_as_they_are(brb: Brb, person: New, upstream: standin.StandIn, path: str) -> None:
    body = json.dumps(MESSAGE, indent=1).encode()
    answer = post(brb, body, path)
    assert [(call.method, call.path, call.body) for call in upstream.recorded] == [("POST", path, body)]
    assert answer.content == direct(upstream, body, path).content
    assert "x-brb-turn" not in answer.headers


@pytest.mark.parametrize("path", ["/", "/api/hello"])
def test_a_warming_probe_is_answered_without_the_upstream(brb: Brb, upstream: standin.StandIn, path: str) -> None:
    assert brb.http.head(path).is_success
    assert not upstream.recorded


def test_headers_reach_the_upstream_but_for_those_of_brb(brb: Brb, upstream: standin.StandIn) -> None:
    sent = {"anthropic-beta": "a-2026-01-01,b", "x-api-key": "sk-x", "authorization": "Bearer y", "anthropic-odd": "1", "x-brb-project": "p"}
    brb.http.post("/v1/messages", json=QUESTION, headers=sent)
    received = {name.lower(): value for name, value in upstream.recorded[-1].headers}
    assert {name: received.get(name) for name in sent} == {**sent, "x-brb-project": None}


@pytest.mark.parametrize("status", [400, 401, 429, 500, 529])
def test_an_error_of_the_upstream_comes_back_unmodified_and_teaches_nothing(brb: Brb, person: New, status: int) -> None:
    script = {
        "status": status,
        "error": '{"type":"error", "error":{"type":"odd","message":"é"}}',
        "headers": {"retry-after": "7", "x-should-retry": "no"},
    }
    answer = post(brb, json.dumps(MESSAGE).encode(), **script)
    assert (answer.status_code, answer.content) == (status, str(script["error"]).encode())
    assert (answer.headers["retry-after"], answer.headers["x-should-retry"], answer.headers["request-id"]) == ("7", "no", "req_standin")
    nothing_is_learnt(brb, person)


def test_the_sdk_sees_the_upstreams_own_error(person: New) -> None:
    with pytest.raises(anthropic.RateLimitError, match="as the script says"):
        person().say("I prefer dark roast coffee.", extra_headers=scripted(status=429))


def test_an_error_event_in_the_stream_is_relayed_and_the_turn_is_not_learnt(brb: Brb, person: New) -> None:
    answer = post(brb, json.dumps({**MESSAGE, "stream": True}).encode(), chunks=[": a comment\n\n", OVERLOADED])
    assert answer.text == ": a comment\n\n" + OVERLOADED
    nothing_is_learnt(brb, person)


def test_a_stream_that_the_upstream_cuts_is_cut_for_the_client_too_and_not_learnt(brb: Brb, person: New) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        post(brb, json.dumps({**MESSAGE, "stream": True}).encode(), cut_after_chunks=4)
    nothing_is_learnt(brb, person)


def test_a_stream_comes_as_it_is_sent(brb: Brb) -> None:
    headers = scripted(chunk_delay_ms=150, text="one two three four")
    with brb.http.stream("POST", "/v1/messages", json={**QUESTION, "stream": True}, headers=headers) as answer:
        arrivals = [time.monotonic() for _ in answer.iter_raw()]
    assert len(arrivals) >= 8
    assert arrivals[-1] - arrivals[0] > 0.9


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "plain"])
def test_a_compressed_answer_is_relayed_as_it_is_and_still_learnt_from(brb: Brb, upstream: standin.StandIn, stream: bool) -> None:
    body = json.dumps({**MESSAGE, "stream": stream, "messages": [{"role": "user", "content": f"I prefer {'oolong' if stream else 'sencha'} tea."}]})
    with brb.http.stream("POST", "/v1/messages", content=body, headers=scripted(gzip=True)) as answer:
        raw = b"".join(answer.iter_raw())
    with httpx2.stream("POST", upstream.url + "/v1/messages", content=body, headers=scripted(gzip=True)) as expected:
        assert raw == b"".join(expected.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    brb.memory("oolong" if stream else "sencha")


def test_an_unreachable_upstream_gives_an_error_of_anthropics_shape(brb: Brb, upstream: standin.StandIn) -> None:
    with upstream.away():
        answer = brb.http.post("/v1/messages", json=QUESTION)
    assert answer.status_code == 502
    error = answer.json()
    assert (error["type"], error["error"]["type"]) == ("error", "api_error")
    assert "127.0.0.1" in error["error"]["message"]
    assert brb.http.post("/v1/messages", json=QUESTION).status_code == 200


def test_many_calls_at_once_each_get_their_own_answer(brb: Brb) -> None:
    answers: dict[int, str] = {}

    def ask(number: int) -> None:
        body = {**MESSAGE, "messages": [{"role": "user", "content": f"What is {number} squared?"}]}
        answer = httpx2.post(brb.url + "/v1/messages", json=body, headers=scripted(text=f"It is {number**2}", delay_ms=50), timeout=30)
        answers[number] = answer.json()["content"][0]["text"]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: f"It is {number**2}" for number in range(16)}

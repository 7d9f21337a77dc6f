"""OpenAI's APIs through a whole BRB, with the real `openai` SDK: chats and responses, streamed or not, sync or async; and a real server for them."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import httpx2
import openai
import pytest
from harness import Brb, scripted

from services.core import block
from services.embedded import standin

KEY = "sk-proj-" + "the-key-of-the-client-" * 3
TOOL = {"name": "lookup", "description": "Looks things up", "parameters": {"type": "object", "properties": {}}}
CHAT_TOOLS = [{"type": "function", "function": TOOL}]
RESPONSE_TOOLS = [{"type": "function", **TOOL, "strict": False}]
APIS = ["chat", "chat stream", "response", "response stream"]
LOOKUP = {"name": "lookup", "input": {"what": "é", "lines": [1, 2]}}


class Call(NamedTuple):
    """One call through BRB: its body as the client sent it and as it arrived, what was answered, and BRB's own headers on the answer (`turn`: "" if
    it was no new turn)."""

    sent: bytes
    received: bytes
    text: str
    memories: int
    turn: str
    id: str

    @property
    def blocks(self) -> int:
        return self.received.count(block.OPEN.encode())


class Client:
    """The SDK, and what it sent and was sent."""

    def __init__(self, brb: Brb, upstream: standin.StandIn | None = None, **headers: str) -> None:
        self._upstream = upstream
        self._requests: list[httpx2.Request] = []
        self._responses: list[httpx2.Response] = []
        hooks = {"request": [self._requests.append], "response": [self._responses.append]}
        transport = openai.DefaultHttpxClient(trust_env=False, event_hooks=hooks)
        self.sdk = openai.OpenAI(base_url=f"{brb.url}/v1", api_key=KEY, max_retries=0, timeout=120, default_headers=headers, http_client=transport)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.sdk.close()

    def ask(self, api: str, given: Any, **options: Any) -> Call:
        """given: the person's words, or the messages or items of a conversation."""
        if api.startswith("chat"):
            name, text = self._chat(given, api.endswith("stream"), options)
        else:
            name, text = self._respond(given, api.endswith("stream"), options)
        headers = self._responses[-1].headers
        received = self._upstream.recorded[-1].body if self._upstream else b""
        return Call(self._requests[-1].content, received, text, int(headers.get("x-brb-memories", "0")), headers.get("x-brb-turn", ""), name)

    def _chat(self, given: Any, stream: bool, options: dict[str, Any]) -> tuple[str, str]:
        call: dict[str, Any] = {"model": "gpt-x", "messages": given if isinstance(given, list) else [{"role": "user", "content": given}], **options}
        if not stream:
            completion = self.sdk.chat.completions.create(**call)
            return completion.id, completion.choices[0].message.content or ""
        chunks = list(self.sdk.chat.completions.create(stream=True, **call))
        return chunks[0].id, "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    def _respond(self, given: Any, stream: bool, options: dict[str, Any]) -> tuple[str, str]:
        call: dict[str, Any] = {"model": "gpt-x", "input": given, **options}
        if not stream:
            response = self.sdk.responses.create(**call)
            return response.id, response.output_text
        events = list(self.sdk.responses.create(stream=True, **call))
        assert events[-1].type in ("response.completed", "response.incomplete")
        return events[-1].response.id, "".join(event.delta for event in events if event.type == "response.output_text.delta")


@pytest.fixture
def client(brb: Brb, upstream: standin.StandIn) -> Iterator[Callable[..., Client]]:
    """Makes clients, each for a conversation of its own."""
    with ExitStack() as stack:
        yield lambda **headers: stack.enter_context(Client(brb, upstream, **headers))


New = Callable[..., Client]


def post(brb: Brb, body: bytes, path: str, **script: object) -> httpx2.Response:
    return brb.http.post(path, content=body, headers={"content-type": "application/json", "authorization": f"Bearer {KEY}"} | scripted(**script))


def direct(upstream: standin.StandIn, body: bytes, path: str, **script: object) -> httpx2.Response:
    return httpx2.post(
        upstream.url + path, content=body, headers={"content-type": "application/json", "authorization": f"Bearer {KEY}"} | scripted(**script)
    )


def nothing_is_learnt(brb: Brb, client: New) -> None:
    """A later turn is learnt and nothing else is there: jobs are taken in their order."""
    brb.worked_off(client().ask("chat", f"My ticket is called {time.monotonic_ns()}-sentinel.").turn)
    assert [text for text in brb.texts() if "sentinel" not in text] == []


@pytest.mark.parametrize(("api", "database"), list(zip(APIS, ["CockroachDB", "ClickHouse", "Cassandra", "MariaDB"], strict=True)))
def test_what_was_said_in_one_conversation_is_told_in_the_next(brb: Brb, client: New, api: str, database: str) -> None:
    said = client().ask(api, f"We use {database} for the orders.")
    assert (said.text, said.received) == ("Noted.", said.sent)
    brb.memory(database)
    asked = client().ask(api, "Which database do we use for the orders?")
    assert (asked.memories, asked.blocks) == (1, 1)
    assert database in asked.text


def test_what_was_said_over_one_api_is_told_over_the_others(brb: Brb, client: New) -> None:
    client().ask("response", "Our staging cluster is called pelican.")
    brb.memory("pelican")
    assert "pelican" in client().ask("chat stream", "What is our staging cluster called?").text
    question = {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "What is the staging cluster called?"}]}
    assert "pelican" in brb.http.post("/v1/messages", json=question).text


def test_the_async_sdk_is_served_alike(brb: Brb, upstream: standin.StandIn, client: New) -> None:
    client().ask("chat", "Our message broker is NATS.")
    brb.memory("NATS")

    async def ask() -> list[str]:
        transport = openai.DefaultAsyncHttpxClient(trust_env=False)
        async with openai.AsyncOpenAI(base_url=f"{brb.url}/v1", api_key=KEY, max_retries=0, http_client=transport) as sdk:
            words = "What is our message broker"
            chat = await sdk.chat.completions.create(model="gpt-x", messages=[{"role": "user", "content": f"{words}?"}])
            response = await sdk.responses.create(model="gpt-x", input=f"{words}, please?")
            chunks = await sdk.chat.completions.create(model="gpt-x", messages=[{"role": "user", "content": f"{words} called?"}], stream=True)
            streamed = [chunk.choices[0].delta.content or "" async for chunk in chunks]
            async with sdk.responses.stream(model="gpt-x", input=f"{words} now?") as events:
                final = await events.get_final_response()
        return [chat.choices[0].message.content or "", response.output_text, "".join(streamed), final.output_text]

    answers = asyncio.run(ask())
    assert len(answers) == 4
    assert all("NATS" in answer for answer in answers)


@pytest.mark.parametrize("api", APIS)
def test_what_has_nothing_to_be_told_is_unchanged_and_so_is_its_answer(brb: Brb, upstream: standin.StandIn, client: New, api: str) -> None:
    """litellm#1255: `[DONE]` was missing. claude-code-router#720: the chunk with the usage was lost."""
    call = client().ask(api, "What is a monad, in é and 😀?")
    assert call.received == call.sent
    path = "/v1/chat/completions" if api.startswith("chat") else "/v1/responses"
    for gzip in (False, True):
        through, straight = post(brb, call.sent, path, gzip=gzip), direct(upstream, call.sent, path, gzip=gzip)
        assert (through.status_code, through.content) == (200, straight.content)
        assert through.headers["content-type"] == straight.headers["content-type"]
    assert b"stream_options" not in upstream.recorded[-1].body


@pytest.mark.parametrize("stream", ["", " stream"], ids=["whole", "streamed"])
def test_a_tool_loop_of_a_chat_replays_the_block_and_tells_nothing_new(brb: Brb, client: New, stream: str) -> None:
    client().ask("chat", "Our deployment region is Falkenstein.")
    brb.memory("Falkenstein")
    talk: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "What is our deployment region?"}]}]
    asking = client()
    first = asking.ask(f"chat{stream}", talk, tools=CHAT_TOOLS, extra_headers=scripted(tool=LOOKUP))
    assert (first.text, first.blocks) == ("", 1)
    talk += [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
    ]
    step = asking.ask(f"chat{stream}", talk, tools=CHAT_TOOLS)
    told = json.loads(first.received)["messages"][0]
    assert step.turn == ""
    assert json.loads(step.received)["messages"] == [told, *talk[1:]]
    talk += [{"role": "assistant", "content": "It is there."}, {"role": "user", "content": "Thank you, and what is a monad?"}]
    later = asking.ask(f"chat{stream}", talk, tools=CHAT_TOOLS)
    assert json.loads(later.received)["messages"] == [told, *talk[1:]]


def test_a_tool_loop_of_a_response_replays_the_block_and_tells_nothing_new(brb: Brb, client: New) -> None:
    client().ask("response", "Our deployment region is Nuremberg.")
    brb.memory("Nuremberg")
    asking = client()
    items: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": "What is our deployment region?"}]}]
    first = asking.sdk.responses.create(model="gpt-x", input=items, tools=RESPONSE_TOOLS, store=False, extra_headers=scripted(tool=LOOKUP))
    told = json.loads(asking._upstream.recorded[-1].body)["input"]
    assert "Nuremberg" in told[0]["content"][1]["text"]
    assert told[0]["content"][1]["type"] == "input_text"
    items += [
        *(item.model_dump(exclude_none=True) for item in first.output),
        {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "ok"},
    ]
    step = asking.ask("response", items, tools=RESPONSE_TOOLS, store=False)
    assert step.turn == ""
    assert json.loads(step.received)["input"] == [*told, *items[1:]]


@pytest.mark.parametrize("chained", ["previous_response_id", "conversation"])
def test_a_memory_is_told_once_in_a_conversation_that_the_upstream_keeps(brb: Brb, client: New, chained: str) -> None:
    client().ask("response", "My favourite colour is vermilion.")
    brb.memory("vermilion")
    asking = client()
    first = asking.ask("response", "What is my favourite colour?", **({"conversation": "conv_1"} if chained == "conversation" else {}))
    assert (first.memories, first.blocks) == (1, 1)
    previous = first.id
    for words in ("Once more: what is my favourite colour?", "And again, what is my favourite colour?"):
        follow = {"conversation": "conv_1"} if chained == "conversation" else {"previous_response_id": previous}
        again = asking.ask("response stream", words, **follow)
        assert (again.memories, again.blocks) == (0, 0)
        assert again.received == again.sent
        previous = again.id
    assert client().ask("response", "What is my favourite colour?", previous_response_id="resp_of_another").memories == 1


def test_a_replay_without_a_store_has_the_same_bytes_in_the_same_place(brb: Brb, client: New) -> None:
    client().ask("response", "Our linter is called ruff.")
    brb.memory("ruff")
    asking = client(session_id="s-1")
    items: list[Any] = [{"type": "message", "role": "user", "content": "What is our linter called?"}]
    first = asking.ask("response", items, store=False)
    assert first.blocks == 1
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAA=="}
    items += [
        reasoning,
        {
            "type": "message",
            "role": "assistant",
            "id": "msg_1",
            "status": "completed",
            "content": [{"type": "output_text", "text": first.text, "annotations": []}],
        },
        {"type": "message", "role": "user", "content": "What is a monad?"},
    ]
    second = asking.ask("response", items, store=False)
    told = first.received[first.received.index(b'"input"') : first.received.rindex(b"]")]
    assert told in second.received
    assert second.blocks == 1
    grown = json.loads(second.received)
    assert grown["input"][1:] == items[1:]
    assert grown["input"][0]["content"].startswith(items[0]["content"])
    brb.kill_part("proxy")
    repeated = asking.ask("response", items, store=False)
    assert repeated.received == second.received


def test_side_calls_of_clients_are_neither_told_nor_learnt(brb: Brb, upstream: standin.StandIn, client: New) -> None:
    client().ask("chat", "Our office is in Porto.")
    brb.memory("Porto")
    title = "### Task:\nGenerate a concise, 3-5 word title.\n<chat_history>\nUSER: Our office is in Porto. I prefer tea.\n</chat_history>"
    for path, body in (
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": title}]}),
        ("/v1/responses", {"input": "Our office is in Porto. I prefer tea.", "instructions": "You are a title generator. You output ONLY a title."}),
        ("/v1/chat/completions", {"max_tokens": 1, "messages": [{"role": "user", "content": "I prefer tea."}]}),
    ):
        raw = json.dumps(body, indent=1).encode()
        assert "x-brb-turn" not in post(brb, raw, path).headers
        assert upstream.recorded[-1].body == raw
    brb.worked_off(client().ask("chat", "My desk is called walnut.").turn)
    assert not [text for text in brb.texts() if "tea" in text]


ERRORS = [
    (400, openai.BadRequestError),
    (401, openai.AuthenticationError),
    (403, openai.PermissionDeniedError),
    (404, openai.NotFoundError),
    (429, openai.RateLimitError),
    (500, openai.InternalServerError),
]


@pytest.mark.parametrize(("status", "error"), ERRORS)
def test_the_sdk_raises_the_upstreams_own_error_and_nothing_is_learnt(client: New, brb: Brb, status: int, error: type[openai.APIStatusError]) -> None:
    for api in ("chat", "response stream"):
        with pytest.raises(error, match="as the script says") as refused:
            client().ask(api, "I prefer dark roast coffee.", extra_headers=scripted(status=status, headers={"retry-after": "7"}))
        assert refused.value.response.headers["retry-after"] == "7"
        assert refused.value.request_id == "req_standin"
    nothing_is_learnt(brb, client)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
def test_a_stream_that_fails_or_is_cut_is_relayed_so_and_not_learnt(brb: Brb, client: New, path: str) -> None:
    """litellm#32086: an error after a 200 became an empty success."""
    said = "I prefer dark roast coffee."
    body = json.dumps({"stream": True, "messages": [{"role": "user", "content": said}], "input": said}).encode()
    error = 'data: {"error":{"message":"overloaded","type":"server_error","param":null,"code":null}}\n\n'
    assert post(brb, body, path, chunks=[": a comment\n\n", error]).text == ": a comment\n\n" + error
    with pytest.raises(httpx2.RemoteProtocolError):
        post(brb, body, path, cut_after_chunks=2)
    nothing_is_learnt(brb, client)


def test_an_upstream_that_is_away_is_told_in_the_shape_of_openai(brb: Brb, upstream: standin.StandIn, client: New) -> None:
    with upstream.away():
        for api in ("chat", "response stream"):
            with pytest.raises(openai.InternalServerError) as refused:
                client().ask(api, "I prefer dark roast coffee.")
            assert refused.value.status_code == 502
            assert refused.value.type
            assert "BRB_OPENAI_URL" in refused.value.message
        answer = brb.http.get("/v1/models", headers={"authorization": f"Bearer {KEY}"})
        assert set(answer.json()) == {"error"}
    nothing_is_learnt(brb, client)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models"),
        ("GET", "/v1/responses/resp_1?stream=true&starting_after=3"),
        ("POST", "/v1/responses/resp_1/cancel"),
        ("GET", "/v1/responses/resp_1/input_items?limit=2"),
        ("DELETE", "/v1/chat/completions/chatcmpl-1"),
        ("POST", "/v1/embeddings"),
        ("POST", "/v1/batches"),
        ("GET", "/v1/files/f%2F1/content"),
    ],
)
def test_other_calls_reach_the_upstream_as_they_are(brb: Brb, upstream: standin.StandIn, method: str, path: str) -> None:
    body = b'{"input": "I prefer tea.",  "n": 1.10}' if method == "POST" else b""
    answer = brb.http.request(method, path, content=body, headers={"authorization": f"Bearer {KEY}"})
    assert answer.status_code == 200
    assert [(call.method, call.path, call.body) for call in upstream.recorded] == [(method, path, body)]
    assert "x-brb-turn" not in answer.headers


def test_a_websocket_is_refused_so_that_clients_go_on_over_http(brb: Brb) -> None:
    """Codex asks for one first, and goes on over HTTP after a 404."""
    headers = {"upgrade": "websocket", "connection": "Upgrade", "sec-websocket-key": "x3JJHMbDL1EzLkh9GBhXDw==", "sec-websocket-version": "13"}
    assert brb.http.get("/v1/responses", headers=headers).status_code == 404


# a real server


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, chat_model: str) -> Iterator[Brb]:
    """A BRB whose upstream is written as people write it, with the version."""
    brb = Brb(tmp_path_factory.mktemp("real"), "http://127.0.0.1:9", BRB_OPENAI_URL=f"{chat_model}/v1")
    try:
        brb.start(seconds=300)
        yield brb
    finally:
        brb.close()


@pytest.mark.parametrize("api", APIS)
def test_a_real_server_with_a_small_model_answers_and_is_told_what_was_said(real: Brb, api: str) -> None:
    limit = {"max_tokens" if api.startswith("chat") else "max_output_tokens": 4, "temperature": 0}
    tool = f"hammer-{APIS.index(api)}"
    with Client(real) as client:
        assert client.ask(api, f"Our tool for {api} is called {tool}.", **limit).text
        real.memory(tool, seconds=60)
        asked = client.ask(api, f"What is our tool for {api} called?", **limit)
    assert asked.text
    assert asked.memories >= 1


def test_the_errors_and_models_of_a_real_server_come_back_as_its_own(real: Brb, chat_model: str) -> None:
    raw = b'{"messages": "none"}'
    through, straight = (httpx2.post(f"{url}/v1/chat/completions", content=raw, timeout=30) for url in (real.url, chat_model))
    assert (through.status_code, through.json()) == (straight.status_code, straight.json())
    with Client(real) as client:
        assert [model.id for model in client.sdk.models.list()] == ["smollm2"]
        with pytest.raises(openai.APIStatusError) as refused:
            client.sdk.chat.completions.create(model="m", messages="none")
    assert refused.value.status_code == straight.status_code

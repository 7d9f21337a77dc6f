"""What the adapter makes of a server of the extraction model that misbehaves: a real HTTP server on a loopback port that does what the test says."""

import contextlib
import gc
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from services.core import errors
from services.core.adapters.chat_model import ChatModel

SCHEMA: dict[str, object] = {"type": "object"}
Answer = tuple[int, bytes]


def completion(content: str | None, finish: str = "stop") -> Answer:
    return 200, msgspec.json.encode({"choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}}]})


class Server:
    """Answers `/health` with `health()` and anything else with `reply()`; None breaks the connection off."""

    def __init__(self) -> None:
        self.requests: list[dict[str, object]] = []
        self.headers: list[dict[str, str]] = []
        self.reply: Callable[[], Answer | None] = lambda: completion("{}")
        self.health: Callable[[], Answer | None] = lambda: (200, b"{}")
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(outer.health())

            def do_POST(self) -> None:
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                outer.requests.append(msgspec.json.decode(self.rfile.read(int(self.headers["content-length"]))))
                self._answer(outer.reply())

            def _answer(self, answer: Answer | None) -> None:
                if answer is None:
                    self.close_connection = True
                    with contextlib.suppress(OSError):
                        self.connection.shutdown(socket.SHUT_RDWR)
                    return
                with contextlib.suppress(OSError):
                    self.send_response(answer[0])
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(answer[1])))
                    self.end_headers()
                    self.wfile.write(answer[1])

            def log_message(self, *_: object) -> None:
                return

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def model(server: Server) -> Iterator[ChatModel]:
    made = ChatModel(server.url, model="m")
    yield made
    made.close()


def ask(model: ChatModel, *, seconds: float = 5.0) -> tuple[str, bool]:
    return model.ask([("user", "words \ud800")], SCHEMA, most_tokens=7, temperature=0.4, timeout_seconds=seconds)


def test_the_answer_is_asked_for_under_the_schema_and_within_its_bounds(server: Server, model: ChatModel) -> None:
    server.reply = lambda: completion('{"facts":[]}')

    assert ask(model) == ('{"facts":[]}', True)
    (request,) = server.requests
    assert (request["model"], request["max_tokens"], request["temperature"]) == ("m", 7, 0.4)
    assert request["response_format"] == {"type": "json_schema", "json_schema": {"name": "facts", "strict": True, "schema": SCHEMA}}


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_an_answer_that_was_cut_off_says_so(server: Server, model: ChatModel, finish: str) -> None:
    server.reply = lambda: completion('{"facts":[', finish)
    assert ask(model) == ('{"facts":[', False)


def test_an_address_with_v1_is_the_same(server: Server) -> None:
    model = ChatModel(f"{server.url}/v1/", model="m")
    assert ask(model) == ("{}", True)
    model.close()


def test_nothing_of_the_environment_is_used(server: Server, model: ChatModel, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "zebra")

    assert ask(model) == ("{}", True)
    assert "zebra" not in " ".join(server.headers[0].values())


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_server_that_is_loading_or_busy_is_away(server: Server, model: ChatModel, status: int) -> None:
    server.reply = lambda: (status, b'{"error":{"message":"Loading model"}}')

    with pytest.raises(errors.Unavailable, match=str(status)):
        ask(model)
    assert len(server.requests) == 1, "it is not asked again at once"


def test_a_server_whose_health_says_that_it_is_loading_is_not_asked(server: Server, model: ChatModel) -> None:
    server.health = lambda: (503, b"{}")

    with pytest.raises(errors.Unavailable, match="503"):
        ask(model)
    assert server.requests == []


@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b'{"choices":[]}', b'{"choices":[{"message":5}]}', b"\xff\xfe"])
def test_an_answer_that_is_no_completion_counts_as_a_failed_attempt(server: Server, model: ChatModel, body: bytes) -> None:
    server.reply = lambda: (200, body)
    with pytest.raises(errors.Transient) as raised:
        ask(model)
    assert not isinstance(raised.value, errors.Unavailable)


def test_no_content_is_an_empty_answer(server: Server, model: ChatModel) -> None:
    server.reply = lambda: completion(None)
    assert ask(model) == ("", True)


@pytest.mark.parametrize("reply", [lambda: None, lambda: (500, b'{"error":{"message":"zebra"}}')])
def test_a_server_that_breaks_in_the_middle_counts_as_a_failed_attempt(server: Server, model: ChatModel, reply: Callable[[], Answer | None]) -> None:
    server.reply = reply
    with pytest.raises(errors.Transient) as raised:
        ask(model)
    assert not isinstance(raised.value, errors.Unavailable), "what is sent may be what breaks it: it is not sent for ever"
    assert "zebra" not in str(raised.value)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_server_that_does_not_take_such_requests_names_the_setting(server: Server, model: ChatModel, status: int) -> None:
    server.reply = lambda: (status, b'{"error":{"message":"no"}}')
    with pytest.raises(errors.SetupError, match="BRB_EXTRACT_URL"):
        ask(model)


def test_too_small_a_context_names_the_cure(server: Server, model: ChatModel) -> None:
    server.reply = lambda: (400, b'{"error":{"message":"request exceeds the available context size"}}')
    with pytest.raises(errors.SetupError, match="-c 4096"):
        ask(model)


def test_a_slow_answer_of_a_server_that_is_well_counts_as_a_failed_attempt_and_one_that_hangs_is_away(server: Server, model: ChatModel) -> None:
    released = threading.Event()

    def slow() -> Answer:
        released.wait(10)
        return completion("{}")

    server.reply = slow
    started = time.monotonic()
    with pytest.raises(errors.Transient, match="in time") as raised:
        ask(model, seconds=0.2)
    assert time.monotonic() - started < 3
    assert not isinstance(raised.value, errors.Unavailable)

    asked = threading.Event()

    def hangs_once_asked() -> Answer:
        return slow() if asked.is_set() else (200, b"{}")

    def noticed() -> Answer:
        asked.set()
        return slow()

    server.health, server.reply = hangs_once_asked, noticed
    with pytest.raises(errors.Unavailable, match="in time"):
        ask(model, seconds=0.2)
    released.set()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # httpcore2 leaves a unix socket that can't connect to the collector
@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "nothing.sock"])
def test_a_server_that_is_not_there_is_away(tmp_path: Path, address: str) -> None:
    model = ChatModel(address if address.startswith("http") else tmp_path / address, model="m")
    assert [_dependency_away(call) for call in (model.ping, lambda: ask(model))] == ["extraction model"] * 2
    model.close()
    gc.collect()


def _dependency_away(call: Callable[[], object]) -> str:
    try:
        call()
    except errors.Unavailable as error:
        return error.dependency
    return ""

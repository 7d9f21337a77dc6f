"""What the embedder makes of a server that misbehaves: a real HTTP server on a loopback port that answers what the test says."""

import contextlib
import gc
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from services.core import errors
from services.core.adapters.llama_cpp import LlamaCppEmbedder

Answer = tuple[int, bytes]
TOO_LARGE = (
    500,
    b'{"error":{"code":500,"message":"input (602 tokens) is too large to process. increase the physical batch size","type":"server_error"}}',
)


class _Asked(msgspec.Struct):
    input: list[str]


class Server:
    """Answers each embeddings request with `reply(texts)`, and remembers the texts of each."""

    def __init__(self) -> None:
        self.requests: list[list[str]] = []
        self.reply: Callable[[list[str]], Answer] = vectors
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                texts = msgspec.json.decode(self.rfile.read(int(self.headers["content-length"])), type=_Asked).input
                outer.requests.append(texts)
                status, body = outer.reply(texts)
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # the client gave up
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def vectors(texts: list[str]) -> Answer:
    """Of three numbers, told apart by the length of the text; in reverse, as the interface allows."""
    rows = [{"index": index, "embedding": [3.0, 4.0, float(len(text))]} for index, text in enumerate(texts)]
    return 200, msgspec.json.encode({"data": rows[::-1]})


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def embedder(server: Server) -> Iterator[LlamaCppEmbedder]:
    made = LlamaCppEmbedder(server.url, model="m", dimension=3, prefixes={"query": "find: ", "document": "keep: "}, timeout_seconds=5)
    yield made
    made.close()


def test_vectors_come_in_the_order_of_the_texts_and_have_unit_length(server: Server, embedder: LlamaCppEmbedder) -> None:
    short, long = embedder.embed(["a", "a longer text"], "document")

    assert sum(number * number for number in short) == pytest.approx(1)
    assert long[2] > short[2]


def test_the_prefix_of_the_kind_is_put_before_each_text(server: Server, embedder: LlamaCppEmbedder) -> None:
    embedder.embed(["one", "two"], "document")
    embedder.embed(["three"], "query")

    assert server.requests == [["keep: one", "keep: two"], ["find: three"]]


def test_many_texts_go_in_batches(server: Server, embedder: LlamaCppEmbedder) -> None:
    assert len(embedder.embed([f"text {number}" for number in range(40)], "document")) == 40
    assert [len(texts) for texts in server.requests] == [16, 16, 8]


def test_no_text_is_no_call(server: Server, embedder: LlamaCppEmbedder) -> None:
    assert embedder.embed([], "document") == []
    assert server.requests == []


def test_a_query_asked_again_is_not_sent_again_and_its_vector_can_not_be_spoilt(server: Server, embedder: LlamaCppEmbedder) -> None:
    first = embedder.embed(["same"], "query")[0]
    first[0] = 99.0

    assert embedder.embed(["same"], "query")[0][0] != 99.0
    assert len(server.requests) == 1


def test_of_several_queries_only_new_ones_are_sent_and_all_come_back_in_order(server: Server, embedder: LlamaCppEmbedder) -> None:
    alone = embedder.embed(["same"], "query")[0]

    vectors = embedder.embed(["new", "same", "newer", "new"], "query")

    assert server.requests == [["find: same"], ["find: new", "find: newer"]]
    assert vectors[1] == alone
    assert vectors[0] == vectors[3]
    assert embedder.embed(["newer", "new"], "query") == [vectors[2], vectors[0]]
    assert len(server.requests) == 2


def test_old_queries_are_forgotten(server: Server, embedder: LlamaCppEmbedder) -> None:
    for number in range(300):
        embedder.embed([f"query {number}"], "query")
    embedder.embed(["query 299"], "query")
    embedder.embed(["query 0"], "query")

    assert len(server.requests) == 301


def test_a_text_that_is_too_large_is_shortened_and_its_batch_goes_through(server: Server, embedder: LlamaCppEmbedder) -> None:
    server.reply = lambda texts: TOO_LARGE if max(map(len, texts)) > 700 else vectors(texts)

    assert len(embedder.embed(["short", "x" * 100_000], "document")) == 2
    assert len(server.requests) <= 6


def test_a_server_that_takes_no_text_at_all_is_not_asked_for_ever(server: Server, embedder: LlamaCppEmbedder) -> None:
    server.reply = lambda _: TOO_LARGE

    with pytest.raises(errors.SetupError, match="-ub"):
        embedder.embed(["x" * 100_000], "document")

    assert len(server.requests) <= 10


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_server_that_is_loading_or_broken_is_unavailable_and_not_asked_again(server: Server, embedder: LlamaCppEmbedder, status: int) -> None:
    server.reply = lambda _: (status, b'{"error":{"message":"Loading model"}}')

    with pytest.raises(errors.Unavailable, match=str(status)):
        embedder.embed(["x"], "query")

    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"<html>", b'{"data":[]}', b'{"data":[{"index":0,"embedding":[null,1,2]}]}', b'{"data":[{"index":0,"embedding":[0,0,0]}]}']
)
def test_an_answer_without_usable_vectors_is_unavailable(server: Server, embedder: LlamaCppEmbedder, body: bytes) -> None:
    server.reply = lambda _: (200, body)

    with pytest.raises(errors.Unavailable):
        embedder.embed(["x"], "document")


def test_something_else_at_the_address_names_the_setting(server: Server, embedder: LlamaCppEmbedder) -> None:
    server.reply = lambda _: (404, b"not here")

    with pytest.raises(errors.SetupError, match="BRB_EMBED_URL"):
        embedder.embed(["x"], "document")


def test_vectors_of_another_dimension_are_another_model(server: Server) -> None:
    other = LlamaCppEmbedder(server.url, model="m", dimension=384)

    with pytest.raises(errors.WrongModel, match="384"):
        other.embed(["x"], "document")
    other.close()


def test_an_answer_that_is_late_is_given_up_in_time(server: Server, embedder: LlamaCppEmbedder) -> None:
    released = threading.Event()

    def slow(texts: list[str]) -> Answer:
        released.wait(10)
        return vectors(texts)

    server.reply = slow
    started = time.monotonic()
    with pytest.raises(errors.Unavailable, match="no answer in time"):
        embedder.embed(["x"], "query", timeout_seconds=0.1)
    took = time.monotonic() - started
    released.set()

    assert took < 2
    assert len(server.requests) == 1


def test_the_time_given_is_for_all_batches_together(server: Server, embedder: LlamaCppEmbedder) -> None:
    def slow(texts: list[str]) -> Answer:
        time.sleep(0.15)
        return vectors(texts)

    server.reply = slow
    with pytest.raises(errors.Unavailable, match="no answer in time"):
        embedder.embed(["x"] * 160, "document", timeout_seconds=0.4)

    assert len(server.requests) <= 4


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # httpcore2 leaves a unix socket that can't connect to the collector
@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "nothing.sock"])
def test_a_server_that_is_not_there_is_unavailable(tmp_path: Path, address: str) -> None:
    embedder = LlamaCppEmbedder(address if address.startswith("http") else tmp_path / address, model="m", dimension=3)

    assert [_dependency_away(call) for call in (embedder.ping, embedder.verify, lambda: embedder.embed(["x"], "query"))] == ["llama.cpp"] * 3
    embedder.close()
    gc.collect()


def _dependency_away(call: Callable[[], object]) -> str:
    try:
        call()
    except errors.Unavailable as error:
        return error.dependency
    return ""


def test_a_server_whose_batches_differ_is_asked_for_one_text_at_a_time(server: Server, embedder: LlamaCppEmbedder) -> None:
    server.reply = lambda texts: vectors(texts if len(texts) == 1 else [text * 30 for text in texts])

    embedder.verify()
    server.requests.clear()
    embedder.embed(["one", "two"], "document")

    assert [len(texts) for texts in server.requests] == [1, 1]


def test_the_environments_proxies_are_not_used(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    direct = LlamaCppEmbedder(server.url, model="m", dimension=3)

    assert len(direct.embed(["x"], "document")) == 1
    direct.close()

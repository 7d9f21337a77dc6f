"""Traces, as a receiver gets them: one for a turn, from the call to what is stored, and not a word of it."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from services.core import config, jobs, messages, tracing
from services.proxy.injection import Injection
from tests.conftest import wait_until
from tests.support import in_memory, relaying
from tests.support import upstream as up

ANSWER = b'{"id": "m", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "Noted."}], "stop_reason": "end_turn"}'


class Receiver:
    def __init__(self) -> None:
        self.paths: list[str] = []
        self.bodies: list[bytes] = []

    @property
    def spans(self) -> dict[str, Span]:
        """By name."""
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        return {span.name: span for request in requests for of in request.resource_spans for scope in of.scope_spans for span in scope.spans}


@pytest.fixture
def receiver() -> Iterator[tuple[str, Receiver]]:
    received = Receiver()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.paths.append(self.path)
            received.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", received
        server.shutdown()
        thread.join()


def said(tmp_path: Path, traces_url: str | None) -> None:
    """A person says something through the proxy; the worker's and the indexer's jobs of it are run."""
    with up.Upstream() as upstream:
        upstream.says(up.answer(ANSWER))
        settings = config.Settings(anthropic_url=upstream.url, data_dir=tmp_path, traces_url=traces_url, recall_deadline_ms=5000, _env_file=None)
        tracing.start(settings, "proxy")
        try:
            parts = in_memory.parts(tmp_path)
            injection = Injection(parts)
            with relaying.relaying(settings, injection) as base:
                body = {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "My boat is called Nautilus."}]}
                headers = {"x-api-key": "k", "x-brb-project": "secret-project"}
                assert httpx2.post(f"{base}/v1/messages", content=json.dumps(body), headers=headers, trust_env=False).status_code == 200
                wait_until(lambda: parts.book.pending()[messages.Lane.LEARN] == 1)
            injection.close()
            for job_id, _ in _recorded(parts):
                jobs.run(job_id, _stored, book=parts.book, publish=lambda *_: None, lease_seconds=60)
            for job_id, task in _recorded(parts):
                assert task is messages.Task.STORE_FACTS
                jobs.run(job_id, lambda _: (), book=parts.book, publish=lambda *_: None, lease_seconds=60)
        finally:
            tracing.stop()


def _recorded(parts: in_memory.Parts) -> list[tuple[str, messages.Task]]:
    return [(record.job.id, record.job.task) for record in parts.book._records.values()]  # type: ignore[attr-defined]


def _stored(payload: messages.Payload) -> list[messages.Job]:
    assert isinstance(payload, messages.LearnTurn)
    return [messages.Job.of(messages.Task.STORE_FACTS, messages.StoreFacts(payload.turn, payload.principal, payload.said_at, ()))]


def test_a_turn_is_one_trace_through_all_processes_and_holds_no_word_and_no_name(tmp_path: Path, receiver: tuple[str, Receiver]) -> None:
    url, received = receiver
    said(tmp_path, url)

    spans = received.spans
    assert {"relay", "recall", "recall.embed", "recall.search", "recall.rank", "brb.learn_turn", "brb.store_facts"} <= set(spans)
    assert len({span.trace_id for span in spans.values()}) == 1
    assert spans["recall.search"].parent_span_id == spans["recall"].span_id
    assert {attribute.key: attribute.value.string_value for attribute in spans["brb.learn_turn"].attributes} == {"outcome": "done"}
    assert set(received.paths) == {"/v1/traces"}
    sent = b"".join(received.bodies)
    assert not [word for word in (b"Nautilus", b"boat", b"secret-project", b"claude-x") if word in sent]


def test_nothing_is_sent_unless_it_is_asked_for(tmp_path: Path, receiver: tuple[str, Receiver], monkeypatch: pytest.MonkeyPatch) -> None:
    url, received = receiver
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    said(tmp_path, None)

    assert received.bodies == []


def test_a_receiver_that_is_away_stops_nothing(tmp_path: Path) -> None:
    said(tmp_path, "http://127.0.0.1:9")

"""The bridge of `brb mcp`, against a real server on this machine that says what the test wants."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from services.cli.bridge import STATUS_TOOL, Bridge

ROOT = Path(__file__).parent.parent.parent.parent
DEADLINE_SECONDS = 10


class Server:
    """Answers every call with the id of what came, and notes its headers."""

    def __init__(self) -> None:
        self.seen: list[Mapping[str, str]] = []
        self.status = 200
        self.body: Any = None
        self._held = threading.Event()
        self._held.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                message = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.seen.append({name.lower(): value for name, value in self.headers.items()} | {"path": self.path})
                if message["method"] == "slow":
                    outer._held.wait(DEADLINE_SECONDS)
                told = outer.body or {"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": "2025-06-18", "of": message["method"]}}
                self._tell(outer.status, json.dumps(told, indent=1).encode())

            def do_GET(self) -> None:
                self._tell(200, b"ok")

            def _tell(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def hold(self) -> None:
        self._held.clear()

    def release(self) -> None:
        self._held.set()

    def __enter__(self) -> "Server":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


class Client:
    """What the bridge said, and what it noted on stderr."""

    def __init__(self, url: str, *, key: str = "", project: str = "", retry_seconds: float = 0.02) -> None:
        self.said: list[Any] = []
        self.lines: list[bytes] = []
        self.noted: list[str] = []
        self.arrived = threading.Condition()
        self.bridge = Bridge(url, key, project, say=self._take, note=self.noted.append, version="1", retry_seconds=retry_seconds)

    def _take(self, line: bytes) -> None:
        with self.arrived:
            self.lines.append(line)
            self.said.append(json.loads(line))
            self.arrived.notify_all()

    def until(self, count: int) -> None:
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.said) >= count, DEADLINE_SECONDS)


def line(method: str, number: int | str | None = 1, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
    return json.dumps(message).encode() + b"\n"


def test_messages_pass_as_they_are_and_answers_are_one_line_each(server: Server) -> None:
    client = Client(server.url, key="brb_key", project="/srv/Gärten")
    client.bridge.run([line("tools/list", "é"), b"\n", line("ping", 2)])

    assert {one["id"]: one["result"]["of"] for one in client.said} == {"é": "tools/list", 2: "ping"}
    assert all(each.count(b"\n") == 1 and each.endswith(b"\n") for each in client.lines)
    seen = server.seen[0]
    assert (seen["path"], seen["x-brb-key"], seen["accept"]) == ("/mcp", "brb_key", "application/json, text/event-stream")
    assert seen["x-brb-project"].encode("latin-1").decode() == "/srv/Gärten"


def test_after_the_handshake_each_message_names_the_version_that_was_agreed_on(server: Server) -> None:
    client = Client(server.url)
    before: list[int] = []

    def lines() -> Iterator[bytes]:
        yield line("initialize", protocolVersion="2099-01-01")
        before.append(len(client.said))
        yield line("tools/list", 2)

    client.bridge.run(lines())

    assert before == [1]  # what comes behind goes by it
    assert "mcp-protocol-version" not in server.seen[0]
    assert server.seen[1]["mcp-protocol-version"] == "2025-06-18"


def test_a_message_that_states_its_version_is_sent_with_the_headers_that_it_needs(server: Server) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    client = Client(server.url)
    client.bridge.run([line("tools/call", name="brb_search", _meta=meta), line("resources/read", 2, uri="brb://brief/Gärten", _meta=meta)])

    by_method = {seen["mcp-method"]: seen for seen in server.seen}
    assert (by_method["tools/call"]["mcp-protocol-version"], by_method["tools/call"]["mcp-name"]) == ("2026-07-28", "brb_search")
    assert by_method["resources/read"]["mcp-name"] == "=?base64?YnJiOi8vYnJpZWYvR8OkcnRlbg==?="


def test_a_slow_call_does_not_hold_up_another(server: Server) -> None:
    server.hold()
    client = Client(server.url)
    running = threading.Thread(target=client.bridge.run, args=([line("slow", 1), line("ping", 2)],))
    running.start()
    client.until(1)
    assert client.said[0]["id"] == 2
    server.release()
    running.join(DEADLINE_SECONDS)
    assert [one["id"] for one in client.said] == [2, 1]


def test_notifications_and_answers_are_not_passed_on(server: Server) -> None:
    client = Client(server.url)
    client.bridge.run([line("notifications/initialized", None), b'{"jsonrpc":"2.0","id":4,"result":{}}\n'])

    assert (client.said, server.seen) == ([], [])


@pytest.mark.parametrize("wrong", [b"hello\n", b"[1]\n", b'"x"\n', b"[" * 100_000 + b"\n"])
def test_what_is_no_message_is_told(server: Server, wrong: bytes) -> None:
    client = Client(server.url)
    client.bridge.run([wrong])

    assert client.said[0]["error"]["code"] == -32700


def test_a_refused_token_is_told_as_a_failure_of_the_tool_and_nobody_waits(server: Server) -> None:
    server.status, server.body = 401, {"error": {"type": "denied", "message": "BRB needs a token: set BRB_KEY"}}
    client = Client(server.url, retry_seconds=DEADLINE_SECONDS)
    waiting: list[str] = []

    def lines() -> Iterator[bytes]:
        yield line("tools/call", name="brb_search")
        client.until(1)
        yield line("tools/call", 2, name="brb_search")
        client.until(2)
        waiting.extend(thread.name for thread in threading.enumerate() if thread.name == "waiting for BRB")

    client.bridge.run(lines())

    assert waiting == []
    assert client.said[0]["result"] == {"content": [{"type": "text", "text": "BRB needs a token: set BRB_KEY"}], "isError": True}
    assert client.noted[0] == "BRB needs a token: set BRB_KEY"


def test_another_program_at_the_address_is_told(server: Server) -> None:
    server.body = ["something else"]
    client = Client(server.url)
    client.bridge.run([line("tools/list")])

    assert "another program than BRB answers" in client.said[0]["result"]["tools"][0]["description"]


def test_a_message_that_is_too_large_is_told(server: Server) -> None:
    server.status, server.body = 413, "Request body too large"
    client = Client(server.url)
    client.bridge.run([line("tools/call", name="brain_import")])

    assert client.said[0]["result"]["content"][0]["text"] == "the message is larger than BRB takes at once: send less"


def test_while_brb_is_away_a_client_is_kept_and_told_what_to_do() -> None:
    client = Client("http://127.0.0.1:9")
    methods = ("initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/templates/list", "prompts/list")
    client.bridge.run([line(method, number, protocolVersion="2025-11-25") for number, method in enumerate(methods)])

    said = dict(zip(methods, sorted(client.said, key=lambda one: one["id"]), strict=True))
    cure = "BRB is not running at http://127.0.0.1:9: start it with `brb up`"
    assert said["initialize"]["result"]["protocolVersion"] == "2025-11-25"
    assert said["initialize"]["result"]["instructions"].startswith(cure)
    assert said["ping"]["result"] == {}
    assert [tool["name"] for tool in said["tools/list"]["result"]["tools"]] == [STATUS_TOOL]
    assert said["tools/call"]["result"]["isError"]
    assert said["tools/call"]["result"]["content"][0]["text"].startswith(cure)
    assert (said["resources/list"]["result"], said["resources/templates/list"]["result"]) == ({"resources": []}, {"resourceTemplates": []})
    assert said["prompts/list"]["error"]["message"].startswith(cure)
    assert client.noted[0].startswith(cure)


def test_when_brb_comes_up_the_client_is_told_to_ask_for_the_tools_again() -> None:
    server = Server()  # it has its port, but does not answer yet
    port = server.url
    server._server.server_close()
    client = Client(port)
    more = threading.Event()

    def lines() -> Iterator[bytes]:
        yield line("initialize", protocolVersion="2025-11-25")
        assert more.wait(DEADLINE_SECONDS)

    running = threading.Thread(target=client.bridge.run, args=(lines(),))
    running.start()
    client.until(1)
    again = ThreadingHTTPServer(("127.0.0.1", int(port.rpartition(":")[2])), server._server.RequestHandlerClass)
    serving = threading.Thread(target=again.serve_forever, kwargs={"poll_interval": 0.02})
    serving.start()
    try:
        client.until(2)
    finally:
        more.set()
        running.join(DEADLINE_SECONDS)
        again.shutdown()
        serving.join()
        again.server_close()
    assert client.said[1] == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def test_the_status_tool_says_when_brb_runs(server: Server) -> None:
    client = Client(server.url)
    client.bridge.run([line("tools/call", name=STATUS_TOOL)])

    assert client.said[0]["result"]["content"][0]["text"].startswith(f"BRB runs at {server.url}")


def test_no_command_loads_the_sdk() -> None:
    """It takes longer to load than most commands take to do their work."""
    program = (
        "import sys; from services.cli import app, bridge, mcp; app.build(); print({'mcp', 'mcp_types', 'starlette', 'litestar'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "set()"

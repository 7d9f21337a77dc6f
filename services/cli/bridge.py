"""Between a client that starts its MCP servers itself and speaks with them by stdin and stdout, and `/mcp` of a running BRB.

Messages pass as they are: what tools there are and what they answer is BRB's alone. Only while BRB is away the bridge answers by itself, so that the
client keeps it and the person is told what to do; when BRB comes up, the client is told to ask for the tools again.
"""

import base64
import http.client
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

PATH = "/mcp"
STATUS_TOOL = "brb_status"
"""The only tool while BRB is away."""

_TIMEOUT_SECONDS = 120.0
_PROBE_SECONDS = 2.0
_VERSION_FIELD = "io.modelcontextprotocol/protocolVersion"
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}  # what `Mcp-Name` repeats
_PARSE_ERROR, _INTERNAL_ERROR = -32700, -32603
_FALLBACK_VERSION = "2025-06-18"

Message = dict[str, Any]
Say = Callable[[bytes], None]


class Away(Exception):
    """BRB can't be asked; the message says what to do."""


class Refused(Away):
    """BRB is there, and does not take what it is sent: waiting changes nothing."""


class Bridge:
    """say: writes one line to the client; called from several threads, one at a time. note: tells the person, on stderr.

    project: the folder that the client works in, "" if that is unknown. retry_seconds: between two looks whether BRB is there again.
    """

    def __init__(self, url: str, key: str, project: str, *, say: Say, note: Callable[[str], None], version: str, retry_seconds: float = 2.0) -> None:
        self._address = urlsplit(url)
        self._url = url
        self._headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Connection": "close"}
        if key:
            self._headers["X-BRB-Key"] = key
        self._project = project.encode()
        self._say = say
        self._note = note
        self._version = version
        self._retry_seconds = retry_seconds
        self._saying = threading.Lock()
        self._negotiated = ""  # by `initialize`; later protocols name their version in each message
        self._waiting: threading.Thread | None = None
        self._over = threading.Event()

    def run(self, lines: Iterable[bytes]) -> None:
        """Until the client ends; answers that are under way are still given. An interrupt does not wait for them."""
        answering: list[threading.Thread] = []
        for line in filter(bytes.strip, lines):
            message = _read(line)
            if message is None:
                self._send({"jsonrpc": "2.0", "id": None, "error": {"code": _PARSE_ERROR, "message": "this is no message of JSON-RPC"}})
            elif "id" not in message or "method" not in message:
                continue  # nothing that a server without sessions has a use for
            elif message["method"] == "initialize":
                self._answer(message, line)  # what comes behind it goes by the version that it settles
            else:
                answering = [thread for thread in answering if thread.is_alive()]
                answering.append(threading.Thread(target=self._answer, args=(message, line), daemon=True))
                answering[-1].start()
        for thread in answering:
            thread.join()
        self._over.set()

    def _answer(self, message: Message, line: bytes) -> None:
        try:
            self._send(self._asked(message, line))
        except Away as away:
            self._note(str(away))
            self._send({"jsonrpc": "2.0", "id": message["id"]} | self._without(message, str(away)))
            if not isinstance(away, Refused):
                self._wait()
        except OSError:
            self._over.set()  # the client does not listen any more
        except Exception as error:
            self._note(f"a message could not be passed on: {type(error).__name__}")
            self._send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": _INTERNAL_ERROR, "message": "the bridge to BRB made a mistake"}})

    def _asked(self, message: Message, line: bytes) -> Message:
        if message["method"] == "tools/call" and _params(message).get("name") == STATUS_TOOL:
            self._probe()
            return {"jsonrpc": "2.0", "id": message["id"], "result": _text(f"BRB runs at {self._url}: ask for its tools again")}
        status, body = self._post(line, self._of(message))
        answer = _read(body)
        if answer is None or answer.get("id") != message["id"]:
            if status == http.client.REQUEST_ENTITY_TOO_LARGE:
                raise Refused("the message is larger than BRB takes at once: send less")
            raise Refused(_said(answer) or f"another program than BRB answers at {self._url} (status {status}): set BRB_URL to where BRB is")
        if message["method"] == "initialize":
            self._negotiated = str(answer.get("result", {}).get("protocolVersion", ""))
        return answer

    def _of(self, message: Message) -> dict[str, str | bytes]:
        """The headers that this message needs beside those of all."""
        headers: dict[str, str | bytes] = {"X-BRB-Project": self._project} if self._project else {}
        params = _params(message)
        meta = params.get("_meta")
        stated = meta.get(_VERSION_FIELD) if isinstance(meta, dict) else None
        if isinstance(stated, str):
            named = params.get(_NAMED.get(message["method"], ""))
            name = {"Mcp-Name": _encoded(named)} if isinstance(named, str) else {}
            return {**headers, "MCP-Protocol-Version": _encoded(stated), "Mcp-Method": _encoded(str(message["method"])), **name}
        return {**headers, "MCP-Protocol-Version": self._negotiated} if self._negotiated and message["method"] != "initialize" else headers

    def _post(self, body: bytes, headers: Mapping[str, str | bytes]) -> tuple[int, bytes]:
        return self._request("POST", PATH, _TIMEOUT_SECONDS, body, headers)

    def _probe(self) -> None:
        self._request("GET", "/healthz", _PROBE_SECONDS)

    def _request(
        self, method: str, path: str, seconds: float, body: bytes | None = None, headers: Mapping[str, str | bytes] | None = None
    ) -> tuple[int, bytes]:
        kind = http.client.HTTPSConnection if self._address.scheme == "https" else http.client.HTTPConnection
        with closing(kind(self._address.hostname or "", self._address.port, timeout=seconds)) as connection:
            try:
                connection.request(method, self._address.path.rstrip("/") + path, body, {**self._headers, **(headers or {})})
                response = connection.getresponse()
                return response.status, response.read()
            except ConnectionRefusedError:
                raise Away(f"BRB is not running at {self._url}: start it with `brb up`, or set BRB_URL to another") from None
            except TimeoutError:
                raise Away(f"BRB at {self._url} does not answer in time: see `brb doctor`") from None
            except (http.client.HTTPException, OSError) as error:
                raise Away(f"BRB at {self._url} can't be reached ({type(error).__name__}): see `brb doctor`") from None

    def _without(self, message: Message, cure: str) -> Message:
        """The result, or error, that a request gets while BRB is away."""
        match message["method"]:
            case "initialize":
                asked = _params(message).get("protocolVersion")
                self._negotiated = asked if isinstance(asked, str) else _FALLBACK_VERSION
                return {
                    "result": {
                        "protocolVersion": self._negotiated,
                        "capabilities": {"tools": {"listChanged": True}, "resources": {}},
                        "serverInfo": {"name": "brb", "version": self._version},
                        "instructions": f"{cure}. Until then nothing can be remembered or looked up: tell the person.",
                    }
                }
            case "ping":
                return {"result": {}}
            case "tools/list":
                about = {"name": STATUS_TOOL, "title": "BRB", "description": f"{cure}. Says whether it runs now."}
                hints = {"readOnlyHint": True, "openWorldHint": False}
                return {"result": {"tools": [{**about, "inputSchema": {"type": "object", "properties": {}}, "annotations": hints}]}}
            case "tools/call":
                return {"result": _text(cure) | {"isError": True}}
            case "resources/list":
                return {"result": {"resources": []}}
            case "resources/templates/list":
                return {"result": {"resourceTemplates": []}}
            case _:
                return {"error": {"code": _INTERNAL_ERROR, "message": cure}}

    def _wait(self) -> None:
        if self._waiting is None or not self._waiting.is_alive():
            self._waiting = threading.Thread(target=self._look, name="waiting for BRB", daemon=True)
            self._waiting.start()

    def _look(self) -> None:
        """Until BRB is there; then the client's list of tools is out of date."""
        while not self._over.wait(self._retry_seconds):
            try:
                self._probe()
            except Away:
                continue
            self._note(f"BRB runs at {self._url}")
            self._send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            return

    def _send(self, message: Message) -> None:
        with self._saying:
            self._say(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n")


def _read(line: bytes) -> Message | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _params(message: Message) -> Message:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _said(answer: Message | None) -> str:
    """What BRB says of a request that it did not take."""
    error = answer.get("error") if answer else None
    return str(error.get("message", "")) if isinstance(error, dict) else ""


def _text(text: str) -> Message:
    return {"content": [{"type": "text", "text": text}]}


def _encoded(value: str) -> str:
    """As the protocol writes into headers what is not plain ASCII."""
    plain = value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?base64?")
    return value if plain else f"=?base64?{base64.b64encode(value.encode(errors='replace')).decode()}?="

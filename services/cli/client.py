"""A thin client of BRB's HTTP API. Raises the errors of `core.errors`: the same tree on both sides of the wire."""

import http.client
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import NoReturn, Self, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from services.cli import exits
from services.core import (
    access_api,
    api,
    engine_api,
    erasure_api,
    errors,
    import_api,
    member_api,
    models,
    note_api,
    review_api,
    selftest_api,
    turn_api,
)

_TIMEOUT_SECONDS = 15.0
_SHORTEST_PREFIX = 4
_PIECE_BYTES = 65_536
T = TypeVar("T")

_KINDS: dict[str, type[errors.BrbError]] = {
    "bad_input": errors.BadInput,
    "denied": errors.Denied,
    "not_found": errors.NotFound,
    "unavailable": errors.Transient,
    "too_many": exits.TooMany,
}


class Client:
    """Speaks by the standard library, which loads at once: a short command takes no longer than its imports."""

    def __init__(self, base_url: str, *, key: str = "", timeout_seconds: float = _TIMEOUT_SECONDS) -> None:
        """key: the token that says who asks; "" where none is needed."""
        self.base_url = base_url
        address = urlsplit(base_url)
        connection = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        self._http = connection(address.hostname or "", address.port, timeout=timeout_seconds)
        self._path = address.path.rstrip("/")
        self._headers = {"Connection": "close"} | ({"X-BRB-Key": key} if key else {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._http.close()

    def memories(self, *, limit: int, offset: int = 0, status: str = "current", category: str | None = None, whose: str = "all") -> api.Memories:
        params: dict[str, str | int] = {"limit": limit, "offset": offset, "status": status, "scope": whose}
        return self._call("GET", "/memories", api.Memories, params=params | ({"category": category} if category else {}))

    def search(self, query: str, *, mode: str, limit: int | None = None) -> api.Recalled:
        params: dict[str, str | int] = {"q": query, "mode": mode}
        return self._call("GET", "/memories/search", api.Recalled, params=params | ({} if limit is None else {"limit": limit}))

    def recall(self, ask: api.Ask) -> api.Recalled:
        return self._call("POST", "/recall", api.Recalled, body=ask)

    def memory(self, memory_id: str) -> api.Memory:
        return self._call("GET", f"/memories/{memory_id}", api.Memory)

    def history(self, memory_id: str) -> api.Lineage:
        return self._call("GET", f"/memories/{memory_id}/history", api.Lineage)

    def add(self, statement: api.Add) -> api.Memory:
        return self._call("POST", "/memories", api.Memory, body=statement)

    def report(self) -> engine_api.Report:
        return self._call("GET", "/recall/report", engine_api.Report)

    def export(self, kind: str) -> Iterator[bytes]:
        """The document, piece by piece as it comes."""
        with self._answer("GET", f"/export?kind={kind}") as response:
            if response.status >= 400:
                self._fail(response.read())
            while piece := response.read(_PIECE_BYTES):
                yield piece

    def import_(self, part: msgspec.Struct, *, existing: str) -> engine_api.Imported:
        return self._call("POST", "/import", engine_api.Imported, params={"existing": existing}, body=part)

    def import_turns(self, turns: import_api.Turns) -> import_api.Taken:
        return self._call("POST", "/import/turns", import_api.Taken, body=turns)

    def edit(self, memory_id: str, change: api.Edit) -> api.Memory:
        return self._call("PATCH", f"/memories/{memory_id}", api.Memory, body=change)

    def forget(self, memory_id: str) -> erasure_api.Receipt:
        return self._call("DELETE", f"/memories/{memory_id}", erasure_api.Receipt)

    def erase(self, what: erasure_api.Forget) -> erasure_api.Forgotten:
        return self._call("POST", "/forget", erasure_api.Forgotten, body=what)

    def audit(self, *, limit: int, before: str = "") -> erasure_api.Audit:
        params: dict[str, str | int] = {"limit": limit}
        return self._call("GET", "/audit", erasure_api.Audit, params=params | ({"before": before} if before else {}))

    def reviews(self, *, limit: int, offset: int = 0, why: models.Why | None = None) -> review_api.Reviews:
        params: dict[str, str | int] = {"limit": limit, "offset": offset}
        return self._call("GET", "/reviews", review_api.Reviews, params=params | ({"why": why} if why else {}))

    def decide(self, wanted: review_api.Decide) -> review_api.Decided:
        return self._call("POST", "/reviews", review_api.Decided, body=wanted)

    def promote(self, memory_id: str, *, force: bool) -> review_api.Decided:
        return self._call("POST", f"/memories/{memory_id}/promote", review_api.Decided, params={"force": str(force).lower()})

    def undo(self, event: str) -> review_api.Decided:
        return self._call("POST", f"/reviews/{quote(event, safe='')}/undo", review_api.Decided)

    def files(self, source: str) -> note_api.Files:
        return self._call("GET", "/notes/files", note_api.Files, params={"source": source})

    def put(self, batch: note_api.PutNotes) -> note_api.PutResult:
        return self._call("POST", "/notes/bulk", note_api.PutResult, body=batch)

    def health(self) -> api.Health:
        return self._call("GET", "/health", api.Health)

    def turns(self, *, limit: int) -> turn_api.Turns:
        return self._call("GET", "/turns", turn_api.Turns, params={"limit": limit})

    def turn(self, turn: str) -> turn_api.Turn:
        """By its id, the first characters of it, or `latest`."""
        return self._call("GET", f"/turns/{quote(turn, safe='')}", turn_api.Turn)

    def uses(self, memory_id: str, *, limit: int) -> turn_api.Turns:
        """The turns that were told of a memory."""
        return self._call("GET", f"/memories/{memory_id}/uses", turn_api.Turns, params={"limit": limit})

    def whoami(self) -> access_api.Whoami:
        return self._call("GET", "/whoami", access_api.Whoami)

    def alive(self) -> None:
        """Whether BRB answers, whoever asks; raises as the others do if not."""
        _, content = self._send("GET", "/healthz")
        if content != b"ok":
            self._stranger()

    def selftest(self) -> selftest_api.SelfTest:
        return self._call("POST", "/selftest", selftest_api.SelfTest)

    def arrivals(self) -> list[float]:
        """When each event of the stream of the self-test came (monotonic seconds)."""
        with self._answer("GET", "/selftest/stream") as response:
            if response.status >= 400:
                self._fail(response.read())
            return [time.monotonic() for line in response if line.startswith(b"data:")]

    def jobs(self) -> api.Jobs:
        return self._call("GET", "/jobs", api.Jobs)

    def dead_jobs(self, limit: int = api.LARGEST_PAGE) -> api.DeadJobs:
        return self._call("GET", "/jobs/dead", api.DeadJobs, params={"limit": limit})

    def retry(self, job_id: str) -> api.Retried:
        return self._call("POST", f"/jobs/{job_id}/retry", api.Retried)

    def tokens(self) -> access_api.Tokens:
        return self._call("GET", "/tokens", access_api.Tokens)

    def make_token(self, wanted: access_api.MakeToken) -> access_api.MadeToken:
        return self._call("POST", "/tokens", access_api.MadeToken, body=wanted)

    def revoke_token(self, token_id: str) -> access_api.Token:
        return self._call("DELETE", f"/tokens/{quote(token_id, safe='')}", access_api.Token)

    def members(self, team: str = "") -> member_api.Members:
        return self._call("GET", "/members", member_api.Members, params={"team": team} if team else None)

    def remove_member(self, user: str, team: str = "") -> member_api.Left:
        return self._call("DELETE", f"/members/{quote(user, safe='')}", member_api.Left, params={"team": team} if team else None)

    def probe(self) -> int:
        """Status of the clients' connection probe, which the relay answers itself."""
        return self._send("HEAD", "/api/hello")[0]

    def resolve(self, prefix: str) -> str:
        """The one id that starts so; a whole id is taken as it is."""
        wanted = prefix.strip().lower()
        if _is_uuid(wanted):
            return wanted
        if len(wanted) < _SHORTEST_PREFIX or set(wanted) - set("0123456789abcdef-"):
            raise errors.BadInput(f"{prefix!r} is not the id of a memory, nor the first {_SHORTEST_PREFIX} or more characters of one")
        matching = [memory.id for memory in self._all() if memory.id.startswith(wanted)]
        if not matching:
            raise errors.NotFound(f"no memory has an id that starts with {prefix}")
        if len(matching) > 1:
            raise errors.BadInput(f"{len(matching)} memories have ids that start with {prefix}: give more characters")
        return matching[0]

    def _all(self) -> Iterator[api.Memory]:
        offset = 0
        while batch := self.memories(limit=api.LARGEST_PAGE, offset=offset, status="all").memories:
            yield from batch
            offset += len(batch)

    def _call(self, method: str, path: str, answer: type[T], *, params: dict[str, str | int] | None = None, body: msgspec.Struct | None = None) -> T:
        target = f"{path}?{urlencode(params)}" if params else path
        status, content = self._send(method, target, None if body is None else msgspec.json.encode(body))
        if status >= 400:
            self._fail(content)
        try:
            return msgspec.json.decode(content, type=answer)
        except msgspec.DecodeError:
            self._stranger()

    def _send(self, method: str, target: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Status and body of the answer."""
        with self._answer(method, target, body) as response:
            return response.status, response.read()

    @contextmanager
    def _answer(self, method: str, target: str, body: bytes | None = None) -> Iterator[http.client.HTTPResponse]:
        """An answer to be read within the block. Each call has a connection of its own: a person may take their time between two."""
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        try:
            self._http.request(method, self._path + target, body, headers)
            yield self._http.getresponse()
        except ConnectionRefusedError:
            raise exits.NotRunning(f"BRB is not running at {self.base_url}: start it with `make up` or `brb up`, or set BRB_URL to another") from None
        except TimeoutError:
            raise errors.Transient(f"BRB at {self.base_url} does not answer in time: see `brb doctor`") from None
        except http.client.IncompleteRead:
            raise errors.Transient(f"the answer of BRB at {self.base_url} broke off: see `brb doctor`") from None
        except (http.client.HTTPException, OSError):
            self._stranger()

    def _fail(self, content: bytes) -> NoReturn:
        try:
            trouble = msgspec.json.decode(content, type=api.Problem).error
        except msgspec.DecodeError:
            self._stranger()
        raise _KINDS.get(trouble.type, errors.BrbError)(trouble.message)

    def _stranger(self) -> NoReturn:
        raise errors.SetupError(f"another program than BRB answers at {self.base_url}: stop it, or set BRB_PORT to a free port")


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False

"""Every route of BRB's own API, asked what its OpenAPI document allows and what it does not, and what no document foresees.

By a member, a curator, an admin and nobody; ids are those of things that there are, one's own and others'. Bodies are read leniently (a number in a
string is a number): that something is taken which the document does not allow is no failure.
"""

import contextlib
import http.client
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
import schemathesis
from attackers import ATTACKERS, effort, failures, key, leaks, of_the_others
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from services.core import models
from services.proxy.app import create_app
from tests.support import in_memory
from tests.support.two_teams import World

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance, response_schema_conformance]

with tempfile.TemporaryDirectory() as _folder:
    DOCUMENT: dict[str, Any] = create_app(in_memory.parts(Path(_folder))).openapi_schema.to_schema()
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = [(method.upper(), path, item) for path, methods in DOCUMENT["paths"].items() for method, item in methods.items()]

pytestmark = pytest.mark.usefixtures("unhurried")


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as one:
        yield one


@pytest.fixture(scope="module", autouse=True)
def unharmed(world: World) -> Iterator[None]:
    """Whatever is asked here, the other team keeps what it has, and BRB makes no mistake of its own."""
    before = of_the_others(world)
    yield
    for who in ATTACKERS[:3]:
        assert requests.get(f"{world.base}/whoami", headers=key(world, who), timeout=30).status_code == 200, "else nothing was asked"
    assert of_the_others(world) == before
    assert not list(failures(world))


def test_the_document_is_the_one_that_is_served(world: World, session: requests.Session) -> None:
    served = session.get(f"{world.base}/schema/openapi.json", headers=key(world, ATTACKERS[0])).json()

    assert served["paths"].keys() == DOCUMENT["paths"].keys()


@SCHEMA.given(who=st.sampled_from(ATTACKERS), real=st.none() | st.integers(0, 1000))
@SCHEMA.parametrize()
@effort(8)
def test_answers_are_as_the_document_says(
    case: schemathesis.Case, world: World, session: requests.Session, who: models.Principal | None, real: int | None
) -> None:
    """real: which of the things that there are its ids name; None: what was made up stays."""
    if real is not None:
        ids = [one.id for one in world.things if one.id]
        case.path_parameters = {name: ids[real % len(ids)] for name in case.path_parameters or {}}
    answer = case.call(base_url=world.base, session=session, headers=key(world, who), timeout=30)
    case.validate_response(answer, checks=CHECKS)
    assert not leaks(world, f"{answer.headers}\n{answer.text}", sent=f"{case.path_parameters}{case.body}{case.query}")


# What no document foresees

DEEP = 100_000
HUGE = "9" * 5_000  # more digits than Python reads
BODIES = {
    "deep lists": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deep in a field": b'{"text":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep metadata": b'{"text":"x","metadata":' + b'{"a":' * 500 + b"1" + b"}" * 501,
    "half deep": b"[" * DEEP,
    "a huge integer": HUGE.encode(),
    "a huge integer in fields": f'{{"text":"x","limit":{HUGE},"query":"x","expires_in_seconds":{HUGE},"user":"u"}}'.encode(),
    "a huge float": b'{"min_score":1e999999999,"query":"x","text":"x"}',
    "not a number": b'{"min_score":NaN,"query":"x","text":"x"}',
    "no JSON": b"\xff\xfe\x00nonsense",
    "half a surrogate": rb'{"text":"\ud800","query":"\udfff","user":"\ud800","ids":["\ud800"]}',
    "half a surrogate in bytes": b'{"text":"\xed\xa0\x80","query":"\xed\xa0\x80"}',
    "NUL": rb'{"text":"a\u0000b","query":"a\u0000b","user":"a\u0000b","title":"a\u0000b","source":"a\u0000","path":"\u0000"}',
    "UTF-16": '{"text":"x","query":"x"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"text":"x","query":"x"}',
    "the same name twice": b'{"text":"a","text":["b"],"query":"a","query":7}',
    "null": b"null",
    "nothing": b"",
    "directions and blanks": '{"text":"\u202e\u2066 \u200b\ufeff","query":"\u202e\u200b"}'.encode(),
    "wildcards": b'{"text":"*","query":"* OR 1=1 -- %","title":"{{7*7}}","source":"../../etc","path":"../../../etc/passwd"}',
    "a prototype": b'{"__proto__":{"x":1},"__class__":"x","constructor":{},"text":"x","query":"x"}',
}
KINDS = [
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "multipart/form-data; boundary=x",
    "text/xml",
    "application/msgpack",
    ";",
]
VALUES = [
    HUGE,
    f"-{HUGE}",
    "-1",
    "1e400",
    "nan",
    "inf",
    "%00",
    "%ff",
    "%ED%A0%80",
    "",
    "null",
    "true",
    "..%2f..%2f",
    "%F0%9F%A6%A6" * 50,
    "x" * 5_000,
    "[]",
    "1&limit=2",
]
IDS = [
    "%00",
    "%ff",
    "..",
    "%2e%2e",
    "..%2f..%2fetc",
    "%ED%A0%80",
    "x" * 5_000,
    "%F0%9F%A6%A6",
    "*",
    "'%20OR%201=1",
    "{7*7}",
    "%0d%0aset-cookie:%20a=b",
    HUGE,
    ";",
    "latest",
]


class Caller:
    """One connection of an admin's, kept alive."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._connection = http.client.HTTPConnection(urlsplit(world.base).netloc, timeout=30)

    def close(self) -> None:
        self._connection.close()

    def wrong(self, method: str, target: str, body: bytes | None = None, kind: str = "application/json", **more: str) -> Iterator[str]:
        """What is wrong with the answer to this."""
        self._connection.request(method, target, body, {"content-type": kind, **key(self._world, ATTACKERS[2]), **more})
        answer = self._connection.getresponse()
        text = answer.read().decode(errors="replace")
        where = f"{method} {target[:100]} {kind} {(body or b'')[:60]!r}: {answer.status} {text[:200]}"
        if answer.status >= 500 or (answer.status == 400 and json.loads(text)["error"].keys() != {"type", "message"}):
            yield where
        if "set-cookie" in answer.headers:
            yield f"a cookie: {where}"
        yield from (f"{leak}: {where}" for leak in leaks(self._world, f"{answer.headers}\n{text}"))


@pytest.fixture(scope="module")
def caller(world: World) -> Iterator[Caller]:
    with contextlib.closing(Caller(world)) as one:
        yield one


@pytest.mark.parametrize("name", BODIES)
def test_no_body_breaks_a_route(caller: Caller, name: str) -> None:
    wrong = [each for method, path, item in OPERATIONS if "requestBody" in item for each in caller.wrong(method, filled(path), BODIES[name])]
    assert not wrong, "\n".join(wrong[:5])


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_body_breaks_a_route(caller: Caller, kind: str) -> None:
    bodies = [
        b'{"text":"x","query":"x"}',
        b"text=x&query=x",
        b'--x\r\ncontent-disposition: form-data; name="text"\r\n\r\nx\r\n--x--\r\n',
        b"--x\r\n" * 3000,
    ]
    routes = [(method, filled(path)) for method, path, item in OPERATIONS if "requestBody" in item]
    wrong = [each for method, target in routes for body in bodies for each in caller.wrong(method, target, body, kind)]
    assert not wrong, "\n".join(wrong[:5])


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_no_value_in_a_query_breaks_a_route(caller: Caller, value: str) -> None:
    wrong = []
    for method, path, item in OPERATIONS:
        names = [one["name"] for one in item.get("parameters", []) if one["in"] == "query"]
        for name in names if method == "GET" else []:
            wrong += caller.wrong(method, f"{filled(path)}?{name}={value}")
    assert not wrong, "\n".join(wrong[:5])


@pytest.mark.parametrize("value", IDS, ids=range(len(IDS)))
def test_no_id_breaks_a_route(caller: Caller, value: str) -> None:
    routes = [(method, path) for method, path, _ in OPERATIONS if "{" in path]
    wrong = [each for method, path in routes for each in caller.wrong(method, filled(path, value), b"{}" if method in ("POST", "PATCH") else None)]
    assert not wrong, "\n".join(wrong[:5])


def filled(path: str, value: str = "00000000-0000-4000-8000-000000000000") -> str:
    return "/".join(value if part.startswith("{") else part for part in path.split("/"))

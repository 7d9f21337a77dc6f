"""Which calls go to the relay and which to BRB's own routes, on one connection of the real server."""

import contextlib
import http.client
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from services.core import config
from tests.support import raw
from tests.support import upstream as up
from tests.support.interceptors import Keeping
from tests.support.relaying import relaying


@pytest.fixture(scope="module")
def upstream() -> Iterator[up.Upstream]:
    with up.Upstream() as running:
        running.says([up.head("299 Relayed", ["content-length: 0"])])
        yield running


@pytest.fixture(scope="module")
def connection(upstream: up.Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[http.client.HTTPConnection]:
    """One for all tests: what was asked before must not matter."""
    settings = config.Settings(anthropic_url=upstream.url, openai_url=upstream.url, data_dir=tmp_path_factory.mktemp("data"))
    with (
        relaying(settings, Keeping()) as url,
        contextlib.closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=up.DEADLINE_SECONDS)) as made,
    ):
        yield made


def status(connection: http.client.HTTPConnection, method: str, target: str, host: str | None = None) -> int:
    connection.request(method, target, headers={} if host is None else {"host": host})
    answer = connection.getresponse()
    answer.read()
    return answer.status


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/v1/messages"),
        ("POST", "/v1/messages/count_tokens?beta=true"),
        ("GET", "/v1/models"),
        ("DELETE", "/v1/files/x"),
        ("GET", "/v1/%66iles/a%2Fb"),
        ("GET", "/v1?x"),
        ("OPTIONS", "/v1/anything"),
    ],
)
def test_calls_of_the_vendors_apis_go_to_the_relay(connection: http.client.HTTPConnection, upstream: up.Upstream, method: str, target: str) -> None:
    assert status(connection, method, target) == 299
    assert (upstream.last.method, upstream.last.target) == (method.encode(), target.encode())


@pytest.mark.parametrize("target", ["/healthz", "/memories", "/", "/v1x", "/v10/models", "/%761/models"])
def test_other_calls_do_not(connection: http.client.HTTPConnection, upstream: up.Upstream, target: str) -> None:
    before = len(upstream.requests)
    assert status(connection, "GET", target) != 299
    assert len(upstream.requests) == before


@pytest.mark.parametrize("target", ["/", "/api/hello"])
def test_the_clients_probes_are_answered_at_once(connection: http.client.HTTPConnection, upstream: up.Upstream, target: str) -> None:
    """headroom#2032."""
    before = len(upstream.requests)
    assert status(connection, "HEAD", target) == 204
    assert len(upstream.requests) == before


def test_the_relay_serves_whatever_host_a_client_names(connection: http.client.HTTPConnection) -> None:
    assert status(connection, "GET", "/v1/models", "gateway.internal") == 299
    assert status(connection, "GET", "/memories", "gateway.internal") == 403


@pytest.mark.parametrize(
    "address", ["http://localhost", "HTTP://127.0.0.1:80", "https://who:pw@localhost", "http://[::1]:3000", "http://api.vendor.example"]
)
@pytest.mark.parametrize("path", ["/v1/files/a%2Fb?x=http://y", "/v1?x"])
def test_a_target_in_absolute_form_is_the_path_in_it(connection: http.client.HTTPConnection, upstream: up.Upstream, address: str, path: str) -> None:
    """Whoever takes BRB for an HTTP proxy writes whole addresses (RFC 9112 §3.2.2)."""
    assert status(connection, "GET", address + path) == 299
    assert upstream.last.target == path.encode()
    assert upstream.last.all(b"host") == [urlsplit(upstream.url).netloc.encode()]


def test_of_two_hosts_the_one_in_the_target_counts(connection: http.client.HTTPConnection) -> None:
    assert status(connection, "GET", "http://localhost/memories", "evil.example") == 200
    assert status(connection, "GET", "http://evil.example/memories", "localhost") == 403


def test_a_host_in_the_target_is_enough(connection: http.client.HTTPConnection) -> None:
    with raw.connect(f"http://{connection.host}:{connection.port}") as client:
        client.send(b"GET http://localhost/healthz HTTP/1.0\r\n\r\n")
        assert client.head().status == 200


@pytest.mark.parametrize("named", ["", "/", "/v1", "/v1/"])
def test_the_url_of_an_upstream_may_end_with_the_version(upstream: up.Upstream, tmp_path: Path, named: str) -> None:
    settings = config.Settings(anthropic_url=upstream.url + named, openai_url=upstream.url + named, data_dir=tmp_path)
    with (
        relaying(settings, Keeping()) as url,
        contextlib.closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=up.DEADLINE_SECONDS)) as made,
    ):
        for path in ("/v1/messages", "/v1/chat/completions"):
            assert status(made, "POST", path) == 299
            assert upstream.last.target == path.encode()

"""Which calls go to the relay and which to BRB's own routes, on one connection of the real server."""

import contextlib
import http.client
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from services.core import config
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

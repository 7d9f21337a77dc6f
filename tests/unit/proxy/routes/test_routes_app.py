from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.proxy.app import create_app
from services.proxy.parts import Parts

BASE = "http://127.0.0.1:3000"


class Relay:
    """Answers with what it was given, so that a test sees whether a call came here and how."""

    async def __call__(self, scope: Any, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        size = 0
        more = True
        while more:
            message = await receive()
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
        await send({"type": "http.response.start", "status": 299, "headers": [(b"x-path", scope["raw_path"]), (b"x-size", str(size).encode())]})
        await send({"type": "http.response.body", "body": b"relayed"})


@pytest.fixture
def relayed(parts: Parts) -> TestClient[Litestar]:
    return TestClient(create_app(parts, Relay()), base_url=BASE)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/messages"),
        ("POST", "/v1/messages/count_tokens?beta=true"),
        ("GET", "/v1/models"),
        ("DELETE", "/v1/files/x"),
        ("GET", "/v1/%66iles/a%2Fb"),
        ("HEAD", "/"),
        ("HEAD", "/api/hello"),
        ("BREW", "/v1/anything"),
    ],
)
def test_calls_of_the_vendors_api_go_to_the_relay(relayed: TestClient[Litestar], method: str, path: str) -> None:
    response = relayed.request(method, path)

    assert response.status_code == 299
    assert response.headers["x-path"] == path


@pytest.mark.parametrize(("method", "path"), [("GET", "/healthz"), ("GET", "/memories"), ("GET", "/"), ("GET", "/v1x"), ("GET", "/v10/models")])
def test_other_calls_do_not(relayed: TestClient[Litestar], method: str, path: str) -> None:
    assert relayed.request(method, path).status_code != 299


def test_a_body_larger_than_the_frameworks_limit_reaches_the_relay_whole(relayed: TestClient[Litestar]) -> None:
    assert relayed.post("/v1/messages", content=b"x" * 33_000_000).headers["x-size"] == "33000000"


def test_the_relay_serves_whatever_host_a_client_names(relayed: TestClient[Litestar]) -> None:
    assert relayed.get("/v1/models", headers={"host": "gateway.internal"}).status_code == 299


@pytest.mark.parametrize("path", ["/memories", "/metrics", "/schema", "/no-such-route"])
def test_our_own_routes_refuse_a_foreign_host(client: TestClient[Litestar], path: str) -> None:
    response = client.get(path, headers={"host": "evil.example"})

    assert response.status_code == 403
    assert response.json()["error"]["type"] == "denied"


def test_without_a_relay_its_calls_are_not_found(client: TestClient[Litestar]) -> None:
    response = client.post("/v1/messages")

    assert response.status_code == 404
    assert response.json() == {"error": {"type": "not_found", "message": "no such route: POST /v1/messages (see /schema)"}}


def test_the_routes_are_described_as_openapi_and_nothing_is_loaded_from_elsewhere(client: TestClient[Litestar]) -> None:
    described = client.get("/schema/openapi.json").json()

    assert {"/memories", "/memories/search", "/memories/{memory_id}", "/memories/{memory_id}/history", "/recall", "/health"} <= set(
        described["paths"]
    )
    assert client.get("/schema").json() == described
    assert client.get("/schema/swagger").status_code == 404


def test_start_and_stop_are_run_in_the_serving_loop(parts: Parts) -> None:
    seen: list[str] = []

    async def start() -> None:
        seen.append("start")

    async def stop() -> None:
        seen.append("stop")

    with TestClient(create_app(parts, on_startup=[start], on_shutdown=[stop])):
        assert seen == ["start"]

    assert seen == ["start", "stop"]


def test_the_text_of_an_unexpected_exception_is_not_shown(parts: Parts, client: TestClient[Litestar], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the person's words")

    monkeypatch.setattr(parts.store, "find", broken)
    response = client.get("/memories")

    assert response.status_code == 500
    assert response.json()["error"]["type"] == "internal"
    assert "person" not in response.text


def test_a_wrong_method_says_so(client: TestClient[Litestar]) -> None:
    response = client.post("/memories")

    assert response.status_code == 405
    assert response.json()["error"]["type"] == "method_not_allowed"


def test_a_settings_folder_is_not_touched_by_making_the_app(parts: Parts, tmp_path: Path) -> None:
    create_app(parts)

    assert list(tmp_path.iterdir()) == []

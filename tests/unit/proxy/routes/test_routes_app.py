from pathlib import Path

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.proxy.app import create_app
from services.proxy.parts import Parts


@pytest.mark.parametrize("path", ["/memories", "/metrics", "/schema", "/no-such-route"])
def test_our_own_routes_refuse_a_foreign_host(client: TestClient[Litestar], path: str) -> None:
    response = client.get(path, headers={"host": "evil.example"})

    assert response.status_code == 403
    assert response.json()["error"]["type"] == "denied"


def test_relayed_calls_are_not_found_here(client: TestClient[Litestar]) -> None:
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

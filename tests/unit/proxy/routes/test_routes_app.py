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


def test_every_route_is_described_with_its_answers_and_errors(client: TestClient[Litestar]) -> None:
    described = client.get("/schema/openapi.json").json()

    operations = {f"{method} {path}": each for path, methods in described["paths"].items() for method, each in methods.items()}
    assert {name for name, each in operations.items() if not each.get("description")} == set()
    own = {name: each for name, each in operations.items() if "operations" not in each["tags"]}
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for name, each in own.items():
        assert {each["responses"][status]["content"] == problem for status in ("400", "403", "404", "503")} == {True}, name
        answer = next(each["responses"][status] for status in ("200", "201", "202") if status in each["responses"])
        assert answer["content"]["application/json"]["schema"], name


def test_a_body_that_is_too_large_is_told_what_to_do(client: TestClient[Litestar]) -> None:
    response = client.post("/memories", content=b" " * 10_000_001, headers={"content-type": "application/json"})

    assert response.status_code == 413
    assert response.json()["error"]["type"] == "too_large"
    assert "send less" in response.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/memories", "/reviews", "/forget", "/tokens", "/import", "/import/turns", "/notes", "/notes/bulk", "/recall"])
def test_a_body_that_is_nested_too_deeply_is_bad_input(client: TestClient[Litestar], path: str) -> None:
    response = client.post(path, content=b"[" * 100_000, headers={"content-type": "application/json"})

    assert response.status_code == 400
    assert response.json()["error"] == {"type": "bad_input", "message": "the body is nested too deeply"}


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
    response = client.put("/memories")

    assert response.status_code == 405
    assert response.json()["error"]["type"] == "method_not_allowed"


def test_a_settings_folder_is_not_touched_by_making_the_app(parts: Parts, tmp_path: Path) -> None:
    create_app(parts)

    assert list(tmp_path.iterdir()) == []

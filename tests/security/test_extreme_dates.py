"""A memory or a note from the edge of the calendar is in nobody's way. One alone once made every recall that found it fail."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import models
from services.proxy.app import create_app
from tests.support import in_memory

EDGES = ["9999-12-31T23:59:59-10:00", "9999-12-31T23:59:59.999999", "0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00Z"]
TIMES = ["created_at", "said_at", "reinforced_at", "accessed_at", "valid_from", "valid_to"]
SHOWN = ["/memories?status=all", "/memories/search?q=tango", "/memories/export", "/notes", "/ui", "/ui/notes", "/ui?status=all&age=older"]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient[Litestar]]:
    with TestClient(create_app(in_memory.parts(tmp_path)), base_url="http://127.0.0.1:3000", raise_server_exceptions=False) as connection:
        yield connection


@pytest.mark.parametrize("when", EDGES)
def test_dates_from_the_edge_of_the_calendar_are_in_nobodys_way(client: TestClient[Litestar], when: str) -> None:
    client.post("/memories", json={"text": "I prefer tango."})
    archive = client.get("/memories/export").json()
    (mine,) = archive["memories"]
    changed: list[dict[str, Any]] = [{**mine, "id": f"00000000-0000-4000-8000-00000000000{n}", field: when} for n, field in enumerate(TIMES)]
    taken = client.post("/memories/import", json={**archive, "memories": changed, "notes": []})
    assert taken.status_code == 200, taken.text
    assert client.post("/notes", json={"title": "tango", "text": "tango", "metadata": {"date": when}}).status_code == 200
    assert client.post("/notes", json={"title": "polka", "text": f"---\ndate: {when}\n---\ntango"}).status_code == 200

    found = client.post("/recall", json={"query": "tango", "kind": "all", "explain": True})
    assert found.status_code == 200, found.text
    assert "polka" in found.text
    assert [path for path in SHOWN if client.get(path).status_code != 200] == []


@pytest.mark.parametrize(("given", "expected"), [(0.0, 0.0), (1.79e9, 1.79e9), (-1e300, -62_104_060_800.0), (1e300, 253_370_764_799.0)])
def test_times_are_such_as_can_be_written(given: float, expected: float) -> None:
    held = models.within_calendar(given)
    assert held == expected
    assert 1 < datetime.fromtimestamp(held, UTC).year < 9999

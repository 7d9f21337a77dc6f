from collections.abc import Iterator
from pathlib import Path

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.proxy.app import create_app
from services.proxy.parts import Parts
from tests.support import in_memory


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return in_memory.parts(tmp_path)


@pytest.fixture
def client(parts: Parts) -> Iterator[TestClient[Litestar]]:
    with TestClient(create_app(parts), base_url="http://127.0.0.1:3000", raise_server_exceptions=False) as connection:
        yield connection

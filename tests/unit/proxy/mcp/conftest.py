from pathlib import Path

import pytest

from services.core import models
from services.proxy.mcp.tools import Caller
from services.proxy.parts import Parts
from tests.support import in_memory


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return in_memory.parts(tmp_path)


@pytest.fixture
def caller(parts: Parts) -> Caller:
    return Caller(parts, models.LOCAL)

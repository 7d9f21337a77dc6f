from pathlib import Path

import pytest

from services.core import config
from services.proxy import access


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "127.0.0.1:3000"},
        {"host": "localhost:3000"},
        {"host": "LOCALHOST:3000"},
        {"host": "localhost"},
        {"host": "[::1]:3000"},
        {"host": "localhost:3000", "origin": "http://localhost:3000", "sec-fetch-site": "same-origin"},
        {"host": "localhost:3000", "sec-fetch-site": "none"},
    ],
)
def test_this_machine_is_served(headers: dict[str, str]) -> None:
    assert access.refusal(headers, config.Settings(data_dir=Path("x"))) is None


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": ""},
        {"host": "evil.example:3000"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "localhost.evil.example"},
        {"host": "evil@localhost.evil.example"},
        {"host": "[::1"},
        {"host": "192.168.1.5:3000"},
    ],
)
def test_a_name_that_was_pointed_at_this_machine_is_refused(headers: dict[str, str]) -> None:
    refusal = access.refusal(headers, config.Settings(data_dir=Path("x")))

    assert refusal is not None
    assert "use http://127.0.0.1:3000" in refusal


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "localhost:3000", "origin": "https://evil.example"},
        {"host": "localhost:3000", "origin": "http://localhost:8080"},
        {"host": "localhost:3000", "origin": "null"},
        {"host": "localhost:3000", "sec-fetch-site": "cross-site"},
        {"host": "localhost:3000", "origin": "http://localhost:3000", "sec-fetch-site": "cross-site"},
    ],
)
def test_a_page_of_another_site_is_refused(headers: dict[str, str]) -> None:
    assert access.refusal(headers, config.Settings(data_dir=Path("x"))) == "requests of other sites are not served"

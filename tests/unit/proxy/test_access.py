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


TEAM = config.Settings(data_dir=Path("x"), auth="token", host="0.0.0.0", allowed_hosts=" brb.acme.example, Other.example ,")  # noqa: S104


@pytest.mark.parametrize("host", ["brb.acme.example", "OTHER.example:8443", "10.0.0.5", "[2001:db8::1]:3000", "localhost", "0.0.0.0:3000"])
def test_with_tokens_the_names_that_it_was_told_of_are_served_and_every_address(host: str) -> None:
    assert access.foreign_host({"host": host}, TEAM) is None


@pytest.mark.parametrize("host", ["", "evil.example", "acme.example", "x.brb.acme.example", "brb.acme.example.", "1.2.3", "10.0.0.5.example", "[::1"])
def test_with_tokens_no_other_name_is_served(host: str) -> None:
    assert "BRB_ALLOWED_HOSTS" in (access.foreign_host({"host": host}, TEAM) or "")


@pytest.mark.parametrize(
    ("address", "headers", "local"),
    [
        ("127.0.0.1", {}, True),
        ("::1", {}, True),
        ("127.9.9.9", {"host": "localhost"}, True),
        ("10.0.0.5", {}, False),
        ("", {}, False),
        ("testclient", {}, False),
        ("127.0.0.1", {"x-forwarded-for": "10.0.0.5"}, False),
        ("127.0.0.1", {"forwarded": "for=10.0.0.5"}, False),
        ("127.0.0.1", {"x-real-ip": "10.0.0.5"}, False),
    ],
)
def test_a_caller_on_this_machine_is_told_from_one_behind_a_proxy_on_it(address: str, headers: dict[str, str], local: bool) -> None:
    assert access.is_local(address, headers) is local

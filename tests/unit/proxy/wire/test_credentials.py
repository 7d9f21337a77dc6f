import pytest

from services.proxy.wire import credentials
from services.proxy.wire.credentials import Split


@pytest.mark.parametrize(
    ("target", "split"),
    [
        (b"/v1/messages", Split(b"/v1/messages")),
        (b"/k", Split(b"/k")),
        (b"/kx/brb_a/v1/messages", Split(b"/kx/brb_a/v1/messages")),
        (b"/v1/k/brb_a/x", Split(b"/v1/k/brb_a/x")),
        (b"/?x=/k/brb_a", Split(b"/?x=/k/brb_a")),
        (b"/%6B/brb_a/v1/messages", Split(b"/%6B/brb_a/v1/messages")),
        (b"/k/brb_a/v1/messages", Split(b"/v1/messages", "brb_a")),
        (b"/k/brb_a/v1/messages?beta=true&x=/k/y?", Split(b"/v1/messages?beta=true&x=/k/y?", "brb_a")),
        (b"/k/brb_a", Split(b"/", "brb_a")),
        (b"/k/brb_a/", Split(b"/", "brb_a")),
        (b"/k/brb_a?x/y", Split(b"/?x/y", "brb_a")),
        (b"/k/brb_a//v1/messages", Split(b"//v1/messages", "brb_a")),
        (b"/k/", Split(b"/", "")),
        (b"/k//v1/messages", Split(b"/v1/messages", "")),
        (b"/k/brb_a/k/brb_b/v1/messages", Split(b"/k/brb_b/v1/messages", "brb_a")),
        (b"/k/\xff/v1/messages", Split(b"/v1/messages", "\xff")),
    ],
)
def test_a_token_in_front_of_a_path_is_taken_off_it(target: bytes, split: Split) -> None:
    assert credentials.split(target) == split


@pytest.mark.parametrize(
    ("headers", "prefixed", "own", "token"),
    [
        ({}, None, True, None),
        ({"x-brb-key": " brb_a "}, None, False, "brb_a"),
        ({"x-brb-key": "brb_a"}, "brb_b", False, "brb_a"),
        ({"x-brb-key": ""}, "brb_b", False, "brb_b"),
        ({}, "brb_b", False, "brb_b"),
        ({}, "", False, ""),
        ({"authorization": "Bearer brb_c"}, None, True, "brb_c"),
        ({"authorization": "bearer  brb_c"}, None, True, "brb_c"),
        ({"authorization": "Bearer brb_c"}, None, False, None),
        ({"authorization": "Bearer sk-ant"}, None, True, None),
        ({"authorization": "Basic brb_c"}, None, True, None),
        ({"authorization": "brb_c"}, None, True, None),
        ({"authorization": "Bearer brb_c"}, "brb_b", True, "brb_b"),
        ({"x-api-key": "brb_d", "cookie": "brb_d"}, None, True, None),
    ],
)
def test_which_token_counts(headers: dict[str, str], prefixed: str | None, own: bool, token: str | None) -> None:
    assert credentials.given(headers, prefixed, own=own) == token

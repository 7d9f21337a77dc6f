"""Where two bodies differ."""

import json

import pytest

from services.embedded.demo_story import Insertion, insertion

BLOCK = ',{"type":"text","text":"told"}'


@pytest.mark.parametrize(
    ("sent", "received", "expected"),
    [
        ('[{"a":1}]', '[{"a":1},{"b":2}]', Insertion(8, ',{"b":2}')),
        ('[{"a":1},{"a":1}]', '[{"a":1},{"a":1},{"a":1}]', Insertion(16, ',{"a":1}')),
        ('[{"a":1},2]', '[{"a":1},2]', None),
        ('[{"a":1}]', '[{"a":2},{"b":2}]', None),
        ('[{"a":1}, 3]', '[{"a":1},{"b":2},3]', None),
        ('[{"a":1}]', "[]", None),
        ('[{"a":1}]', '[0{"a":1}]', None),
    ],
    ids=["appended", "same as its neighbours", "equal", "also changed before", "also changed behind", "shorter", "no element"],
)
def test_an_insertion_is_found_only_when_all_other_bytes_are_equal(sent: str, received: str, expected: Insertion | None) -> None:
    assert insertion(sent.encode(), received.encode()) == expected


def test_an_insertion_holds_text_beyond_ascii() -> None:
    sent = json.dumps([{"text": "é"}], ensure_ascii=False).encode()
    at = len(sent) - 1
    assert insertion(sent, sent[:at] + ',{"text":"ü"}'.encode() + sent[at:]) == Insertion(at, ',{"text":"ü"}')

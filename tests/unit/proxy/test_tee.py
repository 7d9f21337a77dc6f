"""What is kept of an answer."""

import pytest

from services.proxy import tee
from services.proxy.wire import calls, routes

SAID = b'{"type":"message","id":"msg_1","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}'


@pytest.mark.parametrize("size", [1, 7, len(SAID)])
def test_an_answer_is_read_from_its_pieces(size: int) -> None:
    kept = tee.Tee(routes.Route.MESSAGES, {"content-type": "application/json"})
    for start in range(0, len(SAID), size):
        kept.append(SAID[start : start + size])
    answer = kept.read(whole=True)
    assert (answer.complete, answer.text, kept.size) == (True, "hi", len(SAID))


def test_of_no_answer_nothing_is_read() -> None:
    assert tee.Tee(routes.Route.MESSAGES, {}).read(whole=True) is calls.NO_ANSWER


def test_of_an_endless_answer_nothing_is_kept() -> None:
    kept = tee.Tee(routes.Route.MESSAGES, {"content-type": "application/json"})
    piece = bytes(1_000_000)
    for _ in range(40):
        kept.append(piece)
    assert kept.size == 40_000_000
    assert kept.read(whole=True) is calls.NO_ANSWER

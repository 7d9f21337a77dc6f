"""Made-up turns: the same each time, varied, of two sentences, with what was said before them."""

import re

from services.embedded.bench import turns

MADE = list(turns.Maker(1).turns(600))


def test_they_are_the_same_each_time_and_others_with_another_seed() -> None:
    assert list(turns.Maker(1).turns(600)) == MADE
    assert {turn.turn for turn in turns.Maker(2).turns(600)}.isdisjoint(turn.turn for turn in MADE)


def test_they_are_varied_and_of_two_sentences() -> None:
    assert len({turn.words for turn in MADE}) > 590
    assert len({turn.turn for turn in MADE}) == 600
    ends = [len(re.findall(r"[.!?](?= |$)", turn.words)) for turn in MADE]
    assert set(ends) == {2}


def test_their_context_is_what_was_said_before_in_the_conversation() -> None:
    assert [len(turn.context) for turn in MADE[:8]] == [0, 1, 2, 3, 4, 5, 0, 1]
    assert MADE[3].context == tuple(turn.words for turn in MADE[:3])
    assert all(bool(turn.answer) == bool(turn.context) for turn in MADE)

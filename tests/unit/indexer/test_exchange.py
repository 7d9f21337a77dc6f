"""Tables of sentences that differ in one part: those of which only one can hold, and those that hold together."""

import pytest

from services.core import messages, models
from services.indexer import dedup, exchange, planning

ONE_HOLDS = [
    ("another companion", "Ana Ruiz and Ben Ode collaborated on a photo book about old harbour towns",
     "Cleo Fay and Ben Ode collaborated on a photo book about old harbour towns"),
    ("another companion, in another place", "Ana Ruiz and Ben Ode collaborated on a photo book about old harbour towns",
     "Ben Ode collaborated with Cleo Fay on a photo book about old harbour towns"),
    ("another co-founder", "Ana Ruiz and Ben Ode co-founded a small press for translated Nordic poetry",
     "Ana Ruiz and Cleo Fay co-founded a small press for translated Nordic poetry"),
    ("another maker of a thing told in detail", "Ana Ruiz composed a string quartet inspired by tidal rhythms",
     "Ben Ode composed a string quartet inspired by tidal rhythms"),
    ("another companion, told with two words less", "Ana Ruiz and Ben Ode collaborated on a large photo book about old harbour towns in winter",
     "Cleo Fay and Ben Ode collaborated on a photo book about old harbour towns"),
    ("another maker of the thing", "Ana Ruiz designed the logo of the festival", "Ben Ode designed the logo of the festival"),
    ("another winner", "Ana Ruiz won the regional chess championship in 2019", "Ben Ode won the regional chess championship in 2019"),
    ("doer and done to, turned", "Ana Ruiz wrote a cookbook with drawings by Ben Ode for children",
     "Ben Ode wrote a cookbook with drawings by Ana Ruiz for children"),
    ("whom it was, once", "Ana Ruiz once drew Ben Ode in chalk on the harbour wall during a storm",
     "Ana Ruiz once drew Cleo Fay in chalk on the harbour wall during a storm"),
    ("a birthplace", "Ana Ruiz was born in Lisbon", "Ana Ruiz was born in Porto"),
    ("a birthplace of oneself", "I was born in Lisbon", "I was born in Porto"),
    ("where one is based", "Ana Ruiz is an illustrator based in Lisbon", "Ana Ruiz is an illustrator based in Porto"),
    ("where one teaches", "Ana Ruiz is a professor at Aalto University", "Ana Ruiz is a professor at Uppsala University"),
    ("a spouse", "Ana Ruiz is married to Ben Ode", "Ana Ruiz is married to Cleo Fay"),
    ("a founder", "Tidewater Press was founded by Ana Ruiz", "Tidewater Press was founded by Ben Ode"),
    ("the one who is it", "Ana Ruiz is the head of design", "Ben Ode is the head of design"),
    ("where two met", "Ana Ruiz and Ben Ode met at a pottery class in Lisbon", "Ana Ruiz and Ben Ode first met during a hike in Norway"),
    ("another school of one degree", "Ana Ruiz graduated from Aalto University with a degree in botany",
     "Ana Ruiz graduated from Uppsala University with a degree in botany"),
    ("another school of a doctorate", "Ana Ruiz holds a PhD in Botany from Aalto University",
     "Ana Ruiz holds a PhD in Botany from Uppsala University"),
    ("the year of a prize", "Ana Ruiz received the Blue Anchor Prize in 2019", "Ana Ruiz received the Blue Anchor Prize in 2021"),
]  # fmt: skip

BOTH_HOLD = [
    ("the first is said to be one of many", "Ana Ruiz wrote a poem", "Ben Ode wrote a poem"),
    ("it may be one of several", "Ana Ruiz built a dashboard for the sales team", "Ben Ode built a dashboard for the sales team"),
    ("a thing told otherwise", "Ana Ruiz and Ben Ode collaborated on a photo book about old harbour towns",
     "Cleo Fay and Ben Ode collaborated on a photo book about old harbour towns, their lighthouses, ferries and fishermen"),
    ("many write the tests", "Ana Ruiz wrote the tests", "Ben Ode wrote the tests"),
    ("once a day", "Backups of the Billing database run once a day on the second disk",
     "Backups of the Orders database run once a day on the second disk"),
    ("two pairs that did the like", "Ana Ruiz and Ben Ode collaborated on a photo book about old harbour towns",
     "Cleo Fay and Dan Eck collaborated on a photo book about old harbour towns"),
    ("one of the two alone", "Ana Ruiz and Ben Ode co-founded a small press for translated Nordic poetry",
     "Ana Ruiz co-founded a small press for translated Nordic poetry"),
    ("another thing made together", "Ana Ruiz and Ben Ode co-host a podcast about gardens", "Ana Ruiz and Ben Ode co-host a podcast about trains"),
    ("a topic", "Ana Ruiz has published articles on Redis", "Ana Ruiz has published articles on Kafka"),
    ("the topic of a longer title", "Ana Ruiz wrote a guide to securing Kafka clusters in small teams",
     "Ana Ruiz wrote a guide to securing Redis clusters in small teams"),
    ("a deed of another year", "Ana Ruiz won a regional chess championship in 2019", "Ben Ode won a regional chess championship in 2021"),
    ("languages", "Ana Ruiz speaks Spanish", "Ana Ruiz speaks French"),
    ("tastes", "I like tea", "I like coffee"),
    ("fame", "Ana Ruiz is known for her humour", "Ana Ruiz is known for her cooking"),
    ("members of one club", "Ana Ruiz is a member of the chess club", "Ben Ode is a member of the chess club"),
    ("those who were there", "Ana Ruiz attended the Harbour Summit in 2021", "Ben Ode attended the Harbour Summit in 2021"),
    ("a birthplace and a birthday", "Ana Ruiz was born in Lisbon", "Ana Ruiz was born in 1990"),
    ("a place and what it is like", "Ana Ruiz lives in Lisbon", "Ana Ruiz lives in a flat by the river"),
    ("a place, told more closely", "Ana Ruiz lives in Lisbon", "Ana Ruiz lives in Lisbon near the river"),
    ("whom one met", "Ana Ruiz met Ben Ode in Lisbon", "Ana Ruiz met Cleo Fay in Porto"),
    ("where one met somebody", "Ana Ruiz met in Lisbon with Ben Ode", "Ana Ruiz met in Porto with Ben Ode"),
    ("two degrees", "Ana Ruiz graduated from Aalto University with a degree in botany",
     "Ana Ruiz graduated from Uppsala University with a degree in law"),
    ("a prize shared", "Ana Ruiz received the Blue Anchor Prize in 2019", "Ben Ode received the Blue Anchor Prize in 2019"),
    ("two of a kind of prize", "Ana Ruiz received an award for teaching in 2019", "Ana Ruiz received an award for teaching in 2021"),
    ("two books", "Ana Ruiz is the author of Tides", "Ana Ruiz is the author of Harbours"),
    ("a deed denied", "Ana Ruiz never wrote the guide to the harbour", "Ben Ode wrote the guide to the harbour"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), [case[1:] for case in ONE_HOLDS], ids=[case[0] for case in ONE_HOLDS])
def test_of_two_that_differ_in_what_can_be_had_once_one_holds_whichever_comes_first(old: str, new: str) -> None:
    assert exchange.exchanged(new, old)
    assert exchange.exchanged(old, new)


@pytest.mark.parametrize(("old", "new"), [case[1:] for case in BOTH_HOLD], ids=[case[0] for case in BOTH_HOLD])
def test_of_two_that_can_hold_together_neither_ends_the_other(old: str, new: str) -> None:
    assert not exchange.exchanged(new, old)
    assert not exchange.exchanged(old, new)


CONTRASTS = [
    ("what was said of the other", "Ben Ode is fluent in three languages", "Ana Ruiz is fluent in three languages, while Ben Ode speaks one", True),
    ("what was said of both", "Ana Ruiz and Ben Ode both attended Aalto University",
     "Ana Ruiz attended Uppsala University, while Ben Ode attended Aalto University", True),
    ("with the word of a place in the other half", "Ben Ode is an accomplished designer of maps",
     "Ana Ruiz is an accomplished designer of maps, whereas Ben Ode works in software development", True),
    ("of one who is not in it", "Cleo Fay is fluent in three languages", "Ana Ruiz is fluent in three languages, while Ben Ode speaks one", False),
    ("of the one who does it", "Ana Ruiz is fluent in three languages", "Ana Ruiz is fluent in three languages, while Ben Ode speaks one", False),
    ("something else of the other", "Ben Ode sings", "Ana Ruiz is fluent in three languages, while Ben Ode speaks one", False),
    ("too little to tell", "Ben Ode sings", "Ana Ruiz sings, while Ben Ode dances", False),
    ("at the same time, not in contrast", "Ben Ode cooked dinner for the guests", "Ana Ruiz read the news while Ben Ode cooked dinner", False),
    ("in another place", "On staging, Ben Ode runs the nightly import", "Ana Ruiz runs the nightly import, while Ben Ode runs the backups", False),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), [case[1:] for case in CONTRASTS], ids=[case[0] for case in CONTRASTS])
def test_a_contrast_ends_what_was_said_of_the_other(old: str, new: str, expected: bool) -> None:
    assert exchange.contrasted(new, old) is expected


def fact(text: str) -> models.Fact:
    return models.Fact(text=text, category=models.Category.PROJECT_CONTEXT, confidence=1.0, quote=text)


def remembered(text: str, said_at: float) -> models.Memory:
    return planning.remembered(
        fact(text), messages.StoreFacts(turn=text, principal=models.LOCAL, said_at=said_at, facts=(fact(text),)), 0, project="", now=0.0
    )


def test_the_later_of_the_two_is_current_and_others_stay() -> None:
    old, other = remembered("Ana Ruiz was born in Lisbon", 1.0), remembered("Ben Ode was born in Lisbon", 2.0)
    candidates = [dedup.Candidate(old, 0.9), dedup.Candidate(other, 0.9)]
    new = fact("Ana Ruiz was born in Porto")
    assert dedup.decide(new, candidates, project="", said_at=3.0, threshold=0.82) == dedup.Supersede((old,), new)
    assert dedup.decide(new, candidates, project="", said_at=0.5, threshold=0.82) == dedup.Stale(old, new)


def test_both_of_one_breath_stay() -> None:
    old = remembered("Ana Ruiz was born in Lisbon", 1.0)
    new = models.Fact(text="Ana Ruiz was born in Porto", category=models.Category.PROJECT_CONTEXT, confidence=1.0, quote=old.evidence[0].quote)
    assert isinstance(dedup.decide(new, [dedup.Candidate(old, 0.9)], project="", said_at=3.0, threshold=0.82), dedup.Insert)

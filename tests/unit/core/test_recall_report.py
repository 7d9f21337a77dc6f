import pytest

from services.core import ports
from services.core.recall import report


def asked(words: str, *found: str, at: float = 1.0) -> ports.Asked:
    return ports.Asked(words, found, at)


DEAD = [
    ("once is a mistake of typing", [asked("zebra")], []),
    ("twice is dead", [asked("zebra"), asked("zebra", at=2)], [("zebra", 2, 2)]),
    ("case, white space and the last mark make no other question", [asked("Where is it"), asked("where  is it?", at=2)], [("where  is it?", 2, 2)]),
    ("another question is another", [asked("zebra"), asked("okapi")], []),
    ("what found something the last time lives", [asked("zebra"), asked("zebra"), asked("zebra", "m1")], []),
    ("what found something once, and then no more", [asked("zebra", "m1"), asked("zebra"), asked("zebra", at=3)], [("zebra", 2, 3)]),
    ("a look is no question", [ports.Opened("zebra", 1), ports.Opened("zebra", 2)], []),
    (
        "most asked first, then the last one",
        [*[asked("a", at=n) for n in (1, 2)], *[asked("b", at=n) for n in (3, 4)], *[asked("c", at=n) for n in (0, 0, 1)]],
        [("c", 3, 1), ("b", 2, 4), ("a", 2, 2)],
    ),
]


@pytest.mark.parametrize(("uses", "expected"), [case[1:] for case in DEAD], ids=[case[0] for case in DEAD])
def test_dead_queries(uses: list[ports.Use], expected: list[tuple[str, int, float]]) -> None:
    assert report.dead(uses) == expected


UNOPENED = [
    ("twice is not often", [asked("q", "m1")] * 2, []),
    ("three times is", [asked("q", "m1", at=1), asked("r", "m1", at=2), asked("s", "m1", at=3)], [("m1", 3, 3)]),
    ("twice in one answer counts once", [asked("q", "m1", "m1")] * 2, []),
    ("opened before", [ports.Opened("m1", 0), *[asked("q", "m1")] * 3], []),
    ("opened after", [*[asked("q", "m1")] * 3, ports.Opened("m1", 9)], []),
    ("most shown first", [*[asked("q", "m2", "m1")] * 3, asked("q", "m1", at=5)], [("m1", 4, 5), ("m2", 3, 1)]),
]


@pytest.mark.parametrize(("uses", "expected"), [case[1:] for case in UNOPENED], ids=[case[0] for case in UNOPENED])
def test_what_is_shown_and_never_opened(uses: list[ports.Use], expected: list[tuple[str, int, float]]) -> None:
    assert report.unopened(uses) == expected

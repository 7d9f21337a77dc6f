"""When an answer is given again, and when it is not."""

import math
from collections.abc import Callable, Hashable, Sequence

import pytest

from services.core import errors
from services.core.recall import cache

VECTORS: dict[str, Sequence[float]] = {
    "which database do we use?": (1.0, 0.0),
    "which database do we use": (1.0, 0.0),
    "Which databases do we use?": (0.95, math.sqrt(1 - 0.95**2)),
    "which database do we use now, and use in use?": (0.91, math.sqrt(1 - 0.91**2)),
    "which database do they use?": (0.99, math.sqrt(1 - 0.99**2)),
    "which database do we not use?": (0.98, math.sqrt(1 - 0.98**2)),
}
ASKED = "which database do we use?"


class Bench:
    """A cache of numbers: each fresh answer is the next one. `writes` and `now` are moved by hand."""

    def __init__(self, most: int = 3) -> None:
        self.writes = {"acme": 0, "other": 0}
        self.now = 1000.0
        self.asked = 0
        self.embedded = 0
        self.away = False
        self.cache = cache.Cache[int](self._read, lambda: self.now, lifetime_seconds=60, most=most)

    def ask(
        self,
        words: str = ASKED,
        *,
        team: str = "acme",
        key: Hashable = "key",
        until: float = math.inf,
        while_asked: Callable[[], None] = lambda: None,
        vector: bool = True,
    ) -> cache.Cached[int]:
        def fresh() -> int:
            self.asked += 1
            while_asked()
            return self.asked

        def embed() -> Sequence[float] | None:
            self.embedded += 1
            return VECTORS.get(words) if vector else None

        return self.cache.answer(team, key, words, embed=embed, fresh=fresh, until=lambda _: until)

    def _read(self, team: str) -> int:
        if self.away:
            raise errors.Unavailable("redis")
        return self.writes[team]


def test_the_same_words_are_answered_without_asking_or_embedding() -> None:
    bench = Bench()
    first, embedded = bench.ask(), bench.embedded

    assert bench.ask() == first == (1, ASKED)
    assert (bench.asked, bench.embedded) == (1, embedded)


@pytest.mark.parametrize(
    ("words", "answered"),
    [
        ("which database do we use", True),  # but for the mark at the end
        ("Which databases do we use?", True),  # other words, alike in all that counts
        ("which database do we use now, and use in use?", False),  # not near enough
        ("which database do they use?", False),  # nobody's of the asker's
        ("which database do we not use?", False),
        ("words without a vector", False),
    ],
)
def test_other_words_get_the_answer_only_if_they_ask_for_the_same(words: str, answered: bool) -> None:
    bench = Bench()
    bench.ask()

    assert bench.ask(words) == ((1, ASKED) if answered else (2, words))


@pytest.mark.parametrize("other", [{"team": "other"}, {"key": "other"}])
def test_an_answer_is_for_its_team_and_key_alone(other: dict[str, str]) -> None:
    bench = Bench()
    bench.ask()

    assert bench.ask(**other).answer == 2  # type: ignore[arg-type]
    assert bench.ask("which database do we use", **other).answer == 2  # type: ignore[arg-type]


def test_nothing_is_answered_from_before_a_write() -> None:
    bench = Bench()
    bench.ask()
    bench.ask(team="other")
    bench.writes["acme"] += 1

    assert bench.ask().answer == 3
    assert bench.ask(team="other").answer == 2


def test_an_answer_that_a_write_came_in_between_is_not_given_again() -> None:
    bench = Bench()

    def write() -> None:
        bench.writes["acme"] += 1

    bench.ask(while_asked=write)

    assert bench.ask().answer == 2


def test_a_write_clock_that_starts_anew_is_another() -> None:
    bench = Bench()
    bench.writes["acme"] = 7
    bench.ask()
    bench.writes["acme"] = 0

    assert bench.ask().answer == 2


def test_while_the_write_clock_is_away_everything_is_asked_anew() -> None:
    bench = Bench()
    bench.ask()
    bench.away = True

    assert [bench.ask().answer, bench.ask().answer] == [2, 3]


@pytest.mark.parametrize(
    ("until", "after", "answered"), [(math.inf, 59, True), (math.inf, 60, False), (1010, 9, True), (1010, 10, False), (0, 0, False)]
)
def test_an_answer_holds_for_its_time(until: float, after: float, answered: bool) -> None:
    bench = Bench()
    bench.ask(until=until)
    bench.now += after

    assert bench.ask().answer == (1 if answered else 2)


def test_no_more_than_so_many_are_held_the_least_used_go_first() -> None:
    bench = Bench(most=3)
    for words in ("a", "b", "c", "a", "d"):
        bench.ask(words)

    assert len(bench.cache) == 3
    assert [bench.ask(words).answer for words in ("a", "c", "d")] == [1, 3, 4]
    assert bench.ask("b").answer == 5


def test_without_vectors_the_same_words_are_still_answered() -> None:
    bench = Bench()
    bench.ask(vector=False)

    assert bench.ask(vector=False).answer == 1
    assert bench.ask("which database do we use", vector=False).answer == 2


def test_an_embedder_that_fails_is_not_hidden() -> None:
    bench = Bench()
    bench.ask()

    def fail() -> Sequence[float]:
        raise errors.Unavailable("llama.cpp")

    with pytest.raises(errors.Unavailable):
        bench.cache.answer("acme", "key", "other words", embed=fail, fresh=lambda: 0, until=lambda _: math.inf)


def test_clearing_drops_what_the_team_has_and_cleaning_what_holds_no_longer() -> None:
    bench = Bench()
    bench.ask("a")
    bench.ask("b", team="other", until=1010)
    bench.now += 20

    assert (bench.cache.count("acme"), bench.cache.count("other"), bench.cache.count("third")) == (1, 1, 0)
    assert (bench.cache.clean("acme"), bench.cache.clean("other"), len(bench.cache)) == (0, 1, 1)
    assert (bench.cache.clear("other"), bench.cache.clear("acme"), len(bench.cache)) == (0, 1, 0)


def test_cleaning_drops_what_was_asked_before_a_write_or_can_not_be_trusted() -> None:
    bench = Bench()
    bench.ask("a")
    bench.ask("b", team="other")
    bench.writes["acme"] += 1
    assert bench.cache.clean("acme") == 1
    bench.away = True
    assert bench.cache.clean("other") == 1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("What is my name?", "what is  my name", True),
        ("How do I deploy the service?", "how do I deploy the services", True),
        ("When is the release on October 15?", "When is the release on October 16?", False),  # omega-memory PR#73: cosine 0.99
        ("What runs on port 8080?", "What runs on port 8081?", False),
        ("What is JIRA-123 about?", "What is JIRA-124 about?", False),
        ("Which database does staging use?", "Which database does production use?", False),
        ("What can I eat?", "What can I not eat?", False),
        ("What did we ship last week?", "What did we ship this week?", False),
        ("What did we ship before June?", "What did we ship after June?", False),
        ("Can you please tell me the name of our service?", "tell me the names of our services", True),
        ("What is my wife called?", "What is our wife called?", False),
        ("我的数据库是什么", "我的生日是什么", False),
        ("list my todos", "which todos are in my list of todos, again, for the week that is to come?", False),  # all of a kind, and not
    ],
)
def test_which_questions_are_the_same(one: str, other: str, same: bool) -> None:
    assert cache.same_question(one, other) is same
    assert cache.same_question(other, one) is same
    assert cache.same_question(one, one)


@pytest.mark.parametrize(
    ("one", "other", "share"), [("night", "nacht", 0.25), ("abc", "abc", 1.0), ("ab", "cd", 0.0), ("", "", 1.0), ("", "ab", 0.0)]
)
def test_the_share_of_neighbouring_characters(one: str, other: str, share: float) -> None:
    assert cache.dice(one, other) == pytest.approx(share)

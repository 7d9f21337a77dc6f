import pytest

from services.worker.extraction import filters


@pytest.mark.parametrize(
    ("text", "rest", "remembered", "restates"),
    [
        ("by the way, I use vim", "I use vim", False, False),
        ("oh and I use vim", "I use vim", False, False),
        ("Also, btw our db is MySQL", "our db is MySQL", False, False),
        ("actually I use vim", "I use vim", False, False),
        ("so, we use Go", "we use Go", False, False),
        ("remember that I use vim", "I use vim", True, False),
        ("Please keep in mind that we ship on Fridays", "we ship on Fridays", True, False),
        ("note: my cat is Pixel", "my cat is Pixel", True, False),
        ("no longer a fan", "no longer a fan", False, False),
        ("just use tabs", "just use tabs", False, False),
        ("I use vim", "I use vim", False, False),
        ("Correction: Ana has taught in Porto", "Ana has taught in Porto", True, True),
        ("Sorry, I was wrong: Ana reviews the releases", "Ana reviews the releases", True, True),
        ("Update: the release is on May 9", "the release is on May 9", True, True),
        ("update the release notes please", "update the release notes please", False, False),
    ],
)
def test_leading_discourse_words_are_dropped(text: str, rest: str, remembered: bool, restates: bool) -> None:
    assert filters.strip_lead(text) == (rest, remembered, restates)


@pytest.mark.parametrize(
    "text", ["suppose we used Mongo", "imagine I have a list", "Let's say my name is John", "what if we used Go", "For example, my name is Bob"]
)
def test_suppositions_open_a_hypothetical(text: str) -> None:
    assert filters.opens_hypothetical(text)


@pytest.mark.parametrize("text", ["We use Mongo", "I say we use Go", "Our example app uses Go"])
def test_statements_open_none(text: str) -> None:
    assert not filters.opens_hypothetical(text)


@pytest.mark.parametrize(
    "text", ["maybe we should use Rust", "we might adopt Go", "I think we use Yarn", "I'm considering Go", "we may switch", "probably Postgres"]
)
def test_hedges_are_hedged(text: str) -> None:
    assert filters.is_hedged(text)


@pytest.mark.parametrize("text", ["Release deadline is May 15", "The review in May is done", "We use Mighty", "I believe in tests"])
def test_a_month_and_a_name_are_no_hedge(text: str) -> None:
    assert not filters.is_hedged(text)


@pytest.mark.parametrize(
    "text", ["My boss said we use Java", "According to the wiki we use Yarn", "Bob told me that they use Go", "The docs recommend Poetry"]
)
def test_what_others_say_is_reported(text: str) -> None:
    assert filters.is_reported(text)


@pytest.mark.parametrize("text", ["Redis, recommended by Ana, is our cache", "I said yes", "Ana owns billing"])
def test_what_the_person_says_is_not(text: str) -> None:
    assert not filters.is_reported(text)


@pytest.mark.parametrize(
    "text", ["Is Next.js good", "what does src/app.ts do", "Should I use v1.2", "how do I sort", "can you help", "Any ideas on this"]
)
def test_questions_are_told_by_their_words(text: str) -> None:
    assert filters.is_question(text)


@pytest.mark.parametrize("text", ["I use Postgres", "Whatever we do, we use Go", "Can opener is my nickname"])
def test_statements_are_no_questions(text: str) -> None:
    assert not filters.is_question(text)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("I use Postgres 15, is that ok", "I use Postgres 15"),
        ("I'm on Fedora, how do I install podman", "I'm on Fedora"),
        ("Is Next.js good", ""),
        ("We use Postgres, right", ""),
    ],
)
def test_a_question_may_follow_a_statement(text: str, stated: str) -> None:
    assert text[: filters.question_at(text)] == stated


@pytest.mark.parametrize(("text", "stated"), [("I use zsh, please fix my prompt", "I use zsh"), ("We use Go", "We use Go")])
def test_an_order_may_follow_a_statement(text: str, stated: str) -> None:
    assert text[: filters.request_at(text)] == stated


@pytest.mark.parametrize(
    ("text", "without"), [("if it helps, I use vim", "I use vim"), ("I use vim if that matters", "I use vim"), ("I eat if hungry", "I eat if hungry")]
)
def test_asides_make_nothing_conditional(text: str, without: str) -> None:
    assert filters.without_asides(text).strip() == without


@pytest.mark.parametrize(("text", "passing"), [("I'm in Berlin today", True), ("I live in Berlin", False)])
def test_what_holds_for_a_day_passes(text: str, passing: bool) -> None:
    assert filters.is_passing(text) is passing

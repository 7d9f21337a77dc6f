import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.core import block, messages, models
from services.worker.extraction import grounding
from services.worker.extraction.grounding import Flaw
from tests.support.facts import faults

FACT = models.Fact(
    text="We use Postgres 15",
    category=models.Category.TECHNICAL_CHOICE,
    confidence=0.9,
    quote="we use Postgres 15",
    attribute="uses",
    value="Postgres 15",
)


def _with(**changes: object) -> models.Fact:
    return msgspec.structs.replace(FACT, **changes)


def test_a_fact_in_the_persons_words_is_grounded() -> None:
    assert grounding.grounded(FACT, "By the way, we use Postgres 15.")


def test_white_space_counts_as_one_blank() -> None:
    assert grounding.grounded(FACT, "we use\n  Postgres\t15")


@pytest.mark.parametrize(
    "fact",
    [
        _with(quote="we use MySQL"),
        _with(quote=""),
        _with(text="We use Postgres 16"),
        _with(value="Postgres 16"),
        _with(text="We use Postgres 15 at Acme"),
        _with(text="John Doe uses Postgres 15"),
        _with(text="We use Postgres 15 on db-01.internal"),
        _with(text="We use Postgres 15 <EMAIL_1>"),
        _with(replaces="MySQL"),
    ],
)
def test_nothing_is_invented(fact: models.Fact) -> None:
    assert not grounding.grounded(fact, "Well, we use Postgres 15.")


def test_a_placeholder_is_evidence_like_any_word() -> None:
    fact = _with(text="My mail is <EMAIL_1>", quote="my mail is <EMAIL_1>", value="<EMAIL_1>")
    assert grounding.grounded(fact, "my mail is <EMAIL_1>")


def test_a_correction_takes_the_rest_from_what_was_said_before() -> None:
    fact = models.Fact(
        text="Ana's deadline is May 16",
        category=models.Category.PROJECT_CONTEXT,
        confidence=0.8,
        quote="make that May 16",
        value="May 16",
        replaces="May 15",
        correction=True,
    )
    assert grounding.grounded(fact, "make that May 16", ("Ana's deadline is May 15",))
    assert not grounding.grounded(fact, "make that May 16")


def test_the_new_value_of_a_correction_must_be_in_its_own_words() -> None:
    fact = _with(text="My name is Leoncio", quote="it's him", value="Leoncio", correction=True)
    assert not grounding.grounded(fact, "it's him", ("My name is Leoncio",))


@pytest.mark.parametrize(
    ("fact", "words", "flaw"),
    [
        (_with(quote="We use Postgres 15"), "We use Postgres 15.4", Flaw.QUOTE),
        (FACT, f"{block.OPEN}\n{block.HEADING}\n- [x] we use Postgres 15\n{block.CLOSE}\nthanks", Flaw.QUOTE),
        (_with(quote="use Postgres 15", text="use Postgres 15"), "we don't use Postgres 15", Flaw.NEGATION),
        (_with(quote="I don't think we use Postgres 15", text="I think we use Postgres 15"), "I don't think we use Postgres 15", Flaw.WORDS),
        (_with(quote="we use Postgres 15 beside MySQL", text="we use MySQL beside Postgres 15"), "we use Postgres 15 beside MySQL", Flaw.WORDS),
        (_with(text="Wir nutzen Postgres 15"), "we use Postgres 15", Flaw.WORDS),
        (_with(text="We don't use Postgres 15", quote="we don't use Postgres 15"), "we don't use Postgres 15", Flaw.POLARITY),
        (_with(entities=("Postgres", "Oracle")), "we use Postgres 15", Flaw.NAME),
        (_with(subject="Ana"), "we use Postgres 15", Flaw.NAME),
        (_with(value="https://x.io"), "we use Postgres 15", Flaw.NAME),
        (_with(text="mail <EMAIL_1", quote="mail <EMAIL_1", value=""), "mail <EMAIL_1", Flaw.PLACEHOLDER),
        (FACT, f"we use Post{block.OPEN}\n- [x] y\n{block.CLOSE}gres 15", Flaw.QUOTE),
        (FACT, f"we use {block.OPEN}\n- [x] y\n{block.CLOSE} Postgres 15", Flaw.QUOTE),
        (_with(text="We use \u202e Postgres 15"), "we use Postgres 15", Flaw.WORDS),
        (_with(text="We use \u200b Postgres 15"), "we use Postgres 15", Flaw.WORDS),
        (_with(value="Postgres 15 \u2066"), "we use Postgres 15", Flaw.WORDS),
        (_with(text="We use \x1b Postgres 15"), "we use Postgres 15", Flaw.WORDS),
        (_with(text="We use Postgres １５"), "we use Postgres 15", Flaw.WORDS),
        (_with(text="We use Pоstgres 15"), "we use Postgres 15", Flaw.WORDS),  # a Cyrillic o
        (_with(text="p99 > 250 ms", quote="p99 < 250 ms", value=""), "p99 < 250 ms", Flaw.WORDS),
        (_with(text="p99 250 ms", quote="p99 >250 ms", value=""), "p99 >250 ms", Flaw.WORDS),
        (_with(when="since 2019"), "we use Postgres 15", Flaw.NAME),
        (_with(text="everybody hates the boss", correction=True), "we use Postgres 15", Flaw.WORDS),
        (_with(text="mail EMAIL_1", quote="mail <EMAIL_1>", value=""), "mail <EMAIL_1>", Flaw.WORDS),
    ],
)
def test_the_flaw_is_named(fact: models.Fact, words: str, flaw: Flaw) -> None:
    assert grounding.flaw(fact, words) is flaw


@pytest.mark.parametrize(
    "before",
    [
        "we donʼt", "we don′t", "we don´t", "we wont", "we do ｎｏｔ", "we do no\u200bt", "vi vil ikke",
        "we refuse to", "we rarely", "we seldom", "we failed to",
    ],
)  # fmt: skip
def test_no_quote_is_cut_out_from_under_what_denies_it(before: str) -> None:
    fact = _with(quote="use Postgres 15", text="use Postgres 15")
    assert grounding.flaw(fact, f"{before} use Postgres 15") is Flaw.NEGATION
    assert grounding.flaw(fact, f"{before} use MySQL, but use Postgres 15") is None


def test_what_is_said_ten_thousand_times_costs_no_more_than_what_is_said_often() -> None:
    started = time.perf_counter()
    for words in ("we use Postgres 15\n", "we never said we use Postgres 15\n"):
        grounding.flaw(FACT, words * 100)
    few = time.perf_counter() - started
    started = time.perf_counter()
    for words in ("we use Postgres 15\n", "we never said we use Postgres 15\n"):
        grounding.flaw(FACT, words * 10_000)
    assert time.perf_counter() - started < 30 * few


@pytest.mark.parametrize(
    ("text", "quote", "entity"),
    [("My birthday is March 3rd", "my birthday is March 3rd", "March 3"), ("I'm in Europe/Lisbon", "I'm in Europe/Lisbon", "Lisbon")],
)
def test_an_entity_may_be_a_piece_of_a_name(text: str, quote: str, entity: str) -> None:
    assert grounding.grounded(_with(text=text, quote=quote, value="", entities=(entity,)), quote)


WORDS = "I don't use vim, I use Helix. My mail is <EMAIL_1>; db-02.internal has 12 nodes, not 14, and Ana runs it on port 8080.  Nie wieder\nWindows!"
_PIECES = (*WORDS.split(), "vim", "16", "Eva", "<EMAIL_2>", "EMAIL_1", "Oracle", "no", "https://x.io")
_PLACES = st.integers(0, len(WORDS))
_SLICES = st.tuples(_PLACES, _PLACES).map(lambda edges: WORDS[min(edges) : max(edges)])
_TEXTS = st.one_of(_SLICES, st.lists(st.sampled_from(_PIECES), max_size=7).map(" ".join), st.sampled_from(_PIECES), st.text(max_size=12))


@settings(max_examples=600, deadline=None)
@given(_TEXTS, _TEXTS, _TEXTS, st.lists(st.sampled_from(_PIECES), max_size=2), st.booleans())
def test_no_fact_gets_through_that_its_quote_does_not_prove(quote: str, text: str, value: str, entities: list[str], cuts: bool) -> None:
    fact = _with(quote=quote, text=" ".join(quote.split()[: len(text) % 9]) if cuts else text, value=value, entities=tuple(entities), polarity=False)
    turn = messages.LearnTurn(turn="t", principal=models.LOCAL, said_at=0.0, words=WORDS)
    if grounding.grounded(fact, WORDS):
        assert faults(fact, turn) == []

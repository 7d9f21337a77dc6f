from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from services.core import erasing, messages, models, ports
from tests.support.in_memory import memory

LEO = models.Principal("acme", "leo")
ANA = models.Principal("acme", "ana")
OTHER = models.Principal("else", "leo")


def said(quote: str, turn: str = "t1", session: str = "s1") -> models.Evidence:
    return models.Evidence(quote, turn, 1.0, session)


def learn(turn: str, words: str, *, who: models.Principal = LEO, session: str = "", context: tuple[str, ...] = (), answer: str = "") -> messages.Job:
    payload = messages.LearnTurn(turn=turn, principal=who, said_at=1.0, words=words, session=session, context=context, answer=answer)
    return messages.Job.of(messages.Task.LEARN_TURN, payload)


def store(turn: str, text: str = "x", *, who: models.Principal = LEO, session: str = "") -> messages.Job:
    fact = models.Fact(text=text, category=models.Category.DECISION, confidence=1.0, quote=text)
    payload = messages.StoreFacts(turn=turn, principal=who, said_at=1.0, facts=(fact,), session=session)
    return messages.Job.of(messages.Task.STORE_FACTS, payload)


def more(turn: str, words: str, *, who: models.Principal = LEO, session: str = "") -> messages.Job:
    payload = learn(turn, words, who=who, session=session).payload
    assert isinstance(payload, messages.LearnTurn)
    return messages.Job.of(messages.Task.LEARN_MORE, messages.LearnMore(turn, payload, ()))


# Conversations


@pytest.mark.parametrize(
    ("sessions", "mentions", "gone", "left"),
    [
        (["s1"], 1, True, None),
        (["s1", "s1"], 2, True, None),
        (["s2"], 1, False, None),
        ([""], 1, False, None),
        (["s1", "s2"], 2, False, (["s2"], 1)),
        (["s1", "s2", "s1", ""], 4, False, (["s2", ""], 2)),
        (["s1", "s2"], 1, False, (["s2"], 1)),  # never less than once
        (["s1", "s2"], 9, False, (["s2"], 8)),  # more mentions than words that were kept
        ([], 1, False, None),
    ],
)
def test_what_was_said_in_a_conversation_alone_goes_and_other_memories_lose_its_words(
    sessions: list[str], mentions: int, gone: bool, left: tuple[list[str], int] | None
) -> None:
    one = memory("x", evidence=tuple(said("x", f"t{n}", session) for n, session in enumerate(sessions)), mentions=mentions)

    plan = erasing.of_session([one], "s1")

    assert plan.gone == ((one,) if gone else ())
    assert [([evidence.session for evidence in each.evidence], each.mentions) for each in plan.changed] == ([left] if left else [])


def test_each_version_is_looked_at_by_itself() -> None:
    old = memory("May 3", status=models.Status.SUPERSEDED, evidence=(said("May 3", session="s1"),))
    new = memory("May 9", evidence=(said("May 9", session="s2"),), lineage=old.id, supersedes=old.id)
    assert erasing.of_session([old, new], "s1") == erasing.Plan(gone=(old,))


def test_what_the_team_was_given_stays() -> None:
    mine, proposed, shared = (memory(text, visibility=models.Visibility(text)) for text in ("private", "proposed", "team"))
    assert erasing.sparing_the_team(erasing.Plan(gone=(mine, proposed, shared))) == erasing.Plan(gone=(mine, proposed), left=(shared,))


# History


def history(*versions: models.Memory) -> erasing.Plan:
    by_id = {one.id: one for one in versions}
    return erasing.lineages(
        [versions[0]], lambda lineage: [one for one in versions if one.lineage == lineage], lambda each: by_id.get(models.MemoryId(each))
    )


def test_a_memory_goes_with_all_versions_of_its_lineage_alone() -> None:
    new = memory("new", lineage="l", supersedes="gone long ago")
    old, other = memory("old", lineage="l"), memory("other", lineage="m")
    assert history(new, old, other).gone == (new, old)


def test_a_lineage_that_is_about_to_be_merged_goes_along() -> None:
    """A process that was killed has retired a memory and not moved its history yet."""
    kept = memory("kept", lineage="k")
    retired = memory("retired", lineage="r", superseded_by=kept.id, status=models.Status.SUPERSEDED)
    before = memory("before", lineage="r", superseded_by=retired.id, status=models.Status.SUPERSEDED)
    assert set(history(retired, kept, before).gone) == {kept, retired, before}


def test_versions_that_name_one_another_come_to_an_end() -> None:
    one, two = memory("one", lineage="a"), memory("two", lineage="b")
    one, two = replace(one, supersedes=two.id, superseded_by=two.id), replace(two, supersedes=one.id, superseded_by=one.id)
    assert set(history(one, two).gone) == {one, two}


# Jobs

GONE = (memory("We use the quokka database", evidence=(said("we use the Quokka  database", "t1"),)),)


@pytest.mark.parametrize(
    ("job", "concerned"),
    [
        (learn("t1", "anything"), True),
        (more("t1", "anything"), True),
        (store("t1"), True),
        (learn("t2", "By the way, we use the quokka database!"), True),
        (learn("t2", "WE USE THE\n quokka   database"), True),
        (more("t2", "we use the quokka database"), True),
        (store("t2", "We use the quokka database"), True),
        (learn("t2", "we use another database"), False),
        (learn("t2", "and why?", context=("we use the quokka database",)), False),
        (learn("t1", "we use the quokka database", who=ANA), False),
        (learn("t1", "we use the quokka database", who=OTHER), False),
        (store("t1", who=ANA), False),
    ],
)
def test_jobs_that_would_bring_it_back(job: messages.Job, concerned: bool) -> None:
    assert erasing.concerns_words(LEO, GONE)(job) is concerned


@pytest.mark.parametrize("quote", ["vim", "yes", "use vim"])
def test_a_word_or_two_are_not_looked_for_in_other_turns(quote: str) -> None:
    gone = [memory(quote, evidence=(said(quote, "t1"),))]
    assert not erasing.concerns_words(LEO, gone)(learn("t2", f"I think {quote} is a thing"))
    assert erasing.concerns_words(LEO, gone)(learn("t1", f"I think {quote} is a thing"))


@pytest.mark.parametrize(
    ("job", "concerned"),
    [
        (learn("t1", "x", session="s1"), True),
        (more("t1", "x", session="s1"), True),
        (store("t1", session="s1"), True),
        (learn("t1", "x", session="s2"), False),
        (learn("t1", "x"), False),
        (learn("t1", "x", who=ANA, session="s1"), False),
    ],
)
def test_jobs_of_a_conversation(job: messages.Job, concerned: bool) -> None:
    assert erasing.concerns_session(LEO, "s1")(job) is concerned


def test_jobs_of_a_person_and_of_a_team() -> None:
    jobs = [learn("t1", "x"), more("t2", "x", who=ANA), store("t3", who=OTHER)]
    assert [erasing.concerns_owner(LEO)(job) for job in jobs] == [True, False, False]
    assert [erasing.concerns_team("acme")(job) for job in jobs] == [True, True, False]


QUOTED = erasing.quotes(GONE)


def test_a_turn_that_follows_is_learnt_from_without_what_was_said_before() -> None:
    job = learn("t2", "And it is fast", context=("I live in Bonn", "We use the quokka database."), answer="Noted: we use the quokka database")

    clean = erasing.cleared(job, LEO, QUOTED)

    assert clean is not None
    assert isinstance(clean.payload, messages.LearnTurn)
    assert (clean.payload.words, clean.payload.context, clean.payload.answer) == ("And it is fast", ("I live in Bonn",), "")
    assert (clean.id != job.id, clean.payload.turn, clean.task) == (True, "t2", job.task)
    assert erasing.cleared(clean, LEO, QUOTED) is None


@pytest.mark.parametrize(
    "job",
    [
        learn("t2", "x", context=("I live in Bonn",)),
        learn("t2", "x", who=ANA, context=("We use the quokka database",)),
        store("t2", "We use the quokka database"),
    ],
)
def test_other_jobs_are_left_as_they_are(job: messages.Job) -> None:
    assert erasing.cleared(job, LEO, QUOTED) is None


# What turns were told


@pytest.mark.parametrize(
    ("fields", "concerned"),
    [
        ({"turn": "t1"}, True),
        ({"turn": "t2", "words": "Don't we use the quokka database?"}, True),
        ({"turn": "t2", "asked": "we use the quokka database"}, True),
        ({"turn": "t2", "block": "<memories>\n- We use the quokka database\n</memories>"}, True),
        ({"turn": "t2", "words": "which database?"}, False),
    ],
)
def test_records_of_turns_that_hold_its_words(fields: dict[str, str], concerned: bool) -> None:
    told = ports.Told(**{"at": 1.0, "outcome": "shown", **fields})  # type: ignore[arg-type]
    assert erasing.concerns_told(told, erasing.turns(GONE), QUOTED) is concerned


@pytest.mark.parametrize(("texts", "quoted"), [([], {"a b c"}), (["a b c"], set()), (["", " "], {"a b c"})])
def test_nothing_is_said_by_nothing(texts: Sequence[str], quoted: set[str]) -> None:
    assert not erasing.says(texts, quoted)

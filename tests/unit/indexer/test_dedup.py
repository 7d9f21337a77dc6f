"""Tables of what becomes of a fact. Cosines are given: high ones to show that they do not decide, low ones that they are not needed."""

import uuid

import pytest
from msgspec.structs import replace

from services.core import models
from services.indexer import dedup

NOW = 1_000_000.0


def fact(text: str, **fields: object) -> models.Fact:
    defaults: dict[str, object] = {"category": models.Category.TECHNICAL_CHOICE, "confidence": 0.9, "quote": text}
    return models.Fact(text=text, **{**defaults, **fields})  # type: ignore[arg-type]


def memory(stated: models.Fact, *, said_at: float = NOW - 60, project: str = "") -> models.Memory:
    identity = models.MemoryId(str(uuid.uuid5(uuid.NAMESPACE_URL, f"{stated.text} {said_at}")))
    return models.Memory(
        id=identity,
        team="acme",
        owner="leo",
        project=project,
        text=stated.text,
        category=stated.category,
        confidence=stated.confidence,
        subject=stated.subject,
        attribute=stated.attribute,
        value=stated.value,
        functional=stated.functional,
        polarity=stated.polarity,
        entities=stated.entities,
        qualifiers=stated.qualifiers,
        evidence=(models.Evidence(stated.quote, "earlier", said_at),),
        lineage=identity,
        created_at=said_at,
        said_at=said_at,
        reinforced_at=said_at,
        accessed_at=said_at,
    )


def decide(new: models.Fact, *known: models.Memory, cosine: float = 0.0, project: str = "", said_at: float = NOW) -> dedup.Decision:
    candidates = [dedup.Candidate(each, cosine) for each in known]
    return dedup.decide(new, candidates, project=project, said_at=said_at, threshold=0.82)


def name(value: str, text: str = "") -> models.Fact:
    info = models.Category.PERSONAL_INFO
    return fact(text or f"My name is {value}", category=info, attribute="name", value=value, functional=True, entities=(value,))


def uses(value: str, text: str = "", **fields: object) -> models.Fact:
    return fact(text or f"We use {value}", attribute="uses", value=value, subject="team", **fields)


def likes(value: str, text: str, polarity: bool = True, attribute: str = "likes") -> models.Fact:
    return fact(text, category=models.Category.PREFERENCE, attribute=attribute, value=value, polarity=polarity)


def of(thing: str, value: str, **fields: object) -> models.Fact:
    return fact(f"The {thing} is {value}", attribute=thing, value=value, functional=True, category=models.Category.PROJECT_CONTEXT, **fields)


def employer(value: str, text: str = "", **fields: object) -> models.Fact:
    info = models.Category.PERSONAL_INFO
    return fact(text or f"I work at {value}", category=info, attribute="employer", value=value, functional=True, **fields)


SAME = [
    ("the same words", fact("We deploy on Fridays"), fact("we deploy on fridays!"), 0.0),
    ("a paraphrase", fact("We deploy every Friday"), fact("Deploys happen on Fridays"), 0.9),
    ("one value at a time, put otherwise", name("Leo"), name("Leo", "Call me Leo"), 0.4),
    ("the same thing used, put otherwise", uses("Postgres"), uses("postgres", "Postgres is what we use"), 0.3),
    ("the same dislike", likes("Redux", "I hate Redux", polarity=False), likes("redux", "I dislike Redux", attribute="dislikes"), 0.9),
]


@pytest.mark.parametrize(("old", "new", "cosine"), [case[1:] for case in SAME], ids=[case[0] for case in SAME])
def test_what_is_known_is_reinforced(old: models.Fact, new: models.Fact, cosine: float) -> None:
    known = memory(old)
    assert decide(new, known, cosine=cosine) == dedup.Reinforce(known)


CHANGED = [
    ("another name, far apart", name("Leo"), name("Leoncio", "Actually it's Leoncio"), 0.1),
    ("another employer [suzent#34]", employer("Google"), employer("Microsoft", "I joined Microsoft"), 0.86),
    ("a deadline moved by a day [omega-memory#73]", of("release deadline", "October 15"), of("release deadline", "October 16"), 0.99),
    ("love into hate [mem0#4536]", likes("Chinese food", "I love Chinese food"), likes("Chinese food", "I hate Chinese food", polarity=False), 0.9),
    ("hate into love [memobase#124]", likes("tabs", "I dislike tabs", attribute="dislikes"), likes("tabs", "I like tabs now"), 0.2),
    ("a preference under another name", likes("tabs", "I prefer tabs", attribute="prefers"), likes("tabs", "I hate tabs", polarity=False), 0.2),
    ("a stance without a value read", fact("I love Chinese food"), fact("I hate Chinese food"), 0.9),
    ("switched from one to another", uses("Postgres"), uses("MySQL", "We switched from Postgres to MySQL", replaces="Postgres"), 0.5),
    ("what is replaced was called a database", of("database", "Postgres"), uses("MySQL", "We moved off Postgres to MySQL", replaces="postgres"), 0.3),
    ("a preference given up", likes("tabs", "I prefer tabs"), replace(likes("spaces", "I switched from tabs to spaces"), replaces="tabs"), 0.3),
    ("no longer in use", uses("Redis"), uses("Redis", "We no longer use Redis", polarity=False), 0.7),
    ("in use again", uses("Redis", "We stopped using Redis", polarity=False), uses("Redis", "We use Redis again"), 0.7),
    ("left an employer", employer("Google"), employer("Google", "I no longer work at Google", polarity=False), 0.7),
    ("a negated sentence", fact("We deploy on Fridays"), fact("We don't deploy on Fridays"), 0.95),
    ("a number in an unrecognised attribute", fact("The rate limit is 100 per minute"), fact("The rate limit is 250 per minute"), 0.97),
    ("a number in a constraint", fact("The API must answer within 200 ms"), fact("The API must answer within 100 ms"), 0.97),
    ("a role whose name holds the word of a place", of("role", "backend engineer"), of("role", "platform engineer"), 0.8),
    ("a value that an edit left unknown", replace(name("Leo"), value=""), name("Leoncio"), 0.2),
    ("one database of staging after another", of("staging database", "MySQL"), of("staging database", "Postgres"), 0.9),
    ("our deadline and the deadline", of("deadline", "May 3", subject="project"), of("deadline", "May 9", subject="user"), 0.9),
]


@pytest.mark.parametrize(("old", "new", "cosine"), [case[1:] for case in CHANGED], ids=[case[0] for case in CHANGED])
def test_what_no_longer_holds_is_superseded(old: models.Fact, new: models.Fact, cosine: float) -> None:
    known = memory(old)
    assert decide(new, known, cosine=cosine) == dedup.Supersede((known,), new)


BOTH = [
    ("staging and production [graphiti#1728]", uses("Postgres", "production uses Postgres", qualifiers=("production",)),
     uses("MySQL", "staging uses MySQL", qualifiers=("staging",)), 0.9),
    ("the same, where the extractor missed the place", of("database", "Postgres"), fact("The staging database is MySQL", attribute="database",
     value="MySQL", functional=True), 0.9),
    ("two children", fact("My daughter is called Ana", subject="daughter", attribute="name", value="Ana", functional=True),
     fact("My son is called Ivo", subject="son", attribute="name", value="Ivo", functional=True), 0.9),
    ("two children, taken for the person's own name", replace(name("Ana"), text="My daughter is called Ana"),
     replace(name("Ivo"), text="My son is called Ivo"), 0.9),
    ("a child and the person", name("Leo"),
     fact("My daughter is called Ana", subject="daughter", attribute="name", value="Ana", functional=True), 0.9),
    ("the project's name and the person's", name("Leo"), of("name", "Apollo", subject="project"), 0.9),
    ("two dates of no attribute [TrueMemory#687]", fact("I met Ana on October 15"), fact("I met Ana on October 16"), 0.99),
    ("two things in use", uses("Postgres"), uses("Redis"), 0.85),
    ("a dislike of what is used", uses("Redis"), likes("Redis", "I hate Redis", polarity=False), 0.7),
    ("two pull requests [GENesis#758]", fact("PR #260 is merged"), fact("PR #480 is merged"), 0.96),
    ("planned and done", fact("We plan to move to Kafka"), fact("We moved to Kafka"), 0.95),
    ("a switch elsewhere", uses("Postgres", "The billing service uses Postgres", qualifiers=("billing",)),
     uses("MySQL", "We switched from Postgres to MySQL", replaces="Postgres"), 0.6),
    ("another's switch", replace(uses("Postgres", "Acme uses Postgres"), subject="Acme"),
     uses("MySQL", "We switched from Postgres to MySQL", replaces="Postgres"), 0.6),
    ("not living there says nothing of elsewhere", fact("I live in Paris", attribute="residence", value="Paris", functional=True),
     fact("I don't live in Berlin", attribute="residence", value="Berlin", functional=True, polarity=False), 0.85),
    ("liking another thing", likes("tabs", "I like tabs"), likes("Chinese food", "I hate Chinese food", polarity=False), 0.9),
    ("the same thing for another use", uses("Postgres", "We use Postgres for analytics"), uses("Postgres", "We use Postgres for billing"), 0.85),
    ("nothing near", fact("We deploy on Fridays"), fact("I like tea"), 0.1),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "cosine"), [case[1:] for case in BOTH], ids=[case[0] for case in BOTH])
def test_what_can_hold_together_stays_together(old: models.Fact, new: models.Fact, cosine: float) -> None:
    assert decide(new, memory(old), cosine=cosine) == dedup.Insert(new)


def test_nothing_known_means_something_new() -> None:
    assert decide(name("Leo")) == dedup.Insert(name("Leo"))


def test_all_that_is_contradicted_is_superseded_the_latest_first() -> None:
    older, newer = memory(name("Leo"), said_at=10.0), memory(name("Lee"), said_at=20.0)
    assert decide(name("Leoncio"), older, newer) == dedup.Supersede((newer, older), name("Leoncio"))


def test_a_fact_that_arrives_late_goes_into_the_history() -> None:
    known = memory(of("deadline", "October 16"), said_at=NOW)
    assert decide(of("deadline", "October 15"), known, cosine=0.99, said_at=NOW - 1) == dedup.Stale(known, of("deadline", "October 15"))


def test_a_fact_that_was_confirmed_since_is_not_overturned_by_a_late_one() -> None:
    known = memory(uses("Postgres"), said_at=10.0)
    known = replace(known, evidence=(*known.evidence, models.Evidence("We use Postgres", "later", 30.0)))
    late = uses("MySQL", "We switched from Postgres to MySQL", replaces="Postgres")
    assert decide(late, known, said_at=20.0) == dedup.Stale(known, late)
    assert decide(late, known, said_at=40.0) == dedup.Supersede((known,), late)


def test_the_nearest_of_several_same_statements_is_reinforced() -> None:
    near, far = memory(fact("We deploy on Fridays")), memory(fact("Deploys happen on Fridays"))
    candidates = [dedup.Candidate(far, 0.9), dedup.Candidate(near, 0.95)]
    decision = dedup.decide(fact("We deploy every Friday"), candidates, project="", said_at=NOW, threshold=0.82)
    assert decision == dedup.Reinforce(near)


@pytest.mark.parametrize(
    ("known_project", "project", "expected"),
    [("", "shop", "Reinforce"), ("shop", "shop", "Reinforce"), ("shop", "", "Insert"), ("blog", "shop", "Insert")],
)
def test_what_holds_everywhere_holds_in_a_project_but_not_the_other_way_round(known_project: str, project: str, expected: str) -> None:
    decision = decide(uses("Postgres"), memory(uses("Postgres"), project=known_project), cosine=1.0, project=project)
    assert type(decision).__name__ == expected


@pytest.mark.parametrize(("known_project", "expected"), [("shop", "Supersede"), ("blog", "Insert"), ("", "Insert")])
def test_a_change_in_a_project_ends_what_was_said_in_that_project(known_project: str, expected: str) -> None:
    known = memory(of("deadline", "May 3"), project=known_project)
    assert type(decide(of("deadline", "May 9"), known, project="shop")).__name__ == expected


def correction(value: str, text: str = "", **fields: object) -> models.Fact:
    return fact(text or f"Actually it's {value}", value=value, correction=True, category=models.Category.PERSONAL_INFO, **fields)


CORRECTIONS = [
    ("a name", [name("Leo")], correction("Leoncio"), "My name is Leoncio"),
    ("a name, though something else was said since", [name("Leo"), uses("Postgres")], correction("Leoncio"), "My name is Leoncio"),
    ("the last thing said, though it looks different", [name("Leo"), uses("Postgres")], correction("MySQL"), "We use MySQL"),
    ("a date", [of("deadline", "October 15"), of("port", "8080")], correction("October 16"), "The deadline is October 16"),
    ("a number", [of("memory limit", "8 GB"), of("port", "8080")], correction("16 GB"), "The memory limit is 16 GB"),
    ("what it names", [name("Leo"), uses("Postgres"), uses("Redis")], correction("MySQL", replaces="postgres"), "We use MySQL"),
]


@pytest.mark.parametrize(("known", "new", "text"), [case[1:] for case in CORRECTIONS], ids=[case[0] for case in CORRECTIONS])
def test_a_correction_rewords_the_memory_that_it_means(known: list[models.Fact], new: models.Fact, text: str) -> None:
    memories = [memory(each, said_at=NOW - 60 + position) for position, each in enumerate(known)]
    decision = decide(new, *memories)
    assert isinstance(decision, dedup.Supersede)
    (meant,) = decision.memories
    assert decision.fact.text == text
    assert (decision.fact.value, decision.fact.quote, decision.fact.correction) == (new.value, new.quote, False)
    kept = ("category", "subject", "attribute", "functional", "polarity", "qualifiers")
    assert [getattr(decision.fact, field) for field in kept] == [getattr(meant, field) for field in kept]


def test_a_correction_keeps_the_value_s_own_spelling() -> None:
    decision = decide(correction(r"Leo\1ncio"), memory(name("LEO", "my name is leo")))
    assert isinstance(decision, dedup.Supersede)
    assert decision.fact.text == r"my name is Leo\1ncio"


DROPPED = [
    ("nothing is known", [], correction("Leoncio"), NOW),
    ("nothing of that shape", [of("port", "8080")], correction("Leoncio"), NOW),
    ("said too long ago", [name("Leo")], correction("Leoncio"), NOW + dedup.CORRECTION_WINDOW_SECONDS + 1),
    ("said only afterwards", [name("Leo")], correction("Leoncio"), NOW - 61),
    ("the value is not in the memory's words", [name("Leo", "That is what they call me")], correction("Leoncio"), NOW),
    ("no value", [name("Leo")], correction(""), NOW),
    ("unlike all but the last, which has another shape", [uses("Postgres"), of("port", "8080")], correction("Leoncio"), NOW),
]


@pytest.mark.parametrize(("known", "new", "said_at"), [case[1:] for case in DROPPED], ids=[case[0] for case in DROPPED])
def test_a_correction_of_nothing_known_is_dropped(known: list[models.Fact], new: models.Fact, said_at: float) -> None:
    memories = [memory(each, said_at=NOW - 60 + position / 10) for position, each in enumerate(known)]
    assert isinstance(decide(new, *memories, said_at=said_at), dedup.Drop)


def test_a_correction_that_was_resolved_already_is_a_fact_like_others() -> None:
    known = memory(name("Leo"))
    resolved = replace(name("Leoncio"), correction=True)
    assert decide(resolved, known) == dedup.Supersede((known,), resolved)


def test_a_correction_to_what_is_known_reinforces_it() -> None:
    known = memory(name("Leoncio"))
    assert decide(correction("Leoncio"), known) == dedup.Reinforce(known)


@pytest.mark.parametrize(
    ("value", "shape"),
    [("October 16", "date"), ("Friday", "date"), ("16 GB", "number"), ("8080", "number"), ("Leo", "name"), ("iOS", "name"), ("dark mode", "phrase")],
)
def test_a_value_has_a_shape(value: str, shape: str) -> None:
    assert dedup.shape(value) == shape

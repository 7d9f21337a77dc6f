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


def uses(value: str, text: str = "", subject: str = "team", **fields: object) -> models.Fact:
    return fact(text or f"We use {value}", attribute="uses", value=value, subject=subject, **fields)


def likes(value: str, text: str, polarity: bool = True, attribute: str = "likes") -> models.Fact:
    return fact(text, category=models.Category.PREFERENCE, attribute=attribute, value=value, polarity=polarity)


def of(thing: str, value: str, text: str = "", **fields: object) -> models.Fact:
    return fact(text or f"The {thing} is {value}", attribute=thing, value=value, functional=True, category=models.Category.PROJECT_CONTEXT, **fields)


def about(subject: str, attribute: str, value: str, text: str) -> models.Fact:
    return fact(text, subject=subject, attribute=attribute, value=value, category=models.Category.PROJECT_CONTEXT)


def state(value: str, text: str = "", attribute: str = "is") -> models.Fact:
    info = models.Category.PERSONAL_INFO
    return fact(text or f"I'm {value}", category=info, attribute=attribute, value=value, functional=attribute == "role")


def child(name: str, age: str) -> models.Fact:
    info = models.Category.PERSONAL_INFO
    return fact(f"My son {name} is {age}", category=info, subject="son", attribute="age", value=age, functional=True, entities=(name,))


def employer(value: str, text: str = "", **fields: object) -> models.Fact:
    info = models.Category.PERSONAL_INFO
    return fact(text or f"I work at {value}", category=info, attribute="employer", value=value, functional=True, **fields)


SAME = [
    ("the same words", fact("We deploy on Fridays"), fact("we deploy on fridays!"), 0.0),
    ("a paraphrase", fact("We deploy every Friday"), fact("Deploys happen on Fridays"), 0.9),
    ("one value at a time, put otherwise", name("Leo"), name("Leo", "Call me Leo"), 0.4),
    ("the same thing used, put otherwise", uses("Postgres"), uses("postgres", "Postgres is what we use"), 0.3),
    ("an alias of it", uses("Postgres"), uses("PostgreSQL", "We're using PostgreSQL"), 0.82),
    ("what is used is called a database", uses("Postgres"), of("database", "Postgres", subject="team"), 0.77),
    ("a preference, put otherwise", likes("dark mode", "I prefer dark mode", attribute="prefers"),
     likes("dark mode better", "I like dark mode better"), 0.7),
    ("a habit that is a preference", likes("dark mode", "I prefer dark mode", attribute="prefers"),
     likes("dark mode", "I always use dark mode", attribute="uses"), 0.7),
    ("the tool of a place, put otherwise", uses("GitHub Actions", "Our CI runs on GitHub Actions", qualifiers=("ci",)),
     replace(uses("GitHub Actions", "We use GitHub Actions for CI", qualifiers=("ci",)), subject="ci"), 0.7),
    ("a date of the same thing, put otherwise", of("release date", "October 15"),
     fact("We release on October 15", attribute="release", value="on October 15", subject="team", category=models.Category.PROJECT_CONTEXT), 0.7),
    ("the manager, put otherwise", of("manager", "Dana", subject="user"),
     fact("I report to Dana", attribute="manager", value="Dana", functional=True, category=models.Category.PERSONAL_INFO), 0.69),
    ("less than is known", of("database", "Postgres 16"), of("database", "Postgres"), 0.9),
    ("the words of a memory that nothing was read out of", fact("I don't eat fish", category=models.Category.PERSONAL_INFO),
     fact("I don't eat fish", category=models.Category.PERSONAL_INFO, attribute="eats", value="fish", polarity=False), 1.0),
    ("the same dislike", likes("Redux", "I hate Redux", polarity=False), likes("redux", "I dislike Redux", attribute="dislikes"), 0.9),
]  # fmt: skip


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
    ("another version", uses("Python 3.10"), uses("Python 3.12", "We upgraded to Python 3.12"), 0.65),
    ("another version, put otherwise", uses("Django 4.2"), uses("Django 5.1", "We're on Django 5.1 now"), 0.8),
    ("what production uses", uses("Postgres", "Production uses Postgres", subject="production", qualifiers=("production",)),
     uses("CockroachDB", "Production switched to CockroachDB", qualifiers=("production",)), 0.3),
    ("a move from what was called a database", of("database", "MongoDB", subject="team"), uses("Postgres", "We migrated to Postgres"), 0.28),
    ("what is replaced has a shorter name", of("database", "MongoDB", subject="team"),
     uses("Postgres", "Postgres replaces Mongo", replaces="Mongo"), 0.3),
    ("a port", about("auth service", "run", "on port 8001", "The auth service runs on port 8001"),
     about("auth service", "run", "on port 9001", "The auth service runs on port 9001"), 0.9),
    ("a port, as a state of the thing", about("auth service", "run", "on port 8001", "The auth service runs on port 8001"),
     of("auth service", "9001", subject="team", text="The auth service is on 9001 now"), 0.8),
    ("a language of one thing", about("auth service", "uses", "Go", "The auth service is written in Go"),
     about("auth service", "uses", "Zig", "The auth service is written in Zig now"), 0.6),
    ("an unknown tool of one thing", about("auth service", "uses", "Foo", "The auth service uses Foo"),
     about("auth service", "uses", "Bar", "The auth service uses Bar now"), 0.6),
    ("a day of a version", about("team", "ship", "v2 on October 15", "We ship v2 on October 15"),
     about("team", "ship", "v2 on October 16", "We ship v2 on October 16"), 0.97),
    ("a day of a todo", fact("We will ship v2 on October 15", category=models.Category.TODO),
     fact("We will ship v2 on October 16", category=models.Category.TODO), 0.97),
    ("the tool of a part", uses("Travis", "Our CI runs on Travis", subject="ci", qualifiers=("ci",)),
     uses("GitHub Actions", "We replaced Travis with GitHub Actions", replaces="Travis"), 0.5),
    ("a habit", about("team", "deploy", "on Fridays", "We deploy on Fridays"),
     about("team", "deploy", "on Mondays", "We deploy on Mondays now"), 0.87),
    ("how many", about("team", "is", "team of five", "We're a team of five"), about("team", "is", "team of six", "We're a team of six"), 0.8),
    ("the new one", of("manager", "Dana", subject="user"),
     fact("My new manager is Priya", attribute="new manager", value="Priya", functional=True, category=models.Category.PROJECT_CONTEXT), 0.54),
    ("a preference now", likes("light mode", "I prefer light mode", attribute="prefers"),
     likes("dark mode", "I prefer dark mode now", attribute="prefers"), 0.8),
    ("a preference that excludes another", likes("tabs", "I prefer tabs", attribute="prefers"),
     likes("spaces", "I prefer spaces", attribute="prefers"), 0.4),
    ("a state that excludes another", state("single"), state("married", "I got married"), 0.4),
    ("a diet", state("vegetarian"), state("vegan", "I'm vegan now"), 0.78),
    ("an editor", likes("Sublime", "I use Sublime", attribute="uses"), likes("Neovim", "I switched to Neovim", attribute="uses"), 0.46),
    ("a habit of a verb", about("user", "drinks", "coffee", "I drink coffee"), about("user", "drinks", "tea", "I drink tea now"), 0.7),
    ("an occupation", state("backend engineer", attribute="role"), state("staff engineer", attribute="role"), 0.7),
    ("the age of one child", child("Max", "4"), child("Max", "5"), 0.9),
    ("our deadline and the deadline", of("deadline", "May 3", subject="project"), of("deadline", "May 9", subject="user"), 0.9),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "cosine"), [case[1:] for case in CHANGED], ids=[case[0] for case in CHANGED])
def test_what_no_longer_holds_is_superseded(old: models.Fact, new: models.Fact, cosine: float) -> None:
    known = memory(old)
    assert decide(new, known, cosine=cosine) == dedup.Supersede((known,), new)


BOTH = [
    ("an occupation and a family", state("backend engineer", attribute="role"), state("father of two", attribute="role"), 0.2),
    ("an occupation and a diet", state("backend engineer", attribute="role"), state("vegan", "I'm vegan now", attribute="role"), 0.2),
    ("a diet and a marital status", state("vegetarian"), state("married", "I'm married now"), 0.3),
    ("one value at a time of two categories", fact("I'm a lead engineer", attribute="role", value="lead engineer", functional=True),
     state("staff engineer", attribute="role"), 0.3),
    ("two sons", child("Max", "4"), child("Tim", "9"), 0.68),
    ("a release and a demo", fact("The release is on October 15", category=models.Category.TODO),
     fact("The demo is on October 16", category=models.Category.TODO), 0.9),
    ("two versions that ship", about("team", "ship", "v2 on October 15", "We ship v2 on October 15"),
     about("team", "ship", "v3 on November 20", "We ship v3 on November 20"), 0.9),
    ("two requests of one day", fact("PR #260 must be merged by Friday", category=models.Category.TODO),
     fact("PR #480 must be merged by Friday", category=models.Category.TODO), 0.9),
    ("two todos", fact("Review PR 260", category=models.Category.TODO), fact("Review PR 480", category=models.Category.TODO), 0.95),
    ("two things that happened", fact("We released on October 15", category=models.Category.PROJECT_CONTEXT),
     fact("We released on October 16", category=models.Category.PROJECT_CONTEXT), 0.99),
    ("two days of a habit", about("team", "deploy", "on Fridays", "We deploy on Fridays"),
     about("team", "deploy", "on Mondays", "We deploy on Mondays"), 0.9),
    ("another tool of another kind", uses("Postgres"), uses("Redis", "We use Redis now"), 0.8),
    ("another tool of an unknown kind", uses("Postgres"), uses("Foobar", "We use Foobar now"), 0.8),
    ("another language", about("user", "speaks", "German", "I speak German"), about("user", "speaks", "French", "I speak French now"), 0.8),
    ("another language of a team", uses("Python"), uses("Go", "We use Go now"), 0.8),
    ("an upgrade of something else", uses("Go"), uses("Python 3.12", "We upgraded to Python 3.12"), 0.6),
    ("another liking", likes("tea", "I like tea"), likes("green tea", "I like green tea now"), 0.8),
    ("liking both", likes("tabs", "I like tabs"), likes("spaces", "I like spaces"), 0.8),
    ("another service", about("auth service", "uses", "Go", "The auth service is written in Go"),
     about("billing service", "uses", "Zig", "The billing service is written in Zig now"), 0.8),
    ("a version elsewhere", uses("Node 18", "Staging runs Node 18", qualifiers=("staging",)),
     uses("Node 20", "Production runs Node 20 now", qualifiers=("production",)), 0.9),
    ("one database among others", of("analytics database", "ClickHouse", subject="team"), uses("MySQL", "We moved to MySQL"), 0.6),
    ("each for its own", uses("Postgres", "We use Postgres for analytics"), uses("MySQL", "We use MySQL for billing now"), 0.8),
    ("two of one sentence", uses("Python 3.10", quote="We use Python 3.10 and 3.12"), uses("Python 3.12", quote="We use Python 3.10 and 3.12"), 0.9),
    ("a thing said far apart", of("database", "Postgres", subject="team"), uses("Postgres", "We use Postgres"), 0.5),
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


@pytest.mark.parametrize(("project", "subject", "expected"), [("shop", "user", "Supersede"), ("shop", "team", "Insert")])
def test_what_a_person_is_everywhere_ends_what_was_bound_to_a_project(project: str, subject: str, expected: str) -> None:
    known = memory(of("editor", "Sublime", subject=subject), project=project)
    new = likes("Neovim", "I switched to Neovim", attribute="editor")
    assert type(decide(new, known, project="")).__name__ == expected


def ended(old: models.Memory, by: models.Memory) -> models.Memory:
    return replace(old, status=models.Status.SUPERSEDED, superseded_by=by.id, valid_to=by.said_at, lineage=by.lineage)


def test_what_is_said_again_after_it_ended_comes_back_instead_of_a_copy() -> None:
    now = memory(fact("I take the train"))
    old = ended(memory(fact("I take the bus"), said_at=NOW - 100), now)
    new = fact("I take the bus!")
    decision = dedup.decide(new, [dedup.Candidate(now)], former=[dedup.Candidate(old)], project="", said_at=NOW, threshold=0.82)
    assert decision == dedup.Supersede((now,), new, again=old)


def test_of_several_that_said_it_before_the_last_comes_back() -> None:
    now = memory(name("Leoncio"))
    first, last = (ended(memory(name("Leo"), said_at=NOW - ago), now) for ago in (300, 200))
    first, last = replace(first, valid_to=10.0), replace(last, valid_to=20.0)
    former = [dedup.Candidate(each) for each in (last, first)]
    decision = dedup.decide(name("Leo"), [dedup.Candidate(now)], former=former, project="", said_at=NOW, threshold=0.82)
    assert decision == dedup.Supersede((now,), name("Leo"), again=last)


def test_the_past_of_another_matter_does_not_come_back() -> None:
    now, other = memory(name("Leoncio")), memory(fact("I take the train"))
    old = ended(memory(name("Leo"), said_at=NOW - 100), other)
    decision = dedup.decide(name("Leo"), [dedup.Candidate(now)], former=[dedup.Candidate(old)], project="", said_at=NOW, threshold=0.82)
    assert decision == dedup.Supersede((now,), name("Leo"))


def test_what_arrives_late_but_is_in_the_history_already_is_not_put_there_twice() -> None:
    now = memory(name("Leoncio"), said_at=NOW)
    old = ended(memory(name("Leo"), said_at=NOW - 100), now)
    decision = dedup.decide(name("Leo"), [dedup.Candidate(now)], former=[dedup.Candidate(old)], project="", said_at=NOW - 50, threshold=0.82)
    assert decision == dedup.Stale(now, name("Leo"), again=old)


def test_a_statement_that_is_known_ends_what_can_not_hold_beside_it() -> None:
    known, other = memory(uses("MySQL")), memory(uses("Postgres"))
    said = uses("MySQL", "We switched from Postgres to MySQL", replaces="Postgres")
    assert decide(said, known, other) == dedup.Reinforce(known, (other,))
    assert decide(said, known, replace(other, said_at=NOW + 1)) == dedup.Reinforce(known)


def test_what_was_said_together_stays_together_when_one_of_it_is_said_again() -> None:
    words = "We use Python 3.10 and 3.12"
    one, other = memory(uses("Python 3.10", quote=words)), memory(uses("Python 3.12", quote=words))
    assert decide(uses("Python 3.10"), one, other) == dedup.Reinforce(one)


def test_a_change_that_was_cut_short_is_completed_when_it_is_said_again() -> None:
    back = memory(fact("I take the bus"))
    left = replace(memory(fact("I take the train")), lineage=back.lineage)
    assert decide(fact("I take the bus"), back, left) == dedup.Reinforce(back, (left,))


def test_the_later_one_says_whether_something_changed() -> None:
    """A fact that arrives late is older than what says "now"."""
    known = memory(likes("Neovim", "I use Neovim now", attribute="uses"), said_at=NOW)
    late = likes("Sublime", "I use Sublime", attribute="uses")
    assert decide(late, known, said_at=NOW - 1) == dedup.Stale(known, late)
    assert decide(late, known, said_at=NOW + 1) == dedup.Insert(late)


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


def closing(text: str, **fields: object) -> models.Fact:
    return fact(text, quote=f"forget that {text}", closes=True, **fields)


FORGOTTEN = [
    ("a liking", [likes("tea", "I love tea")], closing("I like tea", attribute="likes", value="tea", category=models.Category.PREFERENCE), {0}),
    ("one liking of two", [likes("tea", "I like tea"), likes("coffee", "I like coffee")],
     closing("I like coffee", attribute="likes", value="coffee", category=models.Category.PREFERENCE), {1}),
    ("the words of a memory that nothing was read out of", [fact("Ana reviews my code"), fact("Ben reviews my code")],
     closing("Ana reviews my code"), {0}),
    ("an attribute, whatever its value", [employer("Google"), name("Leo")],
     closing("my employer", attribute="employer", category=models.Category.PERSONAL_INFO), {0}),
    ("all about a topic", [uses("Postgres"), fact("The PostgreSQL cluster is in Frankfurt"), uses("Redis")],
     closing("Postgres", subject="", value="Postgres"), {0, 1}),
    ("all about a topic of two words", [fact("The billing service is old"), fact("Billing is on Mondays")],
     closing("the billing service", subject="", value="the billing service"), {0}),
]  # fmt: skip


@pytest.mark.parametrize(("known", "new", "ended"), [case[1:] for case in FORGOTTEN], ids=[case[0] for case in FORGOTTEN])
def test_what_is_to_be_forgotten_is_closed_and_nothing_else(known: list[models.Fact], new: models.Fact, ended: set[int]) -> None:
    memories = [memory(each) for each in known]
    assert decide(new, *memories, cosine=0.5) == dedup.Close(tuple(memories[index] for index in sorted(ended)))


@pytest.mark.parametrize(
    ("known", "new"),
    [
        (likes("coffee", "I like coffee"), closing("I like tea", attribute="likes", value="tea", category=models.Category.PREFERENCE)),
        (
            likes("tea", "I dislike tea", attribute="dislikes"),
            closing("I like tea", attribute="likes", value="tea", category=models.Category.PREFERENCE),
        ),
        (uses("Redis"), closing("Postgres", subject="", value="Postgres")),
        (name("Ana", "My daughter is called Ana"), closing("my name", attribute="name", subject="team")),
    ],
)
def test_what_nobody_said_can_not_be_forgotten(known: models.Fact, new: models.Fact) -> None:
    assert isinstance(decide(new, memory(known)), dedup.Drop)


def test_what_was_said_again_after_it_should_be_forgotten_stays() -> None:
    known = memory(employer("Google"), said_at=NOW + 1)
    assert isinstance(decide(closing("my employer", attribute="employer"), known), dedup.Drop)


def test_what_was_forgotten_and_is_said_again_comes_back_instead_of_a_copy() -> None:
    gone = replace(memory(fact("Ana reviews my code")), status=models.Status.SUPERSEDED, valid_to=NOW - 10)
    new = fact("Ana reviews my code!")
    decision = dedup.decide(new, [], former=[dedup.Candidate(gone)], project="", said_at=NOW, threshold=0.82)
    assert decision == dedup.Insert(new, again=gone)


def test_what_was_replaced_long_ago_does_not_come_back_beside_nothing() -> None:
    old = replace(memory(fact("Ana reviews my code")), status=models.Status.SUPERSEDED, superseded_by="another", valid_to=NOW - 10)
    new = fact("Ana reviews my code!")
    decision = dedup.decide(new, [], former=[dedup.Candidate(old)], project="", said_at=NOW, threshold=0.82)
    assert decision == dedup.Insert(new)


def test_a_correction_in_a_whole_sentence_takes_the_place_of_what_it_can_mean() -> None:
    meant, other = memory(fact("Ana Ruiz has taught piano in Lisbon")), memory(fact("Ana Ruiz likes to swim"))
    new = fact("Ana Ruiz has taught piano in Porto", correction=True)
    candidates = [dedup.Candidate(other, 0.6), dedup.Candidate(meant, 0.8)]
    assert dedup.decide(new, candidates, project="", said_at=NOW, threshold=0.82) == dedup.Supersede((meant,), new)


def test_a_correction_in_a_whole_sentence_of_nothing_known_is_something_new() -> None:
    new = fact("Ana Ruiz has taught piano in Porto", correction=True)
    assert decide(new, memory(fact("We deploy on Fridays")), cosine=0.1) == dedup.Insert(new)

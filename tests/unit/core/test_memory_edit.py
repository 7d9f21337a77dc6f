import uuid
from itertools import count

import pytest
from msgspec.structs import replace

from services.core import errors, memory_edit, memory_ids, models, ports
from services.core.adapters.in_memory_store import InMemoryStore

ALL = models.Scope("acme", "leo", None)
_numbers = count(1)


def memory(text: str = "My name is Leo", **fields: object) -> models.Memory:
    identity = models.MemoryId(str(uuid.UUID(int=next(_numbers))))
    defaults: dict[str, object] = {
        "id": identity,
        "team": "acme",
        "owner": "leo",
        "text": text,
        "category": models.Category.PERSONAL_INFO,
        "confidence": 0.9,
        "attribute": "name",
        "value": "Leo",
        "functional": True,
        "entities": ("Leo",),
        "evidence": (models.Evidence("I'm Leo", "t1", 10.0),),
        "lineage": identity,
        "created_at": 10.0,
        "said_at": 10.0,
        "reinforced_at": 10.0,
        "accessed_at": 10.0,
    }
    return models.Memory(**{**defaults, **fields})  # type: ignore[arg-type]


def test_an_edit_keeps_the_id_and_archives_what_it_was() -> None:
    before = memory()
    new, archived = memory_edit.edited(before, text="  My name is Leoncio ", now=50.0)
    assert (new.id, new.text, new.lineage, new.supersedes, new.status) == (before.id, "My name is Leoncio", before.id, archived.id, before.status)
    assert archived == replace(before, id=memory_ids.of_version(before), status=models.Status.SUPERSEDED, superseded_by=before.id, valid_to=50.0)
    assert (new.created_at, new.said_at, new.valid_to, new.attribute) == (10.0, 50.0, None, "name")


def test_a_new_text_is_its_own_evidence() -> None:
    new, archived = memory_edit.edited(memory(), text="My name is Ana", now=50.0)
    assert [(evidence.quote, evidence.said_at) for evidence in new.evidence] == [("My name is Ana", 50.0)]
    assert archived.evidence == memory().evidence


@pytest.mark.parametrize(("text", "value"), [("My name is Ana", "Ana"), ("My name is Leo Ivanov.", "Leo Ivanov")])
def test_an_edit_of_the_value_alone_is_read_like_the_old_text(text: str, value: str) -> None:
    before = memory(qualifiers=("work",))
    new, _ = memory_edit.edited(before, text=text, now=50.0)
    assert new.value == value
    kept = ("subject", "attribute", "functional", "polarity", "qualifiers")
    assert [getattr(new, field) for field in kept] == [getattr(before, field) for field in kept]


def test_an_edit_keeps_the_names_that_are_still_there() -> None:
    before = memory("My dog Rex is 4", attribute="age", value="4", subject="dog", entities=("Rex",))
    assert memory_edit.edited(before, text="My dog Rex is 5", now=50.0)[0].entities == ("Rex",)
    assert memory_edit.edited(memory(), text="My name is Ana", now=50.0)[0].entities == ()


@pytest.mark.parametrize("text", ["Call me Leo, please", "I don't have a name", "My name is", "my dog is called Leo"])
def test_nothing_that_was_read_out_of_the_old_words_outlives_another_wording(text: str) -> None:
    before = memory(subject="dog", qualifiers=("work",), polarity=False)
    new, archived = memory_edit.edited(before, text=text, now=50.0)
    read = ("subject", "attribute", "value", "functional", "polarity", "entities", "qualifiers")
    assert [getattr(new, field) for field in read] == ["user", "", "", False, True, (), ()]
    assert [getattr(archived, field) for field in read] == [getattr(before, field) for field in read]


def test_another_category_leaves_the_words_and_their_evidence() -> None:
    before = memory()
    new, archived = memory_edit.edited(before, category=models.Category.TODO, now=50.0)
    assert (new.category, new.text, new.value, new.evidence) == (models.Category.TODO, before.text, before.value, before.evidence)
    assert archived.category is models.Category.PERSONAL_INFO


@pytest.mark.parametrize("change", [{"text": ""}, {"text": "  "}, {}, {"text": "My name is Leo"}, {"category": models.Category.PERSONAL_INFO}])
def test_an_edit_that_says_nothing_is_bad_input(change: dict[str, object]) -> None:
    with pytest.raises(errors.BadInput):
        memory_edit.edited(memory(), now=50.0, **change)  # type: ignore[arg-type]


def test_the_same_edit_again_makes_no_second_archive() -> None:
    before = memory()
    assert memory_edit.edited(before, text="Ana", now=50.0)[1].id == memory_edit.edited(before, text="Ana", now=51.0)[1].id


def test_going_back_and_forth_keeps_every_version() -> None:
    versions = [memory()]
    for number, text in enumerate(["Ana", "My name is Leo", "Ana"]):
        new, archived = memory_edit.edited(versions[-1], text=text, now=50.0 + number)
        versions[-1:] = [archived, new]
    assert len({version.id for version in versions}) == 4


def test_the_history_is_the_whole_lineage_the_current_one_first() -> None:
    store = InMemoryStore(1)
    first = memory("first", said_at=10.0)
    late = memory("said first, arrived last", said_at=5.0, created_at=90.0, lineage=first.lineage, status=models.Status.SUPERSEDED)
    second, archived = memory_edit.edited(first, text="second", now=20.0)
    third, archived_again = memory_edit.edited(second, text="third", now=30.0)
    store.put([ports.Embedded(each, [1.0]) for each in (late, archived, archived_again, third, memory("another"))])
    for asked in (third, archived, late):
        texts = [each.text for each in memory_edit.history(store, ALL, asked.id)]
        assert texts == ["third", "second", "first", "said first, arrived last"]


def test_the_history_keeps_to_the_scope() -> None:
    store = InMemoryStore(1)
    mine = memory(visibility=models.Visibility.TEAM)
    hidden = replace(memory("old"), lineage=mine.lineage, status=models.Status.SUPERSEDED)
    store.put([ports.Embedded(mine, [1.0]), ports.Embedded(hidden, [1.0])])
    assert memory_edit.history(store, models.Scope("acme", "ana"), hidden.id) == []
    assert memory_edit.history(store, models.Scope("acme", "ana"), mine.id) == [mine]
    assert len(memory_edit.history(store, ALL, mine.id)) == 2


def test_a_memory_was_last_said_when_its_latest_evidence_was() -> None:
    said = memory(said_at=10.0, evidence=(models.Evidence("a", "t1", 10.0), models.Evidence("b", "t2", 30.0)))
    assert memory_edit.last_said(said) == 30.0
    assert memory_edit.last_said(memory(said_at=40.0)) == 40.0


def test_a_long_lineage_is_read_batch_by_batch_whatever_times_its_versions_share() -> None:
    store = InMemoryStore(2)
    first = memory("We use Postgres 0")
    versions = [first, *(memory(f"We use Postgres {n}", lineage=first.id, created_at=1000.0 + n // 600) for n in range(1, 1300))]
    store.put([ports.Embedded(one, [1.0, 0.0]) for one in versions])

    found = list(memory_edit.lineage(store, ALL, first.id))

    assert len(found) == 1300
    assert {one.id for one in found} == {one.id for one in versions}

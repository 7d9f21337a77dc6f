import pytest
from msgspec.structs import replace

from services.core import memory_ids, messages, models
from services.indexer import planning

LEO = models.Principal("acme", "leo")


def fact(text: str, **fields: object) -> models.Fact:
    return models.Fact(**{"text": text, "category": models.Category.PROJECT_CONTEXT, "confidence": 0.7, "quote": text, **fields})  # type: ignore[arg-type]


def deadline(value: str) -> models.Fact:
    return fact(f"The deadline is {value}", attribute="deadline", value=value, functional=True)


def turn(*facts: models.Fact, name: str = "t1", said_at: float = 100.0) -> messages.StoreFacts:
    return messages.StoreFacts(turn=name, principal=LEO, said_at=said_at, facts=facts, project="shop")


def plan(payload: messages.StoreFacts, *known: models.Memory) -> planning.Plan:
    vectors = [[1.0, 0.0]] * len(payload.facts)
    return planning.plan(payload, vectors, [planning.Known(each, (0.0, 1.0)) for each in known], threshold=0.82, now=500.0)


def stored(stated: models.Fact, name: str, said_at: float) -> models.Memory:
    return planning.remembered(stated, turn(stated, name=name, said_at=said_at), 0, project="shop", now=said_at)


def test_a_fact_becomes_a_memory_with_its_evidence() -> None:
    (made,) = plan(turn(deadline("May 3"))).created
    assert made.id == made.lineage == memory_ids.of_fact(LEO, "t1", 0)
    assert made.evidence == (models.Evidence("The deadline is May 3", "t1", 100.0),)
    assert (made.team, made.owner, made.project, made.visibility) == ("acme", "leo", "shop", models.Visibility.PRIVATE)
    assert (made.created_at, made.said_at, made.reinforced_at, made.accessed_at) == (500.0, 100.0, 100.0, 100.0)
    assert (made.attribute, made.value, made.functional, made.mentions, made.confidence) == ("deadline", "May 3", True, 1, 0.7)


@pytest.mark.parametrize("category", list(models.Category))
def test_what_is_personal_holds_in_every_project(category: models.Category) -> None:
    (made,) = plan(turn(fact("Something", category=category))).created
    assert made.project == ("" if category in models.PERSONAL_CATEGORIES else "shop")


def test_a_change_retires_the_old_one_into_the_lineage_of_the_new() -> None:
    old = stored(deadline("May 3"), "t0", 50.0)
    result = plan(turn(deadline("May 9")), old)
    (new,) = result.created
    assert (new.supersedes, new.lineage, new.status) == (old.id, old.id, models.Status.CURRENT)
    assert result.changed == (replace(old, status=models.Status.SUPERSEDED, superseded_by=new.id, valid_to=100.0),)


def test_several_that_end_at_once_go_on_in_one_lineage() -> None:
    one, two = stored(deadline("May 3"), "t0", 50.0), stored(deadline("May 4"), "t00", 60.0)
    result = plan(turn(deadline("May 9")), one, two)
    assert result.merged == ((one.lineage, two.lineage),)
    assert {memory.lineage for memory in (*result.created, *result.changed)} == {two.lineage}


def test_a_repetition_is_counted_and_keeps_the_words() -> None:
    old = stored(deadline("May 3"), "t0", 50.0)
    (new,) = plan(turn(replace(deadline("May 3"), confidence=0.95, quote="deadline: May 3")), old).changed
    assert (new.mentions, new.confidence, new.reinforced_at, new.accessed_at, new.said_at) == (2, 0.95, 100.0, 100.0, 50.0)
    assert new.evidence == (*old.evidence, models.Evidence("deadline: May 3", "t1", 100.0))


def test_a_turn_never_counts_twice() -> None:
    old = planning.reinforced(stored(deadline("May 3"), "t0", 50.0), turn(deadline("May 3")), 0)
    assert plan(turn(deadline("May 3")), old).changed == ()


def test_a_late_repetition_does_not_turn_time_back() -> None:
    old = stored(deadline("May 3"), "t0", 200.0)
    (new,) = plan(turn(deadline("May 3"), said_at=100.0), old).changed
    assert (new.mentions, new.reinforced_at, new.accessed_at) == (2, 200.0, 200.0)


def test_evidence_does_not_grow_without_end() -> None:
    memory = stored(deadline("May 3"), "first", 1.0)
    for number in range(100):
        memory = planning.reinforced(memory, turn(deadline("May 3"), name=f"t{number}"), 0)
    assert memory.mentions == 101
    assert [evidence.turn for evidence in memory.evidence[:2]] == ["first", "t51"]
    assert (len(memory.evidence), memory.evidence[-1].turn) == (50, "t99")


def test_facts_of_one_turn_are_held_against_each_other() -> None:
    """hindsight#1730: one turn gave nine nearly equal entries."""
    result = plan(turn(*[deadline("May 3")] * 9, deadline("May 9")))
    first, last = result.created
    assert (first.status, first.superseded_by, last.supersedes) == (models.Status.SUPERSEDED, last.id, first.id)
    assert first.mentions == 1
    assert [type(decision).__name__ for decision in result.decisions] == ["Insert", *["Reinforce"] * 8, "Supersede"]


def test_a_late_fact_goes_straight_into_the_history() -> None:
    newer = stored(deadline("May 9"), "t0", 200.0)
    result = plan(turn(deadline("May 3")), newer)
    (late,) = result.created
    assert result.changed == ()
    assert (late.status, late.superseded_by, late.lineage, late.valid_to) == (models.Status.SUPERSEDED, newer.id, newer.lineage, 200.0)


def ended(old: models.Memory, by: models.Memory) -> models.Memory:
    return replace(old, status=models.Status.SUPERSEDED, superseded_by=by.id, valid_to=by.said_at, lineage=by.lineage)


def test_what_held_before_is_current_again_with_all_its_words() -> None:
    now = stored(deadline("May 9"), "t0", 60.0)
    old = ended(stored(deadline("May 3"), "t00", 50.0), now)
    result = plan(turn(deadline("May 3")), now, old)
    (back,), (retired,) = result.former, result.changed
    assert result.created == ()
    assert (back.id, back.status, back.supersedes, back.superseded_by, back.valid_to) == (old.id, models.Status.CURRENT, now.id, "", None)
    assert (back.mentions, back.said_at, [evidence.turn for evidence in back.evidence]) == (2, 100.0, ["t00", "t1"])
    assert retired == ended(now, replace(back, said_at=100.0))


def test_a_late_fact_that_is_in_the_history_adds_its_words_there() -> None:
    now = stored(deadline("May 9"), "t0", 200.0)
    old = ended(stored(deadline("May 3"), "t00", 50.0), now)
    result = plan(turn(deadline("May 3")), now, old)
    assert (result.created, result.changed) == ((), ())
    assert [(memory.id, memory.mentions, memory.status) for memory in result.former] == [(old.id, 2, models.Status.SUPERSEDED)]


def test_what_is_said_again_can_end_others() -> None:
    known, other = stored(deadline("May 3"), "t0", 50.0), stored(deadline("May 9"), "t00", 60.0)
    result = plan(turn(deadline("May 3")), known, other)
    assert {memory.id: (memory.status, memory.superseded_by, memory.lineage) for memory in result.changed} == {
        known.id: (models.Status.CURRENT, "", known.lineage),
        other.id: (models.Status.SUPERSEDED, known.id, known.lineage),
    }
    assert result.merged == ((other.lineage, known.lineage),)


@pytest.mark.parametrize("resolved", [True, False])
def test_a_corrected_memory_keeps_the_words_that_prove_the_rest_of_it(resolved: bool) -> None:
    old = stored(deadline("May 3"), "t0", 50.0)
    new = replace(deadline("May 9") if resolved else fact("it's May 9", value="May 9"), correction=True, quote="it's May 9")
    (made,) = plan(turn(new), old).created
    assert made.text == "The deadline is May 9"
    assert [evidence.quote for evidence in made.evidence] == ["The deadline is May 3", "it's May 9"]
    assert made.mentions == 1


def test_a_change_that_is_no_correction_has_its_own_words_only() -> None:
    (made,) = plan(turn(deadline("May 9")), stored(deadline("May 3"), "t0", 50.0)).created
    assert [evidence.quote for evidence in made.evidence] == ["The deadline is May 9"]


def test_an_attribute_is_remembered_under_its_lasting_name() -> None:
    (made,) = plan(turn(fact("My new manager is Priya", attribute="new manager", value="Priya", functional=True))).created
    assert made.attribute == "manager"


def test_before_a_turn_is_what_the_turn_has_not_retired() -> None:
    retired = replace(stored(deadline("May 3"), "t0", 50.0), status=models.Status.SUPERSEDED, superseded_by="x", valid_to=100.0)
    assert planning.before(retired, {"y"}) == retired
    assert planning.before(retired, {"x"}) == stored(deadline("May 3"), "t0", 50.0)


def test_what_is_to_be_forgotten_ends_and_leaves_nothing_but_its_history() -> None:
    old = stored(deadline("May 3"), "t0", 50.0)
    result = plan(turn(replace(deadline("May 3"), closes=True)), old)
    assert result.created == ()
    assert result.changed == (replace(old, status=models.Status.SUPERSEDED, superseded_by="", valid_to=100.0),)
    assert plan(turn(replace(deadline("May 3"), closes=True)), *result.changed).changed == ()


def test_what_was_forgotten_comes_back_when_it_is_said_again() -> None:
    gone = replace(stored(deadline("May 3"), "t0", 50.0), status=models.Status.SUPERSEDED, valid_to=60.0)
    result = plan(turn(deadline("May 3")), gone)
    (back,) = result.former
    assert (result.created, back.id, back.status, back.valid_to, back.mentions) == ((), gone.id, models.Status.CURRENT, None, 2)


def test_what_replaces_from_a_stated_day_on_ends_the_old_one_on_that_day() -> None:
    old = stored(deadline("May 3"), "t0", 50.0)
    result = plan(turn(replace(deadline("May 9"), when="from March on", valid_from=300.0)), old)
    assert result.changed[0].valid_to == 300.0
    assert (result.created[0].when, result.created[0].valid_from) == ("from March on", 300.0)


def test_what_ended_before_it_was_replaced_keeps_its_end() -> None:
    old = replace(stored(deadline("May 3"), "t0", 50.0), valid_to=70.0)
    assert plan(turn(deadline("May 9")), old).changed[0].valid_to == 70.0


def test_a_stated_end_in_the_future_stays_with_the_fact() -> None:
    (made,) = plan(turn(replace(deadline("May 3"), when="until Friday", valid_to=900.0))).created
    assert (made.status, made.when, made.valid_to) == (models.Status.CURRENT, "until Friday", 900.0)


@pytest.mark.parametrize(
    ("known", "said", "expected"),
    [
        (None, 900.0, 900.0),  # the end is news
        (90.0, None, None),  # it was over, and holds again
        (90.0, 900.0, 900.0),
        (700.0, None, 700.0),  # said again without its end
    ],
)
def test_the_end_of_what_is_said_again(known: float | None, said: float | None, expected: float | None) -> None:
    old = replace(stored(deadline("May 3"), "t0", 50.0), valid_to=known, when="" if known is None else "until then")
    (new,) = plan(turn(replace(deadline("May 3"), valid_to=said)), old).changed
    assert (new.valid_to, new.mentions) == (expected, 2)


def test_a_correction_in_a_whole_sentence_has_its_own_words_only() -> None:
    old = stored(fact("Ana Ruiz has taught piano lessons in Lisbon"), "t0", 50.0)
    (made,) = plan(turn(fact("Ana Ruiz has taught piano lessons in Porto", correction=True)), old).created
    assert (made.supersedes, [evidence.quote for evidence in made.evidence]) == (old.id, [made.text])

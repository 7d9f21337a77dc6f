import pytest

from services.core import memory_add, memory_ids, models

LEO = models.Principal("acme", "leo")
CHOICE, PERSON, CONTEXT = models.Category.TECHNICAL_CHOICE, models.Category.PERSONAL_INFO, models.Category.PROJECT_CONTEXT


def read(text: str, **fields: object) -> models.Fact:
    return models.Fact(**{"text": text, "category": CHOICE, "confidence": 0.7, "quote": text, "attribute": "uses", "value": "x", **fields})  # type: ignore[arg-type]


def test_the_memory_is_the_only_fact_of_its_own_turn() -> None:
    memory, turn = memory_add.added(LEO, "We use vim", category=None, project="shop", now=5.0)

    assert memory.id == memory.lineage == memory_ids.of_fact(LEO, turn.turn, 0)
    assert (turn.principal, turn.words, turn.project, turn.said_at, turn.by_hand) == (LEO, "We use vim", "shop", 5.0, True)
    assert memory_add.added(LEO, "We use vim", category=None, project="shop", now=6.0)[1].turn != turn.turn


def test_it_is_unread_until_its_turn_is_in_its_evidence_or_it_is_history() -> None:
    memory, turn = memory_add.added(LEO, "We use vim", category=None, project="", now=5.0)

    assert memory_add.unread(memory)
    for fields in (
        {"evidence": (models.Evidence("We use vim", turn.turn, 5.0),)},
        {"evidence": ()},
        {"status": models.Status.SUPERSEDED},
    ):
        assert not memory_add.unread(models.Memory(**{field: getattr(memory, field) for field in memory.__struct_fields__} | fields))


@pytest.mark.parametrize(("category", "project"), [(None, "shop"), (CHOICE, "shop"), (PERSON, ""), (models.Category.PREFERENCE, "")])
def test_what_is_given_as_about_the_person_holds_everywhere_at_once(category: models.Category | None, project: str) -> None:
    memory, turn = memory_add.added(LEO, "x", category=category, project="shop", now=5.0)

    assert (memory.project, memory.category, turn.category) == (project, category or CONTEXT, category)


@pytest.mark.parametrize("words", ["We use vim", "we use  vim.", "Note that we use vim", "just so you know: We use vim!"])
def test_words_that_are_one_statement_are_taken_as_it_was_read(words: str) -> None:
    fact = read("We use vim")

    stated = memory_add.stated(words, [fact], None)

    assert (stated.text, stated.attribute, stated.value, stated.category) == ("We use vim", "uses", "x", CHOICE)
    assert (stated.quote, stated.confidence) == (words, 1.0)
    assert memory_add.stated(words, [fact], PERSON).category is PERSON


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        ("The build takes long", []),
        ("We use vim. Deploys need two approvals", [read("We use vim")]),
        ("We use vim and tmux", [read("We use vim"), read("We use tmux")]),
        ("In the days of old when knights were bold we use vim", [read("We use vim")]),
        ("Forget that we use vim", [read("We use vim", closes=True)]),
        ("Actually it's vim", [read("it's vim", attribute="", correction=True)]),
        ("Notre éditeur est vim", [read("vim")]),
    ],
)
def test_words_that_say_more_or_nothing_that_stands_alone_are_the_fact_themselves(words: str, facts: list[models.Fact]) -> None:
    stated = memory_add.stated(words, facts, None)

    assert (stated.text, stated.quote, stated.attribute, stated.value, stated.closes, stated.correction) == (words, words, "", "", False, False)


@pytest.mark.parametrize(
    ("facts", "given", "category", "subject"),
    [
        ([], None, CONTEXT, "team"),
        ([], PERSON, PERSON, "user"),
        ([read("We use vim"), read("I like tea", category=PERSON)], None, CHOICE, "team"),
        ([read("I like tea", category=PERSON), read("We use vim")], None, PERSON, "user"),
        ([read("We use vim", closes=True)], None, CONTEXT, "team"),
    ],
)
def test_their_category_is_the_given_one_or_that_of_what_was_read_first(
    facts: list[models.Fact], given: models.Category | None, category: models.Category, subject: str
) -> None:
    stated = memory_add.stated("We use vim and I like tea, always", facts, given)

    assert (stated.category, stated.subject) == (category, subject)


@pytest.mark.parametrize(
    ("text", "project", "says"),
    [("we use  Vim.", "shop", True), ("We use vim", "", False), ("We use emacs", "shop", False)],
)
def test_a_memory_says_just_the_same_words_where_it_holds(text: str, project: str, says: bool) -> None:
    memory, _ = memory_add.added(LEO, "We use vim", category=None, project="shop", now=5.0)
    everywhere, _ = memory_add.added(LEO, "We use vim", category=None, project="", now=5.0)

    assert memory_add.says(memory, text, project) is says
    assert memory_add.says(everywhere, "We use vim", project)

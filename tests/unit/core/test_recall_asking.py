import pytest

from services.core.models import Category
from services.core.recall import asking


@pytest.mark.parametrize(
    "text",
    [
        "who am i?",
        "Who am I",
        "What do you know about me?",
        "so, what can you tell me about me",
        "Tell me everything you remember about me",
        "do you remember me?",
        "Remember anything about me?",
        "Hi, do you know who I am?",
        "Tell me about myself.",
    ],
)
def test_who_asks_for_themselves_gets_their_own_statements_and_the_name_first(text: str) -> None:
    assert asking.listing(text) == asking.Listing(asking.ABOUT_ME, own=True, words="my name")


@pytest.mark.parametrize(
    ("text", "category", "own"),
    [
        ("What are my preferences?", Category.PREFERENCE, True),
        ("What are we building?", Category.PROJECT_CONTEXT, False),
        ("What project am I working on?", Category.PROJECT_CONTEXT, True),
        ("Can you remind me what we're building?", Category.PROJECT_CONTEXT, False),
        ("What is our project about?", Category.PROJECT_CONTEXT, False),
        ("what do I prefer?", Category.PREFERENCE, True),
        ("what are my todos?", Category.TODO, True),
        ("What’s on my to-do list?", Category.TODO, True),
        ("what do I still have to do?", Category.TODO, True),
        ("show me our open tasks", Category.TODO, False),
        ("Do we have any constraints?", Category.CONSTRAINT, False),
        ("What are the team's constraints?", Category.CONSTRAINT, False),
        ("list our constraints please", Category.CONSTRAINT, False),
        ("what are our rules for this project?", Category.CONSTRAINT, False),
        ("What have we decided so far?", Category.DECISION, False),
        ("which decisions did we make", Category.DECISION, False),
        ("can you summarize our decisions", Category.DECISION, False),
        ("what's our tech stack?", Category.TECHNICAL_CHOICE, False),
    ],
)
def test_who_asks_for_a_kind_gets_that_kind(text: str, category: Category, own: bool) -> None:
    assert asking.listing(text) == asking.Listing(frozenset({category}), own=own)


def test_who_asks_for_the_project_gets_what_belongs_to_it() -> None:
    assert asking.listing("What do you know about this project?") == asking.Listing(asking.ABOUT_A_PROJECT, own=False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What do you know about quantum computing?",
        "what are your constraints?",
        "What are we building the index with?",
        "How is our project built?",
        "What is the product of 3 and 4?",
        "What constraints does SQL support?",
        "add a foreign key constraint to our schema",
        "what are the rules of cricket?",
        "What are my options here?",
        "who are you?",
        "Who am I supposed to ask about billing?",
        "what do I have to do to install this?",
        "what is my next task in this sprint about the exporter?",
        "write a todo app",
        "Tell me about the decisions of Napoleon",
        "tell me about my landlord's duties",
        "explain the stack",
        "Write a poem called who am I",
        "what do I like about Paris " * 20,
    ],
)
def test_an_ordinary_sentence_asks_for_no_kind(text: str) -> None:
    assert asking.listing(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "what does my brother do?",
        "which tool do we use",
        "is hummus safe for me?",
        "how should you address me?",
        "show me the change in the format I like",
        "how do I like to travel?",
        "which library do our unit tests rely on?",
        "where is our test environment?",
        "how should our code be formatted?",
        "is this repo public",
    ],
)
def test_what_is_asked_of_oneself_and_of_the_team_is_own(text: str) -> None:
    assert asking.own(text)


@pytest.mark.parametrize(
    "text",
    [
        "how do I reverse a list",
        "tell me a joke",
        "please show us the output",
        "my loop never ends, can you see why",
        "rewrite my for loop as a comprehension",
        "our regex matches too much",
        "there's a race in our worker loop, find it",
        "is it just me or is it late",
        "why is the sky blue",
    ],
)
def test_what_lies_before_both_and_the_way_of_the_world_are_not(text: str) -> None:
    assert not asking.own(text)

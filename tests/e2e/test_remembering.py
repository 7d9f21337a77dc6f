"""The main job: what is said in one conversation is told in another, once, in place, and the same each time."""

import json
import re
from collections.abc import Callable

import pytest
from harness import Brb, Person

New = Callable[..., Person]


def test_what_was_said_is_told_in_a_new_conversation(brb: Brb, person: New) -> None:
    person().say("Hi! My name is Matilda. We use CockroachDB and deploy to Hetzner.")
    brb.memory("CockroachDB")
    asked = person().say("Which database are we using, and where do we deploy?")
    assert asked.memories >= 1
    assert len(asked.blocks) == 1
    assert "CockroachDB" in asked.blocks[0]
    assert "CockroachDB" in asked.answer


def test_a_memory_has_its_category_confidence_and_the_persons_words(brb: Brb, person: New) -> None:
    said = person().say("Just so you know, I prefer tabs over spaces in Go code.")
    memory = brb.memory("tabs")
    assert memory.category == "preference"
    assert 0 < memory.confidence <= 1
    assert [(e.quote in "Just so you know, I prefer tabs over spaces in Go code.", e.turn) for e in memory.evidence] == [(True, said.turn)]


@pytest.mark.parametrize("as_list", [True, False], ids=["blocks", "string"])
def test_the_block_stands_behind_the_persons_words_and_all_other_bytes_are_equal(brb: Brb, person: New, as_list: bool) -> None:
    person().say(f"We use {'ClickHouse' if as_list else 'DuckDB'} for the analytics.")
    brb.memory("ClickHouse" if as_list else "DuckDB")
    asked = person(as_list=as_list).say(f"What do we use for the analytics {'today' if as_list else 'now'}, in é and 😀?")
    newest = json.loads(asked.received)["messages"][-1]["content"]
    assert [piece["text"] for piece in newest] == [f"What do we use for the analytics {'today' if as_list else 'now'}, in é and 😀?", *asked.blocks]
    assert all(set(piece) == {"type", "text"} for piece in newest)
    assert asked.without_blocks == asked.sent
    assert asked.received != asked.sent


def test_a_block_is_replayed_byte_for_byte_in_later_turns_a_tool_loop_and_after_a_restart_of_the_proxy(brb: Brb, person: New) -> None:
    person().say("Our staging cluster is called pelican.")
    brb.memory("pelican")
    asking = person(as_list=True)
    first = asking.say("What is our staging cluster called?")
    assert len(first.blocks) == 1
    asking.messages[-1] = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}]}
    asking.messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]})
    tool_step = asking.call()
    later = asking.say("Thank you, please go on.")
    brb.kill_part("proxy")
    restarted = asking.say("And what should I do next?")
    for call in (tool_step, later, restarted):
        assert call.blocks[0] == first.blocks[0]
        assert call.without_blocks == call.sent
        assert call.received.startswith(first.received.rpartition(b"]")[0].rpartition(b"]")[0])


def test_a_memory_already_told_in_a_conversation_is_not_told_again(brb: Brb, person: New) -> None:
    person().say("My favourite colour is vermilion.")
    brb.memory("vermilion")
    asking = person()
    assert len(asking.say("What is my favourite colour?").blocks) == 1
    again = asking.say("Once more: what is my favourite colour?")
    assert len(again.blocks) == 1
    assert again.memories == 0


@pytest.mark.parametrize(
    "words",
    [
        "Which database do you think is best for a chat application?",
        "Suppose we used MongoDB in production, what would change?",
        "Thanks a lot, that was really helpful!",
        "Imagine my name were Bartholomew.",
        "Write a function that reverses a list, please.",
        "Could we switch to Oracle next year?",
    ],
)
def test_questions_hypotheticals_thanks_and_orders_teach_nothing(brb: Brb, person: New, words: str) -> None:
    said = person().say(words)
    brb.worked_off(said.turn)
    assert brb.texts() == []


def test_an_unrelated_question_is_told_nothing(brb: Brb, person: New) -> None:
    person().say("My cat is called Ziggurat.")
    brb.memory("Ziggurat")
    asked = person().say("How do I write a regular expression for hexadecimal numbers?")
    assert asked.received == asked.sent
    assert asked.memories == 0


def test_a_correction_leaves_one_current_memory_and_the_old_one_in_its_history(brb: Brb, person: New) -> None:
    person().say("My name is Leo.")
    brb.memory("Leo")
    person().say("Actually it's Leoncio.")
    memory = brb.memory("Leoncio")
    assert [text for text in brb.texts() if re.search(r"\bLeo\b", text)] == []
    assert [version.status for version in brb.history(memory)] == ["current", "superseded"]
    assert "Leo" in brb.history(memory)[1].text
    asked = person().say("What is my name?")
    assert "Leoncio" in asked.blocks[0]
    assert not re.search(r"\bLeo\b", asked.blocks[0])


def test_a_statement_added_by_the_command_is_told_and_replaces_what_was_said_of_the_project(brb: Brb, person: New) -> None:
    shop = str(brb.folder / "shop")
    brb.worked_off(person(project=shop).say("Our release day is Monday.").turn)
    added = brb.command("memories", "add", "Our release day is Tuesday", "--project", shop)
    assert added.returncode == 0, added.stderr
    brb.idle()
    assert brb.texts() == ["Our release day is Tuesday"]
    assert "Tuesday" in person(project=shop).say("On which day is our release?").blocks[0]
    assert person().say("On which day is our release, elsewhere?").blocks == []


def test_a_correction_in_the_same_conversation_is_understood_from_it(brb: Brb, person: New) -> None:
    talking = person()
    brb.worked_off(talking.say("Our release deadline is May 15.").turn)
    brb.worked_off(talking.say("Sorry, I meant May 22.").turn)
    assert brb.memory("May 22").evidence
    assert not any("May 15" in text for text in brb.texts())


def test_the_same_statement_said_twice_is_one_memory_that_was_mentioned_twice(brb: Brb, person: New) -> None:
    first = person().say("I'm based in Ljubljana.")
    brb.worked_off(first.turn)
    second = person().say("I'm based in Ljubljana.")
    brb.worked_off(second.turn)
    memory = brb.memory("Ljubljana")
    assert memory.mentions == 2
    assert {evidence.turn for evidence in memory.evidence} == {first.turn, second.turn}


def test_a_memory_of_one_project_is_not_told_in_another(brb: Brb, person: New) -> None:
    person(project="orchid").say("We deploy the orchid service to Scaleway.")
    brb.memory("Scaleway")
    assert person(project="tulip").say("Where do we deploy the service here?").blocks == []
    assert person().say("Where do we deploy the service, without a project?").blocks == []
    assert "Scaleway" in person(project="orchid").say("Where do we deploy the orchid service?").blocks[0]


def test_what_brb_inserted_is_never_learnt_again(brb: Brb, person: New) -> None:
    person().say("My editor is Helix.")
    brb.memory("Helix")
    asked = person().say("What is my editor?")
    pasted = person().say(f"You said this before: {asked.blocks[0]}")
    brb.worked_off(pasted.turn)
    memory = brb.memory("Helix")
    assert (memory.mentions, len(brb.texts())) == (1, 1)


def test_an_edited_memory_is_told_as_edited_and_a_forgotten_one_never_again(brb: Brb, person: New) -> None:
    person().say("My bicycle is called Pegasus.")
    memory = brb.memory("Pegasus")
    edited = brb.http.patch(f"/memories/{memory.id}", json={"text": "My bicycle is called Rocinante."})
    assert edited.status_code == 200
    current = brb.memory("Rocinante")
    asking = person()
    assert "Rocinante" in asking.say("What is my bicycle called?").blocks[0]
    assert brb.http.delete(f"/memories/{current.id}").json()["deleted"] == 2
    assert asking.say("And now, please, the bicycle once more.").blocks == []
    assert person().say("Tell me: what is my bicycle called?").blocks == []
    assert brb.http.get(f"/memories/{current.id}").status_code == 404

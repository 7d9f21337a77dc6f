"""The main job with the real Claude Code: what is said in one session is told in another, once, in place, and the same ever after."""

from collections.abc import Callable

import pytest

from tests.claude_code.calls import Call
from tests.claude_code.client import ClaudeCode
from tests.claude_code.observing import learn
from tests.e2e.harness import CLIENT_KEY, Brb, files_of

pytestmark = pytest.mark.timeout(300)  # npm has to fetch Claude Code first

New = Callable[..., ClaudeCode]


def goes_on_from(later: Call, earlier: Call) -> bool:
    """Whether a call carries all messages of an earlier one, its blocks included, unchanged and at the beginning."""
    return later.messages[: len(earlier.messages)] == earlier.messages


def test_what_is_said_in_one_session_is_told_in_another_behind_the_persons_words(brb: Brb, person: New) -> None:
    said = person().say("Hi! We use CockroachDB and deploy to Hetzner.")
    assert said.only.untouched
    assert (said.only.told, said.answer) == (0, "Noted.")
    assert (brb.memory("CockroachDB").mentions, brb.memory("Hetzner").mentions) == (1, 1)

    asked = person().say("Which database are we using?")
    assert asked.session != said.session
    call = asked.only
    assert (call.told, len(call.blocks)) == (1, 1)
    assert "CockroachDB" in call.blocks[0]
    assert call.newest[1:] == ["Which database are we using?", call.blocks[0]]
    assert set([m for m in call.body["messages"] if m["role"] == "user"][-1]["content"][-1]) == {"type", "text"}  # no cache marker of ours
    assert "CockroachDB" in asked.answer


def test_three_turns_keep_their_blocks_and_no_memory_is_told_twice(brb: Brb, person: New) -> None:
    learn(brb, person(), "We use CockroachDB and deploy to Hetzner.", "CockroachDB", "Hetzner")
    first = person().say("Which database are we using?").only
    second = person().say("And where do we deploy?", "--continue").only
    third = person().say("Once more: which database, and where do we deploy?", "--continue").only
    assert ["CockroachDB" in block for block in third.blocks] == [True, False]
    assert ["Hetzner" in block for block in third.blocks] == [False, True]
    assert (first.told, second.told, third.told) == (1, 1, 0)
    assert goes_on_from(second, first)
    assert goes_on_from(third, second)
    assert third.newest == ["Once more: which database, and where do we deploy?"]


def test_a_person_who_wants_no_tools_is_told_and_learnt_from_as_well(brb: Brb, person: New) -> None:
    """Its calls without tools are else the client's own: titles, summaries."""
    bare = ("--tools", "")
    brb.worked_off(person().say("We use CockroachDB and deploy to Hetzner.", *bare).only.turn)
    assert (brb.memory("CockroachDB").mentions, brb.memory("Hetzner").mentions) == (1, 1)
    first = person().say("Which database are we using?", *bare).only
    second = person().say("And where do we deploy?", *bare, "--continue").only
    assert (first.body["tools"], first.told, second.told) == ([], 1, 1)
    assert goes_on_from(second, first)


@pytest.mark.parametrize("options", [[], ["--fork-session"]], ids=["resumed", "forked"])
def test_an_older_session_that_is_taken_up_again_keeps_its_blocks(brb: Brb, person: New, options: list[str]) -> None:
    learn(brb, person(), "We use CockroachDB and deploy to Hetzner.", "CockroachDB", "Hetzner")
    first = person().say("Which database are we using?")
    person().say("What is a monad?")
    later = person().say("And where do we deploy?", "--resume", first.session, *options)
    assert (later.session == first.session) is not bool(options)
    assert goes_on_from(later.only, first.only)
    assert (len(later.only.blocks), later.only.told) == (2, 1)


def test_what_belongs_to_one_folder_is_not_told_in_another(brb: Brb, person: New) -> None:
    learn(brb, person("orchid"), "We deploy the orchid service to Scaleway.", "Scaleway")
    assert person("tulip").say("Where do we deploy the orchid service?").only.untouched
    assert "Scaleway" in person("orchid").say("Where do we deploy the orchid service?").answer


def test_folders_for_which_the_same_project_is_named_share_what_is_said(brb: Brb, person: New) -> None:
    named = {"ANTHROPIC_CUSTOM_HEADERS": "X-BRB-Project: garden"}
    brb.worked_off(person("orchid").say("We deploy the orchid service to Scaleway.", environment=named).only.turn)
    assert brb.memory("Scaleway").project == "garden"
    assert "Scaleway" in person("tulip").say("Where do we deploy the orchid service?", environment=named).answer
    assert person("orchid").say("Where do we deploy the orchid service?").only.untouched


def test_of_a_slash_command_only_the_arguments_are_the_persons_words(brb: Brb, person: New) -> None:
    commands = person().folder / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "release.md").write_text("---\ndescription: a release\n---\nWe always tag releases in Oracle.\n$ARGUMENTS\n")
    run = person().say("/release Our cache is called Dragonfly.")
    assert any("We always tag releases in Oracle.\nOur cache" in text for text in run.only.newest)
    brb.worked_off(run.only.turn)
    assert brb.texts() == ["Our cache is called Dragonfly"]


def test_a_compaction_replays_is_not_a_turn_and_the_conversation_after_it_is_told_again(brb: Brb, person: New) -> None:
    learn(brb, person(), "We use CockroachDB.", "CockroachDB")
    first = person().say("Which database are we using?").only
    person().say("What is a monad?", "--continue")
    compactions = person().say("/compact", "--continue").calls
    assert ["detailed summary" in call.newest[-1] for call in compactions] == [True] * max(1, len(compactions))
    assert all((call.told, call.blocks) == (None, first.blocks) and goes_on_from(call, first) for call in compactions)
    after = person().say("Which database was it that we are using?", "--continue").only
    assert after.messages[0] != first.messages[0]
    assert (after.told, len(after.blocks)) == (1, 1)
    assert after.newest[-2:] == ["Which database was it that we are using?", after.blocks[0]]
    brb.worked_off(after.turn)
    assert brb.texts() == ["We use CockroachDB"]


def test_the_key_reaches_the_upstream_and_nothing_that_brb_writes(brb: Brb, person: New) -> None:
    learn(brb, person(), "My keyboard is a Planck.", "Planck")
    call = person().say("Which keyboard do I have?").only
    assert call.sent.headers["x-api-key"] == CLIENT_KEY  # and the upstream got the same headers, else the call had found no partner
    kept = files_of(brb.folder)
    assert any(path.suffix == ".aof" for path in kept)
    assert [path for path, content in kept.items() if CLIENT_KEY.encode() in content or CLIENT_KEY[-20:].encode() in content] == []
    assert CLIENT_KEY not in brb.http.get("/metrics").text

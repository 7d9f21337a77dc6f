"""Which call of an OpenAI client is a person's turn, what the person said, by which keys it is found again, and where its block goes."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.core import block, models
from services.proxy.wire import calls, openai, reading, routes, splice

CHAT, RESPONSES = routes.Route.CHAT, routes.Route.RESPONSES
NOON = 1_800_000_000.0
BLOCK = f"{block.OPEN}\n{block.HEADING}:\n- [private] We use Postgres\n{block.CLOSE}"
CONTEXT = "<environment_context>\n  <cwd>/home/leo/shop</cwd>\n  <shell>zsh</shell>\n</environment_context>"
AGENTS = "# AGENTS.md instructions for /home/leo/shop\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"
CODEX = {"session_id": "s-1", "originator": "codex_cli_rs"}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
INPUT_IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}


def say(said: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": said, **more}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def typed(said: str) -> dict[str, Any]:
    return {"type": "input_text", "text": said}


def parts(*pieces: Any, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": list(pieces), **more}


def asks_tool(name: str = "call_1", said: str | None = None) -> dict[str, Any]:
    function = {"name": "read", "arguments": '{"path":"a"}'}
    return {"role": "assistant", "content": said, "tool_calls": [{"id": name, "type": "function", "function": function}]}


def tool(name: str = "call_1", content: Any = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name, "content": content}


def output(said: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": said, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content, **more}


def call_item(name: str = "call_1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": name, "name": "read", "arguments": "{}", **more}


def output_item(name: str = "call_1", kind: str = "function_call_output", given: Any = "ok") -> dict[str, Any]:
    return {"type": kind, "call_id": name, "output": given}


def read(
    route: routes.Route, body: Any, headers: dict[str, str] | None = None, principal: models.Principal = models.LOCAL, now: float = NOON
) -> calls.Call:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return openai.read(route, headers or {}, raw, principal, now)


def chat(
    *messages: Any, headers: dict[str, str] | None = None, principal: models.Principal = models.LOCAL, now: float = NOON, **body: Any
) -> calls.Call:
    return read(CHAT, {"model": "m", "messages": list(messages), **body}, headers, principal, now)


def respond(
    given: Any, headers: dict[str, str] | None = None, principal: models.Principal = models.LOCAL, now: float = NOON, **body: Any
) -> calls.Call:
    return read(RESPONSES, {"model": "m", "input": given, **body}, headers, principal, now)


LEO = "my name is Leo"
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "content": None, "encrypted_content": "gAAA"}
HUMAN = {
    "chat, plain": chat(say(LEO)),
    "chat, streaming": chat(say(LEO), stream=True, stream_options={"include_usage": True}),
    "chat, behind instructions": chat(say("Be brief.", "system"), say("Be kind.", "developer"), say(LEO)),
    "chat, instructions behind": chat(say(LEO), say("Be brief.", "system")),
    "chat, parts": chat(parts(text(LEO))),
    "chat, an image": chat(parts(text(LEO), IMAGE)),
    "chat, sound and a file": chat(
        parts({"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}, text(LEO), {"type": "file", "file": {}})
    ),
    "chat, an unknown part": chat(parts({"type": "hologram", "data": {"a": [1]}}, text(LEO))),
    "chat, structured output": chat(say(LEO), response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}),
    "chat, several choices": chat(say(LEO), n=3),
    "chat, tools": chat(say(LEO), tools=[{"type": "function", "function": {"name": "read"}}], tool_choice="auto"),
    "chat, a second turn": chat(say("hi"), say("hello", "assistant"), say(LEO)),
    "chat, after a tool": chat(say("hi"), asks_tool(), tool(), say("done", "assistant"), say(LEO)),
    "chat, right behind a tool": chat(say("hi"), asks_tool(), tool(), say(LEO)),
    "chat, a refusal before": chat(say("hi"), {"role": "assistant", "content": None, "refusal": "no"}, say(LEO)),
    "chat, a named person": chat(say(LEO, name="leo")),
    "chat, odd fields": chat(say(LEO), max_tokens="many", tools=7, stream="yes", n=None, metadata=[]),
    "chat, a small limit": chat(say(LEO), max_completion_tokens=2),
    "chat, Cline": chat(parts(text(f"<task>\n{LEO}\n</task>"), text("<environment_details>\n# Open tabs\na.py\n</environment_details>"))),
    "chat, Cline, one string": chat(say(f"<task>\n{LEO}\n</task>\n<environment_details>\n# Open tabs\n</environment_details>")),
    "chat, Cline, feedback": chat(parts(text("[attempt_completion] Result:"), text(f"<feedback>\n{LEO}\n</feedback>"))),
    "chat, Open WebUI with documents": chat(
        say(f'### Task:\nRespond to the user query using the provided context\n<context>\n<source id="1">x</source>\n</context>\n\n{LEO}')
    ),
    "chat, aider": chat(say("I have *added these files to the chat* so you can go ahead and edit them.\n\na.py"), say("Ok.", "assistant"), say(LEO)),
    "chat, aider, its rules behind": chat(
        say(f"{LEO}\n\n# *SEARCH/REPLACE block* Rules:\n\nEvery *SEARCH/REPLACE block* must use this format:\n1. x")
    ),
    "chat, aider, fenced": chat(say(f"{LEO}\n\n\n# *SEARCH/REPLACE block* Rules:\n\nEvery block")),
    "chat, aider, other formats": chat(
        say(f"{LEO}\n\n# File editing rules:\n\nReturn edits similar to unified diffs that `diff -U0` would produce.")
    ),
    "chat, aider, whole files": chat(say(f"{LEO}\n\nTo suggest changes to a file you MUST return the entire content of the updated file.\nYou")),
    "response, a string": respond(LEO),
    "response, a message": respond([say(LEO)]),
    "response, a typed message": respond([say(LEO, type="message")]),
    "response, parts": respond([parts(typed(LEO))]),
    "response, an image": respond([parts(typed(LEO), INPUT_IMAGE)]),
    "response, instructions": respond(LEO, instructions="Be brief."),
    "response, developer items": respond([say("Be brief.", "developer"), say(LEO)]),
    "response, all replayed": respond([say("hi"), REASONING, output("hello", id="msg_1", status="completed"), say(LEO)], store=False),
    "response, after tools": respond([say("hi"), REASONING, call_item(), output_item(), output("ok"), say(LEO)]),
    "response, following another": respond(LEO, previous_response_id="resp_1"),
    "response, in a conversation": respond(LEO, conversation={"id": "conv_1"}),
    "response, in the background": respond(LEO, background=True, stream=True),
    "response, a reference before": respond([{"type": "item_reference", "id": "msg_1"}, say(LEO)]),
    "response, a bare reference before": respond([{"id": "msg_1"}, say(LEO)]),
    "response, server tools before": respond([say("hi"), {"type": "web_search_call", "id": "ws_1", "status": "completed"}, output("x"), say(LEO)]),
    "response, Codex": respond(
        [say("perms", "developer"), parts(typed(AGENTS), typed(CONTEXT)), parts(typed(LEO))], CODEX, instructions="You are Codex"
    ),
    "response, Codex, one message": respond([parts(typed(f"{AGENTS}\n\n{CONTEXT}"), typed(LEO))]),
    "response, Codex with a skill": respond([parts(typed(LEO)), parts(typed("<skill>\n<name>x</name>\nDo x.\n</skill>"))]),
    "response, Codex in an editor": respond(
        [parts(typed(f"# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\n{LEO}\n"))]
    ),
    "response, Codex after an interruption": respond([say("hi"), say("<turn_aborted>\nstopped\n</turn_aborted>"), say(LEO)]),
    "response, half a surrogate elsewhere": read(RESPONSES, b'{"input":"my name is Leo","instructions":"\\ud800"}'),
    "response, another key twice": read(RESPONSES, b'{"input":"my name is Leo","model":"x","model":"y"}'),
    "response, only a limit that is allowed": respond(LEO, max_output_tokens=16),
}


@pytest.mark.parametrize("call", HUMAN.values(), ids=HUMAN)
def test_a_person_who_speaks_takes_a_turn(call: calls.Call) -> None:
    assert call.kind is calls.Kind.HUMAN
    assert call.new_turn is not None
    assert call.new_turn.words == LEO
    assert len(call.turn_id) == 32
    assert call.learns


TITLE = "### Task:\nGenerate a concise, 3-5 word title with an emoji.\n### Chat History:\n<chat_history>\nUSER: hi\n</chat_history>"
NOT_HUMAN = {
    "chat, a tool's result": (chat(say("read a"), asks_tool(), tool()), "step"),
    "chat, two tools": (chat(say("read a"), asks_tool("1"), tool("1"), asks_tool("2"), tool("2", [text("x")])), "step"),
    "chat, an old function": (chat(say("hi"), {"role": "assistant", "function_call": {"name": "f"}}, say("1", "function", name="f")), "step"),
    "chat, the screenshot of a tool": (chat(say("look"), asks_tool(), tool(), parts(IMAGE)), "step"),
    "chat, a tool's call alone": (chat(say("hi"), asks_tool()), "step"),
    "chat, an old function's call alone": (chat(say("hi"), {"role": "assistant", "content": None, "function_call": {"name": "f"}}), "step"),
    "response, a tool's call alone": (respond([say("hi"), call_item()]), "step"),
    "chat, an answer to go on with": (chat(say("hi"), say("Once upon", "assistant")), "step"),
    "chat, only a reminder": (chat(say("<system-reminder>x</system-reminder>")), "step"),
    "chat, only our own block": (chat(say(BLOCK)), "step"),
    "chat, Cline's result": (chat(say("<task>\nx\n</task>"), say("ok", "assistant"), parts(text("[read_file for 'a'] Result:\nx"))), "step"),
    "response, a tool's result": (respond([say("read a"), call_item(), output_item()]), "step"),
    "response, a result alone": (respond([output_item()], previous_response_id="resp_1"), "step"),
    "response, a custom tool": (respond([say("x"), output_item(kind="custom_tool_call_output")]), "step"),
    "response, a computer": (respond([say("x"), output_item(kind="computer_call_output", given={"type": "computer_screenshot"})]), "step"),
    "response, a shell": (respond([say("x"), {"type": "local_shell_call_output", "id": "1", "output": "x"}]), "step"),
    "response, an approval": (
        respond([say("x"), {"type": "mcp_approval_request", "id": "a", "name": "n"}, {"type": "mcp_approval_response", "approval_request_id": "a"}]),
        "step",
    ),
    "response, a reference": (respond([{"type": "item_reference", "id": "msg_1"}], previous_response_id="resp_1"), "step"),
    "response, a new kind of item": (respond([say("x"), {"type": "hologram", "content": [{"type": "x"}]}]), "step"),
    "response, only context": (respond([parts(typed(AGENTS), typed(CONTEXT))]), "step"),
    "response, reasoning last": (respond([say("x"), call_item(), output_item(), REASONING]), "step"),
    "response, Codex' guess of the next prompt": (
        respond([say("x"), output("y"), say("<next_prompt_suggestion>\n[SUGGESTION MODE: …]\n</next_prompt_suggestion>")]),
        "step",
    ),
    "probe": (chat(say("hi"), max_tokens=1), "side"),
    "probe, newer": (chat(say("hi"), max_completion_tokens=1), "side"),
    "probe of a response": (respond("hi", max_output_tokens=1), "side"),
    "Open WebUI, title": (chat(say(TITLE)), "side"),
    "Open WebUI, title behind a system message": (chat(say("You are…", "system"), say(TITLE)), "side"),
    "Open WebUI, tags": (chat(say("### Task:\nGenerate 1-3 broad tags categorizing the main themes")), "side"),
    "Open WebUI, follow-ups": (chat(say("### Task:\nSuggest 3-5 relevant follow-up questions or prompts")), "side"),
    "Open WebUI, search": (chat(say("### Task:\nAnalyze the chat history to determine the necessity of generating search queries")), "side"),
    "Open WebUI, autocompletion": (chat(say("### Task:\nYou are an autocompletion system. Continue the text")), "side"),
    "Open WebUI, image": (chat(say("### Task:\nGenerate a detailed prompt for am image generation task")), "side"),
    "Open WebUI, emoji": (chat(say("Your task is to reflect the speaker's likely facial expression through a fitting emoji.")), "side"),
    "Open WebUI, several models": (chat(say("You have been provided with a set of responses from various models to the latest user query")), "side"),
    "LibreChat, title": (chat(say("Provide a concise, 5-word-or-less title for the conversation, using its same language")), "side"),
    "LibreChat, structured title": (chat(say("Analyze this conversation and provide:\n1. The detected language of the conversation")), "side"),
    "Continue, title": (chat(say("Given the following... please reply with a title for the chat that is 3-4 words in length")), "side"),
    "opencode, title": (chat(say("You are a title generator.", "system"), say("Generate a title for this conversation:\n"), say("hi")), "side"),
    "opencode, title as a response": (respond("hi", instructions="You are a title generator. You output ONLY a thread title."), "side"),
    "VS Code, title": (chat(say("You are an expert in crafting pithy titles for chatbot conversations.", "system"), say("hi")), "side"),
    "crush, title": (chat(say("you will generate a short title based on the first message a user begins", "system"), say("hi")), "side"),
    "aider, commit": (chat(say("You are an expert software engineer that generates concise, one-line messages", "system"), say("diff")), "side"),
    "aider, summary": (chat(say("*Briefly* summarize this partial conversation about programming.", "system"), say("# USER\nhi")), "side"),
    "Zed, title": (chat(say("hi"), say("hello", "assistant"), say("Generate a concise 3-7 word title for this conversation.")), "side"),
    "Roo, condensation": (chat(say("hi"), say("Your task is to create a detailed summary of the conversation so far")), "side"),
    "a guess of the next prompt": (chat(say("hi"), say("hello", "assistant"), say("[SUGGESTION MODE: …]")), "side"),
    "Codex, compaction": (respond([say("hi"), output("x"), say("You are performing a CONTEXT CHECKPOINT COMPACTION. …")], CODEX), "side"),
    "Codex, review": (respond("hi", {**CODEX, "x-openai-subagent": "review"}), "side"),
    "Codex, memories": (respond("hi", {**CODEX, "x-openai-memgen-request": "true"}), "side"),
    "Codex, subagent": (respond("hi", {**CODEX, "x-openai-subagent": "collab_spawn"}), "side"),
    "Codex, subagent of another": (respond("hi", {**CODEX, "x-codex-parent-thread-id": "t-1"}), "side"),
    "Claude Code behind a router, subagent": (chat(say("hi"), headers={"x-claude-code-agent-id": "a"}), "side"),
    "no messages": (chat(), "opaque"),
    "no message but the system's": (chat(say("x", "system"), say("y", "developer")), "opaque"),
    "no input": (read(RESPONSES, {"model": "m", "conversation": "conv_1"}), "opaque"),
    "empty input": (respond([]), "opaque"),
    "input null": (respond(None), "opaque"),
    "no object": (read(CHAT, b"[]"), "opaque"),
    "not JSON": (read(CHAT, b"hello"), "opaque"),
    "nothing": (read(RESPONSES, b""), "opaque"),
    "cut off": (read(CHAT, b'{"messages":[{"role":"user","content":"my na'), "opaque"),
    "not UTF-8": (read(CHAT, b'{"messages":[{"role":"user","content":"\xff"}]}'), "step"),
    "a lone surrogate": (read(CHAT, b'{"messages":[{"role":"user","content":"a\\ud800"}]}'), "step"),
    "a lone surrogate in a tool's result": (read(CHAT, b'{"messages":[{"role":"tool","content":"\\ud800"},{"role":"user"}]}'), "step"),
    "a lone surrogate in the input": (read(RESPONSES, b'{"input":"a\\ud800"}'), "step"),
    "two lists": (read(CHAT, b'{"messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"b"}]}'), "opaque"),
    "two inputs": (read(RESPONSES, b'{"input":"a","input":"b"}'), "opaque"),
    "two inputs, the first longer": (read(RESPONSES, b'{"input":"abc","input":"a"}'), "opaque"),
    "two equal inputs": (read(RESPONSES, b'{"input":"a","input":"a"}'), "opaque"),
    "two inputs, one escaped": (read(RESPONSES, b'{"\\u0069nput":"a","input":"b"}'), "opaque"),
    "an input and a list": (read(RESPONSES, b'{"input":"a","input":[{"role":"user","content":"b"}]}'), "opaque"),
    "two contents": (read(CHAT, b'{"messages":[{"role":"user","content":"a","content":"b"}]}'), "step"),
    "two contents after an earlier turn": (
        read(CHAT, b'{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"x"},{"role":"user","content":"b","content":"c"}]}'),
        "step",
    ),
    "two roles": (read(RESPONSES, b'{"input":[{"role":"system","role":"user","content":"b"}]}'), "step"),
    "a content of another shape": (chat({"role": "user", "content": {"text": "hi"}}), "step"),
    "deeply nested": (read(CHAT, b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "opaque"),
    "the other API's body": (read(RESPONSES, {"messages": [say("hi")]}), "opaque"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "kind"), NOT_HUMAN.values(), ids=NOT_HUMAN)
def test_what_is_no_persons_turn_takes_none(call: calls.Call, kind: str) -> None:
    """headroom PR#3134: a lone surrogate in a tool result made an error."""
    assert call.kind == kind
    assert call.new_turn is None
    assert call.turn_id == ""


@pytest.mark.parametrize(
    "said",
    [
        "### Task:\nWrite a parser for me.",
        "Generate a title for my blog post.",
        "# File editing rules:\nare in the handbook",
        "what do you make of\n\n# *SEARCH/REPLACE block* rules of aider?",
        "What is <environment_context>…</environment_context> in Codex?",
        "Why do you say [read_file] Result: x?",
        "I wrote <skill>a</skill> and more",
        "<skills>\nare what I lack </skills> as",
        "Provide a concise title for the conversation",
        "## My request for Codex:\nis in the way",
        "<task>not closed",
        "<environment_context> is a tag of Codex",
        "what does it mean: </environment_details>",
        "# Context from my IDE setup: what does that mean?",
    ],
)
def test_a_person_may_say_what_clients_say(said: str) -> None:
    for call in (chat(say(said)), respond(said)):
        assert call.new_turn is not None
        assert call.new_turn.words == said


@pytest.mark.parametrize("spelt", [f"{LEO}\n\n{BLOCK}", f"{BLOCK}\n{LEO}"])
def test_a_pasted_block_of_ours_is_not_the_persons_word(spelt: str) -> None:
    for call in (chat(say(spelt)), respond(spelt), respond([parts(typed(spelt))])):
        assert call.new_turn is not None
        assert call.new_turn.words == LEO
        assert call.new_turn.keys == chat(say(LEO)).turns[0].keys


@pytest.mark.parametrize("header", ["x-openai-subagent", "x-codex-parent-thread-id"])
def test_subagents_may_count_as_turns_that_are_not_learnt(header: str) -> None:
    body = json.dumps({"input": LEO}).encode()
    call = openai.read(RESPONSES, {**CODEX, header: "collab_spawn"}, body, models.LOCAL, NOON, subagents=True)
    assert (call.kind, call.learns) == (calls.Kind.HUMAN, False)
    assert openai.read(RESPONSES, {"x-openai-subagent": "compact"}, body, models.LOCAL, NOON, subagents=True).kind is calls.Kind.SIDE


# what a turn is recognised by

FIRST = {
    "string": [say(LEO)],
    "one part": [parts(text(LEO))],
    "typed part": [parts(typed(LEO))],
    "typed message": [say(LEO, type="message", id="msg_9", status="completed")],
    "behind instructions": [say("x", "system"), say("y", "developer"), say(LEO)],
    "spaces around": [say(f"\n{LEO}  ")],
    "behind context": [parts(typed(AGENTS), typed(CONTEXT)), parts(typed(LEO))],
    "in one message with context": [parts(typed(CONTEXT), typed(LEO))],
    "with files shown before": [say("Here are some READ ONLY files, provided for your reference.\nx"), say("Ok.", "assistant"), say(LEO)],
}
ANSWERS = {
    "items": [REASONING, output("Hi.", id="msg_1", status="completed"), call_item(id="fc_1", status="completed"), output_item()],
    "without reasoning": [output("Hi.\n"), call_item(), output_item(given=[typed("cut")])],
    "without types": [parts({"type": "output_text", "text": "Hi."}, role="assistant"), call_item(arguments='{"path":"b"}'), output_item(given="")],
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("first", FIRST.values(), ids=FIRST)
def test_a_turn_keeps_its_keys_however_the_client_spells_it_later(first: Any, answer: Any) -> None:
    headers = {**CODEX, "x-brb-project": "shop"}
    then = respond(LEO, headers)
    assert then.new_turn is not None
    assert respond(first, headers).turn_id == then.turn_id
    later = respond([*first, *answer, say("and now?")], headers, store=False)
    reference = respond([*FIRST["string"], *ANSWERS["items"], parts(typed("and now?"))], headers)
    assert [turn.keys for turn in later.turns] == [turn.keys for turn in reference.turns]
    assert later.old_turns[0].keys == then.new_turn.keys
    assert later.turn_id == reference.turn_id != then.turn_id


CHAT_ANSWERS = {
    "as it came": [asks_tool(said="Hi."), tool()],
    "with parts": [parts(text("Hi. "), role="assistant", tool_calls=asks_tool()["tool_calls"]), tool(content=[text("long")])],
    "with reasoning": [{**asks_tool(said="Hi."), "reasoning_content": "hm"}, tool(content="cut")],
}


@pytest.mark.parametrize("answer", CHAT_ANSWERS.values(), ids=CHAT_ANSWERS)
@pytest.mark.parametrize("name", [name for name in FIRST if "typed" not in name and "context" not in name])
def test_a_turn_of_a_chat_keeps_its_keys_however_the_client_spells_it_later(name: str, answer: Any) -> None:
    later = chat(*FIRST[name], *answer, say("done", "assistant"), say("and now?"))
    reference = chat(say(LEO), *CHAT_ANSWERS["as it came"], say("done", "assistant"), say("and now?"))
    assert [turn.keys for turn in later.turns] == [turn.keys for turn in reference.turns]
    assert later.turns[0].keys == chat(say(LEO)).turns[0].keys
    assert later.turn_id == reference.turn_id


def test_files_that_are_shown_in_another_place_each_time_change_no_keys() -> None:
    """aider puts the contents of files before the newest message, with an answer in the assistant's name."""
    files = [
        say("I have *added these files to the chat* so you can go ahead and edit them.\n\na.py v1"),
        say("Ok, any changes will be to those.", "assistant"),
    ]
    first = chat(*files, say("one"))
    second = chat(say("one"), say("first", "assistant"), *files, say("two"))
    third = chat(say("one"), say("first", "assistant"), say("two"), say("second", "assistant"), *files, say("three"))
    assert second.turns[0].keys == first.turns[0].keys
    assert [turn.keys for turn in third.old_turns] == [turn.keys for turn in second.turns]


THIS = [say(LEO), say("hi Leo", "assistant"), say("next")]
OTHER = {
    "other words": chat(say("my name is Ana"), *THIS[1:]),
    "another answer": chat(THIS[0], say("hello", "assistant"), THIS[2]),
    "a tool between": chat(THIS[0], asks_tool(said="hi Leo"), tool(), THIS[2]),
    "another tool": chat(THIS[0], asks_tool("call_2", "hi Leo"), tool("call_2"), THIS[2]),
    "another user": chat(*THIS, principal=models.Principal("local", "ana")),
    "another team": chat(*THIS, principal=models.Principal("other", "me")),
    "other new words": chat(*THIS[:2], say("next!")),
    "an image before": chat(parts(text(LEO), IMAGE), *THIS[1:]),
    "what the upstream keeps": respond([say("next")], previous_response_id="resp_1"),
}


@pytest.mark.parametrize("other", OTHER.values(), ids=OTHER)
def test_another_prefix_or_principal_has_other_keys(other: calls.Call) -> None:
    """meho PR#1813: a key crossed principals."""
    this = chat(*THIS)
    assert this.new_turn is not None
    assert other.new_turn is not None
    assert not set(this.new_turn.keys) & set(other.new_turn.keys)
    assert this.turn_id != other.turn_id


def media(*pieces: Any) -> tuple[str, ...]:
    return chat(parts(text("what is this?"), *pieces)).turns[0].keys


def test_images_sounds_and_files_tell_turns_apart() -> None:
    given = [
        (),
        ({"type": "image_url", "image_url": {"url": "data:a"}},),
        ({"type": "image_url", "image_url": {"url": "data:b"}},),
        ({"type": "input_image", "file_id": "file_1"},),
        ({"type": "input_image", "file_id": "file_2"},),
        ({"type": "input_audio", "input_audio": {"data": "a"}},),
        ({"type": "file", "file": {"file_id": "x"}},),
        ({"type": "input_file", "file_data": "a"},),
        ({"type": "input_file", "file_url": "b"},),
    ]
    assert len({media(*pieces) for pieces in given}) == len(given)
    assert media({"type": "image_url", "image_url": {"url": "data:a"}}) == media({"image_url": {"url": "data:a"}, "type": "image_url", "extra": None})


def test_references_to_what_the_upstream_keeps_tell_conversations_apart() -> None:
    one, other = (respond([{"type": "item_reference", "id": name}, say("yes")]) for name in ("msg_1", "msg_2"))
    assert not set(one.turns[0].keys) & set(other.turns[0].keys)


# what the upstream keeps


def test_a_call_follows_the_response_or_the_conversation_that_it_names() -> None:
    kept = calls.kept_key(models.LOCAL, "resp_1")
    follows = respond("yes", previous_response_id="resp_1")
    assert (follows.follows, follows.lasting) == (kept, False)
    for spelt in ("conv_1", {"id": "conv_1"}):
        inside = respond("yes", conversation=spelt)
        assert (inside.follows, inside.lasting) == (calls.kept_key(models.LOCAL, "conv_1"), True)
    assert respond("yes", previous_response_id="resp_1", principal=models.Principal("local", "ana")).follows != kept
    for nothing in (
        respond("yes"),
        respond("yes", previous_response_id=None, conversation=None),
        respond("yes", previous_response_id=7, conversation=[]),
    ):
        assert (nothing.follows, nothing.lasting) == ("", False)


@pytest.mark.parametrize("headers", [{}, CODEX], ids=["without a session", "with one"])
def test_the_same_words_behind_two_kept_conversations_are_two_turns(headers: dict[str, str]) -> None:
    one, other, again = (respond("yes", headers, previous_response_id=name) for name in ("resp_1", "resp_2", "resp_1"))
    assert not set(one.turns[0].keys) & set(other.turns[0].keys)
    assert one.turn_id != other.turn_id
    assert (again.turns[0].keys, again.turn_id) == (one.turns[0].keys, one.turn_id)


# session, project, day


@pytest.mark.parametrize(
    ("headers", "session"),
    [
        ({"session_id": "s"}, "s"),
        ({"session-id": "s", "thread-id": "t"}, "s"),
        ({"conversation_id": "c", "session_id": "s"}, "s"),
        ({"conversation_id": "c"}, "c"),
        ({"x-claude-code-session-id": "cc"}, "cc"),
        ({"x-openwebui-chat-id": "w"}, "w"),
        ({"session_id": ""}, ""),
        ({}, ""),
    ],
)
def test_the_session_is_what_the_client_names_in_a_header(headers: dict[str, str], session: str) -> None:
    assert respond("hi", headers).session == session


def test_a_resumed_conversation_is_found_by_the_key_without_the_session() -> None:
    before, resumed = (chat(say("hi"), headers={"session_id": name}) for name in ("s-1", "s-2"))
    assert before.turns[0].keys[0] != resumed.turns[0].keys[0]
    assert before.turns[0].keys[1] == resumed.turns[0].keys[1] == chat(say("hi")).turns[0].keys[0]
    assert len(chat(say("hi")).turns[0].keys) == 1


def test_without_a_session_equal_words_in_two_projects_or_on_two_days_are_two_turns() -> None:
    """headroom#462: a block recalled in one project must not come up in another."""
    shop, blog = (chat(say("hi"), headers={"x-brb-project": name}) for name in ("shop", "blog"))
    assert not set(shop.turns[0].keys) & set(blog.turns[0].keys)
    assert shop.turn_id != blog.turn_id
    assert chat(say("hi")).turn_id == chat(say("hi"), now=NOON + 60).turn_id != chat(say("hi"), now=NOON + 86_400).turn_id
    assert chat(say("hi"), headers=CODEX).turn_id == chat(say("hi"), headers=CODEX, now=NOON + 86_400).turn_id
    here, there = (chat(say("hi"), headers={**CODEX, "x-brb-project": name}) for name in ("shop", "blog"))
    assert here.turns[0].keys[0] == there.turns[0].keys[0]
    assert here.turns[0].keys[1] != there.turns[0].keys[1]


@pytest.mark.parametrize(
    ("call", "project"),
    [
        (respond([parts(typed(CONTEXT)), say("hi")], {"x-brb-project": " shop "}), "shop"),
        (respond([parts(typed(AGENTS), typed(CONTEXT)), say("hi")]), "/home/leo/shop"),
        (respond([say(CONTEXT), say("hi")], instructions="Working directory: /x"), "/home/leo/shop"),
        (respond([say(CONTEXT), say("hi"), output("x"), say(CONTEXT.replace("shop", "blog")), say("go on")]), "/home/leo/blog"),
        (respond("hi", instructions="You help.\nWorking directory: /home/leo/shop\n"), "/home/leo/shop"),
        (chat(say("# Env\nCurrent Working Directory: /home/leo/shop", "system"), say("hi")), "/home/leo/shop"),
        (chat(say("Current Workspace Directory: /home/leo/shop", "developer"), say("hi")), "/home/leo/shop"),
        (chat(say("Working directory: /old", "system"), say("hi"), say("Working directory: /new", "system")), "/new"),
        (chat(say("Working directory: /etc")), ""),
        (respond("Working directory: /etc"), ""),
        (respond([say("I saw <environment_context>\n<cwd>/etc</cwd></environment_context>")]), ""),
        (respond([say("hi"), output("Working directory: /etc"), say("<cwd>/etc</cwd>")]), ""),
        (chat(say("hi")), ""),
    ],
)  # fmt: skip
def test_the_project_is_what_the_client_states_never_what_the_person_says(call: calls.Call, project: str) -> None:
    """headroom#462: memories of another project were shown."""
    assert call.project == project


def test_earlier_turns_their_replies_and_the_last_answer_are_at_hand() -> None:
    talk = [say("one"), REASONING, output("first"), call_item(), output_item(), output("then"), say("two"), output("a"), output("b"), say("three")]
    for call in (
        respond(talk),
        chat(say("one"), asks_tool(said="first"), tool(), say("then", "assistant"), say("two"), say("a\nb", "assistant"), say("three")),
    ):
        assert [(turn.words, turn.reply.split()) for turn in call.turns] == [("one", ["first"]), ("two", ["a", "b"]), ("three", [])]
        assert call.answer in ("b", "a\nb")
    assert [turn.index for turn in respond(talk).turns] == [0, 6, 9]


def test_a_side_call_has_its_old_turns_but_not_its_order() -> None:
    call = respond([say(LEO), output("hi"), say("You are performing a CONTEXT CHECKPOINT COMPACTION. Create a summary.")], CODEX)
    assert [turn.words for turn in call.turns] == [LEO]
    assert call.turns[0].keys == respond(LEO, CODEX).turns[0].keys
    step = chat(say(LEO), asks_tool(), tool())
    assert [turn.keys for turn in step.old_turns] == [chat(say(LEO)).turns[0].keys]


# where a block goes


def changed(route: routes.Route, body: dict[str, Any]) -> dict[str, Any]:
    raw = json.dumps(body, ensure_ascii=False, indent=1).encode()
    call = openai.read(route, {}, raw, models.LOCAL, NOON)
    return json.loads(splice.insert(raw, {turn.spot: f"block {number}" for number, turn in enumerate(call.turns)}))  # type: ignore[no-any-return]


def test_a_string_grows_so_that_servers_that_take_only_strings_take_it() -> None:
    messages = [say("Be brief.", "system"), say("one é"), say("first", "assistant"), say("two"), say("x", "system")]
    assert changed(CHAT, {"messages": messages, "n": 1}) == {
        "messages": [messages[0], say("one é\n\nblock 0"), messages[2], say("two\n\nblock 1"), messages[4]],
        "n": 1,
    }
    assert changed(RESPONSES, {"instructions": "x", "input": "one", "store": False}) == {
        "instructions": "x",
        "input": "one\n\nblock 0",
        "store": False,
    }
    assert changed(RESPONSES, {"input": [say("one", type="message")]}) == {"input": [say("one\n\nblock 0", type="message")]}


def test_a_part_is_added_behind_the_persons_last_text() -> None:
    reminder = text("<system-reminder>x</system-reminder>")
    assert changed(CHAT, {"messages": [parts(text("a"), IMAGE, text("b"), reminder)]}) == {
        "messages": [parts(text("a"), IMAGE, text("b"), text("block 0"), reminder)]
    }
    assert changed(RESPONSES, {"input": [parts(typed(CONTEXT), typed("a"), INPUT_IMAGE)]}) == {
        "input": [parts(typed(CONTEXT), typed("a"), typed("block 0"), INPUT_IMAGE)]
    }


def test_nothing_comes_between_a_tool_call_and_its_results() -> None:
    """strands harness-sdk PR#4234: a message between them was refused with 400."""
    messages = [say("read a and b"), asks_tool("1"), tool("1"), say("done", "assistant"), asks_tool("2"), tool("2")]
    assert changed(CHAT, {"messages": messages})["messages"] == [say("read a and b\n\nblock 0"), *messages[1:]]
    items = [say("x"), REASONING, call_item("1"), call_item("2"), output_item("1"), output_item("2")]
    assert changed(RESPONSES, {"input": items})["input"] == [say("x\n\nblock 0"), *items[1:]]


ODD_ITEMS = {
    "half a surrogate in a tool's result": rb'{"type":"function_call_output","call_id":"call_1","output":"a \udc00 b"}',
    "half a surrogate in what the person says": rb'{"role":"user","content":"\ud83d."}',
    "half a surrogate in an answer": rb'{"role":"assistant","content":"\ud83d."}',
    "content of another shape": b'{"role":"user","content":{"text":"hi"}}',
    "two contents": b'{"role":"user","content":"a","content":"b"}',
    "no message": b"7",
}


@pytest.mark.parametrize("odd", ODD_ITEMS.values(), ids=ODD_ITEMS)
@pytest.mark.parametrize(("route", "key"), [(CHAT, "messages"), (RESPONSES, "input")])
def test_a_message_that_cannot_be_read_costs_itself_alone(route: routes.Route, key: str, odd: bytes) -> None:
    listed: list[Any] = [say("one"), "HOLE", say("first", "assistant")]
    raws = [
        json.dumps({"model": "m", key: listed + more}).encode().replace(b'"HOLE"', odd)
        for more in ([], [say("two")], [say("two"), say("second", "assistant"), say("three")])
    ]
    step, asked, later = (read(route, raw) for raw in raws)
    reader = reading.Reader()
    assert [reader.read(route, {}, raw, models.LOCAL, NOON) for raw in raws] == [step, asked, later]
    assert [call.kind for call in (step, asked, later)] == ["step", "human", "human"]
    assert [turn.words for turn in later.turns] == ["one", "two", "three"]
    assert step.turns[0].keys == chat(say("one")).turns[0].keys
    assert [turn.keys for turn in later.old_turns] == [turn.keys for turn in asked.turns]
    changed = splice.insert(raws[1], {turn.spot: "block" for turn in asked.turns})
    assert changed.count(odd) == 1
    expected = {"model": "m", key: [say("one\n\nblock"), "HOLE", listed[2], say("two\n\nblock")]}
    assert json.loads(changed.replace(odd, b'"HOLE"')) == expected


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (chat(say("one"), say("two")), "one\ntwo"),
        (chat(say("hi"), say("hello", "assistant"), say("one"), say("Be brief.", "system"), parts(IMAGE), say("two")), "one\ntwo"),
        (chat(say("hi"), asks_tool(), tool(), say("two")), "two"),
        (respond([say("hi"), call_item(), output_item(), say("one"), say("two")]), "one\ntwo"),
        (respond([say("hi"), REASONING, output("hello"), parts(typed(CONTEXT)), say("one"), parts(typed("two"))]), "one\ntwo"),
        (respond([say("one"), {"type": "item_reference", "id": "msg_1"}, say("two")]), "two"),
        (respond([say("one"), say("two")], previous_response_id="resp_1"), "one\ntwo"),
        (respond("two"), "two"),
        (chat(say("one"), say("hello", "assistant")), ""),
    ],
)
def test_what_a_person_says_is_all_since_the_last_answer(call: calls.Call, words: str) -> None:
    assert call.words == words


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (chat(say("hi"), asks_tool(said="Hi."), tool()), "Hi."),
        (chat(say("hi"), asks_tool(), tool()), "read call_1"),
        (chat(say("hi"), asks_tool("", said=" "), tool()), 'read {"path":"a"}'),
        (chat(say("hi"), {"role": "assistant", "function_call": {"name": "f", "arguments": '{"b": 1, "a": 2}'}}), 'f {"a":2,"b":1}'),
        (chat(say("hi"), {"role": "assistant", "function_call": {"name": "f", "arguments": "no JSON "}}), "f no JSON"),
        (respond([say("hi"), REASONING, call_item("1"), call_item("2"), output_item("1"), output_item("2")]), "read 1"),
        (respond([say("hi"), call_item("1"), output("Let me look."), output_item("1"), output("then")]), "Let me look."),
    ],
)
def test_a_reply_without_text_is_told_by_its_tool(call: calls.Call, named: str) -> None:
    assert call.turns[0].reply == named


def test_a_turn_that_holds_a_block_of_ours_says_so() -> None:
    for call in (chat(say(f"{LEO}\n\n{BLOCK}")), respond(f"{LEO}\n\n{BLOCK}"), respond([parts(typed(LEO), typed(BLOCK))])):
        assert (call.turns[0].words, BLOCK in call.turns[0].given) == (LEO, True)
    assert chat(say(LEO)).turns[0].given == ""


WORDS = st.text(st.characters(codec="utf-8"), max_size=20)
LITERALS = st.sampled_from(['"input": "no"', '{"role":"user","content":"no"}', "\\", '\\"', "\n", "\u2028", "\U0001f600", "", '","input":"no'])
SAID = st.lists(WORDS | LITERALS, min_size=1, max_size=4).map(lambda pieces: "say " + "".join(pieces) + " end")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3)
)
FIELDS = st.dictionaries(WORDS.map(lambda name: "x" + name) | st.just("text"), VALUES, max_size=4)


@given(said=SAID, before=FIELDS, after=FIELDS, indent=st.sampled_from([None, 0, 1]), escaped=st.booleans(), seed=st.integers(0, 9))
def test_only_the_block_is_new_in_an_input_of_any_spelling(said: str, before: Any, after: Any, indent: int | None, escaped: bool, seed: int) -> None:
    fields = list({**before, **after}.items())
    fields.insert(random.Random(seed).randint(0, len(fields)), ("input", said))
    raw = json.dumps(dict(fields), indent=indent, ensure_ascii=escaped).encode()
    call = openai.read(RESPONSES, {}, raw, models.LOCAL, NOON)
    assert call.new_turn is not None
    spot = call.new_turn.spot
    grown = splice.insert(raw, {spot: BLOCK})
    assert json.loads(grown) == {**dict(fields), "input": f"{said}\n\n{BLOCK}"}
    assert grown.startswith(raw[: spot.end - 1])
    assert grown.endswith(raw[spot.end - 1 :])


def test_a_wrapper_that_is_never_closed_costs_no_more_than_its_length() -> None:
    """A pattern that tried every split of the blanks took hours for these (the test's time limit ends it)."""
    body = json.dumps({"messages": [{"role": "user", "content": "<task>" + " " * 400_000 + "x"}]}).encode()
    call = openai.read(routes.Route.CHAT, {}, body, models.LOCAL, 0.0)
    assert call.new_turn is not None
    assert call.new_turn.words.endswith("x")

import json
from typing import Any

import pytest

from services.core import models
from services.proxy.wire import anthropic, calls, reading, routes, splice

NOON = 1_800_000_000.0
MARK = {"cache_control": {"type": "ephemeral"}}
REMINDER = {"type": "text", "text": "<system-reminder>\ndate: today\n</system-reminder>"}
TOOLS = [{"name": "Read", "description": "…", "input_schema": {"type": "object"}}]
SESSION = {"x-claude-code-session-id": "s-1"}
CLAUDE_CODE = {**SESSION, "user-agent": "claude-cli/2.1.197 (external, cli)", "x-app": "cli"}
SYSTEM_NOTE = {"role": "system", "content": "# Environment\n - Primary working directory: /home/leo/shop\n - Platform: linux"}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any, **last: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [*blocks[:-1], {**blocks[-1], **last}]}


def plain(said: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": said}


def tool_use(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Read", "input": {"path": "a"}, **more}


def result(name: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content, **more}


def read(
    *messages: Any, headers: dict[str, str] | None = None, principal: models.Principal = models.LOCAL, now: float = NOON, **body: Any
) -> calls.Call:
    raw = json.dumps({"model": "m", "max_tokens": 100, "messages": list(messages), **body}).encode()
    return anthropic.read(headers or {}, raw, principal, now)


def read_raw(raw: bytes) -> calls.Call:
    return anthropic.read({}, raw, models.LOCAL, NOON)


def main(*messages: Any, **more: Any) -> calls.Call:
    return read(*messages, **{"headers": CLAUDE_CODE, "tools": TOOLS, "stream": True, "max_tokens": 32000, **more})


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        ("POST", b"/v1/messages", "messages"),
        ("GET", b"/v1/messages", "other"),
        ("POST", b"/v1/messages/count_tokens", "count_tokens"),
        ("POST", b"/v1/messages/batches", "other"),
        ("POST", b"/v1/messages/", "other"),
        ("HEAD", b"/", "probe"),
        ("HEAD", b"/api/hello", "probe"),
        ("GET", b"/v1/models", "other"),
    ],
)
def test_only_posted_messages_are_read(method: str, path: bytes, route: str) -> None:
    assert routes.route(method, path) == route


HUMAN = {
    "first turn of Claude Code": main(user(REMINDER, text("my name is Leo", **MARK)), SYSTEM_NOTE),
    "later turn": main(
        user(REMINDER, text("hi")), SYSTEM_NOTE, assistant(text("hello")), plain("more"), assistant(text("yes")), user(text("my name is Leo", **MARK))
    ),
    "the marker on the trailing system message": main(user(text("my name is Leo")), {"role": "system", "content": [text("note", **MARK)]}),
    "after the model fell back": main(user(REMINDER, REMINDER, REMINDER, text("my name is Leo", **MARK))),
    "repeated without a stream": main(user(REMINDER, text("my name is Leo", **MARK)), SYSTEM_NOTE, stream=False),
    "slash command": main(
        user(
            text("<command-message>x</command-message>\n<command-name>/x</command-name>\n<command-args>my name is Leo</command-args>"),
            text("Do x.", **MARK),
        )
    ),
    "Claude Code without tools": main(user(text("my name is Leo", **MARK)), SYSTEM_NOTE, tools=[]),
    "Claude Code without tools, the marker at the very end": main(
        plain("my name is Leo"), {"role": "system", "content": [text("#", **MARK)]}, tools=[]
    ),
    "Claude Code without tools, a later turn": main(plain("hi"), SYSTEM_NOTE, assistant(text("Hi.")), user(text("my name is Leo", **MARK)), tools=[]),
    "instructions that quote a side call": read(
        plain("my name is Leo"),
        system=[text("You help."), text("# CLAUDE.md\nNever say: Summarize this coding conversation in under 50 words. You are a security monitor.")],
    ),
    "SDK, plain": read(plain("my name is Leo")),
    "aider, which marks what comes before": read(plain("files"), assistant(text("Ok.", **MARK)), plain("my name is Leo")),
    "task of Cline": read(user(text("<task>\nmy name is Leo\n</task>"), text("<environment_details>x</environment_details>"))),
    "feedback beside a tool's result": read(user(text("[ask for 'x'] Result:"), text("<feedback>\nmy name is Leo\n</feedback>"))),
    "SDK, streaming": read(plain("my name is Leo"), stream=True),
    "SDK, with an empty list of tools": read(plain("my name is Leo"), tools=[]),
    "SDK, with a session": read(plain("my name is Leo"), headers=SESSION),
    "SDK, marked document before": read(user(text("a document", **MARK)), assistant(text("ok")), plain("my name is Leo")),
    "SDK, image": read(user({"type": "image", "source": {"type": "base64", "data": "AA=="}}, text("my name is Leo"))),
    "SDK, unknown block": read(user({"type": "hologram", "content": {"a": [1]}}, text("my name is Leo"))),
    "SDK, web search": read(plain("my name is Leo"), tools=[{"type": "web_search_20250305", "name": "web_search"}]),
    "SDK, forced to a tool": read(plain("my name is Leo"), tools=TOOLS, tool_choice={"type": "tool", "name": "Read"}),
    "SDK, document, file and container": read(
        user(
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "I am Ana"}, "citations": {"enabled": True}},
            {"type": "document", "source": {"type": "file", "file_id": "f1"}},
            {"type": "container_upload", "file_id": "f2"},
            {"type": "search_result", "source": "https://x", "title": "t", "content": [text("I am Ana")]},
            text("my name is Leo"),
        )
    ),
    "SDK, server tools and MCP in the answer before": read(
        plain("search"),
        assistant(
            {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": [{"type": "web_search_result", "url": "u"}]},
            {"type": "mcp_tool_use", "id": "m1", "name": "x", "server_name": "s", "input": {}},
            {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": False, "content": [text("ok")]},
            {"type": "redacted_thinking", "data": "AA"},
            text("found", citations=[{"type": "web_search_result_location", "cited_text": "t"}]),
        ),
        plain("my name is Leo"),
        mcp_servers=[{"type": "url", "url": "https://x", "name": "s"}],
        container="c1",
    ),
    "reminder behind the words": main(user(text("my name is Leo", **MARK), REMINDER)),
    "hook's context behind the words": main(user(text("my name is Leo<user-prompt-submit-hook>x</user-prompt-submit-hook>", **MARK))),
    "two messages of the person in a row": read(plain("hi"), plain("my name is Leo")),
    "SDK, odd fields": read(plain("my name is Leo"), system=7, tools="none", metadata=[], stream="yes", stop_sequences={}),
}


@pytest.mark.parametrize("call", HUMAN.values(), ids=HUMAN)
def test_a_person_who_speaks_takes_a_turn(call: calls.Call) -> None:
    assert call.kind is calls.Kind.HUMAN
    assert call.new_turn is not None
    assert call.new_turn.words == "my name is Leo"
    assert len(call.turn_id) == 32


COMPACT = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is to create a detailed summary of the conversation so far"
NEXT = user(text("next", **MARK))
TALK = (plain("my name is Leo"), assistant(text("hi Leo", **MARK)))
NOT_HUMAN = {
    "quota probe": (read(plain("quota"), max_tokens=1), "side"),
    "title": (main(plain("<session>my name is Leo</session>"), tools=[]), "side"),
    "title, of an unknown client": (read(plain("<session>my name is Leo</session>"), stream=True), "step"),
    "title, told by its prompt": (read(plain("my name is Leo"), system="Generate a concise, sentence-case title (3-7 words)"), "side"),
    "attribution without tools": (read(plain("x"), system=[text("x-anthropic-billing-header: cc_version=2;")], stream=True), "side"),
    "permission check": (main(user(text("<t>"), text("User: rm -rf", **MARK), text("</t>")), tools=[], stream=False, max_tokens=64), "side"),
    "permission check, of an unknown client": (read(user(text("a"), text("User: rm", **MARK), text("b")), max_tokens=64, headers=SESSION), "side"),
    "classifier": (read(plain("x"), max_tokens=2112, stop_sequences=["</block>"]), "side"),
    "security monitor": (read(plain("x"), system=[text("You are a security monitor for autonomous agents")]), "side"),
    "web search helper": (main(user(text("Leo")), tools=[{"type": "web_search_20250305", "name": "web_search"}]), "side"),
    "subagent": (main(user(REMINDER, text("find it", **MARK)), headers={**CLAUDE_CODE, "x-claude-code-agent-id": "a1"}), "side"),
    "fork": (main(*TALK, plain("Summarise what I may ask next")), "side"),
    "result of a tool that is called in text": (
        read(user(text("[read_file for 'README.md'] Result:"), text("We use CockroachDB."), text("<environment_details>x</environment_details>"))),
        "step",
    ),
    "title of another client": (read(plain("my name is Leo"), system="You are a title generator. Reply with a title."), "side"),
    "tags of another client": (read(plain("### Task:\nGenerate 1-3 broad tags categorizing the main themes")), "side"),
    "suggestion": (main(*TALK, plain("[SUGGESTION MODE: …]")), "side"),
    "tool result": (main(plain("read a"), assistant(tool_use("t1")), user(result("t1", **MARK))), "step"),
    "tool result with a skill's text": (main(plain("read a"), assistant(tool_use("t1")), user(result("t1"), text("Skill says hi", **MARK))), "step"),
    "only a reminder": (main(user(REMINDER)), "step"),
    "compaction": (main(*TALK, plain("Your task is to create a detailed summary of the conversation so far")), "side"),
    "compaction joined to the person's message": (main(user(text("my name is Leo"), text(COMPACT, **MARK))), "side"),
    "compaction of a tool loop": (main(plain("a"), assistant(tool_use("t1"), **MARK), user(result("t1"), text(COMPACT))), "step"),
    "topic detection": (main(plain("my name is Leo"), system="Analyze if this message indicates a new conversation topic"), "side"),
    "recap": (main(*TALK, SYSTEM_NOTE, plain("The user stepped away. Recap in under 40 words.")), "side"),
    "subagent of a fork": (main(*TALK, NEXT, headers={**CLAUDE_CODE, "x-claude-code-agent-id": "a1"}), "side"),
    "server tool that goes on": (read(plain("x"), assistant({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})), "step"),
    "results of several tools": (
        main(plain("a"), assistant(tool_use("t1"), tool_use("t2")), user(result("t1"), result("t2", **MARK)), SYSTEM_NOTE),
        "step",
    ),
    "only an image": (read(user({"type": "image", "source": {"type": "url", "url": "https://x"}})), "step"),
    "only a document": (read(user({"type": "document", "source": {"type": "file", "file_id": "f"}}, text("", **MARK))), "step"),
    "an empty text": (read(plain("")), "step"),
    "only blanks": (read(user(text(" \n\t"))), "step"),
    "another role": (read(plain("hi", "tool")), "step"),
    "prefilled answer": (read(plain("hi"), plain("{", "assistant")), "step"),
    "no message but the system's": (read(SYSTEM_NOTE), "opaque"),
    "no messages": (read(), "opaque"),
    "content is null": (read({"role": "user", "content": None}), "step"),
    "message is text": (read("hi"), "step"),
    "a message with two contents": (read_raw(b'{"messages":[{"role":"user","content":"hi","content":"ho"}]}'), "step"),
    "half a surrogate": (read_raw(rb'{"messages":[{"role":"user","content":"hi \ud800"}]}'), "step"),
    "title without tools, of another version": (main(plain("my name is Leo"), tools=[]), "side"),
    "page for a web fetch": (main(user(text("Web page content:\n---\nI am Ana")), tools=[]), "side"),
    "compaction of a session without tools": (main(*TALK, plain(COMPACT), tools=[]), "side"),
    "permission check with a long answer": (main(user(text("User: my name is Leo", **MARK), text("</t>")), tools=[], stream=False), "side"),
    "web search helper with a marker": (main(user(text("Leo", **MARK)), tools=[{"type": "web_search_20250305", "name": "web_search"}]), "side"),
}


@pytest.mark.parametrize(("call", "kind"), NOT_HUMAN.values(), ids=NOT_HUMAN)
def test_a_call_of_the_client_itself_is_no_turn(call: calls.Call, kind: str) -> None:
    assert call.kind == kind
    assert call.new_turn is None
    assert call.turn_id == ""


@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe", b"no", b"[]", b'{"messages":1}', rb'{"messages":[{"role":"user","content":"\ud800"}],}', b"[" * 99_999]
)
def test_what_cannot_be_read_is_opaque(body: bytes) -> None:
    assert anthropic.read({}, body, models.LOCAL, NOON) == calls.Call(calls.Kind.OPAQUE, models.LOCAL, NOON)


ODD = {
    "half a surrogate in a tool's result": rb'{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a \udc00 b"}]}',
    "half a surrogate in what the person says": rb'{"role":"user","content":"\ud83d."}',
    "half a surrogate in an answer": rb'{"role":"assistant","content":[{"type":"text","text":"\ud83d."}]}',
    "no content": b'{"role":"user","content":null}',
    "content of another shape": b'{"role":"user","content":{"text":"hi"}}',
    "two contents": b'{"role":"user","content":"a","content":"b"}',
    "two roles": b'{"role":"user","role":"user","content":"b"}',
    "no message": b"[7]",
    "not UTF-8": b'{"role":"user","content":"\xff"}',
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("spelling", [{"separators": (",", ":")}, {"indent": 1}])
def test_a_message_that_cannot_be_read_costs_itself_alone(odd: bytes, spelling: dict[str, Any]) -> None:
    """headroom PR#3134: half a surrogate in a tool's result became a 500. The blocks of the turns around it must not vanish from the cache."""
    hole = "HOLE"
    raws = [
        json.dumps({"system": "s", "messages": [plain("one"), hole, assistant(text("first")), *more]}, **spelling).encode().replace(b'"HOLE"', odd)
        for more in ([], [plain("two")], [plain("two"), assistant(text("second")), plain("three")])
    ]
    step, asked, later = (read_raw(raw) for raw in raws)
    reader = reading.Reader()
    assert [reader.read(routes.Route.MESSAGES, {}, raw, models.LOCAL, NOON) for raw in raws] == [step, asked, later]
    assert [call.kind for call in (step, asked, later)] == ["step", "human", "human"]
    assert [turn.words for turn in later.turns] == ["one", "two", "three"]
    assert step.turns[0].keys == read(plain("one")).turns[0].keys
    assert [turn.keys for turn in later.old_turns] == [turn.keys for turn in asked.turns]
    without = json.dumps({"system": "s", "messages": [plain("one"), hole, assistant(text("first")), plain("two")]}, **spelling).encode()
    changed = splice.insert(raws[1], {turn.spot: f"block {number}" for number, turn in enumerate(asked.turns)})
    expected = json.loads(without)
    for place, number in ((0, 0), (3, 1)):
        expected["messages"][place]["content"] = [text(expected["messages"][place]["content"]), text(f"block {number}")]
    assert changed.count(odd) == 1
    assert json.loads(changed.replace(odd, b'"HOLE"')) == expected


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_newest_message_that_cannot_be_read_is_no_turn_and_leaves_the_others_theirs(odd: bytes) -> None:
    call = read_raw(b'{"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"first"},' + odd + b"]}")
    assert call.kind is calls.Kind.STEP
    assert [turn.words for turn in call.turns] == ["one"]
    assert call.turns[0].keys == read(plain("one")).turns[0].keys


def test_messages_that_cannot_be_read_tell_conversations_apart() -> None:
    one, other = (read_raw(b'{"messages":[{"role":"user","content":%b},{"role":"user","content":"hi"}]}' % odd) for odd in (b"null", b"7"))
    assert not set(one.turns[0].keys) & set(other.turns[0].keys)


# One conversation in the spellings that it takes from call to call.
FIRST = [
    user(REMINDER, text("my name is Leo", **MARK)),
    user(REMINDER, REMINDER, REMINDER, text("my name is Leo\n")),
    user(text("my name is Leo")),
    user(text("<system-reminder>a</system-reminder>\nmy name is Leo")),
    plain("my name is Leo"),
]
ANSWER = [
    assistant({"type": "thinking", "thinking": "hm", "signature": "s"}, text("Hi."), tool_use("t1")),
    assistant(text("Hi.\n"), tool_use("t1", input={"path": "b"})),
]


@pytest.mark.parametrize("answer", ANSWER)
@pytest.mark.parametrize("first", FIRST)
def test_a_turn_keeps_its_keys_however_the_client_spells_it_later(first: Any, answer: Any) -> None:
    then = main(first, SYSTEM_NOTE)
    assert then.new_turn is not None
    assert then.new_turn.keys == main(FIRST[0], SYSTEM_NOTE).turns[0].keys
    assert then.new_turn.keys[0] == main(FIRST[0]).turns[0].keys[0]
    assert then.turn_id == main(FIRST[0]).turn_id
    later = main(
        first, answer, user(result("t1", "long output"), text("a skill speaks")), SYSTEM_NOTE, assistant(text("done")), user(text("and now?", **MARK))
    )
    reference = main(
        FIRST[0], SYSTEM_NOTE, ANSWER[0], user(result("t1", [text("cut output")])), assistant(text("done")), user(REMINDER, text("and now?", **MARK))
    )
    assert [turn.keys for turn in later.turns] == [turn.keys for turn in reference.turns]
    assert len(later.turns) == 2
    assert later.old_turns[0].keys == then.new_turn.keys
    assert later.turn_id == reference.turn_id != then.turn_id


@pytest.mark.parametrize(
    "other",
    [
        main(plain("my name is Ana"), *TALK[1:], NEXT),
        main(plain("my name is Leo"), assistant(text("hello")), NEXT),
        main(plain("my name is Leo"), assistant(text("hi Leo"), tool_use("t2")), user(result("t2")), assistant(text("ok")), NEXT),
        main(*TALK, NEXT, principal=models.Principal("local", "ana")),
        main(*TALK, NEXT, principal=models.Principal("other", "me")),
        main(*TALK, user(text("next!", **MARK))),
    ],
)
def test_another_prefix_or_principal_has_other_keys(other: calls.Call) -> None:
    """meho PR#1813: a key crossed principals."""
    this = main(*TALK, NEXT)
    assert other.new_turn is not None
    assert this.new_turn is not None
    assert not set(this.new_turn.keys) & set(other.new_turn.keys)
    assert this.turn_id != other.turn_id


def test_images_tell_turns_apart() -> None:
    one, other = (read(user({"type": "image", "source": {"data": data}}, text("what is this?"))) for data in ("AAAA", "BBBB"))
    assert not set(one.turns[0].keys) & set(other.turns[0].keys)


def test_a_resumed_conversation_is_found_by_the_key_without_the_session() -> None:
    before, resumed = (main(plain("hi"), headers={**CLAUDE_CODE, "x-claude-code-session-id": name}) for name in ("s-1", "s-2"))
    assert before.turns[0].keys[0] != resumed.turns[0].keys[0]
    assert before.turns[0].keys[1] == resumed.turns[0].keys[1] == read(plain("hi")).turns[0].keys[0]
    assert len(before.turns[0].keys) == 2
    assert len(read(plain("hi")).turns[0].keys) == 1


def test_without_a_session_equal_words_in_two_projects_are_two_conversations() -> None:
    """headroom#462: a block recalled in one project must not come up in another."""
    shop, blog = (read(plain("hi"), headers={"x-brb-project": name}) for name in ("shop", "blog"))
    assert not set(shop.turns[0].keys) & set(blog.turns[0].keys)
    assert shop.turn_id != blog.turn_id
    here, there = (read(plain("hi"), headers={**SESSION, "x-brb-project": name}) for name in ("shop", "blog"))
    assert here.turns[0].keys[0] == there.turns[0].keys[0]
    assert here.turns[0].keys[1] != there.turns[0].keys[1]
    assert here.turns[0].keys[1] == shop.turns[0].keys[0]


def test_without_a_session_the_same_words_on_another_day_are_another_turn() -> None:
    assert read(plain("hi")).turn_id == read(plain("hi"), now=NOON + 60).turn_id
    assert read(plain("hi")).turn_id != read(plain("hi"), now=NOON + 86_400).turn_id
    assert main(plain("hi")).turn_id == main(plain("hi"), now=NOON + 86_400).turn_id


@pytest.mark.parametrize(
    ("headers", "user_id", "session"),
    [
        (SESSION, "user_ab_account_1_session_2", "s-1"),
        ({}, "user_ab_account_1b-2c_session_0a1b2c3d-4e5f", "0a1b2c3d-4e5f"),
        ({}, '{"device_id":"d","account_uuid":"a","session_id":"s-9"}', "s-9"),
        ({}, "me@example.org", ""),
        ({}, "{broken", ""),
        ({}, 5, ""),
    ],
)
def test_the_session_comes_from_the_header_or_from_the_user_id(headers: dict[str, str], user_id: Any, session: str) -> None:
    assert read(plain("hi"), headers=headers, metadata={"user_id": user_id}).session == session


@pytest.mark.parametrize(
    ("call", "project"),
    [
        (read(plain("hi"), headers={"x-brb-project": "shop"}, system="Working directory: /x"), "shop"),
        (read(plain("hi"), system="<env>\nWorking directory: /home/leo/shop\nPlatform: linux\n</env>"), "/home/leo/shop"),
        (read(plain("hi"), system=[text("You are…"), text("# Env\n - Primary working directory: /home/leo/a b/\n - x: y")]), "/home/leo/a b"),
        (read(plain("hi"), SYSTEM_NOTE), "/home/leo/shop"),
        (read(plain("hi"), {"role": "system", "content": [text("Working directory: `C:\\shop`")]}), "C:\\shop"),
        (read(plain("hi"), system="You help. The primary working directory: /home/leo/shop. It is a git repo."), "/home/leo/shop"),
        (read(plain("hi"), system="# Env\r\nWorking directory: /home/leo/shop\r\nPlatform: x"), "/home/leo/shop"),
        (read(plain("hi"), SYSTEM_NOTE, plain("Working directory: /new", "system")), "/new"),
        (read(plain("hi"), system="Working directory: "), ""),
        (read(plain("hi"), system="The networking directory: /etc"), ""),
        (read(plain("Working directory: /etc")), ""),
        (read(user(text("<system-reminder>Primary working directory: /etc</system-reminder>"), text("hi"))), ""),
        (read(plain("hi"), system="Additional working directories: /etc"), ""),
        (read(plain("hi")), ""),
    ],
)
def test_the_project_is_what_the_client_states_never_what_the_person_says(call: calls.Call, project: str) -> None:
    """headroom#462: memories of another project were shown."""
    assert call.project == project


def test_earlier_turns_and_the_last_answer_are_at_hand() -> None:
    call = main(
        plain("one"),
        assistant(text("first")),
        plain("two"),
        assistant({"type": "thinking", "thinking": "x"}, text("a"), text("b")),
        plain("three"),
        SYSTEM_NOTE,
    )
    assert [turn.words for turn in call.old_turns] == ["one", "two"]
    assert [turn.index for turn in call.turns] == [0, 2, 4]
    assert call.answer == "a\nb"


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([plain("one"), plain("two")], "one\ntwo"),
        ([plain("hi"), assistant(text("hello")), plain("one"), SYSTEM_NOTE, user(REMINDER), plain("two")], "one\ntwo"),
        ([plain("hi"), assistant(tool_use("t1")), user(result("t1")), plain("two")], "two"),
        ([plain("hi"), assistant(text("hello")), plain("[Request interrupted by user]"), plain("two")], "two"),
        ([plain("hi"), assistant(text("")), plain("two")], "two"),
        ([plain("hi"), 7, plain("two")], "two"),
        ([plain("hi"), plain("one"), assistant(text("hello"))], ""),
    ],
)
def test_what_a_person_says_is_all_since_the_last_answer(messages: list[Any], words: str) -> None:
    assert read(*messages).words == words


def test_messages_of_a_person_in_a_row_are_turns_of_their_own_in_the_ledger() -> None:
    call = read(plain("hi"), assistant(text("hello")), plain("one"), plain("two"))
    assert [turn.words for turn in call.turns] == ["hi", "one", "two"]
    assert call.turns[1].keys == read(plain("hi"), assistant(text("hello")), plain("one")).turns[-1].keys


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        (assistant(text("Hi."), tool_use("t1")), "Hi."),
        (assistant(tool_use("t1"), tool_use("t2")), "Read t1"),
        (assistant({"type": "thinking", "thinking": "hm"}, text(" \n"), tool_use("t1", input={"path": "written anew"})), "Read t1"),
        (assistant({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}), "web_search s1"),
        (assistant(text("")), ""),
    ],
)
def test_a_reply_without_text_is_told_by_its_tool(reply: Any, named: str) -> None:
    assert main(plain("hi"), SYSTEM_NOTE, reply, user(result("t1", **MARK))).turns[0].reply == named


OURS = "<brb-memories>\nx\n</brb-memories>"


def test_a_turn_that_holds_a_block_of_ours_says_so() -> None:
    for content in ([text("hi"), text(OURS)], f"hi\n\n{OURS}"):
        turn = read({"role": "user", "content": content}).turns[0]
        assert (turn.words, OURS in turn.given) == ("hi", True)
    assert read(plain("hi <b>")).turns[0].given == ""


def test_files_that_are_shown_in_another_place_each_time_change_no_keys() -> None:
    """aider puts the contents of files before the newest message, with an answer in the assistant's name."""
    files = [plain("I have *added these files to the chat* so you can go ahead and edit them.\n\na.py"), assistant(text("Ok."))]
    first = read(*files, plain("one"))
    second = read(plain("one"), assistant(text("first")), *files, plain("two"))
    assert second.turns[0].keys == first.turns[0].keys


def test_blocks_go_behind_the_persons_last_block_before_trailing_system_messages() -> None:
    """OmniRoute#9436: system messages were hoisted. inflexa PR#508: a fifth marker was added."""
    body = json.dumps({"messages": [user(REMINDER, text("hi", **MARK)), SYSTEM_NOTE], "system": [text("first", **MARK)], "tools": TOOLS}).encode()
    call = anthropic.read(CLAUDE_CODE, body, models.LOCAL, NOON)
    changed = json.loads(splice.insert(body, {call.turns[-1].spot: "block"}))
    assert changed == {**json.loads(body), "messages": [user(REMINDER, text("hi", **MARK), text("block")), SYSTEM_NOTE]}


BLOCK = text("block")


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ([text("hi")], []),
        ([REMINDER, text("hi", **MARK)], []),
        ([text("hi", **MARK)], [REMINDER]),
        ([text("hi"), text("and ho")], [text("<system-reminder>a</system-reminder>"), text("  ")]),
        ([text("hi")], [text(COMPACT, **MARK)]),
        ([text("hi")], [REMINDER, text(COMPACT)]),
        ([text("<command-message>x</command-message>\n<command-name>/x</command-name>\n<command-args>hi</command-args>")], [text("Do x.", **MARK)]),
        ([text("hi"), {"type": "image", "source": {"data": "AA"}, **MARK}], []),
        ([{"type": "image", "source": {"data": "AA"}}, text("hi")], []),
        ([text("hi"), {"type": "image", "source": {"data": "AA"}}], [REMINDER]),
        ([text("hi")], [text("[SUGGESTION MODE: …]")]),
    ],
)
@pytest.mark.parametrize("spelling", [{"separators": (",", ":")}, {"indent": 1}])
def test_the_block_stands_behind_what_the_person_gave(before: list[Any], behind: list[Any], spelling: dict[str, Any]) -> None:
    """A reminder that comes or goes behind the person's words, or an order that the client joins to them, does not move it."""
    body = {"messages": [plain("one"), *TALK[1:], user(*before, *behind), SYSTEM_NOTE], "tools": TOOLS}
    raw = json.dumps(body, **spelling).encode()
    turn = anthropic.read(CLAUDE_CODE, raw, models.LOCAL, NOON).turns[-1]
    changed = splice.insert(raw, {turn.spot: "block"})
    assert json.loads(changed) == {**body, "messages": [plain("one"), *TALK[1:], user(*before, BLOCK, *behind), SYSTEM_NOTE]}


@pytest.mark.parametrize(
    "compaction",
    [
        main(*TALK, user(text("and now?"), text(COMPACT))),
        main(*TALK, user(text("and now?"), text(COMPACT, **MARK))),
        main(*TALK, SYSTEM_NOTE, user(REMINDER, text("and now?"), REMINDER, text(COMPACT))),
        main(*TALK, user(text("and now?"), text(COMPACT)), tools=[]),
    ],
)
def test_a_summary_asked_for_in_the_persons_last_message_has_its_turn_as_an_old_one(compaction: calls.Call) -> None:
    asked = main(plain("my name is Leo"), assistant(text("hi Leo")), user(text("and now?", **MARK)))
    assert compaction.kind == "side"
    assert [turn.words for turn in compaction.old_turns] == ["my name is Leo", "and now?"]
    assert asked.new_turn is not None
    assert compaction.old_turns[-1].keys[0] == asked.new_turn.keys[0]


def test_a_fork_has_its_old_turns() -> None:
    call = main(*TALK, plain("Summarise the conversation"))
    assert [turn.words for turn in call.old_turns] == ["my name is Leo", "Summarise the conversation"]
    assert call.turns[0].keys == main(TALK[0]).turns[0].keys


@pytest.mark.parametrize("name", ["title, told by its prompt", "topic detection", "subagent", "quota probe"])
def test_a_call_that_only_quotes_the_person_is_not_taken_for_their_turn(name: str) -> None:
    assert NOT_HUMAN[name][0].turns == ()


def test_subagents_are_recalled_for_if_that_is_wanted_and_never_learnt_from() -> None:
    raw = json.dumps({"messages": [user(REMINDER, text("find it", **MARK))], "tools": TOOLS, "stream": True}).encode()
    of_agent = {**CLAUDE_CODE, "x-claude-code-agent-id": "a1"}
    calls_made = [
        anthropic.read(headers, raw, models.LOCAL, NOON, subagents=wanted) for headers in (CLAUDE_CODE, of_agent) for wanted in (False, True)
    ]
    assert [(call.kind, call.learns) for call in calls_made] == [("human", True), ("human", True), ("side", False), ("human", False)]
    readers = [reading.Reader(subagents=wanted).read(routes.Route.MESSAGES, of_agent, raw, models.LOCAL, NOON) for wanted in (False, True)]
    assert readers == calls_made[2:]


@pytest.mark.parametrize("said", ["имя мне Лев", "我的名字是利奥", "اسمي ليو", "नाम लियो है", "a\u0000b", "👩‍👩‍👧 é", "x" * 1_000_000, "<" * 100_000])
def test_words_are_the_persons_in_any_script_and_of_any_length(said: str) -> None:
    call = main(user(REMINDER, text(said, **MARK)))
    assert call.new_turn is not None
    assert call.new_turn.words == said


def test_uploads_tell_turns_apart() -> None:
    one, other = (read(user({"type": "container_upload", "file_id": name}, text("what is this?"))) for name in ("f1", "f2"))
    assert not set(one.turns[0].keys) & set(other.turns[0].keys)


@pytest.mark.parametrize("limit", [2, 50, 64])
def test_a_short_answer_to_a_marked_message_is_a_turn(limit: int) -> None:
    """Plain SDK clients place cache markers and small limits as they like."""
    assert read(user(text("My name is Oda.", **MARK)), max_tokens=limit).kind == "human"


def test_known_messages_that_stand_elsewhere_in_a_body_are_not_taken_for_its_own() -> None:
    """A value before the list repeats a known conversation, and the list begins where the known one's did."""

    def spelt(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    known = [plain(f"the {place} thing that was said", "assistant" if place % 2 else "user") for place in range(7)]
    decoy = '{"metadata":{"messages":' + spelt(known) + '},"messages":'
    other = (decoy + spelt([plain("another conversation " * 20), plain("x", "assistant"), plain("more")]) + "}").encode()
    before, behind = '{"model":"x","pad":"', '","messages":'
    first = (before + "p" * (len(decoy) - len(before) - len(behind)) + behind + spelt(known) + "}").encode()
    reader = reading.Reader()
    reader.read(routes.Route.MESSAGES, {}, first, models.LOCAL, NOON)
    assert reader.read(routes.Route.MESSAGES, {}, other, models.LOCAL, NOON) == anthropic.read({}, other, models.LOCAL, NOON)

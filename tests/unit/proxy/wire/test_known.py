import json
import sys
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.core import models
from services.proxy.wire import anthropic, known, openai, reading, routes, splice

NOON = 1_800_000_000.0
MARK = {"cache_control": {"type": "ephemeral"}}
ANA = models.Principal("local", "ana")
COMPACT = {"separators": (",", ":"), "ensure_ascii": False}


class Said(msgspec.Struct, frozen=True):
    text: str
    weight: int = 10


Memory = known.Memory[Said, str]


def parse(written: memoryview) -> Said:
    return Said(msgspec.json.decode(written, type=dict[str, str])["m"])


def unreadable(written: memoryview) -> Said:
    return Said(f"unreadable: {bytes(written)!r}")


def body(*texts: str, spelling: dict[str, Any] = COMPACT, **more: Any) -> bytes:
    return json.dumps({"model": "x", "list": [{"m": text} for text in texts], **more}, **spelling).encode()


def read(raw: bytes, found: known.Found[Said, str], how: Callable[[memoryview], Said] = parse) -> known.Talk[Said]:
    talk = known.talk(raw, "list", how, unreadable, found)
    assert isinstance(talk, known.Talk)
    return talk


def remember(memory: Memory, raw: bytes, owner: str = "me") -> known.Talk[Said]:
    found = memory.find(owner, raw, "list")
    talk = read(raw, found)
    memory.keep(owner, raw, talk, "", found)
    return talk


TEXTS = [f"text {number}" for number in range(40)]
SPELLINGS = [COMPACT, {}, {"indent": 2}, {"separators": (" ,\r\n", "\t: ")}]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_each_message_and_its_place_is_found_however_the_list_is_spelled(spelling: dict[str, Any]) -> None:
    raw = body(*TEXTS, spelling=spelling, after=[1])
    talk = read(raw, known.Found())
    assert [message.text for message in talk.messages] == TEXTS
    ends = [*talk.starts[1:], talk.end]
    assert [json.loads(raw[start:end].decode().rstrip(" ,\r\n"))["m"] for start, end in zip(talk.starts, ends, strict=True)] == TEXTS
    assert raw[talk.end - 1 : talk.end] == b"}"
    assert {name: json.loads(bytes(value)) for name, value in talk.fields.items()} == {"model": "x", "after": [1]}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("after", [{}, {"system": "another"}])
def test_of_a_known_conversation_only_the_end_is_read(spelling: dict[str, Any], after: dict[str, Any]) -> None:
    memory = Memory()
    remember(memory, body(*TEXTS, spelling=spelling, system="s"))
    longer = body(*TEXTS[:-1], "spelt anew", "next", "newest", spelling=spelling, **{"system": "s", **after})
    parsed: list[str] = []

    def counted(written: memoryview) -> Said:
        parsed.append(parse(written).text)
        return parse(written)

    talk = read(longer, memory.find("me", longer, "list"), counted)
    assert sorted(parsed) == ["newest", "next", "spelt anew"]
    assert talk == read(longer, known.Found())._replace(known=39)


def test_what_is_around_the_messages_is_read_once() -> None:
    memory = Memory()
    remember(memory, body(*TEXTS, system="s"))
    same, other = body(*TEXTS, "more", system="s"), body(*TEXTS, "more", system="t")
    before = same.replace(b'"x"', b'"y"')
    found = memory.find("me", same, "list")
    assert found.known is not None
    assert read(same, found).fields is found.known.fields
    assert read(other, memory.find("me", other, "list")).fields["system"] == msgspec.Raw(b'"t"')
    assert read(before, memory.find("me", before, "list")).fields["model"] == msgspec.Raw(b'"y"')


@pytest.mark.parametrize(
    "raw",
    [
        # what could be taken for the end of the list, or for the list itself
        b'{"model":"x","list":[{"m":"text 0"},{"m":"text 1"}],"y":[{"m":"b"}],"system":"s"}',
        b'{"model":"x","list":[{"m":"text 0"},{"m":"text 1"},{"m":"b"}],"system":"s","list":[{"m":"c"}]}',
        b'{"model":"x","list":[{"m":"text 0"},{"m":"text 1"},{"m":"b"}],"list":[{"m":"c"}],"system":"s"}',
        b'{"model":"x","list":[{"m":"text 0"},{"m":"text 1"},],"system":"s"}',
        b'{"model":"x","list":[{"m":"text 0"},{"m":"text 1"},,{"m":"b"}],"system":"s"}',
        b'{"model":"x","list":[{"m":"text 0"},{"m":"text 1"} {"m":"b"}],"system":"s"}',
        b'{"model":"x","list":[{"m":"text 0"},{"m":"text 1"}:{"m":"b"}],"system":"s"}',
        b'{"model":"x","list":[{"m":"text 0"},{"m":"text 1"},\x0b{"m":"b"}],"system":"s"}',
        b'{"model":"x","list":[{"m":"text 0"},{"m":"text 1"},7],"system":"s"}',
        b'{"model":"x","list":[{"m":"text 0"},{"m":"text 1"}',
        b'{"model":"x","list":[{"m":"text 0"},{"m":"text 1"},"system":"s"}',
        b'{"model":"x","list":[{"m":"text 0"},{"m":"text 1"},],"system":"s"}],"system":"s"}',
        b'{"model":"x","list":[{"m":"text 0"}, {"m":"text 1"},{"m":"b"}],"system":"s"}',
        b'{"model":"x","list":[{"m":"text 0"}, {"n":"","m":"text 1"},{"m":"b"}],"system":"s"}',
        b'{"tools":{"list":[{"m":"text 0"},{"m":"text 1"},{"m":"b"}]},"list":[{"m":"a"}],"system":"s"}',
        b'{"tools":{"list":[{"m":"text 0"},{"m":"text 1"},{"m":"b"}]},"l\\u0069st":[{"m":"a"},{"m":"b"}],"system":"s"}',
        b'{"tools":"\\"list\\":[{\\"m\\":","list":[{"m":"a"},{"m":"b"}],"system":"s"}',
        b'{"x":[{"list":[{"m":"text 0"},{"m":"text 1"}]},{"m":"z"}],"list":[{"m":"a"},{"m":"b"}]}',
        b'{"model":"x","list":[{"m":"text 0","x":"{\\"m\\":"},{"m":"text 1"}],"system":"s"}',
        b'{"model":"x","list":[],"system":"s"}',
        b'{"model":"x","list":{},"system":"s"}',
        b"",
        b"[",
    ],
)
def test_a_body_that_looks_like_a_known_one_is_read_as_by_who_knows_nothing(raw: bytes) -> None:
    memory = Memory()
    remember(memory, body(*TEXTS, system="s"))
    remember(memory, b'{"tools":{"list":[{"m":"text 0"},{"m":"text 1"},{"m":"b"}]},"list":[{"m":"a"},{"m":"b"}],"system":"s"}')
    assert outcome(raw, memory.find("me", raw, "list")) == outcome(raw, known.Found()) == in_full(raw)


def outcome(raw: bytes, found: known.Found[Said, str]) -> Any:
    talk = known.talk(raw, "list", parse, unreadable, found)
    return None if isinstance(talk, splice.LeaveAlone) else (talk.fields, talk.messages, talk.starts, talk.end)


def parsed(written: memoryview) -> Said:
    try:
        return parse(written)
    except msgspec.DecodeError:
        return unreadable(written)


def in_full(raw: bytes) -> Any:
    listed = splice.listed(raw, "list")
    if isinstance(listed, splice.LeaveAlone):
        return None
    messages = [parsed(memoryview(raw)[start:end]) for start, end in listed.items]
    fields = {name: value for name, value in listed.fields.items() if name != "list"}
    return fields, messages, [span.start for span in listed.items], listed.items[-1].end if listed.items else 0


def test_a_conversation_that_goes_on_in_another_spelling_is_known_in_that() -> None:
    memory = Memory()
    remember(memory, body(*TEXTS))
    spaced = body(*TEXTS).replace(b'},{"m":"text 5', b'}, {"m":"text 5')
    remember(memory, spaced)
    assert memory.find("me", spaced, "list").repeats == 39


def test_nothing_of_one_owner_is_found_by_another() -> None:
    memory = Memory()
    raw = body(*TEXTS)
    remember(memory, raw, owner="me")
    assert memory.find("you", raw, "list") == known.Found()
    assert memory.find("me", raw, "list").repeats == len(TEXTS) - 1


def test_a_longer_body_takes_the_place_of_the_one_it_goes_on_with() -> None:
    stepwise, once = Memory(), Memory()
    for length in range(2, 41):
        remember(stepwise, body(*TEXTS[:length]))
    remember(once, body(*TEXTS))
    assert stepwise.weight == once.weight > 0


def test_a_body_that_leaves_a_known_one_early_is_kept_beside_it() -> None:
    memory = Memory()
    bodies = [body(*TEXTS), body(*TEXTS[:5], "another", "way")]
    for raw in bodies:
        remember(memory, raw)
    assert [memory.find("me", raw, "list").repeats for raw in bodies] == [39, 6]


def test_what_is_kept_is_bounded_in_number_and_bytes() -> None:
    few, small = Memory(max_count=3), Memory(max_bytes=3_000)
    bodies = [body(f"beginning {number}", *TEXTS) for number in range(10)]
    for raw in bodies:
        remember(few, raw)
        remember(small, raw)
        assert small.weight <= 3_000
    repeats = [[memory.find("me", raw, "list").repeats for raw in bodies] for memory in (few, small)]
    assert repeats[0] == [0] * 7 + [40] * 3
    assert repeats[1][-1] == 40
    assert 40 not in repeats[1][:-3]


def test_a_body_that_is_too_large_is_read_but_not_kept() -> None:
    memory = Memory(max_body_bytes=200)
    raw = body(*TEXTS)
    assert [said.text for said in remember(memory, raw).messages] == TEXTS
    assert memory.find("me", raw, "list") == known.Found()
    assert memory.weight == 0


def test_a_body_that_is_kept_does_not_hold_on_to_the_whole_that_it_was_read_from() -> None:
    memory = Memory()
    raw = rb'{"l\u0069st":[{"m":"a"},{"m":"b"}],"system":"s"}'
    references = sys.getrefcount(raw)
    remember(memory, raw)
    assert memory.weight > 0
    assert sys.getrefcount(raw) == references


# Calls of a session, as they come one behind the other.
said = st.sampled_from(
    ["my name is Leo", "and now?", "", "<system-reminder>x</system-reminder>", 'naïve “quoted” \\ " \n 中', '{"role":"user"},{"role":']
)
texts = st.builds(lambda text, mark: {"type": "text", "text": text, **mark}, said, st.sampled_from([{}, MARK]))
results = st.builds(
    lambda name, content: {"type": "tool_result", "tool_use_id": name, "content": content}, st.sampled_from("ab"), said | st.lists(texts)
)
uses = st.builds(
    lambda name, given: {"type": "tool_use", "id": name, "name": "Read", "input": given},
    st.sampled_from("ab"),
    st.just([{"role": "user"}, {"role": "x"}]),
)
messages = st.one_of(
    st.builds(lambda content: {"role": "user", "content": content}, said | st.lists(texts, max_size=3) | st.lists(results, min_size=1, max_size=2)),
    st.builds(lambda content: {"role": "assistant", "content": content}, said | st.lists(texts | uses, max_size=3)),
    st.builds(lambda content: {"role": "system", "content": content}, said | st.just("Working directory: /shop")),
    st.builds(lambda content: {"content": content, "role": "user"}, said),
)
surroundings = st.fixed_dictionaries(
    {},
    optional={
        "system": said | st.just("Working directory: /blog"),
        "tools": st.just([{"name": "Read", "input_schema": {"messages": [{"role": "user"}]}}]),
        "max_tokens": st.sampled_from([1, 50, 32_000]),
        "metadata": st.sampled_from([{"user_id": "user_a_session_0123456789"}, 5]),
    },
)
edits = st.one_of(
    st.tuples(st.just("append"), st.lists(messages, min_size=1, max_size=3)),
    st.tuples(st.just("cut"), st.integers(1, 4)),
    st.tuples(st.just("replace"), st.tuples(st.integers(0, 9), messages)),
    st.tuples(st.just("remark"), st.integers(0, 9)),
    st.tuples(st.just("respell"), st.integers(0, 9)),
    st.tuples(st.just("around"), surroundings),
)


def edited(listed: list[Any], around: dict[str, Any], edit: tuple[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    kind, what = edit
    listed = json.loads(json.dumps(listed))
    at = min(what if isinstance(what, int) else 0, len(listed) - 1)
    if kind == "append":
        return listed + what, around
    if kind == "cut":
        return listed[: max(1, len(listed) - what)], around
    if kind == "replace":
        return [*listed[: what[0]], what[1], *listed[what[0] + 1 :]], around
    if kind == "around":
        return listed, what
    content = listed[at].get("content") if isinstance(listed[at], dict) else None
    if kind == "respell" and isinstance(content, list) and len(content) == 1 and "text" in content[0]:
        listed[at]["content"] = content[0]["text"]
    if kind == "remark" and isinstance(content, list) and content:
        marked = content[-1].pop("cache_control", None)
        content[-1].update({} if marked else MARK)
    return listed, around


calls_in_a_row = st.lists(
    st.fixed_dictionaries(
        {
            "edit": edits,
            "odd": st.sampled_from([[]] * 8 + [["odd"], [{"role": "user"}]]),
            "half": st.sampled_from([False] * 5 + [True]),
            "model": st.sampled_from(["m", "m", "n", "another"]),
            "session": st.sampled_from(["s-1", "s-1", "s-2", ""]),
            "principal": st.sampled_from([models.LOCAL, models.LOCAL, ANA]),
            "spelling": st.sampled_from([COMPACT, COMPACT, {}]),
        }
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(messages, min_size=1, max_size=6), surroundings, calls_in_a_row)
def test_a_call_of_a_known_conversation_reads_as_if_nothing_were_known(listed: list[Any], around: dict[str, Any], row: list[dict[str, Any]]) -> None:
    reader = reading.Reader()
    for call in row:
        listed, around = edited(listed, around, call["edit"])
        raw = json.dumps({"model": call["model"], "messages": listed + call["odd"], **around}, **call["spelling"]).encode()
        raw = raw.replace(b"name is", rb"\ud800", 1) if call["half"] else raw
        headers = {"x-claude-code-session-id": call["session"]}
        assert reader.read(routes.Route.MESSAGES, headers, raw, call["principal"], NOON) == anthropic.read(headers, raw, call["principal"], NOON)


# The same of OpenAI's clients.
parts = st.builds(lambda text: {"type": "input_text", "text": text}, said)
items = st.one_of(
    st.builds(lambda content: {"role": "user", "content": content}, said | st.lists(parts, max_size=3)),
    st.builds(lambda content: {"role": "assistant", "content": content}, said),
    st.builds(lambda name: {"role": "assistant", "content": None, "tool_calls": [{"id": name, "function": {"name": "f"}}]}, st.sampled_from("ab")),
    st.builds(lambda name: {"role": "tool", "tool_call_id": name, "content": "x"}, st.sampled_from("ab")),
    st.builds(lambda role, content: {"role": role, "content": content}, st.sampled_from(["system", "developer"]), said | st.just("<cwd>/x</cwd>")),
    st.builds(lambda content: {"type": "message", "role": "user", "content": content}, st.lists(parts, min_size=1, max_size=3)),
    st.builds(lambda name: {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"}, st.sampled_from("ab")),
    st.builds(lambda name: {"type": "function_call_output", "call_id": name, "output": [{"type": "input_text", "text": "x"}]}, st.sampled_from("ab")),
    st.sampled_from([{"type": "reasoning", "id": "r"}, {"type": "item_reference", "id": "i"}, {"role": "user"}, {"role": "user", "content": 7}, 7]),
)
around_items = st.fixed_dictionaries(
    {},
    optional={
        "instructions": st.sampled_from(["Working directory: /blog", "You are a title generator.", "Be brief."]),
        "previous_response_id": st.sampled_from(["resp_1", "resp_2"]),
        "conversation": st.sampled_from(["conv_1", {"id": "conv_2"}]),
        "max_tokens": st.sampled_from([1, 50]),
    },
)
openai_edits = st.one_of(
    st.tuples(st.just("append"), st.lists(items, min_size=1, max_size=3)),
    st.tuples(st.just("cut"), st.integers(1, 4)),
    st.tuples(st.just("replace"), st.tuples(st.integers(0, 9), items)),
    st.tuples(st.just("respell"), st.integers(0, 9)),
    st.tuples(st.just("around"), around_items),
)
openai_calls = st.lists(
    st.fixed_dictionaries(
        {
            "edit": openai_edits,
            "session": st.sampled_from(["s-1", "s-1", "s-2", ""]),
            "principal": st.sampled_from([models.LOCAL, models.LOCAL, ANA]),
            "spelling": st.sampled_from([COMPACT, COMPACT, {}]),
            "route": st.sampled_from([routes.Route.CHAT, routes.Route.RESPONSES, routes.Route.RESPONSES]),
            "alone": st.sampled_from([False] * 9 + [True]),
        }
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(items, min_size=1, max_size=6), around_items, openai_calls)
def test_a_call_of_a_known_openai_conversation_reads_as_if_nothing_were_known(
    listed: list[Any], around: dict[str, Any], row: list[dict[str, Any]]
) -> None:
    reader = reading.Reader()
    for call in row:
        listed, around = edited(listed, around, call["edit"])
        given = "my name is Leo" if call["alone"] else listed
        key = "messages" if call["route"] is routes.Route.CHAT else "input"
        raw = json.dumps({"model": "m", key: given, "tools": [{"input": [{"role": "user"}]}], **around}, **call["spelling"]).encode()
        headers = {"session_id": call["session"]}
        known_to = reader.read(call["route"], headers, raw, call["principal"], NOON)
        assert known_to == openai.read(call["route"], headers, raw, call["principal"], NOON)


@pytest.mark.parametrize(("route", "key"), [(routes.Route.CHAT, "messages"), (routes.Route.RESPONSES, "input")])
def test_all_of_an_openai_conversation_but_its_end_is_known_to_the_next_call(route: routes.Route, key: str) -> None:
    listed = [{"role": ("user", "assistant")[number % 2], "content": f"text {number}"} for number in range(41)]
    bodies = [json.dumps({"model": "m", key: listed[:length], "store": False}, **COMPACT).encode() for length in (39, 41)]
    reader = reading.Reader()
    reader.read(route, {}, bodies[0], models.LOCAL, NOON)
    assert reader.memory.find((models.LOCAL.team, models.LOCAL.user, openai.DIALECTS[route]), bodies[1], key).repeats == 38
    call = reader.read(route, {}, bodies[1], models.LOCAL, NOON)
    assert call == openai.read(route, {}, bodies[1], models.LOCAL, NOON)
    assert len(call.turns) == 21


@settings(max_examples=200, deadline=None)
@given(st.lists(messages, min_size=1, max_size=8), surroundings)
def test_a_body_that_can_be_cut_reads_as_one_that_cannot(listed: list[Any], around: dict[str, Any]) -> None:
    """The first message begins unlike the others, so that none of them is found by how it begins."""
    odd = json.dumps({"messages": listed, **around}, **COMPACT).encode()
    first = json.dumps(listed[0], **COMPACT).encode()
    odd = odd.replace(b'{"messages":[' + first, b'{"messages":[' + first.replace(b"{", b'{"odd":1,', 1), 1)
    plain = json.dumps({"messages": listed, **around}, **COMPACT).encode()
    one, other = (anthropic.read({}, raw, models.LOCAL, NOON) for raw in (plain, odd))
    moved = len(odd) - len(plain)
    assert one.kind == other.kind
    assert [(turn.index, turn.words, turn.keys, turn.reply) for turn in one.turns] == [
        (turn.index, turn.words, turn.keys, turn.reply) for turn in other.turns
    ]
    assert [plain[turn.spot.start : turn.spot.end] for turn in one.turns] == [odd[turn.spot.start : turn.spot.end] for turn in other.turns]
    assert [turn.spot.start + moved for turn in one.turns] == [turn.spot.start for turn in other.turns]


def test_threads_share_a_reader() -> None:
    histories = [[{"role": "user" if index % 2 else "assistant", "content": f"{name} {index}"} for index in range(60)] for name in "abc"]
    bodies = [json.dumps({"messages": history[:length]}, **COMPACT).encode() for length in range(2, 60, 3) for history in histories]
    expected = {raw: anthropic.read({}, raw, models.LOCAL, NOON) for raw in bodies}
    reader = reading.Reader()
    wrong: list[bytes] = []

    def work(order: list[bytes]) -> None:
        wrong.extend(raw for raw in order if reader.read(routes.Route.MESSAGES, {}, raw, models.LOCAL, NOON) != expected[raw])

    threads = [threading.Thread(target=work, args=(bodies[start:] + bodies[:start],)) for start in range(0, len(bodies), 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert reader.memory.weight <= known.MAX_BYTES

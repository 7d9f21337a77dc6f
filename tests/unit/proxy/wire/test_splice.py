import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.proxy.wire import splice

BLOCK = 'remembered: "quoted" \\ é 中 \n line'

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ['{"role":"user","content":"x"}', '"messages":[', "\\", '\\"', "]}"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
blocks = st.fixed_dictionaries({"type": st.just("text"), "text": texts}, optional={"cache_control": values, "extra": values}) | st.fixed_dictionaries(
    {"type": st.just("tool_result"), "tool_use_id": texts, "content": values}
)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system"]), "content": texts | st.lists(blocks, min_size=1, max_size=3)},
    optional={"extra": values},
)
bodies = st.builds(
    lambda before, listed, after: {**before, "messages": listed, **{key: value for key, value in after.items() if key != "messages"}},
    st.dictionaries(texts.filter(lambda key: key != "messages"), values, max_size=3),
    st.lists(messages, min_size=1, max_size=4),
    st.dictionaries(texts, values, max_size=3),
)
spellings = st.sampled_from(
    [
        {"separators": (",", ":"), "ensure_ascii": False},
        {"separators": (",", ":"), "ensure_ascii": True},
        {"indent": 1},
        {"separators": (" ,\t", "\n: ")},
    ]
)


def spots(body: bytes) -> dict[int, splice.Spot]:
    listed = splice.listed(body, "messages")
    assert not isinstance(listed, splice.LeaveAlone)
    found = {index: splice.spot(body, span) for index, span in enumerate(listed.items)}
    return {index: spot for index, spot in found.items() if isinstance(spot, splice.Spot)}


@given(bodies, spellings, st.data())
def test_json_is_equal_but_for_the_block_and_every_other_byte_stays(body: dict, spelling: dict, data: st.DataObject) -> None:
    raw = json.dumps(body, **spelling).encode()
    found = spots(raw)
    assert sorted(found) == list(range(len(body["messages"])))
    chosen = data.draw(st.sets(st.sampled_from(sorted(found))))
    changed = splice.insert(raw, {found[index]: BLOCK for index in chosen})

    expected = json.loads(raw)
    for index in chosen:
        content = expected["messages"][index]["content"]
        as_list = [{"type": "text", "text": content}] if isinstance(content, str) else content
        expected["messages"][index]["content"] = [*as_list, {"type": "text", "text": BLOCK}]
    assert json.loads(changed) == expected
    assert _without(changed, [found[index] for index in sorted(chosen)]) == raw


def _without(changed: bytes, chosen: list[splice.Spot]) -> bytes:
    """The original bytes, rebuilt from the changed ones by cutting out what the format says was put in."""
    block = b'{"type":"text","text":' + msgspec.json.encode(BLOCK) + b"}"
    wrap = b'[{"type":"text","text":'
    for spot in chosen:
        if spot.start == spot.end:
            assert changed[spot.end : spot.end + len(block) + 1] == b"," + block
            changed = changed[: spot.end] + changed[spot.end + len(block) + 1 :]
        else:
            assert changed[spot.start : spot.start + len(wrap)] == wrap
            changed = changed[: spot.start] + changed[spot.start + len(wrap) :]
            assert changed[spot.end : spot.end + len(block) + 3] == b"}," + block + b"]"
            changed = changed[: spot.end] + changed[spot.end + len(block) + 3 :]
    return changed


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        (
            rb'{ "a" : 1.10, "messages" : [ {"content" : "h\u00e9\/" , "role":"user"} ] , "b":1e20, "a":1.100}',
            rb'{ "a" : 1.10, "messages" : [ {"content" : [{"type":"text","text":"h\u00e9\/"},{"type":"text","text":"m"}] , "role":"user"} ] ,'
            rb' "b":1e20, "a":1.100}',
        ),
        (
            b'{"x":12,"messages":[{"role":"user","content":[{"type":"text","text":"a","text":"b"}\n]}],"x":1}',
            b'{"x":12,"messages":[{"role":"user","content":[{"type":"text","text":"a","text":"b"},{"type":"text","text":"m"}\n]}],"x":1}',
        ),
        (
            b'{"x":{"messages":[{"a":"]}"}]},"x":[1],"mess\\u0061ges":[{"role":"user","content":"a"}]}',
            b'{"x":{"messages":[{"a":"]}"}]},"x":[1],"mess\\u0061ges":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"m"}]}]}',
        ),
        (
            b'\n\t{"x":"\\"","x":"\\\\","messages":[{"role":"user","content":""}]} ',
            b'\n\t{"x":"\\"","x":"\\\\","messages":[{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"m"}]}]} ',
        ),
    ],
)
def test_odd_spellings_and_repeated_keys_stay_as_they_are(body: bytes, changed: bytes) -> None:
    """vibeproxy PR#294, kubeai#690: key order, numbers, escapes and duplicate keys were rewritten."""
    assert splice.insert(body, {spots(body)[0]: "m"}) == changed


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b'"messages"',
        b'{"model":"x"}',
        b'{"messages":{}}',
        b'{"messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"b"}]}',
        b'{"messages":[{"role":"user","content":"a"}]} trailing',
        b'{"messages":[{"role":"user","content":"a"}],"x":NaN}',
        rb'{"messages":[{"role":"user","content":"\ud800"}],"x":NaN}',
        b"[" * 100_000,
        b'{"messages":' + b"[" * 100_000,
    ],
)
def test_a_body_without_one_clear_list_of_messages_is_left_alone(body: bytes) -> None:
    assert isinstance(splice.listed(body, "messages"), splice.LeaveAlone)


@pytest.mark.parametrize(
    "message",
    [
        b'"a"',
        b"[]",
        b"null",
        b'{"role":"user"}',
        b'{"content":"a"}',
        b'{"role":"user","content":[]}',
        b'{"role":"user","content":null}',
        b'{"role":"user","content":{"type":"text"}}',
        b'{"role":"user","content":"a","content":"b"}',
        b'{"role":"user","role":"assistant","content":"b"}',
    ],
)
def test_a_message_without_one_clear_content_takes_no_block(message: bytes) -> None:
    assert spots(b'{"messages":[' + message + b"]}") == {}


@pytest.mark.parametrize("extra", [b'"x":[1,2],"x":[1,{"y":"]"}],', b'"x":"a","x":"ab",', b'"x":1,"x":12,', b'"x":12,"x":1,', b'"x":true,"x":null,'])
def test_an_overridden_value_does_not_shift_the_place(extra: bytes) -> None:
    body = b"{" + extra + b'"messages":[{"role":"user","content":"hi"}]}'
    spot = spots(body)[0]
    assert body[spot.start : spot.end] == b'"hi"'


HALVES = st.sampled_from(
    [r"\ud800", r"\uDBFF", r"\udc00", r"\uDfFf", r"\ud83d\ude00", r"\\ud800", r"\\\ud800", r"\ud83d\ud83d\ude00", r"\n", "u", r"\""]
)

_LONE = re.compile("[\ud800-\udfff]")


@given(st.lists(HALVES, min_size=1, max_size=6), st.lists(HALVES, max_size=3))
def test_halves_of_surrogates_move_nothing(first: list[str], other: list[str]) -> None:
    """headroom PR#3134: Claude Code sends some. Python's reader takes them, with all that is around them in its place."""
    raw = ('{"a":"' + "".join(other) + '","messages":[{"role":"user","content":"' + "".join(first) + '"},{"role":"user","content":"x"}]}').encode()
    changed = splice.insert(raw, {splice.Spot(span.start, span.end, splice.Form.WRAPPED): "m" for span in _contents(raw)})
    expected = json.loads(raw)
    for message in expected["messages"]:
        message["content"] = [{"type": "text", "text": message["content"]}, {"type": "text", "text": "m"}]
    assert json.loads(changed) == expected
    whole = splice.mended(raw)
    assert len(whole) == len(raw)
    assert msgspec.json.decode(whole) == json.loads(_LONE.sub("\ufffd", json.dumps(json.loads(raw), ensure_ascii=False)))


def _contents(raw: bytes) -> list[splice.Span]:
    listed = splice.listed(raw, "messages")
    assert isinstance(listed, splice.Listed)
    return [splice.Span(start + len('{"role":"user","content":'), end - 1) for start, end in listed.items]


def test_a_string_is_the_only_item_of_its_list() -> None:
    raw = b'{"x":1,"x":2,"input": "say \\" it" ,"y":"input"}'
    listed = splice.listed(raw, "input")
    assert isinstance(listed, splice.Listed)
    assert [raw[start:end] for start, end in listed.items] == [b'"say \\" it"']
    assert isinstance(splice.listed(b'{"input":"a","input":"a"}', "input"), splice.LeaveAlone)

"""What each reader finds in a document of its format. All samples are made up."""

import io
import json
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.cli.imports import archive, brain_kit, chatgpt, claude, claude_code, formats, mem0
from services.cli.imports.items import Archived, Conversation, Document, Item, Skipped, Wanted, seconds
from services.core import errors, import_api, note_api

AT = 1_700_000_000.0
FILED = 1_790_000_000.0
Read = Callable[[Document, Wanted], Iterator[Item]]


def document(content: object, name: str = "conversations.json") -> Document:
    """content: bytes as they are, a text, or what is written as JSON."""
    raw = content if isinstance(content, bytes) else (content if isinstance(content, str) else json.dumps(content)).encode()
    return Document(name, len(raw), FILED, lambda: io.BytesIO(raw))


def found(read: Read, content: object, wanted: Wanted = Wanted(), name: str = "conversations.json") -> list[Item]:  # noqa: B008 - frozen
    return list(read(document(content, name), wanted))


def turns(items: Sequence[Item]) -> list[import_api.Turn]:
    return [item for item in items if isinstance(item, import_api.Turn)]


def skipped(items: Sequence[Item]) -> list[str]:
    return [f"{item.place}: {item.why}" for item in items if isinstance(item, Skipped)]


def node(key: str, parent: str | None, role: str, *parts: object, at: float | None = None, **more: Any) -> dict[str, Any]:
    content = {"content_type": more.pop("content_type", "text"), "parts": list(parts)} | more.pop("content", {})
    return {
        key: {"id": key, "parent": parent, "message": {"id": f"m-{key}", "author": {"role": role}, "content": content, "create_time": at, **more}}
    }


def chat(*nodes: dict[str, Any], end: str | None, **fields: Any) -> dict[str, Any]:
    mapping = {"root": {"id": "root", "parent": None, "message": None}}
    for each in nodes:
        mapping |= each
    return {"title": "t", "create_time": AT, "mapping": mapping, "conversation_id": "c1", "current_node": end, **fields}


BRANCHED = chat(
    node("a", "root", "user", "I live in Lisbon", at=AT + 1),
    node("b", "a", "assistant", "Nice.", at=AT + 2),
    node("old", "b", "user", "I work at Acme", at=AT + 3),
    node("new", "b", "user", "I work at Globex", at=AT + 4),
    node("c", "new", "assistant", "Good to know.", at=AT + 5),
    end="c",
)


def test_chatgpt_is_read_along_the_branch_that_was_shown_last() -> None:
    first, second = turns(found(chatgpt.read, [BRANCHED]))

    assert (first.words, first.context, first.answer, first.said_at, first.session) == (("I live in Lisbon",), (), "", AT + 1, "c1")
    assert (second.id, second.words, second.context, second.answer) == ("m-new", ("I work at Globex",), ("I live in Lisbon",), "Nice.")


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("old", ["I live in Lisbon", "I work at Acme"]),
        (None, ["I live in Lisbon", "I work at Globex"]),
        ("gone", ["I live in Lisbon", "I work at Globex"]),
    ],
)
def test_chatgpt_without_an_end_is_read_up_to_what_was_written_last(end: str | None, words: list[str]) -> None:
    assert [turn.words[0] for turn in turns(found(chatgpt.read, [BRANCHED | {"current_node": end}]))] == words


def test_chatgpt_that_goes_round_in_circles_ends() -> None:
    circle = chat(node("a", "b", "user", "one"), node("b", "a", "user", "two"), end="b")
    assert [turn.words for turn in turns(found(chatgpt.read, [circle]))] == [("one",), ("two",)]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (node("a", "root", "user", "look", {"content_type": "image_asset_pointer"}, content_type="multimodal_text"), ("look",)),
        (node("a", "root", "user", {"content_type": "audio_transcription", "text": "spoken"}, content_type="multimodal_text"), ("spoken",)),
        (node("a", "root", "user", ""), None),
        (node("a", "root", "user", "x", content_type="code"), None),
        (node("a", "root", "tool", "x"), None),
        (node("a", "root", "system", "x"), None),
        (node("a", "root", "user", "x", metadata={"is_visually_hidden_from_conversation": True}), None),
        (
            node("a", "root", "user", content_type="user_editable_context", content={"user_profile": "Shown always\n```I am a nurse```"}),
            ("I am a nurse",),
        ),
        (node("a", "root", "user", content_type="user_editable_context", content={"user_profile": "not fenced"}), None),
    ],
)
def test_chatgpt_has_words_of_the_person_in_some_messages_only(message: dict[str, Any], words: tuple[str, ...] | None) -> None:
    assert [turn.words for turn in turns(found(chatgpt.read, [chat(message, end="a")]))] == ([] if words is None else [words])


def test_a_time_that_is_missing_is_that_of_what_stands_before_it() -> None:
    talk = chat(node("a", "root", "user", "one"), node("b", "a", "assistant", "yes", at=AT + 9), node("c", "b", "user", "two"), end="c")
    assert [turn.said_at for turn in turns(found(chatgpt.read, [talk]))] == [AT, AT + 9]
    assert [turn.said_at for turn in turns(found(chatgpt.read, [talk | {"create_time": None}]))] == [FILED, AT + 9]


def test_what_is_broken_is_left_out_by_its_place_and_the_rest_is_read() -> None:
    half = chat(node("a", "root", "user", "one"), {"b": {"parent": "a", "message": {"content": 7}}}, node("c", "b", "user", "two"), end="c")
    items = found(chatgpt.read, [{"mapping": 1}, half, "what"])

    assert [turn.words for turn in turns(items)] == [("one",), ("two",)]
    assert [one.split(":")[:2] for one in skipped(items)] == [
        ["conversations.json", " conversation 1"],
        ["conversations.json", " conversation 2, message b"],
        ["conversations.json", " conversation 3"],
    ]


@pytest.mark.parametrize("cut", [b"", b"[", b'{"x": ', b"\xff\xfe", b"not json"])
@pytest.mark.parametrize("read", [chatgpt.read, claude.read, mem0.read, brain_kit.read])
def test_a_document_that_breaks_off_or_is_no_json_is_told_without_quoting_it(read: Read, cut: bytes) -> None:
    (told,) = skipped(found(read, cut))
    assert told.startswith("conversations.json: it ")
    assert "near byte" in told
    assert "not json" not in told


def test_what_stands_before_a_break_is_read() -> None:
    raw = json.dumps([BRANCHED])[:-1] + ', {"mapping": {'
    items = found(chatgpt.read, raw)
    assert len(turns(items)) == 2
    assert [told.split(" near")[0] for told in skipped(items)] == ["conversations.json: it breaks off"]


def said(sender: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"uuid": f"u-{text}", "sender": sender, "text": text, "created_at": "2024-05-01T10:00:00Z", **fields}


def test_claude_is_read_in_order_with_the_text_of_its_blocks() -> None:
    blocks = [{"type": "text", "text": "We ship on Mondays"}, {"type": "tool_use", "name": "x"}, {"type": "text", "text": "really"}]
    attached = said("human", "See the file", attachments=[{"extracted_content": "My salary is 1"}])
    talk = {
        "uuid": "c",
        "created_at": "2024-05-01T09:00:00Z",
        "chat_messages": [said("human", "", content=blocks), said("assistant", "Fine."), attached],
    }

    first, second = turns(found(claude.read, [talk]))

    assert first.words == ("We ship on Mondays", "really")
    assert (second.words, second.answer, second.said_at, second.session) == (("See the file",), "Fine.", seconds("2024-05-01T10:00:00Z"), "c")


def test_claude_is_read_along_the_branch_that_was_shown_last_where_it_tells() -> None:
    messages = [
        said("human", "one"),
        said("human", "edited away", parent_message_uuid="u-one"),
        said("human", "two", parent_message_uuid="u-one"),
    ]
    talk = {"uuid": "c", "chat_messages": messages}
    assert [turn.words[0] for turn in turns(found(claude.read, [talk]))] == ["one", "edited away", "two"]
    assert [turn.words[0] for turn in turns(found(claude.read, [talk | {"current_leaf_message_uuid": "u-two"}]))] == ["one", "two"]


def line(kind: str, content: object, **fields: Any) -> str:
    common = {"uuid": f"u-{content}", "sessionId": "s1", "cwd": "/home/leo/shop", "timestamp": "2026-01-02T03:04:05.678Z", "userType": "external"}
    return json.dumps({"type": kind, "message": {"role": kind, "content": content}} | common | fields)


def test_claude_code_knows_session_project_and_what_was_said_before() -> None:
    lines = [
        line("user", "We use pnpm"),
        line("assistant", [{"type": "text", "text": "Noted."}]),
        line("user", [{"type": "text", "text": "And vitest"}]),
    ]

    items = found(claude_code.read, "\n".join(lines), name="s1.jsonl")

    first, second = turns(items)
    assert items[0] == Conversation()
    assert (first.project, first.session, first.said_at) == ("/home/leo/shop", "s1", seconds("2026-01-02T03:04:05.678Z"))
    assert (second.words, second.context, second.answer) == (("And vitest",), ("We use pnpm",), "Noted.")
    (elsewhere,) = {turn.project for turn in turns(found(claude_code.read, "\n".join(lines), Wanted("blog")))}
    assert elsewhere == "blog"


@pytest.mark.parametrize(
    "ignored",
    [
        line("user", "x", isMeta=True),
        line("user", "x", isSidechain=True),
        line("user", "x", isCompactSummary=True, isVisibleInTranscriptOnly=True),
        line("user", "x", toolUseResult={"stdout": "x"}),
        line("user", "x", origin={"kind": "task-notification"}),
        line("user", "x", userType="internal"),
        line("user", [{"type": "tool_result", "content": "x"}, {"type": "text", "text": "x"}]),
        line("user", [{"type": "image"}]),
        line("system", "x"),
        json.dumps({"type": "summary", "summary": "x", "leafUuid": "1"}),
        json.dumps({"type": "file-history-snapshot", "messageId": "1"}),
        json.dumps({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "x", "commandMode": "task-notification"}}),
        json.dumps({"type": "attachment", "attachment": {"type": "edited_text_file"}}),
        "",
    ],
)
def test_claude_code_writes_down_much_that_no_person_said(ignored: str) -> None:
    assert found(claude_code.read, ignored, name="s1.jsonl") == []


def test_claude_code_has_what_was_typed_while_it_was_at_work() -> None:
    queued = json.dumps({"type": "attachment", "uuid": "q", "attachment": {"type": "queued_command", "prompt": "use tabs", "commandMode": "prompt"}})
    assert [turn.words for turn in turns(found(claude_code.read, queued))] == [("use tabs",)]


def test_a_line_that_is_being_written_is_left_out_alone() -> None:
    items = found(claude_code.read, line("user", "one") + "\n" + line("user", "two")[:30], name="s1.jsonl")
    assert [turn.words for turn in turns(items)] == [("one",)]
    assert [told.split(":")[0] for told in skipped(items)] == ["s1.jsonl, line 2"]


@pytest.mark.parametrize("shape", [lambda one: [one], lambda one: {"results": [one]}, lambda one: {"user": {"id": "1"}, "memories": [one]}])
def test_mem0_is_read_in_each_of_its_shapes(shape: Callable[[object], object]) -> None:
    one = {
        "id": "1",
        "memory": "Prefers tea",
        "metadata": {"project": "shop", "category": "preference"},
        "updated_at": "2024-02-03T04:05:06.000007-08:00",
        "created_at": "2023-01-01",
    }
    (turn,) = turns(found(mem0.read, shape(one)))
    assert (turn.words, turn.statement, turn.project, turn.category) == (("Prefers tea",), True, "shop", "preference")
    assert turn.said_at == seconds("2024-02-03T12:05:06.000007Z")


@pytest.mark.parametrize(
    ("one", "says"),
    [
        ({"memory": ""}, "says nothing"),
        ({"memory": "x" * 2001}, "2001 characters"),
        ({"memory": 1}, "not as mem0 writes it"),
        ({"content": "gone", "state": "deleted"}, "it is deleted"),
    ],
)
def test_what_is_no_statement_of_mem0_is_left_out(one: dict[str, Any], says: str) -> None:
    (told,) = skipped(found(mem0.read, [one], name="m.json"))
    assert told.startswith("m.json: memory 1: ")
    assert says in told


def test_a_page_of_brain_kit_is_a_note_that_keeps_its_id_tags_and_dates() -> None:
    page = {
        "id": "p1",
        "title": "Auth",
        "content": "Moved to RS256, see [[project-x]]",
        "metadata": {"type": "meeting", "tags": ["infra", "auth"]},
        "createdAt": "2026-01-01T00:00:00.000Z",
        "updatedAt": "2026-02-01T00:00:00.000Z",
    }
    (note,) = found(brain_kit.read, [page], name="brain.json")
    assert isinstance(note, note_api.PutNote)
    assert (note.source, note.path, note.title, note.tags) == ("brain-kit", "p1", "Auth", ("infra", "auth"))
    assert note.metadata == {"type": "meeting", "tags": ["infra", "auth"], "created": "2026-01-01T00:00:00+00:00"}
    assert note.modified_at == seconds("2026-02-01T00:00:00Z")
    assert found(brain_kit.read, {"pages": [page]}, name="brain.json") == [note]


@pytest.mark.parametrize(
    "page", [{"title": "x"}, {"content": "", "title": " "}, {"content": 1}, {"content": "x"}, {"id": "1" * 1001, "content": "x"}]
)
def test_what_is_no_page_is_left_out(page: dict[str, Any]) -> None:
    assert [told.split(": ")[1] for told in skipped(found(brain_kit.read, [page], name="brain.json"))] == ["page 1"]


def test_an_archive_is_read_record_by_record() -> None:
    whole = {"format": "brb-archive", "version": 1, "memories": [{"n": 1.10}, {"n": 2}], "notes": [{"n": 3}]}
    items = found(archive.read, whole, name="mine.json")
    assert [(item.kind, item.record, item.place) for item in items if isinstance(item, Archived)] == [
        ("memories", {"n": 1.1}, "mine.json: memories[0]"),
        ("memories", {"n": 2}, "mine.json: memories[1]"),
        ("notes", {"n": 3}, "mine.json: notes[0]"),
    ]


@pytest.mark.parametrize(
    ("whole", "says"), [({"format": "brb-archive", "version": 2}, "version 2"), ({"memories": []}, "is not what an export wrote")]
)
def test_an_archive_of_another_kind_is_refused(whole: object, says: str) -> None:
    with pytest.raises(errors.BadInput, match=says):
        found(archive.read, whole)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("conversations.json", [BRANCHED], "chatgpt"),
        ("x.json", {"conversations": [BRANCHED]}, "chatgpt"),
        ("x.json", BRANCHED, "chatgpt"),
        ("conversations.json", [{"uuid": "1", "name": "n", "account": {"uuid": "2"}, "chat_messages": []}], "claude"),
        ("a.jsonl", line("user", "x"), "claude-code"),
        ("a.jsonl", json.dumps({"type": "summary", "leafUuid": "1"}) + "\n" + line("user", "x"), "claude-code"),
        ("a.jsonl", json.dumps({"type": "file-history-snapshot", "messageId": "1", "snapshot": {"mapping": {}}}), "claude-code"),
        ("m.json", {"results": [{"id": "1", "memory": "x"}]}, "mem0"),
        ("m.json", [{"id": "1", "memory": "x"}], "mem0"),
        ("m.json", {"user": {}, "memories": [{"content": "x"}]}, "mem0"),
        ("m.json", [{"id": "1", "content": "x", "created_at": "2024"}], "mem0"),
        ("b.json", [{"id": "1", "title": "t", "content": "x", "createdAt": ""}], "brain-kit"),
        ("b.json", {"pages": []}, "brain-kit"),
        ("mine.json", {"format": "brb-archive", "version": 1, "memories": []}, "brb"),
        ("CLAUDE.md", "# x", "claude-md"),
        ("x.json", b"\xef\xbb\xbf" + json.dumps([BRANCHED]).encode(), "chatgpt"),
        ("x.json", [], None),
        ("x.json", [{"mail": "x"}], None),
        ("x.json", [{"user": {"memory": 1}}], None),
        ("x.json", "nothing", None),
        ("x.json", b"", None),
    ],
)
def test_the_content_says_what_a_document_is(name: str, content: object, expected: str | None) -> None:
    assert formats.detect(document(content, name)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (AT, AT),
        (AT * 1000, AT),
        (str(AT), AT),
        ("2023-11-14T22:13:20Z", AT),
        ("2023-11-14T22:13:20", AT),
        ("2023-11-14 23:13:20+01:00", AT),
        (None, None),
        (True, None),
        (-1, None),
        (float("nan"), None),
        (float("inf"), None),
        ("soon", None),
        ("", None),
        ({}, None),
    ],
)
def test_times_are_understood_as_exports_write_them(value: object, expected: float | None) -> None:
    assert seconds(value) == expected


JSON = st.recursive(st.none() | st.booleans() | st.integers(-10, 10) | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=5)
TREES = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.text(max_size=20), st.integers(-1, 6), st.none() | st.integers(1, 10**9)), max_size=7
).map(
    lambda nodes: chat(
        *(node(str(n), str(parent), role, text, at=at) for n, (role, text, parent, at) in enumerate(nodes)),
        end=str(len(nodes) - 1) if nodes else None,
    )
)


@given(st.lists(TREES | st.dictionaries(st.sampled_from(["mapping", "chat_messages", "memory", "title", "content", "id"]), JSON), max_size=4))
def test_reading_twice_finds_the_same_ids_and_nothing_breaks_a_reader(records: list[dict[str, Any]]) -> None:
    for read in (chatgpt.read, claude.read, mem0.read, brain_kit.read):
        once, again = found(read, records), found(read, records)
        assert once == again
        ids = [turn.id for turn in turns(once) if not turn.statement and turn.session == ""]
        assert len(ids) == len(set(ids)) or len(records) > 1


@given(st.lists(st.binary(max_size=60) | st.sampled_from([line("user", "x").encode(), line("assistant", "y").encode()]), max_size=6))
def test_no_bytes_break_the_reader_of_transcripts(lines: list[bytes]) -> None:
    raw = b"\n".join(lines)
    assert found(claude_code.read, raw) == found(claude_code.read, raw)


def test_surrogates_and_zeros_come_through() -> None:
    (turn,) = turns(found(chatgpt.read, json.dumps([chat(node("a", "root", "user", "a\0b\ud800c"), end="a")])))
    assert turn.words[0].startswith("a")
    turn.words[0].encode()


def test_half_a_character_in_a_transcript_costs_no_line() -> None:
    items = found(claude_code.read, line("user", "one \ud83d half"))
    assert [turn.words for turn in turns(items)] == [("one ? half",)]


def test_a_document_is_read_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([BRANCHED]))
    on_disk = Document("x", file.stat().st_size, FILED, lambda: file.open("rb"), file)
    assert len(turns(list(chatgpt.read(on_disk, Wanted())))) == 2


def test_a_long_export_takes_no_more_memory_than_a_short_one() -> None:
    def peak(conversations: int) -> int:
        one = json.dumps(chat(*(node(str(n), str(n - 1) if n else "root", "user", "word " * 200) for n in range(20)), end="19")).encode()
        tracemalloc.start()
        whole = Document("x", 0, FILED, lambda: io.BufferedReader(_Repeated(one, conversations)))
        assert sum(isinstance(item, import_api.Turn) for item in chatgpt.read(whole, Wanted())) == 20 * conversations
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(1)
    assert peak(300) < 2 * peak(3)


class _Repeated(io.RawIOBase):
    """A list of one thing many times, made as it is read."""

    def __init__(self, one: bytes, times: int) -> None:
        self._pieces = iter([b"[" + one, *([b"," + one] * (times - 1)), b"]"])
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._pieces, b"")
        piece, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(piece)] = piece
        return len(piece)

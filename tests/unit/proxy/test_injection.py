"""Which blocks a call gets: pure decisions as tables, and the interceptor over in-memory parts."""

import asyncio
import contextlib
import json
import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from services.core import errors, messages, models, ports
from services.proxy import injection
from services.proxy.parts import Parts
from services.proxy.wire import anthropic, calls
from tests.support import in_memory
from tests.support.access import token_for

NOON = 1_800_000_000.0
ANSWERED = calls.Answer(complete=True, text="Noted.")


def said(*texts: str, session: str = "", project: str = "") -> calls.Call:
    """A conversation of alternating texts, the person's first."""
    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
    headers = {**({"x-claude-code-session-id": session} if session else {}), **({"x-brb-project": project} if project else {})}
    return anthropic.read(headers, json.dumps({"model": "m", "max_tokens": 100, "messages": messages}).encode(), models.LOCAL, NOON)


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    given = in_memory.parts(tmp_path)
    in_memory.keep(given, in_memory.memory("We use Postgres 15 as our database"), in_memory.memory("My name is Leo"))
    return given


def before(parts: Parts, call: calls.Call) -> injection.Injected:
    made = injection.Injection(parts)
    try:
        return asyncio.run(made.before(call))
    finally:
        made.close()


def finish(parts: Parts, prepared: injection.Injected, answer: calls.Answer = ANSWERED) -> None:
    made = injection.Injection(parts)
    try:
        asyncio.run(made.after(prepared, answer))
    finally:
        made.close()


def test_a_new_turn_gets_one_block_of_what_it_calls_for(parts: Parts) -> None:
    call = said("What database do we use?")
    prepared = before(parts, call)
    [(spot, block)] = prepared.blocks.items()
    assert call.new_turn is not None
    assert spot == call.new_turn.spot
    assert "We use Postgres 15 as our database" in block
    assert "Leo" not in block
    assert dict(prepared.headers) == {"x-brb-memories": "1", "x-brb-turn": prepared.call.turn_id}


def test_an_empty_recall_touches_nothing(parts: Parts) -> None:
    prepared = before(parts, said("Write a haiku about the sea"))
    assert prepared.blocks == {}
    assert dict(prepared.headers)["x-brb-memories"] == "0"


@pytest.mark.parametrize("session", ["", "s-1"])
def test_what_was_inserted_is_inserted_again_in_later_calls(parts: Parts, session: str) -> None:
    first = before(parts, said("What database do we use?", session=session))
    finish(parts, first)
    later = before(parts, said("What database do we use?", "Postgres.", "And what is my name?", session=session))
    [block] = first.blocks.values()
    assert block in later.blocks.values()
    assert len(later.blocks) == 2
    assert sum("Postgres" in text for text in later.blocks.values()) == 1, "shown once in a conversation"


LEANING = ("Which port does our staging database listen on?", "I don't know.", "so what about that one?")


def test_words_that_lean_on_the_turn_before_are_looked_up_with_it(parts: Parts) -> None:
    in_memory.keep(parts, in_memory.memory("Our staging database listens on port 5433"))
    alone, told = before(parts, said(LEANING[-1])), before(parts, said(*LEANING))

    assert alone.blocks == {}
    assert "5433" in "".join(told.blocks.values())


def test_words_are_looked_up_as_they_stand_where_that_is_asked_for(parts: Parts) -> None:
    in_memory.keep(parts, in_memory.memory("Our staging database listens on port 5433"))
    kept = _with(parts, settings=parts.settings.model_copy(update={"no_rewrite": True}))

    assert before(kept, said(*LEANING)).blocks == {}


def test_a_language_model_puts_the_question_within_the_deadline(parts: Parts) -> None:
    in_memory.keep(parts, in_memory.memory("We keep our pears in the cellar"), in_memory.memory("We keep our apples in straw"))
    asked: list[float] = []

    def ask(talk: Sequence[tuple[str, str]], timeout_seconds: float) -> str:
        asked.append(timeout_seconds)
        return '{"question": "Where do we keep pears?"}'

    [block] = before(_with(parts, ask=ask), said("Where do we keep apples?", "In straw.", "and pears?")).blocks.values()

    assert "in the cellar" in block.splitlines()[2]
    assert 0 < asked[0] <= 0.4 * parts.settings.recall_deadline_ms / 1000


def test_a_memory_that_was_shown_is_not_shown_again(parts: Parts) -> None:
    finish(parts, before(parts, said("What database do we use?")))
    later = before(parts, said("What database do we use?", "Postgres.", "Remind me what database we use?"))
    assert len(later.blocks) == 1


def test_a_turn_that_got_nothing_gets_nothing_later(parts: Parts) -> None:
    """Another conversation that began with the same words and was told something must not leave its block here."""
    told = before(parts, said("What database do we use?"))
    finish(parts, told)
    parts.store.delete(models.Scope(models.LOCAL.team, models.LOCAL.user, None), [m.id for m in parts.store.find(models.Scope("local", "me", None))])
    assert before(parts, said("What database do we use?")).blocks == {}
    assert before(parts, said("What database do we use?", "I don't know.", "And now?")).blocks == {}


def test_a_retry_gets_the_same_bytes_whatever_was_learnt_meanwhile(parts: Parts) -> None:
    first = before(parts, said("What database do we use?"))
    finish(parts, first, calls.NO_ANSWER)
    in_memory.keep(parts, in_memory.memory("We also use Redis as a database"))
    assert before(parts, said("What database do we use?")).blocks == first.blocks


def test_a_new_conversation_with_the_same_words_is_recalled_for_anew(parts: Parts) -> None:
    first = before(parts, said("What database do we use?"))
    finish(parts, first)
    in_memory.keep(parts, in_memory.memory("We also use Redis as a database"))
    [block] = before(parts, said("What database do we use?")).blocks.values()
    assert "Redis" in block


def test_conversations_that_begin_alike_keep_what_each_was_told(parts: Parts) -> None:
    first = before(parts, said("What database do we use?"))
    finish(parts, first, calls.Answer(complete=True, text="Postgres, I was told."))
    in_memory.keep(parts, in_memory.memory("We also use Redis as a database"))
    other = before(parts, said("What database do we use?"))
    finish(parts, other, calls.Answer(complete=True, text="Postgres and Redis."))
    assert first.blocks != other.blocks
    for answer, told in (("Postgres, I was told.\n", first), ("Postgres and Redis.", other)):
        assert list(before(parts, said("What database do we use?", answer, "Thanks, bye")).blocks.values()) == list(told.blocks.values())


@pytest.mark.parametrize("session", ["", "s-1"])
@pytest.mark.parametrize("when", ["while the answer came", "later"])
def test_what_was_forgotten_stays_so_and_nothing_is_put_in_its_place(parts: Parts, session: str, when: str) -> None:
    first = before(parts, said(ASKED, session=session))
    [block] = first.blocks.values()
    assert first.entry is not None
    for moment in ("while the answer came", "later"):
        if when == moment:
            parts.store.delete(models.Scope(models.LOCAL.team, models.LOCAL.user, None), first.entry.memories)
            parts.ledger.forget(first.entry.memories)
        if moment == "while the answer came":
            finish(parts, first)
    in_memory.keep(parts, in_memory.memory("We use Redis as our database"))
    other = before(parts, said(ASKED, session="another" if session else ""))
    finish(parts, other, calls.Answer(complete=True, text="Redis."))

    assert "Redis" in "".join(other.blocks.values()) != block
    assert not before(parts, said(ASKED, "Noted.", "Thanks, bye", session=session)).blocks
    if session:
        assert before(parts, said(ASKED, session=session)).blocks, "asked anew, it is told anew"


def test_without_a_session_the_same_words_are_another_turn_once_they_were_answered(parts: Parts) -> None:
    first = before(parts, said("I prefer tabs"))
    finish(parts, first, calls.NO_ANSWER)
    retried = before(parts, said("I prefer tabs"))
    assert retried.call.turn_id == first.call.turn_id
    finish(parts, retried)
    assert before(parts, said("I prefer tabs")).call.turn_id != first.call.turn_id


def test_an_attempt_that_was_given_up_long_ago_is_not_repeated(parts: Parts) -> None:
    first = before(parts, said("I prefer tabs"))
    finish(parts, first, calls.NO_ANSWER)
    soon, late = (msgspec.structs.replace(said("I prefer tabs"), at=NOON + seconds) for seconds in (60, 86_400))
    assert before(parts, soon).call.turn_id == first.call.turn_id
    assert before(parts, late).call.turn_id != first.call.turn_id


def test_within_a_session_the_same_words_are_the_same_turn_for_good(parts: Parts) -> None:
    first = before(parts, said("I prefer tabs", session="s-1"))
    finish(parts, first)
    assert before(parts, said("I prefer tabs", session="s-1")).call.turn_id == first.call.turn_id


def test_within_a_session_the_same_conversation_is_the_same_turn(parts: Parts) -> None:
    """A rewind to a message that was answered before sends what was sent."""
    first = before(parts, said("What database do we use?", session="s-1"))
    finish(parts, first)
    in_memory.keep(parts, in_memory.memory("We also use Redis as a database"))
    assert before(parts, said("What database do we use?", session="s-1")).blocks == first.blocks


def test_a_conversation_resumed_under_a_new_session_id_is_replayed(parts: Parts) -> None:
    first = before(parts, said("What database do we use?", session="s-1"))
    finish(parts, first)
    later = before(parts, said("What database do we use?", "Postgres.", "Thanks, bye", session="s-2"))
    assert list(later.blocks.values()) == list(first.blocks.values())


def test_memories_of_another_project_are_not_shown(parts: Parts) -> None:
    in_memory.keep(parts, in_memory.memory("The database of the shop is Oracle", project="shop"))
    for project in ("", "blog"):
        assert "Oracle" not in "".join(before(parts, said("What is the database of the shop?", project=project)).blocks.values())
    assert "Oracle" in "".join(before(parts, said("What is the database of the shop?", project="shop")).blocks.values())


class Away:
    """A ledger, a store or an embedder that does not answer."""

    def __getattr__(self, name: str) -> object:
        def fail(*_: object, **__: object) -> None:
            raise errors.Unavailable(name)

        return fail


def _with(parts: Parts, **changed: object) -> Parts:
    return Parts(**{name: changed.get(name, getattr(parts, name)) for name in Parts.__slots__})  # type: ignore[arg-type]


@pytest.mark.parametrize("away", ["ledger", "store"])
def test_what_is_away_costs_the_memories_and_not_the_call(parts: Parts, away: str) -> None:
    assert before(_with(parts, **{away: Away()}), said("What database do we use?")).blocks == {}


def test_without_the_embedder_words_alone_recall(parts: Parts) -> None:
    prepared = before(_with(parts, embedder=Away()), said("What database do we use?"))
    assert "Postgres" in "".join(prepared.blocks.values())


def test_a_recall_that_is_too_late_is_dropped_and_old_blocks_stay(parts: Parts) -> None:
    finish(parts, before(parts, said("What database do we use?")))
    release = threading.Event()

    class Slow:
        def nearest(self, *_: object, **__: object) -> list[models.Hit]:
            release.wait(10)
            return []

        lexical = search = nearest

    settings = parts.settings.model_copy(update={"recall_deadline_ms": 150})
    try:
        made = injection.Injection(_with(parts, store=Slow(), settings=settings))
        later = asyncio.run(asyncio.wait_for(made.before(said("What database do we use?", "Postgres.", "What is my name?")), 5))
    finally:
        release.set()
    assert len(later.blocks) == 1


def test_a_block_that_could_not_be_recorded_is_not_inserted(parts: Parts) -> None:
    class ReadOnly:
        def read(self, keys: Sequence[str]) -> dict[str, ports.Entry]:
            return {}

        def write(self, entries: Mapping[str, ports.Entry]) -> None:
            raise errors.Unavailable("redis")

    assert before(_with(parts, ledger=ReadOnly()), said("What database do we use?")).blocks == {}


def test_an_answered_turn_is_recorded_redacted_with_the_memories_it_was_told(parts: Parts) -> None:
    prepared = before(parts, said("We use Postgres 15 as our database? ana@example.com, ana@example.com"))
    finish(parts, prepared)
    jobs = {job_id: parts.book.claim(job_id) for job_id in (f"learn_turn-{prepared.call.turn_id}", f"touch-{prepared.call.turn_id}")}
    learn, touch = (claim.job.payload for claim in jobs.values() if claim is not None)
    assert "ana@example.com" not in msgspec.json.encode(learn).decode()
    assert re.search(r"(<EMAIL_\d+>), \1", msgspec.json.encode(learn).decode())
    assert msgspec.json.encode(touch).count(in_memory.memory("We use Postgres 15 as our database").id.encode()) == 1


@pytest.mark.parametrize("answer", [calls.NO_ANSWER, calls.Answer(complete=False, text="half")])
def test_a_cut_answer_teaches_nothing(parts: Parts, answer: calls.Answer) -> None:
    finish(parts, before(parts, said("I prefer tabs")), answer)
    assert sum(parts.book.pending().values()) == 0


def test_a_tool_step_is_not_learnt_from(parts: Parts) -> None:
    messages = [
        {"role": "user", "content": "I prefer tabs"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "My name is Mallory"}]},
    ]
    call = anthropic.read({}, json.dumps({"model": "m", "max_tokens": 100, "messages": messages}).encode(), models.LOCAL, NOON)
    finish(parts, before(parts, call))
    assert sum(parts.book.pending().values()) == 0


def told(prepared: injection.Injected) -> str:
    return "".join(prepared.blocks.values())


def answer(message_id: str) -> calls.Answer:
    return calls.Answer(complete=True, text="Noted.", message_id=message_id)


def following(call: calls.Call, name: str) -> calls.Call:
    """The call as part of what the upstream keeps under a name, by which its turns are told from those of others."""
    turns = tuple(msgspec.structs.replace(turn, keys=tuple(injection.replied(key, name) for key in turn.keys)) for turn in call.turns)
    return msgspec.structs.replace(call, turns=turns, follows=calls.kept_key(call.principal, name), lasting=name.startswith("conv_"))


def step(words: str) -> calls.Call:
    """A call with results of tools and nothing new from the person."""
    return msgspec.structs.replace(said(words), kind=calls.Kind.STEP, turns=())


ASKED, AGAIN = "What database do we use?", "Remind me what database we use?"


@pytest.mark.parametrize(
    ("chain", "named"),
    [
        ([(said(ASKED), "resp_1")], "resp_1"),
        ([(said(ASKED), "resp_1"), (following(step("x"), "resp_1"), "resp_2")], "resp_2"),
        ([(said(ASKED), "resp_1"), (following(said("What is my name?"), "resp_1"), "resp_2")], "resp_2"),
        ([(following(said(ASKED), "conv_1"), "resp_1")], "conv_1"),
        ([(following(said(ASKED), "conv_1"), "resp_1"), (following(step("x"), "conv_1"), "resp_2")], "conv_1"),
        ([(following(said(ASKED), "conv_1"), "")], "conv_1"),
        ([(following(said(ASKED), "conv_1"), "resp_1"), (following(said("What is my name?"), "conv_1"), "resp_2")], "conv_1"),
    ],
    ids=["a turn", "a step", "a second turn", "a conversation", "a step in it", "without an id", "a second turn in it"],
)
def test_what_was_shown_in_a_conversation_that_the_upstream_keeps_is_not_shown_again(
    parts: Parts, chain: list[tuple[calls.Call, str]], named: str
) -> None:
    """OpenAI's `previous_response_id` and `conversation`: the request holds the new turn alone."""
    for call, message_id in chain:
        finish(parts, before(parts, call), answer(message_id))
    assert "Postgres" not in told(before(parts, following(said(AGAIN), named)))
    assert "Postgres" in told(before(parts, said(AGAIN))), "elsewhere it is"


def test_what_one_branch_of_a_kept_conversation_was_shown_another_was_not(parts: Parts) -> None:
    finish(parts, before(parts, said("What is my name?")), answer("resp_1"))
    finish(parts, before(parts, following(said(ASKED), "resp_1")), answer("resp_2"))
    assert "Postgres" in told(before(parts, following(said(AGAIN), "resp_1")))
    assert "Postgres" not in told(before(parts, following(said(AGAIN), "resp_2")))


def test_a_retry_in_a_kept_conversation_gets_the_same_bytes(parts: Parts) -> None:
    first = before(parts, following(said(ASKED), "conv_1"))
    finish(parts, first, calls.NO_ANSWER)
    in_memory.keep(parts, in_memory.memory("We also use Redis as a database"))
    assert before(parts, following(said(ASKED), "conv_1")).blocks == first.blocks != {}


@pytest.mark.parametrize("session", ["", "s-1"])
def test_the_same_words_again_are_another_turn_of_a_kept_conversation(parts: Parts, session: str) -> None:
    """Their keys don't tell how far the conversation has come."""
    first = before(parts, following(said("yes, I prefer tabs", session=session), "conv_1"))
    finish(parts, first, calls.NO_ANSWER)
    retried = before(parts, following(said("yes, I prefer tabs", session=session), "conv_1"))
    finish(parts, retried)
    again = before(parts, following(said("yes, I prefer tabs", session=session), "conv_1"))
    assert first.call.turn_id == retried.call.turn_id != again.call.turn_id


def test_a_kept_conversation_of_which_the_ledger_knows_nothing_is_told_as_a_new_one(parts: Parts) -> None:
    assert "Postgres" in told(before(parts, following(said(ASKED), "resp_0")))


def test_what_a_kept_conversation_of_another_person_was_shown_says_nothing_here(parts: Parts) -> None:
    finish(parts, before(parts, said(ASKED)), answer("resp_1"))
    other = calls.kept_key(models.Principal(models.LOCAL.team, "someone else"), "resp_1")
    assert "Postgres" in told(before(parts, msgspec.structs.replace(said(AGAIN), follows=other)))


def listed(*messages: dict[str, object], session: str = "") -> calls.Call:
    headers = {"x-claude-code-session-id": session} if session else {}
    return anthropic.read(headers, json.dumps({"model": "m", "max_tokens": 100, "messages": messages}).encode(), models.LOCAL, NOON)


def words_of(*texts: str) -> list[dict[str, object]]:
    return [{"role": "user", "content": text} for text in texts]


def tool_of(name: str) -> list[dict[str, object]]:
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": name, "name": "Read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": "ok"}]},
    ]


def test_conversations_that_begin_alike_keep_what_each_was_told_though_the_assistant_said_nothing(parts: Parts) -> None:
    """It called a tool."""
    first = before(parts, said(ASKED))
    finish(parts, first, calls.Answer(complete=True, asks="Read toolu_1"))
    in_memory.keep(parts, in_memory.memory("We also use Redis as a database"))
    other = before(parts, said(ASKED))
    finish(parts, other, calls.Answer(complete=True, asks="Read toolu_2"))
    assert first.blocks != other.blocks
    for name, made in (("toolu_1", first), ("toolu_2", other)):
        assert list(before(parts, listed(*words_of(ASKED), *tool_of(name))).blocks.values()) == list(made.blocks.values())


@pytest.mark.parametrize("session", ["", "s-1"])
@pytest.mark.parametrize("form", ["{}\n\n{}", None], ids=["in its text", "as a block of its own"])
def test_a_block_that_stands_in_a_message_is_not_put_there_again(parts: Parts, session: str, form: str | None) -> None:
    """The client talks to a BRB before this one, or keeps what it is told."""

    def holding(block: str) -> dict[str, object]:
        texts = [form.format(ASKED, block)] if form else [ASKED, block]
        return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}

    first = before(parts, said(ASKED, session=session))
    [block] = first.blocks.values()
    again = before(parts, listed(holding(block), session=session))
    assert again.blocks == {}
    assert again.call.turn_id == first.call.turn_id
    assert again.shown == first.shown
    finish(parts, again)
    later = before(parts, listed(holding(block), {"role": "assistant", "content": "Noted."}, *words_of(AGAIN), session=session))
    assert later.blocks == {}
    bare = before(parts, said(ASKED, "Noted.", AGAIN, session=session))
    assert list(bare.blocks.values()) == [block]
    other = before(parts, listed(holding(block.replace("Postgres", "Oracle")), session="s-2"))
    assert list(other.blocks.values()) == [block], "another block is not that one"


def learnt(parts: Parts, prepared: injection.Injected) -> tuple[str, list[str]]:
    """Words and context of what is to be learnt from an answered turn."""
    finish(parts, prepared)
    claim = parts.book.claim(f"learn_turn-{prepared.call.turn_id}")
    assert claim is not None
    assert isinstance(claim.job.payload, messages.LearnTurn)
    return claim.job.payload.words, list(claim.job.payload.context)


@pytest.mark.parametrize("session", ["", "s-1"])
def test_all_that_a_person_says_before_the_answer_is_recalled_for_and_learnt(parts: Parts, session: str) -> None:
    opening = [*words_of("Hello!"), {"role": "assistant", "content": "Hi."}]
    prepared = before(parts, listed(*opening, *words_of("What database do we use?", "I prefer tabs"), session=session))
    assert "Postgres" in told(prepared)
    assert learnt(parts, prepared) == ("What database do we use?\nI prefer tabs", ["Hello!"])


def test_words_that_were_answered_before_are_not_learnt_again_though_the_client_drops_the_answer(parts: Parts) -> None:
    assert learnt(parts, before(parts, listed(*words_of("I prefer tabs"))))[0] == "I prefer tabs"
    assert learnt(parts, before(parts, listed(*words_of("I prefer tabs", "I like tea", "I like rain"))))[0] == "I like tea\nI like rain"


def test_words_whose_answer_was_cut_are_learnt_with_the_next(parts: Parts) -> None:
    first = before(parts, listed(*words_of(ASKED), session="s-1"))
    finish(parts, first, calls.NO_ANSWER)
    prepared = before(parts, listed(*words_of(ASKED, "And I prefer tabs"), session="s-1"))
    assert list(prepared.blocks.values()) == list(first.blocks.values())
    assert learnt(parts, prepared)[0] == f"{ASKED}\nAnd I prefer tabs"


SHOWN = frozenset({"m2", "m1"})


@pytest.mark.parametrize(
    ("call", "message_id", "shown", "names"),
    [
        (said(ASKED), "msg_1", SHOWN, []),
        (said(ASKED), "chatcmpl-1", SHOWN, []),
        (said(ASKED), "", SHOWN, []),
        (said(ASKED), "resp_1", SHOWN, ["resp_1"]),
        (following(said(ASKED), "resp_1"), "resp_2", SHOWN, ["resp_2"]),
        (following(said(ASKED), "own_1"), "own_2", SHOWN, ["own_2"]),
        (following(step("x"), "resp_1"), "resp_2", SHOWN, ["resp_2"]),
        (following(said(ASKED), "conv_1"), "resp_2", SHOWN, ["resp_2", "conv_1"]),
        (following(said(ASKED), "conv_1"), "", SHOWN, ["conv_1"]),
        (following(said(ASKED), "conv_1"), "resp_2", frozenset(), []),
    ],
)
def test_the_ledger_holds_what_was_shown_under_the_names_that_the_upstream_keeps(
    call: calls.Call, message_id: str, shown: frozenset[str], names: list[str]
) -> None:
    keys = [calls.kept_key(models.LOCAL, name) for name in names]
    assert injection.kept(call, answer(message_id), shown) == dict.fromkeys(keys, ports.Entry("", ("m1", "m2"), answered=True))


def test_a_cut_answer_keeps_nothing_of_the_conversation(parts: Parts) -> None:
    finish(parts, before(parts, said(ASKED)), calls.Answer(complete=False, text="half", message_id="resp_1"))
    assert parts.ledger.read([calls.kept_key(models.LOCAL, "resp_1")]) == {}


class Gated:
    """A ledger whose writes wait to be let through."""

    def __init__(self, ledger: ports.Ledger) -> None:
        self._ledger = ledger
        self.writing, self.go_on, self.written = threading.Event(), threading.Event(), threading.Event()

    def read(self, keys: Sequence[str]) -> dict[str, ports.Entry]:
        return self._ledger.read(keys)

    def write(self, entries: Mapping[str, ports.Entry]) -> None:
        late = self.go_on.is_set()
        self.writing.set()
        self.go_on.wait(10)
        self._ledger.write(entries)
        if late:
            self.written.set()


def test_a_block_that_was_recorded_too_late_is_not_replayed_either(parts: Parts) -> None:
    ledger = Gated(parts.ledger)
    made = injection.Injection(_with(parts, ledger=ledger, settings=parts.settings.model_copy(update={"recall_deadline_ms": 100})))
    try:
        prepared = asyncio.run(made.before(said(ASKED)))
        assert ledger.writing.wait(10)
        assert prepared.blocks == {}
    finally:
        ledger.go_on.set()
        made.close()
    assert ledger.written.wait(10)
    assert before(parts, said(ASKED, "I don't know.", "Thanks, bye")).blocks == {}


def test_a_turn_for_which_there_was_no_time_does_not_get_the_block_of_another_that_began_alike(parts: Parts) -> None:
    finish(parts, before(parts, said(ASKED)), calls.Answer(complete=True, text="Postgres."))
    made = before(_with(parts, store=Away()), said(ASKED))
    assert made.blocks == {}
    finish(parts, made, calls.Answer(complete=True, text="I don't know."))
    assert before(parts, said(ASKED, "I don't know.", "Thanks, bye")).blocks == {}
    assert "Postgres" in told(before(parts, said(ASKED, "Postgres.", "Thanks, bye")))


def test_old_blocks_are_replayed_however_many_recalls_are_stuck(parts: Parts) -> None:
    """100 new turns at once must not cost the prompt cache of any of them."""
    finish(parts, before(parts, said(ASKED)))
    release = threading.Event()

    class Stuck:
        def nearest(self, *_: object, **__: object) -> list[models.Hit]:
            release.wait(10)
            return []

        lexical = search = nearest

    async def all_at_once(made: injection.Injection) -> list[injection.Injected]:
        new = [made.before(said(ASKED, "Postgres.", f"What is my name, say it {number} times?")) for number in range(100)]
        return await asyncio.gather(*new, made.before(said(ASKED, "Postgres.")))

    made = injection.Injection(_with(parts, store=Stuck(), settings=parts.settings.model_copy(update={"recall_deadline_ms": 2000})))
    try:
        prepared = asyncio.run(asyncio.wait_for(all_at_once(made), 10))
    finally:
        release.set()
        made.close()
    assert [len(one.blocks) for one in prepared] == [1] * 101


@pytest.mark.parametrize(
    ("ahead", "seconds_each", "left_seconds", "worth"),
    [(0, 0.02, 0.24, True), (0, 9.0, 0.01, True), (5, 0.04, 0.24, True), (6, 0.04, 0.24, False), (1, 0.2, 0.24, False)],
)
def test_who_would_wait_too_long_for_an_embedding_does_not_wait(ahead: int, seconds_each: float, left_seconds: float, worth: bool) -> None:
    assert injection.worth_embedding(ahead, seconds_each, left_seconds) is worth


class Taking:
    """An embedder by whose clock each text takes its time; or which, held, does not answer until it is let go on."""

    model, dimension = "taking", 2

    def __init__(self, seconds: float) -> None:
        self.now = 0.0
        self.seconds = seconds
        self.asked = 0
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    def clock(self) -> float:
        return self.now

    def embed(self, texts: Sequence[str], kind: str, *, timeout_seconds: float | None = None) -> list[list[float]]:
        self.asked += 1
        self.begun.set()
        self.go_on.wait(10)
        self.now += self.seconds
        return [[1.0, 0.0] for _ in texts]

    def ping(self) -> None:
        return


def _behind(taking: Taking, in_turn: injection.InTurn, timeout_seconds: float) -> bool:
    """Whether one that comes while another is being served is served too."""
    taking.go_on.clear()
    taking.begun.clear()
    first = threading.Thread(target=in_turn.embed, args=(["x"], "query"))
    first.start()
    assert taking.begun.wait(10)
    taking.begun.clear()
    second = threading.Thread(target=_quietly, args=(in_turn, timeout_seconds))
    second.start()
    while second.is_alive() and not taking.begun.is_set():
        second.join(0.005)
    served = taking.begun.is_set()
    taking.go_on.set()
    first.join(10)
    second.join(10)
    return served


def _quietly(in_turn: injection.InTurn, timeout_seconds: float) -> None:
    with contextlib.suppress(errors.Unavailable):
        in_turn.embed(["y"], "query", timeout_seconds=timeout_seconds)


def test_an_embedder_that_turned_out_slow_serves_one_at_a_time_and_a_fast_one_more() -> None:
    for seconds, served in ((1.0, False), (0.001, True)):
        taking = Taking(seconds)
        in_turn = injection.InTurn(taking, taking.clock)
        for _ in range(20):
            in_turn.embed(["x"], "query", timeout_seconds=0.24)
        assert _behind(taking, in_turn, 0.24) is served


def test_many_new_turns_at_once_are_told_by_words_alone_where_the_embedder_is_slow(parts: Parts) -> None:
    """32 at the same instant used to go without: they waited for an embedder that serves one after the other."""
    release = threading.Event()

    class Hung:
        model, dimension = "hung", 64

        def embed(self, texts: Sequence[str], kind: str, *, timeout_seconds: float | None = None) -> list[list[float]]:
            assert timeout_seconds is not None
            release.wait(timeout_seconds)
            raise errors.Unavailable("llama.cpp")

        def ping(self) -> None:
            return

    async def all_at_once(made: injection.Injection) -> list[injection.Injected]:
        return await asyncio.gather(*(made.before(said(f"What database do we use in region {number}?")) for number in range(32)))

    made = injection.Injection(_with(parts, embedder=Hung(), settings=parts.settings.model_copy(update={"recall_deadline_ms": 2000})))
    try:
        prepared = asyncio.run(all_at_once(made))
    finally:
        release.set()
        made.close()
    assert ["Postgres" in told(one) for one in prepared] == [True] * 32


@pytest.mark.parametrize(("shut_out", "learnt"), [(False, 1), (True, 0)])
def test_nothing_is_learnt_from_a_turn_that_ends_after_its_person_was_shut_out(tmp_path: Path, shut_out: bool, learnt: int) -> None:
    """He may have left, and all that was his alone is erased by then."""
    parts = in_memory.parts(tmp_path, auth="token")
    token_for(parts.tokens, models.LOCAL)
    prepared = before(parts, said("We use Kafka for events"))
    if shut_out:
        for one in parts.tokens.all():
            parts.tokens.revoke(one.token.id, NOON)
    finish(parts, prepared)
    assert sum(parts.book.pending().values()) == learnt

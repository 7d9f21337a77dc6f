"""Which blocks a call gets: pure decisions as tables, and the interceptor over in-memory parts."""

import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from services.core import errors, models, ports
from services.proxy import injection
from services.proxy.parts import Parts
from services.proxy.wire import anthropic, calls
from tests.support import in_memory

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


def test_without_a_session_the_same_words_are_another_turn_once_they_were_answered(parts: Parts) -> None:
    first = before(parts, said("I prefer tabs"))
    finish(parts, first, calls.NO_ANSWER)
    retried = before(parts, said("I prefer tabs"))
    assert retried.call.turn_id == first.call.turn_id
    finish(parts, retried)
    assert before(parts, said("I prefer tabs")).call.turn_id != first.call.turn_id


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

        lexical = nearest

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
    assert "<EMAIL_1>, <EMAIL_1>" in msgspec.json.encode(learn).decode()
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

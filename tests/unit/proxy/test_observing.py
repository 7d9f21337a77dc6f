"""What told and answered turns are counted as, through the interceptor over in-memory parts."""

import asyncio
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from prometheus_client import REGISTRY

from services.core import messages, models
from services.core.telemetry import Turned, Used
from services.proxy import framing, injection, observing
from services.proxy.parts import Parts
from services.proxy.wire import anthropic, calls
from tests.support import in_memory

ALIKE = ("We use Postgres 15 as our main database", "Our main database is Postgres 15, we use it")


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


class Rise:
    """How much a sample has grown since this was made."""

    def __init__(self, name: str, **labels: str) -> None:
        self._read: Callable[[], float] = lambda: value(name, **labels)
        self._before = self._read()

    def __call__(self) -> float:
        return self._read() - self._before


def said(*texts: str, at: float = in_memory.NOW, agent: bool = False) -> calls.Call:
    turns = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
    call = anthropic.read({}, json.dumps({"model": "m", "max_tokens": 100, "messages": turns}).encode(), models.LOCAL, at)
    return replace(call, learns=False) if agent else call


def turn(parts: Parts, call: calls.Call, answer: str = "Noted.", *, complete: bool = True) -> None:
    made = injection.Injection(parts)
    try:
        prepared = asyncio.run(made.before(call))
        asyncio.run(made.after(prepared, calls.Answer(complete=complete, text=answer)))
    finally:
        made.close()


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    given = in_memory.parts(tmp_path, shadow_share=1.0, recall_deadline_ms=5000)
    in_memory.keep(given, *(in_memory.memory(text, said_at=in_memory.NOW - 10 * 86_400) for text in ALIKE))
    return given


def test_a_block_is_observed_for_what_it_repeats_and_for_its_age(parts: Parts) -> None:
    blocks, alike = Rise("brb_injected_redundancy_count"), Rise("brb_injected_redundancy_sum")
    memories, days = Rise("brb_injected_age_days_count"), Rise("brb_injected_age_days_sum")
    turn(parts, said("What main database do we use?"))

    assert (blocks(), memories()) == (1, 2)
    assert 0.5 < alike() <= 1.0
    assert days() == pytest.approx(20.0)


def test_a_turn_that_is_told_nothing_is_not_observed(parts: Parts) -> None:
    blocks, memories = Rise("brb_injected_redundancy_count"), Rise("brb_injected_age_days_count")
    turn(parts, said("Sing me a haiku of autumn leaves"))

    assert (blocks(), memories()) == (0, 0)


@pytest.mark.parametrize(("share", "expected"), [(1.0, 1), (0.0, 0)])
def test_a_sample_of_recalls_is_searched_once_more_without_an_index(parts: Parts, share: float, expected: int) -> None:
    searched, overlap = Rise("brb_shadow_overlap_count"), Rise("brb_shadow_overlap_sum")
    settings = parts.settings.model_copy(update={"shadow_share": share})
    turn(dataclasses.replace(parts, settings=settings), said("What main database do we use?"))

    assert (searched(), overlap()) == (expected, expected), "this store has no index: it finds them all"


def test_an_index_that_misses_the_nearest_is_seen(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    searched, overlap = Rise("brb_shadow_overlap_count"), Rise("brb_shadow_overlap_sum")
    nearest = parts.store.nearest
    monkeypatch.setattr(parts.store, "nearest", lambda *a, exact=False, **k: nearest(*a, exact=exact, **k)[0 if exact else 1 :])
    turn(parts, said("What main database do we use?"))

    assert (searched(), overlap()) == (1, 0.5)


@pytest.mark.parametrize("status", [models.Status.CURRENT, models.Status.SUPERSEDED])
def test_a_shown_memory_that_is_not_current_any_more_counts(status: models.Status) -> None:
    stale = Rise("brb_superseded_shown_total")
    observing.superseded([in_memory.memory("a", status=status), None])

    assert stale() == (status is models.Status.SUPERSEDED)


def test_a_memory_that_is_superseded_under_the_recall_is_seen(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    stale, get = Rise("brb_superseded_shown_total"), parts.store.get
    monkeypatch.setattr(parts.store, "get", lambda *a: (m := get(*a)) and replace(m, status=models.Status.SUPERSEDED))
    turn(parts, said("What main database do we use?"))

    assert stale() == 2


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("You are on Postgres 15.", {Used.YES: 2, Used.NO: 0, Used.UNKNOWN: 0}),
        ("It depends on what you need.", {Used.YES: 0, Used.NO: 2, Used.UNKNOWN: 0}),
        ("", {Used.YES: 0, Used.NO: 0, Used.UNKNOWN: 2}),
    ],
)
def test_an_answer_tells_whether_it_used_what_the_turn_was_told(parts: Parts, answer: str, expected: dict[Used, int]) -> None:
    rises = {used: Rise("brb_memory_used_total", used=used) for used in Used}
    turn(parts, said("What main database do we use?"), answer)

    assert {used: rise() for used, rise in rises.items()} == expected


def test_an_answer_that_broke_off_tells_nothing(parts: Parts) -> None:
    rises = [Rise("brb_memory_used_total", used=used) for used in Used]
    turns = [Rise("brb_turns_total", outcome=outcome) for outcome in Turned]
    turn(parts, said("What main database do we use?"), "You are on Postgres 15.", complete=False)

    assert [rise() for rise in (*rises, *turns)] == [0] * 6


AGAIN = ("Which port does staging listen on?", "I don't know.", "Again: which port does staging listen on?")


@pytest.mark.parametrize(("agent", "expected"), [(False, 1), (True, 0)])
def test_asking_again_counts_if_a_person_does(parts: Parts, agent: bool, expected: int) -> None:
    again = Rise("brb_reasks_total", kind="repeat")
    turn(parts, said(*AGAIN, agent=agent))

    assert again() == expected


def test_a_correction_counts(parts: Parts) -> None:
    corrections = Rise("brb_reasks_total", kind="correction")
    turn(parts, said("Which port is it?", "5432.", "No, that's wrong: it is 5433"))

    assert corrections() == 1


@pytest.mark.parametrize(
    ("call", "recorded", "expected"),
    [
        (said("My name is Leo"), True, Turned.QUEUED),
        (said("My name is Leo"), False, Turned.SPOOLED),
        (said("My name is Leo", agent=True), True, Turned.NOTHING),
    ],
)
def test_each_answered_turn_counts_by_what_became_of_it(parts: Parts, call: calls.Call, recorded: bool, expected: Turned) -> None:
    rises = {outcome: Rise("brb_turns_total", outcome=outcome) for outcome in Turned}
    turn(dataclasses.replace(parts, enqueue=lambda jobs: recorded), call)

    assert {outcome for outcome, rise in rises.items() if rise()} == {expected}
    assert rises[expected]() == 1


def test_the_steps_of_an_agent_are_no_turns(parts: Parts) -> None:
    turns = [Rise("brb_turns_total", outcome=outcome) for outcome in Turned]
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]
    asked = [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]
    body = {"model": "m", "max_tokens": 9, "messages": [said_by("user", "Do it"), said_by("assistant", asked), said_by("user", result)]}
    turn(parts, anthropic.read({}, json.dumps(body).encode(), models.LOCAL, in_memory.NOW))

    assert [rise() for rise in turns] == [0, 0, 0]


def said_by(role: str, content: object) -> dict[str, object]:
    return {"role": role, "content": content}


def test_only_what_is_to_be_learnt_makes_a_turn_a_job() -> None:
    touch = messages.Job.of(messages.Task.TOUCH, messages.Touch("t", models.LOCAL, ("m",), 1.0))

    assert observing.turned([touch], recorded=True) is Turned.NOTHING


def test_the_texts_of_a_block_come_back_in_order(parts: Parts) -> None:
    ranked = [ranked_of(text) for text in (*ALIKE, "a [b] c")]
    block = framing.block(ranked, now=in_memory.NOW, redact=list, max_tokens=500)

    assert block is not None
    assert framing.texts(block.text) == [*ALIKE, "a [b] c"]
    assert framing.texts("") == []


def ranked_of(text: str) -> models.Ranked:
    return models.Ranked(
        memory=in_memory.memory(text), score=1.0, similarity=1.0, dense_rank=1, lexical_rank=1, rrf=0.1, strength=1.0, recency=1.0, temporal=1.0
    )

"""What is kept of a turn: a table of ends, and a recorder that nobody waits for."""

import asyncio
import dataclasses
import threading
import time
from pathlib import Path

import pytest

from services.core import errors, models, ports
from services.core.recall import engine
from services.proxy import framing, injection, telling
from services.proxy.parts import Parts
from services.proxy.wire import anthropic, calls
from tests.support import in_memory

NOON = 1_800_000_000.0
POSTGRES, LEO = in_memory.memory("We use Postgres 15 as our database"), in_memory.memory("My name is Leo")


def asked(words: str, *, project: str = "", session: str = "") -> calls.Call:
    body = b'{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "%s"}]}' % words.encode()
    headers = {name: value for name, value in (("x-brb-project", project), ("x-claude-code-session-id", session)) if value}
    return anthropic.read(headers, body, models.LOCAL, NOON)


def ranked(memory: models.Memory, score: float = 0.6) -> models.Ranked:
    return models.Ranked(memory, score, 0.7, 1, 1, 0.03, 0.5, 0.5, 0.5, cosine=0.65)


def finding(shown: tuple[str, ...]) -> telling.Finding:
    recall = engine.Recall(
        ranked=(ranked(POSTGRES),),
        mode="hybrid",
        considered=(engine.Dropped(ranked(LEO, 0.0), "similarity 0.20 is under 0.30"),),
        query="database",
        gate=0.3,
    )
    return telling.Finding("which database", recall, framing.Framed("<block>", shown, 9) if shown else None)


def unchanged(texts: list[str]) -> list[str]:
    return list(texts)


@pytest.mark.parametrize(
    ("outcome", "shown", "block", "reasons"),
    [
        ("injected", (POSTGRES.id,), "<block>", ["", "similarity 0.20 is under 0.30"]),
        ("empty", (), "", ["it did not fit into the block", "similarity 0.20 is under 0.30"]),
        ("deadline", (POSTGRES.id,), "", ["it was found too late", "similarity 0.20 is under 0.30"]),
    ],
)
def test_only_what_was_inserted_counts_as_told(outcome: str, shown: tuple[str, ...], block: str, reasons: list[str]) -> None:
    kept = telling.told(asked("which database?"), outcome, finding(shown), took_ms=4.0, redact=unchanged)

    assert (kept.outcome, kept.block, kept.gate, kept.took_ms) == (outcome, block, 0.3, 4.0)
    assert [one.reason for one in kept.considered] == reasons
    assert (kept.words, kept.asked) == ("which database?", "database")


def test_a_turn_whose_recall_came_to_nothing_is_kept_as_well() -> None:
    kept = telling.told(asked("hello", project="/srv/shop", session="s1"), "ledger_away", None, took_ms=300.0, redact=unchanged)

    assert (kept.words, kept.asked, kept.project, kept.session, kept.considered, kept.gate) == ("hello", "", "/srv/shop", "s1", (), None)


def test_words_are_redacted_before_they_are_cut() -> None:
    secret = "x" * (telling.LONGEST_WORDS - 3) + "SECRET"
    kept = telling.told(asked(secret), "empty", None, took_ms=1.0, redact=lambda texts: [text.replace("SECRET", "*") for text in texts])

    assert "SEC" not in kept.words
    assert len(kept.words) <= telling.LONGEST_WORDS


def test_what_comes_while_too_much_waits_is_left_out() -> None:
    recorder, gate, done = telling.Recorder(most_waiting=2), threading.Event(), list[int]()
    assert recorder.submit(lambda: (gate.wait(10), done.append(1))[0] and None)
    assert recorder.submit(lambda: done.append(2))
    assert not recorder.submit(lambda: done.append(3))
    gate.set()
    recorder.close()

    assert done == [1, 2]
    assert not recorder.submit(lambda: None), "it is closed"


def test_there_is_room_again_once_something_is_done() -> None:
    recorder = telling.Recorder(most_waiting=1)
    for _ in range(3):
        done, deadline = threading.Event(), time.monotonic() + 10
        while not recorder.submit(done.set):  # the one before is done, and its place about to be free
            assert time.monotonic() < deadline
        assert done.wait(10)
    recorder.close()


def test_a_record_that_fails_harms_no_later_one() -> None:
    recorder, done = telling.Recorder(), list[int]()

    def fail() -> None:
        raise errors.Unavailable("redis", "away")

    recorder.submit(fail)
    recorder.submit(lambda: done.append(1))
    recorder.close()

    assert done == [1]


# the interceptor over in-memory parts


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    given = in_memory.parts(tmp_path)
    in_memory.keep(given, POSTGRES, LEO)
    patient = given.settings.model_copy(update={"recall_deadline_ms": 30_000})  # how fast it recalls is not tested here
    return dataclasses.replace(given, settings=patient)


def before(parts: Parts, *asking: calls.Call) -> list[injection.Injected]:
    made = injection.Injection(parts)

    async def one_after_the_other() -> list[injection.Injected]:
        return [await made.before(call) for call in asking]

    try:
        return asyncio.run(one_after_the_other())
    finally:
        made.close()


def latest(parts: Parts) -> ports.Told:
    (one,) = parts.turns.latest(models.LOCAL)
    return one


def test_a_turn_is_recorded_with_what_it_was_told(parts: Parts) -> None:
    [prepared] = before(parts, asked("What database do we use?", session="s1"))
    kept = latest(parts)

    assert kept.turn == dict(prepared.headers)["x-brb-turn"]
    assert (kept.outcome, kept.session, kept.at) == ("injected", "s1", NOON)
    assert [kept.block] == list(prepared.blocks.values())
    assert [one.id for one in kept.considered if not one.reason] == [POSTGRES.id]
    assert all("is under" in one.reason for one in kept.considered if one.id == LEO.id)
    assert kept.tokens > 10
    assert [told.turn for told in parts.turns.showing(models.LOCAL, POSTGRES.id)] == [kept.turn]


def test_a_turn_that_nothing_fits_is_recorded(parts: Parts) -> None:
    before(parts, asked("Write a haiku about the sea"))

    assert (latest(parts).outcome, latest(parts).block) == ("empty", "")


def test_a_repeated_call_keeps_the_first_record(parts: Parts) -> None:
    again = asked("What database do we use?", session="s1")
    before(parts, again, again)

    assert latest(parts).outcome == "injected"


class _Away:
    def __getattr__(self, _name: str) -> object:
        def away(*_: object) -> object:
            raise errors.Unavailable("redis", "ConnectionError")

        return away


def test_a_ledger_that_is_away_is_recorded_where_it_can_be(parts: Parts) -> None:
    before(dataclasses.replace(parts, ledger=_Away()), asked("What database do we use?"))

    assert latest(parts).outcome == "ledger_away"


def test_a_log_of_turns_that_is_away_costs_the_call_nothing(parts: Parts) -> None:
    [prepared] = before(dataclasses.replace(parts, turns=_Away()), asked("What database do we use?"))

    assert len(prepared.blocks) == 1


def test_what_is_forgotten_while_it_is_recorded_is_not_kept(parts: Parts) -> None:
    """Whoever forgets erases the memory, then the records of it; this one is written after that."""
    real = parts.turns

    class Late:
        def add(self, principal: models.Principal, told: ports.Told) -> None:
            parts.store.delete(models.Scope("local", "me", None), [POSTGRES.id])
            real.forget("local", [POSTGRES.id])
            real.add(principal, told)

        forget = staticmethod(real.forget)

    before(dataclasses.replace(parts, turns=Late()), asked("What database do we use?"))

    assert real.latest(models.LOCAL) == []

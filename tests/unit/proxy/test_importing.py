"""What is said elsewhere becomes jobs: of the person's own words, redacted, once."""

import re
from pathlib import Path
from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import errors, import_api, memory_ids, messages, models
from services.proxy import importing, learning
from services.proxy.app import create_app
from services.proxy.parts import Parts
from tests.support import in_memory
from tests.support.in_memory import NOW

ANA = models.Principal("local", "ana")


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return in_memory.parts(tmp_path)


def turn(item: str, *words: str, **fields: Any) -> import_api.Turn:
    return import_api.Turn(**{"id": item, "said_at": 1_700_000_000.0, "words": words or ("We use Postgres",), **fields})


def taken(parts: Parts, *turns: import_api.Turn, who: models.Principal = models.LOCAL, source: import_api.Source = "claude") -> import_api.Taken:
    return importing.taken(parts, who, import_api.Turns(source, turns))


def job(parts: Parts, item: str, who: models.Principal = models.LOCAL, source: str = "claude") -> messages.LearnTurn:
    claim = parts.book.claim(f"learn_imported-{memory_ids.of_import(who, source, item)}")
    assert claim is not None
    assert claim.job.task is messages.Task.LEARN_IMPORTED
    assert isinstance(claim.job.payload, messages.LearnTurn)
    return claim.job.payload


def test_a_turn_becomes_a_job_like_one_on_the_wire(parts: Parts) -> None:
    one = turn("1", "We use Postgres", context=("I am Leo",), answer="Fine.", project="/shop", session="c1")
    assert taken(parts, one) == import_api.Taken(new=1, waiting=1)
    made = job(parts, "1")
    assert (made.words, made.context, made.answer, made.project, made.session) == ("We use Postgres", ("I am Leo",), "Fine.", "/shop", "c1")
    assert (made.said_at, made.imported, made.by_hand, made.principal) == (1_700_000_000.0, True, False, models.LOCAL)


def test_a_statement_keeps_its_category(parts: Parts) -> None:
    taken(parts, turn("1", statement=True, category=models.Category.DECISION), source="mem0")
    made = job(parts, "1", source="mem0")
    assert (made.by_hand, made.category, made.imported) == (True, "decision", True)


def test_the_same_again_is_known_to_its_person_and_source_alone(parts: Parts) -> None:
    taken(parts, turn("1"))
    assert taken(parts, turn("1"), turn("2")) == import_api.Taken(new=1, known=1, waiting=2)
    assert taken(parts, turn("1"), who=ANA).new == 1
    assert taken(parts, turn("1"), source="chatgpt").new == 1
    assert taken(parts, turn("3"), turn("3")) == import_api.Taken(new=1, known=1, waiting=5)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (("<system-reminder>x</system-reminder>", "We use Postgres"), "We use Postgres"),
        (("<command-message>x</command-message><command-args>use Redis</command-args>",), "use Redis"),
        (("This session is being continued from a previous conversation that ran out",), ""),
        (("[Request interrupted by user]",), ""),
        (("<local-command-stdout>x</local-command-stdout>",), ""),
        (("  ",), ""),
        ((), ""),
    ],
)
def test_only_the_persons_own_words_are_learnt_from(parts: Parts, texts: tuple[str, ...], words: str) -> None:
    done = taken(parts, turn("1", words=texts, context=texts))
    assert (done.new, done.empty) == (int(bool(words)), int(not words))
    if words:
        made = job(parts, "1")
        assert (made.words, made.context) == (words, (words,))


def test_what_is_queued_is_redacted_before_it_is_cut(parts: Parts) -> None:
    long = "x" * (learning.MAX_WORDS_CHARS - 10) + " ana@example.org is her address"
    taken(parts, turn("1", long, context=("mail bo@example.org",), answer="Mail cy@example.org."))
    made = job(parts, "1")
    assert len(made.words) == learning.MAX_WORDS_CHARS
    assert "@" not in made.words + made.context[0] + made.answer
    assert re.search(r"<EMAIL_\d+>", made.context[0])


def test_nothing_was_said_in_the_future(parts: Parts) -> None:
    taken(parts, turn("1", said_at=NOW + 99))
    assert job(parts, "1").said_at == NOW


def test_too_much_that_waits_asks_for_a_pause_but_what_is_known_passes(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    taken(parts, turn("1"))
    monkeypatch.setattr(import_api, "MOST_WAITING", 1)
    assert taken(parts, turn("2")) == import_api.Taken(waiting=1, busy=True)
    assert taken(parts, turn("1")) == import_api.Taken(known=1, waiting=1)
    assert parts.book.pending()[messages.Lane.PATIENT] == 1


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"id": ""}, "its id has 0"),
        ({"id": "x" * 501}, "its id has 501"),
        ({"said_at": -1.0}, "said_at"),
        ({"said_at": float("nan")}, "said_at"),
        ({"said_at": 1.7e12}, "seconds since 1970"),
        ({"words": ("x",) * 101}, "more than 100 texts"),
        ({"project": "x" * 1001}, "1000 characters"),
        ({"words": ("x" * 2001,), "statement": True}, "at most 2000"),
    ],
)
def test_what_makes_no_sense_refuses_all_of_it_by_its_place(parts: Parts, fields: dict[str, Any], says: str) -> None:
    with pytest.raises(errors.BadInput, match=rf"turns\[1\].*{says}"):
        taken(parts, turn("1"), turn("2", **fields))
    assert parts.book.pending()[messages.Lane.PATIENT] == 0


def test_the_route_takes_turns_and_says_what_is_wrong(parts: Parts) -> None:
    client: TestClient[Litestar]
    with TestClient(create_app(parts), base_url="http://127.0.0.1:3000", raise_server_exceptions=False) as client:
        body = {"source": "claude", "turns": [{"id": "1", "said_at": 1.7e9, "words": ["We use Postgres"]}]}
        assert client.post("/import/turns", json=body).json() == {"new": 1, "known": 0, "empty": 0, "waiting": 1, "busy": False}
        assert client.post("/import/turns", json={**body, "source": "elsewhere"}).status_code == 400
        many = client.post("/import/turns", json={"source": "claude", "turns": body["turns"] * 65})
        assert (many.status_code, "at most 64" in many.json()["error"]["message"]) == (400, True)

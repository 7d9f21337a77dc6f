"""Taught by a conversation, recalled in another, forgotten: a later scan of all that BRB keeps finds nothing of it."""

import contextlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from harness import Brb, Person, files_of, until

from services.core import seal
from tests.support.sealed import opened

pytestmark = pytest.mark.timeout(400)  # a sweep after others rests a while
New = Callable[..., Person]

SAID = "My parrot is called Zyzzyvaquok."
NAME = b"yzzyvaquok"
KEPT = "My hamster is called Wombatino."


def everything(brb: Brb) -> Iterator[tuple[str, bytes]]:
    """Every file, and every value of Redis, unsealed where it is sealed with BRB's key."""
    for path, content in files_of(brb.data).items():
        yield str(path.relative_to(brb.data)), content
    yield "up.log", (brb.folder / "up.log").read_bytes()
    sealed = seal.Seal(seal.secret_of(brb.settings))
    with contextlib.closing(brb.redis()) as connection:
        for key in connection.scan_iter():
            for value in _values(connection, key):
                yield f"key {key!r}", opened(sealed, value)
    for route in ("/metrics", "/memories?status=all", "/turns", "/jobs/dead", "/audit", "/recall/report"):
        yield route, brb.http.get(route).content


def _values(connection: Any, key: bytes) -> list[bytes]:
    kind = connection.type(key)
    if kind == b"string":
        return [value for value in [connection.get(key)] if value is not None]
    if kind == b"hash":
        return list(connection.hgetall(key).values())
    if kind == b"set":
        return list(connection.smembers(key))
    if kind == b"zset":
        return list(connection.zrange(key, 0, -1))
    if kind == b"stream":
        return [value for _, fields in connection.xrange(key) for value in fields.values()]
    return list(connection.lrange(key, 0, -1)) if kind == b"list" else []


def places(brb: Brb) -> set[str]:
    return {name for name, content in everything(brb) if NAME in content}


def clean(brb: Brb, seconds: float = 240) -> None:
    """Wait until the sweep is done, then look."""
    until(lambda: None if (brb.data / "erased.jsonl").exists() else True, "the files were not cleaned", seconds)
    assert places(brb) == set()


def test_nothing_is_left_of_what_was_said_recalled_and_forgotten(brb: Brb, person: New) -> None:
    first = person()
    brb.worked_off(first.say(SAID).turn)
    memory = brb.memory("Zyzzyvaquok")
    brb.worked_off(person().say(KEPT).turn)
    asked = person().say("What is my parrot called?")
    assert asked.memories
    brb.idle()
    before = places(brb)
    assert any("segments" in name for name in before)
    assert any("brb:block:" in name for name in before)
    assert any("brb:turn:" in name for name in before)

    receipt = brb.http.delete(f"/memories/{memory.id}").raise_for_status().json()

    assert (receipt["id"], receipt["deleted"], receipt["ledger"] >= 1) == (memory.id, 1, True)
    clean(brb)
    assert [one.text for one in brb.memories("all")] == [brb.memory("Wombatino").text]
    assert NAME not in person().say("What is my parrot called, again?").received
    brb.idle()


def test_forgotten_by_its_conversation_with_the_command(brb: Brb, person: New) -> None:
    speaker = person()
    session = speaker._sdk.default_headers["x-claude-code-session-id"]
    brb.worked_off(speaker.say(SAID).turn)
    brb.memory("Zyzzyvaquok")
    brb.worked_off(person().say(KEPT).turn)

    listed = brb.command("memories", "forget", "--session", str(session))
    assert ("Zyzzyvaquok" in listed.stdout, "--yes" in listed.stderr) == (True, True)
    done = brb.command("memories", "forget", "--session", str(session), "--yes", "--json")

    assert json.loads(done.stdout)["receipt"]["deleted"] == 1
    clean(brb)
    brb.memory("Wombatino")


def test_forgotten_while_it_waits_to_be_learnt(brb: Brb, person: New) -> None:
    speaker = person()
    session = speaker._sdk.default_headers["x-claude-code-session-id"]
    with brb.stopped("worker"):
        speaker.say(SAID)
        until(lambda: brb.health().pending["learn"] or None, "no job was recorded")
        receipt = brb.http.post("/forget", json={"session": session, "confirm": True}).raise_for_status().json()["receipt"]
        assert receipt["jobs"] >= 1
    brb.idle()
    clean(brb)
    assert brb.memories("all") == ()


def test_cleaned_by_the_next_start_if_all_was_killed_meanwhile(brb: Brb, person: New) -> None:
    brb.worked_off(person().say(SAID).turn)
    memory = brb.memory("Zyzzyvaquok")
    brb.http.delete(f"/memories/{memory.id}").raise_for_status()
    brb.kill()
    brb.start()
    clean(brb)
    assert brb.memories("all") == ()


def test_two_at_once_lose_what_each_of_them_named(brb: Brb, person: New) -> None:
    turns = [person().say(words).turn for words in (SAID, KEPT, "My turtle is called Okapina.")]
    for turn in turns:
        brb.worked_off(turn)
    ids = [brb.memory(name).id for name in ("Zyzzyvaquok", "Wombatino")]

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda each: brb.http.delete(f"/memories/{each}"), ids))

    assert [answer.status_code for answer in answers] == [200, 200]
    assert [one.text for one in brb.memories("all")] == [brb.memory("Okapina").text]
    clean(brb)

"""A backup of a BRB that goes on, restored into an empty one: it knows the same, goes on with its conversations, and does what was left to do."""

import contextlib
import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import Brb, Person, until

from services.embedded import standin

NOTE = "# Travel\n\nTake the [[night train]] to Vienna. #trips\n\n## Food\n\nNoodles at Naschmarkt."


@contextlib.contextmanager
def installed(folder: Path, upstream: standin.StandIn, **environment: str) -> Iterator[Brb]:
    brb = Brb(folder, upstream.url, **environment)
    try:
        yield brb
    finally:
        brb.close()


def known(brb: Brb) -> dict[str, Any]:
    """All that its person can ask for."""
    listed = brb.memories("all")
    return {
        "memories": listed,
        "histories": {one.id: brb.history(one) for one in listed},
        "notes": get(brb, "/notes"),
        "export": [line for line in brb.http.get("/memories/export").text.splitlines() if "exported_at" not in line],
        "audit": [one for one in get(brb, "/audit?limit=1000")["events"] if one["act"] not in ("searched", "read", "exported")],
        "tokens": get(brb, "/tokens"),
    }


def get(brb: Brb, path: str) -> Any:
    return brb.http.get(path).raise_for_status().json()


def backed_up(brb: Brb, to: Path, *options: str) -> dict[str, Any]:
    done = brb.command("backup", str(to), "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.mark.timeout(600)
def test_all_is_there_again(tmp_path: Path, upstream: standin.StandIn) -> None:
    with installed(tmp_path / "one", upstream) as one, installed(tmp_path / "two", upstream) as two, Person(one, upstream) as asking:
        one.start(seconds=300)
        with Person(one, upstream) as person:
            person.say("Hi, my name is Leo and I'm allergic to peanuts.")
            one.memory("peanuts")
            person.say("We use Postgres 15 for the shop.")
            one.memory("Postgres 15")
            person.say("Actually, we use Postgres 16 now.")
            one.memory("Postgres 16")
        one.http.post("/notes/bulk", json={"notes": [{"text": NOTE, "path": "travel.md"}]}).raise_for_status()
        one.command("token", "create", "ana", "--team", "acme", "--role", "admin")
        one.http.delete(f"/memories/{one.memory('Leo').id}")
        one.idle()
        told = asking.say("Am I allergic to anything?")
        assert told.memories
        one.idle()
        before = known(one)
        with one.stopped("worker"), Person(one, upstream) as late:
            late.say("I like green tea.")
            done = backed_up(one, tmp_path / "b.tar", "--with-key")
        assert (tmp_path / "b.tar").stat().st_mode & 0o777 == 0o600
        assert done["manifest"]["counts"]["memories"] == len(before["memories"])
        assert not list(tmp_path.glob(".brb-*")), "nothing is left beside it"
        one.memory("green tea")
        asking.messages.append({"role": "user", "content": "Thanks!"})
        wanted = asking.call().received

        shown = two.command("restore", "--dry-run", str(tmp_path / "b.tar"))
        assert (shown.returncode, "it is whole" in shown.stdout) == (0, True), shown.stderr
        assert not (two.data / "store").exists()
        restored = two.command("restore", str(tmp_path / "b.tar"))
        assert restored.returncode == 0, restored.stderr
        two.start()

        two.memory("green tea")  # what waited is done
        two.idle()
        after = known(two)
        added = {memory.id for memory in after["memories"]} - {memory.id for memory in before["memories"]}
        assert len(added) == 1
        for what in ("audit", "tokens", "notes"):
            assert after[what] == before[what], what
        assert [memory for memory in after["memories"] if memory.id not in added] == list(before["memories"])
        assert {key: value for key, value in after["histories"].items() if key not in added} == before["histories"]
        assert set(before["export"]) - set(after["export"]) == set()

        with Person(two, upstream) as going_on:
            going_on.messages = asking.messages[:-1]
            assert going_on.call().received == wanted, "an old conversation goes on with the same bytes"

        refused = two.command("restore", str(tmp_path / "b.tar"))
        assert (refused.returncode, "BRB is running" in refused.stderr) == (1, True)
        two.interrupt()
        refused = two.command("restore", str(tmp_path / "b.tar"))
        assert refused.returncode == 1
        assert "jobs, conversations or tokens and memories or notes here already" in refused.stderr
        again = two.command("restore", str(tmp_path / "b.tar"), "--force", "--json")
        assert again.returncode == 0, again.stderr
        kept = Path(json.loads(again.stdout)["kept"])
        assert sorted(path.name for path in kept.iterdir() if "spool" not in path.name) == ["notes", "redis.rdb", "store"]
        two.start()
        two.memory("green tea")


@pytest.mark.timeout(600)
def test_conversations_go_on_while_it_is_made(tmp_path: Path, upstream: standin.StandIn) -> None:
    with installed(tmp_path / "one", upstream) as one, installed(tmp_path / "two", upstream) as two:
        one.start(seconds=300)
        stop, failed, said = threading.Event(), list[Exception](), list[str]()

        def talk() -> None:
            with Person(one, upstream) as person:
                while not stop.is_set():
                    try:
                        words = f"I like tea number {len(said)}."
                        person.say(words)
                        said.append(words)
                        person.messages.clear()
                    except Exception as error:
                        failed.append(error)

        talker = threading.Thread(target=talk)
        talker.start()
        until(lambda: len(said) > 2 or None, "nothing was said")
        answered = said.copy()
        done = backed_up(one, tmp_path / "b.tar.gz", "--with-key")
        so_far = len(said)
        stop.set()
        talker.join(30)
        assert failed == []
        assert so_far > 0
        assert done["held_seconds"] < 10
        one.idle()
        one.interrupt()

        stopped = backed_up(one, tmp_path / "stopped.tar.gz")  # of one that does not run, too
        assert stopped["manifest"]["counts"]["memories"] == len(said)
        restored = two.command("restore", str(tmp_path / "b.tar.gz"))
        assert restored.returncode == 0, restored.stderr
        two.start()
        two.idle()
        texts = two.texts()
        assert {words.rstrip(".") for words in answered} <= set(texts), "what was learnt, and what waited to be"
        assert len(texts) == len(set(texts)) <= len(said), "each once"


@pytest.mark.timeout(600)
def test_one_that_does_not_fit_changes_nothing(tmp_path: Path, upstream: standin.StandIn) -> None:
    with installed(tmp_path / "one", upstream) as one, installed(tmp_path / "two", upstream) as two:
        assert one.command("backup", str(tmp_path / "b.tar")).returncode == 4, "there is nothing yet"
        one.start(seconds=300)
        with Person(one, upstream) as person:
            person.say("I'm allergic to peanuts.")
            one.memory("peanuts")
        backed_up(one, tmp_path / "b.tar")
        assert one.command("backup", str(tmp_path / "b.tar")).returncode == 1, "nothing is written over"

        whole = (tmp_path / "b.tar").read_bytes()
        at = whole.index(b"REDIS0") + 200
        (tmp_path / "damaged.tar").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        for name, says in (("damaged.tar", "is damaged: redis.rdb is not what was written"), ("b.tar", "sealed with another key")):
            refused = two.command("restore", str(tmp_path / name))
            assert refused.returncode in (1, 2)
            assert says in refused.stderr
            assert not [path.name for path in two.data.iterdir() if path.name in ("store", "notes", "redis", "secret.key")], "nothing was begun"

        shutil.copy(one.data / "secret.key", two.data / "secret.key")
        restored = two.command("restore", str(tmp_path / "b.tar"))
        assert restored.returncode == 0, restored.stderr
        one.memory("peanuts")

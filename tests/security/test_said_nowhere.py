"""At its most talkative BRB tells of what it does, and never of what was said: words that came in by every way are in no log, key or metric."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from attackers import EXAMPLES

from services.core import seal
from services.embedded import standin
from tests.e2e.harness import Brb, Person, files_of, until

pytestmark = pytest.mark.skipif(not EXAMPLES, reason="`make security` runs it: it takes half a minute")

WAYS = ("relay", "rest", "search", "edit", "note", "mcp", "page", "typed", "archive", "rules", "broken job", "failing", "refused")
MARKS = {way: f"zq{way.replace(' ', '')}xylophon" for way in WAYS}
SECRETS = {way: f"sk-proj-{'Zx9Kq2Lm' * 5}T3BlbkFJ{way.replace(' ', '')}{'Vb4Nc7Xs' * 4}" for way in WAYS}


def said(way: str) -> str:
    return f"I prefer {MARKS[way]} over all others. My key is {SECRETS[way]}."


@pytest.fixture(scope="module")
def upstream_server() -> Iterator[standin.StandIn]:
    with standin.running() as server:
        yield server


@pytest.fixture(scope="module")
def brb(tmp_path_factory: pytest.TempPathFactory, upstream_server: standin.StandIn) -> Iterator[Brb]:
    one = Brb(tmp_path_factory.mktemp("told"), upstream_server.url, BRB_OPENAI_URL=upstream_server.url, BRB_LOG_LEVEL="debug")
    try:
        one.start(seconds=300)
        yield one
    finally:
        one.close()


def by_the_page(brb: Brb) -> None:
    """Typed into the search field, and sent as a form."""
    page = brb.http.get("/ui", params={"q": MARKS["typed"]}, headers={"hx-request": "true", "hx-trigger": "q"})
    assert page.status_code == 200
    csrf = re.search(r'name="csrf" value="([^"]+)"', brb.http.get("/ui").text)
    assert csrf
    headers = {"content-type": "application/x-www-form-urlencoded", "x-csrf-token": csrf[1]}
    assert brb.http.post("/ui/memories", content=urlencode({"text": said("page")}), headers=headers).status_code == 303


def by_mcp(brb: Brb) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "brb_remember", "arguments": {"text": said("mcp")}}}
    answer = brb.http.post("/mcp", json=call, headers={"accept": "application/json, text/event-stream"})
    assert answer.status_code == 200
    assert "error" not in answer.json(), answer.text


def by_import(brb: Brb, folder: Path) -> None:
    rules = folder / "CLAUDE.md"
    rules.write_text(f"# Rules\n\n- {said('rules')}\n")
    archive = brb.http.get("/memories/export").json()
    mine = {**archive["memories"][0], "id": "00000000-0000-4000-8000-00000000000a", "text": said("archive")}
    (folder / "a.json").write_text(json.dumps({**archive, "memories": [mine, {"text": said("archive"), "status": said("archive")}]}))
    for path in (rules, folder / "a.json"):
        done = brb.command("memories", "import", str(path), BRB_LOG_LEVEL="debug")
        assert done.returncode == 0, done.stderr


def as_a_broken_job(brb: Brb, person: Person) -> None:
    """What is sealed in it can't be read as a job."""
    with contextlib.closing(brb.redis()) as redis:
        with brb.stopped("worker"):
            job = f"brb:job:learn_turn-{person.say('I prefer silence.').turn}"
            until(lambda: redis.exists(job) or None, "no job was recorded")
            redis.hset(job, "payload", seal.Seal(seal.secret_of(brb.settings)).close(json.dumps({"words": said("broken job")}).encode()))
        until(lambda: redis.zcard("brb:jobs:dead") or None, "it was not given up")
    assert brb.command("jobs", "retry", "--all", BRB_LOG_LEVEL="debug").returncode in (0, 2)


def told(brb: Brb) -> Iterator[tuple[str, bytes]]:
    """Whatever may be looked at by those who only keep it running."""
    yield "stdout", (brb.folder / "up.log").read_bytes()
    for path, content in files_of(brb.data).items():
        if path.suffix == ".log" or "metrics" in path.parts:
            yield str(path), content
    yield "/metrics", brb.http.get("/metrics").content
    yield "/health", brb.http.get("/health").content
    yield "/jobs", brb.http.get("/jobs").content
    with contextlib.closing(brb.redis()) as connection:
        for key in connection.scan_iter(count=1000):
            yield "a key of Redis", key
            yield f"the value of {key!r}", connection.dump(key) or b""


def test_what_came_in_by_every_way_is_told_nowhere(brb: Brb, upstream_server: standin.StandIn, tmp_path: Path) -> None:
    with Person(brb, upstream_server) as person:
        turn = person.say(said("relay")).turn
        assert brb.http.post("/memories", json={"text": said("rest")}).status_code == 201
        assert brb.http.get("/memories/search", params={"q": said("search")}).status_code == 200
        assert brb.http.post("/recall", json={"query": said("search")}).status_code == 200
        made = brb.http.post("/memories", json={"text": "I prefer tea."}).json()["id"]
        assert brb.http.patch(f"/memories/{made}", json={"text": said("edit")}).status_code == 200
        assert brb.http.post("/notes", json={"title": MARKS["note"], "text": said("note"), "tags": [MARKS["note"]]}).status_code == 200
        assert brb.http.post("/memories", json={"text": said("refused"), "category": said("refused")}).status_code == 400
        by_mcp(brb)
        by_the_page(brb)
        by_import(brb, tmp_path)
        brb.worked_off(turn)
        as_a_broken_job(brb, person)
        with brb.stopped("redis"):
            assert brb.http.post("/memories", json={"text": said("failing")}).status_code == 503
            person.say(said("failing"))
    brb.healthy()
    kept = " ".join(memory.text for memory in brb.memories("all"))
    assert [way for way in ("relay", "rest", "edit", "mcp", "page", "archive") if MARKS[way] not in kept] == [], "else nothing was shown"
    assert not any(secret in kept for secret in SECRETS.values())
    assert b"request_failed" not in (brb.folder / "up.log").read_bytes()
    marks = [text.encode() for text in (*MARKS.values(), *SECRETS.values())]
    found = {(name, mark) for name, content in told(brb) for mark in marks if mark in content}
    assert found == set()

"""Fifty people of five teams at once, over a few connections that they share: each is told his own, and whoever lost his token nothing."""

import itertools
import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from services.core import models, tokens
from services.core.adapters.known_tokens import RENEW_SECONDS
from services.proxy import throttling
from tests.support import raw, two_teams
from tests.support.two_teams import MEMORIES, World, sees

TEAMS, EACH, CONNECTIONS, ROUNDS, TOGETHER = 5, 10, 12, 20, 4
PEOPLE = [
    models.Principal(f"team{team}", f"user{number}", list(models.Role)[number % 3]) for team in range(TEAMS) for number in range(EACH)
]  # in each team the same names


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, redis_server: Path) -> Iterator[World]:
    with two_teams.serving(tmp_path_factory.mktemp("brb"), redis_server) as made:
        two_teams.settle(made, PEOPLE, MEMORIES)
        yield made


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling.Failures, "failed", lambda self, address: throttling.Failure(0.0))


TALK = [
    {"role": "user", "content": two_teams.QUESTION},
    {"role": "assistant", "content": "Noted."},
    {"role": "user", "content": two_teams.QUESTION},
]
"""Begun, and gone on with: then what was told at first is replayed."""


class Sent(NamedTuple):
    """A request of somebody's, and what came of it. at: when it was sent."""

    who: models.Principal
    what: str
    at: float
    status: int
    text: str


class Speaking:
    """What people ask for, each in his turn. Whoever relays says who he is where the upstream sees it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._number = itertools.count()

    def request(self, who: models.Principal, what: str) -> bytes:
        number = next(self._number)
        if what == "chat":
            body = {"model": "m", "max_tokens": 9, "metadata": {"said_by": f"{who.team}/{who.user}."}, "messages": TALK[: 1 + 2 * (number % 2)]}
            return self._call(who, number, b"POST", "/v1/messages", body)
        if what == "recall":
            return self._call(who, number, b"POST", "/recall", {"query": two_teams.QUESTION, "limit": 100})
        if what == "add":
            return self._call(who, number, b"POST", "/memories", {"text": f"I like number {number}"})
        if what == "forget":
            return self._call(who, number, b"DELETE", f"/memories/{self.world.thing(self._another(who), 'private').id}", None)
        return self._call(who, number, b"GET", "/memories?status=all&limit=1000", None)

    def _call(self, who: models.Principal, number: int, method: bytes, target: str, body: object) -> bytes:
        token, sent = self.world.tokens[who].encode(), None if body is None else json.dumps(body).encode()
        kind = [(b"content-type", b"application/json")]
        if number % 2:
            return raw.call(b"/k/" + token + target.encode(), pairs=kind, body=sent, method=method)
        return raw.call(target.encode(), pairs=[*kind, (b"x-brb-key", token)], body=sent, method=method)

    def _another(self, who: models.Principal) -> models.Principal:
        return PEOPLE[(PEOPLE.index(who) + 1) % len(PEOPLE)]


WHATS = ("chat", "chat", "recall", "list", "add", "forget")
METHODS = {"forget": "DELETE", "list": "GET"}


def spoken(speaking: Speaking, people: Sequence[models.Principal], seed: int) -> list[Sent]:
    """Some of them over one connection, a few requests in each packet."""
    chance, done = random.Random(seed), []
    with raw.connect(speaking.world.base) as wire:
        for _ in range(ROUNDS):
            batch = [(chance.choice(people), chance.choice(WHATS)) for _ in range(TOGETHER)]
            at = time.monotonic()
            wire.send(b"".join(speaking.request(who, what) for who, what in batch))
            for who, what in batch:
                answer = wire.answer(METHODS.get(what, "POST"))
                done.append(Sent(who, what, at, answer.head.status, repr(answer.head.pairs) + answer.body.decode()))
    return done


def all_spoken(speaking: Speaking, people: Sequence[models.Principal]) -> list[Sent]:
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        running = [threads.submit(spoken, speaking, people, seed) for seed in range(CONNECTIONS)]
        return [sent for each in running for sent in each.result()]


def checked(world: World, who: models.Principal, text: str, *, told: bool) -> None:
    for one in world.things:
        if one.canary in text:
            assert sees(who, one, told=told), f"{who} came across the {one.kind.name} of {one.owner}"


def test_each_of_fifty_at_once_is_told_his_own(world: World) -> None:
    world.upstream.requests.clear()
    done = all_spoken(Speaking(world), PEOPLE)

    assert len(done) == CONNECTIONS * ROUNDS * TOGETHER
    for sent in done:
        assert sent.status == {"add": 201, "forget": 404}.get(sent.what, 200) or (sent.what, sent.status) == ("forget", 403), sent
        checked(world, sent.who, sent.text, told=sent.what == "recall")
        if sent.what in ("recall", "list"):
            assert world.thing(sent.who, "private").canary in sent.text
    by_name = {f"{who.team}/{who.user}.": who for who in PEOPLE}
    injected = 0
    for request in list(world.upstream.requests):
        body = request.body.decode()
        who = by_name[json.loads(body)["metadata"]["said_by"]]
        checked(world, who, body, told=True)
        injected += world.thing(who, "private").canary in body
    assert injected > 0.9 * sum(sent.what == "chat" for sent in done), "else nothing is proved"
    assert len({sent.who for sent in done}) == len(PEOPLE)


def test_whose_token_is_revoked_meanwhile_gets_nothing_any_more(world: World) -> None:
    """At once where it is revoked; where another process does it, as soon as the list of tokens is read again."""
    here, elsewhere, speaking = PEOPLE[:3], PEOPLE[3:6], Speaking(world)
    over: dict[models.Principal, float] = {}
    world.upstream.requests.clear()

    def revoke() -> None:
        for who in here:
            world.parts.tokens.revoke(tokens.id_of(world.tokens[who]) or "", time.time())
            over[who] = time.monotonic()
        for who in elsewhere:
            world.book.revoke(tokens.id_of(world.tokens[who]) or "", time.time())
            over[who] = time.monotonic() + 2 * RENEW_SECONDS  # a reading that had begun, and the next one

    started = threading.Timer(0.3, revoke)
    started.start()
    done = []
    while not over or time.monotonic() < max(over.values()) + 0.5:
        done += all_spoken(speaking, PEOPLE[:8])
    started.join()

    late = [sent for sent in done if sent.who in over and sent.at > over[sent.who]]
    assert {sent.who for sent in late} == {*here, *elsewhere}, "else nothing is proved"
    for sent in late:
        assert sent.status == 401, sent
        assert not [one for one in world.things if one.canary in sent.text]
    for sent in done:
        checked(world, sent.who, sent.text, told=sent.what == "recall")
    assert any(sent.status == 200 for sent in done if sent.who in over)
    assert all(sent.status != 401 for sent in done if sent.who not in over)

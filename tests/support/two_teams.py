"""Two teams on one BRB, as it is served: everybody has something in every place that holds anything, each thing with a word in it that occurs
nowhere else (a canary)."""

import contextlib
import dataclasses
import io
import secrets
import string
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import redis
from msgspec.structs import replace

from services.core import messages, models, note_api, ports, rights, seal, telemetry, tokens
from services.core.adapters import (
    known_tokens,
    qdrant_edge,
    redis_audit,
    redis_client,
    redis_figures,
    redis_jobs,
    redis_ledger,
    redis_tokens,
    redis_turn_log,
)
from services.core.adapters.redis_use_log import RedisUseLog
from services.core.notes.writing import NoteWriter
from services.core.recall import cache
from services.proxy import access, sweeping
from services.proxy.app import create_app
from services.proxy.front import Server, served
from services.proxy.injection import Injection
from services.proxy.parts import Parts
from services.proxy.relay import Relay
from services.proxy.web import sessions
from tests.support import in_memory
from tests.support import upstream as up

MEMBER, CURATOR, ADMIN = models.Role
LEO, MIA = models.Principal("acme", "leo"), models.Principal("acme", "mia")
CORA, ADA = models.Principal("acme", "cora", CURATOR), models.Principal("acme", "ada", ADMIN)
OTHER_LEO, EVE = models.Principal("evil", "leo"), models.Principal("evil", "eve", ADMIN)
PEOPLE = (LEO, MIA, CORA, ADA, OTHER_LEO, EVE)

QUESTION = "What is my favourite database?"
SECRET = "a key that only this machine has"
_DAY = 86_400.0


class Kind(NamedTuple):
    """A kind of thing that somebody has."""

    name: str
    visibility: models.Visibility = models.Visibility.PRIVATE
    status: models.Status = models.Status.CURRENT

    @property
    def told(self) -> bool:
        """Whether a model may be told of it on its owner's behalf."""
        return self.status is models.Status.CURRENT


MEMORIES = (
    Kind("private"),
    Kind("proposed", models.Visibility.PROPOSED),
    Kind("shared", models.Visibility.TEAM),
    Kind("pending", status=models.Status.PENDING),
    Kind("held", status=models.Status.QUARANTINED),
    Kind("proposed and held", models.Visibility.PROPOSED, models.Status.QUARANTINED),
    Kind("history", status=models.Status.SUPERSEDED),
)
NOTES = (Kind("private note"), Kind("proposed note", models.Visibility.PROPOSED), Kind("shared note", models.Visibility.TEAM))
ASKED, TURN, BLOCK, WAITING, DEAD = map(Kind, ("words asked", "words of a turn", "block of a turn", "waiting job", "dead letter"))
TRACES = (ASKED, TURN, BLOCK, WAITING, DEAD)
KINDS = (*MEMORIES, *NOTES, *TRACES)


class Thing(NamedTuple):
    """Something of somebody's: its canary, and its id ("" if there is none by which it is asked for)."""

    owner: models.Principal
    kind: Kind
    canary: str
    id: str = ""


def sees(caller: models.Principal, thing: Thing, *, told: bool = False) -> bool:
    """The rule. told: on behalf of a model, which is told of nothing that nobody has decided about yet."""
    if (caller.team, caller.user) == (thing.owner.team, thing.owner.user):
        return not told or thing.kind.told
    if caller.team != thing.owner.team:
        return False
    if thing.kind.visibility is models.Visibility.TEAM:
        return not told or thing.kind.told
    return thing.kind.visibility is models.Visibility.PROPOSED and rights.curates(caller) and not told


def _knows_ids(caller: models.Principal, thing: Thing) -> bool:
    """An admin comes across those of the team in the audit log; who runs the machine across those of jobs."""
    if caller == rights.OPERATOR:
        return thing.kind is DEAD
    return caller.team == thing.owner.team and (rights.administers(caller) or sees(caller, thing))


def canary() -> str:
    """A word: what looks like a key is redacted."""
    return "zq" + "".join(secrets.choice(string.ascii_lowercase) for _ in range(10))


@dataclasses.dataclass
class World:
    parts: Parts
    base: str
    upstream: up.Upstream
    redis: redis.Redis
    book: ports.TokenBook
    log: io.StringIO
    things: list[Thing]
    tokens: Mapping[models.Principal, str]
    given: list[str]  # every token that there ever was

    def token(self, who: models.Principal, **fields: object) -> str:
        made = tokens.make()
        stored = {"id": made.id, "team": who.team, "user": who.user, "role": who.role, "created_at": time.time()} | fields
        self.parts.tokens.add(ports.Token(**stored), made.digest)  # type: ignore[arg-type]
        self.given.append(made.text)
        return made.text

    def thing(self, owner: models.Principal, kind: str) -> Thing:
        return next(one for one in self.things if one.owner == owner and one.kind.name == kind)

    def of(self, owner: models.Principal, *kinds: Kind) -> list[Thing]:
        return [one for one in self.things if one.owner == owner and one.kind in kinds]

    def forbidden(self, caller: models.Principal | None, *, told: bool = False) -> dict[str, str]:
        """Words and ids that the caller must never come across, and what each is."""
        found = {}
        for one in self.things:
            if caller is not None and sees(caller, one, told=told):
                continue
            found[one.canary] = name = f"{one.kind.name} of {one.owner.team}/{one.owner.user}"
            if one.id and not (caller and _knows_ids(caller, one)):
                found[one.id] = f"id of {name}"
        return found

    def memory(self, thing: Thing) -> models.Memory | None:
        return self.parts.store.get(models.Scope(thing.owner.team, thing.owner.user, None), thing.id)

    def note(self, thing: Thing) -> models.Note | None:
        return self.parts.notes.get(models.Scope(thing.owner.team, thing.owner.user, None), thing.id)

    def session(self, token: str) -> sessions.Session:
        """Of the page, as signing in with the token begins it."""
        return self._sessions.begin(tokens.id_of(token) or "")

    def cookie(self, session: sessions.Session) -> str:
        made = self._sessions.cookie(session, {})
        return f"{made.key}={made.value}"

    @property
    def _sessions(self) -> sessions.Sessions:
        return sessions.Sessions(lambda: seal.secret_of(self.parts.settings))

    def restore(self, owner: models.Principal) -> None:
        """All of the owner's memories and notes as they were at first."""
        mine = [one for one in self.things if one.owner == owner]
        remember(self.parts, mine)
        write_notes(self.parts, mine)


@contextlib.contextmanager
def serving(folder: Path, redis_socket: Path, **settings: object) -> Iterator[World]:
    """An empty BRB over a Redis of its own and an Edge store, with a recording upstream."""
    client = redis_client.connect(f"unix://{redis_socket}", timeout_seconds=5)
    client.flushall()
    log = io.StringIO()
    with up.Upstream() as upstream, contextlib.redirect_stderr(log):
        telemetry.configure_logging("debug")
        upstream.says(up.answer(b'{"type":"message","role":"assistant","content":[{"type":"text","text":"Noted."}],"stop_reason":"end_turn"}'))
        book = redis_tokens.RedisTokenBook(client, seal.Seal(SECRET))
        known = known_tokens.KnownTokens(book)
        made = parts(folder, client, known, upstream.url, **settings)
        sweeper = sweeping.Sweeper(folder / "erased", purge=[], ledger=made.ledger, turns=made.turns, settled_seconds=0.0)
        made = dataclasses.replace(made, sweeper=sweeper)
        known.start()
        sweeper.start()
        injection = Injection(made)
        doors = access.Access(made.settings, known)
        relay = Relay(made.settings, injection, doors=doors)
        app = create_app(made, doors=doors, on_shutdown=[relay.close])
        running = Server(served(app, relay, host="127.0.0.1", port=0, drain_seconds=2))
        thread = threading.Thread(target=running.run, name="serving", daemon=True)
        thread.start()
        assert up.wait_for(lambda: running.started)
        try:
            base = f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
            world = World(made, base, upstream, client, book, log, [], {}, [])
            yield world
        finally:
            running.should_exit = True
            thread.join(10)
            injection.close()
            known.stop()
            sweeper.stop()
            made.store.close()
            made.notes.close()
            sweeper.join()
            client.flushall()
            client.close()
    telemetry.configure_logging("warning")


def parts(folder: Path, client: redis.Redis, known: ports.TokenBook, upstream_url: str, **settings: object) -> Parts:
    fields = {"auth": "token", "host": "127.0.0.1", "mcp_tools": "all", "rate_per_minute": 0, "recall_deadline_ms": 5000, "secret_key": SECRET}
    base = in_memory.parts(folder, **(fields | {"anthropic_url": upstream_url, "openai_url": upstream_url} | settings))  # type: ignore[arg-type]
    sealed, model, dimension = seal.Seal(SECRET), base.embedder.model, base.embedder.dimension
    book = redis_jobs.RedisJobBook(client, sealed, lease_seconds=30, done_seconds=3600)
    return dataclasses.replace(
        base,
        store=qdrant_edge.EdgeStore.open(folder / "store", model=model, dimension=dimension),
        notes=qdrant_edge.EdgeNoteStore.open(folder / "notes", model=model, dimension=dimension),
        ledger=redis_ledger.RedisLedger(client, sealed, lifetime_seconds=3600),
        book=book,
        enqueue=lambda jobs: _added(book, jobs),
        owner_lock=redis_client.owner_lock(client),
        answers=cache.Cache(redis_client.write_clock(client), time.time),
        uses=RedisUseLog(client, sealed, lifetime_seconds=3600),
        tokens=known,
        audit=redis_audit.RedisAuditLog(client, sealed, lifetime_seconds=3600, looks_lifetime_seconds=3600),
        turns=redis_turn_log.RedisTurnLog(client, sealed, lifetime_seconds=3600),
        figures=redis_figures.RedisFigures(client),
        clock=time.time,
    )


def _added(book: ports.JobBook, jobs: list[messages.Job]) -> bool:
    book.add(jobs)
    return True


def settle(world: World, people: Sequence[models.Principal] = PEOPLE, kinds: Sequence[Kind] = KINDS) -> None:
    """Give everybody something in every place, and a token."""
    for who in people:
        mine = [Thing(who, kind, canary(), str(uuid.uuid4()) if kind in (*MEMORIES, *NOTES) else "") for kind in kinds]
        world.things += [_traced(world.parts, one) if one.kind in TRACES else one for one in mine]
        remember(world.parts, mine)
        write_notes(world.parts, mine)
    world.tokens = {**world.tokens, **{who: world.token(who) for who in people}}


def remember(given: Parts, things: list[Thing]) -> None:
    """Write those that are memories, as the indexer does. What is private has a former version."""
    of_kind = {one.kind.name: one for one in things}
    made = [_memory(one, of_kind) for one in things if one.kind in MEMORIES]
    in_memory.keep(given, *made)


def _memory(one: Thing, of_kind: Mapping[str, Thing]) -> models.Memory:
    at = float(int(time.time() - _DAY))
    latest, former = of_kind["private"], of_kind["history"]
    text = f"{'Our' if one.kind.visibility is models.Visibility.TEAM else 'My'} favourite database is {one.canary}"
    made = in_memory.memory(
        text,
        id=one.id,
        lineage=former.id if one.kind.name in ("private", "history") else one.id,
        supersedes=former.id if one is latest else "",
        superseded_by=latest.id if one is former else "",
        team=one.owner.team,
        owner=one.owner.user,
        visibility=one.kind.visibility,
        status=one.kind.status,
        held="asks to be obeyed" if one.kind.status is models.Status.QUARANTINED else "",
        category=models.Category.PREFERENCE,
        said_at=at,
    )
    return replace(made, evidence=(models.Evidence(text, f"turn-{one.canary}", at, f"session-{one.owner.user}"),))


def write_notes(given: Parts, things: list[Thing]) -> None:
    writer = NoteWriter(given.notes, given.embedder, owner_lock=given.owner_lock, clock=given.clock)
    for one in things:
        if one.kind in NOTES:
            text = f"# Databases\n\nThe favourite database is {one.canary}. See [[Page of {one.canary}]] and [[Databases]]. #infra #{one.canary}"
            put = note_api.PutNote(text=text, id=one.id, title="Databases", path=f"{one.canary}.md", source="folder", visibility=one.kind.visibility)
            writer.put(one.owner, [put])


def _traced(given: Parts, one: Thing) -> Thing:
    """Write one that is no memory or note; with its id."""
    now = time.time()
    if one.kind is ASKED:
        for _ in range(2):  # the report is about what found nothing twice
            given.uses.add(one.owner, ports.Asked(f"where is {one.canary}", (), now))
        return one
    if one.kind in (TURN, BLOCK):
        words, block = (f"Where is {one.canary}?", "") if one.kind is TURN else ("Where?", f"<brb>{one.canary}</brb>")
        told = ports.Told(turn=uuid.uuid4().hex, at=now, session="s", outcome="injected", words=words, block=block)
        given.turns.add(one.owner, told)
        return one._replace(id=told.turn)
    said = messages.LearnTurn(turn=uuid.uuid4().hex, principal=one.owner, said_at=now, words=f"It is {one.canary}")
    job = messages.Job.of(messages.Task.LEARN_TURN, said)
    given.book.add([job])
    if one.kind is DEAD:
        claim = given.book.claim(job.id)
        assert claim is not None
        given.book.bury(claim, "ValueError")
    return one._replace(id=job.id)

"""Zero crossings: every route, page and tool × everybody who may call or may not × every kind of thing, on a BRB of two teams.

The rows are checked against the app's own table of routes and the list of tools: one without a row fails. What is expected of a cell follows from
`Rule` and `two_teams.sees`; whatever is expected, no answer holds a word or an id that its caller must not come across.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from services.core import models, rights, selftest_api, tokens
from services.proxy import throttling
from services.proxy.app import create_app
from services.proxy.entrance import SIGN_IN
from services.proxy.routes import selftest
from tests.support import team_calls, two_teams
from tests.support.team_calls import Answer, Asked, Caller, Client, alike, unknown
from tests.support.two_teams import ADA, CORA, EVE, LEO, MEMORIES, MIA, NOTES, PEOPLE, Kind, Thing, World, sees

NOT_ALLOWED = (403, 404)


class Rule(Enum):
    """Who gets what from a route. What is not seen is not found; what is seen and not the caller's to do is refused."""

    OPEN = auto()  # all, with or without a token
    ANYBODY = auto()  # of any team
    ADMINS = auto()  # and the machine's operator
    WATCHERS = auto()  # these, and programs on this machine
    SEES = auto()
    CHANGES = auto()
    CURATES = auto()
    OWNS = auto()


Make = Callable[[World, Thing | None], Asked]


@dataclass(frozen=True)
class Row:
    """One way in. kinds: what it is asked about, each of Leo's. told: answers are for a model. own: they hold nothing of others at all.
    shows: what of the caller's own there must be in it, so that an empty answer proves nothing. unseen: the status for what is not seen.
    changes: things may be another way afterwards. refused: more statuses with which what is seen may be refused, as it is not in that state."""

    way: str
    rule: Rule
    make: Make
    kinds: tuple[Kind, ...] = ()
    told: bool = False
    own: bool = False
    shows: tuple[str, ...] = ()
    unseen: int = 404
    changes: bool = False
    refused: tuple[int, ...] = ()
    named: bool = True  # what is seen shows its canary, where the answer is about it
    log: bool = False  # it tells which ids somebody looked at, also in a role that he no longer has
    more: str = ""

    @property
    def method(self) -> str:
        return self.way.split()[0]

    @property
    def path(self) -> str:
        return self.way.split()[1]

    @property
    def page(self) -> bool:
        return self.path.startswith("/ui")


def at(target: str, body: Any = None) -> Make:
    """The same for all. `{id}`: of the thing."""
    return lambda world, thing: Asked(target.replace("{id}", thing.id if thing else ""), _filled(body, thing))


def _filled(body: Any, thing: Thing | None) -> Any:
    return json.loads(json.dumps(body).replace("{id}", thing.id)) if thing and body is not None else body


def rows() -> Iterator[Row]:
    yield from memory_rows()
    yield from note_rows()
    yield from list_rows()
    yield from team_rows()
    yield from operations_rows()
    yield from page_rows()


ID, NOTE = "/memories/{memory_id:str}", "/notes/{note_id:str}"
TURNS = {"source": "mem0", "turns": [{"id": "1", "said_at": 1.0, "words": ["I like tea"]}]}
ARCHIVE = {"format": "brb-archive", "version": 1, "memories": [], "notes": []}


def memory_rows() -> Iterator[Row]:
    about: Mapping[str, Any] = {"kinds": MEMORIES}
    yield Row(f"GET {ID}", Rule.SEES, at("/memories/{id}"), **about)
    yield Row(f"GET {ID}/history", Rule.SEES, at("/memories/{id}/history"), **about)
    yield Row(f"GET {ID}/similar", Rule.SEES, at("/memories/{id}/similar?limit=100"), told=True, named=False, **about)
    yield Row(f"GET {ID}/uses", Rule.SEES, at("/memories/{id}/uses"), named=False, **about)
    change: Mapping[str, Any] = {"changes": True, "named": False, "refused": (400,), "kinds": MEMORIES}
    yield Row(f"PATCH {ID}", Rule.CHANGES, at("/memories/{id}", {"text": "Other words by hand"}), **change)
    yield Row(f"DELETE {ID}", Rule.CHANGES, at("/memories/{id}"), **change)
    yield Row(f"POST {ID}/approve", Rule.CURATES, at("/memories/{id}/approve"), **change)
    yield Row(f"POST {ID}/reject", Rule.CURATES, at("/memories/{id}/reject"), **change)
    yield Row(f"POST {ID}/promote", Rule.OWNS, at("/memories/{id}/promote"), **change)
    for decision, rule in (("approve", Rule.CURATES), ("reject", Rule.CURATES), ("keep", Rule.OWNS), ("release", Rule.OWNS)):
        body = {"decision": decision, "ids": ["{id}"]}
        yield Row("POST /reviews", rule, at("/reviews", body), unseen=200, more=decision, **{**change, "refused": (200,)})
    yield Row("POST /forget", Rule.CHANGES, at("/forget", {"ids": ["{id}"]}), unseen=200, more="ids", **change)


def note_rows() -> Iterator[Row]:
    yield Row(f"GET {NOTE}", Rule.SEES, at("/notes/{id}"), NOTES)
    for part in ("entities", "relationships"):
        yield Row(f"GET {NOTE}/{part}", Rule.SEES, at(f"/notes/{{id}}/{part}"), NOTES, told=True)
    for part in ("backlinks", "similar"):
        yield Row(f"GET {NOTE}/{part}", Rule.SEES, at(f"/notes/{{id}}/{part}"), NOTES, told=True, named=False)
    change: Mapping[str, Any] = {"changes": True, "named": False, "kinds": NOTES}
    yield Row(f"PATCH {NOTE}", Rule.OWNS, at("/notes/{id}", {"metadata": {"colour": "red"}}), more="metadata", **change)
    yield Row(f"PATCH {NOTE}", Rule.CHANGES, at("/notes/{id}", {"visibility": "proposed"}), more="visibility", **change)
    yield Row(f"DELETE {NOTE}", Rule.CHANGES, at("/notes/{id}"), **change)
    yield Row("POST /notes", Rule.OWNS, at("/notes", {"text": "Mine now", "id": "{id}"}), unseen=403, more="id", **change)
    yield Row("POST /notes/bulk", Rule.OWNS, at("/notes/bulk", {"gone": ["{id}"]}), unseen=200, refused=(200,), more="gone", **change)
    yield Row("POST /forget", Rule.CHANGES, at("/forget", {"ids": ["{id}"]}), unseen=200, more="ids of notes", **change)


def list_rows() -> Iterator[Row]:
    every = tuple(kind.name for kind in MEMORIES)
    notes = tuple(kind.name for kind in NOTES)
    q = quote(two_teams.QUESTION)
    told: Mapping[str, Any] = {"told": True, "shows": ("private", "shared")}
    yield Row("GET /memories", Rule.ANYBODY, at("/memories?status=all&limit=1000"), shows=every)
    for whose in ("private", "proposed", "team"):
        yield Row("GET /memories", Rule.ANYBODY, at(f"/memories?status=all&limit=1000&scope={whose}"), more=whose)
    yield Row("GET /memories/count", Rule.ANYBODY, at("/memories/count?status=all"))
    yield Row("GET /memories/search", Rule.ANYBODY, at(f"/memories/search?q={q}&limit=100"), **told)
    for mode in ("bm25", "semantic"):
        yield Row("GET /memories/search", Rule.ANYBODY, at(f"/memories/search?q={q}&limit=100&mode={mode}&min_score=0"), told=True, more=mode)
    yield Row("GET /memories/export", Rule.ANYBODY, at("/memories/export"), own=True, shows=every)
    yield Row("GET /export", Rule.ANYBODY, at("/export"), own=True, shows=(*every, *notes))
    yield Row("POST /recall", Rule.ANYBODY, at("/recall", {"query": two_teams.QUESTION, "explain": True, "limit": 100, "kind": "all"}), **told)
    yield Row("POST /recall", Rule.ANYBODY, at("/recall", {"query": "database", "project": "of-another-team"}), told=True, more="unknown project")
    for scope in ("private", "proposed", "team"):
        yield Row("POST /recall", Rule.ANYBODY, at("/recall", {"query": two_teams.QUESTION, "limit": 100, "scope": scope}), told=True, more=scope)
    yield Row("POST /memories", Rule.ANYBODY, lambda *_: Asked("/memories", {"text": f"I like {two_teams.canary()} best"}))
    yield Row("GET /reviews", Rule.ANYBODY, at("/reviews?limit=100"), shows=("proposed", "pending", "held", "proposed and held"))
    yield Row("GET /recall/report", Rule.ANYBODY, at("/recall/report"), shows=("words asked",))
    yield Row("GET /turns", Rule.ANYBODY, at("/turns"), own=True, shows=("words of a turn",))
    for kind, status in (("words of a turn", 404), ("block of a turn", 404)):
        yield Row("GET /turns/{turn:str}", Rule.OWNS, at("/turns/{id}"), (Kind(kind),), own=True, unseen=status, more=kind)
        yield Row("GET /turns/{turn:str}", Rule.OWNS, _beginning, (Kind(kind),), own=True, unseen=status, more=f"beginning of {kind}")
    yield Row("GET /turns/{turn:str}", Rule.ANYBODY, at("/turns/latest"), own=True, more="latest")
    for more, body, shows in (
        ("query", {"query": two_teams.QUESTION, "notes": True}, ()),
        ("session", {"session": "session-leo"}, ()),
        ("all", {"all": True, "notes": True}, tuple(name for name in every if name != "shared")),  # a member's shared ones stay
    ):
        yield Row("POST /forget", Rule.ANYBODY, at("/forget", body), told=more == "query", own=more != "query", shows=shows, more=more)
    yield Row("POST /import", Rule.ANYBODY, at("/import", ARCHIVE))
    yield Row("POST /memories/import", Rule.ANYBODY, at("/memories/import", ARCHIVE))
    yield Row("POST /import/turns", Rule.ANYBODY, at("/import/turns", TURNS))
    yield Row("GET /notes", Rule.ANYBODY, at("/notes?limit=1000"), shows=notes)
    yield Row("GET /notes/files", Rule.ANYBODY, at("/notes/files?source=folder"), own=True, shows=notes)
    yield Row("GET /notes/count", Rule.ANYBODY, at("/notes/count"))
    yield Row("GET /notes/entities", Rule.ANYBODY, at("/notes/entities?kind=hashtag"), told=True, shows=notes)
    yield Row("GET /notes/entities", Rule.ANYBODY, at("/notes/entities?kind=wikilink"), told=True, more="wikilink", shows=notes)
    yield Row("GET /notes/by-entity", Rule.ANYBODY, at("/notes/by-entity?kind=hashtag&value=infra&limit=1000"), told=True, shows=notes)
    yield Row("GET /notes/backlinks", Rule.ANYBODY, at("/notes/backlinks?title=Databases&limit=1000"), told=True, shows=notes)
    yield Row("POST /notes", Rule.ANYBODY, at("/notes", {"text": "A page", "title": "Databases"}))
    yield Row("POST /notes/bulk", Rule.ANYBODY, at("/notes/bulk", {"notes": [{"text": "Another page"}]}))


def _beginning(world: World, thing: Thing | None) -> Asked:
    assert thing is not None
    return Asked(f"/turns/{thing.id[:12]}")


def team_rows() -> Iterator[Row]:
    yield Row("GET /audit", Rule.ANYBODY, at("/audit?limit=1000"), log=True)
    yield Row("GET /whoami", Rule.ANYBODY, at("/whoami"))
    yield Row("GET /tokens", Rule.ANYBODY, at("/tokens"))
    yield Row("POST /tokens", Rule.ADMINS, at("/tokens", {"user": "new", "team": ""}), refused=(400,))
    yield Row("GET /members", Rule.ADMINS, at("/members"), refused=(400,))
    yield Row("POST /forget", Rule.ADMINS, _whole_team, shows=tuple(kind.name for kind in MEMORIES), refused=(403,), more="team")


def _whole_team(world: World, thing: Thing | None) -> Asked:
    return Asked("/forget", {"team": "acme"})


def operations_rows() -> Iterator[Row]:
    yield Row("DELETE /cache", Rule.ANYBODY, at("/cache"))
    yield Row("POST /cache/clean", Rule.ANYBODY, at("/cache/clean"))
    yield Row("GET /stats", Rule.ANYBODY, at("/stats"))
    yield Row("POST /entities", Rule.ANYBODY, at("/entities", {"text": "#infra"}))
    yield Row("POST /tokens/count", Rule.ANYBODY, at("/tokens/count", {"text": "words"}))
    yield Row("GET /jobs", Rule.ADMINS, at("/jobs"))
    yield Row("GET /jobs/dead", Rule.ADMINS, at("/jobs/dead"))
    yield Row("POST /selftest", Rule.ANYBODY, at("/selftest"))
    yield Row("GET /selftest/stream", Rule.ANYBODY, at("/selftest/stream"))
    yield Row("GET /health", Rule.WATCHERS, at("/health"))
    yield Row("GET /metrics", Rule.WATCHERS, at("/metrics"))
    yield Row("GET /healthz", Rule.OPEN, at("/healthz"))
    yield Row("GET /readyz", Rule.OPEN, at("/readyz"))
    yield Row("GET /schema", Rule.ANYBODY, at("/schema"))
    yield Row("GET /schema/openapi.json", Rule.ANYBODY, at("/schema/openapi.json"))
    yield Row("GET /schema/{path:str}", Rule.ANYBODY, at("/schema/elements"), refused=(404,))


def page_rows() -> Iterator[Row]:
    every = tuple(kind.name for kind in MEMORIES)
    one, note = "/ui/memories/{memory_id:str}", "/ui/notes/{note_id:str}"
    q = quote(two_teams.QUESTION)
    yield Row("GET /ui", Rule.ANYBODY, at("/ui?status=all"), shows=every)
    yield Row("GET /ui", Rule.ANYBODY, at(f"/ui?q={q}"), more="search")
    yield Row("GET /ui", Rule.ANYBODY, at("/ui?status=all&age=week"), more="age", shows=every)
    yield Row(f"GET {one}", Rule.SEES, at("/ui/memories/{id}"), MEMORIES)
    yield Row(f"GET {one}/forget", Rule.CHANGES, at("/ui/memories/{id}/forget"), MEMORIES)
    change: Mapping[str, Any] = {"changes": True, "named": False, "refused": (400,), "kinds": MEMORIES}
    yield Row(f"POST {one}", Rule.CHANGES, at("/ui/memories/{id}", {"text": "Other words on the page", "category": "todo"}), **change)
    yield Row(f"POST {one}/forget", Rule.CHANGES, at("/ui/memories/{id}/forget", {}), **change)
    yield Row(f"POST {one}/decide", Rule.CURATES, at("/ui/memories/{id}/decide", {"decision": "approve"}), **change)
    yield Row("POST /ui/memories", Rule.ANYBODY, lambda *_: Asked("/ui/memories", {"text": f"I like {two_teams.canary()} best"}))
    yield Row("GET /ui/review", Rule.ANYBODY, at("/ui/review"), shows=("proposed", "held"))
    yield Row("POST /ui/review", Rule.CURATES, at("/ui/review", {"decision": "approve", "ids": "{id}"}), unseen=200, **{**change, "refused": (200,)})
    yield Row("GET /ui/turns", Rule.ANYBODY, at("/ui/turns"), own=True, shows=("words of a turn",))
    yield Row("GET /ui/turns/{turn:str}", Rule.OWNS, at("/ui/turns/{id}"), (Kind("block of a turn"),), own=True)
    yield Row("GET /ui/notes", Rule.ANYBODY, at("/ui/notes"))
    yield Row("GET /ui/notes", Rule.ANYBODY, at("/ui/notes?tag=infra"), more="tag")
    yield Row(f"GET {note}", Rule.SEES, at("/ui/notes/{id}"), NOTES)
    yield Row("GET /ui/audit", Rule.ANYBODY, at("/ui/audit"), log=True)
    yield Row("GET /ui/status", Rule.ANYBODY, at("/ui/status"))
    yield Row("GET /ui/jobs", Rule.ADMINS, at("/ui/jobs"))
    yield Row("GET /ui/tokens", Rule.ANYBODY, at("/ui/tokens"))
    yield Row("POST /ui/tokens", Rule.ADMINS, at("/ui/tokens", {"user": "new"}))
    yield Row("GET /ui/members", Rule.ADMINS, at("/ui/members"))
    yield Row("GET /ui/static/{name:str}", Rule.OPEN, at("/ui/static/app.css"), refused=(404,))
    yield Row("GET /ui/sign-in", Rule.OPEN, at("/ui/sign-in"))
    yield Row("POST /ui/sign-in", Rule.OPEN, at("/ui/sign-in", {"token": "brb_nonsense"}), refused=(401, 403))
    yield Row("POST /ui/sign-out", Rule.ANYBODY, at("/ui/sign-out", {}))
    yield Row("POST /ui/theme", Rule.ANYBODY, at("/ui/theme", {"theme": "dark"}))
    yield Row("GET /ui/{anything:path}", Rule.ANYBODY, at("/ui/nothing/here"), refused=(404,))


TOOLS = "test_isolation_tools.py"
ELSEWHERE = {
    "POST /mcp": TOOLS,
    "DELETE /tokens/{token_id:str}": "test_tokens_are_revoked_by_their_bearers_and_admins_alone",
    "POST /ui/tokens/{token_id:str}/revoke": "test_tokens_are_revoked_by_their_bearers_and_admins_alone",
    "DELETE /members/{user:str}": "test_members_are_removed_by_their_teams_admins_alone",
    "GET /ui/members/{user:str}/remove": "test_members_are_removed_by_their_teams_admins_alone",
    "POST /ui/members/{user:str}/remove": "test_members_are_removed_by_their_teams_admins_alone",
    "POST /jobs/{job_id:str}/retry": "test_dead_letters_are_of_their_own_team",
    "POST /ui/jobs/{job_id:str}/retry": "test_dead_letters_are_of_their_own_team",
    "POST /reviews/{event:str}/undo": "test_decisions_are_undone_by_those_who_may_see_them",
    "POST /ui/review/{event:str}/undo": "test_decisions_are_undone_by_those_who_may_see_them",
    "DELETE /recall/report": "test_what_is_dropped_or_forgotten_as_a_whole_is_ones_own",
}
"""Ways in that need more than a row."""

ROWS = list(rows())


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, redis_server: Path) -> Iterator[World]:
    with two_teams.serving(tmp_path_factory.mktemp("brb"), redis_server) as made:
        two_teams.settle(made)
        yield made


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling.Failures, "failed", lambda self, address: throttling.Failure(0.0))
    monkeypatch.setattr(selftest, "_LEARN_SECONDS", 0.1)
    monkeypatch.setattr(selftest_api, "PAUSE_SECONDS", 0.0)


@pytest.fixture(scope="module")
def callers(world: World) -> list[Caller]:
    return team_calls.everybody(world)


# The matrix


def test_there_is_a_row_for_every_route(world: World) -> None:
    app = create_app(world.parts)
    ways = {
        f"{method} {route.path}" for route in app.routes for method in getattr(route, "methods", ()) or ["POST"] if method not in ("OPTIONS", "HEAD")
    }

    assert {row.way for row in ROWS} | set(ELSEWHERE) == ways
    assert {name for name in ELSEWHERE.values() if name != TOOLS} <= set(globals())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(filter(None, (row.way, row.more))))
def test_nobody_comes_across_what_is_not_his(row: Row, world: World, callers: list[Caller]) -> None:
    wrong: list[str] = []
    with Client(world) as client:
        for kind in row.kinds or (None,):
            thing = world.thing(LEO, kind.name) if kind else None
            for caller in callers:
                wrong += [f"{caller.name}, {kind.name if kind else 'all'}: {each}" for each in checked(world, client, row, caller, thing)]
    assert not wrong, "\n".join(wrong[:20])


def checked(world: World, client: Client, row: Row, caller: Caller, thing: Thing | None) -> Iterator[str]:
    """What is wrong with a cell."""
    asked = row.make(world, thing)
    before = stored(world, thing)
    answer = ask(client, row, caller, asked)
    yield from crossings(world, row, caller, asked, answer)
    allowed = may(row, caller, thing)
    if answer.status not in expected(row, caller, thing, allowed=allowed):
        yield f"{answer.status} instead of {expected(row, caller, thing, allowed=allowed)}: {answer.body[:200]}"
    if caller.principal is None and not allowed and answer.status == 303 and ("location", SIGN_IN) not in answer.headers:
        yield f"it is sent on elsewhere than to sign in: {answer.headers}"
    if thing and allowed and row.named and answer.status == 200 and thing.canary not in answer.body:
        yield "it does not show what was asked for, so that nothing is proved"
    if thing and not allowed and stored(world, thing) != before:
        yield "it was changed"
    if caller.principal in PEOPLE and answer.status == 200 and caller.principal is not None:
        for each in row.shows:
            if allowed and world.thing(caller.principal, each).canary not in answer.text:
                yield f"the caller's own {each} is missing, so that nothing is proved"
    if thing and caller.principal and caller.principal != rights.OPERATOR and not seen(row, caller.principal, thing):
        nothing = thing._replace(id=unknown(thing.id))
        other = ask(client, row, caller, row.make(world, nothing))
        if row.more != "id" and alike(other, nothing.id) != alike(answer, thing.id):
            yield f"what is not seen looks unlike what is not there: {answer.body} / {other.body}"
    if thing and row.changes and allowed:
        world.restore(LEO)


def ask(client: Client, row: Row, caller: Caller, asked: Asked) -> Answer:
    return client.page(row.method, asked, caller) if row.page else client.api(row.method, asked, caller.token)


def may(row: Row, caller: Caller, thing: Thing | None) -> bool:
    who = caller.principal
    if row.rule is Rule.OPEN:
        return not (row.page and who == rights.OPERATOR)
    if row.rule is Rule.WATCHERS:
        return caller.token is None or (who is not None and rights.administers(who))
    if who is None or (who == rights.OPERATOR and not operated(row)):
        return False
    if row.rule is Rule.ADMINS:
        return rights.administers(who)
    if thing is None:
        return True
    own = (who.team, who.user) == (thing.owner.team, thing.owner.user)
    if row.rule is Rule.OWNS:
        return own
    if not seen(row, who, thing):
        return False
    if row.rule is Rule.CURATES:
        return rights.curates(who)
    return row.rule is Rule.SEES or own or (rights.curates(who) and thing.kind.visibility is not models.Visibility.PRIVATE)


def seen(row: Row, who: models.Principal, thing: Thing) -> bool:
    by_id = row.path.startswith(ID)  # of memories all that one manages may be asked about, whoever reads the answer
    return sees(who, thing, told=row.told and not by_id)


def operated(row: Row) -> bool:
    return row.path.split("/")[1] in ("tokens", "members", "jobs", "whoami", "health", "metrics", "schema", "selftest")


def expected(row: Row, caller: Caller, thing: Thing | None, *, allowed: bool) -> tuple[int, ...]:
    if allowed:
        return (200, 201, 202, 303, *row.refused)
    if caller.principal is None:
        return (303, 401) if row.page else (401,)
    if caller.principal == rights.OPERATOR:
        return (403,)
    if thing is None:
        return (403,)
    return (*NOT_ALLOWED, *row.refused) if seen(row, caller.principal, thing) else (row.unseen,)


def crossings(world: World, row: Row, caller: Caller, asked: Asked, answer: Answer) -> Iterator[str]:
    text, sent = answer.text, asked.text
    for word, name in world.forbidden(caller.principal, told=row.told).items():
        looked_at = row.log and caller.principal and name.startswith("id of") and f" of {caller.principal.team}/" in name
        if word in text and word not in sent and not looked_at:
            yield f"it shows the {name}"
    if row.own and caller.principal:
        for one in world.things:
            if (one.owner.team, one.owner.user) != (caller.principal.team, caller.principal.user) and one.canary in text:
                yield f"it shows the {one.kind.name} of {one.owner.user}, which is not the caller's own"
    for token in world.given:
        if token in text:
            yield "it shows a token"


def stored(world: World, thing: Thing | None) -> object:
    if thing is None:
        return None
    return world.memory(thing) if thing.kind in MEMORIES else world.note(thing)


# Ways in that need more than a row


def test_tokens_are_revoked_by_their_bearers_and_admins_alone(world: World, callers: list[Caller]) -> None:
    with Client(world) as client:
        for caller in callers:
            for page in (False, True):
                token_id = tokens.id_of(world.token(MIA)) or ""
                asked = [Asked(f"/ui/tokens/{one}/revoke" if page else f"/tokens/{one}") for one in (token_id, unknown(token_id)[:12])]
                answers = [client.page("POST", one, caller) if page else client.api("DELETE", one, caller.token) for one in asked]
                entitled = caller.principal in ((MIA, ADA) if page else (MIA, ADA, rights.OPERATOR))

                assert (answers[0].status == 200) == entitled, caller.name
                assert (not revoked(world, token_id)) != entitled, caller.name
                if caller.principal and not entitled:
                    assert answers[0].status == (403 if page and caller.principal == rights.OPERATOR else 404)
                    assert alike(answers[0], token_id) == alike(answers[1], asked[1].target.split("/")[2 + page])


def test_members_are_removed_by_their_teams_admins_alone(world: World, callers: list[Caller]) -> None:
    with Client(world) as client:
        for number, caller in enumerate(callers):
            for way in ("api", "api with the team", "page"):
                who = models.Principal("acme", f"temp{number}{way[-1]}")
                token_id = tokens.id_of(world.token(who)) or ""
                target = f"/ui/members/{who.user}/remove" if way == "page" else f"/members/{who.user}{'?team=acme' if 'with' in way else ''}"
                answer = client.page("POST", Asked(target, {}), caller) if way == "page" else client.api("DELETE", Asked(target), caller.token)
                entitled = caller.principal == ADA or (caller.principal == rights.OPERATOR and "with" in way)

                assert (not revoked(world, token_id)) != entitled, (caller.name, way)
                assert answer.status == 200 or not entitled
                if caller.principal == EVE and way == "page":
                    assert client.page("GET", Asked(target), caller).status == 404


def test_dead_letters_are_of_their_own_team(world: World, callers: list[Caller]) -> None:
    book, dead = world.parts.book, world.thing(LEO, "dead letter")
    none = f"learn_turn-{unknown('')}"
    with Client(world) as client:
        for caller in callers:
            for page in (False, True):
                answers = [retried(client, caller, one, page=page) for one in (dead.id, none)]
                entitled = caller.principal == ADA or (caller.principal == rights.OPERATOR and not page)

                assert (dead.id not in {one.id for one in book.dead()}) == entitled, (caller.name, answers[0])
                if entitled:
                    claim = book.claim(dead.id)
                    assert claim is not None
                    book.bury(claim, "ValueError")
                if caller.principal == EVE:
                    assert answers[0].status == 404
                    assert alike(answers[0], dead.id) == alike(answers[1], none)


def revoked(world: World, token_id: str) -> bool:
    stored = world.parts.tokens.find(token_id)
    assert stored is not None
    return stored.token.revoked_at is not None


def retried(client: Client, caller: Caller, job_id: str, *, page: bool) -> Answer:
    if page:
        return client.page("POST", Asked(f"/ui/jobs/{job_id}/retry", {}), caller)
    return client.api("POST", Asked(f"/jobs/{job_id}/retry"), caller.token)


def test_decisions_are_undone_by_those_who_may_see_them(world: World, callers: list[Caller]) -> None:
    """The id of an event can be guessed: it is a time."""
    again = models.Principal("acme", "leo", models.Role.CURATOR)
    cases = (("promote", LEO, "private", (LEO, again)), ("approve", CORA, "proposed", (CORA, ADA, again)))
    with Client(world) as client:
        for decision, decider, kind, entitled in cases:
            thing = world.thing(LEO, kind)
            for caller in callers:
                for page in (False, True):
                    decided = client.api("POST", Asked(f"/memories/{thing.id}/{decision}"), world.tokens[decider])
                    before = stored(world, thing)
                    answer, none = (undone(client, caller, one, page=page) for one in (json.loads(decided.body)["event"], "1234567890123-0"))

                    assert (stored(world, thing) != before) == (caller.principal in entitled), (caller.name, answer)
                    if caller.principal not in (None, rights.OPERATOR, *entitled):
                        assert answer.status == none.status == 404, (caller.name, answer)
                        assert thing.id not in answer.text
                    world.restore(LEO)


def undone(client: Client, caller: Caller, event: str, *, page: bool) -> Answer:
    if page:
        return client.page("POST", Asked(f"/ui/review/{event}/undo", {}), caller)
    return client.api("POST", Asked(f"/reviews/{event}/undo"), caller.token)


def test_what_is_dropped_or_forgotten_as_a_whole_is_ones_own(world: World) -> None:
    lee, tom = models.Principal("third", "leo"), models.Principal("third", "tom", models.Role.ADMIN)
    others = all_there_is(world)
    two_teams.settle(world, (lee, tom))
    with Client(world) as client:
        for body in ({"session": "session-leo"}, {"all": True, "notes": True}):
            assert client.api("POST", Asked("/forget", {**body, "confirm": True}), world.tokens[lee]).status == 200
        assert client.api("DELETE", Asked("/recall/report"), world.tokens[lee]).status == 200
        assert client.api("POST", Asked("/forget", {"team": "acme", "confirm": True}), world.tokens[tom]).status == 403
        assert client.api("POST", Asked("/forget", {"team": "third", "confirm": True}), world.tokens[tom]).status == 200
    world.things = [one for one in world.things if one.owner.team != "third"]

    assert all_there_is(world) == others


def all_there_is(world: World) -> object:
    parts = world.parts
    return [
        (
            [stored(world, one) for one in world.of(who, *MEMORIES, *NOTES)],
            parts.uses.read(who),
            [told.turn for told in parts.turns.latest(who)],
            parts.book.known([one.id for one in world.things if one.owner == who and one.kind in (two_teams.WAITING, two_teams.DEAD)]),
        )
        for who in PEOPLE
    ]


def test_logs_metrics_and_redis_hold_nobodys_words_and_no_token(world: World) -> None:
    with Client(world) as client:
        metrics = client.api("GET", Asked("/metrics"), None).body
    kept = b"\n".join(dumped(world)).decode("latin-1")
    words = [one.canary for one in world.things]

    assert "Started server process" in world.log.getvalue(), "else nothing is proved"
    for where, text in (("log", world.log.getvalue()), ("metrics", metrics), ("Redis", kept)):
        assert not [(word, text[text.index(word) - 60 : text.index(word) + 60]) for word in words if word in text], where
        assert not [token for token in world.given if token in text or token.split("_", 2)[2] in text], where
    assert not re.search(r"acme|evil|mia|cora", metrics)
    files = [path for path in world.parts.settings.data.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if re.search(rb"brb_[a-z0-9]{12}_", path.read_bytes())]


def dumped(world: World) -> Iterator[bytes]:
    """Every key of Redis, and all that is in it."""
    for key in world.redis.scan_iter(count=1000):
        yield key
        yield world.redis.dump(key) or b""

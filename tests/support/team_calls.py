"""Calling a BRB of two teams: over one connection, as everybody who may and who may not."""

import http.client
import json
import re
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from services.core import models, rights, tokens
from services.proxy.web import sessions
from tests.support import two_teams
from tests.support.two_teams import ADA, LEO, PEOPLE, World


class Caller(NamedTuple):
    """principal: None for whoever has no valid token. token: None for none."""

    name: str
    token: str | None
    principal: models.Principal | None


class Answer(NamedTuple):
    status: int
    headers: tuple[tuple[str, str], ...]
    body: str

    @property
    def text(self) -> str:
        return "\n".join([*(f"{name}: {value}" for name, value in self.headers), self.body])


class Asked(NamedTuple):
    """A request. body: JSON, or the fields of a form."""

    target: str
    body: Any = None

    @property
    def text(self) -> str:
        return f"{self.target} {json.dumps(self.body)}"


def everybody(world: World) -> list[Caller]:
    """All kinds of callers: those of the two teams, one of them in another role as well, and those whose tokens are no longer or never were valid."""
    again = models.Principal("acme", "leo", models.Role.CURATOR)
    revoked, expired = world.token(ADA), world.token(ADA, expires_at=1.0)
    world.parts.tokens.revoke(tokens.id_of(revoked) or "", 1.0)
    return [
        *(Caller(f"{who.role} {who.user} of {who.team}", world.tokens[who], who) for who in PEOPLE),
        Caller("leo as a curator", world.token(again), again),
        Caller("revoked", revoked, None),
        Caller("expired", expired, None),
        Caller("mistyped", world.tokens[LEO][:-1] + "x", None),
        Caller("unknown", tokens.make().text, None),
        Caller("no token", None, None),
        Caller("operator", tokens.operator_key(two_teams.SECRET), rights.OPERATOR),
    ]


def unknown(one_id: str) -> str:
    """An id of the same shape that nothing has."""
    return str(uuid.uuid4()) if "-" in one_id else uuid.uuid4().hex


def alike(answer: Answer, one_id: str) -> tuple[object, ...]:
    """An answer without what differs with each: the id, the time, what a form of the page carries."""
    plain = re.sub(
        r"\S+_session=\S+|[0-9a-f]{64}|\d{10,}-\d+|(?<=as_of\" value=)\S+", "", answer.text.replace(one_id, "ID").replace(one_id[:12], "BEGIN")
    )
    return answer.status, re.sub(r"(?m)^date: .*$", "", plain)


class Client:
    """One connection, kept alive, over which everybody calls."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._connection = http.client.HTTPConnection(urlsplit(world.base).netloc, timeout=30)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def api(self, method: str, asked: Asked, token: str | None, **headers: str) -> Answer:
        body = None if asked.body is None else json.dumps(asked.body)
        key = {"x-brb-key": token} if token else {}
        return self.send(method, asked.target, body, {"content-type": "application/json", **key, **headers})

    def page(self, method: str, asked: Asked, caller: Caller) -> Answer:
        """In a session that was begun with the caller's token, while it was valid. The operator has none: it sends its key."""
        operates = caller.principal == rights.OPERATOR
        more = {"x-brb-key": caller.token or ""} if operates else {}
        form = None if asked.body is None else urlencode(asked.body)
        return self.send(method, asked.target, form, {**self.signed_in(caller.token), "content-type": "application/x-www-form-urlencoded", **more})

    def signed_in(self, token: str | None) -> dict[str, str]:
        """The headers of a browser in such a session."""
        session = self._world.session(token or "")
        return {"cookie": self._world.cookie(session), sessions.CSRF_HEADER: session.csrf}

    def send(self, method: str, target: str, body: str | None, headers: Mapping[str, str]) -> Answer:
        self._connection.request(method, target, body, dict(headers))
        answer = self._connection.getresponse()
        read = answer.read().decode()
        return Answer(answer.status, tuple((name.lower(), value) for name, value in answer.getheaders()), read)

"""Who may call a team's BRB, by the real front: two teams, every way to pass a token, and what the upstream sees of it."""

import http.client
import itertools
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from services.core import config, errors, models, ports, seal, tokens
from services.core.adapters import known_tokens
from services.core.adapters.in_memory_tokens import InMemoryTokenBook
from services.proxy import throttling
from tests.support import in_memory, raw
from tests.support import upstream as up
from tests.support.access import token_for
from tests.support.interceptors import Keeping
from tests.support.relaying import relaying

LEO, EVE = models.Principal("acme", "leo"), models.Principal("evil", "eve")
ANA = models.Principal("acme", "ana", models.Role.ADMIN)
BODY = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}'
ANSWER = b'{"type":"message","content":[]}'


@dataclass(frozen=True)
class Place:
    base: str
    upstream: up.Upstream
    keeping: Keeping
    book: ports.TokenBook
    folder: Path
    leo: str
    eve: str
    ana: str

    def send(self, request: bytes, method: str = "POST") -> raw.Message:
        with raw.connect(self.base) as client:
            client.send(request)
            return client.answer(method)

    def get(self, target: str, headers: dict[str, str] | None = None, method: str = "GET", body: bytes | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(urlsplit(self.base).netloc, timeout=up.DEADLINE_SECONDS)
        try:
            connection.request(method, target, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder, book, keeping = tmp_path_factory.mktemp("data"), InMemoryTokenBook(), Keeping()
    leo, eve, ana = (token_for(book, who) for who in (LEO, EVE, ANA))
    with up.Upstream() as upstream:
        upstream.says(up.answer(ANSWER))
        given = config.Settings(
            auth="token", host="127.0.0.1", allowed_hosts="brb.acme.example", anthropic_url=upstream.url, openai_url=upstream.url, data_dir=folder
        )
        with relaying(given, keeping, book) as base:
            yield Place(base, upstream, keeping, book, folder, leo, eve, ana)


@pytest.fixture
def place(running: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(throttling, "delay_seconds", lambda failures: 0.0)
    monkeypatch.setattr(throttling.Failures, "failed", lambda self, address: throttling.Failure(0.0))
    running.upstream.requests.clear()
    running.keeping.clear()
    return running


def asked_by(place: Place) -> models.Principal:
    place.keeping.told()
    return place.keeping.calls[-1].principal


# The relay


def ways(token: str) -> dict[str, bytes]:
    key = [(b"X-BRB-Key", token.encode())]
    return {
        "header": raw.call(pairs=key, body=BODY),
        "prefix": raw.call(b"/k/" + token.encode() + b"/v1/messages", body=BODY),
        "prefix with a query": raw.call(b"/k/" + token.encode() + b"/v1/messages?beta=true", body=BODY),
        "absolute form": raw.call(b"http://localhost/k/" + token.encode() + b"/v1/messages", body=BODY),
        "both": raw.call(b"/k/" + token.encode() + b"/v1/messages", pairs=key, body=BODY),
    }


@pytest.mark.parametrize("way", ways(""))
def test_whose_token_a_call_carries_is_who_calls_and_the_upstream_sees_nothing_of_it(place: Place, way: str) -> None:
    for token, who in ((place.leo, LEO), (place.eve, EVE)):
        answer = place.send(ways(token)[way])

        assert (answer.head.status, answer.body) == (200, ANSWER)
        assert asked_by(place) == who
        seen = place.upstream.last
        assert seen.target == (b"/v1/messages?beta=true" if way == "prefix with a query" else b"/v1/messages")
        assert b"brb" not in (seen.head + seen.body).lower()
        assert b"/k/" not in seen.head


def test_all_else_of_a_call_with_a_prefix_passes_byte_for_byte(place: Place) -> None:
    pairs = [(b"X-Api-Key", b"sk-ant-1"), (b"Authorization", b"Bearer brb_not_yours"), (b"aNthropic-Beta", b"a,b"), (b"cookie", b"k=/k/x")]
    rest = b"/v1/messages?x=/k/y&brb=%2Fk%2F??"
    plain, prefixed = (
        raw.call(target, pairs=[*pairs, *more], body=BODY)
        for target, more in ((rest, [(b"x-brb-key", place.leo.encode())]), (b"/k/" + place.leo.encode() + rest, []))
    )

    place.send(plain)
    place.send(prefixed)

    one, other = place.upstream.requests
    assert one.head == other.head
    assert one.body == other.body == BODY
    assert other.target == rest
    assert [pair for pair in other.headers if pair in [(name.lower(), value) for name, value in pairs]] == [(n.lower(), v) for n, v in pairs]


@pytest.mark.parametrize("target", [b"/v1/files", b"/v1/models?limit=5", b"/v1/messages/count_tokens"])
def test_calls_that_hold_no_conversation_need_a_token_as_well(place: Place, target: bytes) -> None:
    assert place.send(raw.call(target, method=b"GET"), "GET").head.status == 401
    assert place.send(raw.call(b"/k/" + place.leo.encode() + target, method=b"GET"), "GET").head.status == 200
    assert [one.target for one in place.upstream.requests] == [target]


def forged(token: str, other: str) -> str:
    """The id of one with the secret of another, and a checksum that is right."""
    token_id, secret = tokens.id_of(token), other[-51:-8]
    return f"brb_{token_id}_{secret}{zlib.crc32(f'{token_id}{secret}'.encode()):08x}"


def wrong(place: Place) -> dict[str, list[tuple[bytes, bytes]]]:
    expired = token_for(place.book, LEO, expires_at=in_memory.NOW - 1)
    revoked = token_for(place.book, LEO, revoked_at=in_memory.NOW - 1)
    other = tokens.make()
    key = b"x-brb-key"
    return {
        "none": [],
        "the upstream's": [(b"authorization", f"Bearer {place.leo}".encode()), (b"x-api-key", place.leo.encode())],
        "malformed": [(key, b"nonsense")],
        "unknown": [(key, other.text.encode())],
        "expired": [(key, expired.encode())],
        "revoked": [(key, revoked.encode())],
        "another secret": [(key, forged(place.leo, other.text).encode())],
        "a session": [(b"cookie", f"brb_session={place.leo}".encode())],
        "an operator's that is none": [(key, tokens.operator_key("guessed").encode())],
    }


@pytest.mark.parametrize(
    "what", ["none", "the upstream's", "malformed", "unknown", "expired", "revoked", "another secret", "a session", "an operator's that is none"]
)
def test_a_call_without_a_valid_token_is_not_relayed_and_told_so_as_the_vendor_would(place: Place, what: str) -> None:
    pairs = wrong(place)[what]
    anthropic = place.send(raw.call(pairs=pairs, body=BODY))
    openai = place.send(raw.call(b"/v1/chat/completions", pairs=pairs, body=BODY))

    assert [anthropic.head.status, openai.head.status] == [401, 401]
    assert json.loads(anthropic.body)["error"]["type"] == "authentication_error"
    assert json.loads(openai.body)["error"]["code"] == "invalid_api_key"
    assert place.upstream.requests == []
    assert all(value.split()[-1] not in anthropic.body + openai.body for _, value in pairs)


def test_the_operators_key_has_no_memories_and_no_upstream(place: Place) -> None:
    """It is for looking after BRB, and belongs to no team."""
    key = tokens.operator_key(seal.secret_of(config.Settings(data_dir=place.folder)))

    assert place.send(raw.call(pairs=[(b"x-brb-key", key.encode())], body=BODY)).head.status == 401
    assert place.upstream.requests == []
    assert place.get("/memories", {"x-brb-key": key})[0] == 403
    assert place.get("/recall", {"x-brb-key": key}, "POST", b"{}")[0] == 403
    assert place.get("/tokens", {"x-brb-key": key})[0] == 200


@pytest.mark.parametrize("target", [b"/", b"/api/hello"])
def test_the_clients_probes_need_no_token(place: Place, target: bytes) -> None:
    assert place.send(raw.call(target, method=b"HEAD"), "HEAD").head.status == 204
    assert place.send(raw.call(b"/k/" + place.leo.encode() + target, method=b"HEAD"), "HEAD").head.status == 204


def test_a_refused_call_leaves_its_connection_as_it_should_be(place: Place) -> None:
    """Its body is not taken for the next call, and the next one is answered on its own."""
    refused, good = raw.call(body=BODY), raw.call(pairs=[(b"x-brb-key", place.leo.encode())], body=BODY)
    with raw.connect(place.base) as client:
        for _ in range(3):
            client.send(refused + good + refused)
            assert [client.answer().head.status for _ in range(3)] == [401, 200, 401]
        client.send(refused[:-10])
        assert client.answer().head.status == 401
        client.send(refused[-10:] + good)
        assert client.answer().head.status == 200


def test_whoever_waits_to_be_told_to_send_its_body_is_told_no_and_the_connection_ends(place: Place) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(pairs=[(b"expect", b"100-continue"), (b"content-length", b"%d" % len(BODY))], body=b""))
        answer = client.answer()

        assert answer.head.status == 401
        assert answer.head.all(b"connection") == [b"close"]


def test_principals_that_alternate_on_one_connection_are_not_taken_for_each_other(place: Place) -> None:
    who = [LEO, EVE, None, EVE, LEO, LEO, None, EVE] * 4
    by = {LEO: place.leo, EVE: place.eve}
    requests = [
        raw.call(
            b"/v1/messages" if one is None or n % 2 else b"/k/" + by[one].encode() + b"/v1/messages",
            pairs=[(b"x-brb-key", by[one].encode())] if one is not None and n % 2 else [],
            body=BODY,
        )
        for n, one in enumerate(who)
    ]
    for together in (1, 4, len(requests)):
        place.keeping.clear()
        with raw.connect(place.base) as client:
            for start in range(0, len(requests), together):
                client.send(b"".join(requests[start : start + together]))
                statuses = [client.answer().head.status for _ in requests[start : start + together]]
                assert statuses == [200 if one else 401 for one in who[start : start + together]]
        assert [call.principal for call in place.keeping.calls] == [one for one in who if one is not None]


def test_calls_of_the_relay_and_of_our_own_routes_alternate_on_one_connection(place: Place) -> None:
    own = b"/whoami"
    who = itertools.cycle([("leo", place.leo), ("eve", place.eve)])
    with raw.connect(place.base) as client:
        for _ in range(6):
            name, token = next(who)
            client.send(raw.call(b"/k/" + token.encode() + own, method=b"GET") + raw.call(own, pairs=[(b"x-brb-key", token.encode())], method=b"GET"))
            assert [json.loads(client.answer("GET").body)["user"] for _ in range(2)] == [name, name]
            client.send(raw.call(pairs=[(b"x-brb-key", token.encode())], body=BODY) + raw.call(own, method=b"GET"))
            assert [client.answer().head.status, client.answer("GET").head.status] == [200, 401]


# BRB's own routes


@pytest.mark.parametrize("way", ["header", "bearer", "prefix", "prefix before a query"])
def test_a_token_is_taken_on_our_own_routes_in_every_way(place: Place, way: str) -> None:
    headers = {"header": {"X-BRB-Key": place.ana}, "bearer": {"Authorization": f"bearer {place.ana}"}}.get(way, {})
    target = "/tokens" if headers else f"/k/{place.ana}/tokens" + ("?x" if way.endswith("query") else "")

    status, body = place.get(target, headers)

    assert status == 200
    assert {one["team"] for one in json.loads(body)["tokens"]} == {"acme"}


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer sk-ant-1"}, {"Authorization": "Basic brb_x"}, {"X-BRB-Key": "brb_x"}, {"Cookie": "brb_session=x"}]
)
@pytest.mark.parametrize("target", ["/memories", "/whoami", "/tokens", "/recall", "/nothing", "/schema", "/k/brb_x/memories", "/v1x"])
def test_our_own_routes_need_a_valid_token(place: Place, headers: dict[str, str], target: str) -> None:
    status, body = place.get(target, headers)

    assert status == 401
    assert json.loads(body)["error"]["type"] == "denied"
    assert b"brb_x" not in body
    assert b"sk-ant" not in body


def test_the_challenge_names_the_scheme(place: Place) -> None:
    answer = place.send(raw.call(b"/memories", method=b"GET"), "GET")

    assert answer.head.all(b"www-authenticate") == [b'Bearer realm="BRB"']


def test_supervisors_need_no_token_and_those_who_watch_from_elsewhere_do(place: Place) -> None:
    forwarded = {"X-Forwarded-For": "10.1.2.3"}
    for target in ("/healthz", "/readyz"):
        assert place.get(target, forwarded)[0] in (200, 503)
    for target in ("/health", "/metrics"):
        assert place.get(target)[0] == 200
        assert place.get(target, forwarded)[0] == 401
        assert place.get(target, forwarded | {"X-BRB-Key": place.leo})[0] == 403
        assert place.get(target, forwarded | {"X-BRB-Key": place.ana})[0] == 200
        assert place.get(target, forwarded | {"X-BRB-Key": tokens.operator_key(seal.secret_of(config.Settings(data_dir=place.folder)))})[0] == 200


def test_a_token_that_is_revoked_through_us_is_refused_at_once(place: Place) -> None:
    token = token_for(place.book, LEO)
    key = {"X-BRB-Key": token}
    token_id = json.loads(place.get("/whoami", key)[1])["token"]

    assert place.get(f"/tokens/{token_id}", key, "DELETE")[0] == 200
    assert place.get("/whoami", key)[0] == 401
    assert place.send(raw.call(pairs=[(b"x-brb-key", token.encode())], body=BODY)).head.status == 401


# Hosts and pages


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:3000", "brb.acme.example", "BRB.acme.example:443", "10.0.0.5:3000", "[fe80::1]:3000"])
def test_our_names_and_any_address_are_served(place: Place, host: str) -> None:
    assert place.get("/whoami", {"Host": host, "X-BRB-Key": place.leo})[0] == 200
    assert place.get("/v1/models", {"Host": host, "X-BRB-Key": place.leo})[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "brb.acme.example.evil.example", "10.0.0.5.evil.example", ""])
def test_other_names_are_refused_whatever_the_token(place: Place, host: str) -> None:
    assert place.get("/whoami", {"Host": host, "X-BRB-Key": place.leo})[0] == 403
    assert place.get("/v1/models", {"Host": host, "X-BRB-Key": place.leo})[0] == 421
    assert place.upstream.requests == []


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_pages_of_other_sites_are_refused_whatever_the_token(place: Place, headers: dict[str, str]) -> None:
    assert place.get("/whoami", headers | {"X-BRB-Key": place.leo})[0] == 403


def test_no_other_site_is_told_that_it_may_ask(place: Place) -> None:
    """CORS stays closed: a preflight is answered without any leave."""
    pairs = [(b"origin", b"http://127.0.0.1"), (b"access-control-request-method", b"GET")]
    answer = place.send(raw.call(b"/memories", pairs=pairs, method=b"OPTIONS"), "OPTIONS")

    assert not [name for name, _ in answer.head.lower if name.startswith(b"access-control")]


# Limits


@pytest.fixture
def hasty(tmp_path: Path) -> Iterator[Place]:
    """Three calls a minute."""
    book, keeping = InMemoryTokenBook(), Keeping()
    leo, eve, ana = (token_for(book, who) for who in (LEO, EVE, ANA))
    with up.Upstream() as upstream:
        upstream.says(up.answer(ANSWER))
        given = config.Settings(auth="token", rate_per_minute=3, anthropic_url=upstream.url, openai_url=upstream.url, data_dir=tmp_path)
        with relaying(given, keeping, book) as base:
            yield Place(base, upstream, keeping, book, tmp_path, leo, eve, ana)


def test_too_many_calls_with_one_token_wait_and_others_do_not(hasty: Place) -> None:
    call = raw.call(pairs=[(b"x-brb-key", hasty.leo.encode())], body=BODY)
    assert [hasty.send(call).head.status for _ in range(2)] == [200, 200]
    assert hasty.get("/whoami", {"X-BRB-Key": hasty.leo})[0] == 200

    answer = hasty.send(call)
    assert answer.head.status == 429
    assert 1 <= int(answer.head.all(b"retry-after")[0]) <= 60
    assert json.loads(answer.body)["error"]["type"] == "rate_limit_error"
    own = hasty.send(raw.call(b"/whoami", pairs=[(b"x-brb-key", hasty.leo.encode())], method=b"GET"), "GET")
    assert own.head.status == 429
    assert 1 <= int(own.head.all(b"retry-after")[0]) <= 60
    assert len(hasty.upstream.requests) == 2
    assert hasty.send(raw.call(pairs=[(b"x-brb-key", hasty.eve.encode())], body=BODY)).head.status == 200


def test_failed_attempts_cost_more_and_more_and_valid_tokens_go_on(hasty: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    costs: list[int] = []
    monkeypatch.setattr(throttling, "delay_seconds", lambda failures: costs.append(failures) or 0.0)  # type: ignore[func-returns-value]
    bad = raw.call(pairs=[(b"x-brb-key", b"brb_guessed")], body=BODY)
    statuses = [hasty.send(bad).head.status for _ in range(throttling.FAILURES_PER_MINUTE + 1)]

    assert statuses == [401] * throttling.FAILURES_PER_MINUTE + [429]
    assert costs == list(range(1, throttling.FAILURES_PER_MINUTE + 1))
    assert hasty.get("/whoami", {"X-BRB-Key": "brb_guessed"})[0] == 429
    assert hasty.get("/whoami", {"X-BRB-Key": hasty.leo})[0] == 200


def test_a_failed_attempt_that_waits_holds_up_nobody_else(hasty: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling, "delay_seconds", lambda failures: 30.0)
    with raw.connect(hasty.base) as slowed, raw.connect(hasty.base) as page:
        slowed.send(raw.call(pairs=[(b"x-brb-key", b"brb_guessed")], body=BODY))
        page.send(raw.call(b"/whoami", pairs=[(b"x-brb-key", b"brb_guessed")], method=b"GET"))

        assert hasty.send(raw.call(pairs=[(b"x-brb-key", hasty.leo.encode())], body=BODY)).head.status == 200
        assert slowed.silent(0.1)
        assert page.silent(0.1)


# Redis away


class Away(InMemoryTokenBook):
    away = True

    def all(self) -> list[ports.StoredToken]:
        if self.away:
            raise errors.Unavailable("redis")
        return super().all()


def test_before_the_tokens_could_be_read_calls_go_on_without_memory_and_our_routes_wait(tmp_path: Path) -> None:
    book, keeping = Away(), Keeping()
    leo = token_for(book, LEO)
    known = known_tokens.KnownTokens(book)
    with up.Upstream() as upstream:
        upstream.says(up.answer(ANSWER))
        given = config.Settings(auth="token", anthropic_url=upstream.url, openai_url=upstream.url, data_dir=tmp_path)
        with relaying(given, keeping, known) as base:
            place = Place(base, upstream, keeping, known, tmp_path, leo, leo, leo)
            call = raw.call(pairs=[(b"x-brb-key", leo.encode())], body=BODY)

            assert place.send(call).head.status == 200
            assert keeping.calls == []
            assert place.get("/memories", {"X-BRB-Key": leo})[0] == 503
            assert place.send(raw.call(body=BODY)).head.status == 401
            assert place.send(raw.call(pairs=[(b"x-brb-key", b"brb_x")], body=BODY)).head.status == 401
            assert len(upstream.requests) == 1

            book.away = False
            known.renew()
            assert place.send(call).head.status == 200
            assert asked_by(place) == LEO

            book.away = True
            assert place.send(call).head.status == 200
            assert len(keeping.calls) == 2
            assert place.send(raw.call(pairs=[(b"x-brb-key", token_for(book, EVE).encode())], body=BODY)).head.status == 401


# Without tokens


def test_without_tokens_a_prefix_and_a_key_are_taken_off_and_mean_nothing(tmp_path: Path) -> None:
    """So that a client's settings for a team's BRB do for one's own."""
    keeping = Keeping()
    with up.Upstream() as upstream:
        upstream.says(up.answer(ANSWER))
        with relaying(config.Settings(anthropic_url=upstream.url, openai_url=upstream.url, data_dir=tmp_path), keeping) as base:
            place = Place(base, upstream, keeping, InMemoryTokenBook(), tmp_path, "brb_x", "", "")
            for request in ways("brb_x").values():
                assert place.send(request).head.status == 200
                assert asked_by(place) == models.LOCAL
                assert b"brb" not in upstream.last.head.lower()
            assert json.loads(place.get("/k/brb_x/whoami")[1])["user"] == models.LOCAL.user

"""Whoever guesses at tokens and sessions learns nothing from answers and times, and keeps nothing that has ended."""

import re
import statistics
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest

from services.core import config, models, ports, tokens
from services.core.adapters import known_tokens
from services.proxy import access, throttling
from services.proxy.web import sessions
from tests.support import in_memory, raw
from tests.support.two_teams import MIA, World

ROUNDS = 3000


def nanoseconds(*given: Callable[[], object]) -> list[float]:
    """The median of each, all in turn."""
    taken: list[list[int]] = [[] for _ in given]
    for _ in range(ROUNDS):
        for call, times in zip(given, taken, strict=True):
            started = time.perf_counter_ns()
            call()
            times.append(time.perf_counter_ns() - started)
    return [statistics.median(times) for times in taken]


def test_a_wrong_secret_takes_as_long_as_an_unknown_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one could find out which ids there are."""
    monkeypatch.setattr(throttling.Failures, "failed", lambda self, address: throttling.Failure(0.0))
    book = known_tokens.KnownTokens(in_memory.parts(tmp_path).tokens)
    there, other = tokens.make(), tokens.make()
    book.add(ports.Token(id=there.id, team="acme", user="leo", role=models.Role.MEMBER, created_at=0.0), there.digest)
    book.renew()
    doors = access.Access(config.Settings(auth="token", data_dir=tmp_path), book)
    secret = there.text.split("_", 2)[2][:-9] + "x"
    guesses = [f"brb_{one}_{secret}{zlib.crc32(f'{one}{secret}'.encode()):08x}" for one in (there.id, other.id)]
    said = [doors.admit(guess, "192.0.2.1", own=True) for guess in guesses]
    assert said[0] == said[1]
    assert isinstance(said[0], access.Refused)
    known, unknown = nanoseconds(*(lambda guess=guess: doors.admit(guess, "192.0.2.1", own=True) for guess in guesses))  # type: ignore[misc]
    assert 0.9 < known / unknown < 1.1, (known, unknown)


# Sessions of the page


def asked(world: World, cookie: str, target: bytes = b"/ui", fields: dict[str, str] | None = None) -> raw.Message:
    method, body = (b"GET", b"") if fields is None else (b"POST", urlencode(fields).encode())
    given = [(b"cookie", cookie.encode()), (b"content-type", b"application/x-www-form-urlencoded")]
    with raw.connect(world.base) as client:
        client.send(raw.call(target, given, body, method=method))
        return client.answer()


def handed(answer: raw.Message) -> str:
    """The session's cookie that comes with an answer, "" if none does."""
    given = [value.decode().partition(";")[0] for value in answer.head.all(b"set-cookie")]
    return next((one for one in given if one.startswith(f"{sessions.COOKIE}=")), "")


def csrf(answer: raw.Message) -> str:
    found = re.search(rb'name="csrf" value="([^"]+)"', answer.body)
    assert found
    return found[1].decode()


def is_in(world: World, cookie: str) -> bool:
    return asked(world, cookie).head.status == 200


def signed_in(world: World, before: str, csrf_value: str, token: str) -> str:
    answer = asked(world, before, b"/ui/sign-in", {"csrf": csrf_value, "token": token})
    assert answer.head.status == 303
    return handed(answer)


def test_a_session_that_was_put_on_somebody_is_not_his_and_an_ended_one_is_nobodys(world: World) -> None:
    planted_answer = asked(world, "", b"/ui/sign-in")
    planted, token = handed(planted_answer), world.token(MIA)

    first = signed_in(world, planted, csrf(planted_answer), token)
    assert first
    assert first != planted
    assert not is_in(world, planted)  # whoever planted it has nothing
    assert is_in(world, first)

    page = asked(world, first)
    second = signed_in(world, first, csrf(page), token)
    assert second not in (first, planted)
    other = signed_in(world, planted, csrf(planted_answer), world.token(MIA))

    out = asked(world, second, b"/ui/sign-out", {"csrf": csrf(asked(world, second))})
    assert out.head.status == 303
    assert handed(out) == f'{sessions.COOKIE}=""'
    assert not is_in(world, second)  # a stolen copy
    assert not is_in(world, first)  # nor any other of the same token
    assert is_in(world, other)  # of another token

    third = signed_in(world, planted, csrf(planted_answer), token)
    assert is_in(world, third)
    world.parts.tokens.revoke(tokens.id_of(token) or "", time.time())
    assert not is_in(world, third)

"""One suite over both logs of uses."""

from collections.abc import Iterator

import pytest

from services.core import errors, models, ports
from services.core.adapters import in_memory_use_log, redis_client, redis_use_log
from services.core.seal import Seal

LEO = models.Principal("acme", "leo")
ANA = models.Principal("acme", "ana")
ASKED = ports.Asked("wie heißt der Kater", ("m1", "m2"), 10.5)
OPENED = ports.Opened("m2", 11.0)


@pytest.fixture(params=["memory", "redis"])
def log(request: pytest.FixtureRequest) -> Iterator[ports.UseLog]:
    if request.param == "memory":
        yield in_memory_use_log.InMemoryUseLog(most=3)
    else:
        client = redis_client.connect(request.getfixturevalue("redis_address"), timeout_seconds=2)
        yield redis_use_log.RedisUseLog(client, Seal("secret"), lifetime_seconds=60, most=3)
        client.close()


def test_uses_come_back_oldest_first(log: ports.UseLog) -> None:
    log.add(LEO, ASKED)
    log.add(LEO, OPENED)

    assert log.read(LEO) == [ASKED, OPENED]


def test_uses_are_private_to_the_principal(log: ports.UseLog) -> None:
    log.add(LEO, ASKED)

    assert log.read(ANA) == []
    assert log.read(models.Principal("other", "leo")) == []
    assert log.forget(ANA, ["m1"]) == 0
    assert log.clear(ANA) == 0
    assert log.read(LEO) == [ASKED]


def test_the_oldest_go(log: ports.UseLog) -> None:
    for n in range(5):
        log.add(LEO, ports.Opened(f"m{n}", n))

    assert log.read(LEO) == [ports.Opened(f"m{n}", n) for n in (2, 3, 4)]


def test_forgetting_drops_the_questions_that_showed_it_and_its_openings(log: ports.UseLog) -> None:
    other = ports.Asked("something else", ("m1",), 12.0)
    for use in (ASKED, OPENED, other):
        log.add(LEO, use)

    assert log.forget(LEO, ["m2", "m9"]) == 2
    assert log.read(LEO) == [other]
    assert log.forget(LEO, []) == 0


def test_clearing_drops_all(log: ports.UseLog) -> None:
    log.add(LEO, ASKED)
    log.add(LEO, OPENED)

    assert log.clear(LEO) == 2
    assert log.read(LEO) == []


def test_redis_holds_no_words_in_clear_and_nothing_for_ever(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    redis_use_log.RedisUseLog(client, Seal("secret"), lifetime_seconds=60).add(LEO, ASKED)

    (key,) = client.scan_iter()
    assert b"Kater" not in (client.dump(key) or b"")
    assert 0 < client.ttl(key) <= 60


def test_what_another_key_sealed_is_left_out_and_goes_with_what_is_forgotten(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    former, other = (redis_use_log.RedisUseLog(client, Seal(secret), lifetime_seconds=60) for secret in ("secret", "another"))
    former.add(LEO, ASKED)
    other.add(LEO, OPENED)

    assert other.read(LEO) == [OPENED]
    assert other.forget(LEO, ["m9"]) == 1
    assert former.read(LEO) == []


def test_a_redis_that_is_away_is_unavailable(tmp_path: object) -> None:
    client = redis_client.connect(f"unix://{tmp_path}/none.sock", timeout_seconds=1)
    with pytest.raises(errors.Unavailable, match="redis"):
        redis_use_log.RedisUseLog(client, Seal("secret"), lifetime_seconds=60).add(LEO, ASKED)

"""One suite over both logs of what turns were told."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from services.core import errors, models, ports
from services.core.adapters import in_memory_turn_log, redis_client, redis_turn_log
from services.core.seal import Seal

LEO = models.Principal("acme", "leo")
ANA = models.Principal("acme", "ana")
STRANGER = models.Principal("other", "leo")
SHOWN = ports.Considered("m1", 0.6, 0.7, 0.65)
DROPPED = ports.Considered("m2", 0.0, 0.2, 0.2, "similarity 0.20 is under 0.30")


def told(turn: str, at: float = 1_790_000_000.0, *considered: ports.Considered) -> ports.Told:
    return ports.Told(
        turn=turn,
        at=at,
        project="/srv/shop",
        session="s1",
        words="wie heißt der Kater",
        asked="Kater Name",
        outcome="injected",
        block="<brb-memories>",
        tokens=12,
        took_ms=3.5,
        gate=0.3,
        notices=("recalled by words alone",),
        considered=considered or (SHOWN, DROPPED),
    )


@pytest.fixture(params=["memory", "redis"])
def log(request: pytest.FixtureRequest) -> Iterator[ports.TurnLog]:
    if request.param == "memory":
        yield in_memory_turn_log.InMemoryTurnLog(most=3)
    else:
        client = redis_client.connect(request.getfixturevalue("redis_address"), timeout_seconds=2)
        yield redis_turn_log.RedisTurnLog(client, Seal("secret"), lifetime_seconds=600, most=3)
        client.close()


def test_a_record_comes_back_as_it_was(log: ports.TurnLog) -> None:
    log.add(LEO, told("t1"))

    assert log.find(LEO, "t1") == told("t1")
    assert log.find(LEO, "t2") is None


def test_the_latest_come_first(log: ports.TurnLog) -> None:
    for turn, at in (("a", 10.0), ("b", 30.0), ("c", 20.0)):
        log.add(LEO, told(turn, at))

    assert [one.turn for one in log.latest(LEO)] == ["b", "c", "a"]
    assert [one.turn for one in log.latest(LEO, limit=2)] == ["b", "c"]
    assert log.latest(LEO, limit=0) == []


def test_turns_are_found_by_how_their_ids_begin(log: ports.TurnLog) -> None:
    for turn, at in (("aa1", 10.0), ("aa2", 30.0), ("b", 20.0)):
        log.add(LEO, told(turn, at))

    assert log.beginning(LEO, "aa") == ["aa2", "aa1"]
    assert log.beginning(LEO, "c") == log.beginning(ANA, "aa") == []


def test_a_turn_recorded_again_is_one_turn(log: ports.TurnLog) -> None:
    log.add(LEO, told("t1", 10.0))
    log.add(LEO, told("t1", 20.0))

    assert log.latest(LEO) == [told("t1", 20.0)]


def test_records_are_private_to_the_principal(log: ports.TurnLog) -> None:
    log.add(LEO, told("t1"))

    for other in (ANA, STRANGER):
        assert log.find(other, "t1") is None
        assert log.latest(other) == []
        assert log.showing(other, "m1") == []
        assert log.clear(other) == 0
    assert log.forget("other", ["m1"]) == 0
    assert log.find(LEO, "t1") == told("t1")


def test_turns_that_were_told_of_a_memory_are_found_by_it(log: ports.TurnLog) -> None:
    log.add(LEO, told("t1", 10.0))
    log.add(LEO, told("t2", 20.0, ports.Considered("m3", 0.5, 0.5)))
    log.add(LEO, told("t3", 30.0))

    assert [one.turn for one in log.showing(LEO, "m1")] == ["t3", "t1"]
    assert [one.turn for one in log.showing(LEO, "m1", limit=1)] == ["t3"]
    assert log.showing(LEO, "m2") == [], "it was looked at, not told"


def test_forgetting_drops_what_speaks_of_a_memory_for_the_whole_team(log: ports.TurnLog) -> None:
    other = told("t9", 5.0, ports.Considered("m3", 0.5, 0.5))
    log.add(LEO, told("t1"))
    log.add(LEO, other)
    log.add(ANA, told("t2", 7.0, DROPPED))
    log.add(STRANGER, told("t3"))

    assert log.forget("acme", ["m2", "m8"]) == 2
    assert log.latest(LEO) == [other]
    assert log.latest(ANA) == []
    assert log.showing(LEO, "m1") == []
    assert log.latest(STRANGER) == [told("t3")]
    assert log.forget("acme", ["m2"]) == 0
    assert log.forget("acme", []) == 0


def test_clearing_drops_all_of_one_person(log: ports.TurnLog) -> None:
    for turn in ("t1", "t2"):
        log.add(LEO, told(turn))
    log.add(ANA, told("t3"))

    assert log.clear(LEO) == 2
    assert log.latest(LEO) == log.showing(LEO, "m1") == []
    assert log.clear(LEO) == 0
    assert log.latest(ANA) == [told("t3")]


def test_forgetting_and_clearing_leave_no_key_behind(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    log = redis_turn_log.RedisTurnLog(client, Seal("secret"), lifetime_seconds=600)
    log.add(LEO, told("t1", 10.0, SHOWN))
    log.add(ANA, told("t2", 10.0, SHOWN))
    log.forget("acme", ["m1"])
    assert list(client.scan_iter()) == []

    log.add(LEO, told("t1"))
    log.clear(LEO)
    assert list(client.scan_iter()) == []


def test_redis_holds_no_words_in_clear_and_nothing_for_ever(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    redis_turn_log.RedisTurnLog(client, Seal("secret"), lifetime_seconds=60).add(LEO, told("t1"))

    keys = list(client.scan_iter())
    assert sorted(keys) == [b"brb:turn-users:acme", b"brb:turn:acme:leo:t1", b"brb:turns:acme:leo"]
    for key in keys:
        assert b"Kater" not in (client.dump(key) or b"")
        assert 0 < client.ttl(key) <= 60


def test_the_oldest_go_when_there_are_too_many(log: ports.TurnLog) -> None:
    log.add(ANA, told("a0", 1.0))
    for n in (4, 1, 5, 2, 3):
        log.add(LEO, told(f"t{n}", float(n)))

    assert [one.turn for one in log.latest(LEO)] == ["t5", "t4", "t3"]
    assert [one.turn for one in log.showing(LEO, "m1")] == ["t5", "t4", "t3"]
    assert log.find(LEO, "t1") is None
    assert [one.turn for one in log.latest(ANA)] == ["a0"]


def test_the_index_holds_no_more_than_the_records(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    log = redis_turn_log.RedisTurnLog(client, Seal("secret"), lifetime_seconds=60, most=2)
    for n in range(4):
        log.add(LEO, told(f"t{n}", float(n)))

    assert client.zrange("brb:turns:acme:leo", 0, -1) == [b"t2", b"t3"]
    assert len(list(client.scan_iter("brb:turn:*"))) == 2


def test_the_index_loses_what_has_expired(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    log = redis_turn_log.RedisTurnLog(client, Seal("secret"), lifetime_seconds=60)
    log.add(LEO, told("old", 100.0))
    log.add(LEO, told("new", 200.0))

    assert client.zrange("brb:turns:acme:leo", 0, -1) == [b"new"]
    assert [one.turn for one in log.latest(LEO)] == ["new"]


def test_what_was_written_for_longer_is_forgotten_after_the_lifetime_was_made_shorter(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    longer = redis_turn_log.RedisTurnLog(client, Seal("secret"), lifetime_seconds=600)
    longer.add(LEO, told("old", 100.0))
    longer.add(LEO, told("lately", 170.0))
    longer.add(ANA, told("another's", 170.0))
    log = redis_turn_log.RedisTurnLog(client, Seal("secret"), lifetime_seconds=60)
    log.add(LEO, told("new", 200.0))

    assert log.find(LEO, "old") is None, "nothing would find it to forget it"
    assert client.ttl("brb:turn-users:acme") > 60
    assert client.ttl("brb:turns:acme:leo") > 60
    assert log.forget("acme", ["m1"]) == 3


def test_records_of_the_former_shape_are_found_and_forgotten(redis_address: str) -> None:
    """A record was sealed as a whole, and each memory that it names had an index."""
    client, seal = redis_client.connect(redis_address, timeout_seconds=2), Seal("secret")
    former = told("former", 10.0)
    client.set("brb:turn:acme:leo:former", seal.close(msgspec.json.encode(former)))
    client.zadd("brb:turns:acme:leo", {"former": 10.0})
    client.zadd("brb:turn-told:acme:leo:m1", {"former": 10.0})
    for memory in ("m1", "m2"):
        client.zadd(f"brb:turn-about:acme:{memory}", {"leo:former": 10.0})
    log = redis_turn_log.RedisTurnLog(client, seal, lifetime_seconds=60)
    log.add(LEO, told("new", 20.0))

    assert log.find(LEO, "former") == former
    assert log.latest(LEO) == log.showing(LEO, "m1") == [told("new", 20.0), former]
    assert log.showing(LEO, "m1", limit=1) == [told("new", 20.0)]
    assert log.forget("acme", ["m2"]) == 2
    assert log.latest(LEO) == log.showing(LEO, "m1") == []


@pytest.mark.parametrize("memory", ["m1", str(UUID(int=7)), UUID(int=7).hex, str(UUID(int=2**127)).upper(), ""])
@pytest.mark.parametrize("scores", [(0.0, 1.0, None), (0.1234, 0.5, 0.0001), (1 / 3, -0.25, 1e-9), (1e9, 12_345.6789, -1.0)])
def test_ids_and_scores_come_back_exactly(log: ports.TurnLog, memory: str, scores: tuple[float, float, float | None]) -> None:
    one = told("t1", 10.0, ports.Considered(memory, *scores), ports.Considered("other", *scores, "no"))
    log.add(LEO, one)

    assert log.find(LEO, "t1") == one
    assert [each.turn for each in log.showing(LEO, memory)] == ["t1"]


def test_a_turn_that_looked_at_nothing_or_at_very_much_comes_back(log: ports.TurnLog) -> None:
    much = told("much", 20.0, *(ports.Considered(f"m{n}", 0.5, 0.5) for n in range(300)))
    nothing = msgspec.structs.replace(told("nothing", 10.0), considered=())
    log.add(LEO, much)
    log.add(LEO, nothing)

    assert log.latest(LEO) == [much, nothing]
    assert log.forget("acme", ["m299"]) == 1


def test_what_another_key_has_sealed_is_passed_over(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    redis_turn_log.RedisTurnLog(client, Seal("former"), lifetime_seconds=60).add(LEO, told("t1"))
    log = redis_turn_log.RedisTurnLog(client, Seal("secret"), lifetime_seconds=60)

    assert log.find(LEO, "t1") is None
    assert log.latest(LEO) == []


def test_a_redis_that_is_away_is_unavailable(tmp_path: Path) -> None:
    client = redis_client.connect(f"unix://{tmp_path}/none.sock", timeout_seconds=1)
    with pytest.raises(errors.Unavailable, match="redis"):
        redis_turn_log.RedisTurnLog(client, Seal("secret"), lifetime_seconds=60).add(LEO, told("t1"))


def test_a_redis_that_is_nearly_full_takes_no_more_records(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    fill = redis_client.Fill(client, every_seconds=0.0)
    log = redis_turn_log.RedisTurnLog(client, Seal("secret"), lifetime_seconds=60, room=fill.below(redis_client.WHYS))
    log.add(LEO, told("t1"))
    client.config_set("maxmemory", int(client.info("memory")["used_memory"] / (redis_client.WHYS + 0.02)))
    try:
        with pytest.raises(errors.Unavailable, match="full"):
            log.add(LEO, told("t2"))
        assert [one.turn for one in log.latest(LEO)] == ["t1"]
    finally:
        client.config_set("maxmemory", "0")

"""One suite over both audit logs."""

from collections.abc import Iterator

import pytest
import redis
from msgspec.structs import replace

from services.core import errors, ports
from services.core.adapters import in_memory_audit, redis_audit, redis_client
from services.core.seal import Seal

SEAL = Seal("secret")
EDITED = ports.Event(at=10.5, team="acme", user="leo", act=ports.Act.EDITED, ids=("m1",), count=1)
SEARCHED = ports.Event(at=11.0, team="acme", user="ana", act=ports.Act.SEARCHED, ids=("m1", "m2"), count=2)
DECIDED = ports.Event(
    at=12.0, team="acme", user="ana", act=ports.Act.DECIDED, ids=("m1",), count=1, detail="", before={"m1": ("proposed", "current")}
)


def made(client: redis.Redis, *, lifetime: float = 60, looks: float = 60, seal: Seal = SEAL) -> redis_audit.RedisAuditLog:
    return redis_audit.RedisAuditLog(client, seal, lifetime_seconds=lifetime, looks_lifetime_seconds=looks)


@pytest.fixture(params=["memory", "redis"])
def log(request: pytest.FixtureRequest) -> Iterator[ports.AuditLog]:
    if request.param == "memory":
        yield in_memory_audit.InMemoryAuditLog()
    else:
        client = redis_client.connect(request.getfixturevalue("redis_address"), timeout_seconds=2)
        yield made(client)
        client.close()


def plain(event: ports.Event | None) -> ports.Event | None:
    """Without the id that it was given."""
    return None if event is None else ports.Event(**{field: getattr(event, field) for field in event.__struct_fields__ if field != "id"})


def test_events_come_back_newest_first_whatever_they_tell_of(log: ports.AuditLog) -> None:
    ids = [log.add(event) for event in (EDITED, SEARCHED, DECIDED, SEARCHED, EDITED)]

    found = log.read("acme")

    assert [event.id for event in found] == ids[::-1]
    assert len(set(ids)) == len(ids)
    assert [plain(event) for event in found] == [EDITED, SEARCHED, DECIDED, SEARCHED, EDITED]


def test_they_are_read_page_by_page(log: ports.AuditLog) -> None:
    ids = [log.add(event) for event in (EDITED, SEARCHED) * 4][::-1]
    paged: list[str] = []
    while page := log.read("acme", limit=3, before=paged[-1] if paged else ""):
        assert len(page) <= 3
        paged += [event.id for event in page]

    assert paged == ids


def test_an_event_is_found_by_its_id(log: ports.AuditLog) -> None:
    edited, searched = log.add(EDITED), log.add(SEARCHED)

    assert (plain(log.find("acme", edited)), plain(log.find("acme", searched))) == (EDITED, SEARCHED)


@pytest.mark.parametrize("unknown", ["", "1-1", "+", "-", "what", "(1-0", "١-٠"])
def test_an_id_that_no_event_has_is_none(log: ports.AuditLog, unknown: str) -> None:
    log.add(EDITED)

    assert log.find("acme", unknown) is None
    assert unknown == "" or log.read("acme", before=unknown) == []


def test_a_team_sees_its_own_alone(log: ports.AuditLog) -> None:
    written = log.add(EDITED)

    assert log.read("other") == log.read("") == []
    assert log.find("other", written) is None


def test_the_log_can_only_be_added_to() -> None:
    named = {name for name in dir(redis_audit.RedisAuditLog) if not name.startswith("_")}
    assert named == {"add", "read", "find", "ping"}


def test_redis_holds_no_event_in_clear(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    secrets = ("ana-who-decided", "a-memory-of-nobody", str(ports.Act.DECIDED))  # short ones stand in sealed bytes by chance
    made(client).add(replace(DECIDED, user=secrets[0], ids=(secrets[1],), before={secrets[1]: ("proposed", "current")}))

    streams = [key for key in client.scan_iter() if not key.startswith(b"brb:audit:last")]
    assert streams == [b"brb:audit:changes:acme"]
    assert not [secret for secret in secrets if secret.encode() in (client.dump(streams[0]) or b"")]


def test_looks_go_before_changes_do(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    long, short = made(client), made(client, looks=0)
    for log in [long] * 300 + [short]:
        log.add(EDITED)
        log.add(SEARCHED)

    looks, changes = (client.xlen(f"brb:audit:{kind}:acme") for kind in ("looks", "changes"))
    assert (looks < 200, changes) == (True, 301)


def test_ids_go_up_even_if_the_clock_goes_back(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    client.set("brb:audit:last:acme", "99999999999999-7")

    assert [made(client).add(EDITED) for _ in range(2)] == ["99999999999999-8", "99999999999999-9"]


def test_what_another_key_sealed_is_shown_as_unreadable_in_its_place(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    former, other = made(client), made(client, seal=Seal("another"))
    lost, known = former.add(DECIDED), other.add(EDITED)

    newest, oldest = other.read("acme")
    assert (newest.id, plain(newest)) == (known, EDITED)
    assert oldest == ports.Event(id=lost, at=int(lost.partition("-")[0]) / 1000, team="acme", user="", act=ports.Act.UNREADABLE)
    assert other.find("acme", lost) == oldest
    assert plain(former.find("acme", lost)) == DECIDED  # the former key is put back


def test_a_redis_that_is_away_is_unavailable(tmp_path: object) -> None:
    client = redis_client.connect(f"unix://{tmp_path}/none.sock", timeout_seconds=1)
    with pytest.raises(errors.Unavailable, match="redis"):
        made(client).add(EDITED)

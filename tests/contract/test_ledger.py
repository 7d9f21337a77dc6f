"""One suite over both ledgers."""

from collections.abc import Iterator

import pytest

from services.core import errors, ports
from services.core.adapters import in_memory_ledger, redis_client, redis_ledger
from services.core.seal import Seal

BLOCK = ports.Entry(block="<b>\n- ünï\n</b>", memories=("m1", "m2"))


@pytest.fixture(params=["memory", "redis"])
def ledger(request: pytest.FixtureRequest) -> Iterator[ports.Ledger]:
    if request.param == "memory":
        yield in_memory_ledger.InMemoryLedger()
    else:
        client = redis_client.connect(request.getfixturevalue("redis_address"), timeout_seconds=2)
        yield redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=60)
        client.close()


def test_an_entry_comes_back_byte_for_byte(ledger: ports.Ledger) -> None:
    ledger.write({"a": BLOCK, "b": ports.Entry("", ())})
    assert ledger.read(["a", "b", "c"]) == {"a": BLOCK, "b": ports.Entry("", ())}


def test_nothing_is_read_for_no_keys(ledger: ports.Ledger) -> None:
    assert ledger.read([]) == {}


def test_a_later_entry_replaces_an_earlier_one(ledger: ports.Ledger) -> None:
    ledger.write({"a": BLOCK})
    ledger.write({"a": ports.Entry("other", (), answered=True)})
    assert ledger.read(["a"]) == {"a": ports.Entry("other", (), answered=True)}


def test_forgetting_a_memory_drops_every_entry_that_showed_it(ledger: ports.Ledger) -> None:
    ledger.write({"a": BLOCK, "b": ports.Entry("x", ("m2",)), "c": ports.Entry("y", ("m3",))})
    assert ledger.forget(["m2"]) == 2
    assert set(ledger.read(["a", "b", "c"])) == {"c"}
    assert ledger.forget(["m2"]) == 0
    assert ledger.forget([]) == 0


def test_forgetting_a_memory_drops_what_is_known_of_a_conversation_that_the_upstream_keeps(ledger: ports.Ledger) -> None:
    """Such an entry has no block, but names what was shown."""
    shown = ports.Entry("", ("m1", "m2"), answered=True)
    ledger.write({"response": shown, "conversation": shown, "other": ports.Entry("", ("m3",), answered=True)})
    assert ledger.forget(["m1"]) == 2
    assert set(ledger.read(["response", "conversation", "other"])) == {"other"}


def test_one_entry_under_several_keys_beside_others_is_forgotten_under_all(ledger: ports.Ledger) -> None:
    ledger.write({"a": BLOCK, "b": BLOCK, "c": ports.Entry("x", ("m1",)), "d": ports.Entry("", ())})
    assert ledger.read(["a", "b", "c", "d"]) == {"a": BLOCK, "b": BLOCK, "c": ports.Entry("x", ("m1",)), "d": ports.Entry("", ())}
    assert ledger.forget(["m2"]) == 2
    assert ledger.forget(["m1"]) == 1


def test_writing_nothing_is_nothing(ledger: ports.Ledger) -> None:
    ledger.write({})
    assert ledger.forget(["m1"]) == 0


def test_what_redis_holds_of_the_ledger_ends_with_its_lifetime(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=60).write({"a": BLOCK})
    lifetimes = {key: client.ttl(key) for key in client.scan_iter()}
    assert set(lifetimes) == {b"brb:ledger:a", b"brb:shown:m1", b"brb:shown:m2"}
    assert all(0 < seconds <= 60 for seconds in lifetimes.values())


def test_a_redis_that_forgot_the_script_takes_it_again(redis_address: str) -> None:
    """It restarted, or another took its place."""
    client = redis_client.connect(redis_address, timeout_seconds=2)
    ledger = redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=60)
    ledger.write({"a": BLOCK})
    client.script_flush()
    ledger.write({"b": BLOCK})
    assert set(ledger.read(["a", "b"])) == {"a", "b"}


def test_a_full_redis_is_unavailable(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    client.config_set("maxmemory", "1mb")
    try:
        with pytest.raises(errors.Unavailable, match="redis"):
            redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=60).write({"a": BLOCK})
    finally:
        client.config_set("maxmemory", "0")


def test_redis_holds_no_block_in_clear(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=60).write({"a": ports.Entry("zebra", ("m1",))})
    assert all(b"zebra" not in (client.dump(key) or b"") for key in client.scan_iter())


def test_a_redis_that_is_away_is_unavailable(tmp_path: object) -> None:
    client = redis_client.connect(f"unix://{tmp_path}/none.sock", timeout_seconds=1)
    with pytest.raises(errors.Unavailable, match="redis"):
        redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=60).read(["a"])

"""One suite over both ledgers."""

from collections.abc import Iterator

import msgspec
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
    assert ledger.forget(["m1"]) == 1
    assert ledger.read(["response", "conversation", "other"]) == {
        "response": ports.FORGOTTEN,
        "conversation": ports.FORGOTTEN,
        "other": ports.Entry("", ("m3",), answered=True),
    }


def test_one_entry_under_several_keys_beside_others_is_forgotten_under_all(ledger: ports.Ledger) -> None:
    ledger.write({"a": BLOCK, "b": BLOCK, "c": ports.Entry("x", ("m1",)), "d": ports.Entry("", ())})
    assert ledger.read(["a", "b", "c", "d"]) == {"a": BLOCK, "b": BLOCK, "c": ports.Entry("x", ("m1",)), "d": ports.Entry("", ())}
    assert ledger.forget(["m2"]) == 1
    assert ledger.read(["a", "b"]) == {}
    assert ledger.forget(["m1"]) == 1


def test_an_entry_is_the_same_before_and_after_its_answer(ledger: ports.Ledger) -> None:
    answered = ports.Entry(BLOCK.block, BLOCK.memories, answered=True)
    ledger.write({"session": BLOCK, "plain": BLOCK})
    ledger.write({"session": answered, "reply": answered})
    assert ledger.read(["session", "plain", "reply"]) == {"session": answered, "plain": BLOCK, "reply": answered}
    assert ledger.forget(["m1"]) == 1
    assert ledger.read(["session", "plain", "reply"]) == {"session": ports.FORGOTTEN, "reply": ports.FORGOTTEN}


def test_what_is_forgotten_while_its_answer_comes_does_not_come_back_with_it(ledger: ports.Ledger) -> None:
    entry = msgspec.structs.replace(BLOCK, turn="t1", at=7.0)
    ledger.write({"plain": entry, "other": ports.Entry("x", ("m3",))})
    ledger.forget(["m1"])
    ledger.write(dict.fromkeys(["plain", "reply"], msgspec.structs.replace(entry, answered=True)))

    assert ledger.read(["plain", "reply", "other"]) == {"plain": ports.FORGOTTEN, "reply": ports.FORGOTTEN, "other": ports.Entry("x", ("m3",))}
    assert ledger.forget(["m1", "m2"]) == 0
    ledger.write({"later": BLOCK})
    assert ledger.read(["later"]) == {"later": BLOCK}, "what is told anew is told"


def test_a_key_that_is_given_another_entry_changes_no_other_key(ledger: ports.Ledger) -> None:
    """Two conversations that begin alike: the plain key is the later one's, the earlier one keeps that of its reply."""
    other = ports.Entry("other", ("m3",), turn="t2")
    ledger.write({"plain": BLOCK, "reply": BLOCK})
    ledger.write({"plain": other})
    assert ledger.read(["plain", "reply"]) == {"plain": other, "reply": BLOCK}


@pytest.mark.parametrize("entry", [ports.Entry("", (), turn="t1", at=1_790_000_000.25), ports.Entry("", (), answered=True, turn="t1", at=7.0)])
def test_that_nothing_was_told_comes_back_as_it_was(ledger: ports.Ledger, entry: ports.Entry) -> None:
    ledger.write({"a": entry})
    assert ledger.read(["a"]) == {"a": entry}


def test_writing_nothing_is_nothing(ledger: ports.Ledger) -> None:
    ledger.write({})
    assert ledger.forget(["m1"]) == 0


def test_what_redis_holds_of_the_ledger_ends_with_its_lifetime(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=60).write({"a": BLOCK})
    lifetimes = {key: client.ttl(key) for key in client.scan_iter()}
    assert sorted(key.split(b":")[1] for key in lifetimes) == [b"block", b"blocks-of", b"blocks-of", b"ledger"]
    assert all(0 < seconds <= 60 for seconds in lifetimes.values())


def test_what_was_written_for_longer_is_forgotten_after_the_lifetime_was_made_shorter(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=600).write({"a": BLOCK})
    redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=60).write({"b": ports.Entry("later", ("m1",))})
    longest = max(client.ttl(key) for key in client.scan_iter("brb:block:*"))
    assert client.ttl("brb:blocks-of:m1") >= longest > 60


def test_the_index_of_a_memory_that_is_told_for_ever_loses_what_has_expired(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    ledger = redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=60)
    ledger.write({"a": BLOCK})
    client.delete(*client.scan_iter("brb:block:*"))
    ledger.write({"b": ports.Entry("later", ("m1",))})
    assert client.scard("brb:blocks-of:m1") == 1


def test_more_memories_than_are_forgotten_at_once_are_forgotten(ledger: ports.Ledger) -> None:
    entries = {f"k{number}": ports.Entry(f"b{number}", (f"m{number}", f"m{number + 1}")) for number in range(250)}
    ledger.write(entries)
    assert ledger.forget([f"m{number}" for number in range(250)]) == 250
    assert ledger.read(list(entries)) == {}


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


def test_a_block_is_kept_once_however_many_keys_name_it(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    ledger = redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=60)
    ledger.write({"a": BLOCK, "b": BLOCK})
    ledger.write(dict.fromkeys("abc", ports.Entry(BLOCK.block, BLOCK.memories, answered=True)))
    assert len(list(client.scan_iter("brb:block:*"))) == 1


def test_entries_of_the_former_shape_are_read_replaced_and_forgotten(redis_address: str) -> None:
    """Each key held the whole entry, and each memory named the keys."""
    client, seal = redis_client.connect(redis_address, timeout_seconds=2), Seal("secret")
    for key in "abc":
        client.set(f"brb:ledger:{key}", seal.close(msgspec.json.encode(BLOCK)))
    client.sadd("brb:shown:m1", "a", "b", "c")
    ledger = redis_ledger.RedisLedger(client, seal, lifetime_seconds=60)
    later = ports.Entry("later", ("m3",))
    ledger.write({"b": later, "new": BLOCK})

    assert ledger.read(["a", "b", "new"]) == {"a": BLOCK, "b": later, "new": BLOCK}
    assert ledger.forget(["m1"]) == 4
    assert ledger.read(["a", "b", "c", "new"]) == {"b": later}
    assert not client.exists("brb:shown:m1", "brb:blocks-of:m1")


def test_an_entry_of_the_former_shape_is_answered(redis_address: str) -> None:
    """A call that is sent again after BRB was upgraded."""
    client, seal = redis_client.connect(redis_address, timeout_seconds=2), Seal("secret")
    client.set("brb:ledger:a", seal.close(msgspec.json.encode(BLOCK)))
    ledger, answered = redis_ledger.RedisLedger(client, seal, lifetime_seconds=60), msgspec.structs.replace(BLOCK, answered=True)
    ledger.write({"a": answered})
    assert ledger.read(["a"]) == {"a": answered}


def test_what_redis_has_lost_is_there_again_with_its_answer(redis_address: str) -> None:
    """A power cut takes the last second; the block was inserted, and is inserted again."""
    client, answered = redis_client.connect(redis_address, timeout_seconds=2), msgspec.structs.replace(BLOCK, answered=True)
    ledger = redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=60)
    ledger.write({"a": BLOCK})
    client.flushall()
    ledger.write({"a": answered, "reply": answered})
    assert ledger.read(["a", "reply"]) == {"a": answered, "reply": answered}


def test_what_another_key_has_sealed_is_as_if_it_were_not_there(redis_address: str) -> None:
    client, nothing = redis_client.connect(redis_address, timeout_seconds=2), ports.Entry("", (), turn="t1")
    redis_ledger.RedisLedger(client, Seal("former"), lifetime_seconds=60).write({"a": BLOCK, "b": nothing})
    client.set("brb:ledger:c", Seal("former").close(msgspec.json.encode(BLOCK)))
    ledger = redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=60)
    assert ledger.read(["a", "b", "c"]) == {"b": nothing}
    ledger.write({"a": BLOCK})
    assert ledger.read(["a"]) == {"a": BLOCK}


def test_redis_holds_no_block_in_clear(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=60).write({"a": ports.Entry("zebra", ("m1",))})
    assert all(b"zebra" not in (client.dump(key) or b"") for key in client.scan_iter())


def test_a_redis_that_is_away_is_unavailable(tmp_path: object) -> None:
    client = redis_client.connect(f"unix://{tmp_path}/none.sock", timeout_seconds=1)
    with pytest.raises(errors.Unavailable, match="redis"):
        redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=60).read(["a"])


def test_a_redis_that_is_nearly_full_takes_no_more_entries_and_gives_what_it_has(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    fill = redis_client.Fill(client, every_seconds=0.0)
    ledger = redis_ledger.RedisLedger(client, Seal("secret"), lifetime_seconds=60, room=fill.below(redis_client.BLOCKS))
    ledger.write({"a": BLOCK})
    client.config_set("maxmemory", int(client.info("memory")["used_memory"] / (redis_client.BLOCKS + 0.02)))
    try:
        with pytest.raises(errors.Unavailable, match="full"):
            ledger.write({"b": BLOCK})
        assert set(ledger.read(["a", "b"])) == {"a"}
    finally:
        client.config_set("maxmemory", "0")

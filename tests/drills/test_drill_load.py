"""When a load proves something: it came, and memory is looked at long enough after the last new memory; an overload: learning was shed."""

import pytest

from ops.drills import load
from ops.drills.load import Behind, Sample
from services.core.adapters import redis_client


def samples(seconds: int, grows: float = 0.0, *, memories_until: int = 60, name: str = "proxy") -> list[Sample]:
    """One every five seconds. grows: megabytes a minute; memories_until: when the last memory was stored."""
    return [
        Sample(float(at), {name: 150 + grows * at / 60}, {name: 1.0}, waiting=0, spooled=0, memories=min(at, memories_until), streams=200)
        for at in range(5, seconds + 5, 5)
    ]


@pytest.mark.parametrize(
    ("made", "complaints"),
    [
        (samples(600), []),
        (samples(600, 0.9), []),
        (samples(600, 1.2), ["proxy grows by 1.20 MB a minute"]),
        (samples(600, 5.0, name="redis"), []),
        (samples(600, memories_until=560), ["40 s without a new memory are too short to tell whether memory grows"]),
        (samples(100), ["40 s without a new memory are too short to tell whether memory grows"]),
    ],
)
def test_memory_is_flat_or_it_is_said_why_not(made: list[Sample], complaints: list[str]) -> None:
    assert load.not_flat(made) == complaints


def test_what_grew_while_memories_were_stored_is_none_of_it() -> None:
    growing, flat = samples(400, 9.0, memories_until=400), samples(600, memories_until=400)
    assert load.not_flat([*growing, *flat[len(growing) :]]) == []


@pytest.mark.parametrize(
    ("streams", "rate", "complaints"),
    [
        (200, 52.2, []),
        (196, 48.0, []),
        (200, 41.0, ["41.0 turns a second came of 50"]),
        (120, 30.0, ["120.0 streams at once came of 200", "30.0 turns a second came of 50"]),
    ],
)
def test_a_load_that_did_not_come_proves_nothing(streams: float, rate: float, complaints: list[str]) -> None:
    assert load.fell_short(streams, rate, asked_streams=200, asked_rate=50) == complaints


@pytest.mark.parametrize(
    ("shed", "most_spooled", "left", "complaints"),
    [
        (700, 900, Behind(0, 0, 0.84), []),
        (0, 0, Behind(0, 0, 0.8), ["0 turns went to the spool, at most 0 jobs were seen there: nothing is shown"]),
        (9, 0, Behind(0, 0, 0.8), ["9 turns went to the spool, at most 0 jobs were seen there: nothing is shown"]),
        (700, 900, Behind(0, 12, 0.86), ["not everything was learnt: waiting 0, spooled 12, Redis 86% full"]),
        (700, 900, Behind(3, 0, 0.84), ["not everything was learnt: waiting 3, spooled 0, Redis 84% full"]),
        (700, 900, Behind(-1, -1, 0.84), ["not everything was learnt: waiting -1, spooled -1, Redis 84% full"]),
    ],
)
def test_an_overload_goes_to_the_spool_and_comes_back(shed: int, most_spooled: int, left: Behind, complaints: list[str]) -> None:
    assert load.not_shed(shed, most_spooled=most_spooled, left=left) == complaints


@pytest.mark.parametrize(("seconds", "kept"), [(24, 1.7e6), (60, 4.3e6)])
def test_an_overload_leaves_redis_room_for_what_is_kept_of_it(seconds: int, kept: float) -> None:
    limit = 64 * 2**20
    held = load.crowd(seconds)
    assert held / limit > redis_client.WHYS, "why turns were told what is not kept: it takes as much room as the rest"
    assert held + kept + 1e6 < redis_client.JOBS * limit, "jobs come back when all turns were said"

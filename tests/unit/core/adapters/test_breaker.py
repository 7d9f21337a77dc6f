"""A Redis that does not answer costs one call its timeout, not every call."""

import pytest
import redis

from services.core import errors
from services.core.adapters import redis_client


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def fail() -> None:
    raise redis.TimeoutError("slow")


def test_callers_are_turned_away_for_a_while_after_a_failure() -> None:
    clock = Clock()
    breaker = redis_client.Breaker(rest_seconds=1, clock=clock)
    with pytest.raises(errors.Unavailable, match="TimeoutError"), redis_client.translated(breaker):
        fail()
    with pytest.raises(errors.Unavailable, match="a moment ago"), redis_client.translated(breaker):
        pytest.fail("Redis must not be asked again so soon")
    clock.now += 1.1
    with redis_client.translated(breaker):
        pass


def test_a_mistake_of_the_caller_does_not_trip_it() -> None:
    breaker = redis_client.Breaker()
    with pytest.raises(redis.ResponseError), redis_client.translated(breaker):
        raise redis.ResponseError("wrong type")
    breaker.check()

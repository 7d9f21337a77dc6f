"""What Celery does with messages while Redis does not answer."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from kombu import Connection, Consumer, Queue
from redis import exceptions

from services.core.adapters import celery_queue, redis_client

_HANGS_MS = 600
_PATIENCE = 0.2
_LAST = 9
_QUIET_SECONDS = 0.5  # less than kombu waits for an answer of Redis: whatever is not asked for anew by then is late


@pytest.mark.parametrize("end", [lambda message: message.ack(), lambda message: message.reject()], ids=["done", "refused"])
def test_a_message_whose_end_redis_is_not_told_makes_room_for_the_next(redis_address: str, end: Callable[[Any], None]) -> None:
    """It would take up its consumer's only slot for good: nothing was learnt any more after Redis had hung for some seconds."""
    client = redis_client.connect(redis_address, timeout_seconds=2)
    got: list[Any] = []
    options = {"socket_timeout": _PATIENCE, "retry_on_timeout": False}
    with Connection(celery_queue.broker_url(redis_address), transport_options=options) as connection:
        queue = Queue("hung")
        with connection.Producer() as producer:
            for body in ("one", "two"):
                producer.publish(body, routing_key="hung", declare=[queue])
        with Consumer(connection, [queue], on_message=got.append, prefetch_count=1):
            connection.drain_events(timeout=2)
            assert [message.payload for message in got] == ["one"]
            client.client_pause(_HANGS_MS)
            with pytest.raises(exceptions.TimeoutError):
                end(got[0])
            client.ping()  # which waits until the pause is over
            connection.drain_events(timeout=2)
            assert [message.payload for message in got] == ["one", "two"]


@pytest.mark.parametrize(("slots", "last"), [(1, 1), (2, 1), (4, 3)])
def test_one_of_several_slots_is_kept_free_of_what_comes_last(redis_address: str, slots: int, last: int) -> None:
    """Turns would wait for all that a language model is asked about those before them."""
    got: list[Any] = []
    with Connection(celery_queue.broker_url(redis_address)) as connection:
        queue = Queue(f"slots-{slots}")

        def publish(body: str, priority: int) -> None:
            with connection.Producer() as producer:
                producer.publish(body, routing_key=queue.name, declare=[queue], priority=priority)

        def taken() -> list[str]:
            with suppress(TimeoutError):
                while True:
                    connection.drain_events(timeout=_QUIET_SECONDS)
            return [message.payload for message in got]

        for number in range(slots + 1):
            publish(f"last {number}", _LAST)
        with Consumer(connection, [queue], on_message=got.append, prefetch_count=slots):
            at_work = [f"last {number}" for number in range(last)]
            assert taken() == at_work
            publish("turn", 0)
            if slots > 1:
                assert taken() == [*at_work, "turn"]
                got[-1].ack()
                assert taken() == [*at_work, "turn"], "its slot is kept for the next"
            got[0].ack()
            assert taken()[-1] == ("turn" if slots == 1 else f"last {last}")

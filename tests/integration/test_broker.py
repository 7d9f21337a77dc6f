"""What Celery does with messages while Redis does not answer."""

from collections.abc import Callable
from typing import Any

import pytest
from kombu import Connection, Consumer, Queue
from redis import exceptions

from services.core.adapters import celery_queue, redis_client

_HANGS_MS = 600
_PATIENCE = 0.2


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

"""One more beat: `python -m ops.drills.scheduler`. And what a broker's queue may hold that is no job of BRB's."""

import base64
import json
import time
import uuid

import redis

from services.core import config, messages, models, seal
from services.core.adapters import celery_queue, redis_jobs


def poisoned_messages() -> list[bytes]:
    """Not JSON; JSON that is no message; a task that nobody knows; an id of no job; arguments of another shape."""
    task = str(messages.Task.LEARN_TURN)
    return [
        b"\x00\xff garbage",
        b'{"no": "message"}',
        _message("brb.nobody_knows", ["learn_turn-x"]),
        _message(task, ["learn_turn-of-nobody"]),
        _message(task, [{"not": "an id"}, 1, 2]),
    ]


def record_unreadable(client: redis.Redis) -> None:
    """A job that another key has sealed."""
    said = messages.LearnTurn(turn="unreadable", principal=models.LOCAL, said_at=time.time(), words="The mascot is called Nobody.")
    book = redis_jobs.RedisJobBook(client, seal.Seal("another secret"), lease_seconds=1, done_seconds=60)
    book.add([messages.Job.of(messages.Task.LEARN_TURN, said)])


def _message(task: str, arguments: list[object]) -> bytes:
    """As kombu writes one to Redis."""
    made = str(uuid.uuid4())
    properties = {
        "correlation_id": made,
        "delivery_mode": 2,
        "delivery_info": {"exchange": "", "routing_key": str(messages.Queue.LEARN)},
        "priority": 0,
        "body_encoding": "base64",
        "delivery_tag": str(uuid.uuid4()),
    }
    body = base64.b64encode(json.dumps([arguments, {}, {}]).encode()).decode()
    headers = {"lang": "py", "task": task, "id": made, "root_id": made, "parent_id": None, "argsrepr": "", "kwargsrepr": "{}"}
    whole = {"body": body, "content-encoding": "utf-8", "content-type": "application/json", "headers": headers, "properties": properties}
    return json.dumps(whole).encode()


def main() -> None:
    settings = config.load()
    app = celery_queue.create_celery(settings, "brb-second-beat")
    celery_queue.schedule(app)
    app.Beat(loglevel="WARNING").run()


if __name__ == "__main__":
    main()

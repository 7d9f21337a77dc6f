"""The worker's task over a real Redis, with the redaction that the settings ask for."""

import re
from pathlib import Path

from services.core import config, messages, models, seal
from services.core.adapters import redis_client, redis_jobs
from services.worker.app import create_worker

WORDS = "We always ask Silvia Conti before a release. We use Postgres 15. Our staging server runs at 10.1.2.3."


def test_facts_hold_what_the_settings_let_them(redis_address: str, tmp_path: Path) -> None:
    settings = config.Settings(data_dir=tmp_path, redis_url=redis_address, redaction="person=redact,ip=drop")  # type: ignore[arg-type]
    client = redis_client.connect(settings.redis_address, timeout_seconds=5)
    book = redis_jobs.RedisJobBook(client, seal.Seal(seal.secret_of(settings)), lease_seconds=30, done_seconds=60)
    job = messages.Job.of(messages.Task.LEARN_TURN, messages.LearnTurn(turn="t1", principal=models.LOCAL, said_at=0.0, words=WORDS))
    book.add([job])
    assert create_worker(settings).tasks[str(messages.Task.LEARN_TURN)](job.id) == "done"
    claim = book.claim("store_facts-t1")
    assert claim is not None
    assert isinstance(claim.job.payload, messages.StoreFacts)
    person, database = (fact.text for fact in claim.job.payload.facts)
    assert re.fullmatch(r"We always ask <PERSON_[0-9]{6}> before a release", person)
    assert database == "We use Postgres 15"

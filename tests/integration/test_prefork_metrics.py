"""What a worker of several processes shows at its port is what really happened, whatever became of its processes meanwhile; and that one is kept free
for turns while a language model reads."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import psutil
import pytest
import redis
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.parser import text_string_to_metric_families

from services.core import config, messages, models, seal
from services.core.adapters import celery_queue, redis_jobs
from tests.conftest import ROOT, wait_until
from tests.integration.test_chat_model_faults import Answer, Server, completion

LEASE_SECONDS = 3.0
EACH = 12
RECYCLED_AFTER = 5
SECRET = "a-secret-of-tests"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Worker:
    """`python -m services.worker` with two processes, its port for Prometheus, and the jobs that it is given. before: how many jobs it was given
    before its last start."""

    def __init__(self, folder: Path, redis_address: str, **more: str) -> None:
        self.port = free_port()
        self.run = folder / "run"
        self._told: list[str] = []
        self.before = 0
        self.settings = config.Settings(data_dir=folder, redis_url=redis_address, secret_key=SECRET, lease_seconds=LEASE_SECONDS, _env_file=None)
        self.environment = config.environment_without_settings() | {
            "BRB_DATA_DIR": str(folder),
            "BRB_REDIS_URL": redis_address,
            "BRB_SECRET_KEY": SECRET,
            "BRB_RUNTIME_DIR": str(self.run),
            "BRB_METRICS_PORT": str(self.port),
            "BRB_WORKER_PROCESSES": "2",
            "BRB_WORKER_RECYCLE_JOBS": str(RECYCLED_AFTER),
            "BRB_LEASE_SECONDS": str(LEASE_SECONDS),
            **more,
        }
        self.redis = redis.Redis.from_url(redis_address)
        sealed = seal.Seal(SECRET)
        self._book = redis_jobs.RedisJobBook(self.redis, sealed, lease_seconds=LEASE_SECONDS, done_seconds=600)
        self._publish = celery_queue.Publisher(celery_queue.create_celery(self.settings, "test"))
        self._log = (folder / "worker.log").open("ab")

    def start(self) -> None:
        argv = [sys.executable, "-m", "services.worker", "--beat"]
        (self.run / "alive-worker").unlink(missing_ok=True)
        self.process = subprocess.Popen(argv, cwd=ROOT, env=self.environment, stdout=self._log, stderr=self._log)
        wait_until(lambda: (self.run / "alive-worker").exists(), seconds=60)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        self._log.close()
        self.redis.close()

    def learn(self, number: int) -> None:
        """Give it so many turns to learn, each with one fact in it, and wait until all are learnt."""
        for n in range(len(self._told), len(self._told) + number):
            turn = messages.LearnTurn(turn=f"turn-{n}", principal=models.LOCAL, said_at=1_760_000_000.0, words=f"My boat is called Nautilus{n}.")
            job = messages.Job.of(messages.Task.LEARN_TURN, turn)
            self._book.add([job])
            self._publish(job.id, job.task)
            self._told.append(job.id)
        wait_until(lambda: self.redis.exists(*(f"brb:job:done:{each}" for each in self._told)) == len(self._told), seconds=90)
        wait_until(lambda: sum(self.counted().values()) >= len(self._told) - self.before)  # a job is done before it is counted

    def shown(self) -> dict[str, float]:
        """Every series at its port."""
        text = httpx2.get(f"http://127.0.0.1:{self.port}/metrics", trust_env=False).raise_for_status().text
        found = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
        return {sample.name + "".join(f" {k}={v}" for k, v in sorted(sample.labels.items())): sample.value for sample in found}

    def pool(self) -> list[int]:
        """Those of its processes that have counted a job and still live."""
        return [pid for pid, jobs in self.counted().items() if jobs and psutil.pid_exists(pid)]

    def counted(self) -> dict[int, float]:
        """How many jobs each process has counted, by its id, of all that there ever were."""
        found = {}
        for file in (self.run / "metrics-worker").glob("histogram_*.db"):
            values = MmapedDict.read_all_values_from_file(str(file))
            found[int(file.stem.rpartition("_")[2])] = sum(value for key, value, *_ in values if "brb_task_seconds_bucket" in key)
        return found


@pytest.fixture
def worker(redis_address: str, tmp_path: Path) -> Iterator[Worker]:
    made = Worker(tmp_path, redis_address)
    made.start()
    try:
        yield made
    finally:
        made.close()


DONE = "brb_task_seconds_count outcome=done task=brb.learn_turn"
FACTS = "brb_facts_total outcome=facts stage=turn"


@pytest.mark.timeout(240)
def test_the_sums_are_what_really_happened_after_processes_were_killed_and_replaced(worker: Worker) -> None:
    worker.learn(EACH)
    shown = worker.shown()
    assert (shown[DONE], shown[FACTS]) == (EACH, EACH)
    assert shown["brb_turns_total outcome=spooled"] == 0, "what has not happened yet is there as well"

    worker.learn(1)
    os.kill(worker.pool()[0], signal.SIGKILL)
    worker.learn(EACH)

    shown = worker.shown()
    recorded = worker.redis.zcard("brb:jobs:added:index")
    assert (shown[DONE], shown[FACTS], recorded) == (2 * EACH + 1, 2 * EACH + 1, 2 * EACH + 1)
    counting = [pid for pid, jobs in worker.counted().items() if jobs]
    assert len(counting) >= (2 * EACH + 1) // RECYCLED_AFTER, "processes were replaced after so many jobs"
    assert sum(worker.counted().values()) == 2 * EACH + 1


@pytest.mark.timeout(120)
def test_a_restart_counts_from_zero_and_a_second_worker_needs_a_folder_of_its_own(worker: Worker) -> None:
    worker.learn(2)
    assert worker.shown()[DONE] == 2
    second = subprocess.run([sys.executable, "-m", "services.worker"], cwd=ROOT, env=worker.environment, capture_output=True, text=True, timeout=60)
    assert second.returncode == 1
    assert "BRB_RUNTIME_DIR" in second.stderr
    assert worker.shown()[DONE] == 2, "the second one has wiped nothing"

    for process in [psutil.Process(worker.process.pid), *psutil.Process(worker.process.pid).children(recursive=True)]:
        process.kill()
    worker.process.wait(10)
    worker.before = 2
    worker.start()
    assert DONE not in worker.shown()
    worker.learn(1)
    assert worker.shown()[DONE] == 1


@pytest.mark.timeout(120)
def test_turns_are_learnt_while_a_language_model_takes_its_time(redis_address: str, tmp_path: Path) -> None:
    over = threading.Event()

    def hang() -> Answer:
        over.wait(120)
        return completion("too late")

    with closing(Server()) as server:
        server.reply = hang
        worker = Worker(tmp_path, redis_address, BRB_EXTRACT_URL=server.url, BRB_WORKER_PROCESSES="")
        worker.start()
        try:
            for _ in range(3):
                worker.learn(1)
                wait_until(lambda: bool(server.requests))
            assert (worker.shown()[DONE], len(server.requests)) == (3, 1)
        finally:
            over.set()
            worker.close()

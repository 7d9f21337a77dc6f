"""A process of BRB that comes to its end exactly at one step: `python -m tests.support.mortal services.worker`.

The step is in the file that `MORTAL_AT` names, for as long as there is one: "kill after claim learn_turn" takes the file away and kills the
process group; "poison before extract" kills the process alone, and each one that comes there; "fail before extract" raises each time.
So nobody has to hit the moment from outside.
"""

import contextlib
import functools
import os
import runpy
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from services.core import jobs, messages
from services.core.adapters import celery_queue, llama_cpp, qdrant_edge, redis_jobs, spool
from services.worker import tasks

VARIABLE = "MORTAL_AT"


def _come_to(moment: str, step: str) -> None:
    path = Path(os.environ[VARIABLE])
    try:
        what, _, where = path.read_text().partition(" ")
    except FileNotFoundError:
        return
    if where != f"{moment} {step}":
        return
    if what == "fail":
        raise RuntimeError("the person's words")
    if what == "poison":
        os.kill(os.getpid(), signal.SIGKILL)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()  # one alone gets here
        os.killpg(0, signal.SIGKILL)


def _mortal(owner: Any, name: str, step: Callable[..., str]) -> None:
    real = getattr(owner, name)

    @functools.wraps(real)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        _come_to("before", step(*args, **kwargs))
        result = real(*args, **kwargs)
        _come_to("after", step(*args, **kwargs))
        return result

    setattr(owner, name, wrapped)


class _Extractor:
    def __init__(self, real: Any) -> None:
        self._real = real

    def extract(self, turn: messages.LearnTurn) -> Any:
        _come_to("before", "extract")
        facts = self._real.extract(turn)
        _come_to("after", "extract")
        return facts


def _task(job_id: str) -> str:
    return job_id.partition("-")[0]


def _first(added: Sequence[messages.Job]) -> str:
    return _task(added[0].id) if added else "nothing"


def main(module: str) -> None:
    book = redis_jobs.RedisJobBook
    _mortal(book, "add", lambda _, added: f"add {_first(added)}")
    _mortal(book, "claim", lambda _, job_id: f"claim {_task(job_id)}")
    _mortal(book, "finish", lambda _, claim, then=(): f"finish {_task(claim.job.id)}")
    _mortal(celery_queue.Publisher, "__call__", lambda _, job_id, task: f"publish {_task(job_id)}")
    _mortal(jobs, "run", lambda job_id, *_, **__: f"run {_task(job_id)}")
    _mortal(llama_cpp.LlamaCppEmbedder, "embed", lambda _, texts, kind, **__: f"embed {kind}")
    _mortal(qdrant_edge.EdgeStore, "put", lambda *_: "put")
    _mortal(qdrant_edge.EdgeStore, "update", lambda *_: "update")
    _mortal(spool.Spool, "put", lambda *_: "spool")
    _mortal(spool.Spool, "remove", lambda *_: "unspool")
    learn = tasks.learn_turn
    tasks.learn_turn = lambda turn, **options: learn(turn, **{**options, "extractor": _Extractor(options["extractor"])})
    sys.argv = [module, *sys.argv[2:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1])

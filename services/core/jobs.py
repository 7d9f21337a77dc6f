"""How a durable job is run: claim, do, finish or give back. Shared by every service that consumes a queue. See docs/adr/0002."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import structlog

from services.core import errors, leases, messages, ports, telemetry, tracing

MAX_ATTEMPTS = 5
LONGEST_SECONDS = 3600.0  # that a job is put off: one that is due later was put off before the clock was set back, and is due
MOST_DOUBLINGS = 6  # of the lease, between publications of a job that nobody takes: behind a long queue they would pile up
_AWAY_SECONDS = 5.0  # how long to leave a dependency alone that does not answer
_MENDED_SECONDS = 15.0  # how long to leave one alone that is set up wrongly
_log = structlog.get_logger()

Handler = Callable[[messages.Payload], Sequence[messages.Job]]
"""Does the work of one payload (idempotent) and names the jobs that follow from it."""

Publish = Callable[[str, messages.Task], None]
Within = Callable[[messages.Payload], AbstractContextManager[object]]


def backoff_seconds(attempt: int, task: messages.Task) -> float:
    """Delay before the next attempt: 2, 4, 8, ... at most 60 seconds. Where nobody waits for it, 15 seconds, 2 minutes, 16, an hour: a language model
    that answers nonsense has that long to be mended."""
    if task in messages.PATIENT:
        return min(LONGEST_SECONDS, 15.0 * 8.0 ** (attempt - 1))
    return min(60.0, 2.0**attempt)


def run(job_id: str, handle: Handler, *, book: ports.JobBook, publish: Publish, lease_seconds: float, within: Within | None = None) -> str:
    """Run one job if it is there and free. Returns the outcome, a label of `brb_task_seconds`.

    A job is done once in effect: `handle` is idempotent, and its record goes, and what follows is recorded, in one step.
    within: a lock that the work is done under. Whoever forgets something takes its jobs back and erases it under that lock, so that a job which
    is still held once it has the lock may write, and one that waited for it meanwhile brings nothing back.
    """
    claim = book.claim(job_id)
    if claim is None:
        return "gone"
    started = time.monotonic()
    with tracing.span(claim.job.task, claim.job.payload.turn) as told:
        outcome = told["outcome"] = _attempt(claim, handle, book, publish, lease_seconds, within)
    telemetry.TASKS.labels(claim.job.task, outcome).observe(time.monotonic() - started)
    return outcome


def _attempt(claim: ports.Claim, handle: Handler, book: ports.JobBook, publish: Publish, lease_seconds: float, within: Within | None) -> str:
    log = _log.bind(job=claim.job.id, task=str(claim.job.task), attempt=claim.attempt)
    if claim.attempt > MAX_ATTEMPTS:  # its earlier attempts ended without a word: the process was killed
        book.bury(claim, "Killed: the process ended in every attempt")
        log.error("job_dead", error="Killed")
        return "dead"
    try:
        with leases.kept(lambda: book.extend(claim), lease_seconds / 3), within(claim.job.payload) if within else nullcontext():
            if within and not book.extend(claim):
                return _lost(log)
            then = handle(claim.job.payload)
    except errors.Unavailable as error:
        book.postpone(claim, _AWAY_SECONDS, counted=False)
        log.warning("job_waits", dependency=error.dependency)
        return "waiting"
    except (errors.SetupError, errors.WrongModel) as error:  # the job is not to blame: it goes on when somebody has mended what is
        book.postpone(claim, _MENDED_SECONDS, counted=False)
        log.error("job_waits", cure=str(error))
        return "waiting"
    except Exception as error:
        return _failed(claim, error, book)
    if not book.finish(claim, then):
        return _lost(log)
    for job in then:
        publish(job.id, job.task)
    return "done"


def _lost(log: structlog.stdlib.BoundLogger) -> str:
    log.warning("job_claim_lost")
    return "lost"


def _failed(claim: ports.Claim, error: Exception, book: ports.JobBook) -> str:
    log = _log.bind(job=claim.job.id, task=str(claim.job.task), attempt=claim.attempt)
    if isinstance(error, errors.Permanent) or claim.attempt >= MAX_ATTEMPTS:
        # The text of an unforeseen exception may quote the person: only its type is kept.
        book.bury(claim, f"{type(error).__name__}: {error}" if isinstance(error, errors.BrbError) else type(error).__name__)
        log.error("job_dead", exc_info=error)
        return "dead"
    book.postpone(claim, backoff_seconds(claim.attempt, claim.job.task), counted=True)
    log.warning("job_failed", exc_info=error)
    return "failed"


def reconcile(book: ports.JobBook, publish: Publish) -> int:
    """Publish again the ids of jobs that are due and that nobody holds; how many."""
    overdue = book.overdue()
    for job_id, task in overdue:
        publish(job_id, task)
    if overdue:
        _log.info("jobs_republished", count=len(overdue))
    return len(overdue)

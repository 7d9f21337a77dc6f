"""`brb jobs`: what waits to be learnt, and what failed for good."""

from typing import Annotated

import typer

from services.cli import options, output
from services.core import errors


def listed(as_json: options.Json = False) -> None:
    """Show how many jobs wait in each queue, and for how long the oldest."""
    with options.operating() as brb:
        jobs = brb.jobs()
    if as_json:
        return output.json(jobs)
    rows = [[queue, str(number), f"{jobs.oldest_seconds.get(queue, 0):.0f}"] for queue, number in jobs.pending.items()]
    output.table(["queue", "#waiting", "#oldest (s)"], rows)
    if jobs.spooled:
        output.note(f"{jobs.spooled} more wait on this machine for Redis")
    if jobs.dead:
        output.note(f"{jobs.dead} failed for good: see `brb jobs dead`")


def dead(as_json: options.Json = False) -> None:
    """List the jobs that failed for good, newest first."""
    with options.operating() as brb:
        letters = brb.dead_jobs()
    if as_json:
        return output.json(letters)
    rows = [[job.id, job.task, job.team, str(job.attempts), output.minute(job.died_at), job.error] for job in letters.jobs]
    output.table(["id", "task", "team", "#attempts", "died", "error"], rows)
    if not rows:
        output.note("no job failed for good")


def retried(
    job_ids: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Ids of dead jobs.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every dead job.")] = False,
    as_json: options.Json = False,
) -> None:
    """Try dead jobs again."""
    if bool(job_ids) == every:
        raise errors.BadInput("name the jobs to retry, or say --all")
    with options.operating() as brb:
        wanted = [job.id for job in brb.dead_jobs().jobs] if every else job_ids or []
        done = [brb.retry(job_id) for job_id in wanted]
    if as_json:
        return output.json(done)
    for job in done:
        output.line(f"{job.id} will be tried again")
    if not done:
        output.note("no job failed for good")

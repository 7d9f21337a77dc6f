"""Whether a process of BRB lives. A container asks every few seconds, on a busy machine too: nothing is imported that this can do without."""

import sys
from collections.abc import Sequence

from services.core import address, errors, signs

PARTS = ("proxy", "worker", "indexer", "beat", "embedded")
_PATIENCE_SECONDS = 3.0


def check(part: str) -> None:
    """`Unavailable`, with the reason, unless the process of this machine or container lives."""
    if part in ("proxy", "embedded"):
        _check_answers()
    else:
        _check_sign(part)


def quickly(arguments: Sequence[str]) -> int | None:
    """The exit status of `brb run healthcheck PART`, done without the rest of `brb`; None for anything else."""
    if list(arguments) not in [["run", "healthcheck", part] for part in PARTS]:
        return None
    try:
        check(arguments[-1])
    except errors.BrbError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write("ok\n")
    return 0


def _check_answers() -> None:
    import http.client

    where = address.own()
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=_PATIENCE_SECONDS)
    try:
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
    except OSError as error:
        raise errors.Unavailable(f"BRB at {where.geturl()}", error) from None
    finally:
        connection.close()
    if status != http.client.OK:
        raise errors.Unavailable(f"BRB at {where.geturl()}", f"status {status}")


def _check_sign(part: str) -> None:
    age = signs.age_seconds(signs.path(address.run_dir(), part))
    if age > signs.STALE_SECONDS:
        raise errors.Unavailable(part, "it never gave a sign of life" if age == float("inf") else f"its last sign of life is {age:.0f} s old")

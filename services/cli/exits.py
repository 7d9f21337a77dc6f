"""Exit statuses: what a failed command tells the shell."""

from services.core import errors


class NotRunning(errors.Transient):
    """Nobody answers at the configured address."""


class TooMany(errors.Transient):
    """More calls than a token may make in a minute: the same one later is answered."""


def status_of(error: errors.BrbError) -> int:
    """1 failed, 2 wrong usage, 3 BRB is not running, 4 no such memory, job or turn."""
    if isinstance(error, errors.BadInput):
        return 2
    if isinstance(error, NotRunning):
        return 3
    return 4 if isinstance(error, errors.NotFound) else 1

"""What both implementations of `ports.Figures` have in common."""

from datetime import UTC, datetime, timedelta

TALLY_DAYS = 30
MOST_TALLIED = 5_000
"""Memories that are counted one by one in a day; those beyond, told least, count in the total alone."""


def day_of(at: float) -> str:
    """at: epoch seconds."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()


def days_until(at: float) -> list[str]:
    """The days of the tally, newest first."""
    last = datetime.fromtimestamp(at, UTC).date()
    return [(last - timedelta(days=back)).isoformat() for back in range(TALLY_DAYS)]

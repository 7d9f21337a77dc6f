"""The beat sends what is due, whatever happens to the clock of the machine."""

from datetime import UTC, datetime, timedelta

import pytest

from services.core.adapters import celery_queue

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("last", "due"),
    [
        (timedelta(seconds=-1), False),
        (timedelta(seconds=-2), True),
        (timedelta(days=-1), True),
        (timedelta(seconds=1), True),  # the clock was set back
        (timedelta(days=1), True),
    ],
)
def test_it_is_due_so_many_seconds_after_the_last_time_and_when_that_is_in_the_future(last: timedelta, due: bool) -> None:
    every = celery_queue.Every(2.0, nowfun=lambda: NOW)
    found, seconds = every.is_due(NOW + last)
    assert (found, 0 < seconds <= 2.0) == (due, True)

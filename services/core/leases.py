"""Keeping a lease alive while work goes on, so that only what a dead process held falls to another."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from services.core import errors


@contextmanager
def kept(extend: Callable[[], bool], every_seconds: float) -> Iterator[None]:
    """Call `extend` every so often in a thread until the block ends, or until it says that the lease is lost."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(every_seconds):
            try:
                if not extend():
                    return
            except errors.Unavailable:
                continue

    thread = threading.Thread(target=beat, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()

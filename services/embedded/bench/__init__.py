"""Measurements of BRB on this machine, each beside a baseline in the same run: ratios carry over to other machines, milliseconds don't.

relay: what BRB adds to a call, beside a bare relay and beside no relay at all.
recall: what a new turn waits for with a full store, llama.cpp and Redis, beside the same.
store: how fast the embedded store writes and finds, and what it takes of memory and disk.
"""

from collections.abc import Callable
from typing import Literal

from services.embedded.bench import report

Report = report.Report
Progress = Callable[[str, float], None]


def run(name: Literal["relay", "recall", "store"], *, quick: bool = False, thorough: bool = False, progress: Progress) -> Report:
    """Measure, in a temporary folder and in processes of its own, all of which are gone afterwards.

    quick: few calls and small stores: shows that it works, and its figures mean little. thorough: more callers, larger stores.
    progress: told of each stage and of how much of it is done (0 to 1). `SetupError`, `Unavailable`: something did not start or answered wrongly.
    """
    scale: report.Scale = "quick" if quick else "thorough" if thorough else "normal"
    if name == "relay":
        from services.embedded.bench import relay

        return relay.measure(relay.PLANS[scale], progress)
    if name == "recall":
        from services.embedded.bench import recall

        return recall.measure(recall.PLANS[scale], progress)
    from services.embedded.bench import store

    return store.measure(store.PLANS[scale], progress)

"""Measurements of BRB on this machine.

Times, each beside a baseline in the same run (ratios carry over to other machines, milliseconds don't):
relay: what BRB adds to a call, beside a bare relay and beside no relay at all.
recall: what a new turn waits for with a full store, llama.cpp and Redis, beside the same.
store: how fast the embedded store writes and finds, and what it takes of memory and disk.
learn: turns that a worker learns from in a second, and whether its memory stays flat.

How right it is, on labelled data (`data`), by the production code path:
facts: what the extractors keep and leave out. updates: whether a changed fact is the current one. dedup: which pairs are merged.
recall with a set: how well memories and notes are found (locomo, longmemeval, scifact, pages), and whether unrelated turns are told nothing (wire).
pii, secrets: what redaction finds. notes: whether a folder that is indexed again and again is what indexing it afresh makes of it.
"""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from services.core import errors
from services.embedded.bench import report

Report = report.Report
Progress = Callable[[str, float], None]
Name = Literal["relay", "recall", "store", "learn", "facts", "updates", "dedup", "pii", "secrets", "notes"]

Set = Literal["locomo", "longmemeval", "scifact", "pages", "wire"]

_ON_DATA = frozenset({"facts", "updates", "dedup", "pii", "secrets", "notes"})


def run(name: Name, *, set_: Set | None = None, data: Path | None = None, quick: bool = False, thorough: bool = False, progress: Progress) -> Report:
    """Measure, in a temporary folder and in processes of its own, all of which are gone afterwards.

    set_: of labelled data, for `recall`: then how right it is is measured rather than time.
    data: a file of labelled examples, or a folder of such files, for the measurements of how right it is; `learn` takes its turns from there.
    quick: few calls and small stores: shows that it works, and its figures mean little. thorough: more callers, larger stores.
    progress: told of each stage and of how much of it is done (0 to 1).
    `BadInput`: the data can't be read. `SetupError`, `Unavailable`: something did not start or answered wrongly.
    """
    if set_ is not None and name != "recall":
        raise errors.BadInput(f"--set belongs to `brb bench recall`, not to {name}")
    if (name in _ON_DATA or set_) and data is None:
        raise errors.BadInput(f"`brb bench {name}` measures on labelled data: give it with --data PATH, or set BRB_BENCH_DATA")
    if set_ == "wire":
        return _report(importlib.import_module(f"{__name__}.wire").measure(data, progress))
    if set_:
        return _report(importlib.import_module(f"{__name__}.recall_sets").measure(set_, data, progress, quick=quick))
    measurement = importlib.import_module(f"{__name__}.{name}")
    if name in _ON_DATA:
        return _report(measurement.measure(data, progress))
    scale: report.Scale = "quick" if quick else "thorough" if thorough else "normal"
    if name == "learn":
        return _report(measurement.measure(measurement.PLANS[scale], progress, data))
    return _report(measurement.measure(measurement.PLANS[scale], progress))


def _report(value: object) -> Report:
    assert isinstance(value, Report)  # noqa: S101 - each measurement returns one
    return value

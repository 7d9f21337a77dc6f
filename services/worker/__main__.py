"""`python -m services.worker`: the worker's processes; with `--beat` the clock of upkeep as well. There may be several workers, but one beat."""

import argparse
import warnings

from services.core import config, process


def serve(settings: config.Settings, alone: bool, *, beat: bool) -> None:
    from celery.exceptions import SecurityWarning

    from services.core.adapters import metrics_server
    from services.worker.app import create_worker

    warnings.simplefilter("ignore", SecurityWarning)  # Celery's word against root: it accepts JSON alone, and containers decide who runs it
    app = create_worker(settings)
    if alone:  # else the proxy shows what this process counts
        metrics_server.start(settings)
    options = ["worker", *(["--beat"] if beat else []), "--queues=learn", f"--concurrency={settings.processes}", "--pool=prefork"]
    app.worker_main([*options, "--without-gossip", "--without-mingle", "--hostname=worker@%h", "--loglevel=WARNING"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beat", action="store_true")
    beat = parser.parse_args().beat
    process.run("worker", lambda settings, alone: serve(settings, alone, beat=beat))


if __name__ == "__main__":
    main()

"""`python -m services.worker`: the worker's processes and the beat."""

import warnings

from celery.exceptions import SecurityWarning

from services.core import config, telemetry
from services.worker.app import create_worker


def main() -> None:
    settings = config.load()
    telemetry.configure_logging(settings.log_level)
    warnings.simplefilter("ignore", SecurityWarning)  # Celery's word against root: it accepts JSON alone, and containers decide who runs it
    app = create_worker(settings)
    options = ["worker", "--beat", "--queues=learn", f"--concurrency={settings.worker_processes}", "--without-gossip", "--without-mingle"]
    app.worker_main([*options, "--pool=prefork", "--hostname=worker@%h", "--loglevel=WARNING"])


if __name__ == "__main__":
    main()

"""`python -m services.indexer`: an indexer by itself. There may be several: a lock for each owner, in Redis, keeps them apart."""

import contextlib
import warnings

from services.core import config, process


def serve(settings: config.Settings, _alone: bool) -> None:
    from celery.exceptions import SecurityWarning

    from services.core.adapters import metrics_server, vectors
    from services.indexer import app

    warnings.simplefilter("ignore", SecurityWarning)  # Celery's word against root: it accepts JSON alone, and containers decide who runs it
    with (
        contextlib.closing(vectors.open_store(settings)) as store,
        contextlib.closing(vectors.open_embedder(settings)) as embedder,
    ):
        metrics_server.start(settings)
        app.consume(app.compose(settings, store=store, embedder=embedder), settings)


def main() -> None:
    process.run("indexer", serve, shares=True)


if __name__ == "__main__":
    main()

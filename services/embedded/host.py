"""The process that hosts the proxy and the indexer's consumer over one Edge shard: `python -m services.embedded.host`."""

from services.core import config, process


def serve(settings: config.Settings, _alone: bool) -> None:
    from services.core.adapters import vectors
    from services.indexer import app
    from services.proxy import serving

    store, notes, embedder = vectors.open_store(settings), vectors.open_notes(settings), vectors.open_embedder(settings)
    consumer = app.Consumer(app.compose(settings, store=store, embedder=embedder), settings)
    serving.serve(settings, store=store, notes=notes, embedder=embedder, beside=[consumer])


def main() -> None:
    process.run("embedded", serve)


if __name__ == "__main__":
    main()

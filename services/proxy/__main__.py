"""`python -m services.proxy`: a proxy by itself, over a Redis and a Qdrant server that others share. There may be several."""

from services.core import config, process


def serve(settings: config.Settings, _alone: bool) -> None:
    from services.core.adapters import vectors
    from services.proxy import serving

    store, notes = vectors.open_store(settings, later=True), vectors.open_notes(settings, later=True)  # calls go through whatever is away
    embedder = vectors.open_embedder(settings)
    serving.serve(settings, store=store, notes=notes, embedder=embedder)


def main() -> None:
    process.run("proxy", serve, shares=True)


if __name__ == "__main__":
    main()

"""`python -m services.indexer.beat`: the clock of upkeep. One is enough; two only do it twice."""

from services.core import config, process


def serve(settings: config.Settings, alone: bool) -> None:
    from celery.apps.beat import Beat

    from services.core import signs
    from services.core.adapters import celery_queue, heartbeat, metrics_server, redis_client

    client = redis_client.connect(settings.redis_address, timeout_seconds=2)
    app = celery_queue.create_celery(settings, "brb-beat")
    celery_queue.schedule(app, heartbeat.scheduler(heartbeat.Heart("beat", client, signs.path(settings.run_dir, "beat"))))
    if alone:  # else the proxy shows what this process counts
        metrics_server.start(settings)
    Beat(app=app, quiet=True, loglevel="WARNING").run()


def main() -> None:
    process.run("beat", serve)


if __name__ == "__main__":
    main()

"""How a process of BRB begins, whichever it is: what each `__main__` runs."""

import sys
from collections.abc import Callable
from importlib.metadata import version

from services.core import config, errors


def run(part: config.Part, serve: Callable[[config.Settings, bool], None], *, shares: bool = False) -> None:
    """Serve until it is told to end. A mistake in the settings or the machine is one line on stderr that names the cure.

    serve: imports what it needs by itself, for that reads what is set up here; it is told whether it counts alone (`config.begin`).
    shares: it works only on servers that other processes use as well.
    """
    try:
        settings = config.load()
        if shares:
            config.check_servers(settings, part)
        alone = config.begin(settings, part)
        from services.core import telemetry, tracing

        telemetry.configure_logging(settings.log_level)
        telemetry.start()
        telemetry.BUILD.labels(version("brb"), settings.embed_model).set(1)
        tracing.start(settings, part)
        try:
            serve(settings, alone)
        finally:
            tracing.stop()
    except errors.BrbError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - whoever started it shows this line
        sys.exit(1)

"""Traces by OpenTelemetry, off unless `BRB_TRACES_URL` names a receiver (OTLP over HTTP). They say how long what took, and never a text or a name.

All that a turn leads to is one trace, in whatever process it happens: its id is made of the turn's, which is in every job. So nothing has to travel
with a job, and what is learnt hours later is still found with the call that it was said in.
"""

import contextlib
import hashlib
import random
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from services.core import config, errors

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

_EVERY_MILLISECONDS = 1000
_PATIENCE_SECONDS = 5

_provider: "TracerProvider | None" = None
_tracer: "Tracer | None" = None


def start(settings: config.Settings, part: str) -> None:
    """To be called once by each process. `SetupError` if traces are wanted and their packages are not installed."""
    global _provider, _tracer
    if settings.traces_url is None:
        return
    try:
        import requests
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        raise errors.SetupError(f"BRB_TRACES_URL needs a package ({error.name}): pip install 'brb[traces]', or unset it") from None
    session = requests.Session()
    session.trust_env = False  # not by way of a proxy that the environment names for other things
    exporter = OTLPSpanExporter(f"{settings.traces_url}/v1/traces", timeout=_PATIENCE_SECONDS, session=session)
    # not the global provider: only BRB's own spans leave, and none that a library makes
    _provider = TracerProvider(resource=Resource.create({"service.name": f"brb-{part}"}))
    _provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=_EVERY_MILLISECONDS))
    _tracer = _provider.get_tracer("brb")


def stop() -> None:
    """Send what is left."""
    global _provider, _tracer
    if _provider is not None:
        _provider.shutdown()
    _provider = _tracer = None


@contextlib.contextmanager
def span(name: str, turn: str) -> Iterator[dict[str, str | int]]:
    """Of a turn, as long as the block takes; what `done` tells in it is a part of it. Takes attributes: values of closed sets alone."""
    attributes: dict[str, str | int] = {}
    if _tracer is None:
        yield attributes
        return
    with _tracer.start_as_current_span(name, context=_of_turn(turn), record_exception=False, set_status_on_exception=False) as current:
        try:
            yield attributes
        finally:
            current.set_attributes(attributes)


def done(name: str, seconds: float, *, turn: str = "", **attributes: str | int) -> None:
    """Something that has just ended, and took so long: of this turn, or of the span around it. Without either, by itself."""
    if _tracer is None:
        return
    now = time.time_ns()
    made = _tracer.start_span(name, context=_of_turn(turn) if turn else None, start_time=now - int(seconds * 1e9), attributes=attributes)
    made.end(now)


def _of_turn(turn: str) -> Any:
    from opentelemetry import trace

    digest = hashlib.sha256(turn.encode()).digest() if turn else random.randbytes(24)  # noqa: S311 - no secret
    where = trace.SpanContext(int.from_bytes(digest[:16]), int.from_bytes(digest[16:24]), is_remote=True, trace_flags=trace.TraceFlags(1))
    return trace.set_span_in_context(trace.NonRecordingSpan(where))

"""A port of its own for Prometheus: of the processes that serve nothing else, and of a proxy whose port is not for the scraper."""

import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import structlog
from prometheus_client import CONTENT_TYPE_LATEST

from services.core import config, errors, telemetry

_PATIENCE_SECONDS = 10.0
_log = structlog.get_logger()


def start(settings: config.Settings, exposed: Callable[[], bytes] = telemetry.exposed) -> None:
    """Serve `GET /metrics` in a thread, for as long as the process lives, if `BRB_METRICS_PORT` is set. exposed: what is answered.

    `SetupError` if the port is taken.
    """
    if settings.metrics_port is None:
        return
    one_at_a_time = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        timeout = _PATIENCE_SECONDS

        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            try:
                with one_at_a_time:
                    body = exposed()
            except Exception as error:
                _log.error("scrape_failed", exc_info=error)
                self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR)
                return
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", CONTENT_TYPE_LATEST)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: a scrape every few seconds is no event."""

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in settings.metrics_host else socket.AF_INET

    try:
        server = Server((settings.metrics_host, settings.metrics_port), Handler)
    except OSError as error:
        where = f"port {settings.metrics_port} on {settings.metrics_host}"
        raise errors.SetupError(f"{where} can't be used ({error.strerror}): stop what uses it, or set BRB_METRICS_PORT") from None
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()

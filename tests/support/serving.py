"""An ASGI app served by the real server (uvicorn, uvloop, httptools) on a free port, in a thread."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import uvicorn

from tests.support import upstream


@contextlib.contextmanager
def serving(app: Any) -> Iterator[str]:
    """The base URL of the app while the block runs."""
    settings = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        loop="uvloop",
        http="httptools",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run, name="serving", daemon=True)
    thread.start()
    assert upstream.wait_for(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)

"""What answers like Qdrant, in the place of its image: `tests/support/qdrant_rest.py` on Qdrant's port, and what the stack asks it beside BRB.

It keeps nothing: it says how the parts work together, not that Qdrant keeps what it is given.
"""

import http.server
import os
from http import HTTPStatus

from tests.support import qdrant_rest


def main() -> None:
    key = os.environ["QDRANT__SERVICE__API_KEY"]

    class Handler(qdrant_rest._handler(qdrant_rest.Qdrant(key))):  # type: ignore[misc]  # a class that is made
        def do_GET(self) -> None:
            if self.path == "/readyz":
                self._send(HTTPStatus.OK, b"all shards are ready", "text/plain")
            elif self.path == "/metrics":
                known = self.headers.get("authorization") == f"Bearer {key}"
                self._send(HTTPStatus.OK if known else HTTPStatus.UNAUTHORIZED, b"app_info 1\n" if known else b"", "text/plain; version=0.0.4")
            else:
                self._answer()

    http.server.ThreadingHTTPServer(("0.0.0.0", 6333), Handler).serve_forever()  # noqa: S104 - of a container, in a network without a way out


if __name__ == "__main__":
    main()

"""What an upstream said before it reset its connection. Its moves and those of the relay's side fall into one turn of the event loop."""

import asyncio
import socket

import pytest
import uvloop

from services.proxy import upstream
from services.proxy.wire.headers import Header
from tests.support import raw

REFUSED = raw.reply(b"too large", b"413 Payload Too Large", [(b"connection", b"close")])
HEAD = raw.call(b"/v1/files", [(b"content-length", b"100000000")], b"")


class Taking:
    """A taker that only listens."""

    def __init__(self) -> None:
        self.status = 0
        self.body = b""
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def interim(self, status: int, reason: bytes, headers: list[Header]) -> None: ...

    def began(self, status: int, reason: bytes, headers: list[Header]) -> None:
        self.status = status

    def piece(self, data: bytes) -> None:
        self.body += data

    def flush(self) -> None: ...

    def ended(self) -> None:
        self.over.set_result("ended")

    def broke(self, error: upstream.Broken) -> None:
        self.over.set_result(str(error))

    def upload_held(self) -> None: ...

    def upload_goes_on(self) -> None: ...


@pytest.mark.parametrize("size", [1000, 1_000_000])
def test_an_answer_survives_what_is_sent_behind_the_reset_of_its_connection(size: int) -> None:
    """Who does not want an upload answers and hangs up. To write then fails, which must not take the answer along that is still to be read."""

    async def upload() -> Taking:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            connection = await upstream.Upstream(f"http://127.0.0.1:{listener.getsockname()[1]}").connect()
            taking = Taking()
            connection.ask(taking, HEAD, None, bodiless=False)
            await asyncio.sleep(0)  # the head goes out
            other = raw.Wire(listener.accept()[0])
            other.head()
            other.send(REFUSED)
            other.abort()
            connection.send(bytes(size))
            await asyncio.wait_for(taking.over, raw.DEADLINE_SECONDS)
            return taking

    taking = uvloop.run(upload())
    assert (taking.status, taking.body, taking.over.result()) == (413, b"too large", "ended")

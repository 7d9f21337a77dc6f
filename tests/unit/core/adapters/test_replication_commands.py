"""What a replica says to the one that gives it a copy, out of the bytes that have come so far."""

import pytest

from services.core.adapters.redis_replication import _command

PING = b"*1\r\n$4\r\nPING\r\n"
ACK = b"*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$2\r\n14\r\n"


@pytest.mark.parametrize(
    ("buffer", "expected"),
    [
        (PING, ([b"PING"], b"")),
        (ACK + PING, ([b"REPLCONF", b"ACK", b"14"], PING)),
        (b"\n" + ACK, ([b"REPLCONF", b"ACK", b"14"], b"")),  # "I am loading, and alive"
        (b"\n\n\n" + PING, ([b"PING"], b"")),
        (b"\n", None),
        (b"", None),
        (b"*1", None),
        (b"*1\r\n$4\r\nPI", None),
        (ACK[:-2], None),
    ],
)
def test_a_command_is_read_once_it_is_whole(buffer: bytes, expected: tuple[list[bytes], bytes] | None) -> None:
    assert _command(buffer) == expected

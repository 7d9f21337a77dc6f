"""All of a Redis at one moment, over the connection alone, wherever its files are: taken as a replica takes it, and given as a master gives it.

Redis forks for it and goes on; nothing waits, and nothing comes onto its disk beside its append-only file. The format is Redis's own (RDB), which the
same or a later version reads. See Redis's documentation of replication (`SYNC`, `PSYNC`, `REPLICAOF`).
"""

import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import redis

from services.core import errors
from services.core.adapters.redis_client import translated, wait_for_log

_PIECE = 1 << 16
_POLL_SECONDS = 0.05
_TIMEOUT_SECONDS = 60.0  # without a byte
_MARK_BYTES = 40
_MAGIC = (b"REDIS", b"VALKEY")


def take(client: redis.Redis, file: Path) -> None:
    """Write what is in Redis now to a file."""
    with translated(), _replica(client) as stream:
        header = _line(stream)
        while header == b"":  # empty lines say that it is still busy with it
            header = _line(stream)
        if not header.startswith(b"$"):
            raise errors.SetupError(f"Redis does not give a copy of itself: {header.decode(errors='replace')[:200]}")
        with file.open("xb") as out:
            if header.startswith(b"$EOF:"):
                _until(stream, header.removeprefix(b"$EOF:"), out)
            else:
                _exactly(stream, int(header[1:]), out)
    with file.open("rb") as taken:
        if not taken.read(len(_MAGIC[1])).startswith(_MAGIC):
            raise errors.SetupError("Redis gave something else than a copy of itself")


def freed(client: redis.Redis) -> None:
    """Make it a master: `give` that was killed leaves a replica of nobody, which takes no writes and gives no copy of itself. `SetupError` if it may
    not be made one or the other."""
    try:
        with translated():
            client.replicaof("NO", "ONE")
    except redis.ResponseError as error:
        raise errors.SetupError(f"Redis can't be restored into: {error}. It takes REPLICAOF, which some services don't allow") from error


def give(client: redis.Redis, file: Path, *, wait_seconds: float = 600.0) -> None:
    """Replace all that is in Redis by what is in the file, and wait until it is on its disk. Other clients may not use it meanwhile."""
    host, peer = _ways(client)
    with socket.create_server((host, 0)) as server:
        done = threading.Event()
        failed: list[BaseException] = []
        thread = threading.Thread(target=_served, args=(server, peer, file, done, failed), name="redis-master", daemon=True)
        thread.start()
        try:
            with translated():
                client.replicaof(host, server.getsockname()[1])
                _wait(client, failed, time.monotonic() + wait_seconds)
        finally:
            done.set()
            thread.join(_TIMEOUT_SECONDS)
            freed(client)  # last: Valkey 9 waits for its connection to end before it answers
            wait_for_log(client, wait_seconds=wait_seconds)  # it writes one for what it took, and does not end before


def _wait(client: redis.Redis, failed: list[BaseException], deadline: float) -> None:
    while True:
        with suppress(redis.BusyLoadingError):
            found: Any = client.info("replication")
            if found.get("master_link_status") == "up" and not found.get("master_sync_in_progress"):
                return
        if failed:
            raise errors.SetupError(f"Redis did not take the copy: {failed[0]}. Is it of an earlier version than the one that was backed up?")
        if time.monotonic() > deadline:
            raise errors.Unavailable("redis", "it did not take the copy in time; its log says why")
        time.sleep(_POLL_SECONDS)


@contextmanager
def _replica(client: redis.Redis) -> Iterator[IO[bytes]]:
    """The stream of a connection that Redis takes for a replica's."""
    connection: Any = client.connection_pool.make_connection()
    connection.connect()
    try:
        connection.send_command("REPLCONF", "capa", "eof")  # straight to the connection, not by way of a file
        connection.read_response()
        sock: socket.socket = connection._sock
        sock.settimeout(_TIMEOUT_SECONDS)
        connection.send_command("SYNC")
        with sock.makefile("rb") as stream:
            yield stream
    except TimeoutError:
        raise errors.Unavailable("redis", f"not a byte of its copy came in {_TIMEOUT_SECONDS:.0f} s") from None
    except ConnectionError as error:
        raise _broken_off() from error
    except redis.ResponseError as error:
        raise errors.SetupError(f"Redis gives no copy of itself: {error}. It takes REPLCONF and SYNC, which some services don't allow") from error
    finally:
        connection.disconnect()


def _line(stream: IO[bytes]) -> bytes:
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise _broken_off()
    return line.rstrip(b"\r\n")


def _broken_off() -> errors.Unavailable:
    return errors.Unavailable("redis", "it broke off in the middle of its copy")


def _until(stream: IO[bytes], mark: bytes, out: IO[bytes]) -> None:
    """Copies up to the mark, which ends what has no length."""
    held = b""
    while not held.endswith(mark):
        piece = stream.read1(_PIECE)  # type: ignore[attr-defined]
        if not piece:
            raise _broken_off()
        held += piece
        out.write(held[:-_MARK_BYTES])
        held = held[-_MARK_BYTES:]


def _exactly(stream: IO[bytes], size: int, out: IO[bytes]) -> None:
    while size:
        piece = stream.read(min(size, _PIECE))
        if not piece:
            raise _broken_off()
        size -= out.write(piece)


def _ways(client: redis.Redis) -> tuple[str, str]:
    """The address of this machine that Redis reaches, and the one that it comes from."""
    options: Any = client.connection_pool.connection_kwargs
    if "path" in options:
        return "127.0.0.1", "127.0.0.1"
    with socket.create_connection((options.get("host", "localhost"), int(options.get("port", 6379))), timeout=5) as probe:
        return str(probe.getsockname()[0]), str(probe.getpeername()[0])


def _served(server: socket.socket, peer: str, file: Path, done: threading.Event, failed: list[BaseException]) -> None:
    """A master for one replica, until it is done."""
    server.settimeout(_POLL_SECONDS)
    while not done.is_set():
        try:
            connection, (came_from, *_) = server.accept()
        except TimeoutError:
            continue
        with connection:
            if came_from != peer:  # nobody else gets it
                continue
            connection.settimeout(_POLL_SECONDS)
            try:
                _speak(connection, file, done)
            except OSError as error:
                if not done.is_set():
                    failed.append(error)


def _speak(connection: socket.socket, file: Path, done: threading.Event) -> None:
    buffer = b""
    while not done.is_set():
        try:
            piece = connection.recv(_PIECE)
        except TimeoutError:
            continue
        if not piece:
            raise ConnectionResetError("it hung up")
        buffer += piece
        while (command := _command(buffer)) is not None:
            words, buffer = command
            _reply(connection, words, file)


def _reply(connection: socket.socket, words: list[bytes], file: Path) -> None:
    name = words[0].upper()
    if name in (b"PSYNC", b"SYNC"):
        connection.settimeout(_TIMEOUT_SECONDS)
        if name == b"PSYNC":
            connection.sendall(f"+FULLRESYNC {secrets.token_hex(20)} 0\r\n".encode())
        connection.sendall(f"${file.stat().st_size}\r\n".encode())
        with file.open("rb") as stream:
            connection.sendfile(stream)
        connection.settimeout(_POLL_SECONDS)
    elif name == b"REPLCONF" and words[1:2] == [b"ACK"]:
        return  # it expects no answer
    else:
        connection.sendall(b"+PONG\r\n" if name == b"PING" else b"+OK\r\n")


def _command(buffer: bytes) -> tuple[list[bytes], bytes] | None:
    """The first whole command (RESP: an array of strings), and what is behind it. A replica that loads what it was given sends newlines before one,
    lest it be taken for dead."""
    head, separator, rest = buffer.lstrip(b"\n").partition(b"\r\n")
    if not separator:
        return None
    words = []
    for _ in range(int(head[1:])):
        length, separator, rest = rest.partition(b"\r\n")
        if not separator or len(rest) < int(length[1:]) + 2:
            return None
        words.append(rest[: int(length[1:])])
        rest = rest[int(length[1:]) + 2 :]
    return words, rest

"""A Prometheus on loopback, for as long as it is looked at: Debian's, from the path or beside this Python (`make prometheus` puts it there)."""

import contextlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx2
import yaml

_READY_SECONDS = 30


def program(name: str) -> Path:
    """FileNotFoundError: with the cure."""
    beside = Path(sys.executable).parent / name
    found = shutil.which(name) or (str(beside) if beside.exists() else None)
    if found is None:
        raise FileNotFoundError(f"there is no {name} here: `make prometheus` fetches Debian's")
    return Path(found)


@contextlib.contextmanager
def running(folder: Path, config: Mapping[str, object]) -> Iterator[httpx2.Client]:
    """folder: its data are in `tsdb`, and may be there before; nothing of them is too old. config: as in prometheus.yml."""
    (folder / "prometheus.yml").write_text(yaml.safe_dump(dict(config)))
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    argv = [
        *(str(program("prometheus")), f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'tsdb'}"),
        *("--storage.tsdb.retention.time=100y", f"--web.listen-address={address}", "--log.level=error"),
    ]
    log = folder / "prometheus.log"
    with log.open("wb") as output:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        with httpx2.Client(base_url=f"http://{address}", trust_env=False, timeout=60) as http:
            _await(process, http, log)
            yield http
    finally:
        process.terminate()
        process.wait(30)


def _await(process: "subprocess.Popen[bytes]", http: httpx2.Client, log: Path) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(httpx2.TransportError):
            if http.get("/-/ready").status_code == httpx2.codes.OK:
                return
        time.sleep(0.05)
    raise TimeoutError(f"Prometheus did not get ready: {log.read_text()}")

"""A Docker engine, its command, and the images of the check, all made on this machine: no registry is needed."""

import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
NAME = "brb-compose-test"
_ADDRESSES = ("--bip", "10.213.0.1/24", "--default-address-pool", "base=10.214.0.0/16,size=24")
_SOCKET = Path("/var/run/docker.sock")
_START_SECONDS = 60


class Missing(Exception):
    """What this machine lacks, and how to get it."""


class Images(NamedTuple):
    """Names with tags. build_seconds, size_bytes: of BRB's own image; the size is with its base."""

    python: str
    uv: str
    brb: str
    redis: str
    prometheus: str
    tools: str
    qdrant: str
    build_seconds: float
    size_bytes: int


class Docker:
    """The command line of one engine. `environment` is what Compose needs to reach the same one."""

    def __init__(self, host: str) -> None:
        self.environment = {**os.environ, "DOCKER_HOST": host, "DOCKER_BUILDKIT": "1"}
        self._command = _command()

    def __call__(self, *arguments: str, seconds: float = 120, check: bool = True) -> str:
        done = subprocess.run([self._command, *arguments], env=self.environment, capture_output=True, text=True, timeout=seconds)
        if check and done.returncode:
            raise RuntimeError(f"docker {' '.join(arguments)}: {done.stderr.strip()[-2000:]}")
        return done.stdout.strip()

    def feed(self, archive: Path, *arguments: str) -> None:
        with archive.open("rb") as file:
            subprocess.run([self._command, *arguments], env=self.environment, stdin=file, stdout=subprocess.DEVNULL, check=True)

    def answers(self) -> bool:
        return bool(self("version", "--format", "{{.Server.Version}}", check=False))


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Docker]:
    """The engine that `DOCKER_HOST` names or that runs here already, else one of our own, whose data is in `folder` and which ends with this."""
    if os.geteuid() != 0:
        raise Missing("this takes root: it kills processes in containers as the kernel would, and makes a network of its own")
    if host := os.environ.get("DOCKER_HOST", f"unix://{_SOCKET}" if _SOCKET.exists() else ""):
        docker = Docker(host)
        if docker.answers():
            yield docker
            return
    if not shutil.which("dockerd"):
        raise Missing("no Docker engine answers, and none can be started: it takes the Debian packages docker.io and iptables")
    folder.mkdir(parents=True, exist_ok=True)
    socket = folder / "docker.sock"
    docker = Docker(f"unix://{socket}")
    forwarding = Path("/proc/sys/net/ipv4/ip_forward")
    before = forwarding.read_text()
    options = ("--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/docker.pid", "-H", f"unix://{socket}")
    with (folder / "dockerd.log").open("wb") as log:
        process = subprocess.Popen(["dockerd", *options, *_ADDRESSES], stdout=log, stderr=log, start_new_session=True)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not docker.answers():
            if process.poll() is not None or time.monotonic() > deadline:
                raise Missing(f"dockerd did not start: {(folder / 'dockerd.log').read_text()[-1000:]}")
            time.sleep(0.2)
        yield docker
    finally:
        process.terminate()
        process.wait(60)
        forwarding.write_text(before)
        subprocess.run(["ip", "link", "delete", "docker0"], stderr=subprocess.DEVNULL)


def compose_binary() -> str:
    """Docker Compose itself, out of requirements/deploy.txt."""
    found = shutil.which("docker-compose", path=f"{Path(sys.prefix) / 'deploy' / 'bin'}:{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if found is None:
        raise Missing("no docker-compose: run `make compose-check` once, which installs it")
    return found


def build(docker: Docker, folder: Path) -> Images:
    """Base images from Debian's packages, then BRB's image as the Dockerfile says, then the stand-ins for what comes from registries."""
    python, uv, brb = f"{NAME}/python:base", f"{NAME}/uv:base", f"{NAME}/brb:one"
    _import_python(docker, folder, python)
    _import_uv(docker, folder, uv)
    bases = (f"--build-arg=PYTHON_IMAGE={python}", f"--build-arg=UV_IMAGE={uv}")
    started = time.monotonic()
    _build(docker, folder, brb, "deploy/Dockerfile", *bases)
    seconds = time.monotonic() - started
    made = {}
    for target in ("redis", "prometheus", "tools", "qdrant"):
        made[target] = f"{NAME}/{target}:one"
        _build(docker, folder, made[target], "tests/compose/Dockerfile", *bases, f"--build-arg=BRB_IMAGE={brb}", f"--target={target}")
    size = int(docker("image", "inspect", "--format", "{{.Size}}", brb))
    return Images(python, uv, brb, **made, build_seconds=seconds, size_bytes=size)


def rebuild(docker: Docker, folder: Path, images: Images, version: str) -> str:
    """The image of another version: its name."""
    name = f"{NAME}/brb:{version}"
    bases = (f"--build-arg=PYTHON_IMAGE={images.python}", f"--build-arg=UV_IMAGE={images.uv}")
    _build(docker, folder, name, "deploy/Dockerfile", *bases, f"--build-arg=VERSION={version}")
    return name


def _import_python(docker: Docker, folder: Path, name: str) -> None:
    if docker("image", "inspect", name, check=False) not in ("", "[]"):
        return
    if not shutil.which("debootstrap"):
        raise Missing("the base image is made with the Debian package debootstrap")
    root, archive = folder / "debian", folder / "debian.tar"
    mirror = os.environ.get("DEBIAN_MIRROR", "")  # without it, debootstrap's own
    command = ["debootstrap", "--variant=minbase", "--include=python3,ca-certificates,libstdc++6", "bookworm", str(root), *filter(None, [mirror])]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    with tarfile.open(archive, "w") as tar:
        tar.add(root, arcname=".")
    shutil.rmtree(root)
    docker.feed(archive, "import", "-c", "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "-", name)
    archive.unlink()


def _import_uv(docker: Docker, folder: Path, name: str) -> None:
    archive = folder / "uv.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(Path(sys.executable).parent / "uv", arcname="uv")
    docker.feed(archive, "import", "-", name)
    archive.unlink()


def _build(docker: Docker, folder: Path, name: str, file: str, *arguments: str) -> None:
    given = [f"--secret=id={key},src={path}" for key, path in _secrets(folder).items()]
    docker("build", "--quiet", "--network=host", f"--file={ROOT / file}", f"--tag={name}", *arguments, *given, str(ROOT), seconds=1800)


def _secrets(folder: Path) -> Mapping[str, Path]:
    """This machine's way to packages: its mirror and its CA, if it has any."""
    found = {}
    if ca := os.environ.get("SSL_CERT_FILE"):
        found["ca"] = Path(ca)
    if index := os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL"):
        found["uv"] = folder / "uv.toml"
        found["uv"].write_text(f'index-url = "{index}"\n')
    else:
        places = (Path(os.environ.get("UV_CONFIG_FILE", "/nowhere")), Path.home() / ".config/uv/uv.toml", Path("/etc/uv/uv.toml"))
        if (place := next(filter(Path.is_file, places), None)) is not None:
            found["uv"] = place
    return found


def _command() -> str:
    """A `docker` that can build with BuildKit: since version 23 it takes a plugin for that."""
    seen = dict.fromkeys(filter(None, (shutil.which("docker"), "/usr/bin/docker")))
    for found in seen:
        if not os.access(found, os.X_OK):
            continue
        version = subprocess.run([found, "--version"], capture_output=True, text=True).stdout
        major = re.search(r"version (\d+)", version)
        plugin = subprocess.run([found, "buildx", "version"], capture_output=True).returncode == 0
        if plugin or (major and int(major[1]) < 23):
            return found
    raise Missing(f"no docker command that builds with BuildKit on this {platform.system()}: install docker.io of Debian 12, or docker with buildx")

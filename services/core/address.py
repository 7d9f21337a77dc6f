"""Which BRB a command talks to, and as whom: the few settings that every command needs.

`config` has them, too, but takes longer to load than most commands take to do their work. So what is plain is read here: the same names, the same
defaults, the environment before `.env`. Whatever is not plain (a mistake, say) is left to `config`, which judges all settings.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, urlsplit

if TYPE_CHECKING:
    from services.core import config

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 3000

_LARGEST_PORT = 65_535
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what listens everywhere is called by loopback
_PLAIN_URL = re.compile(r"https?://[A-Za-z0-9.-]+(:[1-9][0-9]{0,4})?(/[A-Za-z0-9._~/-]*[A-Za-z0-9._~-])?")


class Address(NamedTuple):
    """url: without a slash at its end. key: of `BRB_KEY`, "" for none."""

    url: str
    key: str = ""


def found() -> Address:
    """`SetupError` for a mistake in the settings."""
    plain = plainly(os.environ, Path(".env"))
    if plain is not None:
        return plain
    from services.core import config

    return of(config.load())


def own() -> SplitResult:
    """The address of the proxy of these settings, whatever `BRB_URL` says. `SetupError` for a mistake in them."""
    plain = _plain({"BRB_HOST", "BRB_PORT"})
    host, port = plain.get("BRB_HOST") or DEFAULT_HOST, plain.get("BRB_PORT") or str(DEFAULT_PORT)
    if not _is_port(port):
        from services.core import config

        return urlsplit(config.load().base_url)
    return urlsplit(base_url(host, int(port)))


def run_dir() -> Path:
    """`config.Settings.run_dir`, without the time that the settings take where `BRB_RUNTIME_DIR` is set."""
    if plain := _plain({"BRB_RUNTIME_DIR"}).get("BRB_RUNTIME_DIR"):
        return Path(plain).expanduser().resolve()
    from services.core import config

    return config.load().run_dir


def of(settings: "config.Settings") -> Address:
    return Address((settings.url or settings.base_url).rstrip("/"), settings.key.get_secret_value() if settings.key else "")


def plainly(environment: Mapping[str, str], file: Path) -> Address | None:
    """What these settings say, None if it takes judging."""
    names = {"BRB_URL", "BRB_KEY", "BRB_HOST", "BRB_PORT"}
    values = _of_names(_filed(file), names) | _of_names(environment, names)
    url, key, host, port = (values.get(name, "") for name in ("BRB_URL", "BRB_KEY", "BRB_HOST", "BRB_PORT"))
    if not key and _of_names(environment, {"BRB_KEY_FILE"}):
        return None
    host, port = host or DEFAULT_HOST, port or str(DEFAULT_PORT)
    if host not in LOOPBACK or not _is_port(port):
        return None
    if url:
        return Address(url.rstrip("/"), key) if _PLAIN_URL.fullmatch(url.rstrip("/")) else None
    return Address(base_url(host, int(port)), key)


def base_url(host: str, port: int) -> str:
    """How one on this machine calls it."""
    host = _ANY.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_port(port: str) -> bool:
    return port.isascii() and port.isdecimal() and 1 <= int(port) <= _LARGEST_PORT


def _plain(names: set[str]) -> dict[str, str]:
    return _of_names(_filed(Path(".env")), names) | _of_names(os.environ, names)


def _of_names(values: Mapping[str, str | None], names: set[str]) -> dict[str, str]:
    """Case makes no other name, and an empty value is none."""
    return {name.upper(): value for name, value in values.items() if name.upper() in names and value}


def _filed(file: Path) -> Mapping[str, str | None]:
    if not file.is_file():
        return {}
    from dotenv import dotenv_values  # what pydantic-settings reads it with

    return dotenv_values(file, encoding="utf-8")

"""Which BRB a command talks to, and as whom: the few settings that every command needs.

`config` has them, too, but takes longer to load than most commands take to do their work. So what is plain is read here: the same names, the same
defaults, the environment before `.env`. Whatever is not plain (a mistake, say) is left to `config`, which judges all settings.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from services.core import config

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 3000

_LARGEST_PORT = 65_535
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


def of(settings: "config.Settings") -> Address:
    return Address((settings.url or settings.base_url).rstrip("/"), settings.key.get_secret_value() if settings.key else "")


def plainly(environment: Mapping[str, str], file: Path) -> Address | None:
    """What these settings say, None if it takes judging."""
    names = {"BRB_URL", "BRB_KEY", "BRB_HOST", "BRB_PORT"}
    values = _of_names(_filed(file), names) | _of_names(environment, names)
    url, key, host, port = (values.get(name, "") for name in ("BRB_URL", "BRB_KEY", "BRB_HOST", "BRB_PORT"))
    host, port = host or DEFAULT_HOST, port or str(DEFAULT_PORT)
    if host not in LOOPBACK or not (port.isascii() and port.isdecimal() and 1 <= int(port) <= _LARGEST_PORT):
        return None
    if url:
        return Address(url.rstrip("/"), key) if _PLAIN_URL.fullmatch(url.rstrip("/")) else None
    return Address(base_url(host, int(port)), key)


def base_url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _of_names(values: Mapping[str, str | None], names: set[str]) -> dict[str, str]:
    """Case makes no other name, and an empty value is none."""
    return {name.upper(): value for name, value in values.items() if name.upper() in names and value}


def _filed(file: Path) -> Mapping[str, str | None]:
    if not file.is_file():
        return {}
    from dotenv import dotenv_values  # what pydantic-settings reads it with

    return dotenv_values(file, encoding="utf-8")

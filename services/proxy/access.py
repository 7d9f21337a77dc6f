"""Who is calling, and which callers are not served at all.

A web page must not reach a service on loopback: neither by a name that it re-points at 127.0.0.1 (DNS rebinding: the `Host` is then
the page's) nor from another site (the `Origin` or `Sec-Fetch-Site` is then the page's).
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from litestar import Request

from services.core import config, models


def principal(request: Request[Any, Any, Any]) -> models.Principal:
    """The caller of a request. `BRB_AUTH=off` serves one person."""
    return models.LOCAL


def refusal(headers: Mapping[str, str], settings: config.Settings) -> str | None:
    """Why a request with these headers (lower-case names) is not served, or None if it is."""
    host = headers.get("host", "").lower()
    if _hostname(host) not in config.LOOPBACK | {settings.host.lower()}:
        return f"host {host or '(none)'} is not served: use {settings.base_url}"
    origin = headers.get("origin")
    if origin is not None and _authority(origin.lower()) != host:
        return "requests of other sites are not served"
    if headers.get("sec-fetch-site") == "cross-site":
        return "requests of other sites are not served"
    return None


def _authority(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _hostname(authority: str) -> str | None:
    try:
        return urlsplit(f"//{authority}").hostname
    except ValueError:
        return None

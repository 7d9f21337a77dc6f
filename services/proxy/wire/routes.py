"""Which API a call belongs to, and which calls hold a conversation."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlsplit


class Vendor(StrEnum):
    """Whose API: says which upstream, and what our own errors look like."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"


class Route(StrEnum):
    """A closed set: it labels metrics."""

    MESSAGES = "messages"
    COUNT_TOKENS = "count_tokens"
    CHAT = "chat_completions"
    RESPONSES = "responses"
    PROBE = "probe"
    OTHER = "other"

    @property
    def holds_conversation(self) -> bool:
        """Whether calls are read; all others pass unread."""
        return self in (Route.MESSAGES, Route.CHAT, Route.RESPONSES)


_POST = {b"/v1/messages": Route.MESSAGES, b"/v1/chat/completions": Route.CHAT, b"/v1/responses": Route.RESPONSES}
# What comes behind `/v1/` in the calls of the vendors' own SDKs (anthropic 2.14, openai 3.57): those that only one of them has.
_ANTHROPIC = frozenset(
    b"complete compliance deployment_runs deployments dreams environments memory_stores messages organizations sessions tunnels user_profiles".split()
)
_OPENAI = frozenset(
    b"assistants audio batches chat chatkit completions containers content_provenance_checks conversations decisions embeddings evals fine_tuning"
    b" images live moderations organization projects realtime responses safety threads uploads vector_stores videos webhook_endpoints"
    b" webhook_event_types".split()
)
_VERSION = re.compile(r"/v\d")
_ABSOLUTE = re.compile(rb"https?://([^/?#]*+)(.*)", re.IGNORECASE | re.DOTALL)


def route(method: str, path: bytes) -> Route:
    """What a request target (without its query) asks for."""
    if method == "HEAD" and path in (b"/", b"/api/hello"):
        return Route.PROBE
    if path == b"/v1/messages/count_tokens":
        return Route.COUNT_TOKENS
    return _POST.get(path, Route.OTHER) if method == "POST" else Route.OTHER


def vendor(path: bytes, headers: Mapping[str, str]) -> Vendor:
    """Whose API a path belongs to. Where both have it (`/v1/models`, `/v1/files`) or neither is known to, the client's headers tell (lower-case
    names): every call to Anthropic names `anthropic-version`."""
    resource = path.removeprefix(b"/v1/").partition(b"/")[0]
    if resource in _ANTHROPIC:
        return Vendor.ANTHROPIC
    if resource in _OPENAI:
        return Vendor.OPENAI
    return Vendor.ANTHROPIC if "anthropic-version" in headers or "x-api-key" in headers else Vendor.OPENAI


class Asked(NamedTuple):
    """A request target in origin form, and the authority that it named if it came in absolute form (RFC 9112 §3.2.2), else None."""

    target: bytes
    authority: bytes | None = None


def asked(spelt: bytes) -> Asked:
    """What a request line asks for, however it spells it. Clients that take BRB for their HTTP proxy write whole addresses."""
    if spelt.startswith(b"/") or (absolute := _ABSOLUTE.fullmatch(spelt)) is None:
        return Asked(spelt)
    rest = absolute[2]
    return Asked(rest if rest.startswith(b"/") else b"/" + rest, absolute[1].rpartition(b"@")[2])


def repeats_version(asked: bytes) -> bool:
    """Whether a request target begins as if the client's base URL ended with the `/v1` that its calls begin with."""
    return asked == b"/v1/v1" or asked.startswith((b"/v1/v1/", b"/v1/v1?"))


def target(base_url: str, asked: bytes) -> bytes:
    """What to ask of the server behind a base URL, for a request target (path and query) of a client.

    People write base URLs with and without the `/v1` that every call begins with. A base that names a version itself, wherever in its path
    (`/openai/v1`, `/api/paas/v4`, `/v1beta/openai`), stands in for it.
    """
    base = urlsplit(base_url).path.rstrip("/")
    if _VERSION.search(base) and (asked == b"/v1" or asked.startswith((b"/v1/", b"/v1?"))):
        asked = asked.removeprefix(b"/v1")
    return base.encode() + asked


def relayed(method: str, path: bytes) -> bool:
    """Whether a call belongs to the upstream's API, or is a client's probe of it, rather than to BRB's own routes."""
    return path == b"/v1" or path.startswith(b"/v1/") or route(method, path) is Route.PROBE

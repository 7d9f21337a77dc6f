"""Which API a call belongs to, and which calls hold a conversation."""

from collections.abc import Mapping
from enum import StrEnum


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
_ANTHROPIC_PATHS = (b"/v1/messages", b"/v1/complete", b"/v1/organizations", b"/v1/skills", b"/v1/sessions", b"/v1/agents", b"/v1/environments")
_OPENAI_PATHS = (b"/v1/chat/", b"/v1/responses", b"/v1/completions", b"/v1/embeddings", b"/v1/conversations", b"/v1/moderations", b"/v1/images",
                 b"/v1/audio", b"/v1/realtime", b"/v1/assistants", b"/v1/threads", b"/v1/vector_stores", b"/v1/fine_tuning", b"/v1/uploads",
                 b"/v1/batches", b"/v1/evals", b"/v1/containers", b"/v1/videos", b"/v1/responses/")  # fmt: skip


def route(method: str, path: bytes) -> Route:
    """What a request target (without its query) asks for."""
    if method == "HEAD" and path in (b"/", b"/api/hello"):
        return Route.PROBE
    if path == b"/v1/messages/count_tokens":
        return Route.COUNT_TOKENS
    return _POST.get(path, Route.OTHER) if method == "POST" else Route.OTHER


def vendor(path: bytes, headers: Mapping[str, str]) -> Vendor:
    """Whose API a path belongs to; where both have it (`/v1/models`, `/v1/files`), the client's headers (lower-case names) tell: every call to
    Anthropic names `anthropic-version`."""
    if path.startswith(_ANTHROPIC_PATHS):
        return Vendor.ANTHROPIC
    if path.startswith(_OPENAI_PATHS):
        return Vendor.OPENAI
    return Vendor.ANTHROPIC if "anthropic-version" in headers or "x-api-key" in headers else Vendor.OPENAI

"""What a client is told when BRB itself answers a call of a vendor's API."""

from http import HTTPStatus

import msgspec

from services.proxy.wire import http1, routes

_ANTHROPIC_KINDS = {401: "authentication_error", 429: "rate_limit_error"}
_OPENAI_KINDS = {401: "invalid_request_error", 429: "requests"}
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}


def kind(vendor: routes.Vendor, status: int) -> str:
    """What the vendor calls an error of this status, where its SDK or its users look at it."""
    return (_ANTHROPIC_KINDS if vendor is routes.Vendor.ANTHROPIC else _OPENAI_KINDS).get(status, "api_error")


def code(status: int) -> str | None:
    """What OpenAI says beside the kind."""
    return _CODES.get(status)


def body(vendor: routes.Vendor, message: str, kind: str = "api_error", code: str | None = None) -> bytes:
    """In the shape of the vendor's own errors, so that its SDKs raise what they raise for these."""
    if vendor is routes.Vendor.ANTHROPIC:
        return msgspec.json.encode({"type": "error", "error": {"type": kind, "message": message}})
    return msgspec.json.encode({"error": {"message": message, "type": kind, "param": None, "code": code}})


def last_answer(status: HTTPStatus, message: str) -> bytes:
    """A whole answer to what can't be taken for a request, so that nobody knows the vendor; the SDKs of both can read it."""
    said = body(routes.Vendor.ANTHROPIC, message, "invalid_request_error" if status < 500 else "api_error")
    named = [(b"Content-Type", b"application/json"), (b"Content-Length", b"%d" % len(said)), (b"Connection", b"close")]
    return http1.answer_head(status, status.phrase.encode(), named) + said

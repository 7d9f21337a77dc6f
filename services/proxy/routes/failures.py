"""Errors of our own routes: one JSON shape, the right status, and never the text of an unexpected exception."""

import re
from typing import Any

import structlog
from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import ResponseSpec
from litestar.types import ExceptionHandlersMap

from services.core import api, errors

_log = structlog.get_logger()

_STATUS: dict[type[errors.BrbError], tuple[int, str]] = {
    errors.BadInput: (400, "bad_input"),
    errors.Denied: (403, "denied"),
    errors.NotFound: (404, "not_found"),
    errors.Transient: (503, "unavailable"),
    errors.BrbError: (500, "internal"),
}
_TOKEN = re.compile(r"^/k/[^/]*")  # where a token stands in a path
_CALLED = {"whose": "scope"}  # Litestar keeps `scope` for itself as the name of a handler's parameter
_TYPES = {400: "bad_input", 401: "denied", 403: "denied", 404: "not_found", 405: "method_not_allowed", 413: "too_large", 415: "bad_input"}


def problem(status: int, kind: str, message: str) -> Response[api.Problem]:
    return Response(api.Problem(api.Trouble(kind, message)), status_code=status, media_type=MediaType.JSON)


def ours(request: Request[Any, Any, Any], error: errors.BrbError) -> Response[api.Problem]:
    status, kind = next(_STATUS[cls] for cls in type(error).__mro__ if cls in _STATUS)
    return problem(status, kind, str(error))


def of_http(request: Request[Any, Any, Any], error: HTTPException) -> Response[api.Problem]:
    kind = _TYPES.get(error.status_code, "bad_input" if error.status_code < 500 else "internal")
    response = problem(error.status_code, kind, _said(request, error))
    response.headers.update(error.headers or {})
    return response


def nested(request: Request[Any, Any, Any], error: RecursionError) -> Response[api.Problem]:
    """What is sent decides how deep the decoder goes; nothing of ours goes as deep."""
    return problem(400, "bad_input", "the body is nested too deeply")


def unexpected(request: Request[Any, Any, Any], error: Exception) -> Response[api.Problem]:
    _log.error("request_failed", route=request.scope.get("path_template", ""), exc_info=error)
    return problem(500, "internal", "something went wrong inside BRB: its log has the place")


def _said(request: Request[Any, Any, Any], error: HTTPException) -> str:
    if error.status_code == 404:
        return f"no such route: {request.method} {_TOKEN.sub('/k/…', request.url.path)} (see /schema)"
    if error.status_code == 413:
        return "the body is larger than is taken at once: send less (`brb memories import` sends an export in parts)"
    if isinstance(error, ValidationException) and isinstance(error.extra, list):
        return "; ".join(_wrong(item) for item in error.extra)
    if error.status_code >= 500:
        return "something went wrong inside BRB: its log has the place"
    return error.detail


def _wrong(item: object) -> str:
    fields = item if isinstance(item, dict) else {"message": str(item)}
    key = fields.get("key", "")
    return ": ".join(filter(None, (_CALLED.get(key, key), str(fields.get("message", "")))))


_TOLD = {
    400: "What is asked for makes no sense: the message says what to give.",
    401: "No valid token.",
    403: "Not for this caller.",
    404: "Nothing of that id within the caller's scope.",
    413: "The body is larger than is taken at once.",
    429: "Too many calls: `Retry-After` says for how many seconds to wait.",
    503: "Something that it takes is away: try again.",
}


def told(*handlers: HTTPRouteHandler) -> list[HTTPRouteHandler]:
    """The handlers, with the errors that each may answer in their description."""
    for handler in handlers:
        errors_told = {status: ResponseSpec(api.Problem, description=text, generate_examples=False) for status, text in _TOLD.items()}
        handler.responses = {**errors_told, **(handler.responses or {})}
    return list(handlers)


HANDLERS: ExceptionHandlersMap = {errors.BrbError: ours, HTTPException: of_http, RecursionError: nested, Exception: unexpected}

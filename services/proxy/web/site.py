"""The routes of the page, and what they say when something is wrong."""

from http import HTTPStatus
from typing import Any

import structlog
from litestar import Request, Response, Router, get
from litestar.di import Provide
from litestar.exceptions import HTTPException, NotFoundException
from litestar.params import FromPath
from litestar_htmx import HTMXRequest

from services.core import errors, models
from services.proxy.parts import Parts
from services.proxy.routes import failures
from services.proxy.web import conversations, files, forms, memories, pages_of_notes, review, running, sessions, signing, team, visits

_log = structlog.get_logger()


@get("/{anything:path}", sync_to_thread=True)
def nowhere(anything: FromPath[str]) -> Response[str]:
    raise NotFoundException(detail=f"there is no page {anything[:200]}")


class Site:
    """The page over a proxy's parts."""

    def __init__(self, parts: Parts, pages: sessions.Sessions) -> None:
        self._parts = parts
        self._pages = pages

    def __deepcopy__(self, memo: dict[int, Any]) -> "Site":
        """Litestar copies a router that it takes in, with all that its hooks are bound to: stores can't be copied, and must not be."""
        return self

    def router(self) -> Router:
        handlers = [
            files.served,
            nowhere,
            *signing.HANDLERS,
            *memories.HANDLERS,
            *review.HANDLERS,
            *conversations.HANDLERS,
            *pages_of_notes.HANDLERS,
            *team.HANDLERS,
            *running.HANDLERS,
        ]
        return Router(
            sessions.PATH,
            route_handlers=handlers,
            request_class=HTMXRequest,
            before_request=sessions.checked,
            dependencies={"visit": Provide(self.visit, sync_to_thread=False), "form": Provide(forms.sent)},
            exception_handlers={errors.BrbError: self.failed, HTTPException: self.refused, Exception: self.broken},
            include_in_schema=False,
        )

    def visit(self, request: HTMXRequest) -> visits.Visit:
        known = request.scope.get("user")
        session = sessions.of(request) or self._pages.begin()
        return visits.Visit(request, self._parts, self._pages, session, known if isinstance(known, models.Principal) else None)

    def failed(self, request: Request[Any, Any, Any], error: errors.BrbError) -> Response[str]:
        return self._problem(request, failures.ours(request, error).status_code or 500, str(error))

    def refused(self, request: Request[Any, Any, Any], error: HTTPException) -> Response[str]:
        return self._problem(request, error.status_code, error.detail)

    def broken(self, request: Request[Any, Any, Any], error: Exception) -> Response[str]:
        _log.error("request_failed", route=request.scope.get("path_template", ""), exc_info=error)
        return self._problem(request, 500, "something went wrong inside BRB: its log has the place")

    def _problem(self, request: Request[Any, Any, Any], status: int, message: str) -> Response[str]:
        name = HTTPStatus(status).phrase
        return self.visit(HTMXRequest(request.scope)).page("problem.html", status=status, name=name, message=message)

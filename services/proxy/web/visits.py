"""One request of somebody's browser: who is here, and answering with a page."""

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import MediaType, Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import SkipValidation
from litestar.status_codes import HTTP_303_SEE_OTHER
from litestar_htmx import HTMXRequest
from markupsafe import Markup

from services.core import errors, models, rights
from services.proxy import parts
from services.proxy.web import files, sessions, shown

THEMES = ("auto", "light", "dark")
THEME_COOKIE = "brb_theme"
_LAST_PAGE = 100_000


class Place(NamedTuple):
    """An entry of the menu."""

    path: str
    name: str


@dataclass(frozen=True, slots=True)
class Visit:
    """session: the one that the request came with; none: a new one, whose cookie goes along with the answer."""

    request: HTMXRequest
    parts: parts.Parts
    pages: sessions.Sessions
    session: sessions.Session
    known: models.Principal | None

    @property
    def principal(self) -> models.Principal:
        if self.known is None:
            raise errors.Denied("sign in first")
        return self.known

    def ask(self, handler: HTTPRouteHandler, *given: Any, **more: Any) -> Any:
        """What the function behind a route answers who is here. It takes parts and principal first."""
        return handler.fn(self.parts, self.principal, *given, **more)

    @property
    def now(self) -> float:
        return self.parts.clock()

    @property
    def csrf(self) -> Markup:
        """The hidden field that every form carries."""
        return Markup('<input type="hidden" name="{}" value="{}">').format(sessions.CSRF_FIELD, self.session.csrf)

    @property
    def theme(self) -> str:
        theme = self.request.cookies.get(THEME_COOKIE, "")
        return theme if theme in THEMES else THEMES[0]

    @property
    def shared(self) -> bool:
        """Whether there is a team, with tokens."""
        return self.parts.settings.auth == "token"

    @property
    def menu(self) -> tuple[Place, ...]:
        """What there is to see for who is here."""
        if self.known is None:
            return ()
        places = [Place("/ui", "Memories"), Place("/ui/review", "Review"), Place("/ui/turns", "Turns"), Place("/ui/notes", "Notes")]
        if self.shared:
            places.append(Place("/ui/tokens", "Tokens"))
        if rights.administers(self.known):
            places += [Place("/ui/members", "Members")] if self.shared else []
            places.append(Place("/ui/jobs", "Jobs"))
        return (*places, Place("/ui/audit", "Log"), Place("/ui/status", "Status"))

    def here(self, place: Place) -> bool:
        path = self.request.url.path.rstrip("/")
        return path == place.path or (path.startswith(f"{place.path}/") and (place.path != "/ui" or path.startswith("/ui/memories")))

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response[str]:
        """A rendered page. It is made here, in the thread of the handler."""
        text = environment().get_template(template).render(visit=self, now=self.now, **values)
        response = Response(text, status_code=status, media_type=MediaType.HTML, headers=dict(sessions.HEADERS))
        return self._remembered(response)

    def to(self, path: str) -> Response[str]:
        """On to another page, which a reload doesn't change anything by."""
        headers = {**sessions.HEADERS, "Location": path}
        return self._remembered(Response("", status_code=HTTP_303_SEE_OTHER, media_type=MediaType.HTML, headers=headers))

    def _remembered(self, response: Response[str]) -> Response[str]:
        if sessions.of(self.request) is None:
            response.set_cookie(self.pages.cookie(self.session, self.request.headers))
        return response


Given = NamedDependency[SkipValidation[Visit]]
"""The visit, as a handler takes it: a parameter `visit`."""


def page_number(given: str) -> int:
    """From 1; what is no number is the first."""
    return min(max(1, int(given)), _LAST_PAGE) if given.isascii() and given.isdigit() and len(given) < 10 else 1


@cache
def environment() -> Environment:
    made = Environment(loader=PackageLoader("services.proxy.web"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    for function in (shown.said, shown.time, shown.day, shown.ago, shown.number, shown.plain, shown.short, shown.plural):
        made.filters[function.__name__] = function
    made.globals["file"] = files.address
    return made

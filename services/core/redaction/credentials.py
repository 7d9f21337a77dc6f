"""Secrets known by where they stand: PEM blocks, JWTs, URLs with a password, Authorization headers, cookies."""

import re
from collections.abc import Iterator

from services.core.redaction import values
from services.core.redaction.spans import Kind, Span

_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_REST = re.compile(
    r"(?:[^-\x1e]|-(?!----))*-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:[ \t\r\n>|]|\\[rn]|[A-Z][A-Za-z-]{2,20}: [^\r\n\x1e]*|[A-Za-z0-9+/=]{16,}|=[A-Za-z0-9+/]{4}|"
    r"[A-Za-z0-9+/=]*(?:[0-9+/=]|[a-z][A-Z])[A-Za-z0-9+/=]*(?![\w-]))*"
)
_PPK = re.compile(r"(Private-Lines: [0-9]{1,4}(?:\r?\n|\\n))((?:[A-Za-z0-9+/=]{4,80}(?:\r?\n|\\n|\b))+)")
_JWT = re.compile(r"(?<![A-Za-z0-9_-])ey[A-Za-z0-9_-]{12,}(?:\.[A-Za-z0-9_-]{4,}){1,4}={0,2}")
_NEXT_LINE = re.compile(r"\.?[ \t]{0,4}\r?\n[ \t>]{0,8}(\.?[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{4,}){0,4}|\.[A-Za-z0-9_-]{4,})(?=[\s\"'`,;)]|\Z)")
_URL_PASSWORD = re.compile(r"://[^\s/:@\"'<>]{0,200}:([^\s/\"'<>]{1,200})@(?=[\w.\[$<{-])")
_URL_TOKEN = re.compile(r"https?://([A-Za-z0-9_-]{16,200})@(?=[\w.-])")
_HEADER = re.compile(
    r"authorization[\"']?[ \t]{0,5}[:=][ \t]{0,5}[\"']?(?:(?:bearer|basic|token|api-?key|api-token|key|negotiate|aws4-hmac-sha256)[ \t]{1,5})?"
    r"([^\s\"'`,;]{8,})",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(?:bearer|basic)[ \t]{1,3}([A-Za-z0-9_\-.~+/=]{16,})", re.IGNORECASE)
_QUERY = re.compile(
    r"[?&;](?:sig|signature|x-amz-signature|x-goog-signature|access_token|auth|code|"
    r"sas)=([A-Za-z0-9_\-.~%+/=]{20,2000})",
    re.IGNORECASE,
)
_COOKIES = re.compile(r"(?:\b(?:set-)?cookies?[\"']?[ \t]{0,3}[:=]|(?:[ \t]-b|--cookie)[ \t=])[ \t]{0,3}(?P<pairs>[^\n\x1e]{1,4000})", re.IGNORECASE)
_COOKIE = re.compile(r"[\w.-]{1,60}=\"?([\w.%~+/:=-]{8,})")
_SESSION = re.compile(r"(?i:\b(?:phpsessid|jsessionid|connect\.sid|sessionid|asp\.net_sessionid|laravel_session|_session))=([\w.%~+/:=-]{16,})")


def find(text: str) -> Iterator[Span]:
    yield from _pem(text)
    yield from _ppk(text)
    yield from _bearers(text)
    yield from _urls(text)
    yield from _cookies(text)


def _secret(match: re.Match[str], group: int | str = 0) -> Span:
    return Span(Kind.SECRET, *match.span(group))


def _pem(text: str) -> Iterator[Span]:
    """Whole blocks; one without its END line goes as far as its lines look like base64."""
    for begin in _PEM_BEGIN.finditer(text):
        rest = _PEM_REST.match(text, begin.end())
        if rest and len(re.sub(r"[^A-Za-z0-9+/=]", "", rest[0].partition("-----")[0])) >= 16:
            yield Span(Kind.SECRET, begin.start(), begin.end() + len(rest[0].rstrip()))


def _ppk(text: str) -> Iterator[Span]:
    for match in _PPK.finditer(text):
        yield Span(Kind.SECRET, match.start(2), match.start(2) + len(match[2].rstrip()))


def _bearers(text: str) -> Iterator[Span]:
    yield from _jwts(text)
    for match in _HEADER.finditer(text):
        value = match[1].rstrip(".)}]\\")
        if values.is_literal(value):
            yield Span(Kind.SECRET, match.start(1), match.start(1) + len(value))
    for match in _BEARER.finditer(text):
        if values.is_token(match[1]):
            yield _secret(match, 1)


def _urls(text: str) -> Iterator[Span]:
    for match in _URL_PASSWORD.finditer(text):
        if not values.is_reference(match[1]) and not re.fullmatch(r"\*+|\.{3}|x{3,}", match[1]):
            yield _secret(match, 1)
    for match in _URL_TOKEN.finditer(text):
        if values.is_token(match[1]):
            yield _secret(match, 1)
    for match in _QUERY.finditer(text):
        if values.is_token(match[1]):
            yield _secret(match, 1)


def _jwts(text: str) -> Iterator[Span]:
    """Also those that a mail client or a terminal broke into lines."""
    end = 0
    for match in _JWT.finditer(text):
        if match.start() < end:
            continue
        end = _jwt_end(text, match)
        if text.count(".", match.start(), end) >= 2 or values.entropy(match[0]) >= 4:
            yield Span(Kind.SECRET, match.start(), end)


def _jwt_end(text: str, match: re.Match[str]) -> int:
    end = match.end()
    dots = match[0].count(".")
    line = _NEXT_LINE.match(text, end)
    while line and dots < 5 and (line[0].lstrip().startswith(".") or values.is_generated(line[1])):
        end = line.end()
        dots += line[0].count(".")
        line = _NEXT_LINE.match(text, end)
    return end


def _cookies(text: str) -> Iterator[Span]:
    for header in _COOKIES.finditer(text):
        for match in _COOKIE.finditer(text, *header.span("pairs")):
            if values.is_token(match[1]):
                yield _secret(match, 1)
    for match in _SESSION.finditer(text):
        if values.is_token(match[1]):
            yield _secret(match, 1)

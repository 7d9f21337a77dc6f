"""Secrets known by where they stand: PEM blocks, JWTs, URLs with a password, Authorization headers, `curl -u`."""

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
_URL_PASSWORD = re.compile(r"://[^\s/:@\"'<>]{0,200}:([^\s/\"'<>]{1,200})@(?=[\w.\[$<{-])")
_URL_TOKEN = re.compile(r"https?://([A-Za-z0-9_-]{16,200})@(?=[\w.-])")
_HEADER = re.compile(
    r"authorization[\"']?[ \t]{0,5}[:=][ \t]{0,5}[\"']?(?:(?:bearer|basic|token|api-?key|api-token|key|negotiate|aws4-hmac-sha256)[ \t]{1,5})?"
    r"([^\s\"'`,;]{8,})",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(?:bearer|basic)[ \t]{1,3}([A-Za-z0-9_\-.~+/=]{16,})", re.IGNORECASE)
_USER_OPTION = re.compile(
    r"[ \t](?:-u|--user|--proxy-user|-U)(?:[ \t]{1,5}|"
    r"=)(?P<q>[\"']?)(?P<user>[^\s:\"']{0,100})[\"']?:(?P<i>[\"']?)(?P<password>[^\s\"']{0,200})"
)
_CURL = re.compile(r"\b(?:curl|wget|http|https|httpie)\b")
_QUERY = re.compile(
    r"[?&;](?:sig|signature|x-amz-signature|x-goog-signature|access_token|auth|code|"
    r"sas)=([A-Za-z0-9_\-.~%+/=]{20,2000})",
    re.IGNORECASE,
)
_SQL = re.compile(r"\bIDENTIFIED[ \t]{1,5}(?:WITH[ \t]\S{1,40}[ \t]{1,5})?BY[ \t]{1,5}['\"]([^'\"\r\n\x1e]{3,200})['\"]", re.IGNORECASE)
_SSHPASS = re.compile(r"\bsshpass[ \t]{1,5}-p[ \t]{0,5}([\"']?)([^\s\"']{3,200})")


def find(text: str) -> Iterator[Span]:
    yield from _pem(text)
    yield from _ppk(text)
    yield from _bearers(text)
    yield from _urls(text)
    yield from _commands(text)


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
    for match in _JWT.finditer(text):
        if match[0].count(".") >= 2 or values.entropy(match[0]) >= 4:
            yield _secret(match)
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


def _commands(text: str) -> Iterator[Span]:
    if _CURL.search(text):
        for match in _USER_OPTION.finditer(text):
            part = "password" if match["password"] or text[match.end() : match.end() + 1] not in ('"', "'", " ", "") else "user"
            if len(match[part]) >= 3 and not values.is_reference(match["user"]) and values.is_literal(match[part]):
                yield _secret(match, part)
    for match in _SQL.finditer(text):
        if values.is_literal(match[1]):
            yield _secret(match, 1)
    for match in _SSHPASS.finditer(text):
        if values.is_literal(match[2]):
            yield _secret(match, 2)

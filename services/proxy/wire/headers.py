"""Headers between the two hops. All pass as they were spelt but those that belong to one hop, and BRB's own."""

from collections.abc import Iterable, Sequence

Header = tuple[bytes, bytes]
Raw = Iterable[Header]

_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_OWN = b"x-brb-"


def to_upstream(raw: Sequence[Header], authority: bytes, length: int | None) -> list[Header]:
    """A request's headers for the upstream `authority`. `length`: of the body that will be sent, None if it passes as it comes.

    An expectation was answered by the server in front; a length beside a transfer coding means nothing (RFC 9112 §6.3).
    """
    dropped = _HOP | {b"expect"} | _nominated(raw)
    chunked = _has(raw, b"transfer-encoding")
    kept = [] if _has(raw, b"host") else [(b"Host", authority)]
    for header in raw:
        name = header[0].lower()
        if name == b"host":
            kept.append((header[0], authority))
        elif name == b"content-length":
            if length is None and not chunked:
                kept.append(header)
            elif length is not None:
                kept.append((header[0], b"%d" % length))
        elif name not in dropped and not name.startswith(_OWN):
            kept.append(header)
    if length is None and chunked:
        kept.append((b"Transfer-Encoding", b"chunked"))
    elif length is not None and not _has(raw, b"content-length"):
        kept.append((b"Content-Length", b"%d" % length))
    return kept


def to_client(raw: Sequence[Header], added: Sequence[tuple[str, str]] = (), *, lengthless: bool = False) -> list[Header]:
    """An answer's headers for the client, duplicates and order kept. lengthless: its status has no length (RFC 9110 §8.6): who believes in one takes
    the next answer for its body. What is BRB's to say only BRB says."""
    dropped = _HOP | _nominated(raw)
    if lengthless or _has(raw, b"transfer-encoding"):
        dropped |= {b"content-length"}
    kept = [header for header in raw if (name := header[0].lower()) not in dropped and not name.startswith(_OWN)]
    return kept + [(name.encode(), value.encode()) for name, value in added]


def with_host(raw: Sequence[Header], authority: bytes) -> list[Header]:
    """A request's headers as if they named this host: a target in absolute form names it for them (RFC 9112 §3.2.2)."""
    named = [(name, authority if name.lower() == b"host" else value) for name, value in raw]
    return named if _has(raw, b"host") else [(b"host", authority), *named]


def as_text(raw: Raw) -> dict[str, str]:
    """By lower-case name; the first of several counts."""
    found: dict[str, str] = {}
    for name, value in raw:
        found.setdefault(_text(name).lower(), _text(value))
    return found


def announces_body(raw: Raw) -> bool:
    return any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in raw)


def content_length(raw: Raw) -> int | None:
    """None if it is not announced."""
    return next((int(value) for name, value in raw if name.lower() == b"content-length" and value.strip().isdigit()), None)


def _has(raw: Raw, wanted: bytes) -> bool:
    return any(name.lower() == wanted for name, _ in raw)


def _nominated(raw: Raw) -> frozenset[bytes]:
    """Headers that `Connection` binds to this hop."""
    return frozenset(part.strip().lower() for name, value in raw if name.lower() == b"connection" for part in value.split(b","))


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")

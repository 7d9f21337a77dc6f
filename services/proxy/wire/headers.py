"""Headers between the two hops. All pass but those that belong to one hop, and BRB's own."""

from collections.abc import Iterable, Sequence

from multidict import CIMultiDict

Raw = Iterable[tuple[bytes, bytes]]

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
_REQUEST_HOP = _HOP | {b"host", b"expect"}  # the server in front of us has already answered an expectation
_OWN = b"x-brb-"


def to_upstream(raw: Raw, length: int | None) -> CIMultiDict[str]:
    """A request's headers for the upstream. `length`: of the body that will be sent, None if it passes as it comes."""
    raw = list(raw)
    dropped = _REQUEST_HOP | _nominated(raw)
    if length is not None or _has(raw, b"transfer-encoding"):
        dropped |= {b"content-length"}
    kept = CIMultiDict((_text(name), _text(value)) for name, value in raw if name.lower() not in dropped and not name.lower().startswith(_OWN))
    if length is not None:
        kept["content-length"] = str(length)
    return kept


def to_client(raw: Raw, added: Sequence[tuple[str, str]] = ()) -> list[tuple[bytes, bytes]]:
    """An answer's headers for the client, duplicates and order kept."""
    raw = list(raw)
    dropped = _HOP | _nominated(raw)
    if _has(raw, b"transfer-encoding"):
        dropped |= {b"content-length"}
    return [pair for pair in raw if pair[0].lower() not in dropped] + [(name.encode(), value.encode()) for name, value in added]


def as_text(raw: Raw) -> dict[str, str]:
    """By lower-case name; the first of several counts."""
    found: dict[str, str] = {}
    for name, value in raw:
        found.setdefault(_text(name).lower(), _text(value))
    return found


def announces_body(raw: Raw) -> bool:
    return any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in raw)


def content_length(raw: Raw) -> int:
    """0 if it is not announced."""
    return next((int(value) for name, value in raw if name.lower() == b"content-length" and value.isdigit()), 0)


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

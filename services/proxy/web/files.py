"""Scripts and styles: read once, told apart by their content, so that a browser may keep them."""

import hashlib
from functools import cache
from importlib import resources
from typing import NamedTuple

from litestar import Response, get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from services.proxy.web import sessions

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


class File(NamedTuple):
    body: bytes
    media_type: str
    digest: str


@get("/static/{name:str}", sync_to_thread=False)
def served(name: FromPath[str]) -> Response[bytes]:
    file = _files().get(name)
    if file is None:
        raise NotFoundException(detail=f"there is no file {name[:80]}")
    headers = sessions.HEADERS | {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(file.body, media_type=file.media_type, headers=headers)


def address(name: str) -> str:
    """Where a file is; another content has another address."""
    return f"{sessions.PATH}/static/{name}?v={_files()[name].digest}"


@cache
def _files() -> dict[str, File]:
    found = {}
    for path in resources.files(__package__).joinpath("static").iterdir():
        if media_type := _TYPES.get(path.name.rpartition(".")[2]):
            body = path.read_bytes()
            found[path.name] = File(body, media_type, hashlib.sha256(body).hexdigest()[:12])
    return found

"""Tokens for tests."""

from services.core import models, ports, tokens
from tests.support import in_memory


def token_for(book: ports.TokenBook, principal: models.Principal, **fields: object) -> str:
    """A new token of somebody, which the book knows."""
    made = tokens.make()
    given = {"id": made.id, "team": principal.team, "user": principal.user, "role": principal.role, "created_at": in_memory.NOW} | fields
    book.add(ports.Token(**given), made.digest)  # type: ignore[arg-type]
    return made.text

"""What a form sent."""

from datetime import UTC, datetime

from litestar import Request
from litestar.datastructures import FormMultiDict
from litestar.di import NamedDependency
from litestar.params import SkipValidation

from services.core import errors, models, reviewing

Given = NamedDependency[SkipValidation[FormMultiDict]]
"""The fields of a form, as a handler takes them: a parameter `form`."""


async def sent(request: Request) -> FormMultiDict:  # type: ignore[type-arg]
    """Fields are strings: what came as a file is none."""
    form = await request.form()
    return FormMultiDict([(name, value) for name, value in form.multi_items() if isinstance(value, str)])


def category(form: FormMultiDict) -> models.Category | None:
    """None if it is left open."""
    given = form.get("category", "")
    try:
        return models.Category(given) if given else None
    except ValueError:
        raise errors.BadInput(f"{given[:80]!r} is no category") from None


def decision(form: FormMultiDict, name: str = "decision") -> reviewing.Decision:
    given = form.get(name, "")
    try:
        return reviewing.Decision(given)
    except ValueError:
        raise errors.BadInput(f"{given[:80]!r} is no decision") from None


def moment(form: FormMultiDict, name: str) -> datetime | None:
    """A time as ISO 8601 with its zone, None if there is none."""
    given = form.get(name, "")
    if not given:
        return None
    try:
        return datetime.fromisoformat(given).astimezone(UTC)
    except (ValueError, OverflowError):
        raise errors.BadInput(f"{given[:80]!r} is no time") from None

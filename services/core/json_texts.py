"""The strings in a JSON value, and the value with others in their places."""

from collections.abc import Iterator
from typing import Any


def strings(value: Any) -> Iterator[str]:
    """All but the names of fields, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)


def replaced(value: Any, others: Iterator[str]) -> Any:
    """The value with these strings, in the same order."""
    if isinstance(value, str):
        return next(others)
    if isinstance(value, dict):
        return {name: replaced(each, others) for name, each in value.items()}
    return [replaced(each, others) for each in value] if isinstance(value, list) else value

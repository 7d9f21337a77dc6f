"""Given names and family names of many countries, as the package faker carries them for its locales (MIT licence)."""

import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_LETTERS = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SHORTEST = 3


class Gazetteer(NamedTuple):
    """Names in lower case, each of one word."""

    given: frozenset[str]
    family: frozenset[str]


def load() -> Gazetteer:
    """Some 60,000 names; takes about a second and 20 MB."""
    from faker.providers import person

    given: set[str] = set()
    family: set[str] = set()
    for module in pkgutil.iter_modules(person.__path__):
        provider = importlib.import_module(f"{person.__name__}.{module.name}").Provider
        for attribute in dir(provider):
            names = given if attribute.startswith("first_name") else family if attribute.startswith("last_name") else None
            if names is not None:
                names.update(_names(getattr(provider, attribute)))
    return Gazetteer(frozenset(given), frozenset(family))


def _names(value: object) -> Iterator[str]:
    """Of a list of names, or of names and their weights; methods have none."""
    if isinstance(value, Iterable) and not isinstance(value, str):
        for name in value:
            if isinstance(name, str) and len(name) >= _SHORTEST and _LETTERS.fullmatch(name):
                yield name.lower()

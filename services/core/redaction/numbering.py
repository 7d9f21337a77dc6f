"""Which number the placeholder of a value gets."""

import hashlib
import re
from collections import Counter
from typing import Protocol

from services.core.redaction.spans import Kind

_SAME_WHATEVER_THE_SPELLING = {Kind.PHONE, Kind.CARD, Kind.IBAN, Kind.SSN, Kind.NATIONAL_ID}
_LEAST, _NUMBERS = 100_000, 900_000
"""Six digits: short enough to be read, and two of a hundred values of a kind have the same number in one team of two hundred."""


class Numbering(Protocol):
    def number(self, kind: Kind, value: str) -> int:
        """The same for the same value of that kind, however it is spelt."""

    def reserve(self, kind: Kind, number: int) -> None:
        """The number stands in a text already."""


class Sequential:
    """1, 2, 3 in the order of the texts: the same for the same value as long as this lives."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Kind, str], int] = {}
        self._last: Counter[Kind] = Counter()

    def number(self, kind: Kind, value: str) -> int:
        key = (kind, _canonical(kind, value))
        if key not in self._numbers:
            self._last[kind] += 1
            self._numbers[key] = self._last[kind]
        return self._numbers[key]

    def reserve(self, kind: Kind, number: int) -> None:
        self._last[kind] = max(self._last[kind], number)


class Keyed:
    """The same for the same value in all turns of a team, in every process, with nothing kept: a hash with a key, of which six digits are shown.

    Whoever has a memory but not the key can't try values against its numbers. Another team gets other numbers.
    """

    def __init__(self, secret: str, team: str) -> None:
        self._key = hashlib.blake2b(team.encode(), key=hashlib.sha256(b"brb-placeholders-v1" + secret.encode()).digest(), digest_size=32).digest()

    def number(self, kind: Kind, value: str) -> int:
        said = f"{kind}\0{_canonical(kind, value)}".encode(errors="surrogatepass")
        return _LEAST + int.from_bytes(hashlib.blake2b(said, key=self._key, digest_size=8).digest()) % _NUMBERS

    def reserve(self, kind: Kind, number: int) -> None:
        """Nothing to do: what stands there is most likely the number of the same value."""


def _canonical(kind: Kind, value: str) -> str:
    if kind in _SAME_WHATEVER_THE_SPELLING:
        return re.sub(r"[\W_]", "", value).upper()
    if kind in (Kind.ADDRESS, Kind.PERSON):
        return " ".join(value.lower().split())
    return value.lower() if kind in (Kind.EMAIL, Kind.IP) else value

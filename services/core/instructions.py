"""Whether a text reads like an instruction to whatever model is told of it, rather than as a statement of a person (pure).

Memories are quoted data in a prompt, but a model may follow what it reads, whoever wrote it: so nobody is told of such a text until a person has
looked at it. Rules of a team and wishes of a person are no such thing: "never commit to main", "always answer in British English".
Figures: docs/team.md.
"""

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from services.core import models
from services.core.instruction_patterns import PATTERNS, Reason

_RELEASED = frozenset({models.Review.KEPT, models.Review.APPROVED})

_SUSPECT = re.compile(
    "[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f\U000e0100-\U000e01ef]"  # other directions, tags, and selectors that encode bytes
    "|(?<=[a-zA-Z])[\u200b-\u200f\u2060-\u2064\ufeff]+(?=[a-zA-Z])"
)
_LOOK_ALIKES = str.maketrans("авеікмнорсстухѕјԁοαερνι", "abeikmhopccтyxsjdoaepvi")
_SPACED = re.compile(r"\b\w(?:[ .\-_*]\w\b){5,}")
_BLOB = re.compile(r"(?<![\w+/=\-])[A-Za-z0-9+/_-]{32,}={0,2}(?![\w+/])")
_KEY_OR_HASH = re.compile(r"(?:sha\d+-|ssh-\w+ |ecdsa-\S+ )$")
_LABEL_CHARS = 80  # before a blob, that tell what it is
_ESCAPES = re.compile(r"(?:\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|&#x?[0-9a-f]{2,5};|%[0-9a-f]{2}){6,}", re.IGNORECASE)


def reason(text: str) -> Reason | None:
    """Why it may be an instruction; None where it is a statement like others."""
    if _SUSPECT.search(text):
        return Reason.HIDDEN
    return next((found for plain in _readings(text) for found, pattern in PATTERNS if pattern.search(plain)), None) or _encoded(text)


def reason_of(texts: Iterable[str]) -> Reason | None:
    """Why one of them may be an instruction."""
    return next(filter(None, map(reason, dict.fromkeys(texts))), None)


def guarded(memory: models.Memory) -> models.Memory:
    """The memory, quarantined if one of its texts reads like an instruction and nobody who may has said that it is none; else no longer held.

    To be called wherever a memory gets a text. Whoever gives it another one clears `held` before: what was decided was decided about the old text.
    """
    if memory.held and memory.review in _RELEASED:
        return memory
    found = reason_of(_told(memory))
    if found is None:
        freed = memory.status is models.Status.QUARANTINED
        return replace(memory, held="", status=models.Status.CURRENT if freed else memory.status)
    waits = memory.status in (models.Status.CURRENT, models.Status.PENDING)
    return replace(memory, held=found.value, status=models.Status.QUARANTINED if waits else memory.status)


def standing(memory: models.Memory) -> models.Status:
    """Its status when it is not history (any more)."""
    return models.Status.QUARANTINED if memory.held and memory.review not in _RELEASED else models.Status.CURRENT


def _told(memory: models.Memory) -> Iterator[str]:
    """What a model may get to read of it."""
    yield memory.text
    yield from filter(None, (memory.subject, memory.attribute, memory.value, memory.when, *memory.entities, *memory.qualifiers))
    yield from (one.quote for one in memory.evidence)


def _readings(text: str) -> Iterator[str]:
    """The text as patterns take it; again with look-alike letters read as the Latin ones, and with spaced letters joined."""
    plain = _plain(text)
    yield plain
    if not plain.isascii() and (latin := plain.translate(_LOOK_ALIKES)) != plain and re.search("[a-z]", plain):
        yield latin
    joined = _SPACED.sub(lambda match: re.sub(r"[ .\-_*]", "", match.group()), re.sub(r"(?<=\w)[ \t]{2,}(?=\w)", "\x1f", text.casefold()))
    if (spaced := " ".join(joined.replace("\x1f", " ").split())) != " ".join(plain.split()):
        yield spaced


def _plain(text: str) -> str:
    visible = "".join(sign for sign in unicodedata.normalize("NFKC", text) if unicodedata.category(sign) != "Cf")
    return re.sub(r"\s+", _blank, visible.replace("’", "'")).casefold().strip()


def _blank(run: re.Match[str]) -> str:
    """One sign for a run of blanks: patterns that look along a run would look along it again from each of its signs."""
    return "\n" if "\n" in run[0] else " "


def _encoded(text: str) -> Reason | None:
    if _ESCAPES.search(text):
        return Reason.ENCODED
    for match in _BLOB.finditer(text):
        if not _KEY_OR_HASH.search(text[max(0, match.start() - _LABEL_CHARS) : match.start()]) and _hides_text(match.group()):
            return Reason.ENCODED
    return None


def _hides_text(blob: str) -> bool:
    """Whether it is base64 of something readable: keys and hashes are not."""
    if re.fullmatch(r"[0-9a-fA-F-]+|[a-z/_-]+|[A-Z/_-]+", blob):
        return False
    bare = blob.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        content = base64.b64decode(bare[: len(bare) - (len(bare) % 4 == 1)] + "=" * (-len(bare) % 4))
    except binascii.Error:
        return False
    readable = sum(32 <= byte < 127 or byte in (9, 10, 13) for byte in content)
    return len(content) > 0 and readable / len(content) >= 0.95

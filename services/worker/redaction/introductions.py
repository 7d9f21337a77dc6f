"""Under which name a person speaks: "my name is Leo", "I'm Priya Sharma", "call me Sam", "Kit here". Pure."""

import re
from collections.abc import Iterable

_CAP = r"[^\W\d_a-zß-öø-ÿ][\w’-]*(?:'(?!s\b)\w+)?"
_NAME = rf"(?P<name>{_CAP}(?:[ ](?:(?:van|von|de|der|da|del|di|la|le|bin|al)[ ]){{0,2}}(?:[A-Z]\.|{_CAP})){{0,3}})(?!\w|['’]s\b)"
_SAID = (
    re.compile(
        rf"\b(?i:my[ ](?:\w+[ ])?name(?:['’]s|[ ]is)(?:[ ](?:actually|really|spelled))?|"
        rf"call[ ]me|me[ ]llamo|ich[ ]hei(?:ß|ss)e|je[ ]m['’]appelle)[ ]{_NAME}"
    ),
    re.compile(r"\b(?:my[ ](?:\w+[ ])?name(?:['’]s|[ ]is)|call[ ]me)[ ](?P<name>[^\W\d_]+)", re.IGNORECASE),
    re.compile(rf"(?i:\bI['’]?m|\bI[ ]am|\bthis[ ]is)[ ]{_NAME}"),
    re.compile(rf"(?:^|[.!?,\n][ ]?){_NAME}[ ]here\b"),
)


def names(texts: Iterable[str]) -> frozenset[str]:
    """The words of all names that the person gave as their own, case folded."""
    return frozenset(word for text in texts for pattern in _SAID for match in pattern.finditer(text) for word in match["name"].casefold().split())

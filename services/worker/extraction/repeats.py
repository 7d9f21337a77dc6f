"""Which facts of one turn say the same in other words. Pure."""

from collections.abc import Iterable, Sequence

from services.core import models
from services.worker.extraction import own_words

_SAME = 0.7  # of the telling words of the shorter one
_SMALL = own_words.vocabulary(
    "a an the is are am was were be been i i'm i've we we're we've my our me us it its it's this that to of in on at for and or as by with from"
    " do does did have has had will would also now just still always currently"
)


def others(facts: Iterable[models.Fact], known: Sequence[models.Fact]) -> list[models.Fact]:
    """Those facts that say neither what is known nor what one before them says."""
    kept: list[models.Fact] = []
    for fact in facts:
        if not any(same(fact, each) for each in (*known, *kept)):
            kept.append(fact)
    return kept


def same(one: models.Fact, other: models.Fact) -> bool:
    """Whether two facts of one turn say the same: much the same words, unless one denies what the other says, or each is of something that the
    other does not name."""
    mine, theirs = _telling(one.text), _telling(other.text)
    if own_words.is_negative(one.text) != own_words.is_negative(other.text) or one.closes != other.closes:
        return False
    if _absent(one.value, other.text) and _absent(other.value, one.text):
        return False
    return len(mine & theirs) >= _SAME * min(len(mine), len(theirs))


def _absent(value: str, text: str) -> bool:
    return bool(value) and not own_words.run(value, text)


def _telling(text: str) -> frozenset[str]:
    said = frozenset(own_words.words(text))
    return (said - _SMALL) or said

"""Which words of a memory stand for which of a fact, and what is left over. Pure; English.

Both are brought into one order first: passive into active ("is ridden by a man"), adjectives and compounds before their noun ("a dog, which is
brown", "the trunk of a tree"). Words that are all shared but stand in another order say something else: who does it, and to whom.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from services.indexer import english

_BE = frozenset(["is", "are", "was", "were", "be", "been", "being", "am"])
_RELATIVE = frozenset(["which", "who", "that"])
_DEGREE = frozenset(["very", "really", "quite", "so", "too"])
_ARTICLES = frozenset(["a", "an", "the", "some", "his", "her", "its", "their", "my", "our", "your"])
_FAR = 4
"""Words between "is" and "by" in a passive clause."""


class Order(NamedTuple):
    """The concepts of a text, in an order in which the same means the same, and how things are done in it."""

    concepts: tuple[str, ...]
    manners: frozenset[str]
    passive: bool


class Alignment(NamedTuple):
    """dropped: concepts of the memory that the fact lacks; added: of the fact that the memory lacks. Light words and manners count in neither.
    ordered: whether what both have comes in the same order, and nothing is done in another manner."""

    dropped: tuple[str, ...]
    added: tuple[str, ...]
    ordered: bool


def order(tokens: Sequence[str], idle: frozenset[str]) -> Order:
    """Of the words of a text in lower case. idle: words that carry no content of their own."""
    plain = [token for token in tokens if token not in _DEGREE]
    plain = _plain(plain)
    active = _active(plain, idle)
    straight = _pairs(_compounds(_attributes(active, idle), idle), idle)
    manners = frozenset(english.concept(token) for token in straight if english.manner(token))
    said = [token for token in straight if token not in idle | english.LIGHT and not english.manner(token)]
    return Order(tuple(map(english.concept, said)), manners, active != plain)


def align(memory: Order, fact: Order) -> Alignment:
    """A broader concept of the fact stands for a narrower one of the memory, never the other way round."""
    told = _widened(memory.concepts, fact.concepts)
    dropped, added = _beyond(told, fact.concepts), _beyond(fact.concepts, told)
    mine, theirs = _once(word for word in told if word not in dropped), _once(word for word in fact.concepts if word not in added)
    # what goes with the doer stands elsewhere in a passive clause, but the doer comes first
    turned = memory.passive != fact.passive and mine[:1] == theirs[:1]
    same_manner = memory.manners <= fact.manners or fact.manners <= memory.manners
    return Alignment(dropped, added, same_manner and (turned or mine == theirs))


def _plain(tokens: list[str]) -> list[str]:
    """ "Postgres is what we use" as "we use Postgres", "there are three of us in the team" as "the team three of us"."""
    for at in range(1, len(tokens) - 2):
        if tokens[at] in _BE and tokens[at + 1] == "what":
            return [*tokens[at + 2 :], *tokens[:at]]
    if tokens[:1] == ["there"] and tokens[1:2] and tokens[1] in _BE and "in" in tokens:
        place = tokens.index("in")
        return [*tokens[place + 1 :], *tokens[2:place]]
    return tokens


def _active(tokens: list[str], idle: frozenset[str]) -> list[str]:
    """ "A horse is being ridden in a creek by a man" as "a man ridden a horse in a creek"."""
    if "by" not in tokens:
        return tokens
    by = tokens.index("by")
    verb = next((i for i in range(by - 1, 0, -1) if english.participle(tokens[i]) and _is_passive(tokens, i)), None)
    if verb is None or by - verb > _FAR or by + 1 == len(tokens):
        return tokens
    be = next(i for i in range(verb - 1, -1, -1) if tokens[i] in _BE)
    while be and tokens[be - 1] in _BE:
        be -= 1
    start = next((i + 1 for i in range(be - 1, -1, -1) if tokens[i] == "and"), 0)
    end = _phrase(tokens, by + 1, idle)
    return [*tokens[:start], *tokens[by + 1 : end], tokens[verb], *tokens[start:be], *tokens[verb + 1 : by], *tokens[end:]]


def _is_passive(tokens: Sequence[str], verb: int) -> bool:
    before = [token for token in tokens[:verb] if not english.manner(token)]
    return bool(before) and before[-1] in _BE


def _attributes(tokens: list[str], idle: frozenset[str]) -> list[str]:
    """ "A dog, which is brown and big, …" as "a brown big dog …"."""
    for at in range(1, len(tokens) - 2):
        if tokens[at] not in _RELATIVE or tokens[at + 1] not in _BE or tokens[at - 1] in idle:
            continue
        end = at + 2
        while end < len(tokens) and (tokens[end] not in idle or (tokens[end] == "and" and end + 1 < len(tokens) and tokens[end + 1] not in idle)):
            end += 1
        adjectives = [word for word in tokens[at + 2 : end] if word != "and"]
        clause = bool(adjectives) and adjectives[0].endswith("ing") and end < len(tokens) and tokens[end] not in _BE | {"and"}
        if adjectives and not clause:
            start = _noun(tokens, at, idle)
            return _attributes([*tokens[:start], *adjectives, *tokens[start:at], *tokens[end:]], idle)
    return tokens


def _compounds(tokens: list[str], idle: frozenset[str]) -> list[str]:
    """ "The trunk of a tree" as "the tree trunk", "a rod for fishing" as "a fishing rod"."""
    for at in range(1, len(tokens) - 1):
        whole = tokens[at] == "of" or (tokens[at] == "for" and tokens[at + 1] not in _ARTICLES - {"their", "his", "her", "its"})
        if not whole or tokens[at - 1] in idle or tokens[at - 1] in english.LIGHT:
            continue
        part = next((i for i in range(at + 1, len(tokens)) if tokens[i] not in _ARTICLES), len(tokens) - 1)
        if tokens[part] not in idle:
            return _compounds([*tokens[: at - 1], tokens[part], tokens[at - 1], *tokens[part + 1 :]], idle)
    return tokens


def _pairs(tokens: list[str], idle: frozenset[str]) -> list[str]:
    """ "Singing and dancing" and "dancing and singing" alike."""
    found = list(tokens)
    for at in range(1, len(found) - 1):
        before, after = found[at - 1], found[at + 1]
        single = (at < 2 or found[at - 2] in idle) and (at + 2 == len(found) or found[at + 2] in idle)
        if found[at] == "and" and not {before, after} & idle and (single or _ending(before) == _ending(after) != ""):
            found[at - 1], found[at + 1] = sorted((before, after))
    return found


def _ending(word: str) -> str:
    return next((ending for ending in ("ing", "ed", "s") if word.endswith(ending)), "")


def _noun(tokens: Sequence[str], end: int, idle: frozenset[str]) -> int:
    """Where the words of the noun that ends here start."""
    at = end - 1
    while at and tokens[at - 1] not in idle:
        at -= 1
    return at


def _phrase(tokens: Sequence[str], start: int, idle: frozenset[str]) -> int:
    """Where the noun phrase that starts here ends."""
    at = start
    while at < len(tokens) and tokens[at] in _ARTICLES:
        at += 1
    while at < len(tokens) and tokens[at] not in idle:
        at += 1
    return at


def _widened(memory: Sequence[str], fact: Sequence[str]) -> list[str]:
    """The memory's concepts, those that the fact names by a broader one under this name."""
    spare = set(fact) - set(memory)
    return [word if word in fact else next((wide for wide in sorted(spare) if english.broader(word, wide)), word) for word in memory]


def _beyond(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in _once(one) if word not in other)


def _once(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))

"""Whether a text is made of somebody's own words, and which: tokens, what may be left out between them, negation. Pure; any language.

A text is cut out of a quotation in whole clauses. Cut elsewhere, "I don't think we use Redis" would say "we use Redis", and "we use Postgres in
staging and MySQL in production" would say "we use Postgres in production".
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice, pairwise
from typing import NamedTuple


def vocabulary(text: str) -> frozenset[str]:
    """A list of words, written as one text."""
    return frozenset(text.split())


_TOKEN = re.compile(
    r"<[A-Z][A-Z_]*(?:_\d+)?>"  # a placeholder
    r"|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"  # scripts without blanks: each sign
    r"|(?:(?![\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])"
    r"[^\s\"“”«»()\[\]{}…—;!?。、，；：！？「」])+"
)
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ′´＇", "'") | dict.fromkeys("`*"))
_COMPARES = frozenset("<>≤≥≠±¬")
_LEADING = "'‘’*_`,:!?|>"
_TRAILING = _LEADING + "./-–<&="
_PUNCTUATION = re.compile(r"[\n,.;:!?…—()\"“”«»。、，；：！？「」]|\s[-–]\s")
_LISTS = frozenset({"and", "plus", "&"})
_COORDINATORS = _LISTS | {"but", "so", "because"}
_CONDITIONS = frozenset({"if", "unless", "until", "except", "when", "whenever", "provided", "once", "or"})
_FILLERS = frozenset(
    {"please", "pls", "btw", "just", "really", "actually", "also", "currently", "now", "too", "basically", "honestly", "anyway", "still", "already"}
)
_NEGATION = vocabulary(
    "not never no none nobody nothing nowhere neither nor without cannot hardly dont cant nicht kein keine keinen keiner keinem nie niemals ohne"
    " pas jamais aucun aucune sans nunca jamás ningún ninguna sin não nenhum sem non mai nessun senza niet geen nooit zonder inte aldrig utan nie bez"
    " не нет никогда без ikke ingen aldri aldrig nem δεν μην 不 没 沒 無 未 别 別"
)
_NOT_SHORTENED = vocabulary("isnt arent wasnt werent doesnt didnt havent hasnt hadnt wont wouldnt couldnt shouldnt")
_WEAKENING = vocabulary(
    "rarely seldom barely scarcely almost nearly stop stops stopping refuse refuses refused avoid avoids avoided fail fails failed stopped quit"
)
_FORGETTING = vocabulary("forget n'oublie n'oubliez vergiss vergessen vergeet olvides olvide esqueça esqueças dimenticare")
_ENDING = frozenset({"stopped", "quit", "abandoned", "ditched", "anymore"})
_ENDINGS = frozenset({("gave", "up"), ("given", "up"), ("moved", "away"), ("got", "rid")})
_TAKEN_BACK = re.compile(r"\s+(?:no (?:longer|more)|not at all)\b", re.IGNORECASE)
_NEAR_CHARS = 400  # a negation further away is another sentence's
_MOST_PLACES = 40  # looked at of a text that is said again and again, so that ten thousand like lines cost no more than forty
_MOST_TOKENS = 120  # of a text; a sentence that is read has no more


class Token(NamedTuple):
    """`word`: as it is compared. `start`, `end`: its place. `closes`: punctuation or the end of the text follows."""

    word: str
    start: int
    end: int
    closes: bool


def tokens(text: str) -> list[Token]:
    """Words, numbers, identifiers, addresses and placeholders, without the punctuation around them."""
    spans = [span for match in _TOKEN.finditer(text) if (span := _trimmed(text, match.start(), match.end()))]
    ends = [start for start, _ in spans[1:]]
    closing = [bool(_PUNCTUATION.search(text[end:following])) for (_, end), following in zip(spans, ends, strict=False)]
    return [Token(_plain(text[start:end]), start, end, closes) for (start, end), closes in zip(spans, [*closing, True], strict=False)]


def words(text: str) -> list[str]:
    return [token.word for token in tokens(text)]


def is_part(text: str, whole: str) -> bool:
    """Whether the text stands in the whole, character by character but for white space, and begins and ends between its tokens."""
    return any(True for _ in _places(text, whole))


def is_denied(text: str, whole: str) -> bool:
    """Whether the text, wherever it stands in the whole, stands under a negation there: "use Redis" of "we don't use Redis"."""
    return _everywhere(text, whole, _negated)


def is_weakened(text: str, whole: str) -> bool:
    """Whether it stands everywhere under a word that says that it is not, or hardly, so: "use Redis" of "we refuse to use Redis"."""
    return _everywhere(text, whole, _weakened)


def _everywhere(text: str, whole: str, under: Callable[[Sequence[Token]], bool]) -> bool:
    found = False
    for before, after in _places(text, whole):
        if not under(before) and _TAKEN_BACK.match(after) is None:
            return False
        found = True
    return found


def in_order(text: str, quote: str) -> bool:
    """Whether the text is the quote with words left out, none of them a negation of what is left."""
    return _aligned(words(text), tokens(quote), lambda _, left_out: not (_negated(left_out) or _weakened(left_out)), _ends_undenied) is not None


def cut(text: str, quote: str) -> str | None:
    """The quote's own words that the text consists of, if they are whole clauses of it; else None."""
    said = tokens(quote)
    places = _aligned(words(text), said, _may_go, _may_end)
    if places is None:
        return None
    runs: list[tuple[int, int]] = []
    for place in places:
        if runs and runs[-1][1] == place - 1:
            runs[-1] = (runs[-1][0], place)
        else:
            runs.append((place, place))
    return " ".join(" ".join(quote[said[first].start : said[last].end].split()) for first, last in runs)


def run(text: str, within: str) -> str:
    """The words of the text as they stand one after the other in the other text, or ""."""
    wanted, there = words(text), tokens(within)
    for at in range(len(there) - len(wanted) + 1):
        if wanted and [token.word for token in there[at : at + len(wanted)]] == wanted:
            return within[there[at].start : there[at + len(wanted) - 1].end]
    return ""


def is_negative(text: str) -> bool:
    """Whether it denies something, or says that something is over."""
    said = words(text)
    return any(_negates(word) or word in _ENDING for word in said) or not _ENDINGS.isdisjoint(pairwise(said))


def _negates(word: str) -> bool:
    """However it is spelt: in wide letters, with a sign in it that does not show, without its apostrophe."""
    if not word.isascii():
        word = "".join(char for char in unicodedata.normalize("NFKC", word) if unicodedata.category(char) != "Cf")
    return word in _NEGATION or word in _NOT_SHORTENED or word.endswith("n't")


def _weakened(left_out: Sequence[Token]) -> bool:
    """Whether what follows is right after a word that weakens it, but for a "to"."""
    rest = left_out[:-1] if left_out and left_out[-1].word == "to" and not left_out[-1].closes else left_out
    return bool(rest) and not rest[-1].closes and rest[-1].word in _WEAKENING


def _negated(left_out: Sequence[Token]) -> bool:
    """Whether a negation among words left out reaches what follows them: it does not go beyond its own clause, and "don't forget" denies nothing."""
    for before, token in zip([None, *left_out][-2::-1], reversed(left_out), strict=False):
        if token.closes or token.word in _COORDINATORS or token.word in _FORGETTING:
            return False
        if _negates(token.word):
            return before is None or before.word not in _FORGETTING  # "n'oublie pas"
    return False


def _may_go(before: bool, left_out: Sequence[Token]) -> bool:
    """Fillers may be left out; at the beginning whole clauses; after that the members of a list, and what leads up to a verb of its own."""
    rest = [token for token in left_out if token.word not in _FILLERS]
    if any(token.word in _CONDITIONS for token in rest):
        return False
    return not rest or rest[-1].closes or rest[-1].word in (_LISTS if before else _COORDINATORS)


def _ends_undenied(last: Token, following: Sequence[Token]) -> bool:
    """Whether the rest of the clause holds no negation."""
    if last.closes:
        return True
    for token in following:
        if token.word in _COORDINATORS:
            return True
        if _negates(token.word):
            return False
        if token.closes:
            return True
    return True


def _may_end(last: Token, following: Sequence[Token]) -> bool:
    rest = [token for token in following if token.word not in _FILLERS]
    if rest and rest[0].word in _CONDITIONS:
        return False
    return not rest or last.closes or rest[0].word in _COORDINATORS


def _aligned(
    wanted: list[str], said: list[Token], may_go: Callable[[bool, Sequence[Token]], bool], may_end: Callable[[Token, Sequence[Token]], bool]
) -> tuple[int, ...] | None:
    """Where each wanted word stands in what was said, in order. may_go(before, left_out): whether these words may be left out, with
    something wanted before them or not; may_end(last, following): whether all that follows may be."""
    if not wanted or len(wanted) > _MOST_TOKENS or len(said) > _MOST_TOKENS:
        return None

    @cache
    def after(index: int, place: int) -> tuple[int, ...] | None:
        """Places of `wanted[index:]`, the word before them standing right before `place`."""
        if index == len(wanted):
            return () if may_end(said[place - 1], said[place:]) else None
        for at in range(place, len(said)):
            if said[at].word != wanted[index] or (at > place and not may_go(index > 0, said[place:at])):
                continue
            if (rest := after(index + 1, at + 1)) is not None:
                return (at, *rest)
        return None

    return after(0, 0)


def _places(text: str, whole: str) -> Iterator[tuple[list[Token], str]]:
    """What stands before and after the text, a few lines of each, wherever it stands between tokens."""
    if not text.strip():
        return
    for match in islice(re.finditer(r"\s+".join(map(re.escape, text.split())), whole), _MOST_PLACES):
        begin = max(0, match.start() - _NEAR_CHARS)
        near = whole[begin : match.end() + _NEAR_CHARS]
        start, end = match.start() - begin, match.end() - begin
        around = tokens(near)
        if not any(token.start < edge < token.end for token in around for edge in (start, end)):
            yield [token for token in around if token.end <= start], near[end:]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    if text[start] == "<" and text[end - 1] == ">":
        return start, end
    if not _COMPARES.isdisjoint(text[start:end]) and not any(map(_tells, text[start:end])):
        return start, end  # "p99 < 250 ms"
    if text[start] == ">" and text[start + 1 : end].lstrip("=")[:1].isdigit():
        return start, end
    while start < end and (text[start] in _LEADING or (text[start] in "-–" and not text[start + 1 : end][:1].isdigit())):
        start += 1
    while start < end and text[end - 1] in _TRAILING:
        end -= 1
    return (start, end) if any(map(_tells, text[start:end])) else None


def _tells(char: str) -> bool:
    """A letter, digit, emoji or currency: what a token is made of."""
    return char.isalnum() or unicodedata.category(char) in {"So", "Sc"}


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text.translate(_APOSTROPHES)).casefold()

"""Names of people in free text: runs of words with the shape of a name, and what speaks for or against each. Pure.

What speaks for a name: a known given name, an initial, a title, a word that introduces a name, an ending of family names, the model.
What speaks against: it is the name of a product, a month, a place, or a word of the language that only begins its sentence.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from services.core.redaction.spans import Kind, Span
from services.worker.extraction import places
from services.worker.redaction import vocabulary
from services.worker.redaction.gazetteer import Gazetteer
from services.worker.redaction.namelike import NAMES, Lexicon, Sort, Sorter, is_product

_WORD = re.compile(r"[^\W\d_]+(?:['’-](?!(?:s|m|d|t|ve|ll|re)\b)[^\W\d_]+)*")
_TITLE = re.compile(
    r"\b(?:mrs?|ms|miss|mister|dr|prof|professor|doctor|sir|madam|lord|lady|dame|herr|frau|mme|monsieur|señora?|uncle|aunt|auntie)\.?[ ]$",
    re.IGNORECASE,
)
_INTRODUCES = re.compile(
    r"(?:\b(?:surname|names?)(?:[ ]on[ ]the[ ]\w+)?(?:[ ](?:is|was|to)|['’]s|[ ]{0,2}[:=?]|[ ]are)?[ \t]{1,8}"
    r"(?:(?:user|bot|me):[ ]|it(?:['’]s|[ ]is)[ ])?"
    r"|\b(?:called|named|nicknamed)[ ](?:(?:him|her|me|them)[ ])?|\b(?:calls?|call)[ ](?:me|him|her)[ ]|\b(?:it['’]s|is|its)[ ]under[ ]"
    r"|(?:^|\n|[.!?][ ])(?:hi|hello|hey|dear|thanks|cheers|regards|best|greetings|sincerely)(?:,?[ ]|,?\n)"
    r"|\b(?:directed|written|produced|sung|authored|reviewed|reported|approved|signed|painted)[ ]by:?[ \t]{1,8}|\bstarring[ ]"
    r"|\b(?:follow[ ]up|speak|talk|talked|spoke|meeting|lunch|pair|paired|pairing|check|sync)[ ](?:with|to)[ ]"
    r"|\b(?:brother|sister|father|mother|dad|mom|mum|son|daughter|wife|husband|partner|boyfriend|girlfriend|fianc[eé]e?|friend|kid|child|colleague|"
    r"coworker|co-worker|boss|manager|mentor|roommate|teammate|nephew|niece|cousin|uncle|aunt|grandfather|grandmother|neighbou?r|ex|co-?founder)"
    r"(?:[ ]is|['’]s[ ]name[ ]is|,)?[ ])$",
    re.IGNORECASE,
)
_OWN_NAME = re.compile(r"\b(?:my|maiden|last|first|full|real)[ ](?:\w+[ ])?name(?:[ ]is|['’]s|:)[ ]$|\bcalls?[ ]me[ ]$", re.IGNORECASE)
_HUMAN_AFTER = re.compile(
    r"(?:['’]s)?[ ](?:said|says|asked|asks|told|tells|thinks|wants|lives|shouted|agreed|explained|wrote|joined|thought|replied|insisted|suggested|"
    r"prefers|believes|hates|loves|likes|argued|complained|retired|married|died|works|worked|speaks?|reviews|reviewed|hired|had[ ]given|and[ ]I)\b"
    r"|['’]s[ ](?:brother|sister|father|mother|dad|mom|son|daughter|wife|husband|partner|friend|kids?|child(?:ren)?|boss|birthday|house|desk|team|"
    r"phone|e?-?mail|address|number|killers?|novel|version|songs?|concert|account|review|PRs?|branch|laptop|calendar)\b",
)
_SAYS_BEFORE = re.compile(
    r"(?:\b(?:said|says|asked|told|shouted|replied|adds|added|explained|ask|tell|told|ping|pinged|cc|attn|assigned[ ]to|reports?[ ]to)[ ]"
    r"(?:(?:\w{2,20}[ ])?(?:at|to)[ ])?)$"
)
_FAMILY_ENDING = re.compile(
    r".{2,}(?:ov|ova|ev|eva|yev|yeva|sson|dóttir|dottir|ić|ič|vić|ović|ová|nen|ski|ska|sky|wicz|czyk|enko|chuk|yan|shvili|adze|"
    r"stad|gård|gaard|strand|berg|qvist|kvist|lund|mann|poulos|akis|escu|oğlu|oglu|ssen|nsen|rsen|lsen|dsen)"
)
_AND = re.compile(r",[ ]|,?[ ](?:and|or|&)[ ]")
_BEFORE = 60  # characters before a name that are looked at
_SHORTEST_SMALL = 4
_MOST_WORDS = 5


class Token(NamedTuple):
    text: str
    start: int
    end: int

    @property
    def low(self) -> str:
        return self.text.lower()

    @property
    def initial(self) -> bool:
        return len(self.text) == 1 and self.text.isupper()

    @property
    def capital(self) -> bool:
        return self.text[0].isupper()


class Labels(NamedTuple):
    """What the model takes for people, for organisations, and for places, products and the like: start and end."""

    people: Sequence[tuple[int, int]] = ()
    organisations: Sequence[tuple[int, int]] = ()
    others: Sequence[tuple[int, int]] = ()


class _Seen(NamedTuple):
    """Where the words stand. person, organisation, other: what the model takes them for; addressed: somebody is spoken to, or speaks."""

    person: bool
    organisation: bool
    other: bool
    addressed: bool

    @property
    def named(self) -> bool:
        return self.person or self.organisation or self.other


class People:
    """Finds names of people."""

    def __init__(self, names: Gazetteer, lexicon: Lexicon) -> None:
        self._names = names
        self._sort = Sorter(names, lexicon).sort

    def find(self, text: str, labels: Labels) -> Iterator[Span]:
        candidates = [self._without_lead(part, labels) for run in _runs(text) for part in self._split(run)]
        found = [self._is_name(name, text, labels) for name in candidates]
        for number, name in enumerate(candidates):
            if not found[number] and _beside_one(number, candidates, found, text):
                found[number] = self._may_be_listed(name, text, labels)
            if found[number]:
                yield Span(Kind.PERSON, name[0].start, name[-1].end)
        yield from self._small(text)

    def _split(self, run: list[Token]) -> Iterator[list[Token]]:
        """At what can't be part of a name."""
        name: list[Token] = []
        for token in [*run, None]:
            if token is not None and not self._never(token):
                name.append(token)
                continue
            while name and name[-1].low in vocabulary.PARTICLES:
                name.pop()
            while name and name[0].low in vocabulary.PARTICLES and not name[0].capital:
                name.pop(0)
            if name:
                yield name
            name = []

    def _never(self, token: Token) -> bool:
        low = token.low
        if low in vocabulary.TITLES or _camel(token.text) or (low in vocabulary.NEVER and not token.initial):
            return True
        return is_product(low) and low not in self._names.given

    def _without_lead(self, name: list[Token], labels: Labels) -> list[Token]:
        """Without words that only begin the sentence."""
        while len(name) > 1 and self._sort(name[0].text) is Sort.WORD and not _overlaps(labels.people, name[0].start, name[0].end):
            name = name[1:]
        return name

    def _is_name(self, name: list[Token], text: str, labels: Labels) -> bool:
        start, end = name[0].start, name[-1].end
        if len(name) > _MOST_WORDS or _in_code(text, start, end) or all(token.initial for token in name):
            return False
        before = text[max(0, start - _BEFORE) : start]
        if _TITLE.search(before):
            return True
        sorts = [self._sort(token.text) for token in name]
        if sorts[0] is Sort.GIVEN_PRODUCT and not (len(name) > 1 and _may_follow(name[1], sorts[1])):
            return False
        likely = Sort.STRANGE in sorts or not NAMES.isdisjoint(sorts)
        if likely and Sort.WORD not in sorts and (_INTRODUCES.search(before) or _SAYS_BEFORE.search(before) or _HUMAN_AFTER.match(text, end)):
            return True
        if places.known(" ".join(token.text for token in name)):
            return False
        person, organisation, other = (_overlaps(spans, start, end) for spans in labels)
        seen = _Seen(person, organisation, other, _addressed(text, start, end))
        return self._alone(name[0], sorts[0], seen) if len(name) == 1 else self._together(name, sorts, seen, likely)

    def _may_be_listed(self, name: list[Token], text: str, labels: Labels) -> bool:
        """What stands beside a name as one of several is another, unless something speaks against it."""
        start, end = name[0].start, name[-1].end
        if _in_code(text, start, end) or _overlaps(labels.others, start, end) or places.known(" ".join(token.text for token in name)):
            return False
        sorts = [self._sort(token.text) for token in name]
        return Sort.WORD not in sorts and sorts[0] is not Sort.GIVEN_PRODUCT and set(sorts) != {Sort.FILLER} and not name[0].text.isupper()

    def _alone(self, token: Token, sort: Sort, seen: _Seen) -> bool:
        """One word that nothing introduces."""
        if (token.text.isupper() and not seen.person) or token.low in vocabulary.NO_LAST:
            return False
        if sort is Sort.GIVEN:
            return seen.person or seen.addressed or not seen.named
        if sort is Sort.GIVEN_NOUN:
            return seen.addressed or seen.named
        if sort is Sort.GIVEN_WORD:
            return seen.addressed or seen.person
        if sort in (Sort.FAMILY, Sort.FAMILY_NOUN):
            return seen.person or (sort is Sort.FAMILY and not seen.named)
        return sort is Sort.STRANGE and _FAMILY_ENDING.fullmatch(token.low) is not None

    def _together(self, name: list[Token], sorts: list[Sort], seen: _Seen, likely: bool) -> bool:
        """Several words that nothing introduces. likely: one of them is a name, or not known at all."""
        if Sort.GIVEN in sorts and (seen.person or Sort.WORD not in sorts):
            return True
        if likely and any(token.initial for token in name[1:-1]):
            return True
        if name[-1].low in vocabulary.NO_LAST or (seen.other and not seen.person) or Sort.WORD in sorts:
            return False
        if sorts[0] is Sort.GIVEN_NOUN:
            return True
        if sorts[0] in (Sort.GIVEN_WORD, Sort.GIVEN_PRODUCT) and (seen.person or Sort.FAMILY in sorts):
            return True
        return (Sort.STRANGE in sorts or Sort.FAMILY in sorts) and (seen.person or _FAMILY_ENDING.fullmatch(name[-1].low) is not None)

    def _small(self, text: str) -> Iterator[Span]:
        """Names in small letters: a given name before a family name, or where something introduces or follows only people."""
        tokens = [token for token in _tokens(text) if not token.capital]
        end = 0
        for number, token in enumerate(tokens):
            if token.start < end or len(token.text) < _SHORTEST_SMALL:
                continue
            sort = self._sort(token.text)
            before = text[max(0, token.start - _BEFORE) : token.start]
            if sort not in (Sort.GIVEN, Sort.GIVEN_NOUN, Sort.FAMILY) and not (sort is Sort.STRANGE and _OWN_NAME.search(before)):
                continue
            last = self._small_end(text, tokens[number : number + 3])
            told = _INTRODUCES.search(before) or (sort is Sort.GIVEN and _HUMAN_AFTER.match(text, last.end))
            whole = last is not token and sort in (Sort.GIVEN, Sort.GIVEN_NOUN)
            if (told or whole) and not _in_code(text, token.start, last.end):
                yield Span(Kind.PERSON, token.start, last.end)
                end = last.end

    def _small_end(self, text: str, tokens: list[Token]) -> Token:
        """The last word of the name that the first one begins."""
        last = tokens[0]
        for token in tokens[1:]:
            gap = text[last.end : token.start]
            initial = len(token.text) == 1 and token.low not in ("a", "i", "y", "e")
            if gap not in (" ", ". ") or (gap == ". " and len(last.text) > 1) or not (initial or self._ends_small(tokens[0], token)):
                break
            last = token
        return last if len(last.text) > 1 else tokens[0]

    def _ends_small(self, first: Token, last: Token) -> bool:
        """Of two names in small letters at least one is no word of the language, too."""
        begins, ends = self._sort(first.text), self._sort(last.text)
        if begins is Sort.GIVEN:
            return ends in (Sort.GIVEN, Sort.FAMILY, Sort.FAMILY_NOUN) or (ends is Sort.STRANGE and bool(_FAMILY_ENDING.fullmatch(last.low)))
        return begins in (Sort.GIVEN_NOUN, Sort.STRANGE) and ends in (Sort.GIVEN, Sort.FAMILY)


def _beside_one(number: int, candidates: list[list[Token]], found: list[bool], text: str) -> bool:
    """ "Ana, Bo and Cy": only a comma, or "and", is between a candidate and one that was found."""
    first, last = candidates[number][0].start, candidates[number][-1].end
    after = number + 1 < len(found) and found[number + 1] and _AND.fullmatch(text, last, candidates[number + 1][0].start)
    return bool(after or (number and found[number - 1] and _AND.fullmatch(text, candidates[number - 1][-1].end, first)))


def _may_follow(token: Token, sort: Sort) -> bool:
    """A family name after what names a product, too: "Ruby Kowalski", not "Ruby Gems"."""
    return sort in (Sort.GIVEN, Sort.FAMILY, Sort.FAMILY_NOUN) or (sort is Sort.STRANGE and _FAMILY_ENDING.fullmatch(token.low) is not None)


def _addressed(text: str, start: int, end: int) -> bool:
    """`Remember me, Maria?`; `Danielle: Who are you?` at the start of a line."""
    before, after = text[max(0, start - 3) : start], text[end : end + 4]
    if re.search(r"\w,[ ]$", before) and after[:1] in ("!", "?"):
        return True
    return (not before or before.endswith(("\n", "\n> "))) and re.match(r":[ ]?[\"“A-Z]", after) is not None


def may_name(text: str) -> bool:
    """Whether there is any word in it that the model should look at."""
    return any(token.capital and token.low not in vocabulary.NEVER for token in _tokens(text))


def _tokens(text: str) -> Iterator[Token]:
    for match in _WORD.finditer(text):
        yield Token(match[0], *match.span())


def _runs(text: str) -> Iterator[list[Token]]:
    """Words with capitals one blank apart, with initials and particles between them."""
    run: list[Token] = []
    for token in _tokens(text):
        gap = text[run[-1].end : token.start] if run else ""
        joined = bool(run) and (gap in (" ", "  ") or (gap in (". ", ".") and run[-1].initial))
        if not joined:
            if run:
                yield run
            run = []
        if token.capital or (run and token.low in vocabulary.PARTICLES):
            run.append(token)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _camel(word: str) -> bool:
    """`PyTorch`, `iOS`; not `McCarthy`, `O'Neil`, `DeLuca`, `SMITH`."""
    inner = re.sub(r"^(?:Mc|Mac|De|Di|Du|La|Le|Van|O['’]|D['’])", "", word)
    return any(part[1:] != part[1:].lower() and not part.isupper() for part in re.split("['’-]", inner))


def _in_code(text: str, start: int, end: int) -> bool:
    """Part of a path, an identifier, an address or a version."""
    return re.search(r"[\w/\\@#$`_.:=-]$", text[max(0, start - 1) : start].replace("\n", " ")) is not None or (
        re.match(r"[\w/\\@#$`_=(]|[.-]\w|:[a-z0-9]", text[end : end + 2]) is not None
    )


def _overlaps(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    return any(a < end and start < b for a, b in spans)

"""What a person's words ask for: whether there is anything to recall for, and the part of a long message that carries the request."""

import re

import msgspec

from services.core.recall import asking, estimate, lexical
from services.core.recall import parts as splitting

QUERY_TOKENS = 256
"""The embedding models in use were trained on passages of this length; more dilutes the request. A message of which parts
are embedded beside it gets half: they carry what it asks for, and a text of this length takes a third of the deadline."""

_PHATIC = lexical.word_set("""
    a again ahead all alright and any are as awesome bonjour bye cheers continue cool correct danke day do done evening exactly excellent
    fine for go good goodbye got gracias great haha hallo hello hey hi hm hmm hola how i indeed is it keep later lgtm lol looks maybe merci
    morning much n next nice night no nope not now ok okay on perfect please proceed quit really retry right salut see si so sounds stop
    sure test thank thanks that that's there this thx today try ty very wait wonderful works wow y ya yeah yep yes yo you your
""")
"""A message of only these greets, thanks or urges on."""

_ANY_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_MOST_CHARS = 40_000  # looked at, half from each end: a pasted file must not use up the deadline
_AT_THE_ENDS = 2  # sentences of each end that may ask for all of a kind
_LEAST_PROSE = 0.75  # share of letters and spaces under which a line of a long paste is code, a log or data


class Part(msgspec.Struct, frozen=True):
    """A text that is embedded, and its stems."""

    text: str
    stems: frozenset[str]


class Query(msgspec.Struct, frozen=True):
    """What is searched for. parts: the whole first, then what asks for something of its own. own: stems of
    what it calls the person's own ("my wife"). listing: the kinds that are asked for as such. impersonal: it speaks of nothing of the person's or
    the team's own, as half of all requests to an assistant do, so that likeness alone tells little."""

    parts: tuple[Part, ...]
    identifiers: lexical.Identifiers
    own: frozenset[str] = frozenset()
    listing: asking.Listing | None = None
    impersonal: bool = False

    @property
    def text(self) -> str:
        return self.parts[0].text

    @property
    def stems(self) -> frozenset[str]:
        return frozenset().union(*(part.stems for part in self.parts))


def parse(words: str) -> Query | None:
    """The query of a person's words; None if they give nothing to recall for."""
    if is_phatic(words):
        return None
    prose = _bounded_prose(words)
    parts = splitting.parts(prose)
    texts = list(dict.fromkeys([_condensed(prose, QUERY_TOKENS // 2 if parts else QUERY_TOKENS), *parts]))
    sentences = splitting.sentences(prose)
    listing = next(filter(None, map(asking.listing, [*sentences[:_AT_THE_ENDS], *sentences[-_AT_THE_ENDS:]])), None)
    if listing is not None and listing.words:
        texts.append(listing.words)
    together = "\n".join(texts)
    return Query(
        parts=tuple(Part(text, lexical.stems(text)) for text in texts),
        identifiers=lexical.identifiers(together),
        own=lexical.own(together),
        listing=listing,
        impersonal=not asking.own(prose),
    )


def is_phatic(words: str) -> bool:
    """Whether the words are empty, only signs, or only greetings, thanks and goings-on."""
    return all(found.group().casefold().replace("’", "'") in _PHATIC for found in _ANY_WORD.finditer(words))


def query_text(words: str, most_tokens: int = QUERY_TOKENS) -> str:
    """The words on one line, at most so many (over-estimated) tokens: without fenced code where there is prose beside it, and of a long
    message its beginning and its end, without the lines that read as code or logs."""
    return _condensed(_bounded_prose(words), most_tokens)


def _bounded_prose(words: str) -> str:
    half = _MOST_CHARS // 2
    return _prose(words if len(words) <= _MOST_CHARS else f"{words[:half]}\n{words[-half:]}")


def _condensed(text: str, most_tokens: int = QUERY_TOKENS) -> str:
    if estimate.head(text, most_tokens) != text:
        text = _folded("\n".join(line for line in text.splitlines() if _reads_as_prose(line))) or text
    text = _folded(text)
    start = estimate.head(text, most_tokens)
    if start == text:
        return text
    start = estimate.head(text, most_tokens // 2).rstrip()
    return f"{start} {estimate.tail(text, most_tokens // 2 - 1).lstrip()}"


def _prose(words: str) -> str:
    inside = False
    kept = []
    for line in words.splitlines():
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            kept.append(line)
    outside = "\n".join(kept)
    return words if is_phatic(outside) else outside


def _reads_as_prose(line: str) -> bool:
    return sum(sign.isalpha() or sign.isspace() for sign in line) >= _LEAST_PROSE * len(line)


def _folded(text: str) -> str:
    return " ".join(text.split())

"""What a person's words ask for: whether there is anything to recall for, and the part of a long message that carries the request."""

import re

import msgspec

from services.core.recall import budget, lexical

QUERY_TOKENS = 256
"""The embedding models in use were trained on passages of this length; more dilutes the request."""

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
_LEAST_PROSE = 0.75  # share of letters and spaces under which a line of a long paste is code, a log or data


class Query(msgspec.Struct, frozen=True):
    """What is searched for. text: what is embedded and looked up by words."""

    text: str
    stems: frozenset[str]
    identifiers: lexical.Identifiers


def parse(words: str) -> Query | None:
    """The query of a person's words; None if they give nothing to recall for."""
    if is_phatic(words):
        return None
    text = query_text(words)
    return Query(text=text, stems=lexical.stems(text), identifiers=lexical.identifiers(text))


def is_phatic(words: str) -> bool:
    """Whether the words are empty, only signs, or only greetings, thanks and goings-on."""
    return all(found.group().casefold().replace("’", "'") in _PHATIC for found in _ANY_WORD.finditer(words))


def query_text(words: str, most_tokens: int = QUERY_TOKENS) -> str:
    """The words on one line, at most so many (over-estimated) tokens: without fenced code where there is prose beside it, and of a long
    message its beginning and its end, without the lines that read as code or logs."""
    half = _MOST_CHARS // 2
    text = _prose(words if len(words) <= _MOST_CHARS else f"{words[:half]}\n{words[-half:]}")
    if budget.head(text, most_tokens) != text:
        text = _folded("\n".join(line for line in text.splitlines() if _reads_as_prose(line))) or text
    text = _folded(text)
    start = budget.head(text, most_tokens)
    if start == text:
        return text
    start = budget.head(text, most_tokens // 2).rstrip()
    return f"{start} {budget.tail(text, most_tokens // 2 - 1).lstrip()}"


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

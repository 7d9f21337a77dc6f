"""Whether an answer used a memory: by what it has of the memory that nothing before it had.

A memory and a good answer are about the same things as the question, so what the question says already proves nothing. What is left are the
memory's own words. A name, an identifier or a number among them is enough to see in the answer; of other words it takes a good part.
"""

import re
from collections.abc import Sequence

import msgspec

from services.core.recall import lexical
from services.core.telemetry import Used

ANSWER_CHARS = 8_000
"""Read of an answer: one that uses a memory does so early."""
BEFORE_CHARS = 20_000
"""Read of what was said before, the latest first. Reading so much takes some 10 ms."""
ENOUGH = 0.4
"""Share of the memory's own words that an answer which uses it has."""
FEWEST_LETTERS = 3

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:[.,:/]\d+)*")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_SENTENCE = re.compile(r"[.!?;:\n](?:\s|$)|\n")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|without|instead|avoid|free|cannot|\w+n't|nicht|kein\w*|ohne|nie|pas|sans|jamais|sin|nunca|sem|senza|mai|non|niet|geen|zonder)\b|不",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:not|no|never|without|avoid|cannot|\w+n't)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<![.!?:]\s)(?<=\s)[^\W\d_a-z][^\W\d_]+")
_SMALL_WORDS = lexical.word_set("""
    never without avoid instead
    aber als am an auch auf aus bei bin bis das dass dem den der des die du ein eine einem einen einer es fahre für habe hat heißt ich im in ist
    mein meine meinem meinen mich mir mit nicht noch nur oder sich sie sind so und uns unser unsere von war was wenn wer wie wir wird wohne zu
    zum zur benutzen nutzen
    au aux avec ce cette dans de des du elle en est et il ils je la le les leur lui ma mais me mes mon ne nos notre nous ont ou où par pas pour
    que qui sa se ses son sont sur tu un une vous suis ai avons
    al como con del el ella en es ese esta está este ha he las lo los mi mis muy no nos nuestra nuestro para pero por que se sin su sus te tu
    una uno unos y yo soy estoy trabajo tengo
    ao aos com da das do dos ela ele em essa esse eu foi isso meu minha na nas no nos não nosso o os para pelo por que se seu sua são tem um uma
    che chi ci come con da dal dei del della di ed è gli ho il io la le lo ma mi mia mio nel nella noi non per più sono su sua suo un una
    aan dat de deze die dit door een en er het heet hij hun ik is maar mee met mijn naar niet of om ons onze ook op te tot uit van voor was wat
    we wij ze zijn
""")


class Said(msgspec.Struct, frozen=True):
    """A text as it is compared: telling stems with those of its identifiers' pieces, and which of them are names, identifiers or numbers."""

    stems: frozenset[str]
    strong: frozenset[str] = frozenset()


def verdicts(memories: Sequence[str], before: Sequence[str], answer: str) -> list[Used]:
    """Of each memory that a turn was told. before: what was said until then, the question last; answer: the answer's text, nothing if it has none but
    only calls tools."""
    if not memories or not answer.strip():
        return [Used.UNKNOWN] * len(memories)
    known = _read("\n".join(before)[-BEFORE_CHARS:]).stems
    answer = answer[:ANSWER_CHARS]
    said = _read(answer).stems
    return [_verdict(memory, known, answer, said) for memory in memories]


def _verdict(memory: str, known: frozenset[str], answer: str, said: frozenset[str]) -> Used:
    told = _read(memory)
    own = told.stems - known
    if not own:
        return Used.UNKNOWN
    told_so = said & own
    if _DENIES.search(memory):
        told_so = _kept_from(told_so, memory, answer)
    weak = own - told.strong
    strong_enough = bool(told_so & told.strong)
    return Used.YES if strong_enough or (weak and len(told_so & weak) >= max(1.0, ENOUGH * len(weak))) else Used.NO


def _kept_from(stems: frozenset[str], memory: str, answer: str) -> frozenset[str]:
    """Of a memory that denies something: an answer that does the very thing has not heeded it. What the memory denies counts where the answer denies
    it, too; what stands before the denial, or behind a "but", counts as ever."""
    denial = _DENIES.search(memory)
    assert denial is not None  # noqa: S101 - the caller looked
    denied, *rest = re.split(r"\b(?:but|only|,)\s?", memory[denial.start() :], maxsplit=1)
    banned = _read(denied).stems - _read(" ".join([memory[: denial.start()], *rest])).stems
    spared = frozenset().union(*(_read(part).stems for part in _SENTENCE.split(answer) if _NEGATION.search(part)))
    return frozenset(stem for stem in stems if stem not in banned or stem in spared)


def _read(text: str) -> Said:
    plain = _CAMEL.sub(" ", text.replace("’", "'").replace("_", " "))
    words = [word for found in _WORD.findall(plain) for word in _pieces(found)]
    stems = {lexical.stem(word): word for word in words if _tells(word)}
    pairs = {run[i : i + 2] for run in _UNSPACED.findall(text) for i in range(len(run) - 1)}
    names = {lexical.stem(name.casefold()) for name in _NAME.findall(plain)}
    found = lexical.identifiers(text)
    spelt = {lexical.stem(piece) for one in found.hard | found.soft for piece in _pieces_of(one) if _tells(piece)}
    numbers = {stem for stem in stems if stem[0].isdigit() and len(stem) > 1}
    return Said(frozenset(stems) | frozenset(pairs), frozenset((names | spelt | numbers) & set(stems)))


def _pieces(found: str) -> list[str]:
    """A word casefolded, without its genitive; of a run of letters without spaces nothing, for it is read in pairs."""
    return [] if _UNSPACED.search(found) else [found.casefold().removesuffix("'s")]


def _pieces_of(identifier: str) -> list[str]:
    return [word for found in _WORD.findall(identifier.replace("_", " ")) for word in _pieces(found)]


def _tells(word: str) -> bool:
    if word[0].isdigit():
        return True
    return (
        len(word) >= FEWEST_LETTERS
        and word not in lexical.STOP_WORDS
        and word not in _SMALL_WORDS
        and lexical.stem(word) not in lexical.GENERIC_STEMS
    )

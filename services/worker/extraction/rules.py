"""The rules extractor: deterministic, a few milliseconds a sentence, no model but spaCy's tagger and parser."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from services.core import errors, messages, models, telemetry
from services.worker.extraction import clauses, corrections, filters, grounding, prose, statements, tools, values

_UNUSED_PIPES = ("ner",)  # names are told by their shape: NER takes "Redis" for a person and a card number for a date
_CONTEXT_TURNS = 6  # a correction follows what it corrects closely
_MAX_FACTS = 20  # of one turn; more is a pasted document
_REMEMBERED = 0.95
_TAIL = re.compile(
    r",\s+(?:so|hence|therefore|which means)\s+(?!that\b)"
    r"|,?\s+(?:btw|by the way|lol|haha+|hehe|xd|fwiw|fyi|just (?:so you know|fyi)|as of (?:today|now))$"
    r"|,?\s+(?:(?:nice|pleased|good|great) to (?:meet|see) you|thanks|thank you|ok(?:ay)?$)",
    re.IGNORECASE,
)


def load_nlp(model: str) -> Language:
    """The spaCy pipeline of a model package (or folder); `errors.SetupError` names the cure if it is missing."""
    try:
        return spacy.load(model, exclude=_UNUSED_PIPES)
    except OSError:
        raise errors.SetupError(
            f"the spaCy model {model} is not installed: run `make setup`, or set BRB_SPACY_MODEL to the name or folder of an installed one"
        ) from None


def _ordinary_words(nlp: Language) -> frozenset[str]:
    """The dictionary of the pipeline's lemmatizer, lower case; empty where it has none."""
    lookups = getattr(nlp.get_pipe("lemmatizer"), "lookups", None) if nlp.has_pipe("lemmatizer") else None
    if lookups is None or not lookups.has_table("lemma_index"):
        return frozenset()
    return frozenset(word for words in lookups.get_table("lemma_index").values() for word in words)


class RulesExtractor:
    """Implements `ports.Extractor`. Not to be shared between threads: spaCy's memory zone is state of the whole pipeline.

    Of words longer than `prose.HEAD_CHARS + prose.TAIL_CHARS` the first and the last part are read; pasted code, logs, mail and
    quotations are passed over.
    """

    def __init__(self, nlp: Language) -> None:
        self._nlp = nlp
        self._ordinary = _ordinary_words(nlp)

    def extract(self, turn: messages.LearnTurn) -> tuple[models.Fact, ...]:
        """The grounded statements of the turn's words, in the order they were said."""
        with self._nlp.memory_zone():
            found = self._candidates(turn)
        proved = [fact for fact in found if grounding.grounded(fact, turn.words, turn.context) and not filters.says_nothing(fact.value)]
        kept = _distinct(proved)[:_MAX_FACTS]
        _count(len(found), len(proved), len(kept))
        return tuple(kept)

    def _candidates(self, turn: messages.LearnTurn) -> list[models.Fact]:
        found: list[models.Fact] = []
        since: list[models.Fact] | None = None  # stated since the last question of the turn
        denied = ""
        for part in self._parts(turn.words):
            if part.asks:
                since = []
                continue
            correction, denied = self._correction(part, denied), corrections.denied(part.said)
            if correction is not None and (fact := self._corrected(correction, part.quote, turn, found, since)):
                found = [*(said for said in found if not _outdated(said, fact)), fact]
            else:
                stated = self._stated(part)
                found += stated
                since = [*since, *stated] if since is not None else None
        return found

    def _correction(self, part: "_Part", denied: str) -> corrections.Correction | None:
        found = corrections.read(part.starred, denied) if part.whole else None
        if found is None or found.plain or values.shape(found.value) != "word":
            return found
        noun = self._nlp(part.said)[-1].pos_ in {"NOUN", "PROPN"}  # "it's vim", not "it's unrelated"
        return found if noun else None

    def _corrected(
        self,
        correction: corrections.Correction,
        quote: str,
        turn: messages.LearnTurn,
        found: list[models.Fact],
        since: list[models.Fact] | None,
    ) -> models.Fact | None:
        """The person's own statement corrected. After a question the answer to it is what a correction means, unless it names the old value."""
        asked = since is not None
        own = found if since is None or correction.old else since
        if any(fact.attribute and fact.value.casefold() == correction.value.casefold() for fact in own):
            return None  # says it again
        fixed = corrections.resolve(correction, quote, [fact for fact in reversed(own) if fact.attribute])
        if fixed is not None or (asked and not correction.old):
            return fixed
        before = self._said_last(turn.context)
        if correction.old and (fixed := corrections.resolve(correction, quote, self._said_before(turn.context))):
            return fixed
        if before is None:
            return None if asked else corrections.unresolved(correction, quote)
        if fixed := corrections.resolve(correction, quote, before.facts, near=before.closing):
            return fixed
        alike = [fact for fact in self._said_before(turn.context) if corrections.resemble(fact.value, correction.value)]
        return None if asked else corrections.resolve(correction, quote, alike)  # Leoncio is Leo's correction, whatever was asked in between

    def _said_last(self, context: tuple[str, ...]) -> "_Said | None":
        """What the newest earlier turn stated after its last question; None if there was nothing but small talk."""
        for words in reversed(context[-_CONTEXT_TURNS:]):
            parts = self._parts(words)
            if all(not part.asks and filters.is_small_talk(part.said) for part in parts):
                continue
            last_question = max((place for place, part in enumerate(parts) if part.asks), default=-1)
            stated = [self._stated(part) for part in parts[last_question + 1 :]]
            return _Said([fact for facts in reversed(stated) for fact in reversed(facts)], bool(stated and stated[-1]))
        return None

    def _said_before(self, context: tuple[str, ...]) -> list[models.Fact]:
        """Every statement of the conversation so far, newest first."""
        parts = [part for words in context[-_CONTEXT_TURNS:] for part in self._parts(words) if not part.asks]
        return [fact for part in reversed(parts) for fact in reversed(self._stated(part))]

    def _parts(self, words: str) -> list["_Part"]:
        return [part for sentence in _assertable(prose.sentences(words)) for part in _parts_of(sentence, words)]

    def _stated(self, part: "_Part") -> list[models.Fact]:
        todo = filters.todo_lead(part.text)
        if todo:
            return [_todo(part, part.text[len(todo) :])] if len(part.text) > len(todo) + 3 else []
        doc = self._nlp(part.text)
        pieces = clauses.split(doc)
        made: list[models.Fact] = []
        for clause in pieces:
            own = part.cut(clause, len(pieces) == 1)
            if own is None:
                continue
            if name := statements.introduced(own.text, own.said, self._ordinary):
                made.append(_fact(own, name))
            elif part.remembered or not _unfit(own.text):
                made += self._facts(own, doc)
        return _exchanged(made)

    def _facts(self, part: "_Part", doc: Doc) -> list[models.Fact]:
        order = filters.STANDING_LEAD.sub("", part.text)
        frame = clauses.frame(doc if order == doc.text else self._nlp(order))
        if frame is not None and order != part.text:
            frame = msgspec.structs.replace(frame, before=part.text[: len(part.text) - len(order)])
        return _facts(part, frame)


class _Said(NamedTuple):
    """Statements of one turn, newest first; closing: it ends with one, not with an order."""

    facts: list[models.Fact]
    closing: bool


class _Part(NamedTuple):
    """A piece of a sentence that may state something. text: what is parsed; quote: the verbatim words behind it.

    said: the same with its lead, for corrections; whole: no question follows; asks: it is a question and states nothing.
    """

    text: str
    quote: str
    words: str
    sentence: prose.Sentence
    start: int
    said: str
    whole: bool
    remembered: bool
    asks: bool = False

    @property
    def starred(self) -> str:
        """What was said, with the one asterisk of "*Leoncio" that marks a correction among people who chat."""
        raw = self.sentence.source(self.words, 0, len(self.sentence.text))
        at = self.words.find(raw)
        before, after = self.words[:at].rsplit("\n", 1)[-1], self.words[at + len(raw) :].split("\n", 1)[0]
        if (before, after) == ("*", "") or (before, after) == ("", "*"):
            return f"{before}{self.said}{after}"
        return self.said

    def cut(self, clause: clauses.Clause, alone: bool) -> "_Part | None":
        """The part that is a clause of this one."""
        said = self.text[clause.start : clause.end]
        text, remembered, _ = filters.strip_lead(said)
        start = clause.start + said.rindex(text) if text else clause.start
        text = text.rstrip(" ,;:-–—")
        if len(text.split()) < 2:
            return None
        begin = clause.borrowed_from if clause.borrowed else start
        text = _TAIL.split(text)[0]
        quote = self.sentence.source(self.words, self.start + max(0, begin), self.start + start + len(text))
        text = " ".join(filters.without_asides(f"{clause.borrowed} {text}" if clause.borrowed else text).split()).strip(" ,")
        return self._replace(text=text, quote=quote, start=self.start + start, remembered=self.remembered or remembered)


def _assertable(sentences: list[prose.Sentence]) -> Iterator[prose.Sentence]:
    """Without quotations and what is only supposed: a paragraph that begins to suppose goes on supposing."""
    supposed = -1
    for sentence in sentences:
        if filters.opens_hypothetical(sentence.text):
            supposed = sentence.paragraph
        if sentence.paragraph != supposed and not sentence.quoted:
            yield sentence


def _parts_of(sentence: prose.Sentence, words: str) -> list[_Part]:
    """What of a sentence may state something: without its question, and without an order that follows."""
    text = sentence.text
    asked = sentence.mark == "?" and not filters.strip_lead(text)[1]  # "can you remember that ...?" tells
    end = filters.question_at(text) if asked else len(text)
    asks = (asked or filters.is_question(filters.strip_lead(text)[0])) and not filters.is_polite_order(text[end if end < len(text) else 0 :])
    parts: list[_Part] = []
    for start, stop in _dashed(text[:end]):
        body, remembered, _ = filters.strip_lead(text[start:stop])
        begin = start + text[start:stop].rindex(body) if body else start
        body = body[: filters.request_at(body)].rstrip(" ,;:-–—")
        if len(body.split()) < 2 and asked:
            continue
        if filters.is_conditional(filters.without_asides(body)):
            break  # what follows hangs on it
        quote = sentence.source(words, begin, begin + len(body)) if body else ""
        parts.append(_Part(body, quote, words, sentence, begin, text[start:stop].strip(" ,"), end == len(text), remembered))
    if asks:
        parts.append(_Part("", "", words, sentence, 0, text[end:], False, False, asks=True))
    return parts


def _dashed(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for dash in filters.DASH.finditer(text):
        yield begin, dash.start()
        begin = dash.end()
    yield begin, len(text)


def _unfit(text: str) -> bool:
    return filters.is_question(text) or filters.is_hedged(text) or filters.is_unreal(text) or filters.is_reported(text) or filters.is_small_talk(text)


def _facts(part: _Part, frame: clauses.Frame | None) -> list[models.Fact]:
    if filters.is_question(part.text):
        return []
    draft = statements.labelled(part.text) or (statements.draft(frame) if frame is not None else None)
    if draft is not None and (filters.is_at_hand(part.text) or (filters.is_passing(part.text) and not statements.lasts(draft))):
        draft = None
    if draft is None:
        return [_remembered(part, frame)] if part.remembered and len(part.text.split()) > 1 else []
    draft = statements.with_opposite(draft, part.sentence.text)
    if part.remembered:
        draft = msgspec.structs.replace(draft, confidence=_REMEMBERED)
    made = statements.each(draft, values.items(draft.value) if draft.several else (draft.value,))
    facts = [_fact(part, each, draft.value) for each in made]
    if also := statements.employer_beside(draft, part.text):
        facts.append(_fact(part._replace(text=f"I'm at {also.value}"), also))
    if origin := statements.origin_beside(draft, part.text):
        facts.append(_fact(part._replace(text=f"I'm from {origin.value}"), origin))
    return facts


def _fact(part: _Part, draft: statements.Draft, listed: str = "") -> models.Fact:
    """listed: the list in the text of which the draft's value is one member."""
    text, value = part.text, draft.value
    if listed and value != listed and listed in text:
        text = text.replace(listed, value, 1)
    text = _sentence_case(text)
    return models.Fact(
        text=text,
        category=draft.category,
        confidence=draft.confidence,
        quote=part.quote,
        subject=draft.subject,
        attribute=draft.attribute,
        value=value,
        functional=draft.functional,
        polarity=draft.polarity,
        entities=values.entities(text, draft.subject, value),
        qualifiers=values.qualifiers(text.replace(value, " ") if value else text),
        replaces=draft.replaces,
    )


def _remembered(part: _Part, frame: clauses.Frame | None) -> models.Fact:
    """Whatever else somebody asks to remember."""
    who = frame.who if frame is not None else clauses.Who.NONE
    category = models.Category.PERSONAL_INFO if who in {clauses.Who.I, clauses.Who.MY} else models.Category.PROJECT_CONTEXT
    if frame is not None and (set(frame.adverbs) & {"always", "never"} or {"must", "should"} & set(frame.auxiliaries)):
        category = models.Category.CONSTRAINT
    if frame is not None and frame.verb in {"need", "have"} and frame.rest.startswith("to ") and who in {clauses.Who.I, clauses.Who.WE}:
        category = models.Category.TODO
    subject = statements.subject_of(frame) if frame is not None else "user"
    return _fact(part, statements.Draft(category, _REMEMBERED, subject=subject))


def _todo(part: _Part, what: str) -> models.Fact:
    text = what.strip()
    if part.text.startswith("[ ]"):
        part = part._replace(text=text)
    return _fact(part, statements.Draft(models.Category.TODO, 0.9, value=text))


def _sentence_case(text: str) -> str:
    first = text.split(maxsplit=1)[0]
    plain = first.lower() in {
        "i",
        "i'm",
        "i've",
        "i'll",
        "i'd",
        "my",
        "we",
        "we're",
        "we've",
        "our",
        "the",
        "this",
        "all",
        "always",
        "never",
        "in",
        "for",
    }
    return text[:1].upper() + text[1:] if plain else text


def _exchanged(facts: list[models.Fact]) -> list[models.Fact]:
    """ "We don't use MySQL anymore, we use MariaDB" said as one change, if both are for the same."""
    if len(facts) != 2 or facts[0].polarity or not facts[1].polarity or facts[1].replaces:
        return facts
    old, new = facts
    kind = tools.kind(old.value)
    if not kind or kind != tools.kind(new.value) or (old.subject, old.attribute, old.qualifiers) != (new.subject, new.attribute, new.qualifiers):
        return facts
    return [msgspec.structs.replace(new, replaces=old.value, functional=new.attribute == kind)] if new.attribute == kind else facts


def _outdated(said: models.Fact, by: models.Fact) -> bool:
    return bool(by.attribute) and (said.subject, said.attribute, said.value) == (by.subject, by.attribute, by.replaces)


def _distinct(facts: list[models.Fact]) -> list[models.Fact]:
    """One fact for each thing said, however often the turn says it."""
    seen: dict[tuple[object, ...], models.Fact] = {}
    for fact in facts:
        key = (fact.subject, fact.attribute, fact.value.casefold(), fact.polarity, fact.qualifiers) if fact.attribute else (fact.text.casefold(),)
        if key not in seen or seen[key].confidence < fact.confidence:
            seen[key] = fact
    return list(seen.values())


def _count(found: int, proved: int, kept: int) -> None:
    telemetry.FACTS.labels("extracted", "found").inc(found)
    telemetry.FACTS.labels("grounded", "proved").inc(proved)
    telemetry.FACTS.labels("grounded", "unproved").inc(found - proved)
    telemetry.FACTS.labels("kept", "kept").inc(kept)
    telemetry.FACTS.labels("kept", "repeated").inc(proved - kept)

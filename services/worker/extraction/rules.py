"""The rules extractor: deterministic, a few milliseconds a sentence, no model but spaCy's tagger and parser."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from services.core import errors, messages, models
from services.worker.extraction import clauses, closings, corrections, filters, funnel, languages, prose, statements, times, tools, values

_NAMES_PIPES = ("ner",)  # facts are told by their shape: NER takes "Redis" for a person and a card number for a date
_CONTEXT_TURNS = 6  # a correction follows what it corrects closely
_MAX_FACTS = 20  # of one turn; more is a pasted document
_REMEMBERED = 0.95
_DANGLING = re.compile(r"(?:and |but |so )?(?:(?:it|they|this|those|these|then)\b|that(?:'s|'ll| is| was| will| means| needs)\b)", re.IGNORECASE)
_TAIL = re.compile(
    r",\s+(?:so|hence|therefore|which means)\s+(?!that\b)"
    r"|,\s+(?:which |that |it |this )?(?:might|may|could) (?:matter|help|be (?:relevant|related|important|useful))$"
    r"|,?\s+(?:btw|by the way|lol|haha+|hehe|xd|fwiw|fyi|just (?:so you know|fyi)|as of (?:today|now))$"
    r"|,?\s+(?:(?:nice|pleased|good|great) to (?:meet|see) you|thanks|thank you|ok(?:ay)?$)",
    re.IGNORECASE,
)


def load_nlp(model: str, *, names: bool = False) -> Language:
    """The spaCy pipeline of a model package (or folder); `errors.SetupError` names the cure if it is missing.

    names: with the entity recognizer, for those who call it; it is not part of the pipeline's own run.
    """
    try:
        return spacy.load(model, disable=_NAMES_PIPES) if names else spacy.load(model, exclude=_NAMES_PIPES)
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
        self._parses = Parses(nlp)

    def extract(self, turn: messages.LearnTurn) -> tuple[models.Fact, ...]:
        """The grounded statements of the turn's words, in the order they were said."""
        with self._nlp.memory_zone():
            self._parses = Parses(self._nlp)
            found = self._candidates(turn)
        proved = funnel.proved("rules", found, turn)
        kept = funnel.kept("rules", proved, _distinct(proved)[:_MAX_FACTS])
        return tuple(fact if fact.closes else _timed(fact, turn.said_at) for fact in kept)

    def _candidates(self, turn: messages.LearnTurn) -> list[models.Fact]:
        found: list[models.Fact] = []
        since: list[models.Fact] | None = None  # stated since the last question of the turn
        last: list[models.Fact] | None = None  # stated by the sentence before; None at the beginning
        denied = ""
        parts = self._parts(turn.words)
        self._parse_ahead(parts)
        for part in parts:
            if part.asks:
                since, last = [], []
                continue
            if part.closing is not None:
                closed = self._closed(part, part.closing, self._at_the_end(turn.context) if last is None else last)
                found, last = [*(said for said in found if not any(_meant(said, each) for each in closed)), *closed], []
                continue
            correction, denied = self._correction(part, denied), corrections.denied(part.said)
            if correction is not None and (fact := self._corrected(correction, part.quote, turn, found, since)):
                found, last = [*(said for said in found if not _outdated(said, fact)), fact], [fact]
            else:
                stated = last = self._stated(part)
                found += stated
                since = [*since, *stated] if since is not None else None
        return found

    def _closed(self, part: "Part", closing: closings.Closing, before: list[models.Fact]) -> list[models.Fact]:
        """What is to be forgotten, as facts that say so. before: what the sentence before it states."""
        if closing.target is closings.Target.SAID_BEFORE:
            return [msgspec.structs.replace(fact, quote=part.quote, closes=True, correction=True) for fact in before if not fact.closes]
        if closing.target is closings.Target.STATEMENT:
            return self._stated(part)
        about = closings.Target.TOPIC is closing.target
        category = models.Category.PERSONAL_INFO if closing.subject == "user" else models.Category.PROJECT_CONTEXT
        value = closing.text if about else ""
        return [models.Fact(closing.text, category, _REMEMBERED, part.quote, closing.subject, closing.attribute, value, closes=True)]

    def _at_the_end(self, context: tuple[str, ...]) -> list[models.Fact]:
        """What the last sentence of the turn before states."""
        parts = self._parts(context[-1]) if context else []
        return self._stated(parts[-1]) if parts and not parts[-1].asks and parts[-1].closing is None else []

    def _correction(self, part: "Part", denied: str) -> corrections.Correction | None:
        found = corrections.read(part.starred, denied) if part.whole else None
        if found is None or found.plain or values.shape(found.value) != "word":
            return found
        noun = self._parses[part.said][-1].pos_ in {"NOUN", "PROPN"}  # "it's vim", not "it's unrelated"
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
            stated = [self._stated(part) for part in parts[last_question + 1 :] if part.closing is None]
            return _Said([fact for facts in reversed(stated) for fact in reversed(facts)], bool(stated and stated[-1]))
        return None

    def _said_before(self, context: tuple[str, ...]) -> list[models.Fact]:
        """Every statement of the conversation so far, newest first."""
        parts = [part for words in context[-_CONTEXT_TURNS:] for part in self._parts(words) if not part.asks and part.closing is None]
        return [fact for part in reversed(parts) for fact in reversed(self._stated(part))]

    def _parts(self, words: str) -> list["Part"]:
        return parts(words)

    def _stated(self, part: "Part") -> list[models.Fact]:
        if part.foreign:
            return [_remembered(part, None)]
        todo = filters.todo_lead(part.text)
        if todo:
            return [_todo(part, part.text[len(todo) :])] if len(part.text) > len(todo) + 3 else []
        doc = self._parses[part.text]
        pieces = clauses.split(doc)
        made: list[models.Fact] = []
        if part.remembered and (filters.is_conditional(part.text) or any(_DANGLING.match(part.text, piece.start) for piece in pieces[1:])):
            return [_remembered(part, clauses.frame(doc))]
        for own in part.cuts(pieces):
            if name := statements.introduced(own.text, own.said, self._ordinary):
                made.append(_fact(own, name))
            elif own.remembered or not unfit(own.text):
                made += self._facts(own)
        return made if part.closing is not None else _exchanged(made)

    def _parse_ahead(self, parts: list["Part"]) -> None:
        """All sentences of the turn together, then all their clauses: one by one the parser takes about twice as long."""
        parsed = [part for part in parts if part.text and not (part.asks or part.foreign or filters.todo_lead(part.text))]
        self._parses.ahead(part.text for part in parsed)
        cut = [own for part in parsed for own in part.cuts(clauses.split(self._parses[part.text]))]
        self._parses.ahead(filters.STANDING_LEAD.sub("", own.text) for own in cut if own.remembered or not unfit(own.text))

    def _facts(self, part: "Part") -> list[models.Fact]:
        order = filters.STANDING_LEAD.sub("", part.text)
        frame = clauses.frame(self._parses[order])
        if frame is not None and order != part.text:
            frame = msgspec.structs.replace(frame, before=part.text[: len(part.text) - len(order)])
        return _facts(part, frame)


class Parses:
    """What the parser makes of the texts of one turn."""

    def __init__(self, nlp: Language) -> None:
        self._nlp = nlp
        self._docs: dict[str, Doc] = {}

    def __getitem__(self, text: str) -> Doc:
        self.ahead((text,))
        return self._docs[text]

    def ahead(self, texts: Iterable[str]) -> None:
        missing = [text for text in dict.fromkeys(texts) if text not in self._docs]
        if missing:
            self._docs |= zip(missing, self._nlp.pipe(missing) if len(missing) > 1 else map(self._nlp, missing), strict=True)


class _Said(NamedTuple):
    """Statements of one turn, newest first; closing: it ends with one, not with an order."""

    facts: list[models.Fact]
    closing: bool


class Part(NamedTuple):
    """A piece of a sentence that may state something. text: what is parsed; quote: the verbatim words behind it.

    said: the same with its lead, for corrections; whole: no question follows; asks: it is a question and states nothing.
    closing: it asks to forget what it states. ruled: it is called a rule.
    foreign: it is not in English, and not to be parsed. restates: it announces that it corrects what was said before.
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
    closing: closings.Closing | None = None
    ruled: bool = False
    foreign: bool = False
    restates: bool = False

    @property
    def starred(self) -> str:
        """What was said, with the one asterisk of "*Leoncio" that marks a correction among people who chat."""
        raw = self.sentence.source(self.words, 0, len(self.sentence.text))
        at = self.words.find(raw)
        before, after = self.words[:at].rsplit("\n", 1)[-1], self.words[at + len(raw) :].split("\n", 1)[0]
        if (before, after) == ("*", "") or (before, after) == ("", "*"):
            return f"{before}{self.said}{after}"
        return self.said

    def cuts(self, pieces: list[clauses.Clause]) -> Iterator["Part"]:
        """The parts that are its clauses. What has a subject of its own is not what is to be forgotten, but said besides."""
        besides = self._replace(closing=None, remembered=self.remembered and self.closing is None)
        made_up = not self.remembered and filters.makes_up(self.text)
        for piece in pieces:
            if made_up and (piece.borrowed or piece is pieces[0]):
                continue  # whose subject occurs in what is to be made
            own = (self if piece is pieces[0] or piece.borrowed else besides).cut(piece)
            if own is not None:
                yield own

    def cut(self, clause: clauses.Clause) -> "Part | None":
        """The part that is a clause of this one."""
        said = self.text[clause.start : clause.end]
        text, remembered, _ = filters.strip_lead(said)
        start = clause.start + said.rindex(text) if text else clause.start
        text = text.rstrip(" ,;:-–—")
        if len(text.split()) < 2:
            return None
        begin = clause.borrowed_from if clause.borrowed else start
        text = _TAIL.split(text)[0]
        quote = self.quote if self.closing else self.sentence.source(self.words, self.start + max(0, begin), self.start + start + len(text))
        text = " ".join(filters.without_asides(f"{clause.borrowed} {text}" if clause.borrowed else text).split()).strip(" ,")
        return self._replace(text=text, quote=quote, start=self.start + start, remembered=self.remembered or remembered)


def parts(words: str) -> list["Part"]:
    """The pieces of somebody's words that may state something, in order, with the questions between them."""
    return [part for sentence in _assertable(prose.sentences(words)) for part in _parts_of(sentence, words)]


def _assertable(sentences: list[prose.Sentence]) -> Iterator[prose.Sentence]:
    """Without quotations and what is only supposed: a paragraph that begins to suppose goes on supposing."""
    supposed = -1
    for sentence in sentences:
        if filters.opens_hypothetical(sentence.text):
            supposed = sentence.paragraph
        if sentence.paragraph != supposed and (not sentence.quoted or filters.strip_lead(sentence.text)[1]):
            yield sentence


def _parts_of(sentence: prose.Sentence, words: str) -> list[Part]:
    """What of a sentence may state something: without its question, and without an order that follows."""
    text = sentence.text
    if closing := closings.read(text):
        return _closing(closing, sentence, words)
    if own := languages.remembered(text):
        start = len(text) - len(own)
        return [Part(own, sentence.source(words, start, len(text)), words, sentence, start, own, True, True, foreign=True)]
    asked = sentence.mark == "?" and not filters.strip_lead(text)[1]  # "can you remember that ...?" tells
    end = filters.question_at(text) if asked else len(text)
    asks = (asked or filters.is_question(filters.strip_lead(text)[0])) and not filters.is_polite_order(text[end if end < len(text) else 0 :])
    restates = filters.strip_lead(text)[2]
    parts: list[Part] = []
    for start, stop in _dashed(text[:end]):
        body, remembered, _ = filters.strip_lead(text[start:stop])
        remembered = remembered or restates
        begin = start + text[start:stop].rindex(body) if body else start
        body = body[: filters.request_at(body)].rstrip(" ,;:-–—")
        ruled = not _DANGLING.match(body) and len(body) > filters.ruled_at(body)
        body, remembered = body[: filters.ruled_at(body)] if ruled else body, remembered or ruled
        if len(body.split()) < 2 and asked:
            continue
        if filters.is_conditional(filters.without_asides(body)) and not remembered:
            break  # what follows hangs on it
        quote = sentence.source(words, begin, begin + len(body)) if body else ""
        parts.append(
            Part(body, quote, words, sentence, begin, text[start:stop].strip(" ,"), end == len(text), remembered, ruled=ruled, restates=restates)
        )
    if asks:
        parts.append(Part("", "", words, sentence, 0, text[end:], False, False, asks=True))
    return parts


def _closing(closing: closings.Closing, sentence: prose.Sentence, words: str) -> list[Part]:
    """What is to be forgotten, and what the sentence says besides ("..., we use MySQL now")."""
    text, begin = sentence.text, closing.end - len(closing.text)
    made = [Part(closing.text, sentence.source(words, 0, closing.end), words, sentence, begin, "", False, True, closing=closing)]
    rest, remembered, _ = filters.strip_lead(text[closing.end :].lstrip(" ,;:-–—"))
    if len(rest.split()) > 1:
        start = text.rindex(rest)
        made.append(Part(rest, sentence.source(words, start, len(text)), words, sentence, start, rest, True, remembered))
    return made


def _dashed(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for dash in filters.DASH.finditer(text):
        yield begin, dash.start()
        begin = dash.end()
    yield begin, len(text)


def unfit(text: str) -> bool:
    """Whether it states nothing that is certain: a question, a guess, a supposition, what others say, small talk."""
    return filters.is_question(text) or filters.is_hedged(text) or filters.is_unreal(text) or filters.is_reported(text) or filters.is_small_talk(text)


def _facts(part: Part, frame: clauses.Frame | None) -> list[models.Fact]:
    if filters.is_question(part.text) and not part.remembered:
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


def _fact(part: Part, draft: statements.Draft, listed: str = "") -> models.Fact:
    """listed: the list in the text of which the draft's value is one member."""
    text, value = part.text, draft.value
    if listed and value != listed and listed in text:
        lead = "" if listed.startswith(value) else r"(?:(?:an?|the) )?"
        text = re.sub(rf"(?:\b(?:both|either) )?(?:{lead})\b{re.escape(listed)}|{re.escape(listed)}", lambda _: value, text, count=1)
    text = sentence_case(text)
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
        correction=part.restates,
        closes=part.closing is not None,
    )


def _remembered(part: Part, frame: clauses.Frame | None) -> models.Fact:
    """Whatever else somebody asks to remember."""
    who = frame.who if frame is not None else clauses.Who.NONE
    category = models.Category.PERSONAL_INFO if who in {clauses.Who.I, clauses.Who.MY} else models.Category.PROJECT_CONTEXT
    if frame is not None and (set(frame.adverbs) & {"always", "never"} or {"must", "should"} & set(frame.auxiliaries)):
        category = models.Category.CONSTRAINT
    if part.ruled:
        category = models.Category.CONSTRAINT
    if frame is not None and frame.verb in {"need", "have"} and frame.rest.startswith("to ") and who in {clauses.Who.I, clauses.Who.WE}:
        category = models.Category.TODO
    subject = statements.subject_of(frame) if frame is not None else "user"
    return _fact(part, statements.Draft(category, _REMEMBERED, subject=subject))


def _todo(part: Part, what: str) -> models.Fact:
    text = what.strip()
    if part.text.startswith("[ ]"):
        part = part._replace(text=text)
    return _fact(part, statements.Draft(models.Category.TODO, 0.9, value=text))


def sentence_case(text: str) -> str:
    """As a sentence begins, unless it begins with a name or an identifier."""
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


def _meant(said: models.Fact, closed: models.Fact) -> bool:
    """Whether what was just said is what is to be forgotten."""
    if closed.attribute:
        return (said.subject, said.attribute) == (closed.subject, closed.attribute) and closed.value.casefold() in {"", said.value.casefold()}
    about = closed.value if not closed.subject else closed.text
    return about.casefold() in said.text.casefold()


def _timed(fact: models.Fact, said_at: float) -> models.Fact:
    when, valid_from, valid_to = times.stated(fact.text, said_at)
    return msgspec.structs.replace(fact, when=when, valid_from=valid_from, valid_to=valid_to) if when else fact


def _distinct(facts: list[models.Fact]) -> list[models.Fact]:
    """One fact for each thing said, however often the turn says it."""
    seen: dict[tuple[object, ...], models.Fact] = {}
    for fact in facts:
        said = (fact.subject, fact.attribute, fact.value.casefold(), fact.polarity, fact.qualifiers) if fact.attribute else (fact.text.casefold(),)
        key = (fact.closes, *said)
        if key not in seen or seen[key].confidence < fact.confidence:
            seen[key] = fact
    return list(seen.values())

"""The extractor that asks a language model. The model points at what is worth keeping; the words are the person's, or there is no fact.

It is shown the same pieces of the words as the rules read: no questions, quotations, pasted text or suppositions. It is not shown earlier turns or
the assistant's answer, for what it took from there could not be proved. See docs/adr/0011.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from spacy.language import Language

from services.core import errors, messages, models
from services.worker.extraction import clauses, filters, funnel, grounding, own_words, prompts, repeats, rules, statements, times, values
from services.worker.extraction.statements import drafts

_TEMPERATURES = (0.0, 0.4, 0.8)  # an answer that is none comes again word for word at 0
_MOST_STATEMENTS = 8  # of one request; small models lose count of more
_MOST_BYTES = 1_200  # of one request: at a token a byte, the worst case, it fits into the context beside the prompt and the answer
_MOST_REQUESTS = 6  # of one turn; what is longer is a document, of which the rules still read more
_TOKENS_A_FACT, _TOKENS_BESIDE = 110, 40
_REQUEST_SECONDS = 90.0
_TURN_SECONDS = 200.0  # under the time limit of a task
_CONFIDENCE, _REMEMBERED = 0.7, 0.9
_MOST_WORDS_OF_A_TIME = 5
_ARTICLES = own_words.vocabulary("the a an this that these those my our der die das ein eine le la les un une el los las o os as il lo de het en ett")
_SPEAKER = {
    "user": own_words.vocabulary("i i'm i've i'd i'll my ich mein meine je j'ai mon ma mes yo mi mis eu meu minha io mio mia jag min ik mijn"),
    "team": own_words.vocabulary(
        "we we're we've we'd we'll our wir unser unsere nous notre nos nosotros nuestro nuestra nós nosso nossa noi nostro nostra"
    ),
}


class Reply(Protocol):
    """What the model wrote, and whether it came to an end of its own."""

    @property
    def text(self) -> str: ...

    @property
    def complete(self) -> bool: ...


class Model(Protocol):
    """Writes JSON of a schema. Raises `errors.Transient` or `errors.SetupError`."""

    def ask(self, talk: prompts.Talk, schema: Mapping[str, object], *, most_tokens: int, temperature: float, timeout_seconds: float) -> Reply: ...


class LlmExtractor:
    """Implements `ports.Extractor`. Not to be shared between threads, as the rules are not.

    Raises `errors.Unavailable` while the model is away, `errors.Transient` when it fails or gives no valid answer in a few attempts: an empty result
    always means that the model found nothing, or that nothing it found was proved.
    """

    def __init__(self, model: Model, nlp: Language, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._model = model
        self._nlp = nlp
        self._clock = clock

    def extract(self, turn: messages.LearnTurn) -> tuple[models.Fact, ...]:
        """The proved facts of the turn's words, each once."""
        return self.beside(turn, ())

    def beside(self, turn: messages.LearnTurn, known: Sequence[models.Fact]) -> tuple[models.Fact, ...]:
        """The proved facts of the turn's words that say something else than those that are known of it already."""
        deadline = self._clock() + _TURN_SECONDS
        found: list[models.Fact] = []
        with self._nlp.memory_zone():
            for batch in batches(self._statements(turn.words)):
                found += self._read(batch, turn, deadline)
        return funnel.kept("llm", found, repeats.others(found, known))

    def _read(self, batch: Sequence[rules.Part], turn: messages.LearnTurn, deadline: float) -> list[models.Fact]:
        proposals = self._proposals([part.text for part in batch], deadline)
        made = [self._fact(batch[each.n - 1], each, turn.said_at) for each in proposals]
        for each in made:
            if not isinstance(each, models.Fact):
                funnel.refused(each.flaw, "llm")
        return funnel.proved("llm", [each for each in made if isinstance(each, models.Fact)], turn)

    def _proposals(self, texts: Sequence[str], deadline: float) -> tuple[prompts.Proposal, ...]:
        talk, schema = prompts.talk(texts), prompts.schema(len(texts))
        most_tokens = _TOKENS_BESIDE + _TOKENS_A_FACT * prompts.most_facts(len(texts))
        reason: Literal["cut", "schema"] = "schema"
        for temperature in _TEMPERATURES:
            left = deadline - self._clock()
            if left <= 0:
                raise errors.Transient("the extraction model took too long for one turn")
            reply = self._model.ask(talk, schema, most_tokens=most_tokens, temperature=temperature, timeout_seconds=min(left, _REQUEST_SECONDS))
            read = prompts.read(reply.text, len(texts)) if reply.complete else None
            if read is not None:
                return read
            reason = "schema" if reply.complete else "cut"
            funnel.invalid(reason)
        why = {"cut": "does not come to an end", "schema": "is not what was asked for"}[reason]
        raise errors.Transient(
            f"the answer of the extraction model {why}, {len(_TEMPERATURES)} times: another model may do better (BRB_EXTRACT_MODEL)"
        )

    def _statements(self, words: str) -> Iterator[rules.Part]:
        """The clauses that may state a fact: what the filters leave out need not be read."""
        for part in rules.parts(words):
            if part.asks or part.closing is not None or filters.strip_lead(part.said)[2]:
                continue  # a correction means something only with what it corrects, which the rules know
            found = [] if part.remembered else clauses.split(self._nlp(part.text))
            for piece in [part] if len(found) < 2 else part.cuts(found):
                if piece.remembered or not _unfit(piece.text):
                    yield piece

    def _fact(self, part: rules.Part, proposal: prompts.Proposal, said_at: float) -> "models.Fact | _Refused":
        text = own_words.cut(proposal.text, part.text)
        if text is None:
            return _Refused(grounding.Flaw.WORDS)
        text = filters.strip_lead(text)[0]
        frame = clauses.frame(self._nlp(text)) if text else None
        draft = statements.draft(frame) if frame is not None else None
        if len(own_words.tokens(text)) < 2 or not (part.remembered or _durable(text, frame, draft, said_at)):
            return _Refused(None)
        return _made(text, part, proposal, draft, said_at)


class _Refused(NamedTuple):
    """No fact, for a flaw or because it is not worth keeping."""

    flaw: grounding.Flaw | None


def batches(parts: Iterable[rules.Part]) -> Iterator[Sequence[rules.Part]]:
    """The pieces of a turn by requests, as many as are made for one turn. A piece that repeats another is asked for once."""
    distinct = list({part.text.casefold(): part for part in parts}.values())
    batch: list[rules.Part] = []
    made = size = 0
    for part in distinct:
        length = len(part.text.encode(errors="replace"))
        if batch and (len(batch) == _MOST_STATEMENTS or size + length > _MOST_BYTES):
            yield batch
            batch, size, made = [], 0, made + 1
            if made == _MOST_REQUESTS:
                return
        batch.append(part)
        size += length
    if batch:
        yield batch


def _unfit(text: str) -> bool:
    return bool(filters.todo_lead(text)) or rules.unfit(text) or filters.is_conditional(text)


def _durable(text: str, frame: clauses.Frame | None, draft: drafts.Draft | None, said_at: float) -> bool:
    """Whether the filters would keep it. What the rules take for a statement (draft) is one; of anything else orders, what goes on or went on at a
    time that is not said, how a thing is just now, and what is said of somebody named elsewhere are left out: the model calls them facts, too."""
    if _unfit(text) or filters.is_at_hand(text):
        return False
    if draft is not None:
        return not filters.is_passing(text) or statements.lasts(draft)
    if filters.is_passing(text):
        return False
    if frame is None:
        return True
    order = frame.who is clauses.Who.NONE and frame.form in {"VB", "VBP"}
    event = frame.progressive or (frame.past and not times.stated(text, said_at).when)
    state = frame.who in {clauses.Who.THING, clauses.Who.OUR} and (frame.copula or frame.passive) and not values.concrete(frame.rest)
    return not (order or event or state or frame.who is clauses.Who.OTHER)


def _made(text: str, part: rules.Part, proposal: prompts.Proposal, draft: drafts.Draft | None, said_at: float) -> models.Fact:
    """The fact. Where the rules can take its words apart, they say what kind it is and of what, so that both engines speak alike."""
    if draft is None or (draft.several and len(values.items(draft.value)) > 1):
        draft = _draft(text, proposal)
    when, valid_from, valid_to = times.stated(text, said_at)
    return models.Fact(
        text=rules.sentence_case(text),
        category=draft.category,
        confidence=_REMEMBERED if part.remembered else _CONFIDENCE,
        quote=part.quote,
        subject=draft.subject,
        attribute=draft.attribute,
        value=draft.value,
        functional=draft.functional,
        polarity=draft.polarity and not own_words.is_negative(text),
        entities=values.entities(text, draft.subject, draft.value),
        qualifiers=values.qualifiers(text.replace(draft.value, " ") if draft.value else text),
        when=when or _when(text, proposal),
        valid_from=valid_from,
        valid_to=valid_to,
    )


def _draft(text: str, proposal: prompts.Proposal) -> drafts.Draft:
    """As the model takes it apart, as far as that is in words of the text. A denial is of its value only where that stands under the negation."""
    value, attribute = _field(proposal.value, text), _field(proposal.attribute, text)
    if not value or (own_words.is_negative(text) and not own_words.is_denied(value, text)) or _overlap(value, attribute):
        attribute, value = "", ""
    return drafts.Draft(proposal.category, _CONFIDENCE, _subject(text, proposal), values.noun_phrase(attribute), value)


def _subject(text: str, proposal: prompts.Proposal) -> str:
    first = next(iter(own_words.words(text)), "")
    for subject, pronouns in _SPEAKER.items():
        if first in pronouns:
            return subject
    named = _field(proposal.subject, text)
    return (named if named[:1].isupper() else values.noun_phrase(named)) or "user"


def _when(text: str, proposal: prompts.Proposal) -> str:
    when = _field(proposal.when, text)
    apart = not (_overlap(when, proposal.value) or _overlap(when, proposal.subject))
    return when if apart and len(own_words.words(when)) <= _MOST_WORDS_OF_A_TIME else ""


def _field(words: str, text: str) -> str:
    """The words as they stand in the text; "" if they do not, if they are all of it, or nothing but an article."""
    found = own_words.run(words, text)
    return "" if own_words.words(found) == own_words.words(text) or found.casefold() in _ARTICLES else found


def _overlap(one: str, other: str) -> bool:
    return not set(own_words.words(one)).isdisjoint(own_words.words(other))

"""Sentences to clauses that each say one thing, and clauses to frames: who, what verb, how, and the rest. The only module that reads parses."""

from enum import StrEnum
from itertools import pairwise

import msgspec
from spacy.tokens import Doc, Token

from services.worker.extraction import vocabulary


class Who(StrEnum):
    """What the subject of a clause is."""

    I = "i"  # noqa: E741 - the word itself
    WE = "we"
    MY = "my"
    OUR = "our"
    THING = "thing"  # "the api", "staging", a name
    OTHER = "other"  # he, she, they, you, it, there: whose meaning lies elsewhere
    NONE = "none"  # no subject: an order, a heading, a note to oneself


class Clause(msgspec.Struct, frozen=True):
    """`text[start:end]` of a sentence, with a subject and auxiliaries borrowed from the clause before it ("I ... and *work at Acme*")."""

    start: int
    end: int
    borrowed: str = ""
    borrowed_from: int = -1


class Frame(msgspec.Struct, frozen=True):
    """A clause taken apart. `before` precedes the subject ("In production"), `rest` follows the verb; verb is a lemma, form its Penn tag."""

    text: str
    who: Who
    subject: str
    verb: str
    form: str
    rest: str
    before: str = ""
    auxiliaries: tuple[str, ...] = ()
    adverbs: tuple[str, ...] = ()
    negated: bool = False
    named: bool = False  # the subject is a proper name
    said: str = ""  # the verb as it stands
    predicate: str = ""  # what follows "be": "left-handed" is one whether the tagger takes it for a verb or not
    tags: tuple[str, ...] = ()  # of the tokens of `rest`

    @property
    def copula(self) -> bool:
        return self.verb == "be"

    @property
    def past(self) -> bool:
        return self.form == "VBD"

    @property
    def perfect(self) -> bool:
        return "have" in self.auxiliaries

    @property
    def progressive(self) -> bool:
        return "be" in self.auxiliaries and self.form == "VBG"

    @property
    def passive(self) -> bool:
        return "be" in self.auxiliaries and self.form == "VBN"


_NOMINATIVE = frozenset({"i", "we", "he", "she", "they", "it", "you", "there"})
_OPENS = frozenset({"my", "our", "the", "this", "these", "your", "his", "her", "their", "its", "a", "an", "all", "every", "each", "no"})
_COORDINATORS = frozenset({"and", "but", "so", "or", "yet", "plus"})
_BOUNDARIES = _COORDINATORS | {"because", "since", "though", "although", "while", "whereas"}
_AUX = {
    "am": "be", "'m": "be", "is": "be", "'s": "be", "are": "be", "'re": "be", "was": "be", "were": "be", "be": "be", "been": "be", "being": "be",
    "have": "have", "'ve": "have", "has": "have", "had": "have", "'d": "would", "do": "do", "does": "do", "did": "do", "will": "will", "'ll": "will",
    "wo": "will", "would": "would", "can": "can", "ca": "can", "could": "could", "should": "should", "must": "must", "might": "might", "may": "may",
    "shall": "shall", "cannot": "can", "ai": "be", "m": "be", "re": "be", "ve": "have", "ll": "will", "wont": "will", "cant": "can",
}  # fmt: skip
_FINITE = frozenset({"VBZ", "VBP", "VBD", "MD"})
_VERB_TAGS = _FINITE | {"VB", "VBG", "VBN"}
_NEGATION = frozenset({"not", "n't", "never", "nt", "no longer", "hardly"})
_ADVERBS = vocabulary.HABIT_ADVERBS | vocabulary.ADVERBS
_AFTER_BE = frozenset(
    {"now", "also", "still", "currently", "actually", "really", "already", "just", "basically", "officially", "originally", "always"}
)
_ORDERS = frozenset({"answer", "respond", "reply", "keep", "write", "explain", "address", "speak", "talk", "format", "name", "call"})
_SUBJECTLESS = vocabulary.DECIDES | vocabulary.CHANGES | {"promise", "drop", "confirm", "replace"}
_THIRD_PERSON = frozenset({"uses", "runs", "owns", "handles", "prefers", "likes", "hates", "loves", "lives", "works", "maintains", "leads", "needs"})
_SAME_PARTICIPLES = frozenset({"set", "put", "cut", "run", "split", "come", "become", "read", "hit", "let", "shut", "quit", "cost", "overcome"})
_STANDS_ALONE = frozenset({"live", "work", "prefer", "hate", "love", "like", "enjoy", "use", "need", "want", "have", "am", "do", "can"})
_KNOWN_VERBS = (
    vocabulary.LIKES
    | vocabulary.USES
    | frozenset(vocabulary.HOLDS)
    | vocabulary.GROUP_HOLDS
    | vocabulary.THING_HOLDS
    | vocabulary.DECIDES
    | {"prefer"}
)
_IMPLICIT_VERBS = frozenset(
    {"use", "run", "live", "prefer", "own", "maintain", "need", "require", "support", "depend", "expire", "listen", "host", "hate"}
)


def split(doc: Doc) -> list[Clause]:
    """The clauses of a parsed sentence, in order. Subordinate clauses stay with their main clause unless they stand alone."""
    cuts = [0, *(_cut for _cut in range(1, len(doc)) if _begins_clause(doc, _cut)), len(doc)]
    made: list[Clause] = []
    for begin, stop in pairwise(cuts):
        end = _without_coordinator(doc, begin, stop)
        if end <= begin:
            continue
        borrowed = _borrowed(doc, begin) if begin and not _has_own_subject(doc, begin) else None
        first = doc[begin].idx
        made.append(Clause(first, doc[end - 1].idx + len(doc[end - 1]), *(borrowed or ("", -1))))
    return made


def _begins_clause(doc: Doc, at: int) -> bool:
    before = doc[at - 1]
    if before.lower_ not in _BOUNDARIES and before.text not in {",", "&", ":"}:
        return False
    if before.lower_ in {"because", "since", "while", "though", "although", "whereas"} or before.text == ":":
        return False
    if not _finite_before(doc, at):
        return False
    if _has_own_subject(doc, at):
        return before.text != "," or not _is_subordinate(doc, at)
    return (before.text != "," and _coordinated_verb(doc, at) is not None) or (before.text == "," and _apposed_role(doc, at))


def _has_own_subject(doc: Doc, at: int) -> bool:
    token = doc[at]
    if token.lower_ == "that" and doc[at - 1].lower_ == "and" and at + 2 < len(doc):
        return _has_own_subject(doc, at + 1)
    if token.lower_ in _NOMINATIVE and token.lower_ not in {"you", "it"}:
        return at + 1 < len(doc)
    for subject in doc[at:]:
        if subject.dep_ in {"nsubj", "nsubjpass", "expl"} and subject.left_edge.i == at:
            return subject.head.i > subject.i
    if token.lower_ in _OPENS:
        return any(t.lower_ in {"is", "are"} or (t.tag_ in _FINITE and t.i > at + 1) for t in doc[at + 1 : at + 5])
    if token.pos_ not in {"NOUN", "PROPN"} or at + 2 >= len(doc):
        return False
    return (doc[at + 1].lower_ in _AUX and doc[at + 1].lower_ != "'s") or doc[at + 1].tag_ == "VBZ" or doc[at + 1].lower_ in _THIRD_PERSON


def _coordinated_verb(doc: Doc, at: int) -> Token | None:
    """The finite verb that begins at `at` and shares the subject of the clause before."""
    index = at
    while index < len(doc) - 1 and (
        doc[index].tag_ == "RB" or doc[index].lower_ in _ADVERBS or doc[index].lower_ in {"do", "does", "'m", "am", "have"}
    ):
        index += 1
    token = doc[index]
    if index == at and _continues_infinitive(doc, at):
        return None
    head = token.head
    first_of_row = head
    while first_of_row.dep_ == "conj" and first_of_row.head.i < first_of_row.i:
        first_of_row = first_of_row.head
    infinitive = any(t.tag_ in {"TO", "MD"} for t in first_of_row.children) or first_of_row.tag_ == "VBG"
    verbal = token.tag_ in _FINITE | {"VB", "VBN"} or (
        token.lemma_.lower() in _KNOWN_VERBS and index + 1 < len(doc) and token.tag_ in {"NN", "NNS", "VBP"}
    )
    if token.dep_ == "conj" and head.i < at and head.pos_ in {"VERB", "AUX"} and verbal and not infinitive:
        return token
    # A mis-tagged pair ("I live in Berlin and work at Acme"): the verb is known and takes what follows.
    first = doc[0].lower_ in {"i", "we"}
    if first and token.lemma_.lower() in _KNOWN_VERBS and token.tag_ in {"VBP", "VB", "NN"} and index + 1 < len(doc) and not infinitive:
        follows = doc[index + 1]
        return token if follows.pos_ in {"ADP", "DET", "PROPN", "PRON"} or token.tag_ in {"VBP"} else None
    return None


def _continues_infinitive(doc: Doc, at: int) -> bool:
    """The last of a row of infinitives ("I like to dance, listen to music and *read books*"), which the parser often takes for a main verb."""
    token = doc[at]
    if token.lower_ in _STANDS_ALONE or (token.tag_ not in {"VB", "VBP", "NN"} and token.lemma_ != token.lower_):
        return False
    verbs = [t for t in doc[:at] if t.pos_ == "VERB" or (t.i and doc[t.i - 1].lower_ == "to" and t.tag_ == "VB")]
    begun = max((t.i for t in doc[:at] if t.lower_ in _NOMINATIVE), default=-1)
    return len(verbs) > 1 and verbs[-2].i > begun and (verbs[-1].tag_ in {"VB", "VBP"} or verbs[-1].lemma_ == verbs[-1].lower_)


def _apposed_role(doc: Doc, at: int) -> bool:
    """Such as "I'm Ana, *a backend engineer*"."""
    return doc[0].lower_ == "i" and doc[1].lower_ in {"'m", "am"} and at in {3, 4, 5} and doc[at].lower_ in {"a", "an", "the"}


def _finite_before(doc: Doc, at: int) -> bool:
    ordered = doc[0].tag_ == "VB" and doc[at].lower_ in {"i", "we", "our", "my"} and not any(t.tag_ in {"TO", "IN"} for t in doc[at - 1 : at])
    named = doc[at].lower_ in {"i", "we", "our", "my"} and all(t.pos_ in {"PROPN", "CCONJ", "PUNCT"} for t in doc[:at])  # "Snowflake, and our ..."
    return ordered or named or any(t.tag_ in _FINITE or t.lower_ in _AUX or t.lemma_.lower() in _IMPLICIT_VERBS for t in doc[:at])


def _is_subordinate(doc: Doc, at: int) -> bool:
    """The part before the comma hangs on what follows ("When I deploy, I ...")."""
    return doc[0].lower_ in {
        "when",
        "whenever",
        "before",
        "after",
        "if",
        "once",
        "unless",
        "until",
        "while",
        "for",
        "in",
        "on",
        "at",
        "as",
    } and not any(t.lower_ in _NOMINATIVE and t.i > 1 for t in doc[2:at])


def _without_coordinator(doc: Doc, begin: int, stop: int) -> int:
    end = stop
    while end > begin and (doc[end - 1].lower_ in _COORDINATORS or doc[end - 1].text in {",", "&", ":", "-"} or doc[end - 1].is_space):
        if end == len(doc) and doc[end - 1].lower_ in _COORDINATORS and stop == len(doc) and doc[end - 1].i != len(doc) - 1:
            break
        end -= 1
    return end


def _borrowed(doc: Doc, begin: int) -> tuple[str, int] | None:
    if doc[begin - 1].text == ",":  # apposition
        return f"{doc[0].text}{doc[1].whitespace_ and ' '}{doc[1].text}" if doc[0].whitespace_ else f"{doc[0].text}{doc[1].text}", doc[0].idx
    subject_end = None
    for token in doc[:begin]:
        if token.dep_ in {"nsubj", "nsubjpass"} and token.i < begin:
            subject_end = token
    if doc[0].lower_ in {"i", "we"} and not any(t.lower_ in _NOMINATIVE for t in doc[1:begin]):
        return doc[0].text, doc[0].idx
    if subject_end is None or subject_end.left_edge.i > subject_end.i:
        return None
    span = doc[subject_end.left_edge.i : subject_end.i + 1]
    return span.text, span.start_char


def frame(doc: Doc) -> Frame | None:
    """Take a clause apart; None if it has no verb."""
    tokens = [t for t in doc if not t.is_space]
    if not tokens:
        return None
    begin, end = _subject(tokens)
    scanned = _scan(tokens, end)
    if scanned is None:
        return None
    verb_at, auxiliaries, adverbs, negated = scanned
    verb = tokens[verb_at]
    tail = tokens[verb_at + 1 :]
    while _lemma(verb) == "be" and len(tail) > 1 and tail[0].lower_ in _AFTER_BE | _NEGATION:
        adverbs, tail = (*adverbs, tail[0].lower_), tail[1:]
    rest = doc.text[tail[0].idx :] if tail else ""
    return Frame(
        text=doc.text,
        who=_who(tokens[begin:end]),
        subject=doc.text[tokens[begin].idx : tokens[end - 1].idx + len(tokens[end - 1])] if end > begin else "",
        verb=_lemma(verb),
        said=verb.text,
        named=end > begin and all(t.tag_ in {"NNP", "NNPS"} or t.text.startswith("<") for t in tokens[begin:end]),
        form=_form(verb, auxiliaries),
        rest=rest,
        predicate=rest if _lemma(verb) == "be" else doc.text[verb.idx :],
        before=doc.text[: tokens[begin].idx].strip(" ,") if begin else "",
        auxiliaries=auxiliaries,
        adverbs=adverbs,
        negated=negated,
        tags=tuple(t.tag_ for t in tail),
    )


def _subject(tokens: list[Token]) -> tuple[int, int]:
    """[begin, end) of the subject; empty if the clause begins with its verb."""
    for index in range(min(len(tokens), 14)):
        if tokens[index].lower_ in {"i", "we"} and index + 1 < len(tokens) and _may_precede(tokens[:index]):
            return index, index + 1
    if tokens[0].lower_ in {"always", "never"} and len(tokens) > 1 and tokens[1].tag_ in {"VB", "VBP"}:
        return 0, 0
    if tokens[0].lower_ in _NOMINATIVE | {"that", "this", "these", "those"} and len(tokens) > 1 and _verbal(tokens, 1):
        return 0, 1
    begin = _fronted(tokens)
    first = begin + (2 if tokens[begin].lower_ in _OPENS else 1)
    for index in range(first, min(len(tokens), begin + 12)):
        if _verbal(tokens, index) and not _inside_relative(tokens, begin, index):
            return (begin, index) if _nominal(tokens, begin, index) else (begin, begin)
    return begin, begin


def _nominal(tokens: list[Token], begin: int, index: int) -> bool:
    """A noun phrase, also when the tagger took its first word for a verb ("Release deadline is ...")."""
    if not _verbal_start(tokens[begin]):
        return True
    between = tokens[begin + 1 : index]
    return tokens[index].lower_ in _AUX and bool(between) and all(t.pos_ in {"NOUN", "PROPN", "ADJ", "NUM"} for t in between)


def _may_precede(before: list[Token]) -> bool:
    """Only an adverbial stands before the subject: no other finite verb, unless it is a when-clause."""
    if not before or before[0].lower_ in {"when", "whenever", "before", "after", "while", "once"}:
        return True
    if before[-1].text == "," and before[0].tag_ == "VBN":
        return True
    return not any(t.tag_ in _FINITE | {"VB"} and t.lower_ not in {"like"} for t in before) and before[0].pos_ in {
        "ADP",
        "ADJ",
        "ADV",
        "SCONJ",
        "DET",
        "NOUN",
        "PROPN",
    }


def _fronted(tokens: list[Token]) -> int:
    """Where the subject begins after "In production, "."""
    if tokens[0].pos_ != "ADP" and tokens[0].lower_ not in {"currently", "today", "now", "for"}:
        return 0
    orders = [i for i, t in enumerate(tokens[:8]) if t.lower_ in {"always", "never"}]
    if orders:
        return orders[0]
    commas = [i for i, t in enumerate(tokens[:8]) if t.text == ","]
    return commas[0] + 1 if commas and commas[0] + 1 < len(tokens) else 0


def _verbal_start(token: Token) -> bool:
    if token.i == 0 and token.tag_ in {"VBD", "VBN"} and token.lemma_.lower() in _SUBJECTLESS:
        return True
    return token.tag_ in {"VB", "VBP", "VBD", "VBZ", "VBN", "VBG", "MD"} and token.dep_ not in {
        "nsubj",
        "amod",
        "compound",
        "poss",
        "det",
        "nsubjpass",
        "csubj",
    }


def _verbal(tokens: list[Token], index: int) -> bool:
    token = tokens[index]
    if token.lower_ == "'s":
        if index and tokens[index - 1].lower_ == "name":
            return True
        return token.tag_ != "POS" and token.pos_ in {"AUX", "VERB"}
    if token.lower_ in _AUX:
        return token.text != "May" and (token.lower_ not in {"may", "will", "can", "being", "been", "be", "m", "re", "ll"} or token.tag_ == "MD")
    if token.tag_ in _FINITE:
        return token.dep_ not in {"compound", "amod", "poss"}
    follows = index + 1 < len(tokens)
    if token.tag_ == "VB" and token.dep_ == "ROOT" and index > 1 and tokens[index - 1].pos_ in {"NOUN", "PROPN"}:
        return True
    if (
        follows
        and token.lower_ in _THIRD_PERSON
        and token.tag_ == "NNS"
        and tokens[index - 1].tag_ in {"NNP", "NN"}
        and tokens[index + 1].lower_ not in _AUX
    ):
        return True
    return follows and token.tag_ == "NNS" and token.lemma_.lower() in _IMPLICIT_VERBS | vocabulary.THING_HOLDS and token.dep_ == "ROOT"


def _inside_relative(tokens: list[Token], begin: int, index: int) -> bool:
    relative = [t for t in tokens[begin:index] if t.lower_ in {"that", "which", "who", "where"} and t.i > tokens[begin].i]
    return bool(relative) and tokens[index].dep_ in {"relcl", "acl"}


def _scan(tokens: list[Token], start: int) -> tuple[int, tuple[str, ...], tuple[str, ...], bool] | None:
    """From the end of the subject to the main verb: its index, auxiliaries, adverbs, negation."""
    auxiliaries: list[str] = []
    adverbs: list[str] = []
    negated = False
    last_aux = -1
    index = start
    while index < len(tokens):
        word = tokens[index].lower_
        if word in _NEGATION:
            negated = True
            if word == "never":
                adverbs.append(word)
        elif word == "no" and index + 1 < len(tokens) and tokens[index + 1].lower_ == "longer":
            negated, index = True, index + 1
            adverbs.append("no longer")
        elif word in {"got", "gets", "get"} and auxiliaries == [] and index + 1 < len(tokens) and tokens[index + 1].tag_ == "VBN":
            auxiliaries.append("be")  # "got pushed"
            last_aux = index
        elif word in _AUX and _is_auxiliary(tokens, index):
            auxiliaries.append(_auxiliary(tokens, index))
            last_aux = index
        elif (word in _ADVERBS or tokens[index].tag_ == "RB") and not _verb_after_pronoun(tokens, index, start):
            if last_aux >= 0 and auxiliaries[-1] in {"be", "have"} and not _main_verb_ahead(tokens, index):
                break
            adverbs.append(word)
        else:
            break
        index += 1
    if last_aux >= 0 and auxiliaries and auxiliaries[-1] in {"be", "have"} and (index >= len(tokens) or not _is_main(tokens[index], auxiliaries[-1])):
        return last_aux, tuple(auxiliaries[:-1]), tuple(adverbs), negated
    starts_with_verb = _verbal_start(tokens[0]) or tokens[0].lemma_.lower() in _KNOWN_VERBS | _ORDERS
    if index >= len(tokens) or (index == start == 0 and not starts_with_verb):
        return None
    return index, tuple(auxiliaries), tuple(adverbs), negated


def _is_auxiliary(tokens: list[Token], index: int) -> bool:
    if tokens[index].text == "May":
        return False
    if tokens[index].lower_ in {"do", "does", "did"}:
        return any(t.lower_ in _NEGATION for t in tokens[index + 1 : index + 2]) or (index + 1 < len(tokens) and tokens[index + 1].tag_ == "VB")
    return not (tokens[index].lower_ == "have" and index + 1 < len(tokens) and tokens[index + 1].lower_ == "to")


def _auxiliary(tokens: list[Token], index: int) -> str:
    word = tokens[index].lower_
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if word == "'s" and following is not None and following.tag_ == "VBN" and following.lemma_ in {"be", "get", "decide", "agree", "move", "switch"}:
        return "have"
    if word == "'d" and following is not None and following.tag_ in {"VBN", "VBD"}:
        return "have"
    return _AUX[word]


def _is_main(token: Token, auxiliary: str) -> bool:
    if auxiliary == "have":
        return token.tag_ in {"VBN", "VBD"} and (token.lemma_ != token.lower_ or token.lower_ in _SAME_PARTICIPLES)
    if token.tag_ not in {"VBG", "VBN", "VBD"} or not token.text.islower() or token.dep_ in {"amod", "compound"}:
        return False
    return token.lemma_ != token.lower_ or token.lower_ in _SAME_PARTICIPLES  # an unknown word ("neovim") is no participle


def _main_verb_ahead(tokens: list[Token], index: int) -> bool:
    return any(t.tag_ in {"VBG", "VBN"} for t in tokens[index + 1 : index + 3])


def _verb_after_pronoun(tokens: list[Token], index: int, start: int) -> bool:
    """A verb that the tagger took for an adverb ("I like Java")."""
    return tokens[index].lemma_.lower() in _KNOWN_VERBS and index == start and start > 0


def _lemma(token: Token) -> str:
    word = token.lower_
    if word in _AUX and _AUX[word] in {"be", "have", "do"}:
        return _AUX[word]
    lemma = token.lemma_.lower()
    return {
        "prefers": "prefer",
        "hat": "hate",
        "uses": "use",
        "runs": "run",
        "'s": "be",
        "chose": "choose",
        "led": "lead",
        "sunsette": "sunset",
        "versione": "version",
    }.get(lemma, lemma)


def _form(token: Token, auxiliaries: tuple[str, ...]) -> str:
    if token.tag_ == "VBD" and auxiliaries and auxiliaries[-1] in {"be", "have"}:
        return "VBN"
    if token.tag_ == "VBD" and token.lower_ in {"run", "set", "put", "cut", "read", "host", "cost"}:
        return "VBP"
    if token.tag_ in _VERB_TAGS:
        return token.tag_
    return "VBZ" if token.lower_.endswith("s") and token.lower_ not in {"pass", "miss"} else "VBP"


def _who(subject: list[Token]) -> Who:
    if not subject:
        return Who.NONE
    first = subject[0].lower_
    if len(subject) == 1 and first in {"i", "we"}:
        return Who.I if first == "i" else Who.WE
    if first in _NOMINATIVE | {"that", "these", "those", "what", "which", "who", "here", "someone", "nobody", "people"} or (
        first == "this" and len(subject) == 1
    ):
        return Who.OTHER
    if first in {"his", "her", "their", "its", "your"}:
        return Who.OTHER
    if first == "my":
        return Who.MY
    if first in {"everyone", "everybody"} and any(t.lower_ in {"team", "us", "company", "here"} for t in subject):
        return Who.WE
    return Who.OUR if first == "our" else Who.THING

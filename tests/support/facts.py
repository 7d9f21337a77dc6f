"""What must hold of every fact that is kept, whoever proposed it. Written without the code that sees to it."""

import re

from services.core import messages, models

_NEGATIONS = frozenset({"not", "never", "no", "nobody", "nothing", "without", "cannot", "kein", "keine", "nicht", "pas", "jamais"})
_NUMBER = re.compile(r"\d(?:[\d.,:/-]*\d)?")
_PLACEHOLDER = re.compile(r"<[A-Z]+_\d+>")
_CLAUSE = re.compile(r"[,;:.!?—]\s|\s(?:and|but|so|because|und|aber)\s")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def faults(fact: models.Fact, turn: messages.LearnTurn) -> list[str]:
    """What is invented in a fact of a turn; nothing if all is well. For facts that correct nothing: those take over from earlier turns."""
    said, quote = _flat(turn.words), _flat(fact.quote)
    fields = (fact.text, fact.value, *(() if fact.subject in {"user", "team", "project"} else (fact.subject,)), fact.when, *fact.entities)
    found = []
    before, after = ("(?<!\\w)" if quote[:1].isalnum() else ""), ("(?!\\w)" if quote[-1:].isalnum() else "")
    if not quote or not re.search(f"{before}{re.escape(quote)}{after}", said):
        found.append("the quote is not in the words")
    if not isinstance(fact.category, models.Category):
        found.append("no category")
    for field in fields:
        if extra := set(_NUMBER.findall(_plain(field))) - _numbers(quote):
            found.append(f"numbers {extra} in {field!r}")
        if extra := _words(field) - _words(quote):
            found.append(f"words {extra} in {field!r}")
        if extra := set(_PLACEHOLDER.findall(field)) - set(_PLACEHOLDER.findall(quote)):
            found.append(f"placeholders {extra} in {field!r}")
        if re.search(r"<[A-Z]|[A-Z]_\d+>?", _PLACEHOLDER.sub("", field)):
            found.append(f"a piece of a placeholder in {field!r}")
    mine = _words(fact.text)
    lost = [_negations(clause) - _negations(fact.text) for clause in _CLAUSE.split(quote) if mine <= _words(clause)]
    if lost and all(lost):
        found.append(f"without {lost}")
    if _negations(fact.text) and fact.polarity:
        found.append("a denial that is said to hold")
    return found


def _flat(text: str) -> str:
    return " ".join(text.split())


def _plain(text: str) -> str:
    return _PLACEHOLDER.sub(" ", text)


def _numbers(quote: str) -> set[str]:
    whole = set(_NUMBER.findall(_plain(quote)))
    return whole | {piece for number in whole for piece in re.findall(r"\d+", number)} if "/" in quote else whole


def _words(text: str) -> set[str]:
    return {word.casefold().replace("’", "'") for word in _WORD.findall(_plain(text))}


def _negations(text: str) -> set[str]:
    return {word for word in _words(text) if word in _NEGATIONS or word.endswith("n't")}

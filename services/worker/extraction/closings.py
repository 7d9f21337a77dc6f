"""Words that ask to forget: "forget that I like tea", "forget my address", "forget what I said about Postgres", "scratch that". Pure.

"Never mind", "forget it" and "forget about the tests" are small talk and orders for the task at hand: they close nothing.
"""

import re
from enum import Enum

import msgspec

from services.worker.extraction import values, vocabulary

_I = re.IGNORECASE
_LEAD = r"(?:(?:please|pls|ok|okay|actually|hey|oh|wait|and|also|so|now|just|sorry|no|can you|could you|you can|you should|you may)[\s,]+)*"
_FORGET = rf"^{_LEAD}(?:forget|unlearn)\b"
_BARE = re.compile(
    rf"^{_LEAD}(?:(?:forget|disregard|ignore|unlearn) (?:that|this|(?:what|everything) i (?:just )?(?:said|told you|wrote)"
    r"|the last (?:fact|bit|part|sentence)|that last (?:fact|bit|part|one|sentence))|(?:scratch|strike) that)(?:[\s,]+(?:please|again))?"
    r"(?:$|\s*(?:[,;:–—]|\s-)\s*(?=(?:i|we|my|our)\b))",
    _I,
)
_OF_A_TOPIC = re.compile(
    rf"(?:{_FORGET}|^{_LEAD}(?:delete|erase|remove|drop))\s+"
    r"(?:what(?:ever)?|everything|anything|all|all (?:memories|facts)|(?:the|your|any) memor(?:y|ies))"
    r"(?: (?:that )?(?:(?:i|we)(?:'ve| have)? (?:ever )?(?:said|told you|mentioned|wrote)(?: to you)?"
    r"|you (?:know|remember|have stored|stored|learned)))?"
    r" (?:about|on|regarding) (?P<topic>.+)$",
    _I,
)
_OF_MINE = re.compile(rf"{_FORGET} (?P<text>(?:what |where |who |how )?(?P<whose>my|our|i|we) (?P<what>.+))$", _I)
_STATEMENT = re.compile(rf"{_FORGET} (?:(?:the fact )?that|(?:that )?i (?:ever )?(?:said|told you|mentioned)(?: that)?)\s+(?P<clause>\S+ .+)$", _I)
_ASKED = {
    "where i live": "residence", "where i work": "employer", "who i work for": "employer", "how old i am": "age", "what i do": "role",
    "where i'm from": "origin", "where i am from": "origin", "my address": "residence", "my home address": "residence", "my home": "residence",
    "my city": "residence", "my job": "role", "my job title": "role", "my title": "role", "my company": "employer", "my full name": "name",
    "my time zone": "timezone",
}  # fmt: skip
_NO_TOPIC = re.compile(r"^(?:it|that|this|these|those|them|him|her|me|myself|us|you|everything|anything|something|things?|stuff|what .*|how .*)$", _I)
_SAYING = re.compile(r"^(?:i|we) (?:said|asked|mentioned|told)\b", _I)
_PLEASE = re.compile(r"[\s,]+(?:please|again|for good)$", _I)
_VERB = re.compile(r"\b(?:is|are|was|has|have|uses?|runs?|can|likes?|lives?|works?)\b")
_MOST_WORDS = 6
_MOST_NOUNS = 3


class Target(Enum):
    """What is to be forgotten."""

    SAID_BEFORE = "said before"
    STATEMENT = "statement"
    ATTRIBUTE = "attribute"
    TOPIC = "topic"


class Closing(msgspec.Struct, frozen=True):
    """text: the statement's clause, the words for the attribute ("my address"), or the topic; attribute: normalised; subject: whose.

    end: where in the sentence what is asked ends; a statement runs to the end of the sentence, with what else that says.
    """

    target: Target
    text: str = ""
    subject: str = ""
    attribute: str = ""
    end: int = 0


def read(text: str) -> Closing | None:
    """What a sentence asks to forget, if that is what it asks."""
    if match := _BARE.match(text):
        return Closing(Target.SAID_BEFORE, end=match.end())
    if match := _OF_A_TOPIC.match(text):
        closing = _topic(match["topic"])
    elif match := _STATEMENT.match(text):
        closing = None if _SAYING.match(match["clause"]) else Closing(Target.STATEMENT, match["clause"])
    elif match := _OF_MINE.match(text):
        closing = _mine(values.long(match["text"]), match["text"])
    else:
        return None
    return msgspec.structs.replace(closing, end=text.index(closing.text) + len(closing.text)) if closing else None


def _topic(said: str) -> Closing | None:
    topic = _PLEASE.sub("", values.bare(values.long(said)))
    words = topic.split()
    if not words or len(words) > _MOST_WORDS or _NO_TOPIC.match(topic) or words[-1].lower() in vocabulary.JUNK_NOUNS:
        return None
    return Closing(Target.TOPIC, topic)


def _mine(said: str, clause: str) -> Closing | None:
    """clause: the same with what follows it in the sentence."""
    said = _PLEASE.sub("", said)
    whose, _, what = said.lower().replace("’", "'").partition(" ")
    if known := _ASKED.get(f"{whose} {what}"):
        return Closing(Target.ATTRIBUTE, said, "user", known)
    if whose in {"what", "where", "who", "how"}:
        return None
    if whose in {"i", "we"} or _VERB.search(what):
        return Closing(Target.STATEMENT, clause)
    noun = values.noun_phrase(what)
    if len(noun.split()) > _MOST_NOUNS or noun.split()[-1] in vocabulary.JUNK_NOUNS | {"request", "message"}:
        return None
    return Closing(Target.ATTRIBUTE, said, "user" if whose == "my" else "team", noun)

"""Whether a person asks the same again, or says that the answer was wrong: either may mean that something was not remembered, or wrongly.

Of people's turns alone: agents repeat themselves without meaning anything by it.
"""

import re
from collections.abc import Sequence

from services.core.recall import lexical, query
from services.core.telemetry import Reask

LATEST = 6
"""Earlier turns that are looked at."""
SAME = 0.75
"""Of the words of two questions together, the share that both have."""
_FEWEST = 2  # words about the subject: "and why?" asks something else each time
_MOST_CHARS = 600  # longer messages are no short question, nor a short correction
_OPENING_CHARS = 120  # in which whoever corrects says so

_WORD = re.compile(r"\w+(?:'\w+)?")
_ASKS = re.compile(
    r"[?？]\s*$|^\s*(?:(?:so|and|but|ok|well|please|sorry|again|hey|hi)[,\s]+)*(?:"
    r"what|which|who|whom|whose|where|when|why|how|is|are|was|do|does|did|can|could|should|would|will|tell me|remind me|"
    r"welche[rsn]?|wer|wem|wen|wo|wann|warum|wie|ist|sind|kannst|sag mir|"
    r"que|quel(?:le)?s?|qui|où|quand|pourquoi|comment|est-ce|rappelle-moi|"
    r"qué|cuál(?:es)?|quién|dónde|cuándo|cómo|qual|quem|onde|quando|como|che|chi|dove|perché|"
    r"wat|welke?|waar|wanneer|waarom|hoe)\b",
    re.IGNORECASE,
)
_CORRECTIONS = (
    # English
    r"\bthat(?:'s| is| was) (?:wrong|incorrect|false|outdated|no longer true|not (?:right|correct|true|it|what i (?:said|asked|meant|told you)))\b",
    r"\b(?:you(?:'re| are) (?:wrong|mistaken)|you(?:'ve| have)? (?:got|have|had) (?:it|that|this) wrong|you (?:forgot|misremember|misunderstood))\b",
    r"\bi(?:'ve| have)? (?:already |just )?told you\b(?! to)",
    r"\bi (?:already|just) (?:said|told|mentioned|answered|explained)\b",
    r"\b(?:as|like) i (?:already )?(?:said|mentioned)\b|\bi never said\b|\bhow many times\b",
    r"^\s*(?:no|nope|wrong|incorrect)\s*[,.;:!–—-]+\s*(?:it|that|this|i|my|we|our|the|he|she|they|not|you)\b",
    r"^\s*(?:no[,.]?\s+)?(?:actually|in fact),?\s+(?:it(?:'s| is| was)|that(?:'s| is)|i(?:'m| am)|my|we|our|he|she|they)\b",
    # German
    r"\bdas (?:stimmt (?:so )?nicht|ist (?:falsch|nicht richtig|nicht wahr))\b",
    r"\bich (?:hab(?:e)?|hatte) (?:(?:dir|ihnen|es|das|doch|schon|bereits) )+gesagt\b",
    r"^\s*nein[,.;:!]\s*(?:es|das|ich|mein|wir|unser|der|die)\b|\beigentlich (?:ist|heißt|heisst|wohne|bin) \w+",
    # French
    r"\bc'est (?:faux|pas (?:ça|vrai|correct))\b|\bce n'est pas (?:ça|vrai|correct|juste)\b|\bje (?:te|vous) l'ai déjà dit\b",
    r"\btu te trompes\b|\bvous vous trompez\b|\ben fait,? c'est\b|^\s*non[,.;:!]\s*(?:c'est|ce|je|mon|ma|nous|notre|il|elle)\b",
    # Spanish
    r"\b(?:eso|esto) (?:no es (?:así|correcto|cierto|verdad)|está mal|es (?:falso|incorrecto))\b",
    r"\bya te (?:lo )?(?:dije|he dicho)\b|\bte equivocas\b",
    r"\ben realidad (?:es|se llama|soy)\b|^\s*no[,.;:!]\s*(?:es|mi|yo|nosotros|nuestro|nuestra|se llama)\b",
    # Portuguese
    r"\bisso (?:está errado|não está certo|não é verdade)\b|\bjá (?:te|lhe) disse\b|\bna verdade é\b|^\s*não[,.;:!]\s*(?:é|o|a|meu|minha|eu)\b",
    # Italian
    r"\b(?:è sbagliato|non è (?:vero|corretto|giusto|così))\b|\bte l'ho già detto\b|\bti sbagli\b|\bin realtà è\b",
    # Dutch
    r"\bdat (?:klopt niet|is (?:fout|onjuist|niet waar))\b|\bik (?:heb|had) (?:je )?(?:dat |het )?al gezegd\b",
    r"^\s*nee[,.;:!]\s*(?:het|dat|ik|mijn|we|wij|de|ons)\b",
)
_CORRECTS = re.compile("|".join(_CORRECTIONS), re.IGNORECASE)
_AGAIN = lexical.word_set("again sorry asked ask question tell remind nochmal noch mal wieder encore nouveau otra vez novo ancora opnieuw")


def kind(words: str, earlier: Sequence[str], *, answered: bool) -> Reask | None:
    """words: of the new turn; earlier: of those before it in the conversation, oldest first; answered: whether an answer stands between."""
    if not answered or not earlier or not words or len(words) > _MOST_CHARS:
        return None
    if _CORRECTS.search(words[:_OPENING_CHARS].replace("’", "'")):
        return Reask.CORRECTION
    if _ASKS.search(words) and any(_same(words, before) for before in earlier[-LATEST:] if len(before) <= _MOST_CHARS):
        return Reask.REPEAT
    return None


def _same(words: str, before: str) -> bool:
    one, other = _content(words), _content(before)
    if min(len(one), len(other)) < _FEWEST or _numbers(words) != _numbers(before):
        return False
    return len(one & other) >= SAME * len(one | other)


def _content(text: str) -> frozenset[str]:
    """Stems but for those of small words, greetings and of asking again."""
    words = (word.casefold().replace("’", "'") for word in _WORD.findall(text.replace("’", "'")))
    return frozenset(lexical.stem(word) for word in words if word not in lexical.STOP_WORDS and word not in _AGAIN and not query.is_phatic(word))


def _numbers(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\d+", text))

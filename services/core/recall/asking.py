"""Whom a message speaks of, and questions for all memories of a kind ("who am I?", "what are our constraints?"), which resemble none of them."""

import re
from collections.abc import Iterable

import msgspec

from services.core.models import Category
from services.core.recall import lexical

ABOUT_ME = frozenset({Category.PERSONAL_INFO, Category.PREFERENCE})
ABOUT_A_PROJECT = frozenset({Category.PROJECT_CONTEXT, Category.TECHNICAL_CHOICE, Category.DECISION, Category.CONSTRAINT})

_NOUNS = {
    Category.PREFERENCE: "preferences?|prefs|likes and dislikes",
    Category.TODO: r"to-?\s?dos?(?: list| items)?|tasks?|duties|open points|action items",
    Category.CONSTRAINT: "constraints?|limitations|requirements|rules",
    Category.DECISION: "decisions?",
    Category.TECHNICAL_CHOICE: "(?:tech(?:nology|nical)? )?stack|technical choices|technology choices|technologies",
    Category.PROJECT_CONTEXT: "project context",
}
_PRODUCT = "(?:project|product|app|application|side project)"
_VERBS = {
    Category.PROJECT_CONTEXT: (
        f"what(?: {_PRODUCT})?(?: am i| are we| i'm| we're| i am| we are)(?: currently)? (?:building|making|working on|developing)"
        f"|what(?:'s| is)(?: this|(?: my| our| the)(?: current)?) {_PRODUCT}(?: about| called)?"
    ),
    Category.DECISION: "what (?:have|did) (?:i|we) (?:already )?(?:decided?|agreed? on)",
    Category.PREFERENCE: "what do i (?:prefer|like)",
    Category.TODO: "what do (?:i|we) (?:still )?(?:have|need) to do|what(?: else)?(?: is|'s) (?:still )?left (?:for (?:me|us) )?to do",
}
_LEARNT = "(?:know|remember|recall|have (?:stored|saved|remembered)|learn(?:ed|t)?)"
_SHOW = "(?:list|show|give|tell|name|repeat|recall|summari[sz]e)(?: me)?"
_WHOSE = "(?:my|our|the (?:team|project)'s)"
_KIND_OF = "(?:(?:own|open|current|coding|personal|hard|main|technical|other) )*"
_MINE = re.compile(r"\b(?:my|i)\b")
_LONGEST_CHARS = 120

_OWN = re.compile(
    r"\b(?:my|mine|our|ours|we|us)\b|\b(?:am|was|do|did|have|had|should|may|must|can|could|that|which|what|where|whom) i\b|\bfor me to\b|"
    r"\bi (?:like|prefer|usually|always)\b|"
    r"\b(?:is|are|was|do|does|did|would|should|may|what|which|who|whom|whose|how|when|where|why)\b[^.?!,;:]{0,80}(?<! just)(?<! only) me\b|"
    r"\b(?:this|the) (?:mono)?(?:repo|repository|project|team|company|codebase|product|office)\b",
    re.IGNORECASE,
)
_HOW_TO = r"\bhow (?:do|can|could|would|should) (?:i|we|you|one)\b(?! (?:like|prefer|\w+ me)\b)"
_GIVE = r"\b(?:bring|excuse|explain to|find|get|give|help|let|make|read|remind|send|show|sing|teach|tell|write) (?:me|us)\b"
_PIECE_OF_CODE = (
    "algorithm|array|callback|class|component|dict|dictionary|error|exception|file|function|if/else|implementation|list|loop|makefile|method|object|"
    "parser|program|query|recursion|regex|script|snippet|string|struct|test|thread|variable|css|html|sql"
)
# "our test environment", but not "our test fails" and "our test is"
_COMPOUND = rf"(?! (?!(?:never|{'|'.join(sorted(lexical.STOP_WORDS))})\b)\w*[^\Ws]\b)"
_AT_HAND = rf"\b(?:my code|(?:my|our) (?:[\w/-]+ ){{0,2}}(?:{_PIECE_OF_CODE}))\b{_COMPOUND}"
_NOT_OWN = re.compile(rf"{_HOW_TO}|{_GIVE}|{_AT_HAND}", re.IGNORECASE)


def own(text: str) -> bool:
    """Whether it speaks of something that is the person's or the team's own.

    "How do I" asks for the way of the world, "show me" for an answer, and "my function" for what lies before both: no memory tells of these.
    """
    return _OWN.search(_NOT_OWN.sub(" ", text)) is not None


class Listing(msgspec.Struct, frozen=True):
    """All current memories of these categories. own: only those that the asker said. words: how a statement that should come first is likely
    to begin ("" if none should)."""

    categories: frozenset[Category]
    own: bool
    words: str = ""


def listing(text: str) -> Listing | None:
    """What kinds of memory a sentence asks for as such. Only if it asks nothing else: an ordinary sentence is none."""
    if len(text) > _LONGEST_CHARS:
        return None
    plain = " ".join(text.replace("’", "'").lower().split()).rstrip(" ?.!…")
    if _ME.fullmatch(plain):
        return Listing(ABOUT_ME, own=True, words="my name")
    if _PROJECT.fullmatch(plain):
        return Listing(ABOUT_A_PROJECT, own=False)
    kinds = frozenset(category for category, pattern in _KINDS.items() if pattern.fullmatch(plain))
    return Listing(kinds, own=bool(_MINE.search(plain))) if kinds else None


def _sentence(*forms: str) -> re.Pattern[str]:
    """One of the forms, with what politeness and small talk put around it."""
    before = "(?:(?:hi|hey|hello|ok|okay|so|and|please|remind me)[,:]? )*(?:(?:can|could|would) you )?(?:please )?(?:(?:remind|tell) me )?"
    here = "(?:for|in|on) (?:this|the|our|my) (?:project|team|repo)"
    after = f"(?: (?:again|please|so far|now|right now|today|currently|already|at the moment|for me|{here}))*"
    return re.compile(f"{before}(?:{'|'.join(forms)}){after}")


def _about(whom: str) -> Iterable[str]:
    return (
        f"what (?:do|can|did|have) (?:you|we) (?:already )?{_LEARNT} (?:about|of) {whom}",
        f"{_SHOW} (?:what|everything|all)(?: that)? you {_LEARNT} about {whom}",
        f"(?:do you )?{_LEARNT} (?:anything|something) about {whom}",
        f"(?:tell me|what can you tell me) about {whom}",
    )


def _kind(category: Category) -> re.Pattern[str]:
    noun = f"{_KIND_OF}(?:{_NOUNS[category]})"
    return _sentence(
        f"what(?:'s| is| are| were)(?: all)?(?: on| in)? {_WHOSE} {noun}",
        f"{_SHOW}(?: all)?(?: of)? {_WHOSE} {noun}",
        f"(?:what|which) {noun} (?:do|did|have) (?:i|we)(?: have| had| made| make| set| got| use| follow)?",
        f"do (?:i|we) have (?:any|some) {noun}",
        *([_VERBS[category]] if category in _VERBS else []),
    )


_ME = _sentence("who am i", "do you (?:know|remember|recall)(?: who i am| me)", "what have i told you", "describe me", *_about("(?:me|myself)"))
_PROJECT = _sentence(*_about(f"(?:this|the|our|my) {_PRODUCT}"))
_KINDS = {category: _kind(category) for category in _NOUNS}

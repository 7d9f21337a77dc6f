"""What is no statement worth keeping: questions, hypotheticals, hedges, wishes, orders, small talk, passing states. Pure predicates on text."""

import re

from services.core.redaction.spans import PLACEHOLDER
from services.worker.extraction import vocabulary

_I = re.IGNORECASE

_LEAD = re.compile(
    r"^(?:(?:and|but|so|also|plus|oh|ah|ok|okay|k|well|actually|btw|by the way|fyi|for (?:your information|context|the "
    r"record|reference|what it's worth)"
    r"|fwiw|just so you know|just to let you know|just fyi|hey|hi|hello|yes|yeah|yep|nope|yup|honestly|basically|anyway"
    r"|anyways|again|in fact|to be clear|to clarify"
    r"|hmm+|look|listen|sure|great|cool|thanks|thank you|perfect|nice|right|alright|then|finally|first(?:ly)?|second(?:ly)?"
    r"|lastly|next|quick (?:note|heads[- ]up)|heads[- ]up"
    r"|one (?:more )?thing|another thing|update|correction|context|background|important|side note|ps|p\.s\.?|background info|you know|you see"
    r"|(?:as|like) i (?:said|mentioned|told you)(?: before| earlier)?|i (?:should|forgot to|want to|wanted to|have to|must) "
    r"(?:mention|say|add|tell you)(?: that)?"
    r"|i (?:already )?told you(?: that)?|(?:just )?(?:so you|you should) know(?: that)?|let me (?:tell|remind) you(?: "
    r"that)?|did i mention(?: that)?|it turns out(?: that)?"
    r"|turns out(?: that)?|the (?:thing|fact|truth) is(?: that)?|given that|seeing that|since|because|although|though"
    r"|whereas|unfortunately|luckily|fortunately"
    r"|(?:i|we)(?:'ve| have)? changed (?:my|our) minds?|(?:no,? )?not [A-Za-z][^,]{0,30}(?=,\s+(?:we|i|our|my|it)\b)"
    r"|no [a-z][\w.+#-]*(?=,\s+(?:we|our|compliance|legal|security)\b)|in"
    r" (?:general|short|summary|my case|our case)|generally|overall|just confirmed|just|recently|apparently not|no|sorry"
    r"|wait|please|pls|confirmed(?: with [^:,]{1,40})?|good news"
    r"|(?:our|the|one|another|my) (?:\w+ )?(?:rule|policy|convention|agreement|requirement|constraint)"
    r"(?: here| now)? is(?: that)?(?= (?:no|all|every|we|i|the)\b)"
    r"|reminder|that(?=\s+(?:i|we|my|our|i'm|we're)\b)|claude|assistant|dear \w+|folks|guys|all)"
    r"(?=[\s,:;!.\-—–]|$)[\s,:;!.\-—–]*)",
    _I,
)
_COMMA_ONLY = re.compile(
    r"^(?:no|first|second|next|right|then|since|because|all|look|listen|update|important|context|background|correction|just"
    r"|sorry|again|well|assistant|claude"
    r"|second(?:ly)?|though|reminder|nice|perfect|great|cool|sure|hi|hey|hello|thanks|thank you|generally|overall|recently|guys|folks|confirmed)$",
    _I,
)
_REMEMBER = re.compile(
    r"^(?:(?:please|pls|also|and|so|just|can you|could you|you should|i want you to|i'd like you to|don't forget|do)[\s,]+)*"
    r"(?:(?:always )?(?:remember|note|keep in mind|bear in mind|don't forget|make a note|take note|note down|be aware"
    r"|memorize|memorise|store|save(?: it)?)"
    r"(?:\s+(?:for (?:later|next time|the future)|to self|this(?: fact)?|it))?(?:\s*[:,—-]\s*|\s+that\s+)|(?:remember|note"
    r"|don't forget|keep in mind|bear in mind|be aware)\s+(?=(?:i|we|my|our|the|i'm|we're)\b)"
    r"|(?:for (?:future reference|next time|later|the future)|note to self|nb|n\.b\.|note|memo)\s*[:,]?\s+(?=\w))",
    _I,
)
_REMIND = re.compile(
    r"^(?:please\s+)?(?:remind me (?:to|that|about)\s+|i (?:must|need to|have to|should|gotta) remember to\s+"
    r"|(?:don't let me|(?:i )?(?:must not|mustn't|can't)) forget(?: to\s+|\s*:\s+))",
    _I,
)
_REMEMBER_TO = re.compile(r"^(?:please\s+)?(?:remember to|don't forget to)\s+", _I)
_TODO = re.compile(
    r"^\[ \]\s+(?=\w)|^notes? to (?:my)?self\s*[:,—-]\s*(?!(?:i|we|the|my|our|it|this|that|an?|all|never|always)\b)"
    r"|^(?:to-?do|action item|task for (?:me|later)|follow-?up|next steps?)(?: (?:for|to) \w+)?\s*[:—-]\s*",
    _I,
)
_RESTATES = re.compile(
    r"^(?:(?:oh|ah|hmm+|well|um|and|but|so|hey|ok|okay|sorry|no|wait)[\s,]+)*"
    r"(?:correction|let me correct (?:that|myself)|i was wrong|i made a mistake|scratch that|(?:quick |small )?update(?=:))"
    r"[\s:,.!—–-]+(?=(?:\S+\s+){3})",
    _I,
)
"""Announces that a whole statement takes the place of what was said before."""
_OPENER = re.compile(
    r"^(?:(?:so|and|but|now|ok|okay|well|hey|then|also|or|just)[\s,]+)*(?:suppose|supposing|imagine|pretend|what if|let(?:'"
    r"|)s (?:say|assume|imagine|pretend|suppose)|assume|assuming|say"
    r"|hypothetically|in theory|as an? example|for example|for instance|e\.g\.?|example|consider|picture this|think of|had "
    r"we|had i|were (?:we|i) to|act as|you are|role-?play|from now on you are)\b",
    _I,
)
_FRONTED_IF = re.compile(
    r"^(?:(?:so|and|but|or|then|even|only|also)[\s,]+)*(?:if|unless|in case|whether|should (?:you|we|i)|provided|as soon as|once we|wish|i wish)\b",
    _I,
)
_HARMLESS_IF = re.compile(
    r"(?<=\w)[,\s]+please\b(?=[\s,]|$)|\bplease\s+(?=always|never)|,?\s*\bif (?:it|that|this) (?:helps|matters|is relevant"
    r"|makes a difference|is of any (?:help|use))[^,]*,?\s*|,?\s*\bif you (?:need|want) to know,?\s*|,?\s*in case (?:it"
    r"|that) (?:matters|helps),?\s*",
    _I,
)
_UNREAL = re.compile(
    r"\b(?:if (?:i|we|you|they|he|she|it|this|that|memory) (?:recall|remember|serves?|had|were|was|used|went|did|could"
    r"|would|'m not mistaken|am not mistaken)|if i'm not|would(?:n't)? have|as if|as though|i wish|wish i|wish we"
    r"|what if|let's say|were to|would be|i'd be|we'd be|hypothetical(?:ly)?|pretend|suppose)\b",
    _I,
)
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|might|could(?! not| n't|n't)|thinking (?:about|of)|considering|wondering|not "
    r"(?:really |quite |totally |entirely |100% )?sure|unsure|i guess|i suppose|i think|i believe"
    r"|i assume|i reckon|i feel like|imo|imho|in my opinion|my guess|not certain|no idea|don't know|dunno|undecided|haven't "
    r"decided|hoping|i hope|kind of want|leaning toward|tempted|toying with|debating"
    r"|evaluating|exploring|experimenting|playing (?:around )?with|trying out|potentially|supposedly|apparently|allegedly"
    r"|it seems|seems like|looks like|sounds like|presumably|or something|i doubt|no clue"
    r"|should we|should i|would it|had better|what about|how about|tbd|to be decided)\b",
    _I,
)
_MAY = re.compile(
    r"\b(?:i|we|it|they|you|he|she|that|which|team|app|[a-z]+s) may\b(?! \d)(?! be used)"
    r"(?! not (?:exceed|contain|use|depend|include|store|leave|import|be))",
    _I,
)
_ALLOWED_THINK = re.compile(r"\bi (?:think|believe) in\b|\bi don't know (?-i:[A-Z][\w+#.]*)(?: at all| yet| well| much)?(?=$|,)", _I)
"""No hedge, but a conviction or what one has not learnt ("I don't know R")."""
_REPORTED = re.compile(
    r"^(?:(?!i\b|we\b|i've\b|i'm\b)[\w'.]+(?: [\w'.-]+){0,5}?) (?:says?|said|thinks?|claims?|claimed|told|tells|believes?"
    r"|asked|asks|suggests?|suggested|argues?|argued|insists?(?! on)|insisted(?! on)|reckons"
    r"|recommends?|recommended|complains?|mentioned|mentions|wrote|writes|states?|replied|announced|hopes?|wondered)\b(?! "
    r"by\b)|\b(?:according to|says that|told me|he said|she said|they said|quote)\b",
    _I,
)
_QUESTION = re.compile(
    r"^(?:(?:so|and|but|or|also|then|hey|hi|ok|okay|well|now|please|just|quick question|question|any idea|by the way|btw"
    r"|thanks|sorry|hmm+|again|for example)[\s,:—-]+)*"
    r"(?!do not\b(?! (?:you|we|they)\b))"
    r"(?:(?:what|how|why|when|where|who|whom|whose|which|what's|how's|who's|where's|why's|whats|hows)\b(?!ever)(?! (?:i|we) "
    r"(?:\w+ )?(?:is|are|was|need|want|like|love)\b)"
    r"|(?:is|are|was|were|am|do|does|did|can|could|would|will|should|shall|has|have|had|may|might|must|isn't|aren't|don't"
    r"|doesn't|didn't|can't|couldn't|won't|wouldn't|shouldn't|haven't|hasn't)\s+"
    r"(?:i|we|you|they|he|she|it|there|this|that|these|those|the|my|our|your|his|her|their|a|an|any|anyone|someone|somebody"
    r"|[A-Z][\w.+#-]*|not)\b(?! not allowed)"
    r"|any (?:idea|ideas|tips|advice|suggestions?|recommendations?|thoughts|way)\b|ok\??$|right\??$|thoughts\??$|(?:do|did) (?:you|we)\b)",
    0,
)
_LATE_QUESTION = re.compile(
    r"(?:,\s*(?:and|but|so)?\s*|\s+(?:and|but|so)\s+)(?=(?:(?:is|are|was|do|does|did|can|could|would|will|should|has|have"
    r"|isn't|aren't|don't|doesn't|can't|won't|shouldn't)\s+(?:i|we|you|they|he|she|it|there|this|that|these|those|the|my"
    r"|our"
    r"|a|an|any|anyone)\b|(?:what|how|why|when|where|who|which|what's|how's)\b|any (?:idea|tips|advice|suggestion"
    r"|recommendation|thought|way)|ok(?:ay)?$|thoughts$|good idea$|makes sense$|got it$|yes$|know what))",
    _I,
)
_REQUEST_TAIL = re.compile(
    r"(?:,\s*(?:and|but|so)?\s*|\s+(?:so|and|but)\s+)(?=(?:please|pls|can you|could you|would you|let me know|tell me|help "
    r"me|give me|show me|make sure|write|create|fix|add|explain|generate|implement|refactor|suggest|recommend"
    r"|don't (?!use|like|want|need|have|eat|drink|deploy|ship|work)|check|update|change the|convert|how (?:do|can|should"
    r"|would)|what (?:is|are|do|should))\b)",
    _I,
)
_MADE_UP = re.compile(
    r"^(?:(?:please|pls|now|also|can you|could you)[\s,]+)*(?:write|create|make|generate|add|build|implement|draft|design|invent|mock|give me"
    r"|show me|tell me|come up with)\s+(?:me\s+)?(?:an?|the|some|one|two|three|\d+)\s[^,.;:]{0,60}?\b(?:where|in which|whose|who|that|about)\b",
    _I,
)
_CONFIRM_TAG = re.compile(
    r"(?:,\s*|\s)(?:right|correct|no|isn't it|aren't we|don't we|don't i|doesn't it|am i right|yes|yeah|eh|huh|innit|do we"
    r"|do i|or not|or no|is that right|is that correct)$",
    _I,
)
_SMALL_TALK = re.compile(
    r"^(?:i )?(?:thanks?\b|thank you|thx|ty\b|cheers|good (?:morning|evening|afternoon|night|job|work|point|call|idea|luck)"
    r"|well done|nice\b.{0,20}$|hello\b.{0,20}$|hi\b.{0,20}$|bye|see you|lol|haha|wow|congrat"
    r"|(?:i )?(?:really )?(?:love|like|hate|appreciate|enjoy) (?:it|this|that|these|those|your|you|how you|what you|the way "
    r"you|working with you|the (?:new|second|first|last|previous|other|idea|answer|result|approach|look|output|design"
    r"|way))\b)",
    _I,
)
_ACKNOWLEDGED = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|yep|yeah|no|nope|sure|great|perfect|cool|got it|makes sense|hi|hey|hello|right|fine|i see|understood|there)[\s,.!]*)+$", _I
)
_POLITE = re.compile(
    r"^(?:.*?[,.:]\s+)?(?:(?:and|so|but|also|please|hey|hi)[\s,]+)*(?:can|could|would|will) you (?!.*\b(?:who|what|when|where|which|how|why|whose)\b)"
    r"(?:please )?(?!know\b|remember\b|guess\b|say\b|tell\b|name\b|recall\b)\w",
    _I,
)
_PASSING = re.compile(
    r"\b(?:right now|at the moment|today|tonight|this (?:morning|afternoon|evening)|just now|temporarily|for the moment|for "
    r"now|this time|yesterday|last night|a (?:minute|moment|second) ago|an hour ago|earlier today)\b",
    _I,
)
_AT_HAND = re.compile(
    r"^i (?:just |only )?(?:use|call|read|write|pass|return|set|loop|catch|check|store) .*\bhere$|\bin there\b"
    r"|\b(?:in this (?:case|example|function|file|snippet|code|method|loop|test|line|screenshot|chat|conversation)"
    rf"|as you can see|(?:above|below)(?! (?:[\d$€£~]|{vocabulary.SMALL_NUMBERS}\b)))\b",
    _I,
)


_RULED = re.compile(
    r"[\s,;]+(?:-\s+)?(?:(?:(?:and )?(?:that|this)(?:'s| is)|per|as per|by|it's)\s+"
    r"(?:(?:in |part of |by )?(?:our|the|a|an|company|team|house|my)\s+(?:[\w-]+ ){0,2}"
    r"(?:rules?|polic(?:y|ies)|conventions?|(?:style ?)?guide(?:lines?)?|standards?|contract|law|terms|requirements?|agreement|preference)"
    r"(?: (?:here|with \w+(?: \w+)?))?"
    r"|how (?:we|our \w+|the \w+|\w+) (?:do|define|want|like|work|handle|name|call|count|agree|write)\w*(?: \w+){0,3})"
    r"|(?:a )?(?:legal|regulatory|contractual|hard|company|customer) (?:requirement|polic(?:y|ies)|rule|limit)s?)$",
    _I,
)
"""Says that what stands before it is a rule."""
STANDING_LEAD = re.compile(
    r"^(?:going forward|from now on|from here on|in (?:the )?future|henceforth|as a rule|by default|every time|as of"
    r" (?:now|today))[\s,:]+(?:please[\s,]+)?",
    _I,
)
"""Makes an order one that stands."""
DASH = re.compile(
    r"(?<!sorry)(?<!no)(?<!wait)(?<!oops)(?<!actually),\s+(?=(?:no[, ] ?(?:wait|sorry|actually|it'?s|i mean)?|sorry|wait|oops"
    r"|i meant?|correction|or rather|scratch that)[\s,])"
    r"|\s+[-–—]{1,3}\s+|—|\s*\.\.\.+\s*|…|(?<!decision)(?<!decided)(?<!settled)(?<!agreed)(?<!constraint)(?<!requirement)(?<!rule)(?<!remember)(?<!note):\s+(?=(?:i|we|i'm|we're|i've|we've|my|our|the|all|no|every|always|never)\b)",
    _I,
)
"""Sets one part of a sentence off from another."""


def strip_lead(text: str) -> tuple[str, bool, bool]:
    """The text without leading discourse words; whether it asked to remember; whether it announced a correction, which is to be remembered too."""
    remembered, restates, changed = False, False, True
    while changed and text and not todo_lead(text):
        changed = False
        if match := _RESTATES.match(text):
            remembered, restates, text, changed = True, True, text[match.end() :], True
        elif match := _REMEMBER.match(text):
            remembered, text, changed = True, text[match.end() :], True
        elif (match := _LEAD.match(text)) and _may_drop(match[0], text[match.end() :]):
            text, changed = text[match.end() :], True
    return text, remembered, restates


def _may_drop(lead: str, after: str) -> bool:
    word = lead.rstrip(" ,:;!.-—–")
    if not after.strip():
        return False
    if _COMMA_ONLY.match(word):
        return len(lead.rstrip()) > len(word) or bool(re.match(r"(?:i|we|my|our)\b", after, _I) and word.lower() not in {"no", "all"})
    return True


def todo_lead(text: str) -> str:
    """The part of the text that says "remind me to" and the like; "" if none. "Remember to ..." alone is advice or an order."""
    match = _TODO.match(text) or _REMIND.match(text)
    if match is None and vocabulary.WHEN_DUE.search(text):
        match = _REMEMBER_TO.match(text)
    return match[0] if match else ""


def without_asides(text: str) -> str:
    """Without "if that helps" and the like: they make nothing hypothetical."""
    return _HARMLESS_IF.sub(lambda m: " " if m.start() and m.end() < len(text) else "", text)


def opens_hypothetical(text: str) -> bool:
    """What follows in the same paragraph is supposed, not stated."""
    return bool(_OPENER.match(text))


def is_conditional(text: str) -> bool:
    """Stated under a condition that comes first."""
    return bool(_FRONTED_IF.match(text))


def is_unreal(text: str) -> bool:
    return bool(_UNREAL.search(text))


def is_hedged(text: str) -> bool:
    return bool(_HEDGE.search(_ALLOWED_THINK.sub("", text)) or _MAY.search(text))


def is_reported(text: str) -> bool:
    """What somebody else says."""
    return bool(_REPORTED.search(text))


def is_question(text: str) -> bool:
    """Worded as a question, with or without its mark."""
    return bool(_QUESTION.match(text[:1].lower() + text[1:]))


def ruled_at(text: str) -> int:
    """Where a clause begins that calls what stands before it a rule ("..., that's our style guide"); the length of the text if there is none."""
    match = _RULED.search(text)
    return match.start() if match and len(text[: match.start()].split()) > 2 else len(text)


def question_at(text: str) -> int:
    """Where the question begins in a sentence that ends with "?": 0 if it is one from the start, or asks to confirm what it states."""
    if _CONFIRM_TAG.search(text):
        return 0
    places = [m.start() for m in _LATE_QUESTION.finditer(text) if m.start() > 3]
    return places[0] if places else 0


def request_at(text: str) -> int:
    """Where an order to the assistant begins after a statement; the length of the text if there is none."""
    match = _REQUEST_TAIL.search(text)
    return match.start() if match and match.start() > 3 else len(text)


def is_small_talk(text: str) -> bool:
    return bool(_SMALL_TALK.match(text) or _ACKNOWLEDGED.match(text))


def is_polite_order(text: str) -> bool:
    """Worded as a question, but asks for work and not for an answer ("can you help me with this?")."""
    return bool(_POLITE.match(text.lstrip(" ,")))


def makes_up(text: str) -> bool:
    """An order for something of which it says who or what occurs in it: "write a test where the user is called Alice and lives in Paris"."""
    return bool(_MADE_UP.match(text))


def is_passing(text: str) -> bool:
    """True only of this moment."""
    return bool(_PASSING.search(text))


def is_at_hand(text: str) -> bool:
    """True only of the code or the conversation at hand."""
    return bool(_AT_HAND.search(text))


def says_nothing(value: str) -> bool:
    """A value of which redaction left nothing: "<EMAIL_1>"."""
    return bool(value) and re.search(r"\w", PLACEHOLDER.sub("", value)) is None

"""Statements without a verb: "Timezone: CET", "Vim user here"."""

import re

from services.core.models import Category
from services.worker.extraction import tools, values
from services.worker.extraction.statements import drafts
from services.worker.extraction.statements.drafts import Draft

_ONLY = re.compile(
    r"^only (?:(?-i:[A-Z])[\w'-]+(?: and (?-i:[A-Z])[\w'-]+)?|the [\w ]{2,20} team|admins|maintainers|seniors|owners)"
    r" (?:(?:has|have) (?:\w+ )?access\b|(?:can|may) (?:approve|merge|deploy|release|access|publish|change)\b).*$",
    re.IGNORECASE,
)
_IT_IS = re.compile(r"^(?P<value>[A-Z][\w.+#-]*(?: [A-Z\d][\w.+#-]*){0,2}) (?P<how>it is(?:,? then)?|then)$")
"""Such as "ClickHouse it is": the choice among what was talked about."""
_NO_CHOICE = frozenset({"What", "Who", "So", "Here", "There", "Well", "Ok", "Yes", "No", "Then", "Fine", "Whatever", "As"})
_NONE_OF = re.compile(
    r"^no (?P<value>[\w.+#-]+(?: [\w.+#-]+)?) (?:anywhere|ever|here|in (?:this|our|the) (?:repo|repository|codebase|project|company|team|stack))$",
    re.IGNORECASE,
)
"""Such as "No jQuery anywhere": a tool that is not to be used."""
_TROUBLE = re.compile(r"(?:error|exception|warning|failure|nan|null)s?$", re.IGNORECASE)
_LABEL = re.compile(
    r"^(?P<key>(?:(?:my|our|the|project|app|tech|main|primary|preferred|current|favou?rite|release|target)\s+)*(?:name"
    r"|stack|time ?zone|deadline|editor|os|language|framework|database|db|budget|role"
    r"|pronouns|hosting|cloud|ide|shell|company|employer|location|city|birthday|decision(?: made)?|constraint|requirement"
    r"|rule|convention|preference))"
    r"(?: on [^:]{3,40})?\s*[:=]\s+(?P<value>\S.*)$",
    re.IGNORECASE,
)
_KEYS = {
    Category.DECISION: ("decision", "decision made"),
    Category.CONSTRAINT: ("constraint", "requirement", "rule", "convention"),
    Category.PREFERENCE: ("preference", "editor", "ide", "shell", "os"),
    Category.PERSONAL_INFO: ("name", "role", "pronouns", "timezone", "time zone", "city", "location", "birthday", "employer"),
    Category.TECHNICAL_CHOICE: ("stack", "framework", "database", "db", "language"),
}
_LABEL_CATEGORY = {key: category for category, keys in _KEYS.items() for key in keys}
_NAME = re.compile(r"^[Nn]ame(?:'s| is) ([A-Z][\w'-]+(?: [A-Z][\w'-]+)?)$")
_HERE = re.compile(r"^(?P<what>[\w.+#-]+) (?P<kind>user|dev|developer|engineer|person|fan) here$", re.IGNORECASE)


_PART = re.compile(
    r"^(?P<key>(?:the |our )?(?:front[- ]?end|back[- ]?end|api|cache|queue|ci(?:/cd)?|infra(?:structure)?|auth|orm|hosting|deployment|package manager"
    r"|tests?|testing|test runner|build(?: tool)?|bundler|linter|formatter|linting|monitoring|logging|observability"
    r"|storage|broker|message broker|search"
    r"|styling|styles|css|mobile|server|web server|client|runtime|containers?|orchestration|vector (?:store|db"
    r"|database)|analytics|docs))\s*:\s+(?P<value>\S.*)$",
    re.IGNORECASE,
)
_SETTLED = re.compile(r"^(?:it|that)(?:'s| is)(?: now| all)? (?:decided|settled|agreed|final)\s*:\s+(?P<value>\S+ \S.*)$", re.IGNORECASE)
_CHORE = re.compile(
    r"^(?:i|we)(?:'ve| have)? (?:still )?(?:need to|gotta|have to|got to|must|should) (?:add|write) (?:(?:some|more|the|missing|unit|integration"
    r"|regression|end-to-end|e2e|api)[ ])*(?:tests|docs|documentation|docstrings|logging|monitoring|metrics|alerts|alerting|tracing|error handling"
    r"|retries|retry logic|type hints) (?:to|for) (?:the|our|my) (?!following\b|above\b|next\b)\w",
    re.IGNORECASE,
)
"""Upkeep of a named part of the project, which nobody orders in these words."""
_ERRAND = re.compile(
    r"^(?:i|we)(?:'ve| have)? (?:still )?(?:need to|gotta|have to|got to|must|should really) (?P<what>(?:"
    r"(?:renew|book|buy|pay|cancel|submit|order|pick up|return|water|feed|schedule|file|hand in|mail|post|print|sign|extend|collect|visit) my"
    r"(?! (?:form|request|job|query|code|data|string|results?)s?\b) \w|(?:renew|book|buy|pay|cancel|submit|order|pick up|water|feed|hand in|visit)"
    r" (?:our|our|a|an|the|some|another)(?! (?:form|request|job|query|transaction|event|promise|cookie|token|session"
    r"|value|list|object|thread|function|pr)s?\b) \w"
    r"|(?:register|sign up|apply|prepare|study|pack) for (?:my|our|a|an|the) \w"
    r"|(?:call|phone|ring|visit|see|pay|text) (?:my |the )?(?:mum|mom|dad|mother|father|parents|wife|husband|doctor|dentist|bank|landlord|plumber|vet"
    r"|school|insurance|accountant|lawyer|tax office)\b"
    r").*)$",
    re.IGNORECASE,
)


def _is_tool(value: str) -> bool:
    return tools.known(value) and (len(value.split()) == 1 or bool(tools.kind(value) or tools.versioned(value)))


def labelled(text: str) -> Draft | None:
    """Such as "Timezone: CET", "Stack: Django and React", "Decision made on X: Y", "Vim user here"."""
    if here := _HERE.match(text):
        if here["kind"].lower() in {"user", "person", "fan"}:
            return Draft(Category.PREFERENCE, 0.8, attribute="uses", value=here["what"])
        return Draft(Category.PERSONAL_INFO, 0.8, attribute="role", value=f"{here['what']} {here['kind']}", functional=True)
    if name := _NAME.match(text):
        return Draft(Category.PERSONAL_INFO, 0.85, attribute="name", value=name[1], functional=True)
    if errand := _ERRAND.match(text):
        return Draft(Category.TODO, 0.75, value=values.long(errand["what"]))
    if _CHORE.match(text) and not re.search(r"\b(?:this|that|these|those)\b", text):
        return Draft(Category.TODO, 0.7, subject="team" if text[:2].lower() == "we" else "user")
    if settled := _SETTLED.match(text):
        return None if drafts.empty(settled["value"]) else Draft(Category.DECISION, 0.85, subject="team", value=values.long(settled["value"]))
    if (part := _PART.match(text)) and all(_is_tool(each) for each in values.items(part["value"])):
        return Draft(Category.TECHNICAL_CHOICE, 0.8, "team", values.noun_phrase(part["key"]), part["value"].strip(), functional=True)
    if _ONLY.match(text):
        return Draft(Category.CONSTRAINT, 0.75, subject="team")
    if (chosen := _IT_IS.match(text)) and (tools.known(chosen["value"]) or (chosen["how"] != "then" and chosen["value"] not in _NO_CHOICE)):
        return Draft(Category.DECISION, 0.8, subject="team", attribute="uses", value=chosen["value"], several=True)
    if (none := _NONE_OF.match(text)) and (tools.known(none["value"]) or (values.concrete(none["value"]) and not _TROUBLE.search(none["value"]))):
        return Draft(Category.CONSTRAINT, 0.8, subject="team", attribute="uses", value=none["value"], polarity=False)
    match = _LABEL.match(text)
    if match is None or drafts.empty(match["value"]):
        return None
    key = values.noun_phrase(match["key"])
    category = _LABEL_CATEGORY.get(key.split()[-1] if key not in _LABEL_CATEGORY else key, Category.PROJECT_CONTEXT)
    if category in {Category.DECISION, Category.CONSTRAINT} or "decision" in key:
        return Draft(Category.DECISION if "decision" in key else category, 0.85, subject="team", value=values.long(match["value"]))
    personal = category in {Category.PERSONAL_INFO, Category.PREFERENCE}
    return Draft(category, 0.8, subject="user" if personal else "team", attribute=key, value=match["value"].strip(), functional=True)

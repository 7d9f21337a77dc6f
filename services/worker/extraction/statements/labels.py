"""Statements without a verb: "Timezone: CET", "Vim user here"."""

import re

from services.core.models import Category
from services.worker.extraction import values
from services.worker.extraction.statements import drafts
from services.worker.extraction.statements.drafts import Draft

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


def labelled(text: str) -> Draft | None:
    """Such as "Timezone: CET", "Stack: Django and React", "Decision made on X: Y", "Vim user here"."""
    if here := _HERE.match(text):
        if here["kind"].lower() in {"user", "person", "fan"}:
            return Draft(Category.PREFERENCE, 0.8, attribute="uses", value=here["what"])
        return Draft(Category.PERSONAL_INFO, 0.8, attribute="role", value=f"{here['what']} {here['kind']}", functional=True)
    if name := _NAME.match(text):
        return Draft(Category.PERSONAL_INFO, 0.85, attribute="name", value=name[1], functional=True)
    match = _LABEL.match(text)
    if match is None or drafts.empty(match["value"]):
        return None
    key = values.noun_phrase(match["key"])
    category = _LABEL_CATEGORY.get(key.split()[-1] if key not in _LABEL_CATEGORY else key, Category.PROJECT_CONTEXT)
    if category in {Category.DECISION, Category.CONSTRAINT} or "decision" in key:
        return Draft(Category.DECISION if "decision" in key else category, 0.85, subject="team", value=values.long(match["value"]))
    personal = category in {Category.PERSONAL_INFO, Category.PREFERENCE}
    return Draft(category, 0.8, subject="user" if personal else "team", attribute=key, value=match["value"].strip(), functional=True)

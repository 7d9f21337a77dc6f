"""What people ask to remember in German, Spanish, French, Portuguese, Italian or Dutch: kept in their own words, never translated or parsed.

The rules read English grammar. Words in another language that do not ask to be remembered give nothing.
"""

import re

_ASKS = re.compile(
    r"^(?:(?:bitte|por favor|s'il (?:te|vous) pla[iî]t|stp|svp|per favore|alsjeblieft|also|und|y|et|e|en|ok(?:ay)?)[\s,]+)*"
    r"(?:"
    r"(?:merk(?:e)? (?:dir|es dir)|merken sie sich|denk(?:e)? (?:bitte )?dran|denk(?:e)? (?:bitte )?daran|behalte? (?:bitte )?im (?:kopf|hinterkopf)"
    r"|vergiss (?:bitte )?nicht|notier(?:e)? (?:dir)?)(?: bitte)?\s*(?:[:,]\s*)?(?:dass|:|,)\s+"
    r"|(?:recuerda|recuerde|acuérdate de|ten en cuenta|no olvides|anota|apunta)\s*(?::|que)\s+"
    r"|(?:souviens[- ]toi|souvenez[- ]vous|rappelle[- ]toi|rappelez[- ]vous|n'oublie pas|n'oubliez pas|retiens|retenez|note|notez)"
    r"(?: bien)?\s*(?:de )?(?::\s*|que\s+|(?=qu'))"
    r"|(?:lembre(?:-se)?(?: de)?|lembra(?:-te)?|não se esqueça(?: de)?|não esqueças)\s*(?::|que)\s+"
    r"|(?:ricorda(?:ti)?|ricordati|tieni presente|non dimenticare)\s*(?::|che)\s+"
    r"|(?:onthoud|vergeet niet|let op)\s*(?::|,?\s*dat)\s+"
    r")(?P<what>\S+ .*\S)$",
    re.IGNORECASE,
)


def remembered(text: str) -> str:
    """What a sentence in one of these languages asks to remember, in its own words; "" if it asks nothing of the kind."""
    match = _ASKS.match(text.replace("’", "'"))
    return text[match.start("what") :] if match else ""

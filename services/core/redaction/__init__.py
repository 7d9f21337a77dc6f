"""What must not be stored, found and replaced: structured personal data and secrets. Pure, without NLP; light enough for the proxy.

    texts ──► detectors (secrets, e-mail, phone, card, IBAN, SSN, papers, birth date, IP, street address) ──► spans ──► what was found in
         one text, in all ──► one winner where they overlap ──► what the policy replaces ──► placeholders `<KIND_n>`

The same value has the same placeholder in all texts of one `Redactor`, and with `Keyed` numbers in every turn of a team.
Redacting again changes nothing: it is repeated until no detector finds anything, and placeholders are opaque to every detector.
Left alone on purpose, since they identify nobody: loopback and unspecified addresses, netmasks, `git@host`, references such as
`${TOKEN}`, and stand-ins such as `xxxx` or `<your key>`.
"""

from services.core.redaction.numbering import Keyed, Numbering
from services.core.redaction.policy import Action, Policy
from services.core.redaction.redactor import Redacted, Redactor, redact
from services.core.redaction.spans import Kind

__all__ = ["Action", "Keyed", "Kind", "Numbering", "Policy", "Redacted", "Redactor", "redact"]

"""What must not be stored, found and replaced: structured personal data and secrets. Pure, without NLP; light enough for the proxy.

    texts ──► detectors (secrets, e-mail, phone, card, IBAN, SSN, IP, street address) ──► spans ──► what was found in one text, in all
         ──► one winner where they overlap ──► placeholders `<KIND_n>`, the same for the same value over all texts of one `Redactor`

Redacting again changes nothing: it is repeated until no detector finds anything, and placeholders are opaque to every detector.
Left alone on purpose, since they identify nobody: loopback and unspecified addresses, netmasks, `git@host`, references such as
`${TOKEN}`, and stand-ins such as `xxxx` or `<your key>`.
"""

from services.core.redaction.redactor import Redacted, Redactor, redact
from services.core.redaction.spans import Kind

__all__ = ["Kind", "Redacted", "Redactor", "redact"]

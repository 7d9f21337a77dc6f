"""Names in free text, found by NER; structured PII is found in core.redaction."""

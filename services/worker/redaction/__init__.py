"""What a model of the language adds to redaction: names of people. Presidio's engine runs our recognizers, over one spaCy pipeline.

hidden text ──► NER, where a word could be a name ──► presidio: one recognizer for each kind of `core.redaction`, one for people ──► spans
"""

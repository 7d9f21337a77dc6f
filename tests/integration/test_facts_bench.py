"""The measurement of what is kept, on rows of each format it reads."""

import gzip
from pathlib import Path

import msgspec
import pytest

from services.core import errors
from services.embedded.bench import facts

_SNIPPETS = [
    {
        "text": "Decided to switch from Sphinx to MkDocs for the handbook. It was slow.",
        "memories": [{"type": "decision", "content": "Switching the handbook from Sphinx to MkDocs."}],
    },
    {"text": "Nice weather. Is Next.js good?", "memories": []},
    {"text": "My name is Ada.", "memories": []},
]
_PERSONA = {
    "conversation": "User 1: Hi! I'm a nurse.\nUser 2: I love to bake.\nUser 1: I like it too.\nUser 2: Do you have a cat?",
    "persona1": ["I am a nurse.", "I have a cat."],
    "persona2": ["I love to bake.", "I grew up in Peru."],
}
_GOLD = [
    {"words": "We use Postgres 15, is that ok?", "facts": [{"category": "technical_choice", "text": "We use Postgres 15"}]},
    {"words": "Sorry, Hamburg.", "context": ["I live in Berlin."], "facts": [{"category": "personal_info", "text": "I live in Hamburg"}]},
    {"words": "Forget that I like tea.", "facts": []},
]


def _write(folder: Path) -> None:
    (folder / "facts").mkdir()
    for name, rows in (("snippets_own.jsonl", _SNIPPETS), ("gold_facts_own.jsonl", _GOLD)):
        (folder / "facts" / name).write_bytes(b"\n".join(map(msgspec.json.encode, rows)))
    with gzip.open(folder / "facts" / "persona_chat_own.jsonl.gz", "wb") as out:
        out.write(msgspec.json.encode(_PERSONA))


def test_each_set_is_measured_by_its_own_rule(tmp_path: Path) -> None:
    _write(tmp_path)
    report = facts.measure(tmp_path, lambda *_: None)
    figures = report.figures
    assert (figures["rules.snippets.precision"], figures["rules.snippets.recall"]) == (0.5, 1.0)
    assert (figures["rules.persona.labels"], figures["rules.persona.recall"], figures["rules.persona.precision"]) == (2, 1.0, 1.0)
    assert (figures["rules.gold.precision"], figures["rules.gold.recall"], figures["rules.gold.categories"]) == (1.0, 1.0, 1.0)
    assert report.n == 3 + 4 + 3
    assert ("rules snippets", "not worth keeping", "1", "My name is Ada") in report.rows


def test_other_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text('{"question": "why?"}\n')
    with pytest.raises(errors.BadInput):
        facts.measure(tmp_path / "other.jsonl", lambda *_: None)
    with pytest.raises(errors.BadInput):
        facts.measure(tmp_path, lambda *_: None)

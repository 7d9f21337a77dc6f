"""Labelled sentences in, figures out: by the production engine, beside Presidio as it comes."""

import json
from pathlib import Path

import pytest

from services.core import errors
from services.core.redaction import Kind
from services.embedded import bench
from services.embedded.bench import pii
from services.embedded.bench.pii import Found

TEXT = "Ana Lopez lives at 254 Rowan Street, call +1 415 555 0132"


def row(text: str, *spans: tuple[str, str]) -> dict[str, object]:
    """A sentence as presidio-research writes it; of each span, its type and the words."""
    return {
        "full_text": text,
        "masked": text,
        "spans": [
            {"entity_type": kind, "entity_value": said, "start_position": text.index(said), "end_position": text.index(said) + len(said)}
            for kind, said in spans
        ],
        "template_id": 1,
        "metadata": None,
    }


def written(folder: Path, *rows: dict[str, object]) -> Path:
    (folder / "pii").mkdir()
    (folder / "pii" / "sentences.jsonl").write_text("\n".join(json.dumps(one) for one in rows))
    return folder


def test_sentences_are_measured(tmp_path: Path) -> None:
    data = written(
        tmp_path,
        row(TEXT, ("PERSON", "Ana Lopez"), ("STREET_ADDRESS", "254"), ("STREET_ADDRESS", "Rowan Street"), ("PHONE_NUMBER", "+1 415 555 0132")),
        row("My mail is bo@example.com, since 2019", ("EMAIL_ADDRESS", "bo@example.com"), ("DATE_TIME", "2019")),
        row("The office of Qzxv is closed", ("PERSON", "Qzxv")),
    )
    report = bench.run("pii", data=data, progress=lambda _stage, _share: None)
    assert report.n == 3
    assert report.figures["recall"] == pytest.approx(0.8)
    assert report.figures["precision"] == 1.0
    assert report.figures["address.recall"] == 1.0
    assert {"f2", "f2_strict", "f2_iou", "presidio.f2", "presidio.f2_without_addresses", "speed_ratio", "sentences_per_second"} <= set(report.figures)
    assert any("'Qzxv'" in note for note in report.notes)
    assert {len(line) for line in report.rows} == {len(report.columns)}


def compared(gold: list[Found], found: list[Found], match: pii.Match) -> pii.Count:
    (count,) = pii.compare(TEXT, gold, found, match).values()
    return count


ADDRESS = Found(Kind.ADDRESS, 19, 35)


@pytest.mark.parametrize(
    ("found", "match", "right"),
    [
        (ADDRESS, "strict", True),
        (Found(Kind.ADDRESS, 19, 30), "strict", False),
        (Found(Kind.ADDRESS, 19, 30), "iou", False),
        (Found(Kind.ADDRESS, 19, 30), "overlap", True),
        (Found(Kind.ADDRESS, 19, 36), "iou", True),
        (Found(Kind.ADDRESS, 36, 40), "overlap", False),
    ],
)
def test_how_much_two_spans_must_share(found: Found, match: pii.Match, right: bool) -> None:
    assert compared([ADDRESS], [found], match) == pii.Count(found=right, labelled=1, right=right, findings=1)


def test_pieces_of_one_type_with_only_blanks_between_are_one() -> None:
    assert compared([Found(Kind.ADDRESS, 19, 22), Found(Kind.ADDRESS, 23, 35)], [ADDRESS], "strict") == pii.Count(1, 1, 1, 1)


def test_another_type_is_missed_and_wrong() -> None:
    counts = pii.compare(TEXT, [ADDRESS], [ADDRESS._replace(kind=Kind.PERSON)], "overlap")
    assert counts == {Kind.ADDRESS: pii.Count(labelled=1), Kind.PERSON: pii.Count(findings=1)}


def test_recall_counts_more() -> None:
    assert pii.Count(found=9, labelled=10, right=5, findings=10).f2 == pytest.approx(5 * 0.5 * 0.9 / (4 * 0.5 + 0.9))
    assert pii.Count().f2 == 0.0


def test_data_without_sentences_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(errors.BadInput, match="full_text and spans"):
        bench.run("pii", data=written(tmp_path, {"text": "x"}), progress=lambda _stage, _share: None)

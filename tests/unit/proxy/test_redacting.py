"""Texts are looked at once if they are clean, and what comes out is what a redaction of all of them gives."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from services.core import config, redaction
from services.proxy import redacting

MAIL = "write to ana@example.com"
SECRET = "it is my password: Zx9kQw12"
CLEAN = "Zx9kQw12 is no word of anybody's"


class Looked:
    """What was looked through."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[str] = []
        self._redact_all = redaction.Redactor.redact_all
        monkeypatch.setattr(redaction.Redactor, "redact_all", self._looking())

    def _looking(self) -> object:
        def redact_all(redactor: redaction.Redactor, texts: Sequence[str]) -> list[redaction.Redacted]:
            self.texts += texts
            return self._redact_all(redactor, texts)

        return redact_all


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Looked:
    return Looked(monkeypatch)


def made(**knobs: int) -> redacting.Redacting:
    return redacting.Redacting(lambda _: None, **knobs)


def test_a_text_in_which_nothing_is_found_is_looked_at_once(looked: Looked) -> None:
    redact = made()
    assert [redact(["a", "b"]), redact(["b"]), redact(["b", "c", "a"])] == [["a", "b"], ["b"], ["b", "c", "a"]]
    assert looked.texts == ["a", "b", "c"]


def test_a_text_in_which_something_is_found_is_redacted_each_time() -> None:
    redact = made()
    assert [redact([MAIL]) for _ in range(2)] == [["write to <EMAIL_1>"]] * 2


@pytest.mark.parametrize(
    "texts", [[CLEAN, SECRET], [SECRET, CLEAN], [CLEAN, MAIL], [MAIL, SECRET, CLEAN, MAIL], [CLEAN, CLEAN], [], [""], ["x \ud800", MAIL]]
)
def test_what_comes_out_is_what_redacting_all_of_them_gives_whatever_was_seen_before(texts: list[str]) -> None:
    """A text that is clean on its own may hold what another one gives away."""
    expected = [one.text for one in redaction.Redactor().redact_all(texts)]
    redact = made()
    for seen in ([CLEAN], [MAIL], [SECRET], texts, texts):
        redact(seen)
    assert redact(texts) == expected


def test_each_replacement_is_told_once() -> None:
    told: list[redaction.Redacted] = []
    redact = redacting.Redacting(told.append)
    redact([CLEAN])
    redact([CLEAN, MAIL])
    assert [dict(one.counts) for one in told if one.counts] == [{"email": 1}]


def test_only_so_many_clean_texts_are_known_and_the_oldest_goes_first(looked: Looked) -> None:
    redact = made(most=2)
    for text in ("a", "b", "c", "b", "c"):
        redact([text])
    assert looked.texts == ["a", "b", "c"]
    redact(["a"])
    assert looked.texts == ["a", "b", "c", "a"]


def test_no_text_is_kept() -> None:
    redact = made()
    redact(["the zebra"])
    assert "zebra" not in repr(vars(redact))


def test_a_team_has_the_same_placeholder_for_a_value_in_each_of_its_turns() -> None:
    made = redacting.Redacting(lambda _: None, secret=lambda: "key")
    one, again, others = (made.within(team)([text])[0] for team, text in (("blue", MAIL), ("blue", f"{MAIL} again"), ("red", MAIL)))
    assert again == f"{one} again"
    assert others != one


def test_what_the_settings_keep_stays_and_the_rest_is_counted(tmp_path: Path) -> None:
    def counted() -> float:
        return REGISTRY.get_sample_value("brb_redactions_total", {"kind": "email"}) or 0.0

    before = counted()
    redact = redacting.Redacting.of(config.Settings(data_dir=tmp_path, redaction="ip=keep")).within("blue")
    assert redact([f"{MAIL} on 10.1.2.3"])[0].endswith("> on 10.1.2.3")
    assert counted() == before + 1

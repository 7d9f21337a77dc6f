"""What the setting says is done with each kind, and which settings are mistakes."""

import pytest

from services.core import config, errors
from services.core.redaction import Action, Kind, Policy, Redactor, policy


def test_by_default_all_is_replaced_but_names_of_people() -> None:
    assert {kind for kind in Kind if Policy().of(kind) is not Action.REDACT} == {Kind.PERSON}
    assert Policy().of(Kind.PERSON) is Action.KEEP


@pytest.mark.parametrize(
    "text", ["person=redact,ip=keep,iban=drop", "person=redact ip=keep; iban=drop", '{"person": "redact", "ip": "keep", "IBAN": "Drop"}']
)
def test_a_list_and_json_say_the_same(text: str) -> None:
    assert policy.parse(text) == Policy({Kind.PERSON: Action.REDACT, Kind.IP: Action.KEEP, Kind.IBAN: Action.DROP})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("people=redact", "'people' is no kind: secret, iban"),
        ("person=hide", "'hide' is no action: redact, keep, drop are"),
        ("person", "has no ="),
        ("person=keep,person=drop", "person is named twice"),
        ("secret=keep", "secrets are never stored"),
        ('{"person": ', "is no JSON object"),
        ('{"person": 3}', "'3' is no action"),
    ],
)
def test_a_mistake_says_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=r".*") as caught:
        policy.parse(text)
    assert said in str(caught.value)


def test_the_setting_is_read_and_its_mistakes_are_of_the_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRB_REDACTION", "ip=keep")
    assert config.load().redaction_policy.of(Kind.IP) is Action.KEEP
    monkeypatch.setenv("BRB_REDACTION", '{"ip": "keep"}')
    assert config.load().redaction_policy.of(Kind.IP) is Action.KEEP
    monkeypatch.setenv("BRB_REDACTION", "ip=maybe")
    with pytest.raises(errors.SetupError, match="BRB_REDACTION: 'maybe' is no action"):
        config.load()


def test_what_is_kept_stays_and_is_not_taken_for_anything_else() -> None:
    kept = Policy({Kind.IBAN: Action.KEEP})
    text = "pay to DE89 3704 0044 0532 0130 00, tell ana@example.com"
    assert Redactor(policy=kept).redact(text).text == "pay to DE89 3704 0044 0532 0130 00, tell <EMAIL_1>"


def test_a_text_is_dropped_for_the_placeholder_of_a_kind_that_is_to_be_dropped() -> None:
    dropping = Policy({Kind.CARD: Action.DROP})
    assert Redactor(policy=dropping).redact("4111 1111 1111 1111").text == "<CARD_1>"
    assert dropping.drops("my card is <CARD_1>")
    assert not dropping.drops("my mail is <EMAIL_1>")

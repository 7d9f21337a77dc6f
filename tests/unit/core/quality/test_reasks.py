"""Asking again and correcting, as a table."""

import pytest

from services.core.quality import reasks
from services.core.telemetry import Reask

R, C = Reask.REPEAT, Reask.CORRECTION


@pytest.mark.parametrize(
    ("words", "earlier", "expected"),
    [
        ("What is the name of our staging database?", ["What's our staging database's name?"], R),
        ("Again: which port does staging listen on?", ["Which port does staging listen on?"], R),
        ("which port does staging listen on", ["hello", "Which port does staging listen on?", "and what about caching?"], R),
        ("Wie heißt unsere Datenbank im Staging?", ["Wie heißt unsere Datenbank im Staging"], R),
        ("¿Cuándo sale el próximo lanzamiento del producto?", ["¿Cuándo sale el próximo lanzamiento del producto?"], R),
        ("Which port does production listen on?", ["Which port does staging listen on?"], None),
        ("What is 12 times 17?", ["What is 12 times 18?"], None),
        ("And why?", ["And why?"], None),
        ("What next?", ["What next?"], None),
        ("continue", ["continue"], None),
        ("Run the tests in tests/unit again", ["Run the tests in tests/unit"], None),
        ("No, that's wrong: the port is 5433", ["Which port is it?"], C),
        ("that's not right", ["Which port is it?"], C),
        ("I already told you that we use Postgres", ["What now?"], C),
        ("Actually it's Leoncio", ["My name is Leo"], C),
        ("No, it's on Friday", ["When do we meet?"], C),
        ("You forgot that I'm vegetarian", ["Suggest a dinner"], C),
        ("Das stimmt nicht, es ist Leipzig", ["Wo wohne ich?"], C),
        ("Ich habe dir doch schon gesagt, dass wir Postgres benutzen", ["Was nun?"], C),
        ("Non, c'est mardi", ["Quand ?"], C),
        ("Ya te lo dije: es Sevilla", ["¿Dónde trabajo?"], C),
        ("Nee, het is donderdag", ["Wanneer?"], C),
        ("Não, é o Porto", ["Onde moro?"], C),
        ("Non è vero, sono vegetariano", ["Cosa mangio?"], C),
        ("No thanks", ["More?"], None),
        ("No problem, go on", ["Is that fine?"], None),
        ("Is that wrong?", ["Check this proof"], None),
        ("I told you to use tabs later", ["x"], None),
        ("Actually, could you also add a test?", ["Write the function"], None),
        ("Nein danke", ["Noch etwas?"], None),
        ("", ["x"], None),
        ("x " * 400 + "that's wrong", ["x"], None),
    ],
)
def test_asking_again_and_correcting_are_told_from_going_on(words: str, earlier: list[str], expected: Reask | None) -> None:
    assert reasks.kind(words, earlier, answered=True) is expected


def test_before_there_is_an_answer_nothing_is_asked_again() -> None:
    assert reasks.kind("No, that's wrong", ["Which port is it?"], answered=False) is None
    assert reasks.kind("No, that's wrong", [], answered=True) is None


def test_only_the_latest_turns_are_looked_at() -> None:
    question = "Which port does staging listen on?"

    assert reasks.kind(question, [question, *["Something else entirely, please"] * reasks.LATEST], answered=True) is None

"""The demo's chapters, as text."""

import io

from rich.console import Console

from services.core import models
from services.embedded import demo_screen
from services.embedded.demo_story import Correction, Learnt, Request, Search, Story, Talk

SENT = '{"messages":[{"role":"user","content":[{"type":"text","text":"Où? [bold]"}]}]}'
STORY = Story(
    conversations=(
        Talk("My key is " + "k" * 90, "Noted.", 0),
        Talk("Où? [bold]", "I was told:\n- Postgres", 1),
        Talk("Actually it's Leoncio.", "Noted.", 1),
    ),
    redacted={"secret": 1, "email": 2},
    searched=Search(7, 2_500_000, ("leo@example.com",)),
    learnt=(Learnt(models.Category.PERSONAL_INFO, 0.9, "My name is Leo", ("My name is Leo",)),),
    request=Request(len(SENT.encode()), len(SENT.encode()) + 40, SENT, len(SENT.encode()) - 4, ',{"type":"text","text":"<b>\\n- Postgres\\n</b>"}'),
    correction=Correction("My name is Leoncio", ("My name is Leo",)),
    seconds=12.3,
)


def shown(**options: object) -> str:
    output = io.StringIO()
    demo_screen.show(STORY, Console(file=output, **options))  # type: ignore[arg-type]
    return output.getvalue()


def test_every_chapter_is_told_in_order() -> None:
    text = shown()
    places = [text.index(words) for words in ("email × 2, secret × 1", "0.90", "- Postgres", "arrived", "My name is Leoncio", "memories list")]
    assert places == sorted(places)
    assert "Où? [bold]" in text


def test_a_pipe_gets_no_colours_and_a_terminal_does() -> None:
    assert "\x1b" not in shown()
    assert "\x1b[" in shown(force_terminal=True, width=80)


def test_a_long_key_is_cut_on_screen() -> None:
    assert "k" * 29 not in shown()


def test_the_block_is_shown_with_its_line_breaks() -> None:
    lines = [line.strip("│ \n") for line in shown().splitlines()]
    assert "- Postgres" in lines
    assert "<b>" in lines

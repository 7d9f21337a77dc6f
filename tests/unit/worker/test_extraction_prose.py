import time

import pytest

from services.worker.extraction import prose


def _texts(words: str) -> list[str]:
    return [sentence.text for sentence in prose.sentences(words)]


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        ("I use vim. My name is Ana!", ["I use vim", "My name is Ana"]),
        ("Is Next.js good? We run v1.2.3 now", ["Is Next.js good", "We run v1.2.3 now"]),
        ("we like tools, e.g. ruff, a lot", ["we like tools, e.g. ruff, a lot"]),
        ("- I use vim\n2. I like tea", ["I use vim", "I like tea"]),
        ("I’m **very** fond of `pnpm`", ["I'm very fond of pnpm"]),
        ("my_var and snake_case *stay*", ["my_var and snake_case stay"]),
        ("my mail is <EMAIL_1>, write to <PERSON_2>", ["my mail is <EMAIL_1>, write to <PERSON_2>"]),
    ],
)
def test_words_fall_into_sentences_without_markup(words: str, texts: list[str]) -> None:
    assert _texts(words) == texts


@pytest.mark.parametrize(
    "pasted",
    [
        "```\nI use emacs\n```",
        "```python\nI use emacs",  # never closed
        "~~~\nI use emacs\n~~~",
        "<brb-memories scope='x'>I use emacs</brb-memories>",
        "<system-reminder>I use emacs</system-reminder>",
        "<pasted>I use emacs",
        "> I use emacs",
        "    I use emacs",
        'Traceback (most recent call last):\n  File "a.py", line 1\nI use emacs\n',
        "2024-05-01 12:00:01 INFO I use emacs",
        "ERROR: I use emacs",
        '{"editor": "I use emacs"}',
        '"editor": "I use emacs",',
        "+ I use emacs",
        "diff --git a/x b/x\n I use emacs\n",
        "name = 'I use emacs'",
        "TypeError: I use emacs",
        "Translate to German: I use emacs.",
        "Please summarize this email:\nHi all,\nI use emacs.",
        "Here is the ticket text:\nI use emacs.",
        "Bob wrote: I use emacs.",
    ],
)
def test_pasted_material_is_no_prose(pasted: str) -> None:
    assert not any("emacs" in text for text in _texts(f"I use vim.\n{pasted}"))
    assert "I use vim" in _texts(f"I use vim.\n{pasted}")


def test_own_setup_after_a_colon_is_prose() -> None:
    assert _texts("Here is my setup:\n- I use vim") == ["Here is my setup:", "I use vim"]


def test_every_part_of_a_sentence_leads_back_to_the_verbatim_words() -> None:
    words = "Hi.\n  We use  `pnpm`  and\tI’m Leo."
    second = prose.sentences(words)[1]
    start = second.text.index("pnpm")
    assert second.source(words, start, len(second.text)) == "pnpm`  and\tI’m Leo"


@pytest.mark.parametrize(("words", "quoted"), [('he said "I live in Rome" to me', True), ('we call it "Cockpit"', False)])
def test_somebody_elses_words_are_marked(words: str, quoted: bool) -> None:
    assert prose.sentences(words)[0].quoted is quoted


def test_of_long_words_only_head_and_tail_are_read() -> None:
    words = "I use vim.\n" + "filler words here.\n" * 60_000 + "My name is Ana."
    started = time.perf_counter()
    texts = _texts(words)
    assert time.perf_counter() - started < 1
    assert texts[0] == "I use vim"
    assert len(texts) <= prose.MAX_SENTENCES


@pytest.mark.parametrize("unit", ["<a ", "<a>", "a<b ", "no ", "a,", "``", '"', "so and but ", "- ", "<A_", "\\", "{", "(", "here is the "])
def test_no_repetition_is_slow(unit: str) -> None:
    started = time.perf_counter()
    prose.sentences(unit * (1_000_000 // len(unit)))
    assert time.perf_counter() - started < 2


def test_a_quotation_that_is_never_closed_is_not_slow() -> None:
    started = time.perf_counter()
    prose.sentences('I saw "The Father" ' + "and some other film " * 18)
    assert time.perf_counter() - started < 0.5


@pytest.mark.parametrize("words", ["", " \n\t ", "...", "?!", "\x00", "\ud800 lone", "🎉", "`", "**"])
def test_odd_words_raise_nothing(words: str) -> None:
    prose.sentences(words)

import subprocess
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.core.recall import budget

_OFFLINE = """
import socket
def refuse(*_args, **_named): raise SystemExit("it opened a socket")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from services.core.recall import budget
assert "splintr" not in __import__("sys").modules, "loaded before it is needed"
print(budget.tokens("tiktoken is great!"))
"""


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("hello world", 2),
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
        ("お誕生日おめでとう", 9),
    ],
)
def test_tokens_are_those_of_the_published_vocabulary(text: str, tokens: int) -> None:
    """The examples of OpenAI's cookbook on counting tokens, for cl100k_base."""
    assert budget.tokens(text) == tokens


def test_a_mark_of_the_vocabulary_is_ordinary_text() -> None:
    assert budget.tokens("<|endoftext|>") > 1


def test_a_lone_surrogate_is_counted() -> None:
    assert budget.tokens("a\ud800b") == budget.tokens("a?b")
    assert budget.head("a\ud800b", 1) == "a"


def test_the_vocabulary_comes_with_the_library() -> None:
    done = subprocess.run([sys.executable, "-c", _OFFLINE], capture_output=True, text=True, timeout=60, check=False)

    assert (done.stdout.strip(), done.stderr) == ("6", "")


@given(text=st.text() | st.text("ab1 \n.é中👍"), most=st.integers(-1, 12))
def test_a_head_begins_the_text_and_stays_within_the_tokens(text: str, most: int) -> None:
    start = budget.head(text, most)

    assert text.startswith(start)
    assert budget.tokens(start) <= max(0, most)
    assert start == text or budget.tokens(text) > most


@pytest.mark.parametrize(
    ("text", "most", "start"),
    [
        ("alpha beta gamma", 2, "alpha beta"),
        ("we use antidisestablishmentarianism", 5, "we use "),  # not half of the word
        ("antidisestablishmentarianism", 3, "antidisestablish"),  # which is all there is
        ("👍👍", 2, ""),  # a character of three tokens is not cut
        ("alpha", 0, ""),
    ],
)
def test_a_head_ends_between_words_where_it_can(text: str, most: int, start: str) -> None:
    assert budget.head(text, most) == start


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(["head", *lines, "end"])


def _shorter(line: str, most: int) -> str | None:
    return budget.head(line, most) if most > 2 else None


WORDS = "one two three four five six seven eight nine ten"


@pytest.mark.parametrize(
    ("lines", "most", "kept"),
    [
        ([], 10, ()),
        (["a b", "c d"], 10, ("a b", "c d")),
        (["a b", WORDS, "c d"], 10, ("a b", "c d")),  # passed over: a smaller one after it fits
        ([WORDS, "a b"], 10, ("one two three four five six",)),  # the first is cut
        ([WORDS, "a b"], 6, ("a b",)),  # too little of it would be left
        ([WORDS], 3, ()),
        ([WORDS], 0, ()),
    ],
)
def test_what_fits_is_kept_best_first_and_never_nothing(lines: list[str], most: int, kept: tuple[str, ...]) -> None:
    assert budget.fit(lines, most, whole=_joined, shorter=_shorter) == kept


@given(lines=st.lists(st.text(max_size=60), max_size=6), most=st.integers(0, 60))
def test_the_whole_never_takes_more(lines: list[str], most: int) -> None:
    kept = budget.fit(lines, most, whole=_joined, shorter=_shorter)

    assert not kept or budget.tokens(_joined(kept)) <= most

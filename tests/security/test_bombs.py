"""Small things that were made to become large: coded answers, and texts that patterns look through again and again."""

import gzip
import time
import tracemalloc
import zlib
from collections.abc import Callable

import pytest

from services.core import instructions, redaction
from services.core.adapters import bm25
from services.core.recall import asking, intent, query, rewriting
from services.proxy import framing
from services.proxy.wire import client_words, projects, routes, sse, words
from services.proxy.wire.answers import read

BOMB = bytes(80_000_000)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_an_answer_that_swells_is_not_read(coding: str) -> None:
    packed = gzip.compress(BOMB, 9) if coding == "gzip" else zlib.compress(BOMB, 9)
    assert len(packed) < 100_000

    assert sse.decoded(packed, coding) is None


def test_an_answer_that_was_coded_again_and_again_is_not_read() -> None:
    body = b"data: x\n\n"
    for _ in range(4):
        body = gzip.compress(body)

    assert sse.decoded(body, "gzip, gzip,gzip ,gzip") == b"data: x\n\n"
    assert sse.decoded(gzip.compress(body), ", ".join(["gzip"] * 5)) is None
    assert sse.decoded(b"", ",".join(["identity"] * 50_000)) is None


def test_an_answer_of_a_million_pieces_is_given_up_early() -> None:
    piece = gzip.compress(b"")
    started = time.process_time()

    assert sse.decoded(piece * 50 + gzip.compress(b"end"), "gzip") == b"end"
    assert sse.decoded(piece * 200_000, "gzip") is None
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize("line", [b"\n", b"ab\n", b"data:x\n", b"data:x\n\n", b"\r\n", b":\r"])
@pytest.mark.parametrize("route", [routes.Route.MESSAGES, routes.Route.CHAT, routes.Route.RESPONSES])
def test_a_stream_of_many_short_lines_takes_no_more_memory_than_its_bytes(route: routes.Route, line: bytes) -> None:
    body = line * (200_000 // len(line))
    tracemalloc.start()
    try:
        read(route, "text/event-stream", "", [body])
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 3 * len(body)


# Patterns: CPU time may grow with a text's length, and not with its square

LOOKED_THROUGH: dict[str, Callable[[str], object]] = {
    "redaction": lambda text: redaction.Redactor().redact_all([text]),
    "instructions": instructions.reason,
    "identifiers": bm25.indexed,
    "query": query.parse,
    "intent": lambda text: intent.of(text, 1.79e9),
    "vague": rewriting.is_vague,
    "own": asking.own,
    "listing": asking.listing,
    "words": lambda text: words.of_person([text]),
    "client's words": lambda text: client_words.by_block([text]),
    "working directory": lambda text: projects.stated([text]),
    "framing": lambda text: framing.neutral(text, 1_000_000),
}
UNITS = [
    "a",
    "1",
    " ",
    "-",
    ".",
    "@",
    "a.",
    "a-",
    "a@",
    "1-",
    "://",
    "<",
    "[[",
    "((",
    '"',
    "`",
    "\\",
    "=",
    ":",
    "\n",
    "\r\n",
    "\n\n a",
    " \n",
    "!\n",
    ".\n",
    "Mr. ",
    "Ab Cd. ",
    "1 Main ",
    "aA1",
    "a,",
    ", ",
    "the ",
    "and ",
    "my ",
    "password ",
    "password: ",
    "password is ",
    "key=",
    "-----BEGIN ",
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "eyJa.",
    "a/",
    "../",
    "**a",
    "_a",
    "|",
    "${",
    "<a",
    "</",
    "<brb",
    "<system-reminder>",
    "<cwd>",
    "working directory: ",
    "é",
    "\u00a0",
    "\u200b",
    "never ",
    "ignore ",
    "you must ",
    "- ",
    "> ",
    "[a](",
    "![a](",
    "user:pass@",
    "192.168.",
    "1.1.1.1 ",
    "fe80:",
    "4111 ",
    "+49 30 ",
    "apikey",
    "username",
    "usernameapikey_",
    "sk-",
    "curl -u ",
    "export A=",
]
SHORT, TIMES = 2_000, 4
FLOOR_SECONDS = 0.15  # under it a ratio is noise
MOST_SECONDS_A_KB = 0.06


@pytest.mark.parametrize("name", LOOKED_THROUGH)
def test_no_text_is_looked_through_again_and_again(name: str) -> None:
    look = LOOKED_THROUGH[name]
    look("Some words to warm it up.")
    wrong = []
    for unit in UNITS:
        longer = taken(look, unit, SHORT * TIMES)
        if longer > FLOOR_SECONDS:
            shorter = taken(look, unit, SHORT)
            if longer > 2 * TIMES * shorter or longer > MOST_SECONDS_A_KB * SHORT * TIMES / 1024:
                wrong.append(f"{unit!r}: {SHORT} characters take {shorter:.3f} s, {SHORT * TIMES} take {longer:.3f} s")
    assert not wrong, "\n".join(wrong)


def taken(look: Callable[[str], object], unit: str, length: int) -> float:
    """CPU seconds, of this thread alone."""
    text = "x " + (unit * (length // len(unit) + 1))[:length] + "!"
    started = time.thread_time()
    look(text)
    return time.thread_time() - started


@pytest.mark.parametrize("word", ["username", "apikey", "pass", "a", "my", "credentials", "pwdb", "the_", "nonull"])
def test_a_made_up_password_of_many_stand_ins_is_looked_at_once(word: str) -> None:
    """120 characters took 26 seconds once: each of its words could be read in two ways."""
    started = time.thread_time()
    redaction.Redactor().redact_all([f"my password is {word * 40}!"])
    assert time.thread_time() - started < 0.5

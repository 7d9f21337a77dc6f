import time

import pytest

from services.core import block

ITEMS = "- [private, me, 2026-10-01] My name is Leo\n- [private, me, 2026-10-02] I prefer dark mode\n"
BEGINNING = f"{block.OPEN}\n{block.HEADING}, recalled on 2026-10-12: statements.\n{ITEMS}"
BLOCK = BEGINNING + block.CLOSE


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", ""),
        ("My name is Leo", "My name is Leo"),
        (BLOCK, ""),
        (f"before {BLOCK} after", "before  after"),
        (f"a{BLOCK}b{BLOCK}c", "abc"),
        (f"{BEGINNING}and my own words", "and my own words"),
        (BEGINNING, ""),
        (f"see {BEGINNING}", "see "),
        (f"{BEGINNING}mine\n{BLOCK}", "mine\n"),
        (f"what does {block.OPEN} mean?\nI wonder.", f"what does {block.OPEN} mean?\nI wonder."),
        (f"what does {block.OPEN} mean? {BLOCK} ok", f"what does {block.OPEN} mean?  ok"),
        (f"a stray {block.CLOSE} stays", f"a stray {block.CLOSE} stays"),
        (f"{BLOCK}mine {block.CLOSE} stays", f"mine {block.CLOSE} stays"),
        ("- [x] a list of mine", "- [x] a list of mine"),
    ],
)
def test_own_blocks_are_taken_out_and_nothing_else(text: str, left: str) -> None:
    assert block.strip(text) == left


@pytest.mark.parametrize("piece", [block.OPEN, block.CLOSE, BLOCK, BEGINNING, "<brb-", "<", block.OPEN + block.OPEN + block.CLOSE])
def test_taking_out_is_linear(piece: str) -> None:
    started = time.perf_counter()

    block.strip(piece * (4_000_000 // len(piece)))

    assert time.perf_counter() - started < 4

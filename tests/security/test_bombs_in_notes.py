"""Notes that were made to keep their readers busy: the time for one grows with its length, and not with its square."""

import gc
import time
from collections.abc import Callable

import pytest

from services.core.notes import markdown, page, passages
from services.proxy.web import prose

TIMES = 4
FLOOR_SECONDS = 0.15  # under it a ratio is noise
LONG, LONGER = 10_000, 200_000  # what costs most a character shows it early


def repeated(unit: str) -> Callable[[int], str]:
    return lambda length: (unit * (length // len(unit) + 1))[:length]


def both(one: str, other: str) -> Callable[[int], str]:
    """As many of the one as of the other behind them."""
    return lambda length: repeated(one)(length // 2) + repeated(other)(length // 2)


def runs(mark: str, between: str) -> Callable[[int], str]:
    """Ever longer ones, none of which closes another."""
    return lambda length: between.join(mark * count for count in range(1, int((2 * length) ** 0.5)))


def heading(shape: Callable[[int], str]) -> Callable[[int], str]:
    return lambda length: "# " + shape(length)


SHAPES: list[tuple[str, Callable[[int], str], int]] = [
    *((repr(unit), repeated(unit), LONG) for unit in ("[", "![", "[]", "*", "**a", "*a_ ", "`", "<", "&", "\\", "|a", "> ", "- ", "\t", "#")),
    *(
        (repr(unit), repeated(unit), LONG)
        for unit in ("[a](", '[a](b "', "[a](<b", "<a b='", "x <!--", "<?", "<![CDATA[", "<http://a", "<a@b", "&#x41;")
    ),
    *((repr(unit), repeated(unit), LONG) for unit in ("[[a", "[[a]] ", "#a ", "@a.b", "http://a) ", "[a]: b\n", "[a\n", "[a]:\n", "[a][")),
    *((repr(unit), repeated(unit), LONG) for unit in ("# a\n", "#\n", "a\n=\n", "# a\nb\n", "a\n", "- a\n", "1) a\n1. b\n", "> - ", "> ```\n")),
    *((repr(unit), repeated(unit), LONG) for unit in ("```a\n", "|a|b|\n|-|-|\n|c|d|\n\n", "<div>\n\n", "---\n", "    a\n", "~~a ~~b~")),
    ("brackets", both("[", "]"), LONG),
    ("images", both("![", "]"), LONG),
    ("links", both("[", "](a)"), LONG),
    ("quotations of lines", both(">", "a\n"), LONG),
    ("a wide table", lambda length: "\n".join(repeated(cell)(length // 3) for cell in ("|a", "|-", "|b")), LONG),
    ("stairs of lists", lambda length: "\n".join(" " * (2 * depth) + "- a" for depth in range(int(length**0.5))), LONG),
    ("sections", both("# a\n", "- a\n"), 38_000),
    ("backticks", runs("`", "e"), LONGER),
    ("fences", runs("`", "\n"), LONGER),
    ("an address", lambda length: "http://a" + repeated(").")(length), LONGER),
    ("a heading of brackets", heading(repeated("[")), LONGER),
    ("a heading of images", heading(both("![", "]")), LONGER),
    ("a heading of backticks", heading(runs("`", "e")), LONGER),
]


@pytest.mark.parametrize(("read", "longest"), [(page.parse, LONGER), (prose.html, 2 * LONG)], ids=["page", "html"])
def test_no_note_is_read_again_and_again(read: Callable[[str], object], longest: int) -> None:
    read("Some *words* to [warm] it up.")
    wrong = []
    for name, shape, most in SHAPES:
        length = min(most, longest)
        longer = taken(read, shape(length))
        if longer > FLOOR_SECONDS:
            shorter = taken(read, shape(length // TIMES))
            if longer > 2 * TIMES * shorter:
                wrong.append(f"{name}: {length // TIMES} characters take {shorter:.3f} s, {length} take {longer:.3f} s")
    assert not wrong, "\n".join(wrong)


def taken(read: Callable[[str], object], text: str) -> float:
    """CPU seconds, of this thread alone, and without the collector, which looks through all that the test's process has."""
    gc.disable()
    try:
        started = time.thread_time()
        read(text)
        return time.thread_time() - started
    finally:
        gc.enable()


def test_a_long_heading_is_text() -> None:
    """Else it would go with every piece below it, and be in none."""
    short, long = "h" * markdown.LONGEST_HEADING, "l" * (markdown.LONGEST_HEADING + 1)
    pieces = page.parse(f"# {short}\n\none\n\n# {long}\n\ntwo\n\n{long} [[there]]\n---\nthree").pieces
    assert [piece.headings for piece in pieces] == [(short,), (short,)]
    assert pieces[0].text.startswith(f"one\n\n# {long}\n\ntwo")
    assert pieces[1].text.endswith("---\nthree")
    assert pieces[1].entities[0].value == "there"


def test_a_page_of_headings_is_cut_by_its_length() -> None:
    """Each piece is embedded and stored by itself."""
    few = page.parse("# a\nb\n" * (passages.MOST_SECTIONS - 1))
    assert len(few.pieces) == passages.MOST_SECTIONS - 1
    text = "# a\nb\n" * passages.MOST_SECTIONS
    many = page.parse(text)
    assert len(many.pieces) <= 2 * len(text) / passages.LONGEST + 1
    assert sum(piece.text.count("b") for piece in many.pieces) == passages.MOST_SECTIONS
    assert many.title == "a"

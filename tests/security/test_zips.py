"""ZIPs that were made to do harm, given to `brb memories import`: it says what is wrong, ends with a status that tells, and takes little memory."""

import contextlib
import io
import json
import stat
import struct
import sys
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from attackers import effort
from hypothesis import given
from hypothesis import strategies as st

from services.cli.__main__ import main
from services.cli.imports import sources
from services.core import errors

SAID = json.dumps([{"mapping": {}, "title": "x" * 300, "n": number} for number in range(20)])
_CENTRAL = b"PK\x01\x02"
MOST_BYTES = 5_000_000
MANY = 500


def zipped(*files: tuple[str | zipfile.ZipInfo, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in files:
            archive.writestr(name, content, method)
    return made.getvalue()


def said_otherwise(raw: bytes, offset: int, form: str, value: int) -> bytes:
    """With another value in the first entry of the list that stands at the end."""
    changed = bytearray(raw)
    struct.pack_into(form, changed, changed.find(_CENTRAL) + offset, value)
    return bytes(changed)


def link(name: str, target: str) -> tuple[zipfile.ZipInfo, str]:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, target


GROWS = zipped(("conversations.json", b" " * 30_000_000))
HARM = {
    "it grows without end": (lambda: GROWS, 2, "would grow to 30000000 bytes"),
    "it says that it grows little": (lambda: said_otherwise(GROWS, 24, "<I", 10), 1, "can't be read on"),
    "a ZIP within": (lambda: zipped(("conversations.zip", GROWS)), 2, "nothing to import"),
    "too many files": (lambda: zipped(*((f"conversations-{number}.json", "") for number in range(MANY + 1))), 2, "at most 500 of"),
    "a name that leads out": (lambda: zipped(("../conversations.json", "[]")), 2, "Nothing was read"),
    "an absolute name": (lambda: zipped(("/etc/conversations.json", "[]")), 2, "Nothing was read"),
    "no name": (lambda: said_otherwise(zipped(("a", "[]")), 28, "<H", 0), 2, ""),
    "a link": (lambda: zipped(link("conversations.json", "/etc/passwd")), 2, "of no format that is known"),
    "encrypted": (lambda: said_otherwise(zipped(("conversations.json", "[]")), 8, "<H", 1), 2, "is encrypted"),
    "packed otherwise": (lambda: zipped(("conversations.json", "[]"), method=zipfile.ZIP_LZMA), 2, "unpack it first"),
    "of a version to come": (lambda: said_otherwise(zipped(("conversations.json", "[]")), 6, "<H", 255), 2, "no whole ZIP"),
    "half of it": (lambda: zipped(("conversations.json", SAID * 100))[:-400], 2, ""),
}


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """What the command imports is none of its memory."""
    with zipfile.ZipFile(io.BytesIO(WHOLE[0])), sources.opened(Path(__file__)):
        runs("--version")


def runs(*given: str) -> int:
    """The exit status of the command."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["brb", *given])
        patched.setattr(sources, "MOST_FILES", MANY)
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0)


@contextlib.contextmanager
def little_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("what", HARM)
def test_what_is_made_to_do_harm_is_told_and_takes_little(tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    make, status, says = HARM[what]
    path = tmp_path / "export.zip"
    path.write_bytes(make())
    with little_memory():
        assert runs("memories", "import", str(path), "--dry-run") == status
    assert says in capsys.readouterr().err


WHOLE = [zipped(("conversations.json", SAID), ("conversations-é.json", "[1]"), method=method) for method in sorted(sources.PACKED)]
CHANGES = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4)


@given(st.sampled_from(WHOLE), CHANGES, st.integers(0, 40), st.booleans())
@effort(150)
def test_a_damaged_zip_is_told_of_and_no_mistake(raw: bytes, changes: list[tuple[float, int]], cut: int, only_list: bool) -> None:
    damaged = bytearray(raw)
    begin = damaged.find(_CENTRAL) if only_list else 0
    for where, value in changes:
        damaged[begin + int(where * (len(damaged) - begin))] = value
    with pytest.MonkeyPatch.context() as patched, little_memory(), contextlib.suppress(errors.BadInput):
        patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bytes(damaged[: len(damaged) - cut] if cut > 30 else damaged))))
        with sources.opened(Path("-")) as documents:
            for document in documents:
                with contextlib.suppress(*sources.UNREADABLE), document.open() as stream:
                    while stream.read(65_536):
                        pass

"""The project that a client is at work in, by the working directory that it states."""

import html
import re
from collections.abc import Iterable

_WORKING_DIRECTORY = re.compile(r"ork(?:ing|space) [Dd]irectory: *(\S[^\r\n]*)")  # begins with plain letters: fast over a long system prompt
_STATED_ALONE = re.compile(r"[ \t>*-]*(?:(?:primary|current) )?w", re.IGNORECASE)
_STATED_WITHIN = re.compile(r".*\Ww", re.IGNORECASE)
_STATED_CHARS = 80  # before a working directory, that tell how it is stated
_CWD = re.compile(r"<cwd>([^<]+)</cwd>")


def stated(texts: Iterable[str]) -> str:
    """The working directory that texts of the client state, oldest first: the last one counts; "" if none does.

    Never give it words of a person. A directory stands behind "working directory:" or in `<cwd>…</cwd>`, of which the first in a text counts.
    """
    paths = [path for text in texts for path in _paths(text)]
    return paths[-1] if paths else ""


def _paths(text: str) -> list[str]:
    if "<cwd>" in text and (cwd := _CWD.search(text)):
        return [html.unescape(cwd[1]).strip()]
    if "irectory:" not in text:
        return []
    return [path for match in _WORKING_DIRECTORY.finditer(text) if (path := _path(match))]


def _path(stated: re.Match[str]) -> str:
    """The rest of a line of its own; within a sentence the next word; "" if something else is stated ("networking directory: …")."""
    line = max(0, stated.start() - _STATED_CHARS)
    before = stated.string[max(line, stated.string.rfind("\n", line, stated.start()) + 1) : stated.start()]
    if _STATED_ALONE.fullmatch(before):
        named = stated[1]
    elif _STATED_WITHIN.fullmatch(before):
        named = stated[1].split()[0].rstrip(".,;)")
    else:
        return ""
    return named.strip(" \t`\"'").rstrip("/") or "/"

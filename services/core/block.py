"""The tag around what BRB inserts into a conversation, and its removal from texts that come back with it."""

import re

TAG = "brb-memories"
OPEN = f"<{TAG}>"
CLOSE = f"</{TAG}>"
HEADING = "Reference data from BRB, the memory of the person in this conversation"
"""How the line after the opening tag begins."""
ITEM = "- ["
"""How the line of each memory begins."""

_MARK = re.compile(f"{re.escape(OPEN)}|{re.escape(CLOSE)}")


def strip(text: str) -> str:
    """The text without BRB's own blocks, also where only the beginning of one was pasted. Linear in the length of the text."""
    kept: list[str] = []
    done = 0
    opened: int | None = None
    for mark in _MARK.finditer(text):
        if mark.group() == OPEN:
            opened = mark.start()
        elif opened is not None:
            kept.append(_without_open_blocks(text[done:opened]))
            done, opened = mark.end(), None
    kept.append(_without_open_blocks(text[done:]))
    return "".join(kept)


def _without_open_blocks(text: str) -> str:
    """A block that was cut off goes as far as its lines can be told: the tag, the heading, the items. A mere mention of the tag stays."""
    start = f"{OPEN}\n{HEADING}"
    before, *rest = text.split(start)
    return "".join([before, *(_after_items(part) for part in rest)])


def _after_items(text: str) -> str:
    lines = text.splitlines(keepends=True)
    own = 1
    while own < len(lines) and lines[own].startswith(ITEM):
        own += 1
    return "".join(lines[own:])

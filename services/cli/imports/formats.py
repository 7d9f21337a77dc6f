"""What a document is, by what it begins with."""

from collections.abc import Callable, Iterator
from pathlib import PurePath

from services.cli.imports import archive, brain_kit, chatgpt, claude, claude_code, claude_md, mem0, records
from services.cli.imports.items import Document, Format, Item, Wanted

Reader = Callable[[Document, Wanted], Iterator[Item]]

READERS: dict[Format, Reader] = {
    "brb": archive.read,
    "chatgpt": chatgpt.read,
    "claude": claude.read,
    "claude-code": claude_code.read,
    "claude-md": claude_md.read,
    "mem0": mem0.read,
    "brain-kit": brain_kit.read,
}
# Names of fields that only one format has, at the top or in the first item of a list.
_TELLING: dict[str, Format] = {"mapping": "chatgpt", "chat_messages": "claude", "memory": "mem0", "sessionId": "claude-code", "pages": "brain-kit"}
_TOP: dict[str, Format] = {"results": "mem0", "memories": "mem0"}


def detect(document: Document) -> Format | None:
    """None if it is none of those that are known."""
    if PurePath(document.name).suffix.lower() in (".md", ".markdown"):
        return "claude-md"
    seen: set[str] = set()
    with document.open() as opened:
        for prefix, event, value in records.head(opened):
            if prefix == "format" and value == "brb-archive":
                return "brb"
            name = str(value) if event == "map_key" else ""
            depth = prefix.removesuffix("item").strip(".")
            if not name or depth not in ("", "conversations", "pages", "results", "memories"):
                continue
            if name in _TELLING:
                return _TELLING[name]
            if prefix == "" and name in _TOP and "format" not in seen:
                return _TOP[name]
            seen.add(name)
            if {"title", "content"} <= seen:
                return "brain-kit"
    return _by_names(seen)


def _by_names(seen: set[str]) -> Format | None:
    if "content" in seen and seen & {"user_id", "app_id", "state", "created_at"}:
        return "mem0"
    return "claude-code" if "type" in seen and seen & {"leafUuid", "messageId", "sessionId"} else None

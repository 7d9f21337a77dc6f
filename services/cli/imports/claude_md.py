"""Rules of a project as people write them for assistants: `CLAUDE.md`, `AGENTS.md`, `.claude/rules/*.md`, and what these import (`@path`).

Each bullet, and each paragraph, is a statement. One that does not stand alone is led by the words before its list, or by its heading. Code, tables
and comments are no statements. Imports are followed within the folder of the project only, since whoever wrote the file decides what they name.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from services.cli.imports.items import Document, Item, Skipped, Wanted
from services.core import api, import_api

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_DEEPEST = 5  # imports of imports, as Claude Code follows them
_LARGEST_BYTES = 1_000_000
_ALONE_WORDS = 4
_MATTER = re.compile(r"\A---[ \t]*\n.*?^---[ \t]*$", re.DOTALL | re.MULTILINE)
_IMPORT = re.compile(r"(?:^|(?<=\s))@((?:\\ |[^\s\\])+)")
_TEXTS = (".md", ".markdown", ".txt")


class Rule(NamedTuple):
    """A statement under its headings, outermost first."""

    text: str
    headings: tuple[str, ...]


class Rules(NamedTuple):
    rules: tuple[Rule, ...]
    imports: tuple[str, ...]


def read(document: Document, wanted: Wanted) -> Iterator[Item]:
    with document.open() as stream:
        content = stream.read(_LARGEST_BYTES + 1)
    project = _project(document.path) if wanted.project is None else wanted.project
    root = _root(document.path) if document.path else None
    yield from _statements(document.name, content, document.path, document.modified_at, project, root, [])


def parse(text: str) -> Rules:
    """What a text states, and what it imports."""
    body = _MATTER.sub("", text.removeprefix("\ufeff").replace("\r\n", "\n"), count=1)
    rules: list[Rule] = []
    imports: list[str] = []
    headings: list[tuple[int, str]] = []
    leads: list[str] = [""]  # of the text itself, and of each list item around
    level, tabled = 0, False
    for token in _markdown().parse(body):
        if token.type == "heading_open":
            level = int(token.tag[1:])
        elif token.type == "list_item_open":
            leads.append("")
        elif token.type == "list_item_close":
            leads.pop()
        elif token.type in ("table_open", "table_close"):
            tabled = token.type == "table_open"
        elif token.type == "inline" and not tabled:
            said = _plain(token)
            if level:
                headings = [*(each for each in headings if each[0] < level), (level, said)]
                leads, level = [""], 0
                continue
            imports += _imports(token)
            if said.endswith(":"):
                leads[-1] = said
                continue
            lead = next((each for each in reversed(leads[:-1]) if each), "")
            leads[-1] = leads[-1] if len(leads) > 1 else ""
            if _IMPORT.sub("", said).strip():
                rules.append(Rule(_standing(said, lead, headings), tuple(text for _, text in headings)))
    return Rules(tuple(rules), tuple(dict.fromkeys(imports)))


def _statements(
    name: str, content: bytes, path: Path | None, modified_at: float, project: str, root: Path | None, above: list[Path]
) -> Iterator[Item]:
    if len(content) > _LARGEST_BYTES:
        yield Skipped(name, f"it has more than {_LARGEST_BYTES} bytes: that is no file of rules")
        return
    try:
        found = parse(content.decode())
    except UnicodeDecodeError:
        yield Skipped(name, "it is no text in UTF-8")
        return
    for rule in found.rules:
        if len(rule.text) > api.LONGEST_TEXT:
            yield Skipped(f"{name}: {rule.text[:40]}…", f"it has {len(rule.text)} characters: a statement has at most {api.LONGEST_TEXT}")
            continue
        digest = hashlib.sha256(rule.text.encode(errors="surrogatepass")).hexdigest()[:32]
        yield import_api.Turn(
            id=f"{project[-400:]} {digest}",
            said_at=modified_at,
            words=(rule.text,),
            context=rule.headings,
            project=project,
            session=name[-api.LONGEST_NAME :],
            statement=True,
        )
    for wanted in found.imports:
        yield from _imported(wanted, path, project, root, [*above, *([path] if path else [])])


def _imported(wanted: str, path: Path | None, project: str, root: Path | None, above: list[Path]) -> Iterator[Item]:
    if path is None or root is None:
        return
    try:
        meant = (path.parent / Path(wanted).expanduser()).resolve()
        if not meant.is_file() or meant in above:
            return
        place = f"{path}: @{wanted}"
        if not meant.is_relative_to(root):
            yield Skipped(place, "it lies outside of the project: import it by itself")
        elif meant.suffix.lower() not in _TEXTS:
            return
        elif len(above) > _DEEPEST:
            yield Skipped(place, f"imports of imports are followed {_DEEPEST} times")
        else:
            content = meant.read_bytes() if meant.stat().st_size <= _LARGEST_BYTES else b" " * (_LARGEST_BYTES + 1)
            yield from _statements(str(meant), content, meant, meant.stat().st_mtime, project, root, above)
    except (OSError, RuntimeError, ValueError) as error:  # a home folder that is unknown; a name that no file can have
        yield Skipped(f"{path}: @{wanted}", f"it can't be read: {error}")


def _root(path: Path) -> Path:
    """The folder of the project that a file of rules belongs to."""
    resolved = path.resolve()
    inside = [parent for parent in resolved.parents if parent.name == ".claude"]
    return inside[-1].parent if inside else resolved.parent


def _project(path: Path | None) -> str:
    """What a person wants of every project belongs to none."""
    if path is None:
        return ""
    root = _root(path)
    return "" if root == Path.home() else str(root)


def _standing(said: str, lead: str, headings: list[tuple[int, str]]) -> str:
    if lead:
        return f"{lead} {said}"
    if len(said.split()) < _ALONE_WORDS and headings:
        return f"{headings[-1][1]}: {said}"
    return said


def _plain(token: "Token") -> str:
    """Without marks, addresses of links and images."""
    pieces = []
    for child in token.children or ():
        if child.type in ("text", "code_inline"):
            pieces.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
    return " ".join("".join(pieces).split())


def _imports(token: "Token") -> list[str]:
    text = "".join(child.content if child.type == "text" else " " for child in token.children or ())
    named = (found.replace("\\ ", " ").rstrip(".,;:)") for found in _IMPORT.findall(text))
    return [each for each in named if "/" in each or each.lower().endswith(_TEXTS)]


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"maxNesting": 40}).enable("table")

"""The blocks of a markdown text, by markdown-it."""

import itertools
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

LONGEST_HEADING = 500
"""Characters. What is longer is text: a heading goes with every piece below it, and what stands inside of it is parsed."""


class Heading(NamedTuple):
    """level: 1 to 6. text: without its marks. lines: where it stands, from and up to."""

    level: int
    text: str
    lines: tuple[int, int]


class Document(NamedTuple):
    """headings: those that belong to no quotation or list, and are no longer than `LONGEST_HEADING`. starts: the lines on which blocks and list items
    begin, so that text may be cut there. prose: the source of what is not code, block by block. targets: of the link definitions."""

    lines: tuple[str, ...]
    headings: tuple[Heading, ...]
    starts: tuple[int, ...]
    prose: tuple[str, ...]
    targets: tuple[str, ...]


def read(text: str) -> Document:
    env: dict[str, dict[str, dict[str, str]]] = {}
    tokens = _blocks().parse(text, env)
    starts = {token.map[0] for token in tokens if token.map and (token.level == 0 or token.type == "list_item_open")}
    return Document(
        lines=tuple(text.split("\n")),
        headings=tuple(_headings(tokens)),
        starts=tuple(sorted(starts)),
        prose=tuple(token.content for token in tokens if token.type == "inline"),
        targets=tuple(definition["href"] for definition in env.get("references", {}).values()),
    )


def _headings(tokens: list[Token]) -> Iterator[Heading]:
    for token, inside in itertools.pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map and len(inside.content) <= LONGEST_HEADING:
            yield Heading(int(token.tag[1:]), _plain(inside.content), (token.map[0], token.map[1]))


def _plain(markup: str) -> str:
    inline = _inline().parseInline(markup)[0].children or []
    return " ".join("".join(child.content if child.type in ("text", "code_inline") else " " for child in inline if child.nesting == 0).split())


@cache
def _blocks() -> MarkdownIt:
    """Blocks only: what stands inside of them is not parsed."""
    return MarkdownIt("commonmark").disable("inline")


@cache
def _inline() -> MarkdownIt:
    return MarkdownIt("commonmark")

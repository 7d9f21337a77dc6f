"""A note's markdown as HTML that does nothing: no raw HTML, no images from elsewhere, no styles, and links that don't say where one came from."""

from collections.abc import Iterable, Iterator
from functools import cache
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

LONGEST = 200_000
"""Characters that are rendered; of a longer note the beginning."""
_SCHEMES = frozenset({"http", "https", "mailto"})
_TOP = 1  # levels that the page's own headings take


def html(text: str) -> Markup:
    """text: markdown without front matter."""
    parser = _parser()
    tokens = parser.parse(text[:LONGEST])
    for token in tokens:
        token.attrs.pop("style", None)  # the alignment of a table's cells
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + _TOP)}"
        if token.children:
            token.children = [*_harmless(token.children)]
    return Markup(parser.renderer.render(tokens, parser.options, {}))  # noqa: S704 - markdown-it escapes all text, and raw HTML is off


def _harmless(tokens: Iterable[Token]) -> Iterator[Token]:
    """Links that lead to pages only; an image is a link to it."""
    open_links: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            open_links.append(_leads(token.attrs.get("href")))
            if open_links[-1]:
                yield _private(token)
        elif token.type == "link_close":
            if open_links.pop():
                yield token
        elif token.type == "image":
            yield from _image(token, within_link=any(open_links))
        else:
            yield token


def _image(token: Token, *, within_link: bool) -> Iterator[Token]:
    text = Token("text", "", 0, content=f"image: {token.content or 'without a text'}")
    if within_link or not _leads(token.attrs.get("src")):
        yield text
        return
    yield _private(Token("link_open", "a", 1, attrs={"href": token.attrs["src"]}))
    yield text
    yield Token("link_close", "a", -1)


def _private(token: Token) -> Token:
    token.attrs["rel"] = "noreferrer noopener nofollow"
    return token


def _leads(href: object) -> bool:
    try:
        return isinstance(href, str) and urlsplit(href).scheme.lower() in _SCHEMES
    except ValueError:
        return False


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])

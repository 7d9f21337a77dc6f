"""The demo on a screen: colours and a spinner on a terminal, plain lines elsewhere."""

import contextlib
import json
from collections.abc import Callable, Iterator

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from services.embedded.demo_story import Correction, Learnt, Request, Story, Talk

_LONGEST_WORD = 28  # of a key shown on screen
_WIDTH = 100


@contextlib.contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Tells the steps on stderr, the running one with a spinner."""
    console = Console(stderr=True)
    with console.status("") as status:

        def step(what: str) -> None:
            if console.is_terminal:
                status.update(f"[bold]{what}[/] …")
            else:
                console.print(f"{what} …", soft_wrap=True)

        yield step


def show(story: Story, console: Console | None = None) -> None:
    """Print the story, on stdout unless another console is given."""
    console = console or Console()
    console.width = min(console.width, _WIDTH) if console.is_terminal else _WIDTH
    for number, (title, content) in enumerate(_chapters(story), start=1):
        console.print(Panel(content, title=f"[bold]{number}. {title}[/]", title_align="left", border_style="blue", padding=(0, 1)))
    console.print(_farewell(story))


def _chapters(story: Story) -> Iterator[tuple[str, RenderableType]]:
    first, second, third = story.conversations
    yield "A person says something", _talk(first)
    yield "Redacted before anything was stored", _redacted(story)
    yield "Learnt, with the person's own words as evidence", _learnt(story.learnt)
    yield "A new conversation asks, and BRB adds one block to the request", Group(_request(story.request), _talk(second))
    yield "A correction replaces a memory", Group(_talk(third), _corrected(story.correction))


def _talk(talk: Talk) -> RenderableType:
    lines = Table.grid(padding=(0, 1))
    lines.add_row(Text("person", style="bold green"), Text(_short(talk.said)))
    lines.add_row(Text("model", style="bold cyan"), Text(talk.answered))
    return lines


def _redacted(story: Story) -> RenderableType:
    kinds = Text(", ".join(f"{kind} × {count}" for kind, count in sorted(story.redacted.items())), style="bold")
    searched = story.searched
    absent = ", ".join(_short(secret) for secret in searched.absent)
    return Group(kinds, Text(f"All {searched.files} files of the data folder searched: no {absent}"))


def _learnt(memories: tuple[Learnt, ...]) -> RenderableType:
    table = Table(box=None, padding=(0, 1), header_style="dim")
    for column in ("category", "confidence", "memory", "evidence"):
        table.add_column(column)
    for memory in memories:
        quotes = " / ".join(f"“{_short(quote)}”" for quote in memory.evidence)
        table.add_row(Text(memory.category), Text(f"{memory.confidence:.2f}"), Text(memory.text), Text(quotes))
    return table


def _request(request: Request) -> RenderableType:
    before, after = _cut(request)
    body = Text(before) + Text(_readable(request.inserted), style="black on yellow") + Text(after)
    size = request.received_bytes - request.sent_bytes
    return Group(
        body,
        Text(
            f"Sent {request.sent_bytes} bytes, arrived {request.received_bytes}: one block of {size} bytes put in, all others equal.\n", style="dim"
        ),
    )


def _cut(request: Request) -> tuple[str, str]:
    raw = request.sent.encode()
    return raw[: request.at].decode(), raw[request.at :].decode()


def _readable(inserted: str) -> str:
    """The block with real line breaks: `,{"type":"text","text":"..."}` shows its text as lines."""
    text = json.loads(inserted.removeprefix(","))["text"]
    head, _, tail = inserted.partition(json.dumps(text, ensure_ascii=False))
    return f'{head}"\n{text}\n"{tail}' if tail else inserted.replace("\\n", "\n")


def _corrected(correction: Correction) -> RenderableType:
    lines = Table.grid(padding=(0, 1))
    lines.add_row(Text("now", style="bold"), Text(correction.current))
    for old in correction.history:
        lines.add_row(Text("before", style="dim"), Text(old, style="dim strike"))
    return lines


def _farewell(story: Story) -> RenderableType:
    text = Text(f"\nThat took {story.seconds:.0f} s, without a key and without the network. Now with your own:\n")
    for command, why in (
        ("make up DETACH=1", "start BRB on http://localhost:3000"),
        ("ANTHROPIC_BASE_URL=http://localhost:3000 claude", "point a client at it"),
        (".venv/bin/brb memories list", "see what it has learnt"),
    ):
        text.append(f"  {command}", style="bold")
        text.append(f"{' ' * (50 - len(command))}# {why}\n", style="dim")
    return text


def _short(text: str) -> str:
    return " ".join(word if len(word) <= _LONGEST_WORD else word[:_LONGEST_WORD] + "…" for word in text.split(" "))

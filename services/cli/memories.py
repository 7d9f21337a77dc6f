"""`brb memories`: look at what is remembered, add to it, correct it, erase it."""

from typing import Annotated, Literal

import typer

from services.cli import options, output
from services.core import api, errors, models

_PAGE = 20


def listed(
    limit: Annotated[int, typer.Option(min=1, max=api.LARGEST_PAGE, help="How many.")] = _PAGE,
    offset: Annotated[int, typer.Option(min=0, help="How many to skip.")] = 0,
    status: Annotated[Literal["current", "superseded", "pending", "quarantined", "all"], typer.Option(help="Which versions.")] = "current",
    category: Annotated[models.Category | None, typer.Option(help="Only this kind.")] = None,
    scope: options.Whose = "all",
    as_json: options.Json = False,
) -> None:
    """List memories, newest first."""
    with options.connected() as brb:
        page = brb.memories(limit=limit, offset=offset, status=status, category=category, whose=scope)
    if as_json:
        return output.json(page)
    _rows(page.memories)
    if not page.memories:
        output.note("nothing is remembered" if page.total == 0 else f"there are {page.total}: --offset is past the end")
    elif page.total > offset + len(page.memories):
        output.note(f"{offset + 1} to {offset + len(page.memories)} of {page.total}: see more with --offset {offset + len(page.memories)}")


def searched(
    query: Annotated[list[str], typer.Argument(metavar="WORDS...", help="What to look for.")],
    mode: Annotated[api.Mode, typer.Option(help="By meaning, by words, or both.")] = "hybrid",
    limit: Annotated[int | None, typer.Option(min=1, max=100, help="How many at most.")] = None,
    as_json: options.Json = False,
) -> None:
    """Search the memories of all projects, best first."""
    with options.connected() as brb:
        result = brb.search(" ".join(query), mode=mode, limit=limit)
    if as_json:
        return output.json(result)
    for notice in result.notices:
        output.note(notice)
    rows = [[output.short_id(m), f"{m.score:.2f}", m.category, output.day(m.said_at), m.owner, m.visibility, m.text] for m in result.memories]
    output.table(["id", "#score", "category", "said", "by", "scope", "text"], rows)
    if not rows:
        output.note("nothing found")


def added(
    text: Annotated[list[str], typer.Argument(metavar="TEXT...", help="The statement to remember.")],
    category: Annotated[models.Category | None, typer.Option(help="What kind it is; without it, what the statement says.")] = None,
    project: options.Project = None,
    no_project: options.NoProject = False,
    as_json: options.Json = False,
) -> None:
    """Remember a statement. It replaces what it contradicts; what is remembered already is not remembered twice.

    It belongs to the project of the folder that you are in, but holds everywhere if it is about you.
    """
    where = options.project_of(project, none=no_project)
    with options.connected() as brb:
        memory = brb.add(api.Add(text=" ".join(text), category=category, project=where))
    if as_json:
        return output.json(memory)
    _rows([memory])


def shown(memory_id: options.MemoryId, as_json: options.Json = False) -> None:
    """Show one memory with the words that prove it."""
    with options.connected() as brb:
        memory = brb.memory(brb.resolve(memory_id))
    if as_json:
        return output.json(memory)
    output.line(memory.text)
    rows = [[name, value] for name, value in _facts(memory) if value]
    output.table(["", ""], rows)
    for evidence in memory.evidence:
        output.line(f"“{evidence.quote}” — said {output.minute(evidence.said_at)}")


def history(memory_id: options.MemoryId, as_json: options.Json = False) -> None:
    """Show every version of a memory, newest first."""
    with options.connected() as brb:
        lineage = brb.history(brb.resolve(memory_id))
    if as_json:
        return output.json(lineage)
    rows = [
        [output.short_id(m), m.status, output.minute(m.said_at), output.minute(m.valid_to) if m.valid_to else "", m.text] for m in lineage.memories
    ]
    output.table(["id", "status", "said", "valid until", "text"], rows)


def edited(
    memory_id: options.MemoryId,
    text: Annotated[str | None, typer.Option(help="What it says from now on.")] = None,
    category: Annotated[models.Category | None, typer.Option(help="What kind it is from now on.")] = None,
    as_json: options.Json = False,
) -> None:
    """Correct a memory; what it said stays in its history. Without options it asks."""
    if text is None and category is None and not output.is_interactive():
        raise errors.BadInput("nothing to change: give --text, --category or both")
    with options.connected() as brb:
        whole = brb.resolve(memory_id)
        if text is None and category is None:
            text = _asked(brb.memory(whole))
        memory = brb.edit(whole, api.Edit(text=text, category=category))
    if as_json:
        return output.json(memory)
    _rows([memory])


def _asked(memory: api.Memory) -> str:
    text = str(typer.prompt("What it says from now on", default=memory.text)).strip()
    if text == memory.text:
        raise errors.BadInput("nothing was changed")
    return text


def _rows(memories: list[api.Memory] | tuple[api.Memory, ...]) -> None:
    rows = [[output.short_id(m), m.category, output.day(m.said_at), str(m.mentions), m.owner, m.visibility, m.project, m.text] for m in memories]
    output.table(["id", "category", "said", "#times", "by", "scope", "project", "text"], rows)


def _facts(memory: api.Memory) -> list[tuple[str, str]]:
    return [
        ("id", memory.id),
        ("status", f"{memory.status}, {memory.visibility}"),
        ("category", f"{memory.category} (confidence {memory.confidence:.2f})"),
        ("about", ", ".join(filter(None, (memory.subject, memory.attribute, memory.value)))),
        ("where", ", ".join(memory.qualifiers)),
        ("project", memory.project),
        ("said", f"{output.minute(memory.said_at)}, {output.counted(memory.mentions, 'time')}"),
        ("recalled", output.minute(memory.accessed_at)),
        ("when", memory.when),
        ("valid from", output.minute(memory.valid_from) if memory.valid_from else ""),
        ("valid until", output.minute(memory.valid_to) if memory.valid_to else ""),
        ("held", memory.held),
        ("review", f"{memory.review} by {memory.reviewed_by}" if memory.review else ""),
        ("worded by", memory.edited_by),
        ("superseded by", memory.superseded_by),
        ("supersedes", memory.supersedes),
    ]

"""`brb recall`: what a call with these words would be told, and why."""

from collections.abc import Iterator
from textwrap import shorten
from typing import Annotated

import typer

from services.cli import options, output
from services.core import api, errors

_RECALLED = "recalled"
_LONGEST = 200  # characters of a passage, where it is not asked for whole
_PASSAGE_SIGNALS = ("#dense", "#lexical", "#rrf", "#cosine", "#words", "#agreed", "#boosts", "#score")
_SIGNALS = ("#dense", "#lexical", "#rrf", "#similarity", "#strength", "#recency", "#temporal", "#score")


def recalled(
    query: Annotated[list[str] | None, typer.Argument(metavar="QUERY...", help="The words of a person.")] = None,
    kind: Annotated[api.Kind, typer.Option(help="What to recall.")] = "all",
    scope: options.Whose = "all",
    mode: Annotated[api.Mode, typer.Option(help="By meaning, by words, or both.")] = "hybrid",
    project: options.Project = None,
    no_project: options.NoProject = False,
    limit: Annotated[int | None, typer.Option(min=1, max=100, help="How many at most, of each kind.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show each signal, and what was dropped and why.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Show what was asked for in vain, and what was shown in vain.")] = False,
    as_json: options.Json = False,
) -> None:
    """Recall the memories, and the notes, that these words call for in the folder that you are in, best first."""
    if report == bool(query):
        raise errors.BadInput("give either words to recall for or --report")
    if not query:
        return _reported(as_json=as_json)
    where = options.project_of(project, none=no_project)
    with options.connected() as brb:
        result = brb.recall(api.Ask(query=" ".join(query), kind=kind, scope=scope, mode=mode, limit=limit, project=where, explain=explain))
    if as_json:
        return output.json(result)
    for notice in result.notices:
        output.note(notice)
    if explain:
        (_explained if output.on_terminal() else _flat)(result)
    else:
        rows = [[output.short_id(m), f"{m.score:.2f}", m.category, output.day(m.said_at), m.owner, m.visibility, m.text] for m in result.memories]
        rows += [[output.short_id(n), f"{n.score:.2f}", "note", output.day(n.dated_at), n.owner, n.visibility, _brief(n)] for n in result.notes]
        output.table(["id", "#score", "category", "said", "by", "scope", "text"], rows)
    if not result.memories and not result.notes:
        output.note("nothing is recalled: the call would go on unchanged")


def _reported(*, as_json: bool) -> None:
    with options.connected() as brb:
        report = brb.report()
    if as_json:
        return output.json(report)
    if report.since is None:
        return output.note("nothing was asked for yet")
    output.table(["#asked", "last", "words that found nothing"], [[str(one.asked), output.day(one.last_at), one.words] for one in report.dead])
    if report.dead and report.unopened:
        output.line()
    rows = [[str(one.surfaced), output.day(one.last_at), one.kind, one.id, one.text] for one in report.unopened]
    output.table(["#shown", "last", "kind", "id", "never opened"], rows)
    output.note(f"{report.asked} recalls and {report.opened} looks since {output.day(report.since)}")


def _explained(result: api.Recalled) -> None:
    """Three tables that a terminal of 80 columns holds, tied by a number for each candidate."""
    dropped = result.dropped or ()
    recalled = [[str(n), output.short_id(m), _with_matched(m)] for n, m in enumerate(result.memories, 1)]
    output.table(["#", "id", "text (matched)"], recalled, title=f"recalled ({result.mode})")
    output.line()
    output.table(["#", *_SIGNALS], [[str(n), *signals(m)] for n, m in enumerate((*result.memories, *dropped), 1)], title="signals")
    if dropped:
        output.line()
        rows = [[str(n), output.short_id(m), f"{m.reason}: {_with_matched(m)}"] for n, m in enumerate(dropped, len(recalled) + 1)]
        output.table(["#", "id", "reason: text (matched)"], rows, title="dropped")
    passages = list(_passages(result))
    if passages:
        output.line()
        told = [[str(n), _told(where if outcome == _RECALLED else f"{outcome}: {where}", p)] for n, (_, where, outcome, p) in enumerate(passages, 1)]
        output.table(["#", "passage (matched)"], told, title="notes")
        output.line()
        output.table(["#", *_PASSAGE_SIGNALS], [[str(n), *passage_signals(p)] for n, (*_, p) in enumerate(passages, 1)], title="signals of passages")


def _flat(result: api.Recalled) -> None:
    """One line for each candidate: id, signals, what matched, "recalled" or why not, text. Passages of notes have other signals."""
    rows = [[m.id, *signals(m), ", ".join(m.signals.matched), "recalled", m.text] for m in result.memories]
    rows += [[m.id, *signals(m), ", ".join(m.signals.matched), m.reason, m.text] for m in result.dropped or ()]
    output.table(["id", *_SIGNALS, "matched", "outcome", "text"], rows)
    of_notes = [
        [note, *passage_signals(p), ", ".join(p.signals.matched), outcome, f"{where}: {p.text}"] for note, where, outcome, p in _passages(result)
    ]
    output.table(["note", *_PASSAGE_SIGNALS, "matched", "outcome", "text"], of_notes)


def _passages(result: api.Recalled) -> Iterator[tuple[str, str, str, api.FoundPassage]]:
    """Each with the id of its note, where it stands, and "recalled" or why not."""
    for note in result.notes:
        for passage in note.passages:
            yield note.id, _place(note.title, passage), _RECALLED, passage
    for dropped in result.dropped_passages or ():
        yield dropped.note, _place(dropped.title, dropped), dropped.reason, dropped


def _place(title: str, passage: api.FoundPassage) -> str:
    return " > ".join(dict.fromkeys((title, *passage.headings)))


def _told(where: str, passage: api.FoundPassage) -> str:
    causes = [*passage.signals.matched, *(f"{cause} +{share:.0%}" for cause, share in passage.signals.boosts.items())]
    return f"{where}: {_shortened(passage.text)}" + (f" ({', '.join(causes)})" if causes else "")


def _brief(note: api.FoundNote) -> str:
    """The title, and the beginning of the best passage."""
    return f"{_place(note.title, note.passages[0])}: {_shortened(note.passages[0].text)}" if note.passages else note.title


def _shortened(text: str) -> str:
    return shorten(text, _LONGEST, placeholder="…")


def passage_signals(passage: api.FoundPassage) -> list[str]:
    """One cell for each of the signals, `-` where a leg did not find the passage."""
    s = passage.signals
    ranks = ["-" if rank is None else str(rank) for rank in (s.dense_rank, s.lexical_rank)]
    cosine = "-" if s.cosine is None else f"{s.cosine:.2f}"
    return [*ranks, f"{s.rrf:.4f}", cosine, *(f"{n:.2f}" for n in (s.words, s.agreement, sum(s.boosts.values()), passage.score))]


def _with_matched(found: api.Found) -> str:
    return f"{found.text} ({', '.join(found.signals.matched)})" if found.signals.matched else found.text


def signals(found: api.Found) -> list[str]:
    """One cell for each of the signals, `-` where a leg did not find the memory."""
    s = found.signals
    ranks = ["-" if rank is None else str(rank) for rank in (s.dense_rank, s.lexical_rank)]
    return [*ranks, f"{s.rrf:.4f}", *(f"{n:.2f}" for n in (s.similarity, s.strength, s.recency, s.temporal, found.score))]

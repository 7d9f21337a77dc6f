"""Whoever asks a store for what it holds says on whose behalf."""

import inspect
import subprocess
import sys
import textwrap
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from services.core import models, ports

ROOT = Path(__file__).parent.parent.parent.parent

VALUES = {"put": "the values name their own team and owner", "update": "the same"}
SILENT = {
    "taken": bool,
    "total": Mapping[models.Status, int],
    "census": ports.Census,
    "owners": list[str],
    "purge": type(None),
    "ping": type(None),
    "close": type(None),
}
"""What takes no scope, and gives nothing of what is held: whether an id is there, numbers, names of owners."""


def methods(port: type) -> dict[str, Any]:
    return {name: member for name, member in vars(port).items() if inspect.isfunction(member) and not name.startswith("_")}


@pytest.mark.parametrize("port", [ports.MemoryStore, ports.NoteStore])
def test_all_that_is_read_or_erased_takes_a_scope_first(port: type) -> None:
    scoped = set()
    for name, member in methods(port).items():
        hints, first = typing.get_type_hints(member), first_of(member)
        if name in VALUES:
            assert hints["return"] is type(None), "what is written is not read"
        elif name in SILENT:
            assert hints["return"] == SILENT[name]
        else:
            assert first is not None, name
            assert (first.name, hints["scope"], first.default) == ("scope", models.Scope, inspect.Parameter.empty), name
            scoped.add(name)
    assert {"get", "find", "count", "nearest", "lexical", "delete"} <= scoped


def first_of(member: Any) -> inspect.Parameter | None:
    """What a method takes first."""
    return next(iter(list(inspect.signature(member).parameters.values())[1:]), None)


@pytest.mark.parametrize("port", [ports.UseLog, ports.TurnLog, ports.AuditLog])
def test_all_that_is_kept_of_somebody_takes_him_or_his_team_first(port: type) -> None:
    whose = {"principal": models.Principal, "team": str, "event": ports.Event}
    for name, member in methods(port).items():
        if name == "ping":
            continue
        first = first_of(member)
        assert first is not None, name
        assert typing.get_type_hints(member)[first.name] is whose[first.name], name


def test_what_a_scope_sees_is_of_one_team() -> None:
    assert models.Scope.__struct_fields__[:2] == ("team", "user")
    assert models.Scope("acme", "leo").projects == frozenset(), "who says nothing of projects is shown nothing of any"


CALLS = """
    from services.core import models, ports

    def read(store: ports.MemoryStore, notes: ports.NoteStore, turns: ports.TurnLog, who: models.Principal, scope: models.Scope) -> None:
        store.get(scope, "id"); store.find(scope); notes.get(scope, "id"); turns.find(who, "turn")
        store.get("id")
        store.find()
        store.find(who)
        store.count()
        store.anybody(ports.CURRENT, limit=1)
        store.sample(ports.CURRENT, limit=1)
        store.nearest([0.1], limit=1)
        store.lexical("words", limit=1)
        store.delete(["id"])
        store.touch(["id"], 1.0)
        notes.get("id")
        notes.find()
        notes.passages("id")
        notes.embeddings(["digest"])
        notes.entities(models.EntityKind.HASHTAG)
        notes.delete(["id"])
        turns.find("turn")
        turns.latest()
        models.Scope()
        models.Scope("acme")
"""


def test_a_call_without_a_scope_does_not_pass_the_type_checker(tmp_path: Path) -> None:
    path = tmp_path / "calls.py"
    path.write_text(textwrap.dedent(CALLS))
    options = ["--strict", "--no-error-summary", "--hide-error-context", "--follow-imports=silent", "--no-pretty"]

    found = subprocess.run([sys.executable, "-m", "mypy", *options, str(path)], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)

    lines = path.read_text().splitlines()
    wrong = {int(line.split(":")[1]) for line in found.stdout.splitlines() if ": error:" in line}
    first = next(number for number, line in enumerate(lines, 1) if 'store.get("id")' in line)
    assert wrong == set(range(first, len(lines) + 1)), found.stdout + found.stderr

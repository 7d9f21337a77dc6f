"""The embedded part, looked up by name when a command needs it: the client alone installs and starts without its servers."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, cast

from services.core import errors, note_api

if TYPE_CHECKING:
    from services.core import backup as archives
    from services.core import config

Say = Callable[[str], None]
Progress = Callable[[str, float], None]
Measurement = Literal["relay", "recall", "store", "learn", "facts", "updates", "dedup", "pii", "secrets", "notes"]
RecallSet = Literal["locomo", "longmemeval", "scifact", "pages", "wire"]


class Running(Protocol):
    """A BRB that the supervisor runs."""

    @property
    def base_url(self) -> str: ...

    @property
    def data_dir(self) -> str: ...

    @property
    def processes(self) -> Mapping[str, int]: ...


class Supervisor(Protocol):
    def up(self, settings: "config.Settings", *, say: Say, progress: Progress, ready: Callable[[Running], None]) -> None: ...

    def up_detached(self, settings: "config.Settings", *, say: Say) -> Running: ...

    def down(self, settings: "config.Settings") -> bool: ...

    def state(self, settings: "config.Settings") -> Running | None: ...


class Models(Protocol):
    def ensure(self, settings: "config.Settings", progress: Progress) -> Mapping[str, Path]: ...

    def verify(self, settings: "config.Settings") -> Mapping[str, Path]: ...


class Carried(Protocol):
    """How much was carried over to another embedding model."""

    @property
    def memories(self) -> int: ...

    @property
    def notes(self) -> int: ...

    @property
    def held_seconds(self) -> float | None: ...


class Reindex(Protocol):
    def run(self, settings: "config.Settings", *, say: Say, progress: Progress) -> Carried: ...

    def drop(self, settings: "config.Settings") -> list[str]: ...


class Made(Protocol):
    """A backup, and for how long writers waited for it."""

    @property
    def manifest(self) -> "archives.Manifest": ...

    @property
    def size(self) -> int: ...

    @property
    def held_seconds(self) -> float: ...


class Backup(Protocol):
    def run(self, settings: "config.Settings", to: Path, *, with_key: bool, say: Say, progress: Progress) -> Made: ...


class Restored(Protocol):
    @property
    def manifest(self) -> "archives.Manifest": ...

    @property
    def kept(self) -> str: ...

    @property
    def notices(self) -> tuple[str, ...]: ...


class Restore(Protocol):
    def run(self, settings: "config.Settings", file: Path, *, dry_run: bool, force: bool, say: Say, progress: Progress) -> Restored: ...


class SkippedFile(Protocol):
    @property
    def path(self) -> str: ...

    @property
    def why(self) -> str: ...


class Synced(Protocol):
    """What became of the files of a folder."""

    @property
    def skipped(self) -> Sequence[SkippedFile]: ...

    @property
    def notices(self) -> Sequence[tuple[str, str]]: ...


class Notebook(Protocol):
    """Where the notes of a folder are kept."""

    def files(self, source: str) -> note_api.Files: ...

    def put(self, batch: note_api.PutNotes) -> note_api.PutResult: ...


class Notes(Protocol):
    """A folder of markdown files, kept as notes."""

    def settings(self, *, project: str, prune: bool) -> object: ...

    def sync(self, root: Path, notebook: Notebook, settings: object, *, progress: Progress) -> Synced: ...

    def forget(self, root: Path, notebook: Notebook) -> int: ...

    def watch(self, root: Path, notebook: Notebook, settings: object, *, progress: Progress, say: Say, told: Callable[[Synced], None]) -> None: ...


class Demo(Protocol):
    def run(self, settings: "config.Settings", *, as_json: bool) -> int: ...


class Report(Protocol):
    """A measurement, and the same as a table for people."""

    @property
    def name(self) -> str: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]: ...

    @property
    def notes(self) -> tuple[str, ...]: ...


class Bench(Protocol):
    def run(self, name: Measurement, *, set_: RecallSet | None, data: Path | None, quick: bool, thorough: bool, progress: Progress) -> Report: ...


def supervisor() -> Supervisor:
    return cast(Supervisor, _module("supervisor"))


def models() -> Models:
    return cast(Models, _module("models"))


def reindex() -> Reindex:
    return cast(Reindex, _module("reindex"))


def backup() -> Backup:
    return cast(Backup, _module("backup"))


def restore() -> Restore:
    return cast(Restore, _module("restore"))


def notes() -> Notes:
    return cast(Notes, _module("notes"))


def demo() -> Demo:
    return cast(Demo, _module("demo"))


def bench() -> Bench:
    return cast(Bench, _module("bench"))


def _module(name: str) -> object:
    try:
        return importlib.import_module(f"services.embedded.{name}")
    except ModuleNotFoundError as error:
        raise errors.SetupError(f"this needs the embedded part ({error.name} is missing): run `make setup`, or pip install 'brb[embedded]'") from None

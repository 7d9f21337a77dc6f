"""`brb connect`: leading a client through BRB, and leaving it out again."""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from services.cli import claude_settings, options, output
from services.core import address, errors

Client = Literal["claude-code", "codex", "cursor", "openai"]

_BACKUP, _RECORD = ".before-brb", ".brb"
_PRIVATE = 0o600


class Record(msgspec.Struct, frozen=True):
    """What was done to a settings file. existed: whether there was one before; then the backup has it. written: SHA-256 (hex) of what was written."""

    existed: bool
    set: dict[str, str]
    written: str


class Connected(msgspec.Struct, frozen=True):
    """variables: names of those that were set (or restored); kept: of those that somebody has changed since, and that stay as they are."""

    client: Client
    file: str
    variables: tuple[str, ...]
    kept: tuple[str, ...] = ()


class Shown(msgspec.Struct, frozen=True):
    """What to set, and where."""

    client: Client
    where: str
    settings: str


def connected(
    client: Annotated[Client, typer.Argument(help="Which client.")],
    only_print: Annotated[bool, typer.Option("--print", help="Only show what to set; nothing is written.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Put back what was there before.")] = False,
    project: Annotated[bool, typer.Option("--project", help="For the folder that you are in (.claude/settings.local.json) alone.")] = False,
    as_json: options.Json = False,
) -> None:
    """Lead a client through BRB: writes Claude Code's settings (with a backup, and --undo), and prints what to set for others."""
    if only_print and undo:
        raise errors.BadInput("--print and --undo exclude each other")
    if client != "claude-code" and (undo or project):
        raise errors.BadInput(f"the settings of {client} are not written by `brb connect`: there is nothing to undo, and no --project")
    if only_print or client != "claude-code":
        return _shown(shown(client, address.found()), as_json=as_json)
    file = settings_file(project=project)
    done = disconnect(file) if undo else connect(file, address.found())
    if as_json:
        return output.json(done)
    if undo:
        output.line(f"{file}: as it was before" if not done.kept else f"{file}: without BRB")
    else:
        output.line(f"{file}: {', '.join(done.variables)}")
        output.note("Claude Code goes through BRB from its next start; `brb connect claude-code --undo` puts back what was there")
    for name in done.kept:
        output.note(f"{name} was changed since, and stays")


def settings_file(*, project: bool) -> Path:
    """Claude Code's own, where it looks for them."""
    if project:
        return Path.cwd() / ".claude" / "settings.local.json"
    folder = os.environ.get("CLAUDE_CONFIG_DIR")  # a variable of Claude Code's, not a setting of BRB's
    return (Path(folder).expanduser() if folder else Path.home() / ".claude") / "settings.json"


def connect(file: Path, where: address.Address) -> Connected:
    """Set the variables. What an earlier call set is taken back first, so that the backup is always of what was there without BRB."""
    before, existed = _without_brb(file)
    with _named(file):
        values = claude_settings.wanted(where.url, where.key, claude_settings.environment(before) if before.strip() else {})
        after = claude_settings.set_variables(before, values)
    if existed:
        _replace(_beside(file, _BACKUP), before, like=file)
    else:
        _beside(file, _BACKUP).unlink(missing_ok=True)
    _replace(_beside(file, _RECORD), msgspec.json.encode(Record(existed, values, _digest(after))).decode(), like=None)
    _replace(file, after, like=file, private=bool(where.key))
    return Connected("claude-code", str(file), tuple(values))


def disconnect(file: Path) -> Connected:
    """`NotFound` if nothing was set."""
    record = _record(file)
    if record is None:
        raise errors.NotFound(f"there is nothing to undo: `brb connect` has not written {file}")
    before, _ = _before(file, record)
    if not file.exists():
        after, kept = "", list[str]()
    elif _digest(_text(file)) == record.written:
        after, kept = before, []
    else:
        with _named(file):
            after, kept = claude_settings.undone(_text(file), record.set, before)
    if after.strip() or record.existed:
        if file.exists():
            _replace(file, after, like=_beside(file, _BACKUP) if record.existed else file)
    else:
        file.unlink(missing_ok=True)
    for suffix in (_BACKUP, _RECORD):
        _beside(file, suffix).unlink(missing_ok=True)
    return Connected("claude-code", str(file), tuple(name for name in record.set if name not in kept), tuple(kept))


def shown(client: Client, where: address.Address) -> Shown:
    """What a person sets by hand."""
    openai = f"{where.url}/k/{where.key}/v1" if where.key else f"{where.url}/v1"
    header = f'\nhttp_headers = {{"{claude_settings.KEY_HEADER}" = "{where.key}"}}' if where.key else ""
    texts: dict[Client, tuple[str, str]] = {
        "claude-code": (
            "~/.claude/settings.json (everywhere), or .claude/settings.local.json of a project",
            claude_settings.set_variables("", claude_settings.wanted(where.url, where.key, {})).rstrip(),
        ),
        "openai": ("the environment of a program that uses the OpenAI SDK", f"OPENAI_BASE_URL={openai}"),
        "codex": (
            "~/.codex/config.toml",
            f'model_provider = "brb"\n\n[model_providers.brb]\nname = "BRB"\nbase_url = "{where.url}/v1"\nenv_key = "OPENAI_API_KEY"\n'
            f'wire_api = "responses"{header}',
        ),
        "cursor": (
            "Cursor's settings, Models, “Override OpenAI Base URL”. Cursor calls from its own servers: BRB must be reachable from the internet",
            openai,
        ),
    }
    return Shown(client, *texts[client])


def _shown(what: Shown, *, as_json: bool) -> None:
    if as_json:
        return output.json(what)
    output.note(f"Set this in {what.where}:")
    for line in what.settings.splitlines():
        output.line(line)


def _without_brb(file: Path) -> tuple[str, bool]:
    """The settings as they were without BRB, with what was changed since; and whether there was a file."""
    if not file.exists():
        return "", False
    record, text = _record(file), _text(file)
    if record is None:
        return text, True
    before, existed = _before(file, record)
    if _digest(text) == record.written:
        return before, existed
    with _named(file):
        clean, _ = claude_settings.undone(text, record.set, before)
    return clean, True


def _before(file: Path, record: Record) -> tuple[str, bool]:
    backup = _beside(file, _BACKUP)
    if not record.existed:
        return "", False
    return (_text(backup), True) if backup.exists() else ("", True)


def _record(file: Path) -> Record | None:
    try:
        return msgspec.json.decode(_beside(file, _RECORD).read_bytes(), type=Record)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _beside(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)


def _text(file: Path) -> str:
    """As it is: with the ends of its lines."""
    try:
        return file.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.BadInput(f"can't read {file}: {error}") from None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@contextlib.contextmanager
def _named(file: Path) -> Iterator[None]:
    """A mistake in the file, with its name."""
    try:
        yield
    except errors.BadInput as error:
        raise errors.BadInput(f"{file} is not what Claude Code's settings are: {error}. Nothing was changed") from None


def _replace(file: Path, text: str, *, like: Path | None, private: bool = False) -> None:
    """Whole or not at all. like: whose mode it gets; without such a file its owner alone may read it. A link stays one: its target is replaced."""
    target = file.resolve()
    try:
        mode = (like.stat().st_mode & 0o777) if like is not None and like.exists() else _PRIVATE
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=target.parent, prefix=f"{target.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(text.encode())
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(part, mode & ~0o077 if private else mode)
            os.replace(part, target)
        except BaseException:
            os.unlink(part)
            raise
    except OSError as error:
        raise errors.BadInput(f"can't write {file}: {error.strerror}") from None

"""What a tool is, and how one is called (pure but for what the tool does)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, get_args, get_origin

import msgspec
import structlog
from litestar.handlers import HTTPRouteHandler

from services.core import errors, models, rights
from services.proxy import redacting
from services.proxy.parts import Parts

_log = structlog.get_logger()

Takes = TypeVar("Takes", bound=msgspec.Struct)
Gives = TypeVar("Gives", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and from which project ("": unknown), with all that it takes to answer."""

    parts: Parts
    principal: models.Principal
    project: str = ""

    @property
    def scope(self) -> models.Scope:
        """What is searched: as from the project, if one is named, else all that the caller has or shares. What others only propose has nobody read
        yet: no model is told of it."""
        projects = frozenset({self.project}) if self.project else None
        return models.Scope(self.principal.team, self.principal.user, projects)

    @property
    def managed(self) -> models.Scope:
        """All that the caller may look at."""
        return rights.managed(self.principal)

    def clean(self, texts: Sequence[str]) -> list[str]:
        """The texts redacted as the settings say now."""
        return redacting.Redacting.of(self.parts.settings).within(self.principal.team)(texts)


@dataclass(frozen=True, slots=True)
class Tool(Generic[Takes, Gives]):
    """run: does it. said: the result for a model to read. reads: changes nothing. destroys: erases something for good."""

    name: str
    title: str
    description: str
    takes: type[Takes]
    gives: type[Gives]
    run: Callable[[Caller, Takes], Gives]
    said: Callable[[Gives], str]
    reads: bool = True
    destroys: bool = False
    idempotent: bool = True


class Outcome(NamedTuple):
    """text: for a model to read. structured: the same as data; None for an error."""

    text: str
    structured: Any | None


AnyTool = Tool[Any, Any]


def call(tool: AnyTool, caller: Caller, arguments: Mapping[str, Any]) -> Outcome:
    """Whatever goes wrong is told with its cure, so that a model can try again; never a stack trace."""
    try:
        result = tool.run(caller, _taken(tool.takes, arguments))
    except errors.BrbError as error:
        return Outcome(str(error), None)
    except Exception as error:
        _log.error("tool_failed", tool=tool.name, exc_info=error)
        return Outcome("something went wrong inside BRB: its log has the place", None)
    return Outcome(tool.said(result), msgspec.to_builtins(result))


def body(handler: HTTPRouteHandler) -> Callable[..., Any]:
    """The function behind a route: it takes `parts`, `principal` and what the request says, as parameters."""
    return handler.fn


def as_json(result: msgspec.Struct) -> str:
    return msgspec.json.encode(result).decode()


def _taken(kind: type[Takes], arguments: Mapping[str, Any]) -> Takes:
    fields = {field.encode_name: _origin(field.type) for field in msgspec.structs.fields(kind)}
    given = {name: _parsed(value, fields.get(name)) for name, value in arguments.items() if value is not None}
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise errors.BadInput(f"{_plain(str(error))}. It takes: {', '.join(fields) or 'nothing'}") from None


def _origin(kind: object) -> object:
    return get_origin(get_args(kind)[0] if get_origin(kind) is Annotated else kind)


def _parsed(value: object, kind: object) -> object:
    """Some clients write a list or an object into a string, or leave the list out around a single value."""
    if not isinstance(value, str) or kind not in (tuple, dict):
        return value
    try:
        parsed = msgspec.json.decode(value)
    except msgspec.DecodeError:
        parsed = None
    return parsed if isinstance(parsed, list | dict) else [value] if kind is tuple else value


def _plain(message: str) -> str:
    """msgspec's message in words of JSON: "Expected `int`, got `str` - at `$.limit`"."""
    return re.sub(r" - at `\$\.?([^`]*)`", lambda found: f" ({found[1]})" if found[1] else "", message).replace("`", "'")

"""JSON schemas of the structs that tools take and give, as short as they can be: a client loads all of them before the first word is said."""

from typing import Any

import msgspec

_DEFS = "#/$defs/"
_TAKEN_FOR_GRANTED = frozenset({"additionalProperties", "minItems", "maxItems"})  # a model has no use for it; a call that goes against it is told
_OF_RESULTS = frozenset({"required", "default"})  # nobody has to write a result


def taken(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Of arguments: one object without references, and without the names and docstrings of structs, which are for readers of the code."""
    return _of(kind, _TAKEN_FOR_GRANTED)


def given(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Of a result."""
    return _of(kind, _OF_RESULTS)


def _of(kind: type[msgspec.Struct], but: frozenset[str]) -> dict[str, Any]:
    whole = msgspec.json.schema(kind)
    schema: dict[str, Any] = _inlined({"$ref": whole["$ref"]}, whole["$defs"], but)
    return schema


def _inlined(node: dict[str, Any], definitions: dict[str, Any], but: frozenset[str]) -> dict[str, Any]:
    if reference := node.get("$ref"):
        target = definitions[reference.removeprefix(_DEFS)]
        bare = {key: value for key, value in target.items() if key not in ("title", "description")}
        node = bare | {key: value for key, value in node.items() if key != "$ref"}
    return {key: _member(key, value, definitions, but) for key, value in node.items() if key not in but}


def _member(key: str, value: Any, definitions: dict[str, Any], but: frozenset[str]) -> Any:
    if key in ("properties", "$defs"):  # names of fields, not keywords
        return {name: _inlined(each, definitions, but) for name, each in value.items()}
    if isinstance(value, dict) and key != "default":
        return _inlined(value, definitions, but)
    return [_inlined(each, definitions, but) for each in value] if key in ("anyOf", "prefixItems") else value

"""JSON schemas of the structs that tools take and give, as short as they can be: a client loads all of them before the first word is said."""

from typing import Any

import msgspec

_DEFS = "#/$defs/"
_TAKEN_FOR_GRANTED = frozenset({"additionalProperties", "minItems", "maxItems"})  # a model has no use for it; a call that goes against it is told
_OF_RESULTS = frozenset({"default"})  # nobody has to write a result


def taken(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Of arguments: one object without references, and without the names and docstrings of structs, which are for readers of the code."""
    schema = _of(kind, _TAKEN_FOR_GRANTED)
    return schema if schema.get("required") else {key: value for key, value in schema.items() if key != "required"}


def given(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Of a result. Of the objects in a list it tells which fields each of them has: what is in them is seen in the first one."""
    return _outlined(_of(kind, _OF_RESULTS))


def _outlined(node: dict[str, Any], *, listed: bool = False) -> dict[str, Any]:
    if listed and "properties" in node:
        return {"type": "object", "required": node.get("required", [])}
    outlined = {key: value for key, value in node.items() if key != "required"}
    if "properties" in outlined:
        outlined["properties"] = {name: _outlined(each) for name, each in outlined["properties"].items()}
    if "items" in outlined:
        outlined["items"] = _outlined(outlined["items"], listed=True)
    return outlined


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

"""What a client loads before the first word is said."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from services.core.recall import budget
from services.proxy.mcp import brain, few
from services.proxy.mcp.server import described
from services.proxy.mcp.tools import AnyTool

DOCUMENT = Path(__file__).parents[4] / "docs" / "mcp.md"
IDS = {"type": "array", "items": {"type": "string"}}
CATEGORIES = ["constraint", "decision", "personal_info", "preference", "project_context", "technical_choice", "todo"]
ARGUMENTS: dict[str, Any] = {
    "brb_search": {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "kind": {"enum": ["all", "memories", "notes"], "default": "all"},
            "limit": {"type": "integer", "default": 10},
            "token_budget": {"type": "integer", "default": 2000},
        },
        "required": ["query"],
    },
    "brb_get": {
        "type": "object",
        "properties": {"ids": IDS, "offset": {"type": "integer", "default": 0}, "token_budget": {"type": "integer", "default": 2000}},
        "required": ["ids"],
    },
    "brb_remember": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "category": {"enum": CATEGORIES}, "project": {"type": "string"}},
        "required": ["text"],
    },
    "brb_forget": {"type": "object", "properties": {"ids": IDS}, "required": ["ids"]},
    "brb_related": {"type": "object", "properties": {"id": {"type": "string"}, "query": {"type": "string"}}},
}


def listed(tools: tuple[AnyTool, ...]) -> list[dict[str, Any]]:
    return [described(tool).model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools]


def test_the_five_tools_take_these_arguments() -> None:
    assert {tool["name"]: tool["inputSchema"] for tool in listed(few.TOOLS)} == ARGUMENTS


def test_the_whole_list_of_the_five_takes_less_than_six_hundred_and_fifty_tokens() -> None:
    """Claude Code loads all definitions up front behind a base URL of one's own."""
    assert budget.tokens(json.dumps(listed(few.TOOLS), separators=(",", ":"))) < 650


@pytest.mark.parametrize("tool", listed((*few.TOOLS, *brain.TOOLS)), ids=lambda tool: str(tool["name"]))
def test_each_tool_isdescribed_in_full(tool: dict[str, Any]) -> None:
    assert tool["title"]
    assert 0 < len(tool["description"]) < 120
    assert tool["annotations"]["openWorldHint"] is False
    assert ("destructiveHint" in tool["annotations"]) is not tool["annotations"]["readOnlyHint"]
    for schema in (tool["inputSchema"], tool["outputSchema"]):
        assert schema["type"] == "object"
        assert "$ref" not in json.dumps(schema)


def test_the_document_names_each_tool_with_its_arguments() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*)\|", DOCUMENT.read_text(), re.MULTILINE)
    told = {name: set(re.findall(r"`(\w+)`", re.sub(r"\(`[^)]*\)", "", arguments))) for name, arguments in rows}

    assert told == {tool["name"]: set(tool["inputSchema"]["properties"]) for tool in listed((*few.TOOLS, *brain.TOOLS))}

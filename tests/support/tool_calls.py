"""Calling tools as the server does, and putting notes where they find them."""

import json
from typing import Any

from services.core import models, note_api
from services.core.recall import budget
from services.proxy.mcp import brain, few, tools
from services.proxy.mcp.tools import Caller
from services.proxy.routes import notes

TOOLS = {tool.name: tool for tool in (*few.TOOLS, *brain.TOOLS)}


def call(caller: Caller, name: str, **arguments: Any) -> Any:
    """The structured result; whatever is told keeps to the largest budget."""
    outcome = tools.call(TOOLS[name], caller, arguments)
    assert outcome.structured is not None, outcome.text
    assert budget.tokens(outcome.text) <= 10_000
    return json.loads(json.dumps(outcome.structured))


def text(caller: Caller, name: str, **arguments: Any) -> str:
    outcome = tools.call(TOOLS[name], caller, arguments)
    assert outcome.structured is not None, outcome.text
    return outcome.text


def failure(caller: Caller, name: str, **arguments: Any) -> str:
    outcome = tools.call(TOOLS[name], caller, arguments)
    assert outcome.structured is None, outcome.text
    return outcome.text


def put(caller: Caller, markdown: str, *, title: str = "", principal: models.Principal | None = None, **fields: Any) -> str:
    """The id of a new note."""
    put_note = note_api.PutNote(text=markdown, title=title, **fields)
    done: note_api.Put = tools.body(notes.put)(caller.parts, principal or caller.principal, put_note)
    return done.id

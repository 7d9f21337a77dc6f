"""What a call says, whichever API it speaks."""

from collections.abc import Mapping

from services.core import models
from services.proxy.wire import anthropic, known, openai, routes, turns
from services.proxy.wire.calls import Call


class Reader:
    """Reads calls, of known conversations only what is new in them. One serves a whole process and all its threads."""

    def __init__(self, *, subagents: bool = False) -> None:
        """subagents: whether those of Claude Code and Codex count as turns, which are recalled for but not learnt from."""
        self.memory: turns.Memory = known.Memory()
        self._subagents = subagents

    def read(self, route: routes.Route, headers: Mapping[str, str], body: bytes, principal: models.Principal, now: float) -> Call:
        """The call that a body makes to a route that holds a conversation; `headers` by lower-case name. Never raises."""
        if route is routes.Route.MESSAGES:
            return anthropic.read(headers, body, principal, now, subagents=self._subagents, memory=self.memory)
        return openai.read(route, headers, body, principal, now, subagents=self._subagents, memory=self.memory)

"""Interceptors for tests of the wire: one that keeps what it is shown, and inserts if it is told to."""

import threading

from services.proxy import relay
from services.proxy.wire import calls

DEADLINE_SECONDS = 10.0


class Keeping:
    """Keeps the calls and answers that it is shown. `block`: a text for every turn, `{}` in it stands for the turn's place; none if empty."""

    def __init__(self, block: str = "") -> None:
        self.block = block
        self.calls: list[calls.Call] = []
        self.answers: list[calls.Answer] = []
        self._changed = threading.Condition()

    def clear(self) -> None:
        self.calls.clear()
        self.answers.clear()

    async def before(self, call: calls.Call) -> relay.Prepared:
        self.calls.append(call)
        return relay.Prepared(call, {turn.spot: self.block.format(turn.index) for turn in call.turns} if self.block else {})

    async def after(self, prepared: relay.Prepared, answer: calls.Answer) -> None:
        with self._changed:
            self.answers.append(answer)
            self._changed.notify_all()

    def told(self, count: int = 1) -> list[bool]:
        """Wait until so many answers were told of; which of them were complete."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.answers) >= count, DEADLINE_SECONDS), "nothing was told"
            return [answer.complete for answer in self.answers]

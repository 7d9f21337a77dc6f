"""Who attacks a BRB of two teams, and what no answer to him may hold."""

import os
import re
from collections.abc import Iterator

from hypothesis import HealthCheck, settings

from services.core import models
from tests.support.two_teams import ADA, CORA, EVE, LEO, MEMORIES, NOTES, OTHER_LEO, World

EXAMPLES = int(os.environ.get("BRB_TEST_FUZZ_EXAMPLES", "0"))
"""Of each fuzzed thing, at random; 0: few, and the same ones in every run."""

NOBODY = None
ATTACKERS = (LEO, CORA, ADA, NOBODY)
"""Of team acme; `evil` is the other team to them."""
OTHERS = (EVE, OTHER_LEO)

_INSIDES = re.compile(r"Traceback \(most recent|File \"[^\"]*\.py\"|\.py\", line|site-packages|/services/(?:proxy|core)|<built-in|0x[0-9a-f]{8,}\b")
"""What tells how BRB is made, or where it lies on the machine."""


def effort(few: int) -> settings:
    more = {"max_examples": EXAMPLES} if EXAMPLES else {"max_examples": few, "derandomize": True}
    return settings(deadline=None, database=None, suppress_health_check=list(HealthCheck), **more)  # type: ignore[arg-type]


def key(world: World, who: models.Principal | None) -> dict[str, str]:
    return {"x-brb-key": world.tokens[who]} if who else {}


def leaks(world: World, text: str, sent: str = "") -> list[str]:
    """What an answer to one of acme, or to nobody, has of the other team, of the machine, or of anybody's token. sent: what was asked itself."""
    found = [f"{one.kind.name} of {one.owner.user}" for one in world.things if one.owner in OTHERS and one.canary in text and one.canary not in sent]
    found += [match[0] for match in _INSIDES.finditer(text) if match[0] not in sent]
    if str(world.parts.settings.data) in text:
        found.append("the data folder")
    found += ["a token" for token in world.given if token in text and token not in sent]
    return found


def of_the_others(world: World) -> list[object]:
    """All that the other team has, as it is stored."""
    kept = [world.memory(one) for one in world.things if one.owner in OTHERS and one.kind in MEMORIES]
    notes = [world.note(one) for one in world.things if one.owner in OTHERS and one.kind in NOTES]
    turns = [world.parts.turns.latest(who) for who in OTHERS]
    assert all(kept)
    assert all(notes)
    assert all(turns)
    return [*kept, *notes, *turns]


def failures(world: World) -> Iterator[str]:
    """What BRB took for a mistake of its own, and any secret or memory of anybody's in its log."""
    for line in world.log.getvalue().splitlines():
        if "request_failed" in line or "exchange_failed" in line or "Traceback" in line or '"level": "error"' in line:
            yield line[:500]
        for one in world.things:
            if one.canary in line:
                yield f"{one.kind.name} is in the log: {line[:300]}"
        for token in world.given:
            if token in line or token.split("_", 2)[2] in line:
                yield "a token is in the log"

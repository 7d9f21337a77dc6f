"""What BRB knows, and how often it was asked."""

import re
from collections.abc import Mapping

from tests.claude_code.client import ClaudeCode
from tests.e2e.harness import Brb


def learn(brb: Brb, person: ClaudeCode, words: str, *known: str) -> None:
    """Say something durable in a session of its own, and wait until there is a memory of each of these."""
    brb.worked_off(person.say(words).only.turn)
    for one in known:
        brb.memory(one)


def recalls(brb: Brb) -> dict[str, int]:
    """How many turns were recalled for, by outcome."""
    found = re.findall(r'^brb_recall_outcome_total\{outcome="(\w+)"\} (\S+)', brb.http.get("/metrics").text, re.MULTILINE)
    return {outcome: int(float(count)) for outcome, count in found}


def more_recalls(brb: Brb, before: Mapping[str, int]) -> dict[str, int]:
    """What came to them since."""
    return {outcome: count - before.get(outcome, 0) for outcome, count in recalls(brb).items() if count != before.get(outcome, 0)}

"""Frames to what they state: one function for each kind of statement, tried in order; the first that applies decides. Pure."""

import re
from collections.abc import Callable

from services.worker.extraction.clauses import Frame, Who
from services.worker.extraction.statements import attributes, changes, decisions, duties, lives, persons, things, uses
from services.worker.extraction.statements.drafts import Draft, lasts, subject_of
from services.worker.extraction.statements.labels import labelled

__all__ = ["Draft", "draft", "labelled", "lasts", "subject_of"]

Rule = Callable[[Frame], Draft | None]


def draft(frame: Frame) -> Draft | None:
    """What the frame states, or None if it states nothing worth keeping."""
    if frame.who in {Who.THING, Who.OUR} and (re.search(r":|,(?! [A-Z][\w ]*,?$)", frame.subject) or len(frame.subject.split()) > 8):
        return None
    for rule in _RULES:
        found = rule(frame)
        if found is not None:
            return found
    return None


_RULES: tuple[Rule, ...] = (
    persons.name,
    persons.likes,
    changes.gave_up,
    changes.changed,
    duties.promised,
    decisions.decided,
    duties.constrained,
    duties.standing_order,
    persons.wanted,
    uses.uses,
    lives.holds,
    persons.person_is,
    attributes.attribute,
    persons.habit,
    things.group_does,
    things.thing_does,
    duties.there_is,
)

"""Frames to what they state: one function for each kind of statement, tried in order; the first that applies decides. Pure."""

import re
from collections.abc import Callable

import msgspec

from services.core.models import Category
from services.worker.extraction.clauses import Frame, Who
from services.worker.extraction.statements import attributes, changes, decisions, duties, lives, persons, things, uses
from services.worker.extraction.statements.drafts import Draft, is_family, lasts, subject_of
from services.worker.extraction.statements.introductions import introduced
from services.worker.extraction.statements.labels import labelled
from services.worker.extraction.statements.persons import employer_beside, origin_beside, with_opposite
from services.worker.extraction.statements.uses import slotted as each

__all__ = ["Draft", "draft", "each", "employer_beside", "introduced", "labelled", "lasts", "origin_beside", "subject_of", "with_opposite"]

Rule = Callable[[Frame], Draft | None]


def draft(frame: Frame) -> Draft | None:
    """What the frame states, or None if it states nothing worth keeping."""
    if frame.who in {Who.THING, Who.OUR} and (re.search(r":|,(?! [A-Z][\w ]*,?$)", frame.subject) or len(frame.subject.split()) > 8):
        return None
    for rule in _RULES:
        found = rule(frame)
        if found is not None:
            return _of_kin(frame, found)
    return None


def _of_kin(frame: Frame, found: Draft) -> Draft:
    """What is said of one's kin and pets is nobody's project."""
    if found.category is Category.PROJECT_CONTEXT and frame.who in {Who.MY, Who.OUR} and is_family(frame.subject):
        return msgspec.structs.replace(found, category=Category.PERSONAL_INFO)
    return found


_RULES: tuple[Rule, ...] = (
    persons.name,
    persons.likes,
    changes.gone,
    changes.gave_up,
    changes.changed,
    duties.promised,
    decisions.decided,
    duties.constrained,
    duties.standing_order,
    persons.wanted,
    lives.employed,
    lives.experienced,
    uses.uses,
    lives.deploys,
    lives.holds,
    persons.person_is,
    attributes.attribute,
    persons.habit,
    things.group_does,
    things.thing_does,
    things.described,
    duties.there_is,
)

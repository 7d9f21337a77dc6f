"""What was said elsewhere, on its way to be learnt like what is said on the wire. See docs/import.md."""

from collections.abc import Sequence

from services.core import api, errors, import_api, memory_ids, messages, models
from services.proxy import learning, redacting
from services.proxy.parts import Parts
from services.proxy.wire import client_words, words


def taken(parts: Parts, principal: models.Principal, given: import_api.Turns) -> import_api.Taken:
    """A durable job for each turn that is new; the same turns again change nothing. `BadInput` before anything is taken. `Unavailable` without Redis:
    an import can wait, so that nothing is spooled."""
    if len(given.turns) > import_api.MOST_TURNS:
        raise errors.BadInput(f"{len(given.turns)} turns at once: at most {import_api.MOST_TURNS} are taken")
    for place, one in enumerate(given.turns):
        _check(f"turns[{place}]", one)
    turns = {memory_ids.of_import(principal, given.source, one.id): one for one in given.turns}
    known = parts.book.known([_job_id(turn) for turn in turns])
    new = {turn: one for turn, one in turns.items() if _job_id(turn) not in known}
    pending = parts.book.pending()
    waiting = pending[messages.Lane.LEARN] + pending[messages.Lane.PATIENT]
    if new and waiting >= import_api.MOST_WAITING:
        return import_api.Taken(waiting=waiting, busy=True)
    redact = redacting.Redacting.of(parts.settings).within(principal.team)
    now = parts.clock()
    made = [learnt(turn, one, principal, redact, now) for turn, one in new.items()]
    jobs = [messages.Job.of(messages.Task.LEARN_IMPORTED, one) for one in made if one is not None]
    if jobs:
        parts.enqueue(jobs)
    return import_api.Taken(new=len(jobs), known=len(given.turns) - len(new), empty=len(new) - len(jobs), waiting=waiting + len(jobs))


def learnt(turn: str, given: import_api.Turn, principal: models.Principal, redact: redacting.Redact, now: float) -> messages.LearnTurn | None:
    """The turn, of the person's own words, redacted before they are cut to size; None if there are none. Nothing was said after now."""
    said = _own(given.words)
    if not said:
        return None
    earlier = [text[: 2 * learning.MAX_CONTEXT_CHARS] for text in (_own([one]) for one in given.context) if text][-learning.MAX_CONTEXT_TURNS :]
    own, *context, answer = redact([said[: 2 * learning.MAX_WORDS_CHARS], *earlier, given.answer[-2 * learning.MAX_ANSWER_CHARS :]])
    return messages.LearnTurn(
        turn=turn,
        principal=principal,
        said_at=min(given.said_at, now),
        words=own[: learning.MAX_WORDS_CHARS],
        project=given.project,
        context=tuple(text[: learning.MAX_CONTEXT_CHARS] for text in context),
        answer=answer[-learning.MAX_ANSWER_CHARS :],
        session=given.session,
        by_hand=given.statement,
        category=given.category,
        imported=True,
    )


def _own(texts: Sequence[str]) -> str:
    return words.joined(client_words.by_block([text.strip() for text in texts]))


def _job_id(turn: str) -> str:
    return messages.Job.id_of(messages.Task.LEARN_IMPORTED, turn)


def _check(where: str, one: import_api.Turn) -> None:
    if not one.id or len(one.id) > import_api.LONGEST_ID:
        raise errors.BadInput(f"{where}: its id has {len(one.id)} characters: 1 to {import_api.LONGEST_ID} are possible")
    if not 0 <= one.said_at < 1e11:  # not NaN either; later times are milliseconds
        raise errors.BadInput(f"{where}: said_at is {one.said_at}: it is a time in seconds since 1970")
    if max(len(one.words), len(one.context)) > import_api.MOST_TEXTS:
        raise errors.BadInput(f"{where}: it has more than {import_api.MOST_TEXTS} texts")
    if max(len(one.project), len(one.session)) > api.LONGEST_NAME:
        raise errors.BadInput(f"{where}: project and session have at most {api.LONGEST_NAME} characters each")
    if one.statement and len("\n".join(one.words)) > api.LONGEST_TEXT:
        raise errors.BadInput(f"{where}: a statement has at most {api.LONGEST_TEXT} characters")

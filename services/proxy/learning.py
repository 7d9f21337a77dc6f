"""What is handed to the worker and the indexer after a turn was answered. Pure: texts are redacted here, before they get near a queue."""

from services.core import messages, ports
from services.proxy.redacting import Redact
from services.proxy.wire import calls

MAX_WORDS_CHARS = 20_000
_READ_CHARS = 2 * MAX_WORDS_CHARS  # of a longer text the rest is not even redacted: it takes seconds for a pasted megabyte
MAX_CONTEXT_TURNS = 6
MAX_CONTEXT_CHARS = 2_000
MAX_ANSWER_CHARS = 1_000


def jobs(call: calls.Call, answer: calls.Answer, entry: ports.Entry | None, redact: Redact, now: float) -> list[messages.Job]:
    """What an answered new turn leads to: learning from it, and noting which memories it was told of (`entry`, if it was recalled for)."""
    found = (learn_turn(call, answer, redact), touch(call, answer, entry, now))
    return [job for job in found if job is not None]


def learn_turn(call: calls.Call, answer: calls.Answer, redact: Redact) -> messages.Job | None:
    """The job that learns from a completely answered human turn; None if there is nothing to learn from, or if it is no person's (`learns`).

    Texts are redacted before they are cut to size: half a secret would pass for something else. Blocking: long words take their time.
    """
    if call.new_turn is None or not call.learns or not answer.complete:
        return None
    before = call.old_turns[: len(call.old_turns) - call.begun]
    earlier = [old.words[: 2 * MAX_CONTEXT_CHARS] for old in before[-MAX_CONTEXT_TURNS:]]
    words, *context, said = redact([call.words[:_READ_CHARS], *earlier, call.answer[-2 * MAX_ANSWER_CHARS :]])
    return messages.Job.of(
        messages.Task.LEARN_TURN,
        messages.LearnTurn(
            turn=call.turn_id,
            principal=call.principal,
            said_at=call.at,
            words=words[:MAX_WORDS_CHARS],
            project=call.project,
            context=tuple(text[:MAX_CONTEXT_CHARS] for text in context),
            answer=said[-MAX_ANSWER_CHARS:],
            session=call.session,
        ),
    )


def touch(call: calls.Call, answer: calls.Answer, entry: ports.Entry | None, now: float) -> messages.Job | None:
    """The job that notes which memories an answered new turn was told of; None if none were."""
    if call.new_turn is None or not answer.complete or entry is None or not entry.memories:
        return None
    return messages.Job.of(messages.Task.TOUCH, messages.Touch(turn=call.turn_id, principal=call.principal, ids=entry.memories, at=now))

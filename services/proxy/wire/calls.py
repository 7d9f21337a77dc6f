"""What a call of a client is, whichever API it speaks: its kind, the person's turns in it, and how its answer came out."""

import hashlib
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from services.core import models
from services.proxy.wire import splice


class Kind(StrEnum):
    """What a call is. Only a human turn recalls and learns; blocks shown earlier are replayed in all kinds but the opaque."""

    HUMAN = "human"  # the newest message is the person's
    STEP = "step"  # the same turn goes on: tool results, or nothing new from the person
    SIDE = "side"  # the client's own: titles, probes, checks, subagents, forks
    OPAQUE = "opaque"  # can't be read or changed safely: forward as it came


class Turn(msgspec.Struct, frozen=True):
    """A message of the person.

    index: its place in the list of messages. words: what the person said. keys: names of this turn in the ledger, the one bound to the session
    first (if the client names one), then the one bound to the project, which survives resume and fork. spot: where its block goes.
    reply: what the assistant replied right after it, as `Answer.reply` has it; "" if there is none. given: the message's texts, if a block of BRB's
    stands among them: the client got it from another BRB, or the person pasted it.
    """

    index: int
    words: str
    keys: tuple[str, ...]
    spot: splice.Spot
    reply: str = ""
    given: str = ""


class Call(msgspec.Struct, frozen=True):
    """A request that holds a conversation, read once.

    turns: the person's messages, oldest first. In a call of kind HUMAN the last one is the new turn; in others all are old.
    turn_id: names the new turn (32 hex digits), by its words and session; without a session by the day, for whoever can't tell better. "" unless
    HUMAN. answer: the assistant's text before the new turn.
    session, project: "" if unknown. at: when it came (epoch seconds).
    follows: the ledger's key of the part of the conversation that the upstream keeps (`previous_response_id`, `conversation`); "" if the
    whole conversation is in the request.
    lasting: whether `follows` names a conversation, which goes on under its name; a response has one of its own each time.
    learns: whether the new turn is the person's own, so that it may be learnt from; a subagent's is written by another agent.
    begun: how many of the old turns at their end belong to what the person says now, because nobody has answered them.
    """

    kind: Kind
    principal: models.Principal
    at: float
    turns: tuple[Turn, ...] = ()
    turn_id: str = ""
    session: str = ""
    project: str = ""
    answer: str = ""
    follows: str = ""
    learns: bool = True
    lasting: bool = False
    begun: int = 0

    @property
    def words(self) -> str:
        """All that the person says now; "" unless HUMAN."""
        return "\n".join(turn.words for turn in self.turns[-1 - self.begun :]) if self.kind is Kind.HUMAN else ""

    @property
    def new_turn(self) -> Turn | None:
        return self.turns[-1] if self.kind is Kind.HUMAN else None

    @property
    def is_recorded(self) -> bool:
        """Whether something is written down of its answer that a later call relies on: a new turn, or what the upstream keeps was told."""
        return self.kind is Kind.HUMAN or bool(self.follows)

    @property
    def old_turns(self) -> tuple[Turn, ...]:
        return self.turns[:-1] if self.kind is Kind.HUMAN else self.turns


class Usage(msgspec.Struct, frozen=True):
    """Tokens, as the upstream counts them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class Answer(msgspec.Struct, frozen=True):
    """An assistant's answer. `complete`: it came to its end without an error, or the upstream works on it in the background and has taken the
    person's words for good; nothing may be learnt from one that did not.

    message_id: the upstream's name for it (an OpenAI response is continued by it). asks: the first tool that it calls, as `asked` names it.
    """

    complete: bool = False
    text: str = ""
    stop_reason: str = ""
    message_id: str = ""
    usage: Usage = Usage()
    asks: str = ""

    @property
    def reply(self) -> str:
        """What tells it from other answers: its text, which clients keep; if it has none, the tool that it calls."""
        return self.text if self.text.strip() else self.asks


NO_ANSWER = Answer()


def counts(given: Mapping[str, object]) -> dict[str, int]:
    """Those values that are counts: what else a server says there is no reason to lose a turn."""
    return {name: value for name, value in given.items() if type(value) is int and value >= 0}


def asked(name: str, call_id: str, arguments: bytes = b"") -> str:
    """By what a call of a tool is recognised: its id, by which clients name it again with its result; they may write its arguments anew.

    Some servers give no ids: there the arguments count, JSON or a string that holds JSON, however they are spelt.
    """
    return f"{name} {call_id or _canonical(arguments)}".strip()


def _canonical(arguments: bytes) -> str:
    try:
        value = msgspec.json.decode(arguments)
        return _canonical(value.encode()) if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()
    except (msgspec.DecodeError, RecursionError):
        return arguments.decode(errors="replace").strip()


def ledger_key(principal: models.Principal, place: tuple[str, str], prefix: str) -> str:
    """place: the session or day ("" if none), and the project. prefix: a digest of the conversation so far."""
    return hashlib.sha256(msgspec.json.encode((principal.team, principal.user, *place, prefix))).hexdigest()


def kept_key(principal: models.Principal, name: str) -> str:
    """The ledger's key of a conversation that the upstream keeps under a name (`resp_…`, `conv_…`)."""
    return ledger_key(principal, ("", ""), f"kept {name}")

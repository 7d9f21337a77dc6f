"""The contract between processes: queues, task names, and one frozen payload for each task.

A job is a durable record (`Job`, its payload sealed); only its id travels through Celery. See docs/adr/0002.
"""

from enum import StrEnum

import msgspec

from services.core import models


class Queue(StrEnum):
    LEARN = "learn"
    INDEX = "index"
    UPKEEP = "upkeep"


class Task(StrEnum):
    LEARN_TURN = "brb.learn_turn"
    LEARN_MORE = "brb.learn_more"
    LEARN_IMPORTED = "brb.learn_imported"
    STORE_FACTS = "brb.store_facts"
    STORE_IMPORTED = "brb.store_imported"
    SETTLE = "brb.settle"
    TOUCH = "brb.touch"
    RECONCILE = "brb.reconcile"
    CANARY = "brb.canary"
    RETENTION = "brb.retention"


QUEUE_OF: dict[Task, Queue] = {
    Task.LEARN_TURN: Queue.LEARN,
    Task.LEARN_MORE: Queue.LEARN,
    Task.LEARN_IMPORTED: Queue.LEARN,
    Task.STORE_FACTS: Queue.INDEX,
    Task.STORE_IMPORTED: Queue.INDEX,
    Task.SETTLE: Queue.INDEX,
    Task.TOUCH: Queue.INDEX,
    Task.RECONCILE: Queue.UPKEEP,
    Task.CANARY: Queue.UPKEEP,
    Task.RETENTION: Queue.UPKEEP,
}

PATIENT = frozenset({Task.LEARN_MORE, Task.LEARN_IMPORTED, Task.STORE_IMPORTED})
"""Tasks that come after all others of their queue: they take long, or there are many of them, and nobody waits for them."""


class Lane(StrEnum):
    """Where a job is counted while it waits: with its queue, but all that are patient by themselves. A long import is then not taken for a queue that
    nobody works on."""

    LEARN = "learn"
    INDEX = "index"
    UPKEEP = "upkeep"
    PATIENT = "patient"


LANE_OF: dict[Task, Lane] = {task: Lane.PATIENT if task in PATIENT else Lane(queue) for task, queue in QUEUE_OF.items()}


class LearnTurn(msgspec.Struct, frozen=True):
    """One answered human turn. Every text is redacted of structured PII and secrets before it gets here.

    words: what the person said in this turn; context: what the person said in earlier turns of the conversation, oldest first;
    answer: the end of the assistant's previous message, used only to resolve references. session: the client's own name of the conversation, if any.
    by_hand: no conversation, but a statement that its person wrote down, and that is a memory already (`memory_add`); category: the one given for it.
    imported: said elsewhere and brought in later: what is learnt from it waits for its owner's yes; by_hand: it then is no memory yet.
    """

    turn: str
    principal: models.Principal
    said_at: float
    words: str
    project: str = ""
    context: tuple[str, ...] = ()
    answer: str = ""
    session: str = ""
    by_hand: bool = False
    category: models.Category | None = None
    imported: bool = False


class LearnMore(msgspec.Struct, frozen=True):
    """A turn that a language model is to read as well, after the rules have. known: the facts that they found, stored by a job of their own."""

    turn: str
    said: LearnTurn
    known: tuple[models.Fact, ...]


class StoreFacts(msgspec.Struct, frozen=True):
    """Facts of one turn, ready to be decided on and written. first: how many facts of the turn come in an earlier job.

    by_hand: the only fact is a memory already, as its person wrote it down; none, if it may not be kept.
    imported: what becomes of the facts waits for its owner's yes, and changes nothing that is current.
    """

    turn: str
    principal: models.Principal
    said_at: float
    facts: tuple[models.Fact, ...]
    project: str = ""
    first: int = 0
    session: str = ""
    by_hand: bool = False
    imported: bool = False


class Settle(msgspec.Struct, frozen=True):
    """A memory that waited, and whose owner has made it current: to be decided about beside the others, as any fact is.

    turn: of this release. principal: the owner.
    """

    turn: str
    principal: models.Principal
    id: str

    @classmethod
    def of(cls, memory: models.Memory, at: float) -> "Settle":
        return cls(turn=f"{memory.id}-{at!r}", principal=models.Principal(memory.team, memory.owner), id=memory.id)


class Touch(msgspec.Struct, frozen=True):
    """Memories that a conversation was told of, and when."""

    turn: str
    principal: models.Principal
    ids: tuple[str, ...]
    at: float


Payload = LearnTurn | LearnMore | StoreFacts | Settle | Touch

PAYLOAD_OF: dict[Task, type[Payload]] = {
    Task.LEARN_TURN: LearnTurn,
    Task.LEARN_MORE: LearnMore,
    Task.LEARN_IMPORTED: LearnTurn,
    Task.STORE_FACTS: StoreFacts,
    Task.STORE_IMPORTED: StoreFacts,
    Task.SETTLE: Settle,
    Task.TOUCH: Touch,
}


class Job(msgspec.Struct, frozen=True):
    """A unit of durable work. `id` is derived from its turn (and the part of it), so that the same turn makes the same job."""

    id: str
    task: Task
    payload: Payload

    @property
    def principal(self) -> models.Principal:
        """Whose it is."""
        return self.payload.said.principal if isinstance(self.payload, LearnMore) else self.payload.principal

    @classmethod
    def of(cls, task: Task, payload: Payload, part: str = "") -> "Job":
        return cls(id=cls.id_of(task, payload.turn, part), task=task, payload=payload)

    @staticmethod
    def id_of(task: Task, turn: str, part: str = "") -> str:
        return "-".join(filter(None, (task.removeprefix("brb."), turn, part)))


def encode(payload: Payload) -> bytes:
    return msgspec.json.encode(payload)


def decode(task: Task, raw: bytes) -> Payload:
    return msgspec.json.decode(raw, type=PAYLOAD_OF[task])

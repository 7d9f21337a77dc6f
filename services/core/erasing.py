"""What goes when something is forgotten (pure)."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from services.core import messages, models, ports

_FEWEST_WORDS = 3  # of a quote that is looked for in other texts: "vim" alone is in texts that have nothing to do with it

Concerns = Callable[[messages.Job], bool]


class Plan(NamedTuple):
    """gone: every version that goes. changed: memories as they are to be: without the words of a conversation. left: those that stay for the team."""

    gone: tuple[models.Memory, ...] = ()
    changed: tuple[models.Memory, ...] = ()
    left: tuple[models.Memory, ...] = ()


def lineages(roots: Iterable[models.Memory], find: Callable[[str], Iterable[models.Memory]], get: Callable[[str], models.Memory | None]) -> Plan:
    """The roots with all their history. find: the memories of a lineage. get: one by its id.

    Also of lineages that one was about to be merged with: until that is done, the links alone tell.
    """
    found: dict[str, models.Memory] = {}
    seen: set[str] = set()
    waiting = [root.lineage for root in roots]
    while waiting:
        lineage = waiting.pop()
        if lineage in seen:
            continue
        seen.add(lineage)
        for memory in find(lineage):
            found[memory.id] = memory
            linked = [get(each) for each in (memory.supersedes, memory.superseded_by) if each and each not in found]
            waiting += [other.lineage for other in linked if other is not None]
    return Plan(gone=tuple(found.values()))


def of_session(memories: Iterable[models.Memory], session: str) -> Plan:
    """What was said in this conversation alone goes; what was also said elsewhere loses these words, and the mention. A version by itself."""
    gone: list[models.Memory] = []
    changed: list[models.Memory] = []
    for memory in memories:
        others = tuple(evidence for evidence in memory.evidence if evidence.session != session)
        if len(others) == len(memory.evidence):
            continue
        if not others:
            gone.append(memory)
        else:
            mentions = max(1, memory.mentions - len(memory.evidence) + len(others))
            changed.append(replace(memory, evidence=others, mentions=mentions))
    return Plan(tuple(gone), tuple(changed))


def only(memory: models.Memory, words: Sequence[models.Evidence]) -> models.Memory:
    """A memory as nothing but some of the words behind it: for finding these elsewhere."""
    return replace(memory, text=words[0].quote if words else "", evidence=tuple(words))


def sparing_the_team(plan: Plan) -> Plan:
    """The same, but what the team was given stays as it is."""
    shared = tuple(memory for memory in plan.gone if memory.visibility is models.Visibility.TEAM)
    own = tuple(memory for memory in plan.gone if memory.visibility is not models.Visibility.TEAM)
    return plan._replace(gone=own, left=shared)


def turns(memories: Iterable[models.Memory]) -> frozenset[str]:
    """The turns that the memories were learnt from."""
    return frozenset(evidence.turn for memory in memories for evidence in memory.evidence)


def quotes(memories: Iterable[models.Memory]) -> frozenset[str]:
    """What the memories say, in words that are looked for elsewhere."""
    said = (text for memory in memories for text in (memory.text, *(evidence.quote for evidence in memory.evidence)))
    return frozenset(plain for text in said if len((plain := _plain(text)).split()) >= _FEWEST_WORDS)


def says(texts: Iterable[str], quoted: Iterable[str]) -> bool:
    """Whether one of the texts holds one of the quotes, but for case and white space."""
    wanted = tuple(quoted)
    return bool(wanted) and any(quote in plain for text in texts if (plain := _plain(text)) for quote in wanted)


def concerns_words(owner: models.Principal, gone: Sequence[models.Memory]) -> Concerns:
    """The owner's jobs that would bring one of them back: of the same turn, or with the same statement in the words to be learnt from."""
    from_turns, quoted = turns(gone), quotes(gone)
    return lambda job: is_of(job, owner) and (job.payload.turn in from_turns or says(_learnt_from(job.payload), quoted))


def concerns_session(owner: models.Principal, session: str) -> Concerns:
    return lambda job: is_of(job, owner) and _session(job.payload) == session


def concerns_owner(owner: models.Principal) -> Concerns:
    return lambda job: is_of(job, owner)


def concerns_team(team: str) -> Concerns:
    return lambda job: job.principal.team == team


def is_of(job: messages.Job, owner: models.Principal) -> bool:
    principal = job.principal
    return (principal.team, principal.user) == (owner.team, owner.user)


def cleared(job: messages.Job, owner: models.Principal, quoted: frozenset[str]) -> messages.Job | None:
    """For a job of another turn that holds a quote in what was said before it: one that learns the same without it. None for others."""
    said = job.payload.said if isinstance(job.payload, messages.LearnMore) else job.payload
    if not isinstance(said, messages.LearnTurn) or not is_of(job, owner) or not says((*said.context, said.answer), quoted):
        return None
    clean = replace(said, context=tuple(text for text in said.context if not says((text,), quoted)), answer="")
    payload = replace(job.payload, said=clean) if isinstance(job.payload, messages.LearnMore) else clean
    return messages.Job.of(job.task, payload, part="cleared")


def concerns_told(told: ports.Told, from_turns: frozenset[str], quoted: frozenset[str]) -> bool:
    """Whether the record of a turn holds words that are to go."""
    return told.turn in from_turns or says((told.words, told.asked, told.block), quoted)


def _learnt_from(payload: messages.Payload) -> tuple[str, ...]:
    if isinstance(payload, messages.LearnTurn):
        return (payload.words,)
    if isinstance(payload, messages.LearnMore):
        return (payload.said.words, *(text for fact in payload.known for text in (fact.text, fact.quote)))
    if isinstance(payload, messages.StoreFacts):
        return tuple(text for fact in payload.facts for text in (fact.text, fact.quote))
    return ()


def _session(payload: messages.Payload) -> str:
    if isinstance(payload, messages.LearnMore):
        return payload.said.session
    return payload.session if isinstance(payload, messages.LearnTurn | messages.StoreFacts) else ""


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!?")

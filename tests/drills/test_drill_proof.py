"""The books of a drill find what is missing, counted twice, invented, broken or somebody else's."""

import msgspec
import pytest

from ops.drills import proof, upstream
from ops.drills.proof import Attempt, Kept, Outcome, Turn
from services.core import block

OURS = {"Rudokavar": "acme/ana", "Lipolunan": "acme/ana", "Mepakutuk": "zeta/kim"}


def whole(ended: float = 10.0, **more: object) -> Attempt:
    return Attempt(Outcome.WHOLE, ended - 1, ended, **{"ended_seen": True, "first_byte_seconds": 0.1, **more})  # type: ignore[arg-type]


def turn(*attempts: Attempt, word: str = "Rudokavar") -> Turn:
    return Turn(word, OURS[word], list(attempts))


def kept(*words: str, owner: str = "acme/ana", current: bool = True, mentions: int = 1, evidence: int = 1) -> Kept:
    return Kept(frozenset(words or ("Rudokavar",)), owner, current, mentions, evidence)


def books(turns: list[Turn], memories: list[Kept], **more: object) -> proof.Books:
    return proof.balance(turns, memories, ours=OURS, **more)  # type: ignore[arg-type]


def wrong(made: proof.Books, **more: object) -> list[str]:
    return proof.complaints(made, **{"most_first_byte_seconds": 1.0, **more})  # type: ignore[arg-type]


def test_an_answered_turn_that_is_remembered_once_is_all_right() -> None:
    made = books([turn(whole())], [kept("Rudokavar", "Lipolunan")])
    assert (made.turns, made.answered, made.learnt, wrong(made)) == (1, 1, 1, [])


@pytest.mark.parametrize(
    ("memories", "complaint"),
    [
        ([], "1 answered turns are missing"),
        ([kept(current=False)], "1 answered turns are missing"),
        ([kept(mentions=2)], "1 facts count more than once"),
        ([kept(evidence=2)], "1 facts count more than once"),
        ([kept(), kept()], "1 facts count more than once"),
        ([kept(), kept("Lipolunan")], "1 facts without a turn"),
        ([kept(owner="acme/leo")], "1 words of others were seen"),
    ],
)
def test_what_is_remembered_otherwise_is_found(memories: list[Kept], complaint: str) -> None:
    assert complaint in wrong(books([turn(whole())], memories))


def test_what_nobody_of_the_drill_said_is_no_concern_of_it() -> None:
    assert wrong(books([turn(whole())], [kept(), kept("Something")])) == []


def test_a_turn_that_was_not_answered_may_or_may_not_be_remembered() -> None:
    cut = Attempt(Outcome.CUT, 1, 2)
    others = [turn(whole(), word="Lipolunan")]
    for memories in ([kept("Lipolunan")], [kept("Lipolunan"), kept()]):
        assert wrong(books([turn(cut), *others], memories, proxy_down=[(1, 2)])) == []


def test_whoever_saw_the_end_was_answered_though_the_call_broke_off_behind_it() -> None:
    made = books([turn(Attempt(Outcome.CUT, 1, 2, ended_seen=True))], [], proxy_down=[(1.5, 3)])
    assert made.missing == ("Rudokavar",)


@pytest.mark.parametrize(("lost", "missing", "excused"), [([(9.5, 10.5)], 0, 1), ([(10.5, 11)], 1, 0)])
def test_only_what_was_answered_in_a_lost_moment_is_excused(lost: list[proof.Interval], missing: int, excused: int) -> None:
    made = books([turn(whole(10.0))], [], lost=lost)
    assert (len(made.missing), made.excused) == (missing, excused)


@pytest.mark.parametrize(
    ("outcome", "complaint"), [(Outcome.CUT, "1 streams were broken"), (Outcome.REFUSED, "1 calls failed"), (Outcome.UNREACHED, "1 calls failed")]
)
@pytest.mark.parametrize(("down", "counts"), [([], True), ([(20.0, 30.0)], True), ([(2.0, 30.0)], False)])
def test_calls_that_break_are_faults_unless_the_proxy_was_down(outcome: Outcome, complaint: str, down: list[proof.Interval], counts: bool) -> None:
    made = books([turn(Attempt(outcome, 1.0, 3.0), whole())], [kept()], proxy_down=down)
    assert (complaint in wrong(made), made.with_proxy) == (counts, 0 if counts else 1)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"exact": False}, "1 answers are not the upstream's byte for byte"),
        ({"unaltered": False}, "1 requests were altered"),
        ({"foreign": ("Mepakutuk",)}, "1 words of others were seen"),
        ({"first_byte_seconds": 2.0}, "p99 of the first byte is 2.00 s, more than 1.00 s"),
    ],
)
def test_what_may_not_be_seen_in_a_call_is_found(more: dict[str, object], complaint: str) -> None:
    assert complaint in wrong(books([turn(whole(**more))], [kept()]))


def test_dead_letters_are_counted_against_those_made_on_purpose() -> None:
    made = books([turn(whole())], [kept()])
    assert wrong(made, dead=2, dead_expected=2) == []
    assert wrong(made, dead=1) == ["1 dead letters, not 0"]


def test_a_drill_without_answers_proves_nothing() -> None:
    assert wrong(books([], [])) == ["no turn was answered: nothing is proven"]


@pytest.mark.parametrize(
    ("samples", "slope"),
    [
        ([], 0),
        ([(0, 5)], 0),
        ([(0, 10), (60, 12), (120, 14)], 2),
        ([(0, 7), (30, 7), (60, 7)], 0),
        ([(at, 10 if at < 20 else 18) for at in range(60)], 0),  # one step
        ([(at, 10 + at // 10) for at in range(60)], 6),  # stairs
    ],
)
def test_the_slope_is_that_of_a_minute(samples: list[tuple[float, float]], slope: float) -> None:
    assert proof.slope_per_minute(samples) == pytest.approx(slope, rel=0.1)


def test_the_upstream_sees_what_was_inserted_and_what_the_client_sent() -> None:
    said = {"type": "text", "text": "The mascot is called Rudokavar."}
    told = {"type": "text", "text": f"{block.OPEN}\nabout Mepakutuk\n{block.CLOSE}"}
    sent, received = (msgspec.json.encode({"messages": [{"role": "user", "content": content}]}) for content in ([said], [said, told]))
    assert upstream.without_blocks(received) == sent
    assert upstream.without_blocks(sent) == sent
    assert upstream.seen(received) == {"Mepakutuk"}
    assert upstream.without_blocks(received.replace(b"mascot", b"mascots")) != sent


def test_answers_follow_from_the_call() -> None:
    assert upstream.events("a", 10) == upstream.events("a", 10) != upstream.events("b", 10)
    assert len(upstream.events("a", 10)) == 10
    assert upstream.events("a", 10)[-1] == b'event: message_stop\ndata: {"type":"message_stop"}\n\n'

"""Parts that hang, die or are killed: calls go through, nothing is lost, nothing is learnt twice."""

import contextlib
from collections.abc import Callable, Iterator

import pytest
from harness import RECALL_DEADLINE_MS, Brb, Person, until

from services.embedded import standin

New = Callable[..., Person]

SLACK_SECONDS = 1.0  # what a call may take beside the recall, on a machine that is busy with tests
FILLER = "The parser reads the next token, looks at it for a while, and then goes on with the following one. " * 75


@pytest.fixture(autouse=True)
def _well_again(brb: Brb) -> Iterator[None]:
    yield
    brb.healthy()


def learnt_once(brb: Brb, words: str) -> None:
    memory = brb.memory(words, 60)
    assert (memory.mentions, len(memory.evidence)) == (1, 1)
    assert len(brb.history(memory)) == 1


def test_while_redis_hangs_calls_go_through_and_are_learnt_when_it_is_back(brb: Brb, person: New) -> None:
    with brb.stopped("redis"):
        said = person().say("Our scheduler is called Kestrel.")
        assert said.answer == "Noted."
        assert said.seconds < RECALL_DEADLINE_MS / 1000 + SLACK_SECONDS
        until(lambda: brb.health().spooled or None, "no job was spooled")
    learnt_once(brb, "Kestrel")
    assert brb.health().spooled == 0


def test_while_redis_is_gone_calls_go_through_and_are_learnt_when_it_is_back(brb: Brb, person: New) -> None:
    for process in brb.tree("redis"):
        process.kill()
    said = person().say("Our build server is called Falcon.")
    assert said.answer == "Noted."
    learnt_once(brb, "Falcon")


def test_while_llama_cpp_hangs_calls_keep_the_deadline_and_bm25_alone_recalls(brb: Brb, person: New) -> None:
    person().say("Our invoice archive is called Wasabi.")
    brb.memory("Wasabi")
    with brb.stopped("llama"):
        asked = person().say("What is our invoice archive called?")
        assert asked.seconds < RECALL_DEADLINE_MS / 1000 + SLACK_SECONDS
        assert "Wasabi" in asked.blocks[0]
        assert person().say("Our payslip archive is called Glacier.").answer
    learnt_once(brb, "Glacier")


def test_while_llama_cpp_is_gone_calls_go_through_and_are_learnt_when_it_is_back(brb: Brb, person: New) -> None:
    for process in brb.tree("llama"):
        process.kill()
    said = person().say("Our wiki is hosted on Netlify.")
    assert said.answer == "Noted."
    learnt_once(brb, "Netlify")


def test_a_worker_killed_in_the_middle_of_a_job_leaves_the_facts_there_once(brb: Brb, person: New) -> None:
    with brb.stopped("worker"):
        said = person().say(f"Our mascot is called Wombat. {FILLER} Our newsletter is called Platypus.")
        until(lambda: brb.health().pending["learn"] or None, "no job was recorded")
    with contextlib.closing(brb.redis()) as redis:
        until(lambda: redis.hexists(f"brb:job:learn_turn-{said.turn}", "token") or None, "the job was not taken")
        brb.kill_part("worker")
        assert not redis.exists(f"brb:job:done:learn_turn-{said.turn}"), "it was killed too late to show anything"
    brb.worked_off(said.turn, 60)
    for name in ("Wombat", "Platypus"):
        learnt_once(brb, name)


def test_a_proxy_killed_while_its_indexer_has_work_leaves_the_facts_there_once(brb: Brb, person: New) -> None:
    with brb.stopped("llama"):  # so that the facts can't be written yet
        said = person().say("Our chat bot is called Marmot.")
        until(lambda: brb.health().pending["index"] or None, "no facts were handed over")
        for process in brb.tree("proxy"):
            process.kill()
    brb.healthy()
    brb.worked_off(said.turn, 60)
    learnt_once(brb, "Marmot")


def test_all_of_brb_killed_right_after_the_answer_has_learnt_it_once_when_it_runs_again(brb: Brb, person: New) -> None:
    person().say("Our jumbotron is called Ocelot.")
    brb.kill()
    brb.start()
    learnt_once(brb, "Ocelot")


def test_a_client_that_goes_away_stops_the_upstream_and_nothing_is_learnt(brb: Brb, person: New, upstream: standin.StandIn) -> None:
    body = {"model": "claude-x", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "Our lobby is called Axolotl."}]}
    headers = {"x-standin": '{"chunk_delay_ms": 200, "text": "a long answer that nobody waits for, word by word by word"}'}
    with brb.http.stream("POST", "/v1/messages", json=body, headers=headers) as answer:
        next(answer.iter_raw())
    until(lambda: upstream.abandoned or None, "the upstream went on", 5)
    brb.worked_off(person().say("Our cellar is called Newt.").turn)
    assert not any("Axolotl" in text for text in brb.texts())

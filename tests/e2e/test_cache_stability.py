"""What was once sent upstream is sent again, byte for byte, as long as the conversation goes on: else every prompt cache is lost."""

import dataclasses
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest
from harness import Brb, Person, scripted, until

from services.core import config, seal
from services.core.adapters import redis_client, redis_ledger
from services.embedded import standin
from services.proxy.injection import Injection
from tests.support import in_memory
from tests.support.claude_code import ASSISTANT, HUMAN, RESULT, TOOL, Conversation, Layout, Sent
from tests.support.relaying import relaying

FACTS = "Our message broker is NATS. My dog is called Eizo. I prefer oolong tea."
BROKER, DOG, TEA = "What is our message broker?", "What is my dog called?", "Which tea do I prefer?"
NATS, EIZO, OOLONG = "NATS", "Eizo", "oolong"

New = Callable[..., Conversation]


@pytest.fixture(scope="module")
def remembering(tmp_path_factory: pytest.TempPathFactory, upstream_server: standin.StandIn) -> Iterator[Brb]:
    """A BRB that remembers three facts."""
    brb = Brb(tmp_path_factory.mktemp("stable"), upstream_server.url, BRB_OPENAI_URL=upstream_server.url)
    try:
        brb.start(seconds=300)
        with Person(brb, upstream_server) as person:
            person.say(FACTS)
        for words in (NATS, EIZO, OOLONG):
            brb.memory(words, 60)
        yield brb
    finally:
        brb.close()


@pytest.fixture
def new(remembering: Brb, upstream: standin.StandIn) -> New:
    """Begins a conversation."""
    remembering.healthy()
    return lambda **options: Conversation(remembering.url, upstream, **options)


def grows(calls: Sequence[Sent], **aside: bool) -> None:
    """Each call begins with the one before it, and differs from what the client wrote by its blocks alone."""
    for call in calls:
        assert call.status == 200
        assert call.without_blocks == call.written
    for earlier, later in itertools.pairwise(calls):
        assert later.conversation(**aside).startswith(earlier.conversation(**aside))


def shows(call: Sent, *expected: tuple[int, str]) -> None:
    """The blocks of a call: the place of the message of each, and what it tells."""
    assert [place for place, _ in call.blocks] == [place for place, _ in expected], call.blocks
    for (_, text), (_, words) in zip(call.blocks, expected, strict=True):
        assert words in text


def told_once(call: Sent) -> None:
    """No memory is in two blocks."""
    lines = [line for _, text in call.blocks for line in text.splitlines() if line.startswith("- [")]
    assert len(lines) == len(set(lines))


def test_a_conversation_grows_through_tool_loops_and_turns(new: New) -> None:
    """metronix-memory#428, openclaw#91223, LambChat PR#371: hit rates fell to nothing. LastChat#197: the block of turn 1 went when turn 2 got one."""
    talk = new()
    talk.ask(BROKER, steps=3)
    talk.ask("Rename the file, please.", steps=1)
    talk.ask(DOG, steps=2)
    talk.ask("Thanks a lot!")
    grows(talk.sent)
    shows(talk.sent[0], (0, NATS))
    shows(talk.sent[-1], (0, NATS), (next(place for place, text in talk.sent[-1].blocks if EIZO in text), EIZO))
    told_once(talk.sent[-1])
    assert [call.memories > 0 for call in talk.sent] == [True, False, False, False, False, False, True, False, False, False]


def test_a_block_is_inserted_once_for_a_turn_and_not_at_each_step(new: New) -> None:
    """memini PR#28: the same memories again behind every tool result."""
    talk = new()
    steps = talk.ask(BROKER, steps=5)
    assert [call.blocks for call in steps] == [steps[0].blocks] * 6
    assert len(steps[0].blocks) == 1


def test_a_memory_that_was_shown_is_not_shown_again(new: New) -> None:
    """claude-mem#3394: the identical block at each prompt."""
    talk = new()
    talk.ask(BROKER)
    talk.ask(f"Once more: {BROKER}")
    talk.ask(DOG)
    talk.ask(f"And again: {BROKER} {DOG}")
    grows(talk.sent)
    told_once(talk.sent[-1])
    assert sum(NATS in text for _, text in talk.sent[-1].blocks) == 1
    assert sum(EIZO in text for _, text in talk.sent[-1].blocks) == 1


@pytest.mark.parametrize("script", [{"status": 529}, {"status": 500}, {"cut_after_chunks": 3}], ids=["overloaded", "failed", "cut off"])
def test_a_retry_sends_the_same_bytes(new: New, script: dict[str, object]) -> None:
    talk = new()
    talk.ask(TEA)
    talk.items.append((HUMAN, BROKER))
    if "status" in script:
        talk.send(**script)
    else:
        with pytest.raises(httpx2.RemoteProtocolError):
            talk.send(**script)
    first = talk.upstream.recorded[-1].body
    for _ in range(3):
        again = talk.send()
        assert again.arrived == first
    shows(again, (0, OOLONG), (3, NATS))


def test_a_retry_sends_the_same_bytes_although_more_is_known_by_then(remembering: Brb, new: New, upstream: standin.StandIn) -> None:
    talk = new()
    talk.items.append((HUMAN, "What is our parrot called?"))
    first = talk.send(status=529)
    with Person(remembering, upstream) as person:
        person.say("Our parrot is called Kiwi.")
    learnt = remembering.memory("Kiwi", 60)
    try:
        assert talk.send().arrived == first.arrived
        assert any("Kiwi" in text for _, text in new().ask("What is our parrot called?")[0].blocks)
    finally:
        remembering.http.delete(f"/memories/{learnt.id}")


def test_a_call_repeated_without_streaming_sends_the_same_conversation(new: New) -> None:
    talk = new()
    talk.items.append((HUMAN, BROKER))
    talk.send(chunks=['event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'])
    talk.send(layout=Layout(stream=False))
    assert talk.sent[0].conversation() == talk.sent[1].conversation()
    shows(talk.sent[1], (0, NATS))


def test_a_rewind_finds_its_blocks_again(new: New) -> None:
    talk = new()
    talk.ask(BROKER, steps=1)
    kept = len(talk.items)
    talk.ask(DOG)
    talk.ask(TEA)
    back = talk.fork(upto=kept)
    back.ask(TEA)
    back.ask(DOG)
    grows([talk.sent[1], *back.sent])
    assert back.sent[0].blocks[0] == talk.sent[0].blocks[0]
    assert OOLONG in back.sent[0].blocks[1][1]
    told_once(back.sent[-1])


def test_a_rewind_to_the_same_words_sends_the_same_bytes(new: New) -> None:
    talk = new()
    talk.ask(BROKER)
    kept = len(talk.items)
    first = talk.ask(DOG)[0]
    again = talk.fork(upto=kept).ask(DOG)[0]
    assert again.arrived == first.arrived


def test_a_fork_replays_and_gets_no_block_of_its_own(new: New) -> None:
    """A suggestion or a compaction: an instruction behind a copy of the conversation, whose marker is on the last answer."""
    talk = new()
    talk.ask(BROKER)
    talk.ask(DOG)
    fork = talk.fork(session="another")
    fork.items.append((HUMAN, f"Summarise this conversation. {TEA}"))
    call = fork.send(layout=Layout(marker="answer"))
    grows([*talk.sent, call])
    assert call.blocks == talk.sent[-1].blocks
    assert call.memories == 0


def test_a_session_that_is_resumed_under_another_id_goes_on(new: New) -> None:
    talk = new()
    talk.ask(BROKER, steps=1)
    talk.ask(DOG)
    resumed = talk.fork(session="resumed")
    resumed.ask(TEA)
    grows([*talk.sent, *resumed.sent])
    assert resumed.sent[0].blocks[:2] == talk.sent[-1].blocks
    assert OOLONG in resumed.sent[0].blocks[2][1]
    told_once(resumed.sent[-1])


@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
def test_a_conversation_goes_on_when_brb_was_started_again(remembering: Brb, new: New, killed: bool) -> None:
    talk = new()
    talk.ask(BROKER, steps=1)
    if killed:
        remembering.kill()
    else:
        assert remembering.interrupt() == 0
    remembering.start()
    talk.ask(DOG)
    grows(talk.sent)
    shows(talk.sent[-1], (0, NATS), (talk.sent[-1].blocks[1][0], EIZO))
    assert talk.sent[-1].blocks[0] == talk.sent[0].blocks[0]


LAYOUTS = {
    "no marker": Layout(marker="none"),
    "the newest message is a string": Layout(as_string=True, marker="none"),
    "earlier messages are lists": Layout(as_list=True),
    "without streaming": Layout(stream=False),
    "another model": Layout(model="claude-small", max_tokens=8000),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_spelling_that_changes_between_calls_changes_no_block(new: New, layout: Layout) -> None:
    """claude-code#93490, #96101: string against list; the marker that moves."""
    talk = new()
    talk.ask(BROKER, steps=1)
    talk.ask(DOG, steps=1, layout=layout)
    talk.ask("Thanks a lot!")
    talk.ask(TEA, layout=layout)
    grows(talk.sent)
    assert [text for _, text in talk.sent[-1].blocks][:2] == [talk.sent[0].blocks[0][1], talk.sent[2].blocks[1][1]]
    assert OOLONG in talk.sent[-1].blocks[2][1]


@pytest.mark.parametrize("reminders", [0, 2, 3])
def test_reminders_that_come_and_go_change_no_block(new: New, reminders: int) -> None:
    """claude-code#43657, #67497: the block of skills moves on resume."""
    talk = new()
    talk.ask(BROKER, steps=1)
    other = Layout(reminders=reminders)
    talk.ask(DOG, layout=other)
    talk.ask(TEA)
    grows(talk.sent, reminders=False)
    assert [text for _, text in talk.sent[-1].blocks][:2] == [text for _, text in talk.sent[-2].blocks]
    assert talk.sent[-1].blocks[0][1] == talk.sent[0].blocks[0][1]


def test_the_layout_of_a_fallback_model_changes_no_block(new: New) -> None:
    """After three 529s: another model, three reminders, no notes of the system; and back again."""
    talk = new()
    fallback = Layout(model="claude-small", reminders=3, notes=False)
    talk.items.append((HUMAN, BROKER))
    for _ in range(3):
        talk.send(status=529)
    talk.items.pop()
    talk.ask(BROKER, steps=1, layout=fallback)
    talk.ask(DOG, layout=fallback)
    talk.ask(TEA)
    blocks = {text for call in talk.sent for place, text in call.blocks if place == 0}
    assert len(blocks) == 1
    working = [call for call in talk.sent if call.status == 200]
    grows(working, reminders=False, notes=False)
    assert [words in text for words, (_, text) in zip((NATS, EIZO, OOLONG), talk.sent[-1].blocks, strict=True)] == [True] * 3


def test_thoughts_tools_and_results_of_the_history_arrive_as_they_were(new: New) -> None:
    """hebo-gateway#131: a signature changed by writing the history anew."""
    talk = new()
    talk.items += [(HUMAN, BROKER), (TOOL, "Hm."), (RESULT, "a <b>quoted</b> é \\ud83d"), (ASSISTANT, "So it is.")]
    call = talk.ask(DOG)[0]
    assert call.without_blocks == call.written
    assert b'"signature":"QUJD/+=="' in call.arrived
    assert [place for place, text in call.blocks if EIZO in text] == [5]


# Redis


def test_while_redis_hangs_nothing_is_inserted_and_afterwards_the_old_blocks_are_back(remembering: Brb, new: New) -> None:
    talk = new()
    talk.ask(BROKER)
    with remembering.stopped("redis"):
        without = talk.ask(DOG)[0]
        assert (without.status, without.blocks, without.arrived) == (200, [], without.written)
    until(lambda: remembering.health().status == "ok" or None, "Redis did not come back", 60)
    talk.ask(TEA)
    grows([talk.sent[0], talk.sent[2]])
    assert talk.sent[-1].blocks[0] == talk.sent[0].blocks[0]
    assert [EIZO in text for _, text in talk.sent[-1].blocks] == [False, False]
    assert OOLONG in talk.sent[-1].blocks[1][1]


def test_when_redis_was_killed_the_old_blocks_are_there_again(remembering: Brb, new: New) -> None:
    talk = new()
    talk.ask(BROKER)
    remembering.idle()
    remembering.kill_part("redis")
    until(lambda: remembering.health().status == "ok" or None, "Redis did not come back", 60)
    talk.ask(TEA)
    grows(talk.sent)
    shows(talk.sent[-1], (0, NATS), (3, OOLONG))


@pytest.fixture
def proxies(tmp_path: Path, redis_address: str, upstream_server: standin.StandIn) -> Iterator[tuple[str, str]]:
    """Two proxies over one Redis and one store."""
    shared = in_memory.parts(tmp_path)
    in_memory.keep(shared, *[in_memory.memory(text) for text in ("Our message broker is NATS", "My dog is called Eizo", "I prefer oolong tea")])
    settings = config.Settings(anthropic_url=upstream_server.url, openai_url=upstream_server.url, data_dir=tmp_path, recall_deadline_ms=5000)
    with ExitStack() as stack:
        urls = []
        for _ in range(2):
            client = redis_client.connect(redis_address, timeout_seconds=1)
            stack.callback(client.close)
            ledger = redis_ledger.RedisLedger(client, seal.Seal("one secret"), lifetime_seconds=3600)
            injection = Injection(dataclasses.replace(shared, settings=settings, ledger=ledger))
            stack.callback(injection.close)
            urls.append(stack.enter_context(relaying(settings, injection)))
        yield urls[0], urls[1]


def test_two_proxies_over_one_redis_send_the_same(proxies: tuple[str, str], upstream: standin.StandIn) -> None:
    """TencentDB-Agent-Memory: without shared storage every replica misses the others' caches."""
    talk = Conversation(proxies[0], upstream)
    for number, words in enumerate((BROKER, "Rename the file, please.", DOG, TEA)):
        talk.url = proxies[number % 2]
        talk.ask(words)
        talk.items.pop()
        again = [talk.send(url=url) for url in proxies]
        assert {call.arrived for call in again} == {talk.sent[-3].arrived}
        talk.items.append((ASSISTANT, "Well, sure."))
    grows(talk.sent[::3])
    assert [words in text for words, (_, text) in zip((NATS, EIZO, OOLONG), talk.sent[-1].blocks, strict=True)] == [True] * 3
    told_once(talk.sent[-1])


# What the upstream says of its cache


def counted(brb: Brb) -> tuple[float, float]:
    """Tokens read from the cache and written to it, as `/metrics` has them."""
    text = brb.http.get("/metrics").text
    totals = [re.search(rf"^brb_upstream_cache_{kind}_tokens_total (\S+)$", text, re.MULTILINE) for kind in ("read", "write")]
    return tuple(float(total[1]) if total else 0.0 for total in totals)  # type: ignore[return-value]


def event(name: str, **data: object) -> str:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"


ANTHROPIC_USAGE = {"input_tokens": 3, "cache_read_input_tokens": 700, "cache_creation_input_tokens": 50, "output_tokens": 1}
ANTHROPIC_STREAM = [
    event("message_start", message={"id": "m", "type": "message", "role": "assistant", "content": [], "usage": ANTHROPIC_USAGE}),
    event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 4}),
    event("message_stop"),
]
ANTHROPIC_PLAIN = json.dumps({"id": "m", "type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn", "usage": ANTHROPIC_USAGE})
CHAT_USAGE = {
    "prompt_tokens": 900,
    "completion_tokens": 1,
    "total_tokens": 901,
    "prompt_tokens_details": {"cached_tokens": 700, "cache_write_tokens": 50},
}
CHAT_PLAIN = json.dumps(
    {"id": "c", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}],
     "usage": CHAT_USAGE}
)  # fmt: skip
CHAT_STREAM = [
    "data: "
    + json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]}),
    "\n\ndata: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": CHAT_USAGE}) + "\n\ndata: [DONE]\n\n",
]
RESPONSES_USAGE = {
    "input_tokens": 900,
    "output_tokens": 1,
    "total_tokens": 901,
    "input_tokens_details": {"cached_tokens": 700, "cache_write_tokens": 50},
}
RESPONSE = {"id": "resp_1", "object": "response", "status": "completed", "output": [], "usage": RESPONSES_USAGE}
RESPONSES_STREAM = [event("response.created", response={"id": "resp_1"}), event("response.completed", response=RESPONSE)]

ASKED = [{"role": "user", "content": "How are you?"}]
USAGES: dict[str, tuple[str, dict[str, object], dict[str, object]]] = {
    "messages, streamed": ("/v1/messages", {"messages": ASKED, "max_tokens": 99, "stream": True}, {"chunks": ANTHROPIC_STREAM}),
    "messages": ("/v1/messages", {"messages": ASKED, "max_tokens": 99}, {"error": ANTHROPIC_PLAIN}),
    "chat, streamed": ("/v1/chat/completions", {"messages": ASKED, "stream": True}, {"chunks": CHAT_STREAM}),
    "chat": ("/v1/chat/completions", {"messages": ASKED}, {"error": CHAT_PLAIN}),
    "responses, streamed": ("/v1/responses", {"input": "How are you?", "stream": True}, {"chunks": RESPONSES_STREAM}),
    "responses": ("/v1/responses", {"input": "How are you?"}, {"error": json.dumps(RESPONSE)}),
}


@pytest.mark.parametrize(("path", "call", "script"), USAGES.values(), ids=USAGES)
def test_tokens_that_the_upstream_cached_are_counted(
    remembering: Brb, upstream: standin.StandIn, path: str, call: dict[str, object], script: dict[str, object]
) -> None:
    before = counted(remembering)
    assert remembering.http.post(path, json={"model": "m", **call}, headers=scripted(**script)).status_code == 200
    until(lambda: counted(remembering)[0] > before[0] or None, "the tokens were not counted", 10)
    assert counted(remembering) == (before[0] + 700, before[1] + 50)

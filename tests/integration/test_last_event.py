"""What a client takes for the end of a streamed answer reaches it when the turn is recorded: whoever has seen it may be sure of that."""

import asyncio
import gzip
import select
import threading
from collections.abc import Iterator

import pytest

from services.proxy import relay
from services.proxy.wire import calls
from tests.support import raw
from tests.support.between import Between, between
from tests.support.interceptors import Keeping

TURN = b'{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"hello"}]}'
ASKED = b'{"model":"m","stream":true,"input":"hello"}'
EVENTS = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","content":[]}}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n'
)
STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
CHUNK = b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
DONE = b"data: [DONE]\n\n"
CREATED = b'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_1"}}\n\n'
COMPLETED = b'event: response.completed\ndata: {"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[]}}\n\n'


class Slow(Keeping):
    """Records an answer when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()

    async def after(self, prepared: relay.Prepared, answer: calls.Answer) -> None:
        await super().after(prepared, answer)
        await asyncio.to_thread(self.go_on.wait, 10)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Between]:
    with between(tmp_path_factory.mktemp("data"), Slow()) as place:
        yield place


@pytest.fixture
def place(running: Between) -> Iterator[Between]:
    running.upstream.hang_up()
    running.keeping.clear()
    assert isinstance(running.keeping, Slow)
    running.keeping.go_on.clear()
    yield running
    running.keeping.go_on.set()


def recorded(place: Between) -> None:
    assert isinstance(place.keeping, Slow)
    place.keeping.go_on.set()


def nothing_more(client: raw.Wire) -> bool:
    """Whether nothing comes for a while; the end of the last chunk may be unread."""
    return not select.select([client], [], [], 0.2)[0]


@pytest.mark.parametrize(
    ("target", "body", "first", "last"),
    [
        (b"/v1/messages", TURN, EVENTS, STOP),
        (b"/v1/chat/completions", TURN, CHUNK, DONE),
        (b"/v1/responses", ASKED, CREATED, COMPLETED),
    ],
    ids=["messages", "chat", "responses"],
)
def test_the_last_event_waits_for_the_turn_and_nothing_else_does(place: Between, target: bytes, body: bytes, first: bytes, last: bytes) -> None:
    with raw.connect(place.base) as client, client.sending(raw.call(target, body=body)), place.upstream.take() as wire:
        wire.request()
        wire.send(raw.opening() + raw.chunk(first))
        pieces = client.answer_pieces(client.head())
        assert next(pieces) == first
        wire.send(raw.chunk(last))
        assert place.keeping.told() == [True]
        assert nothing_more(client)
        recorded(place)
        assert next(pieces) == last  # though the answer has not come to its formal end
        wire.send(raw.END)
        assert list(pieces) == []


def test_what_comes_behind_the_last_event_keeps_its_place(place: Between) -> None:
    with raw.connect(place.base) as client, client.sending(raw.call(b"/v1/messages", body=TURN)), place.upstream.take() as wire:
        wire.request()
        wire.send(raw.opening() + raw.chunk(EVENTS) + raw.chunk(STOP))
        assert place.keeping.told() == [True]
        wire.send(raw.chunk(b": bye\n\n") + raw.END)
        recorded(place)
        assert client.answer().body == EVENTS + STOP + b": bye\n\n"


def test_an_answer_does_not_wait_for_long(place: Between) -> None:
    with raw.connect(place.base) as client, client.sending(raw.call(b"/v1/messages", body=TURN)), place.upstream.take() as wire:
        wire.request()
        wire.send(raw.opening() + raw.chunk(EVENTS) + raw.chunk(STOP) + raw.END)
        assert client.answer().body == EVENTS + STOP


def test_a_stream_that_breaks_off_behind_its_last_event_is_given_whole(place: Between) -> None:
    with raw.connect(place.base) as client, client.sending(raw.call(b"/v1/messages", body=TURN)), place.upstream.take() as wire:
        wire.request()
        wire.send(raw.opening() + raw.chunk(EVENTS) + raw.chunk(STOP))
        assert place.keeping.told() == [True]
        wire.half_close()
        pieces = client.answer_pieces(client.head())
        got = b""
        while len(got) < len(EVENTS + STOP):
            got += next(pieces)
        assert got == EVENTS + STOP
        with pytest.raises(raw.Cut):
            next(pieces)


def test_a_packed_stream_is_held_as_well(place: Between) -> None:
    packed = gzip.compress(EVENTS + STOP)
    with raw.connect(place.base) as client, client.sending(raw.call(b"/v1/messages", body=TURN)), place.upstream.take() as wire:
        wire.request()
        wire.send(raw.opening(pairs=[(b"content-encoding", b"gzip")]) + raw.chunk(packed))
        pieces = client.answer_pieces(client.head())
        assert place.keeping.told() == [True]
        assert nothing_more(client)
        recorded(place)
        assert next(pieces) == packed
        wire.send(raw.END)
        assert list(pieces) == []

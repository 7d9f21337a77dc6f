"""The upstream of the relay's measurement: gives one of two fixed answers at once. `python -m services.embedded.bench.upstream`."""

import asyncio

import msgspec
from aiohttp import web

from services.embedded.bench import processes

CHUNKS = 200
STREAM = "x-bench-stream"
"""The header of a call that is to be answered with a stream."""

_USAGE = {"input_tokens": 20_000, "cache_read_input_tokens": 18_000, "cache_creation_input_tokens": 2_000, "output_tokens": 190}
_MESSAGE = {"id": "msg_bench", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_sequence": None, "usage": _USAGE}


def document() -> bytes:
    content = [{"type": "text", "text": "Noted."}]
    return msgspec.json.encode({**_MESSAGE, "content": content, "stop_reason": "end_turn"})


def events() -> list[bytes]:
    """A streamed answer, one event a chunk."""
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    start = [_event("message_start", message={**_MESSAGE, "content": [], "stop_reason": None})]
    start += [_event("content_block_start", index=0, content_block={"type": "text", "text": ""}), _event("ping")]
    end = [_event("content_block_stop", index=0), _event("message_delta", delta=delta, usage=_USAGE), _event("message_stop")]
    words = [
        _event("content_block_delta", index=0, delta={"type": "text_delta", "text": f" word {number}"})
        for number in range(CHUNKS - len(start) - len(end))
    ]
    return [*start, *words, *end]


def create_app() -> web.Application:
    app = web.Application(client_max_size=0)
    short, long = document(), events()

    async def handle(request: web.Request) -> web.StreamResponse:
        await request.read()
        if STREAM not in request.headers:
            return web.Response(body=short, content_type="application/json")
        response = web.StreamResponse(headers={"content-type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        for event in long:
            await response.write(event)
            await asyncio.sleep(0)  # each its own packet, as from a model
        await response.write_eof()
        return response

    app.router.add_route("*", "/{path:.*}", handle)
    return app


def _event(name: str, **data: object) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode({"type": name, **data}) + b"\n\n"


if __name__ == "__main__":
    processes.serve(create_app())

"""A vendor's API for drills: `python -m ops.drills.upstream`. Its answers follow from the call's id, so that the caller knows every byte of them.

What it saw is told in headers of the answer: whether the request was as the client sent it but for inserted blocks, and the words in those.
"""

import asyncio
import hashlib
import json
import re
from typing import Any

import msgspec
from aiohttp import web

from services.core import block
from services.embedded.bench import processes

ORDER = "x-drill"
UNALTERED = "x-drill-unaltered"
SEEN = "x-drill-seen"
WORD = re.compile(r"\b[A-Z][a-z]{8}\b")

_BLOCK = rb',\{"type":"text","text":"' + block.OPEN.encode() + rb'(?:[^"\\]|\\.)*"\}'
_LINGER_SECONDS = 0.03  # between the last event and the formal end: servers and gateways take their time


class Order(msgspec.Struct, frozen=True):
    """How a call is to be answered. id: what the answer is made of. pieces, seconds: of a stream. sha256: of the body as the client sent it."""

    id: str
    sha256: str
    stream: bool = True
    pieces: int = 20
    seconds: float = 1.0


def document(call: str) -> bytes:
    return msgspec.json.encode({**_message(call), "content": [{"type": "text", "text": f"Noted, {call}."}], "stop_reason": "end_turn"})


def events(call: str, pieces: int) -> list[bytes]:
    """Of a streamed answer, each its own piece."""
    start = [_event("message_start", message={**_message(call), "content": [], "stop_reason": None})]
    start += [_event("content_block_start", index=0, content_block={"type": "text", "text": ""}), _event("ping")]
    end = [_event("content_block_stop", index=0), _event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage=_USAGE)]
    words = [_event("content_block_delta", index=0, delta={"type": "text_delta", "text": f" {call} {n}"}) for n in range(pieces - 6)]
    return [*start, *words, *end, _event("message_stop")]


def without_blocks(body: bytes) -> bytes:
    """What the client sent. Its texts are in lists, so that a block is one more element."""
    return re.sub(_BLOCK, b"", body)


def seen(body: bytes) -> set[str]:
    """Words that look like those of a drill, in the inserted blocks."""
    texts = [piece["text"] for message in json.loads(body)["messages"] for piece in _pieces(message) if piece["text"].startswith(block.OPEN)]
    return {word for text in texts for word in WORD.findall(text)}


def create_app() -> web.Application:
    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        order = msgspec.json.decode(request.headers[ORDER], type=Order)
        told = {
            UNALTERED: "1" if hashlib.sha256(without_blocks(body)).hexdigest() == order.sha256 else "0",
            SEEN: " ".join(sorted(seen(body))),
        }
        if not order.stream:
            await asyncio.sleep(order.seconds / 2)
            return web.Response(body=document(order.id), content_type="application/json", headers=told)
        response = web.StreamResponse(headers={"content-type": "text/event-stream; charset=utf-8", **told})
        await response.prepare(request)
        for event in events(order.id, order.pieces):
            await response.write(event)
            await asyncio.sleep(order.seconds / order.pieces)
        await asyncio.sleep(_LINGER_SECONDS)
        await response.write_eof()
        return response

    app = web.Application(client_max_size=0)
    app.router.add_route("POST", "/v1/messages", handle)
    return app


_USAGE = {"input_tokens": 100, "output_tokens": 20}


def _message(call: str) -> dict[str, Any]:
    return {"id": f"msg_{call}", "type": "message", "role": "assistant", "model": "claude-x", "stop_sequence": None, "usage": _USAGE}


def _event(name: str, **data: object) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode({"type": name, **data}) + b"\n\n"


def _pieces(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [piece for piece in message["content"] if "text" in piece] if isinstance(message["content"], list) else []


if __name__ == "__main__":
    processes.serve(create_app())

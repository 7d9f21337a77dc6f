"""What an answer of OpenAI's APIs said: a chat completion or a response, streamed or not."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from services.proxy.wire import routes, sse
from services.proxy.wire.calls import NO_ANSWER, Answer, Usage

_T = TypeVar("_T")

_NONE = msgspec.Raw(b"")
_ENDED = ("completed", "incomplete")  # incomplete: stopped at a limit, as a chat is by "length"


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None


class _Said(msgspec.Struct):
    """A message, or a piece of one."""

    content: str | list[_Part] | None = None

    @property
    def text(self) -> str:
        return self.content or "" if isinstance(self.content, str) else "".join(part.text or "" for part in self.content or [])


class _Choice(msgspec.Struct):
    index: int = 0
    message: _Said | None = None
    delta: _Said | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = 0
    cache_write_tokens: int | None = 0


class _ChatUsage(msgspec.Struct):
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    prompt_tokens_details: _Details | None = None


class _Chat(msgspec.Struct):
    """A completion, or a chunk of one."""

    id: str | None = None
    choices: list[_Choice] | None = None
    usage: msgspec.Raw = _NONE
    error: msgspec.Raw = _NONE


class _Item(msgspec.Struct):
    type: str = ""
    content: list[_Part] | None = None


class _ResponseUsage(msgspec.Struct):
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    input_tokens_details: _Details | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    id: str | None = None
    status: str | None = None
    output: list[_Item] | None = None
    incomplete_details: _Incomplete | None = None
    usage: msgspec.Raw = _NONE


class _Event(msgspec.Struct):
    """An event of a response's stream."""

    type: str = ""
    response: _Response | None = None
    output_index: int = 0
    content_index: int = 0
    delta: msgspec.Raw = _NONE


_CHAT = msgspec.json.Decoder(_Chat)
_RESPONSE = msgspec.json.Decoder(_Response)
_EVENT = msgspec.json.Decoder(_Event)
_TEXT = msgspec.json.Decoder(str)
_CHAT_USAGE = msgspec.json.Decoder(_ChatUsage)
_RESPONSE_USAGE = msgspec.json.Decoder(_ResponseUsage)


def answer(route: routes.Route, content_type: str, body: bytes, *, whole: bool = True) -> Answer:
    """The answer in the decoded body of a 200 to CHAT or RESPONSES. One that can't be read says nothing.

    whole: the body came to its end. Only this tells, of a stream that lacks its `[DONE]`, as that of some servers does.
    """
    streamed = content_type.lower().startswith("text/event-stream")
    try:
        if route is routes.Route.CHAT:
            return _chat_stream(sse.events(body), whole) if streamed else _chat([_CHAT.decode(body)], ended=True)
        return _response_stream(sse.events(body)) if streamed else _response(_RESPONSE.decode(body), "")
    except (msgspec.DecodeError, RecursionError):
        return NO_ANSWER


def _chat_stream(events: Iterable[tuple[bytes, bytes]], whole: bool) -> Answer:
    chunks: list[_Chat] = []
    done = failed = False
    for name, data in events:
        failed = failed or name == b"error"
        if data.startswith(b"[DONE]"):
            done = True
        else:
            chunks.extend(_decoded(_CHAT, data))
    read = _chat(chunks, ended=done)
    return msgspec.structs.replace(read, complete=read.complete and not failed and (done or whole))


def _chat(chunks: Iterable[_Chat], *, ended: bool) -> Answer:
    """The first of several choices counts. ended: the answer is said to be at its end; else each choice must have its reason to be."""
    texts: list[str] = []
    reasons: dict[int, str] = {}
    name, usage, failed = "", Usage(), False
    for chunk in chunks:
        failed = failed or bytes(chunk.error) not in (b"", b"null")
        name = name or chunk.id or ""
        usage = _chat_usage(chunk.usage) or usage
        for choice in chunk.choices or []:
            reasons[choice.index] = choice.finish_reason or reasons.get(choice.index, "")
            said = choice.message or choice.delta
            if choice.index == 0 and said:
                texts.append(said.text)
    complete = not failed and bool(reasons) and (ended or all(reasons.values()))
    return Answer(complete, "".join(texts), reasons.get(0, ""), name, usage)


def _response_stream(events: Iterable[tuple[bytes, bytes]]) -> Answer:
    texts: dict[tuple[int, int], list[str]] = {}
    last = _Response()
    failed = False
    for name, data in events:
        failed = failed or name == b"error"
        for event in _decoded(_EVENT, data):
            failed = failed or event.type == "error"
            last = event.response or last
            if event.type == "response.output_text.delta":
                texts.setdefault((event.output_index, event.content_index), []).extend(_decoded(_TEXT, event.delta))
    read = _response(last, "\n".join("".join(parts) for _, parts in sorted(texts.items())))
    return msgspec.structs.replace(read, complete=read.complete and not failed)


def _response(response: _Response, streamed: str) -> Answer:
    """streamed: the text that came before, for servers that don't repeat it in the end."""
    items = [item for item in response.output or [] if item.type == "message"]
    text = "\n".join(part.text for item in items for part in item.content or [] if part.type == "output_text" and part.text)
    reason = (response.incomplete_details and response.incomplete_details.reason) or response.status or ""
    return Answer(response.status in _ENDED, text or streamed, reason, response.id or "", _response_usage(response.usage))


def _chat_usage(raw: msgspec.Raw) -> Usage | None:
    """None if it is not given."""
    for usage in _decoded(_CHAT_USAGE, raw):
        return _usage(usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details)
    return None


def _response_usage(raw: msgspec.Raw) -> Usage:
    for usage in _decoded(_RESPONSE_USAGE, raw):
        return _usage(usage.input_tokens, usage.output_tokens, usage.input_tokens_details)
    return Usage()


def _usage(taken: int | None, given: int | None, details: _Details | None) -> Usage:
    details = details or _Details()
    return Usage(taken, given, details.cached_tokens, details.cache_write_tokens)


def _decoded(decoder: "msgspec.json.Decoder[_T]", raw: bytes | msgspec.Raw) -> Iterator[_T]:
    """The value, or nothing if it is another: servers add what we don't know."""
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        yield decoder.decode(raw)

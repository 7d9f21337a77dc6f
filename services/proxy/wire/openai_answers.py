"""What an answer of OpenAI's APIs said: a chat completion or a response, streamed or not."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from services.proxy.wire import routes, sse
from services.proxy.wire.calls import NO_ANSWER, Answer, Usage, asked, counts

_T = TypeVar("_T")

_NONE = msgspec.Raw(b"")
_ENDED = ("completed", "incomplete")  # incomplete: stopped at a limit, as a chat is by "length"
_ACCEPTED = ("queued", "in_progress")  # of a response in the background, whose answer is fetched later


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _ToolCall(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Said(msgspec.Struct):
    """A message, or a piece of one."""

    content: str | list[_Part] | None = None
    tool_calls: msgspec.Raw = _NONE
    function_call: msgspec.Raw = _NONE

    @property
    def text(self) -> str:
        return self.content or "" if isinstance(self.content, str) else "".join(part.text or "" for part in self.content or [])

    @property
    def calls(self) -> Iterator[_ToolCall]:
        for called in _decoded(_TOOL_CALLS, self.tool_calls):
            yield from called
        for function in _decoded(_FUNCTION, self.function_call):
            yield _ToolCall(function=function)


class _Choice(msgspec.Struct):
    index: int = 0
    message: _Said | None = None
    delta: _Said | None = None
    finish_reason: str | None = None


class _Chat(msgspec.Struct):
    """A completion, or a chunk of one."""

    id: str | None = None
    choices: list[_Choice] | None = None
    usage: msgspec.Raw = _NONE
    error: msgspec.Raw = _NONE


class _Item(msgspec.Struct):
    type: str = ""
    content: msgspec.Raw = _NONE
    call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = _NONE


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    id: str | None = None
    status: str | None = None
    background: bool | None = None
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
    item: msgspec.Raw = _NONE


_CHAT = msgspec.json.Decoder(_Chat)
_RESPONSE = msgspec.json.Decoder(_Response)
_EVENT = msgspec.json.Decoder(_Event)
_TEXT = msgspec.json.Decoder(str)
_OBJECT = msgspec.json.Decoder(dict[str, object])
_PARTS = msgspec.json.Decoder(list[_Part])
_TOOL_CALLS = msgspec.json.Decoder(list[_ToolCall])
_FUNCTION = msgspec.json.Decoder(_Function)
_ITEM = msgspec.json.Decoder(_Item)
_DETAILS = ("prompt_tokens_details", "input_tokens_details")


def answer(route: routes.Route, content_type: str, body: bytes, *, whole: bool = True) -> Answer:
    """The answer in the decoded body of a 200 to CHAT or RESPONSES. One that can't be read says nothing.

    whole: the body came to its end. Only this tells, of a stream that lacks its `[DONE]`, as that of some servers does.
    """
    streamed = content_type.lower().startswith("text/event-stream")
    try:
        if route is routes.Route.CHAT:
            return _chat_stream(sse.events(body), whole) if streamed else _chat([_CHAT.decode(body)], ended=True)
        return _response_stream(sse.events(body)) if streamed else _response(_RESPONSE.decode(body))
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
    pieces: list[_ToolCall] = []
    reasons: dict[int, str] = {}
    name, usage, failed = "", Usage(), False
    for chunk in chunks:
        failed = failed or bytes(chunk.error) not in (b"", b"null")
        name = name or chunk.id or ""
        usage = _usage(chunk.usage) or usage
        for choice in chunk.choices or []:
            reasons[choice.index] = choice.finish_reason or reasons.get(choice.index, "")
            said = choice.message or choice.delta
            if choice.index == 0 and said:
                texts.append(said.text)
                pieces.extend(said.calls)
    complete = not failed and bool(reasons) and (ended or all(reasons.values()))
    return Answer(complete, "".join(texts), reasons.get(0, ""), name, usage, _first_asked(pieces))


def _first_asked(pieces: Sequence[_ToolCall]) -> str:
    """pieces: as they came: the first one of a call names it, the others go on with its arguments. Whole calls have no numbers, but ids."""
    first = [piece for piece in pieces if piece.index == pieces[0].index and piece.id in (None, "", pieces[0].id)]
    functions = [piece.function for piece in first if piece.function]
    if not functions:
        return ""
    return asked(functions[0].name or "", first[0].id or "", "".join(function.arguments or "" for function in functions).encode())


def _response_stream(events: Iterable[tuple[bytes, bytes]]) -> Answer:
    texts: dict[tuple[int, int], list[str]] = {}
    items: list[_Item] = []
    last = _Response()
    failed = False
    for name, data in events:
        failed = failed or name == b"error"
        for event in _decoded(_EVENT, data):
            failed = failed or event.type == "error"
            last = event.response or last
            if event.type == "response.output_text.delta":
                texts.setdefault((event.output_index, event.content_index), []).extend(_decoded(_TEXT, event.delta))
            if event.type == "response.output_item.done":
                items.extend(_decoded(_ITEM, event.item))
    read = _response(last, "\n".join("".join(parts) for _, parts in sorted(texts.items())), items)
    return msgspec.structs.replace(read, complete=read.complete and not failed)


def _response(response: _Response, streamed: str = "", came: Sequence[_Item] = ()) -> Answer:
    """streamed, came: the text and the items that came before, for servers that don't repeat them in the end."""
    items = [item for item in response.output or [] if item.type == "message"]
    asks = (asked(item.name, item.call_id or "", bytes(item.arguments)) for item in response.output or came if item.name)
    text = "\n".join(
        part.text for item in items for parts in _decoded(_PARTS, item.content) for part in parts if part.type == "output_text" and part.text
    )
    reason = (response.incomplete_details and response.incomplete_details.reason) or response.status or ""
    complete = response.status in _ENDED or (response.background is True and response.status in _ACCEPTED)
    return Answer(complete, text or streamed, reason, response.id or "", _usage(response.usage) or Usage(), next(asks, ""))


def _usage(raw: msgspec.Raw) -> Usage | None:
    """Of either API. None if it is not given."""
    for given in _decoded(_OBJECT, raw):
        found = counts(given)
        details = counts(next((part for name in _DETAILS if isinstance(part := given.get(name), dict)), {}))
        return Usage(
            found.get("prompt_tokens", found.get("input_tokens", 0)),
            found.get("completion_tokens", found.get("output_tokens", 0)),
            details.get("cached_tokens", 0),
            details.get("cache_write_tokens", 0),
        )
    return None


def _decoded(decoder: "msgspec.json.Decoder[_T]", raw: bytes | msgspec.Raw) -> Iterator[_T]:
    """The value, or nothing if it is another: servers add what we don't know."""
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        yield decoder.decode(raw)

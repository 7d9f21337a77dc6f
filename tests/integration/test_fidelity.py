"""Every byte between client and upstream, both of them bare sockets: what must not change does not, and what is inserted is all that differs."""

import gzip
import itertools
import json
import random
import re
import zlib
from collections.abc import Iterator

import brotli  # type: ignore[import-untyped]
import msgspec
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from services.proxy.wire import splice
from tests.support import conversations, raw
from tests.support.between import Between, between
from tests.support.interceptors import Keeping

BOUNDED = settings(max_examples=100, deadline=None, derandomize=True, database=None)
MESSAGES = b"/v1/messages?beta=true"
EVENTS = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":1}}}\n\n: keepalive\n\n'
    b'event: content_block_delta\r\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta",'
    b'"text":"caf\xc3\xa9 \xf0\x9f\x98\x80"}}\r\n\r\n'
    b'event: ping\ndata: {}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'
)


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Between]:
    """With an interceptor that inserts nothing."""
    with between(tmp_path_factory.mktemp("data"), Keeping()) as place:
        yield place


@pytest.fixture(scope="module")
def inserting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Between]:
    """With an interceptor that inserts wherever it can."""
    with between(tmp_path_factory.mktemp("data"), Keeping("remembered {}")) as place:
        yield place


def chunked(body: bytes, sizes: tuple[int, ...], *, extension: bytes = b"", trailers: raw.Pairs | None = None) -> bytes:
    """A body in chunks of these sizes, again and again."""
    at, pieces = 0, []
    for size in itertools.cycle(sizes):
        if at >= len(body):
            break
        pieces.append(b"%X%b\r\n%b\r\n" % (min(size, len(body) - at), extension, body[at : at + size]))
        at += size
    return b"".join(pieces) + b"0\r\n" + raw.lines(trailers or []) + b"\r\n"


def garbage(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


# Requests

_TCHAR = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ODD_NAMES = st.text(_TCHAR, min_size=1, max_size=12).map(str.encode)
_KNOWN_NAMES = st.sampled_from(
    [b"x-api-key", b"Authorization", b"anthropic-beta", b"Anthropic-Version", b"anthropic-future", b"Cookie", b"user-agent", b"Accept-Encoding",
     b"content-type", b"x-stainless-retry-count", b"X-Claude-Code-Session-Id", b"set-cookie", b"retry-after", b"Date", b"server", b"via",
     b"x-forwarded-for", b"anthropic-ratelimit-unified-status", b"request-id", b"cache-control", b"vary", b"etag", b"origin", b"content-language"]
)  # fmt: skip
_NOT_ODD = raw.FRAMING | raw.HOP_BY_HOP | {b"trailer", b"proxy-authorization", b"proxy-authenticate", b"content-encoding"}
NAMES = (_ODD_NAMES | _KNOWN_NAMES).filter(lambda name: name.lower() not in _NOT_ODD and not name.lower().startswith(b"x-brb"))
VALUES = st.lists(st.sampled_from([*range(0x20, 0x7F), 9, *range(0x80, 0x100)]), max_size=30).map(lambda octets: bytes(octets).strip(b" \t"))
PAIRS = st.lists(st.tuples(NAMES, VALUES), max_size=8)

TARGETS = st.one_of(
    st.sampled_from(
        [b"/v1/messages", MESSAGES, b"/v1/messages?", b"/v1/messages/count_tokens?beta=true", b"/v1/chat/completions", b"/v1/responses", b"/v1/files",
         b"/v1/messages/batches", b"/v1//messages", b"/v1/messages/", b"/v1/", b"/v1/models?", b"/v1/models??", b"/v1/a%2Fb", b"/v1/x;y=1",
         b"/v1/%C3%A9%e9%zz", b"/v1/../v1/messages", b"/v1/./x", b"/v1/%6Dessages", b"/v1/x?a=b&a=c&&=%7E~+%20",
         b"/v1/x?q=/?//;:@!$'()*,[]{}|\\^`\"<>",
         b"/v1/x?" + b"q" * 100_000]
    ),
    st.text("/%;:@!$&'()*+,=-._~aZ09?", max_size=40).map(lambda text: b"/v1/" + text.encode()),
)  # fmt: skip
METHODS = st.sampled_from([b"POST", b"POST", b"GET", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"PROPFIND"])
SIZES = st.lists(st.integers(1, 900), min_size=1, max_size=5).map(tuple)
BODIES = st.none() | conversations.odd_bodies()


@BOUNDED
@given(method=METHODS, target=TARGETS, pairs=PAIRS, body=BODIES, sizes=st.none() | SIZES)
def test_a_request_goes_up_as_it_came(
    silent: Between, method: bytes, target: bytes, pairs: raw.Pairs, body: bytes | None, sizes: tuple[int, ...] | None
) -> None:
    """litellm#13252 (query lost), litellm#9016 (anthropic-beta), Portkey gateway#1598 (Authorization dropped)."""
    if body is not None and sizes:
        request = raw.call(target, [*pairs, (b"Transfer-Encoding", b"chunked")], b"", method=method) + chunked(body, sizes, extension=b';a="b"')
    else:
        request = raw.call(target, pairs, body, method=method)
    received, got = silent.exchange(request)
    assert (received.head.method, received.head.target) == (method, target)
    assert received.head.start.endswith(b" HTTP/1.1")
    assert received.head.all(b"host") == [silent.upstream.netloc]
    assert received.head.end_to_end == [(name.lower(), value) for name, value in pairs]
    assert received.body == (body or b"")
    assert bool(received.head.all(b"content-length") or received.head.all(b"transfer-encoding")) == (body is not None)
    assert got.head.status == 200


@BOUNDED
@given(target=TARGETS)
def test_a_request_target_goes_up_to_the_byte(silent: Between, target: bytes) -> None:
    assert silent.exchange(raw.call(target, method=b"GET"))[0].head.target == target


@BOUNDED
@given(pairs=st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=8))
def test_header_values_go_up_to_the_byte_with_order_and_duplicates(silent: Between, pairs: raw.Pairs) -> None:
    received, _ = silent.exchange(raw.call(pairs=pairs, body=b"{}"))
    assert received.head.end_to_end == [(name.lower(), value) for name, value in pairs]


def test_header_names_go_up_as_they_were_written(silent: Between) -> None:
    """Names are case-insensitive by the standard; an observer who compares spellings sees the proxy all the same."""
    pairs = [(b"User-Agent", b"claude-cli/2"), (b"X-Api-Key", b"k"), (b"anthropic-BETA", b"b"), (b"accept", b"*/*")]
    received, _ = silent.exchange(raw.call(pairs=pairs, body=b"{}"))
    assert [pair for pair in received.head.pairs if pair[0].lower() not in raw.FRAMING] == pairs


def test_headers_of_one_hop_and_those_of_brb_stay_here(silent: Between) -> None:
    own = [(b"connection", b"keep-alive, X-Mine"), (b"Connection", b"x-too"), (b"x-mine", b"1"), (b"X-Too", b"1"), (b"keep-alive", b"timeout=5")]
    own += [(b"te", b"trailers"), (b"proxy-connection", b"keep-alive"), (b"upgrade", b"h2c"), (b"X-BRB-Key", b"secret"), (b"x-brb-project", b"shop")]
    received, _ = silent.exchange(raw.call(pairs=[(b"a", b"1"), *own, (b"b", b"2")], body=b"{}"))
    assert [pair for pair in received.head.lower if pair[0] not in raw.FRAMING] == [(b"a", b"1"), (b"b", b"2")]


@pytest.mark.parametrize("encoded", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize("target", [b"/v1/files", MESSAGES, b"/v1/chat/completions"])
@pytest.mark.parametrize("size", [1, 65_535, 65_537, 1_000_001, 33_554_432])
def test_bodies_of_all_sizes_go_up_to_the_byte(inserting: Between, target: bytes, size: int, encoded: bool) -> None:
    body = garbage(size)
    framed = [(b"transfer-encoding", b"chunked")] if encoded else []
    request = raw.call(target, framed, b"" if encoded else body) + (chunked(body, (1, 65_537, 7, 1_000_003)) if encoded else b"")
    received, _ = inserting.exchange(request)
    assert received.body == body
    assert received.head.all(b"content-length") in ([b"%d" % size], [] if encoded else None)


def test_a_large_message_of_a_person_goes_up_whole(silent: Between) -> None:
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "word " * 6_000_000}]}).encode()
    assert silent.exchange(raw.call(body=body))[0].body == body
    assert len(silent.keeping.calls) == 1


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_upload_in_chunks_with_extensions_and_trailers_goes_up_whole(silent: Between, size: int) -> None:
    body = garbage(5000)
    request = raw.call(b"/v1/files", [(b"transfer-encoding", b"chunked"), (b"trailer", b"x-sum")], b"")
    received, _ = silent.exchange(
        request + chunked(body, (size,), extension=b';name="v;\\"\r"'.replace(b"\r", b"")),
    )
    assert received.body == body
    received, _ = silent.exchange(request + chunked(body, (size,), trailers=[(b"x-sum", b"1")]))
    assert received.body == body


def test_an_empty_body_stays_an_empty_body(silent: Between) -> None:
    received, _ = silent.exchange(raw.call(body=b""))
    assert (received.head.all(b"content-length"), received.body) == ([b"0"], b"")


def test_a_request_without_a_body_gets_none(silent: Between) -> None:
    received, _ = silent.exchange(raw.call(b"/v1/models", method=b"GET"))
    assert received.head.lower == [(b"host", silent.upstream.netloc)]


# Answers

STATUSES = st.sampled_from([200, 200, 201, 299, 301, 400, 401, 413, 429, 500, 503, 529, 599, 600, 999])
REASONS = st.sampled_from([b"OK", b"", b"Overloaded", b"Not  at all", b"caf\xc3\xa9", b"caf\xe9", b"a\tb", b"200"])
FRAMES = st.sampled_from(["length", "chunked", "close", "1.0 length", "1.0 close"])


def framed(version: bytes, status: int, reason: bytes, pairs: raw.Pairs, body: bytes, frame: str, sizes: tuple[int, ...] = (7, 1, 300)) -> bytes:
    if frame == "chunked":
        pairs, body = [*pairs, (b"Transfer-Encoding", b"chunked")], chunked(body, sizes, extension=b";x=1", trailers=[(b"x-trailer", b"t")])
    elif frame.endswith("length"):
        pairs = [*pairs, (b"Content-Length", b"%d" % len(body))]
    return b"HTTP/%b %d %b\r\n" % (version, status, reason) + raw.lines(pairs) + b"\r\n" + body


@BOUNDED
@given(
    target=st.sampled_from([MESSAGES, b"/v1/files", b"/v1/responses"]),
    status=STATUSES,
    reason=REASONS,
    pairs=PAIRS,
    body=conversations.odd_bodies() | st.just(EVENTS),
    frame=FRAMES,
    sizes=SIZES,
    cuts=st.lists(st.integers(0, 400), max_size=5).map(tuple),
)
def test_an_answer_comes_back_as_it_is(
    silent: Between,
    target: bytes,
    status: int,
    reason: bytes,
    pairs: raw.Pairs,
    body: bytes,
    frame: str,
    sizes: tuple[int, ...],
    cuts: tuple[int, ...],
) -> None:
    """litellm#21553 (retry-after renamed), litellm#37754 and lean-ctx#1638 (anthropic-ratelimit-unified-* lost)."""
    answer = framed(b"1.0" if frame.startswith("1.0") else b"1.1", status, reason, pairs, body, frame, sizes)
    _, got = silent.exchange(raw.call(target, body=PERSON.body), answer, cuts=tuple(cut for cut in cuts if cut < len(answer)))
    assert got.head.start == (b"HTTP/1.1 %d %b" % (status, reason)) or (not reason and got.head.start == b"HTTP/1.1 %d" % status)
    assert [pair for pair in got.head.end_to_end if pair[0] != b"x-trailer"] == [(name.lower(), value) for name, value in pairs]
    assert got.head.all(b"content-length") == ([b"%d" % len(body)] if frame.endswith("length") else [])
    assert got.body == body


@pytest.mark.parametrize("status", [200, 201, 204, 299, 304, 400, 429, 529, 599, 600, 999])
@pytest.mark.parametrize("method", ["POST", "HEAD"])
def test_any_status_comes_back_with_its_body(silent: Between, status: int, method: str) -> None:
    body = b"" if method == "HEAD" or status in (204, 304) else b"body"
    length = [] if status == 204 else [(b"content-length", b"4")]
    answer = b"HTTP/1.1 %d Odd Reason\r\n" % status + raw.lines([(b"x-a", b"1"), *length]) + b"\r\n" + body
    for _ in range(2):  # nothing is left over for the next call
        _, got = silent.exchange(raw.call(b"/v1/models", body=b"{}" if method == "POST" else None, method=method.encode()), answer, method)
        assert (got.head.status, got.body) == (status, body)
        assert got.head.lower == [(b"x-a", b"1"), *length]


@pytest.mark.parametrize("status", [b"200 Fine", b"429 Slow Down", b"529 Overloaded", b"404 Not Found", b"200 caf\xe9"])
def test_the_reason_phrase_comes_back(silent: Between, status: bytes) -> None:
    _, got = silent.exchange(raw.call(body=b"{}"), raw.reply(status=status))
    assert got.head.start == b"HTTP/1.1 " + status


@BOUNDED
@given(pairs=st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=8))
def test_headers_of_an_answer_come_back_to_the_byte_with_order_and_duplicates(silent: Between, pairs: raw.Pairs) -> None:
    _, got = silent.exchange(raw.call(body=b"{}"), raw.reply(pairs=pairs))
    assert got.head.end_to_end == [(name.lower(), value) for name, value in pairs]


def test_header_names_of_an_answer_come_back_as_they_were_written(silent: Between) -> None:
    pairs = [(b"Set-Cookie", b"a=1"), (b"set-cookie", b"b=2"), (b"Retry-After", b"7"), (b"anthropic-RateLimit-unified-status", b"x")]
    _, got = silent.exchange(raw.call(body=b"{}"), raw.reply(pairs=pairs))
    assert [pair for pair in got.head.pairs if pair[0].lower() not in raw.FRAMING] == pairs


def test_headers_of_one_hop_of_an_answer_stay_here(silent: Between) -> None:
    own = [(b"connection", b"X-Mine"), (b"x-mine", b"1"), (b"keep-alive", b"timeout=5"), (b"proxy-connection", b"x"), (b"upgrade", b"h2")]
    _, got = silent.exchange(raw.call(body=b"{}"), raw.reply(pairs=[(b"a", b"1"), *own, (b"b", b"2")]))
    assert got.head.end_to_end == [(b"a", b"1"), (b"b", b"2")]


PACKED = {
    "gzip": gzip.compress(EVENTS),
    "br": brotli.compress(EVENTS),
    "zstd": zstandard.compress(EVENTS),
    "deflate": zlib.compress(EVENTS),
    "gzip, br": brotli.compress(gzip.compress(EVENTS)),
    "unheard-of": garbage(300),
}


@pytest.mark.parametrize("coding", PACKED)
@pytest.mark.parametrize(("status", "frame"), [(200, "chunked"), (200, "length"), (200, "close"), (529, "length"), (400, "chunked")])
def test_a_coded_answer_comes_back_coded(silent: Between, coding: str, status: int, frame: str) -> None:
    """better-ccflare PR#243, superlocalmemory PR#79: decoded bytes under the old header."""
    pairs = [(b"content-type", b"text/event-stream"), (b"content-encoding", coding.encode())]
    _, got = silent.exchange(raw.call(body=PERSON.body), framed(b"1.1", status, b"X", pairs, PACKED[coding], frame))
    assert got.body == PACKED[coding]
    assert [pair for pair in got.head.end_to_end if pair in pairs] == pairs
    assert silent.keeping.told() == [status == 200 and coding != "unheard-of"]


def test_an_interim_answer_comes_before_the_final_one(silent: Between) -> None:
    """RFC 9110 section 15.2: a proxy forwards them."""
    with raw.connect(silent.base) as client:
        client.send(raw.call(body=b"{}"))
        wire = silent.upstream.take()
        wire.request()
        wire.send(b"HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n")
        early = client.head()
        assert (early.status, early.lower) == (103, [(b"link", b"</a>; rel=preload")])
        wire.send(raw.reply(b"final"))
        assert client.answer().body == b"final"
        silent.upstream.keep(wire)


@pytest.mark.parametrize("interim", [b"100 Continue", b"102 Processing", b"103 Early Hints"])
def test_an_interim_answer_is_not_taken_for_the_final_one(silent: Between, interim: bytes) -> None:
    with raw.connect(silent.base) as client:
        client.send(raw.call(body=b"{}"))
        wire = silent.upstream.take()
        wire.request()
        wire.send((b"HTTP/1.1 %b\r\nx-interim: 1\r\n\r\n" % interim) * 2 + raw.reply(b"final", b"201 Created", [(b"a", b"1")]))
        got = client.answer()
        while got.head.status < 200:
            got = client.answer()
        assert (got.head.status, got.head.end_to_end, got.body) == (201, [(b"a", b"1")], b"final")
        silent.upstream.keep(wire)


def test_a_client_of_http_1_0_gets_no_interim_answer_and_no_chunks(silent: Between) -> None:
    with raw.connect(silent.base) as client:
        client.send(raw.call(body=b"{}").replace(b"HTTP/1.1", b"HTTP/1.0"))
        wire = silent.upstream.take()
        wire.request()
        wire.send(b"HTTP/1.1 103 Early Hints\r\n\r\n" + raw.opening() + raw.chunk(b"piece") + raw.END)
        head = client.head()
        assert head.status == 200
        assert head.all(b"transfer-encoding") == []
        assert client.rest() == b"piece"
        silent.upstream.keep(wire)


def test_trailers_and_extensions_of_chunks_do_not_get_into_the_body_or_the_next_answer(silent: Between) -> None:
    answer = raw.opening(pairs=[(b"trailer", b"x-sum")]) + chunked(EVENTS, (9, 100), extension=b';a="x"', trailers=[(b"x-sum", b"1"), (b"y", b"")])
    with raw.connect(silent.base) as client:
        for _ in range(3):
            client.send(raw.call(body=PERSON.body))
            wire = silent.upstream.take()
            wire.request()
            wire.send(answer)
            assert client.answer().body == EVENTS
            silent.upstream.keep(wire)


# Streams


def in_lock_step(place: Between, target: bytes, opening: bytes, steps: list[tuple[bytes, int]], end: bytes) -> bytes:
    """Each step says some bytes and how much of the body is known by then: it has to be with the client before the next step is made."""
    got = b""
    with raw.connect(place.base) as client:
        client.send(raw.call(target, body=PERSON.body))
        wire = place.upstream.take()
        wire.request()
        wire.send(opening)
        pieces = client.answer_pieces(client.head())
        for said, known in steps:
            wire.send(said)
            while len(got) < known:
                got += next(pieces)
        wire.send(end)
        if not end or b"content-length" in opening:
            wire.close()
        else:
            place.upstream.keep(wire)
        return got + b"".join(pieces)


@pytest.mark.parametrize("target", [MESSAGES, b"/v1/chat/completions", b"/v1/responses", b"/v1/complete"])
@pytest.mark.parametrize("frame", ["chunks", "close", "length"])
def test_a_stream_passes_on_byte_by_byte_as_it_comes(silent: Between, target: bytes, frame: str) -> None:
    """headroom#3040: collected into one body. Splits within a character, a line end and an event change nothing."""
    pairs = [(b"content-type", b"text/event-stream")]
    opening = raw.opening() if frame == "chunks" else framed(b"1.1", 200, b"OK", pairs, b"", "close")
    if frame == "length":
        opening = framed(b"1.1", 200, b"OK", [*pairs, (b"content-length", b"%d" % len(EVENTS))], b"", "close")
    steps = [(raw.chunk(EVENTS[at : at + 1]) if frame == "chunks" else EVENTS[at : at + 1], at + 1) for at in range(len(EVENTS))]
    last = steps[:-1] if frame == "length" else steps  # the end of an announced length is the end of the answer
    end = steps[-1][0] if frame == "length" else raw.END if frame == "chunks" else b""
    silent.keeping.clear()
    assert in_lock_step(silent, target, opening, last, end) == EVENTS
    if target == MESSAGES:
        assert silent.keeping.told() == [True]


def test_a_stream_passes_on_whatever_parts_its_framing_comes_in(silent: Between) -> None:
    """Each byte of the chunked coding comes for itself, size lines and ends included."""
    steps: list[tuple[bytes, int]] = []
    known = 0
    for start in range(0, len(EVENTS), 37):
        data = EVENTS[start : start + 37]
        whole = b"%02x;x\r\n" % len(data) + data + b"\r\n"
        at = whole.index(b"\n") + 1
        for place in range(len(whole)):
            known += at <= place < at + len(data)
            steps.append((whole[place : place + 1], known))
    assert in_lock_step(silent, MESSAGES, raw.opening(), steps, raw.END) == EVENTS


@BOUNDED
@given(sizes=SIZES, cuts=st.lists(st.integers(0, 1200), max_size=40).map(tuple), coding=st.sampled_from([None, *PACKED]))
def test_a_stream_of_any_parts_comes_back_whole(silent: Between, sizes: tuple[int, ...], cuts: tuple[int, ...], coding: str | None) -> None:
    body = PACKED[coding] if coding else EVENTS
    answer = raw.opening(pairs=[(b"content-encoding", coding.encode())] if coding else []) + chunked(body, sizes)
    _, got = silent.exchange(raw.call(MESSAGES, body=PERSON.body), answer, cuts=tuple(cut for cut in cuts if cut < len(answer)))
    assert got.body == body
    assert silent.keeping.told() == [coding != "unheard-of"]


def test_the_head_of_an_answer_passes_on_before_its_body_exists(silent: Between) -> None:
    with raw.connect(silent.base) as client:
        client.send(raw.call(body=PERSON.body))
        wire = silent.upstream.take()
        wire.request()
        wire.send(raw.opening())
        head = client.head()
        wire.send(raw.chunk(EVENTS) + raw.END)
        assert b"".join(client.answer_pieces(head)) == EVENTS
        silent.upstream.keep(wire)


def test_a_body_that_nobody_reads_passes_on_before_it_is_complete(silent: Between) -> None:
    """A file of 500 MB must not be collected first."""
    with raw.connect(silent.base) as client:
        client.send(raw.call(b"/v1/files", [(b"content-length", b"10")], b""))
        client.send(b"01234")
        wire = silent.upstream.take()
        head = wire.head()
        assert wire.exactly(5) == b"01234"
        client.send(b"56789")
        assert wire.exactly(5) == b"56789"
        assert head.all(b"content-length") == [b"10"]
        wire.send(raw.reply())
        assert client.answer().head.status == 200
        silent.upstream.keep(wire)


# Insertions

PERSON = conversations.Conversation(b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}', {0: (56, 63, True)})


@settings(BOUNDED, max_examples=150)
@given(conversation=conversations.conversations())
def test_bodies_differ_by_the_inserted_blocks_alone(inserting: Between, conversation: conversations.Conversation) -> None:
    """vibeproxy PR#294, kubeai#690 (numbers and escapes rewritten), hebo-gateway#131 (history re-serialised), new-api#5335 (markers dropped)."""
    received, _ = inserting.exchange(raw.call(body=conversation.body))
    assert received.body == conversation.with_blocks(b'"remembered {}"')
    assert received.head.all(b"content-length") == [b"%d" % len(received.body)]


@BOUNDED
@given(conversation=conversations.conversations(), target=st.sampled_from([b"/v1/chat/completions", b"/v1/responses"]))
def test_bodies_of_the_other_vendor_differ_by_the_inserted_texts_alone(
    inserting: Between, conversation: conversations.Conversation, target: bytes
) -> None:
    body = conversation.body
    if target == b"/v1/responses":
        body = re.sub(rb'"mess(?:a|\\u0061)ges"', b'"input"', body).replace(b'"type":"text"', b'"type":"input_text"')
    received, _ = inserting.exchange(raw.call(target, body=body))
    calls = inserting.keeping.calls
    inserted = re.compile(rb',\{"type":"(?:input_)?text","text":"remembered \d+"\}|\\n\\nremembered \d+')
    assert inserted.sub(b"", received.body) == body
    assert len(inserted.findall(received.body)) == sum(len(call.turns) for call in calls)
    assert json.loads(received.body).keys() == json.loads(body).keys()


FORMS = {
    splice.Form.BLOCK: b',{"type":"text","text":%b}',
    splice.Form.INPUT: b',{"type":"input_text","text":%b}',
    splice.Form.WRAPPED: b'[{"type":"text","text":%b},{"type":"text","text":%b}]',
}


@BOUNDED
@given(
    conversation=conversations.conversations(),
    text=st.text(max_size=30),
    as_block=st.sampled_from([splice.Form.BLOCK, splice.Form.INPUT]),
    as_string=st.sampled_from([splice.Form.WRAPPED, splice.Form.APPENDED]),
)
def test_splicing_changes_no_byte_outside_of_the_blocks(
    conversation: conversations.Conversation, text: str, as_block: splice.Form, as_string: splice.Form
) -> None:
    body, blocks = conversation.body, {}
    expected, done = b"", 0
    for start, end, is_string in (conversation.turns[index] for index in sorted(conversation.turns)):
        if is_string:
            spot = splice.Spot(start, end, as_string)
        else:
            behind = start + len(body[start : end - 1].rstrip(b" \t\r\n"))
            spot = splice.Spot(behind, behind, as_block)
        blocks[spot] = text
        literal = msgspec.json.encode(text)
        said = body[spot.start : spot.end]
        added = (
            said[:-1] + b"\\n\\n" + literal[1:]
            if spot.form is splice.Form.APPENDED
            else FORMS[spot.form] % ((said, literal) if is_string else literal)
        )
        expected += body[done : spot.start] + added
        done = spot.end
    assert splice.insert(body, blocks) == expected + body[done:]
    json.loads(expected + body[done:])


@BOUNDED
@given(
    body=conversations.odd_bodies().filter(lambda body: not _readable(body)),
    target=st.sampled_from([MESSAGES, b"/v1/responses", b"/v1/chat/completions"]),
)
def test_what_can_not_be_read_safely_goes_up_as_it_came(inserting: Between, body: bytes, target: bytes) -> None:
    received, got = inserting.exchange(raw.call(target, body=body))
    assert received.body == body
    assert got.head.status == 200


@BOUNDED
@given(conversation=conversations.conversations())
def test_half_a_surrogate_moves_no_block(inserting: Between, conversation: conversations.Conversation) -> None:
    """headroom PR#3134: it became a 500."""
    half, opening = b'"half":"\\ud83d \\\\ud83d",', conversation.body.index(b"{") + 1
    moved = {place: (start + len(half), end + len(half), is_string) for place, (start, end, is_string) in conversation.turns.items()}
    odd = conversations.Conversation(conversation.body[:opening] + half + conversation.body[opening:], moved)
    received, got = inserting.exchange(raw.call(body=odd.body))
    assert received.body == odd.with_blocks(b'"remembered {}"')
    assert got.head.status == 200


def _readable(body: bytes) -> bool:
    """Whether a body may be a conversation of one clear meaning: then it is another test's."""
    try:
        json.loads(body.decode()).__getitem__("messages")
        json.dumps(json.loads(body), ensure_ascii=False).encode(errors="surrogatepass")
    except (ValueError, TypeError, KeyError, AttributeError):
        return False
    names: list[str] = json.loads(body, object_pairs_hook=lambda members: [name for name, _ in members])
    return names.count("messages") == 1


@pytest.mark.parametrize("target", [b"/v1/messages/count_tokens?beta=true", b"/v1/messages/batches", b"/v1/complete", b"/v1/files", b"/v1/messages/"])
def test_nothing_is_inserted_on_other_routes(inserting: Between, target: bytes) -> None:
    """CLIProxyAPI#4103: inserted text inflated every count."""
    assert inserting.exchange(raw.call(target, body=PERSON.body))[0].body == PERSON.body
    assert inserting.keeping.calls == []

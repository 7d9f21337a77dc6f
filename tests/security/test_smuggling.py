"""Requests and answers of two meanings, on bare sockets: each has one clear meaning on the other side, or is refused there and then.

Whoever reads a message as another length than the next one in line takes its rest for a message of its own (request smuggling, RFC 9112 §11.2).
"""

import contextlib
from collections.abc import Iterator

import pytest

from tests.support import raw
from tests.support.between import Between, between
from tests.support.interceptors import Keeping

HOST = b"host: 127.0.0.1\r\n"
SMUGGLED = b"GET /v1/smuggled HTTP/1.1\r\n" + HOST + b"\r\n"
EMPTY = b"0\r\n\r\n"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Between]:
    with between(tmp_path_factory.mktemp("data"), Keeping()) as place:
        yield place


@pytest.fixture
def place(running: Between) -> Between:
    running.upstream.hang_up()
    running.keeping.clear()
    return running


def sent(lines: bytes, body: bytes = b"", *, start: bytes = b"POST /v1/files HTTP/1.1") -> bytes:
    return start + b"\r\n" + HOST + lines + b"\r\n" + body


def get(lines: bytes) -> bytes:
    return sent(lines, start=b"GET /v1/models HTTP/1.1")


CHUNKED = b"transfer-encoding: chunked\r\n"
REFUSED = {
    "a length and chunks": sent(b"content-length: 6\r\n" + CHUNKED, EMPTY + SMUGGLED),
    "chunks and a length": sent(CHUNKED + b"content-length: 6\r\n", EMPTY + SMUGGLED),
    "another coding last": sent(b"transfer-encoding: chunked , identity\r\n", EMPTY + SMUGGLED),
    "two codings, the last another": sent(CHUNKED + b"transfer-encoding: identity\r\n", EMPTY + SMUGGLED),
    "two codings, the first another": sent(b"transfer-encoding: identity\r\n" + CHUNKED, EMPTY + SMUGGLED),
    "chunked twice": sent(CHUNKED * 2, EMPTY + SMUGGLED),
    "a coding that ends like it": sent(b"transfer-encoding: xchunked\r\n", EMPTY + SMUGGLED),
    "a coding in quotes": sent(b'transfer-encoding: "chunked"\r\n', EMPTY + SMUGGLED),
    "a coding behind a vertical tab": sent(b"transfer-encoding: \x0bchunked\r\n", EMPTY + SMUGGLED),
    "no coding": sent(b"transfer-encoding:\r\ncontent-length: 3\r\n", b"abc" + SMUGGLED),
    "a blank before the colon": sent(b"transfer-encoding : chunked\r\n", EMPTY + SMUGGLED),
    "a coding on the next line": sent(b"transfer-encoding:\r\n chunked\r\n", EMPTY + SMUGGLED),
    "a folded header": get(b"x-a: b\r\n transfer-encoding: chunked\r\n"),
    "a header folded by a tab": get(b"x-a: b\r\n\tx-brb-key: c\r\n"),
    "a first header that is folded": b"GET /v1/models HTTP/1.1\r\n host: 127.0.0.1\r\n\r\n",
    "the same length twice": sent(b"content-length: 3\r\n" * 2, b"abc" + SMUGGLED),
    "two lengths": sent(b"content-length: 3\r\ncontent-length: 30\r\n", b"abc" + SMUGGLED),
    "a list of lengths": sent(b"content-length: 3, 3\r\n", b"abc" + SMUGGLED),
    "a length with a plus": sent(b"content-length: +3\r\n", b"abc" + SMUGGLED),
    "a length with a minus": sent(b"content-length: -3\r\n", b"abc" + SMUGGLED),
    "a length in hexadecimal": sent(b"content-length: 0x3\r\n", b"abc" + SMUGGLED),
    "a length as Python writes it": sent(b"content-length: 1_0\r\n", b"abcdefghij" + SMUGGLED),
    "a length in other digits": sent(b"content-length: \xd9\xa3\r\n", b"abc" + SMUGGLED),
    "an empty length": sent(b"content-length:\r\n", SMUGGLED),
    "a length without end": sent(b"content-length: 99999999999999999999999\r\n", b"abc"),
    "a length in two": sent(b"content-length: 3 4\r\n", b"abc" + SMUGGLED),
    "lines that end with LF": b"GET /v1/models HTTP/1.1\nhost: 127.0.0.1\n\n",
    "a line that ends with LF": get(b"x-a: b\nx-c: d\r\n"),
    "a last line that ends with LF": b"GET /v1/models HTTP/1.1\r\n" + HOST + b"\n",
    "a line that ends with CR": get(b"x-a: b\rx-c: d\r\n"),
    "NUL in a value": get(b"x-a: b\0c\r\n"),
    "NUL in a name": get(b"x\0a: b\r\n"),
    "a name with a blank": get(b"x a: b\r\n"),
    "no name": get(b": b\r\n"),
    "a control character for BRB": get(b"x-brb-project: a\x0bb\r\n"),
    "NUL in the path": sent(b"", start=b"GET /v1/mod\0els HTTP/1.1"),
    "CR in the path": sent(b"", start=b"GET /v1/models\rx HTTP/1.1"),
    "a tab in the path": sent(b"", start=b"GET /v1/models\tHTTP/1.1 HTTP/1.1"),
    "bytes that are no text in the path": sent(b"", start=b"GET /v1/mod\xc3\xa9ls HTTP/1.1"),
    "a chunk of a signed size": sent(CHUNKED, b"+2\r\nab\r\n" + EMPTY),
    "a chunk of a size with a prefix": sent(CHUNKED, b"0x2\r\nab\r\n" + EMPTY),
    "a chunk without end": sent(CHUNKED, b"ffffffffffffffff2\r\nab\r\n" + EMPTY),
    "chunks that end with LF": sent(CHUNKED, b"2\nab\n0\n\n"),
    "LF within an extension of a chunk": sent(CHUNKED, b"2;\nxx\r\nab\r\n" + EMPTY),
    "a chunk that is longer than it says": sent(CHUNKED, b"2\r\nabXX" + EMPTY),
    "another protocol with both framings": sent(b"connection: upgrade\r\nupgrade: h2c\r\n" + CHUNKED + b"content-length: 5\r\n", EMPTY + SMUGGLED),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a tunnel": sent(b"", start=b"CONNECT other.example:443 HTTP/1.1"),
    "a tunnel to the API": sent(b"content-length: 3\r\n", b"abc" + SMUGGLED, start=b"CONNECT /v1/models HTTP/1.1"),
    "a tunnel to BRB's own": sent(b"", start=b"CONNECT /memories HTTP/1.1"),
    "another method": sent(b"", start=b"SMUGGLE /v1/models HTTP/1.1"),
    "NUL in the method": sent(b"", start=b"GET\0 /v1/models HTTP/1.1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_of_two_meanings_is_refused_and_nothing_behind_it_is_read(place: Between, name: str) -> None:
    with raw.connect(place.base) as client:
        client.send(REFUSED[name])
        said = client.rest()  # the connection ends
    finals = [line for line in said.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    assert len(finals) == 1
    assert int(finals[0].split()[1]) in (400, 501)
    place.works()  # and this is the first whole request that the upstream hears of


CLEAR = {
    "chunks in capitals": (sent(b"Transfer-Encoding: Chunked\r\n", b"3\r\nabc\r\n" + EMPTY), b"abc"),
    "chunks behind a tab": (sent(b"transfer-encoding:\tchunked\r\n", b"3\r\nabc\r\n" + EMPTY), b"abc"),
    "chunks in HTTP/1.0": (sent(CHUNKED, b"3\r\nabc\r\n" + EMPTY, start=b"POST /v1/files HTTP/1.0"), b"abc"),
    "chunks that the connection names as its own": (sent(b"connection: transfer-encoding\r\n" + CHUNKED, b"3\r\nabc\r\n" + EMPTY), b"abc"),
    "a length that the connection names as its own": (sent(b"connection: content-length\r\ncontent-length: 3\r\n", b"abc"), b"abc"),
    "a host that the connection names as its own": (sent(b"connection: host\r\ncontent-length: 3\r\n", b"abc"), b"abc"),
    "a length with zeros": (sent(b"content-length: 003\r\n", b"abc"), b"abc"),
    "another header's underscore": (sent(b"transfer_encoding: chunked\r\ncontent-length: 3\r\n", b"abc"), b"abc"),
    "a request in a body": (sent(b"content-length: %d\r\n" % len(SMUGGLED), SMUGGLED), SMUGGLED),
    "a request in the body of a GET": (sent(b"content-length: %d\r\n" % len(SMUGGLED), SMUGGLED, start=b"GET /v1/files HTTP/1.1"), SMUGGLED),
    "a framing in trailers": (sent(CHUNKED, b"3\r\nabc\r\n0\r\nx-length: 9\r\nx-brb-key: x\r\n\r\n"), b"abc"),
    "a line break in the path": (
        sent(b"content-length: 3\r\n", b"abc", start=b"POST /v1/files%0d%0aHost:%20evil%0d%0a%0d%0aGET%20/ HTTP/1.1"),
        b"abc",
    ),
    "a line break in the token": (sent(b"content-length: 3\r\n", b"abc", start=b"POST /k/x%0d%0aHost:evil/v1/files HTTP/1.1"), b"abc"),
    "a version in a header": (sent(b"x-a: / HTTP/1.1\r\ncontent-length: 3\r\n", b"abc"), b"abc"),
}


@pytest.mark.parametrize("name", CLEAR)
def test_a_request_of_one_meaning_goes_up_as_one_request(place: Between, name: str) -> None:
    request, body = CLEAR[name]
    received, got = place.exchange(request, raw.reply(b"one"))

    assert (received.body, got.body) == (body, b"one")
    assert received.head.method == request.split(b" ")[0]
    assert received.head.target.startswith(b"/v1/files")
    assert received.head.all(b"host") == [place.upstream.netloc]
    assert not [name for name, _ in received.head.lower if name.startswith(b"x-brb-")]
    place.works()  # nothing was left over


@pytest.mark.parametrize("spelt", [b"x-brb-key", b"X-BRB-Key", b"x-brb-anything", b"X-Brb-"])
def test_what_is_for_brb_never_goes_up(place: Between, spelt: bytes) -> None:
    received, _ = place.exchange(raw.call(pairs=[(spelt, b"a secret"), (b"connection", b"x-other, " + spelt), (b"x-other", b"b")], body=b"{}"))

    assert b"secret" not in raw.lines(received.head.pairs)
    assert b"x-other" not in raw.lines(received.head.pairs)


# Answers

FORGED = raw.reply(b"forged")


def told(lines: bytes, body: bytes = b"", *, start: bytes = b"HTTP/1.1 200 OK") -> bytes:
    return start + b"\r\n" + lines + b"\r\n" + body


@contextlib.contextmanager
def taken(place: Between, client: raw.Wire) -> Iterator[raw.Wire]:
    """The upstream's side of a call of this client."""
    client.send(raw.call(b"/v1/files", body=b"x"))
    with place.upstream.take() as wire:
        wire.request()
        yield wire


SENSELESS = {
    "a length and chunks": told(b"content-length: 3\r\n" + CHUNKED, b"2\r\nok\r\n" + EMPTY + FORGED),
    "chunks and a length": told(CHUNKED + b"content-length: 3\r\n", b"2\r\nok\r\n" + EMPTY + FORGED),
    "another coding last": told(b"transfer-encoding: chunked , identity\r\n", b"2\r\nok\r\n" + EMPTY),
    "two codings": told(CHUNKED + b"transfer-encoding: identity\r\n", b"2\r\nok\r\n" + EMPTY),
    "no coding": told(b"transfer-encoding:\r\ncontent-length: 2\r\n", b"ok"),
    "a blank before the colon": told(b"transfer-encoding : chunked\r\n", b"2\r\nok\r\n" + EMPTY),
    "a coding on the next line": told(b"transfer-encoding:\r\n chunked\r\n", b"2\r\nok\r\n" + EMPTY),
    "a folded header": told(b"x-a: b\r\n set-cookie: c\r\ncontent-length: 2\r\n", b"ok"),
    "the same length twice": told(b"content-length: 2\r\n" * 2, b"ok"),
    "a list of lengths": told(b"content-length: 2, 2\r\n", b"ok"),
    "a length with a plus": told(b"content-length: +2\r\n", b"ok"),
    "a length in hexadecimal": told(b"content-length: 0x2\r\n", b"ok"),
    "a length in other digits": told(b"content-length: \xd9\xa2\r\n", b"ok"),
    "an empty length": told(b"content-length:\r\n", b"ok"),
    "a length without end": told(b"content-length: 99999999999999999999\r\n", b"ok"),
    "lines that end with LF": b"HTTP/1.1 200 OK\ncontent-length: 2\n\nok",
    "a line that ends with LF": told(b"x: y\ncontent-length: 2\r\n", b"ok"),
    "a line that ends with CR": told(b"x: y\rset-cookie: z\r\ncontent-length: 2\r\n", b"ok"),
    "NUL in a value": told(b"x: y\0z\r\ncontent-length: 2\r\n", b"ok"),
    "CR in the reason": told(b"content-length: 2\r\n", b"ok", start=b"HTTP/1.1 200 O\rK"),
    "a status that is none": told(b"content-length: 2\r\n", b"ok", start=b"HTTP/1.1 099 No"),
    "a status of four digits": told(b"content-length: 2\r\n", b"ok", start=b"HTTP/1.1 1000 No"),
    "another protocol": told(b"connection: upgrade\r\nupgrade: x\r\n", FORGED, start=b"HTTP/1.1 101 Switching Protocols"),
}


@pytest.mark.parametrize("name", SENSELESS)
def test_an_answer_of_two_meanings_is_a_502_and_nothing_of_it_reaches_the_client(place: Between, name: str) -> None:
    with raw.connect(place.base) as client, taken(place, client) as wire:
        wire.send(SENSELESS[name])
        got = client.answer()
        assert got.head.status == 502
        assert b"ok" not in got.body.split(b"message")[0]
        assert b"forged" not in got.body
        assert client.silent(0.05)
        wire.close()
    place.works()


LENGTHLESS = {
    "a 204 with a length": (told(b"content-length: 6\r\n", b"forged" + FORGED, start=b"HTTP/1.1 204 No Content"), 204),
    "a 204 in chunks": (told(CHUNKED, b"6\r\nforged\r\n" + EMPTY, start=b"HTTP/1.1 204 No Content"), 204),
    "an interim answer with a length": (told(b"content-length: 6\r\n", raw.reply(b"proper"), start=b"HTTP/1.1 103 Early Hints"), 103),
}


@pytest.mark.parametrize("name", LENGTHLESS)
def test_an_answer_that_has_no_body_has_no_length_either(place: Between, name: str) -> None:
    """A client that believed in it would take the next answer for the body."""
    said, status = LENGTHLESS[name]
    with raw.connect(place.base) as client, taken(place, client) as wire:
        wire.send(said)
        head = client.head()
        assert (head.status, head.all(b"content-length"), head.all(b"transfer-encoding")) == (status, [], [])
        if status == 103:
            assert client.answer().body == b"proper"
        assert client.silent(0.05)
        wire.close()
    place.works()


def test_an_upstream_says_nothing_in_brbs_name(place: Between) -> None:
    _, got = place.exchange(raw.call(body=b"{}"), raw.reply(pairs=[(b"x-brb-memories", b"99"), (b"X-BRB-Turn", b"other"), (b"x-a", b"b")]))

    assert [name for name, _ in got.head.lower if name.startswith(b"x-brb-")] == []
    assert got.head.all(b"x-a") == [b"b"]

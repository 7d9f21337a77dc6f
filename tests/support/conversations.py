"""Bodies of calls in spellings that no serialiser would choose, with the places in them that matter. Strategies for hypothesis.

Whoever knows where each content stands needs no parser to say what an insertion must give.
"""

from dataclasses import dataclass, field

from hypothesis import strategies as st

_SPACE = st.sampled_from([b"", b"", b" ", b"\n", b"\t", b"\r\n  "])
_NUMBERS = st.sampled_from([b"1.10", b"1e20", b"1E+2", b"-0", b"0.0", b"-1.5e-7", b"12345678901234567890123", b"7"])
_WORDS = st.sampled_from(
    [
        b"plain",
        b" caf\xc3\xa9 ",
        b"\\u00e9",
        b"\\/",
        b'\\"',
        b"\\\\",
        b"\\n",
        b"\\ud83d\\ude00",
        b"\xf0\x9f\x98\x80",
        b"\\u0000",
        b'\\"messages\\":[{\\"role\\":\\"user\\",\\"content\\":\\"',
        b'\\"}]',
        b"]}",
        b"[{",
        b',{\\"type\\":\\"text\\",\\"text\\":\\"x\\"}',
        b"\\\\\\\\",
        b"\x7f",
    ]
)
_SCALARS = _NUMBERS | st.sampled_from([b"true", b"false", b"null"]) | _WORDS.map(lambda word: b'"' + word + b'"')


def _joined(parts: list[bytes], space: bytes, brackets: bytes) -> bytes:
    return brackets[:1] + space + (space + b"," + space).join(parts) + space + brackets[1:]


def _lists(items: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return st.builds(_joined, st.lists(items, max_size=3), _SPACE, st.just(b"[]"))


_KEYS = st.sampled_from([b'"a"', b'"messages"', b'"role"', b'"content"', b'"\\u0061"', b'"a b"', b'""', b'"text"'])


def _objects(items: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Also with the same key twice."""
    member = st.builds(lambda key, space, value: key + space + b":" + space + value, _KEYS, _SPACE, items)
    return st.builds(_joined, st.lists(member, max_size=3), _SPACE, st.just(b"{}"))


VALUES: st.SearchStrategy[bytes] = st.recursive(_SCALARS, lambda items: _lists(items) | _objects(items), max_leaves=6)
"""Any JSON value, in odd spellings."""

TEXTS = st.lists(_WORDS, max_size=4).map(lambda words: b'"x' + b"".join(words) + b'"')
"""A string of a person: never blank."""


@dataclass(frozen=True)
class Conversation:
    """body: of a call. turns: by the place of each message of the person, where its content stands and whether it is a string."""

    body: bytes
    turns: dict[int, tuple[int, int, bool]] = field(default_factory=dict)

    def with_blocks(self, block: bytes) -> bytes:
        """The body as it has to be with a text block at each turn. `block`: its literal; `{}` in it stands for the turn's place."""
        body = self.body
        for index, (start, end, is_string) in sorted(self.turns.items(), reverse=True):
            added = b',{"type":"text","text":' + block.replace(b"{}", b"%d" % index) + b"}"
            content = body[start:end]
            if is_string:
                content = b'[{"type":"text","text":' + content + b"}" + added + b"]"
            else:
                last = content[:-1].rstrip(b" \t\r\n")
                content = last + added + content[len(last) :]
            body = body[:start] + content + body[end:]
        return body


class _Writer:
    """A body in the making."""

    def __init__(self) -> None:
        self.body = b""
        self.turns: dict[int, tuple[int, int, bool]] = {}

    def write(self, data: bytes) -> None:
        self.body += data


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """Calls of the Messages API whose newest message is mostly the person's."""
    writer = _Writer()
    space = draw(_SPACE)
    own = [b'"messages"', b'"model"', b'"max_tokens"', b'"mess\\u0061ges"']
    messages = draw(st.sampled_from([own[0], own[0], own[3]]))
    members = draw(
        st.permutations([messages, b'"model"', b'"max_tokens"', *draw(st.lists(st.sampled_from([b'"odd"', b'"x y"', b'"n"']), max_size=3))])
    )
    writer.write(draw(_SPACE) + b"{")
    for number, key in enumerate(members):
        writer.write(b"," * (number > 0) + space + key + space + b":" + space)
        if key == messages:
            _write_messages(draw, writer)
        else:
            writer.write({b'"model"': b'"m"', b'"max_tokens"': b"100"}.get(key) or draw(VALUES))
    writer.write(space + b"}" + draw(_SPACE))
    return Conversation(writer.body, writer.turns)


def _write_messages(draw: st.DrawFn, writer: _Writer) -> None:
    space = draw(_SPACE)
    roles = draw(st.lists(st.sampled_from([b"user", b"user", b"assistant", b"system", b"result"]), min_size=1, max_size=5))
    writer.write(b"[" + space)
    for index, role in enumerate(roles):
        writer.write(b"," * (index > 0) + space + b"{")
        members = draw(st.permutations([b"role", b"content", *draw(st.lists(st.just(b"odd"), max_size=1))]))
        for number, key in enumerate(members):
            writer.write(b"," * (number > 0) + space + b'"' + key + b'"' + space + b":" + space)
            match key:
                case b"role":
                    writer.write(b'"user"' if role == b"result" else b'"' + role + b'"')
                case b"content":
                    start = len(writer.body)
                    content = draw(TEXTS if role != b"result" and draw(st.booleans()) else _blocks(role))
                    writer.write(content)
                    if role == b"user":
                        writer.turns[index] = (start, len(writer.body), content.startswith(b'"'))
                case _:
                    writer.write(draw(VALUES))
        writer.write(space + b"}")
    writer.write(space + b"]")


@st.composite
def _blocks(draw: st.DrawFn, role: bytes) -> bytes:
    marker = b',"cache_control":{"type":"ephemeral"}'
    said = [
        b'{"text":' + draw(TEXTS) + draw(_SPACE) + b',"type":"text"' + (marker if role == b"user" and draw(st.booleans()) else b"") + b"}"
        for _ in range(draw(st.integers(1, 2)))
    ]
    odd = draw(st.lists(st.builds(lambda value: b'{"type":"hologram","data":' + value + b"}", VALUES), max_size=2))
    results = [b'{"type":"tool_result","tool_use_id":"t1","content":' + draw(TEXTS) + b"}"] if role == b"result" else []
    return _joined([*results, *draw(st.permutations([*said, *odd]))], draw(_SPACE), b"[]")


@st.composite
def odd_bodies(draw: st.DrawFn) -> bytes:
    """Anything that a client may send under any content type: JSON that can't be read safely, and what is no JSON."""
    whole = draw(conversations()).body
    body: bytes = draw(
        st.one_of(
            st.binary(min_size=1, max_size=3000),
            VALUES,
            st.just(whole),
            st.just(whole.replace(b"x", b"\\ud800", 1)),
            st.just(whole.replace(b'"model"', b'"messages"')),
            st.integers(1, max(1, len(whole) - 1)).map(lambda end: whole[:end]),
            st.just(whole + b" trailing"),
            st.just(b"\xef\xbb\xbf" + whole),
            st.just(whole.decode().encode("utf-16")),
        )
    )
    return body

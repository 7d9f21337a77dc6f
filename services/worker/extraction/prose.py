"""What a person typed, apart from what was pasted: sentences, each with the place of every character in the words.

Cost is bounded before anything is parsed: of words longer than `HEAD_CHARS + TAIL_CHARS` only the head and the tail are read, and
of the prose in them at most `MAX_SENTENCES` sentences of at most `MAX_SENTENCE_CHARS`.
"""

import re
from collections.abc import Iterator

import msgspec

HEAD_CHARS = 12_000  # what people say stands before or after what they paste
TAIL_CHARS = 4_000
MAX_SENTENCES = 80
MAX_SENTENCE_CHARS = 400

_BLOCKS = re.compile(
    r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)"  # fenced, also when never closed
    r"|<([A-Za-z][\w:-]*)(?:\s[^<>]*)?>.*?(?:</\2\s*>|\Z)"  # tag-like; placeholders such as <EMAIL_1> are none
    r"|^Traceback \(most recent call last\):.*?(?:\n[ \t]*\n|\Z)"
    r"|^diff --git .*?(?:\n[ \t]*\n|\Z)"
    r"|-----BEGIN .*?(?:-----END [^\n]*|\Z)",
    re.DOTALL | re.MULTILINE,
)
_PLACEHOLDER = re.compile(r"<[A-Z][A-Z_]*(?:_\d+)?>")
_FOREIGN_TEXT = re.compile(
    r"(?:(?:^|[.!?\n]\s{0,3}|\b(?:please|you|to|and)\s+)"
    r"(?:translate|summari[sz]e|proof-?read|re(?:write|phrase|word)|paraphrase|correct|edit|review|classify|parse|extract|convert|explain"
    r"|(?:reply|respond|answer) to (?:this|the|that)|(?:improve|fix|check|shorten|polish) (?:the|this|my)(?: \w+)? (?:text"
    r"|grammar|sentence|wording|e-?mail"
    r"|paragraph|message|english|bio|letter|essay))\b"
    r"|\b(?:here(?:'s| is| are)|this is|below is|got|from) (?:the|a|an|this|what|his|her|their|\w+'s) [^:\n]{0,60}?"
    r"\b(?:readme|docs?|documentation|e-?mail|message|ticket|issue|article|post|review|transcript|log|output|spec|letter"
    r"|prompt|story|comment|wrote|said)\b"
    r"|\b(?:wrote|said|says|writes|replied|answered)\b)[^.!?\n]{0,80}:(?=\s)",
    re.IGNORECASE,
)
_DICTATED_TEXT = re.compile(
    r"(?:^|[.!?\n]\s{0,3}|\b(?:please|you|to|and)\s+)(?:fill in|put|write|add|insert|paste|append|include|type|set)\b[^.!?:\n]{0,40}?"
    r"\b(?:readme(?:\.md)?|form|page|text|copy|banner|header|footer|bio|label|placeholder|template|e-?mail|letter|docstring|changelog|caption"
    r"|headline|tooltip|faq|intro(?:duction)?|slide)\b[^.!?:\n]{0,30}:(?=\s)"
    r"|(?:^|\n)[^.!?:\n]{0,60}?\b(?:readme(?:\.md)?|excerpt|transcript|changelog|release notes?|terms of service"
    r"|press release)\b[^.!?:\n]{0,30}:[ \t]*\n",
    re.IGNORECASE,
)
"""What follows is what a document says or is to say."""
_LOGGED = re.compile(r"\b(?:logs?|output)\b[^:\n]{0,40}:\Z", re.IGNORECASE)
_PASTED_LINE = re.compile(
    r"^\s*(?:>"  # quoted mail or chat
    r"|\||[{}\[\]]|@@|[+]{1,3}\s|-{3}\s|\$\s|#!|#include|//|/\*|<!|%\s"
    r"|(?:at\s.+\(.+\)|File \".+\", line \d+)"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d"
    r"|\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE|FATAL|CRITICAL)\]?[:\s]"
    r"|\w*(?:Error|Exception|Warning): |(?:npm|yarn|pnpm)\s+(?:ERR!|WARN|error|warn|notice)|(?:error|warning|fatal|panic)(?:\[\w+\])?: "
    r"|#{1,6}\s"  # a heading or a comment
    r"|\"[\w.-]+\"\s*:"
    r"|(?:def|class|import|from|const|let|var|function|public|private|return|async|export|package|func|fn|SELECT|INSERT|UPDATE|DELETE|CREATE)\s"
    r"+[\w*{\"'(]+.*[;:{}()=]\s*$)"
)
_CODE_LINE = re.compile(r"(?:[;{}]|=>|\\)\s*$|^\s*[\w.]+\s*(?:[+-]?=|:=)\s*\S|\w\([^)]*\)\s*[;{:]|[=!]==|&&|\|\||->|::|</?[a-z]\w*[ >/]")
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_INDENTED = re.compile(r"^(?: {4,}|\t)(?!\s*(?:[-*•]|\d+[.)])\s)")
_BULLET = re.compile(r"^\s*(?:[-*•–]|\d{1,2}[.)]|\[[xX]\])\s+")
_ABBREVIATIONS = frozenset({"e.g", "i.e", "etc", "vs", "mr", "mrs", "ms", "dr", "st", "no", "approx", "prof", "jr", "sr"})
_END = re.compile(r"[.!?…]+[\"')\]]*(?=\s|$)|;(?=\s)|\n")
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»\n]+)[\"”“»]")
_SURROGATES = frozenset(map(chr, range(0xD800, 0xE000)))  # spaCy takes none
_MARKUP = frozenset("`*_")


class Sentence(msgspec.Struct, frozen=True):
    """One sentence as it is parsed: without markup, with plain apostrophes. `places[i]` is where `text[i]` stands in the words.

    paragraph numbers the lines; quoted says that somebody else's words (three or more, in quotation marks) are in it; mark is how it ends.
    """

    text: str
    places: tuple[int, ...]
    paragraph: int
    quoted: bool
    mark: str

    def source(self, words: str, start: int, end: int) -> str:
        """The verbatim words behind `text[start:end]`."""
        return words[self.places[start] : self.places[end - 1] + 1] if end > start else ""


def sentences(words: str) -> list[Sentence]:
    """The sentences that the person typed, in order."""
    found: list[Sentence] = []
    for paragraph, (start, end) in enumerate(span for offset, part in _parts(words) for span in _typed_lines(part, offset)):
        found += _split(words, start, end, paragraph)
        if len(found) >= MAX_SENTENCES:
            break
    return found[:MAX_SENTENCES]


def _parts(words: str) -> list[tuple[int, str]]:
    if len(words) <= HEAD_CHARS + TAIL_CHARS:
        return [(0, _without_pasted(words))]
    tail = len(words) - TAIL_CHARS
    tail += max(0, words.find("\n", tail) - tail)  # begin with a whole line
    head = _without_pasted(words[:HEAD_CHARS])
    return [(0, head), (tail, _without_pasted(words[tail:]))]


def _without_pasted(text: str) -> str:
    """The same length at the same places, with pasted material blank."""
    shielded = _PLACEHOLDER.sub(lambda m: "\x00" * len(m[0]), text)
    masked = _BLOCKS.sub(lambda m: "\n" * len(m[0]), shielded)
    foreign = min((start for pattern in (_FOREIGN_TEXT, _DICTATED_TEXT) for start in _foreign(pattern, masked)), default=len(masked))
    masked = masked[:foreign] + "\n" * (len(masked) - foreign)
    return masked.replace("\x00", "_")


def _foreign(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    """Where somebody else's text begins; not where a log does whose lines tell what they are, for what follows them was typed."""
    for match in pattern.finditer(text):
        following = text[match.end() :].lstrip().partition("\n")[0]
        if not (_LOGGED.search(match[0]) and _PASTED_LINE.search(following)):
            yield match.start()
            return


def _typed_lines(text: str, offset: int) -> list[tuple[int, int]]:
    spans = []
    for line in re.finditer(r"[^\n]+", text):
        body = line[0]
        prose = _INLINE_CODE.sub("code", body)
        if not body.strip() or _PASTED_LINE.search(body) or _CODE_LINE.search(prose) or _INDENTED.search(body):
            continue
        bullet = _BULLET.match(body)
        spans.append((offset + line.start() + (bullet.end() if bullet else 0), offset + line.end()))
    return spans


def _split(words: str, start: int, end: int, paragraph: int) -> list[Sentence]:
    quoted = [match.span(1) for match in _QUOTED.finditer(words, start, end) if len(match[1].split()) > 2]
    found, begin = [], start
    for stop in _END.finditer(words, start, end):
        if _is_abbreviation(words[begin : stop.start()]):
            continue
        found.append((begin, stop.end(), stop[0]))
        begin = stop.end()
    if begin < end:
        found.append((begin, end, ""))
    return [
        made
        for b, e, mark in found
        if (made := _sentence(words, b, e, paragraph, mark, quoted=any(opens < e and b < closes for opens, closes in quoted)))
    ]


def _is_abbreviation(before: str) -> bool:
    last = before.rsplit(None, 1)[-1].lower().lstrip("(") if before.strip() else ""
    return (last in _ABBREVIATIONS and last != "no") or (len(last) == 1 and last.isalpha() and last != "i")


def _sentence(words: str, start: int, end: int, paragraph: int, mark: str, *, quoted: bool) -> Sentence | None:
    raw = words[start:end]
    if not raw.strip() or len(raw) > MAX_SENTENCE_CHARS:
        return None
    text: list[str] = []
    places: list[int] = []
    for index, char in enumerate(raw):
        plain = "'" if char in "’‘" else " " if char.isspace() else "\ufffd" if char in _SURROGATES else char
        if _is_markup(raw, index) or (plain == " " and (not text or text[-1] == " ")):
            continue
        text.append(plain)
        places.append(start + index)
    plain_text = "".join(text)
    body = plain_text.rstrip(" .!?…;")
    if not body:
        return None
    return Sentence(body, tuple(places[: len(body)]), paragraph, quoted, "?" if "?" in mark else mark[:1])


def _is_markup(raw: str, index: int) -> bool:
    """Backticks and emphasis; an asterisk or underscore inside a word is part of a name."""
    if raw[index] == "`":
        return True
    if raw[index] not in _MARKUP:
        return False
    left = raw[index - 1] if index else " "
    right = raw[index + 1] if index + 1 < len(raw) else " "
    return not (left.isalnum() and right.isalnum()) and not (left in "/.<" or right in "/.>")

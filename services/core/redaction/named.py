"""Secrets known by the name before them: `password is hunter2`, `API_KEY="..."`, `"client_secret": "..."`, `--token ...`."""

import re
from collections.abc import Iterator

from services.core.redaction import values
from services.core.redaction.spans import Kind, Span


def _any_of(words: str) -> str:
    return "|".join(words.split())


_QUOTED = r"\\{0,2}(?P<quote>[\"'`“«])(?P<quoted>(?:(?!(?P=quote)|[”»])[^\r\n\x1e]){0,300})[\"'`”»]"
# What people call by one of the first names is a password: its value may be a plain word. What the others name was generated, and looks it.
_NAME = re.compile(
    r"(?:(?P<password>pass[ _-]?words?|pass[ _-]?phrase|passwds?|passcode|passwort|kennwort|mot de passe|contraseña|senha|pwd|"
    r"(?<![^\W\d_])(?:pw|psw)(?![a-z])|"
    r"(?:my|card|sim|door|alarm|bank|login|unlock)[ _-]pin(?:[ _-]code)?|pin[ _-]code)"
    r"|(?<![^\W\d_])(?P<bare>(?:db|my|root|user|admin)?pass)(?![a-z])"
    r"|(?P<token>secrets?|token|credentials?|client_srt|(?P<key>keys?)(?:[ _-]?base)?))"
    r"(?:_?[0-9]{1,2}|[ _-]?value)?(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_ANY_NAME = re.compile("pass|pw|psw|secret|token|key|credential|kennwort|contrase|senha|pin|srt|mnemonic|phrase|words", re.IGNORECASE)
_SECRET_KEY = re.compile(
    "(?:"
    + _any_of(
        "secret shared account storage licen[cs]e master service deploy host webhook bot admin user app application signing encryption session "
        "function subscription consumer api access auth private client security rest write read sas wallet seed team ssh jwt crypto recovery vault "
        "unseal root bearer openai anthropic claude gemini mistral groq google azure aws stripe github gitlab twilio sendgrid datadog sentry "
        "cloudflare octopus"
    )
    + ")[ _.-]?(?:api|access)?[ _.-]?$",
    re.IGNORECASE,
)
_OPEN = (
    "public pub csrf xsrf forgery authenticity next page pagination continuation cursor eos bos pad unk mask cls sep special stop max min num total "
    "primary foreign partition sort cache no without any invalid missing idempotency"
)
_PUBLIC = re.compile(rf"(?:(?<![A-Za-z])(?i:{_any_of(_OPEN)})|{_any_of(_OPEN.title())})[ _.-]?$")
_ASSIGN = re.compile(
    r"(?P<close>[\\\"'`\])}]{0,4})(?:[ \t](?:for|of|on|to|in|at)(?:[ \t][\w./@'-]{1,40}){1,4}(?=[:=]))?[ \t]{0,8}"
    r"(?P<op>:=|=>|==?|::?|->|→|\|\||>|,(?=[ \t]{0,4}[\"'])|(?= ?[\"'`]))[ \t]{0,8}(?:(?:r|b|f|u|str|String|new)?(?=[\"'`]))?"
    rf"(?:{_QUOTED}|(?P<plain>[^\s\"'`<>,;&|]{{1,300}}))"
)
_PROSE = re.compile(
    r"(?P<about>(?:[ \t](?:for|of|on|to|in|at|from|there|here|now)(?:[ \t][\w./@'-]{1,40}){1,5}?)?)"
    r"(?:[’']s|[ \t]{1,3}(?:is|was|are|were|will be|should be|must be|has been|now|as|to|ist|lautet|est|es|é)"
    r"(?:[ \t](?:now|still|currently|just|simply|probably|set to))?)[ \t]{0,2}:?[ \t]{1,3}"
    rf"(?:{_QUOTED}|(?P<plain>[^\s\"'`<>“]{{1,300}}))"
)
_CHANGED = re.compile(r"[ \t]from[ \t](?P<quote>)(?P<plain>[^\s\"'`<>]{1,100})(?=[ \t]to[ \t])")
_OPTION = re.compile(rf"[ \t]{{1,3}}(?:{_QUOTED}|(?P<plain>[^\s\"'`<>,;&|]{{1,300}}))")
_LONGEST = 300  # characters of a value that are judged; what is taken for a secret is then taken to its end
_MORE = re.compile(r"[A-Za-z0-9+/=_.~%-]*")

_PHRASE = re.compile(
    r"\b(?:pass[ _-]?phrase|(?:seed|recovery|mnemonic|backup)(?:[ _-](?:phrase|words))|mnemonic)[ \t]{0,3}(?:is|was|=|:|to)"
    r"[ \t]{0,3}:?[ \t]{0,3}[\"']?"
    r"(?P<words>[a-z]{2,12}(?:[ \t-][a-z]{2,12}){2,23})"
)
_CONJUNCTION = re.compile(r"[ \t](?:and|but|so|for|which|because)[ \t]")
_FUNCTION_WORD = re.compile(
    rf"\b(?:{_any_of('an? the in on at to of from by with is are was not too very my your our it its that this only stored saved kept')})\b"
)
_NOT_SAID = re.compile(
    r"(?:[\w'’-]*(?:ed|ing|able|ible|ly|ful|less|ive)|"
    + _any_of(
        "a an the not no in on at to of for from by with and or as so if that this it its my your our their his her is are was be being been has "
        "have will can may must should needs? safe secure unsafe strong weak wrong correct incorrect right valid invalid secret private public same "
        "different unique random empty blank null none undefined true false yes long short longer shorter too very quite still always never also "
        "just only now already up out gone lost set unset reset sent kept known unknown hidden shown written taken given chosen stolen broken "
        "optional mandatory necessary important plain plaintext hard easy simple complex case least between what which where why how when there "
        "here back fine ok okay good bad visible part more less most some any all both one two three six eight ten twelve sixteen new old default "
        "custom string str text varchar char bytes int integer bool boolean number object unknown field input hash bcrypt scrypt argon login auth "
        "user admin"
    )
    + ")",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_MIXED = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_MANY_WORDS = re.compile(r"[a-z]+[0-9]{0,3}(?:[-_./ ](?:[a-z]+[0-9]{0,3}|[0-9]{1,3}(?:\.[0-9]{1,4})*|20[0-9]{2})){1,8}|[A-Z]+(?:[-_ ][A-Z0-9]+)+")
_CODE_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


def find(text: str) -> Iterator[Span]:
    if not _ANY_NAME.search(text):
        return
    done = 0
    for name in _NAME.finditer(text):
        before = text[max(0, name.start() - 40) : name.start()]
        if name.start() < done or before.endswith("$") or (name["token"] and not _is_secret_name(name, before)):
            continue
        for span in _after(text, name, before):
            done = span.end
            yield span
    for phrase in _PHRASE.finditer(text):
        words = _CONJUNCTION.split(phrase["words"])[0]
        if not _FUNCTION_WORD.search(words) and len(words.split()) >= 3:
            yield Span(Kind.SECRET, phrase.start("words"), phrase.start("words") + len(words))


def _is_secret_name(name: re.Match[str], before: str) -> bool:
    """Not `public_key`, `nextPageToken`, `max token`; a key only with the word that makes it one (`api_key`)."""
    return not _PUBLIC.search(before) and (not name["key"] or _SECRET_KEY.search(before) is not None)


def _after(text: str, name: re.Match[str], before: str) -> Iterator[Span]:
    changed = _CHANGED.match(text, name.end())
    if changed and name["password"] and values.is_password(changed["plain"]):
        yield _value(changed)
    said = _PROSE.match(text, name.end())
    if said and _said(name, said, text):
        yield _value(said)
        return
    assigned = _ASSIGN.match(text, name.end())
    if assigned and _assigned(name, assigned, before, text):
        yield _value(assigned)
        return
    given = _OPTION.match(text, name.end())
    if given and _given(name, given, before):
        yield _value(given)


def _value(match: re.Match[str]) -> Span:
    start = match.start("quoted" if match["quote"] else "plain")
    end = start + len(_bare(match))
    if not match["quote"] and match.end() - start >= _LONGEST:
        more = _MORE.match(match.string, end)
        end = more.end() if more else end
    return Span(Kind.SECRET, start, end)


def _bare(match: re.Match[str]) -> str:
    """The value without the punctuation of the sentence or structure around it."""
    if match["quote"]:
        return match["quoted"].rstrip("\\")
    value: str = match["plain"]
    if value.endswith(("...", "…")):
        return value
    value = value.rstrip(".,;:")
    for opening, closing in ("()", "[]", "{}"):
        if opening not in value:
            value = value.rstrip(closing + ".,;:")
    return value


def _said(name: re.Match[str], match: re.Match[str], text: str) -> bool:
    """`password is X`, `token for staging was X`."""
    value = _bare(match)
    if name["bare"]:
        return values.is_password(value) and values.has_letters_and_digits(value) and len(value) >= 6 and not match["about"]
    if name["token"]:
        return values.is_token(value) and not _MANY_WORDS.fullmatch(value)
    if match["quote"]:
        return len(value) >= 3 and values.is_literal(value)
    if values.is_password(value):
        return not _NOT_SAID.fullmatch(value)
    return _is_plain_word_password(value, text[match.end() : match.end() + 8])


def _is_plain_word_password(value: str, rest: str) -> bool:
    """A dictionary word is taken for a password only where it ends its clause."""
    if not _WORD.fullmatch(value) or len(value) < 4 or _NOT_SAID.fullmatch(value) or values.is_dummy(value):
        return False
    return _MIXED.search(value) is not None or re.match(r"[.!?,;)]*(?:\s*$|[ \t]*[\r\n]|[.!?,;)]|[ \t]+(?:and|but|so)\b)", rest) is not None


def _assigned(name: re.Match[str], match: re.Match[str], before: str, text: str) -> bool:
    """`password = X`, `"api_key": "X"`, `<secret>X</secret>`."""
    value = _bare(match)
    if not value or _CODE_NAME.fullmatch(value) or (match["op"] == "" and not match["close"] and name["token"]):
        return False
    if name["token"]:
        return _assigned_token(value, quoted=bool(match["quote"]))
    if match["op"] == "" and (name["bare"] or not values.is_password(value)):
        return False
    if match["op"] == "," and _MANY_WORDS.fullmatch(value):
        return False
    if match["quote"]:
        return len(value) >= 3 and values.is_literal(value) and (" " not in value or "phrase" in name[0].lower())
    if values.is_password(value) and not (name["bare"] and value.isdigit()):
        return not _NOT_SAID.fullmatch(value)
    if name["bare"] and before[-1:] not in ("_", "-"):
        return False
    if text[name.end()] == "=":
        return text[match.end() : match.end() + 1] not in (")", ",", ".") and _is_option(value)
    return match["op"] in (":", "=") and value.islower() and _is_plain_word_password(value, text[match.end() : match.end() + 8])


def _is_option(value: str) -> bool:
    """`--password=X`, `pwd=X&`: nothing but a value stands there, however plain it is."""
    return values.is_literal(value) and not _NOT_SAID.fullmatch(value) and not value.isdigit() and not _MANY_WORDS.fullmatch(value)


def _assigned_token(value: str, *, quoted: bool) -> bool:
    if _MANY_WORDS.fullmatch(value) or " " in value:
        return False
    return values.is_token(value) or (quoted and len(value) >= 8 and values.is_literal(value) and not value.isalpha())


def _given(name: re.Match[str], match: re.Match[str], before: str) -> bool:
    """`--password X`, `password X`."""
    value = _bare(match)
    option = re.search(r"(?:^|\s)--?[a-z-]{0,30}$", before) is not None
    if option and not name["token"]:
        return len(value) >= 3 and values.is_literal(value) and not value.startswith("-")
    if option:
        return values.is_token(value) and not _MANY_WORDS.fullmatch(value)
    if name["password"]:
        return values.is_password(value) and len(value) >= 6 and not value.isdigit() and not _MANY_WORDS.fullmatch(value)
    return name["token"] is not None and len(value) >= 16 and values.is_token(value) and values.entropy(value) >= 3.3

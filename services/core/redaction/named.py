"""Secrets known by the name before them: `password is hunter2`, `API_KEY="..."`, `"client_secret": "..."`, `--token ...`."""

import re
from collections.abc import Iterator

from services.core.redaction import values, words
from services.core.redaction.spans import Kind, Span

QUOTED = r"\\{0,2}(?P<quote>[\"'`“«])(?P<quoted>(?:(?!(?P=quote)|[”»])[^\r\n\x1e]){0,300})[\"'`”»]"
# What people call by one of the first names is a password: its value may be a plain word. What the others name was generated, and looks it.
_NAME = re.compile(
    r"(?:(?P<password>pass[ _-]?words?|pass[ _-]?phrase|passwds?|passcode|pwd|"
    r"passwort|kennwort|mot de passe|contrase(?:ñ|n)a|senha|hasł[oa]|парол[ья]|wachtwoord|lösenord|heslo|jelszó|parola|salasana|adgangskode|passord|"
    r"şifre|(?:wi-?fi|wlan|wpa[23]?|wireless|network|hotspot)[ _-](?:key|code)|"
    r"(?<![^\W\d_])(?:pw|psw)(?![a-z])|"
    r"(?:my|card|sim|door|alarm|bank|login|unlock)[ _-]pin(?:[ _-]code)?|pin[ _-]code)"
    r"|(?<![^\W\d_])(?P<bare>(?:db|my|root|user|admin)?pass)(?![a-z])"
    r"|(?P<token>secrets?|token|credentials?|client_srt|(?P<key>keys?)(?:[ _-]?base)?))"
    r"(?:_?[0-9]{1,2}|[ _-]?value|[_-]data)?(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_ANY_NAME = re.compile(
    "pass|pw|psw|secret|token|key|credential|pin|srt|kennwort|contrase|senha|hasł|парол|wachtwoord|lösenord|heslo|jelszó|parola|salasana|"
    "adgangskode|şifre|wi-?fi|wlan|wpa|wireless|network|hotspot|密|口令|パス|비밀",
    re.IGNORECASE,
)
# Written without blanks, in text that has no other Latin letters near.
_EAST_ASIAN = re.compile(
    r"(?:密[码碼]|口令|パスワード|비밀번호)[ \t]{0,3}(?:[是为為はが]|은|는)?[ \t]{0,3}[:：=]?[ \t]{0,3}(?P<quote>)(?P<plain>[!-~]{4,300})"
)
_SECRET_KEY = re.compile(
    "(?:"
    + words.any_of(
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
_PUBLIC = re.compile(rf"(?:(?<![A-Za-z])(?i:{words.any_of(_OPEN)})|{words.any_of(_OPEN.title())})[ _.-]?$")
_ASSIGN = re.compile(
    r"(?P<close>[\\\"'`\])}]{0,4})(?:[ \t](?:for|of|on|to|in|at|für|fürs|von|vom|zum|zur|im|am|bei|pour|du|de|para|per|voor|van)"
    r"(?:[ \t][\w./@'-]{1,40}){1,4}(?=[:=])|"
    r"[ \t]?\([^()\n\x1e]{1,40}\)(?=[ \t]?[:=]))?[ \t]{0,8}"
    r"(?P<op>:=|=>|==?|::?|->|→|\|\||>|,(?=[ \t]{0,4}[\"'])|(?= ?[\"'`]))[ \t]{0,8}(?:(?:r|b|f|u|str|String|new)?(?=[\"'`]))?"
    rf"(?:{QUOTED}|(?P<plain>[^\s\"'`<>,;&|]{{1,300}}))"
)
_PROSE = re.compile(
    r"(?P<about>(?:[ \t](?:for|of|on|to|in|at|from|there|here|now|that|which|[wW]e|I|you|they|he|she|everyone|everybody|people)"
    r"(?:[ \t][\w./@'’-]{1,40}){1,5}?|[ \t]\([^()\n\x1e]{1,40}\)|,[ \t][^,\n\x1e]{1,30},)?)"
    r"(?:[’']s|\?[ \t]{1,3}[Ii]t(?:[’']s|[ \t]is)|[ \t]{1,3}(?:is|was|are|were|will be|should be|must be|has been|"
    r"used to be|(?:(?:got|gets|get)[ \t])?(?:(?:re)?set|changed|updated|rotated|switched)[ \t]to|reads|remains|equals|now|as|to|"
    r"ist|lautet|est|es|é|jest|это|är|—|–)"
    r"(?:[ \t](?:now|still|currently|just|simply|probably|actually|(?:re)?set to|changed to|updated to|rotated to))?)[ \t]{0,2}:?[ \t]{1,3}"
    rf"(?:{QUOTED}|(?P<plain>[^\s\"'`<>“]{{1,300}}))"
)
_CHANGED = re.compile(r"[ \t]from[ \t](?P<quote>)(?P<plain>[^\s\"'`<>]{1,100})(?=[ \t]to[ \t])")
_CHANGED_IT = re.compile(
    r"\b(?:changed|reset|set|updated|switched|rotated)[ \t](?:it|them|that|this)[ \t](?:back[ \t])?"
    r"to[ \t]{1,3}(?P<quote>)(?P<plain>[^\s\"'`<>]{4,100})",
    re.IGNORECASE,
)
_OPTION = re.compile(rf"[ \t]{{1,3}}(?:{QUOTED}|(?P<plain>[^\s\"'`<>,;&|]{{1,300}}))")
# "set the password to sunflower"; but "I have no password to hand".
_TO = re.compile(r"[ \t]+(?:to|as)[ \t]+")
_CHANGING = re.compile(r"\b(?:(?:re)?set|chang|updat|rotat|switch|ma[dk]e)\w*\b", re.IGNORECASE)
_NEXT_LINE = re.compile(
    r"[*_]{0,2}(?P<op>[:=]?)[*_]{0,2}[ \t]{0,4}(?:\r?\n){1,2}[ \t]{0,8}(?:[-*>`][ \t]{0,2})?"
    r"(?P<quote>)(?P<plain>[^\s\"'`<>]{4,100})`?[ \t]{0,4}(?=\r?\n|\Z)"
)
_LABEL = re.compile(r"[ \t>*_#-]{0,6}(?:[\w'’-]{1,15}[ \t]){0,3}")
_PHRASE = re.compile(r"[a-z]{2,15}(?:-[a-z]{2,15}){3,7}")  # what is named so, too ("db-credentials"), has fewer words
_LEADS_UP = 120  # characters between the name of a secret and "it"
_BEFORE = 40  # characters before a name that are looked at
_LONGEST = 300  # characters of a value that are judged; what is taken for a secret is then taken to its end
_MORE = re.compile(r"[A-Za-z0-9+/=_.~%-]*")


def find(text: str) -> Iterator[Span]:
    if not _ANY_NAME.search(text):
        return
    done = 0
    for name in _NAME.finditer(text):
        before = text[max(0, name.start() - _BEFORE) : name.start()]
        if name.start() < done or before.endswith("$") or (name["token"] and not _is_secret_name(name, before)):
            continue
        for span in _after(text, name, before):
            done = span.end
            yield span
    for said in _CHANGED_IT.finditer(text):
        led_up = text[max(0, said.start() - _LEADS_UP) : said.start()].rpartition("\n")[2]
        if values.is_password(_bare(said)) and any(name["password"] for name in _NAME.finditer(led_up)):
            yield _value(said)
    for said in _EAST_ASIAN.finditer(text):
        if values.is_password(_bare(said)) and not words.is_never_said(_bare(said)):
            yield _value(said)


def _is_secret_name(name: re.Match[str], before: str) -> bool:
    """Not `public_key`, `nextPageToken`, `max token`; a key only with the word that makes it one (`api_key`)."""
    return not _PUBLIC.search(before) and (not name["key"] or _SECRET_KEY.search(before) is not None)


def _after(text: str, name: re.Match[str], before: str) -> Iterator[Span]:
    changed = _CHANGED.match(text, name.end())
    if changed and name["password"] and values.is_password(changed["plain"]):
        yield _value(changed)
    said = _PROSE.match(text, name.end())
    if said and _said(name, said, before, text):
        yield _value(said)
        return
    assigned = _ASSIGN.match(text, name.end())
    if assigned and _assigned(name, assigned, before, text):
        yield _value(assigned)
        return
    given = _OPTION.match(text, name.end())
    if given and _given(name, given, before):
        yield _value(given)
        return
    below = _NEXT_LINE.match(text, name.end())
    if below and _below(name, below, before):
        yield _value(below)


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


def _said(name: re.Match[str], match: re.Match[str], before: str, text: str) -> bool:
    """`password is X`, `token for staging was X`."""
    value = _bare(match)
    if name["bare"]:
        return values.is_password(value) and values.has_letters_and_digits(value) and len(value) >= 6 and not match["about"]
    if name["token"]:
        phrase = bool(match["quote"]) and _PHRASE.fullmatch(value) is not None
        return phrase or (values.is_token(value) and not words.MANY_WORDS.fullmatch(value))
    if match["quote"]:
        return len(value) >= 3 and values.is_literal(value)
    if values.is_password(value):
        return not words.is_never_said(value)
    to_hand = _TO.fullmatch(text, name.end(), match.start("plain")) and name[0].isascii() and not _CHANGING.search(before)
    return not to_hand and _is_word(match, text)


def _assigned(name: re.Match[str], match: re.Match[str], before: str, text: str) -> bool:
    """`password = X`, `"api_key": "X"`, `<secret>X</secret>`."""
    value = _bare(match)
    if not value or words.CODE_NAME.fullmatch(value) or (match["op"] == "" and not match["close"] and name["token"]):
        return False
    if name["token"]:
        if name[0].lower() == "secrets" and words.RESOURCE.fullmatch(value):
            return False
        return _assigned_token(value, quoted=bool(match["quote"]))
    if match["op"] == "" and (name["bare"] or not values.is_password(value)):
        return False
    if match["op"] == "," and words.MANY_WORDS.fullmatch(value):
        return False
    if match["quote"]:
        return len(value) >= 3 and values.is_literal(value) and (" " not in value or "phrase" in name[0].lower())
    if values.is_password(value) and not (name["bare"] and value.isdigit()):
        return not words.is_never_said(value)
    if name["bare"] and before[-1:] not in ("_", "-"):
        return False
    if text[name.end()] == "=":
        return text[match.end() : match.end() + 1] not in (")", ",", ".") and _is_option(value)
    return match["op"] in (":", "=") and value.islower() and _is_word(match, text)


def _is_option(value: str) -> bool:
    """`--password=X`, `pwd=X&`: nothing but a value stands there, however plain it is."""
    return values.is_literal(value) and not words.is_never_said(value) and not value.isdigit() and not words.MANY_WORDS.fullmatch(value)


def _assigned_token(value: str, *, quoted: bool) -> bool:
    if words.MANY_WORDS.fullmatch(value) or " " in value:
        return False
    return values.is_token(value) or (quoted and len(value) >= 8 and values.is_literal(value) and not value.isalpha())


def _given(name: re.Match[str], match: re.Match[str], before: str) -> bool:
    """`--password X`, `password X`."""
    value = _bare(match)
    option = re.search(r"(?:^|\s)--?[a-z-]{0,30}$", before) is not None
    if option and not name["token"]:
        return len(value) >= 3 and values.is_literal(value) and not value.startswith("-")
    if option:
        return values.is_token(value) and not words.MANY_WORDS.fullmatch(value)
    if name["password"]:
        return values.is_password(value) and len(value) >= 6 and not value.isdigit() and not words.MANY_WORDS.fullmatch(value)
    return name["token"] is not None and len(value) >= 16 and values.is_token(value) and values.entropy(value) >= 3.3


def _below(name: re.Match[str], match: re.Match[str], before: str) -> bool:
    """`Password:` or a line with nothing but the name, and the value alone on the next line."""
    value = _bare(match)
    line = before.rpartition("\n")[2]
    if (not match["op"] and (len(line) == len(before) >= _BEFORE or not _LABEL.fullmatch(line))) or match["plain"].endswith(
        (":", "{", "[", "(", ",")
    ):
        return False
    named_or_code = words.MANY_WORDS.fullmatch(value) or words.CODE_NAME.fullmatch(value) or re.match(r"\w+=", value)
    if named_or_code or not values.has_letters_and_digits(value):
        return False
    if name["token"]:
        return len(value) >= 16 and values.is_token(value) and values.entropy(value) >= 3.3
    return name["password"] is not None and len(value) >= 6 and values.is_password(value)


def _is_word(match: re.Match[str], text: str) -> bool:
    span = _value(match)
    value = text[span.start : span.end]
    return words.is_password(value, text[span.end : span.end + 8]) and not values.is_dummy(value)

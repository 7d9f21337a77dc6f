"""Secrets in command lines: `curl -u`, `mysql -p…`, `docker login -p`, `wandb login <key>`, `echo … | sudo -S`, SQL that sets a password."""

import re
from collections.abc import Iterator

from services.core.redaction import values, words
from services.core.redaction.spans import Kind, Span

_USER_OPTION = re.compile(
    r"[ \t](?:-u|--user|--proxy-user|-U)(?:[ \t]{1,5}|"
    r"=)(?P<q>[\"']?)(?P<user>[^\s:\"']{0,100})[\"']?:(?P<i>[\"']?)(?P<password>[^\s\"']{0,200})"
)
_CURL = re.compile(r"\b(?:curl|wget|http|https|httpie)\b")
_SQL = re.compile(r"\bIDENTIFIED[ \t]{1,5}(?:WITH[ \t]\S{1,40}[ \t]{1,5})?BY[ \t]{1,5}['\"]([^'\"\r\n\x1e]{3,200})['\"]", re.IGNORECASE)
_VALUE_AFTER = (
    re.compile(r"\bsshpass[ \t]{1,5}-p[ \t]{0,5}[\"']?([^\s\"']{3,200})"),
    re.compile(r"-(?:store|key|dest(?:store|key)|src(?:store|key))pass[ \t]{1,5}[\"']?([^\s\"']{3,200})"),
    re.compile(r"-pass(?:in|out)?[ \t]{1,5}[\"']?pass:([^\s\"']{3,200})"),
    re.compile(r"(?m:^[ \t]*)(?:requirepass|masterauth)[ \t]{1,5}[\"']?([^\s\"']{3,200})"),
    re.compile(r"\bhtpasswd[ \t]{1,5}-[a-zA-Z]{0,4}b[a-zA-Z]{0,4}[ \t]{1,5}[^\s-]\S{0,100}[ \t]{1,5}\S{1,60}[ \t]{1,5}[\"']?([^\s\"'|>&;]{3,200})"),
    re.compile(
        r"\becho[ \t]{1,5}(?:-n[ \t]{1,5})?[\"']?([^\s\"'|]{3,200})[\"']?[ \t]{0,5}\|[ \t]{0,5}[^\n|\x1e]{0,80}"
        r"(?:sudo -S|--password-stdin|chpasswd|--with-token)"
    ),
)
_SHORT_OPTION = re.compile(r"(?:(?<=[ \t])|(?m:^))-(?P<option>[pPaw])(?P<gap>[ \t]{0,3})(?P<quote>[\"']?)(?P<value>[^\s\"'`<>|;&]{3,200})")
# Programs, by the option with which they take a password.
_PROGRAMS = {
    "p": re.compile(
        r"\b(?:mysql\w*|mariadb(?:-\w+)?|mycli|mongo(?:sh|dump|restore|export|import)?|7z[az]?|sshpass|cqlsh|clickhouse-client|rabbitmqadmin|influx|"
        r"(?:docker|podman|nerdctl|buildah|skopeo|crane|oras|az|oc|cf|ibmcloud|helm registry)[ \t]+login)\b"
    ),
    "P": re.compile(r"\b(?:sqlcmd|bcp|zip|unzip|isql|tsql)\b"),
    "a": re.compile(r"\b(?:redis-cli|valkey-cli|keydb-cli|redis-benchmark)\b"),
    "w": re.compile(r"\bldap\w+\b"),
}
_TIGHT = re.compile(r"\b(?:mysql\w*|mariadb(?:-\w+)?|mycli|7z[az]?|sshpass|zip)\b")
_USER_BEFORE = re.compile(r"[ \t](?:-u|-U|--user(?:name)?)[ \t=]{0,3}\S")
_NOT_A_PASSWORD = re.compile(r"(?:assword|ort|ath|rotocol|lugin|rofile|retty)\b|[0-9.:,-]+(?:/(?:tcp|udp))?$|[0-9]+:[0-9]+")
_INTERLEAVED = re.compile(r"(?=[A-Za-z0-9!@#$%^&*]{8,}$)(?=[^A-Za-z]*[A-Za-z]+[0-9!@#$%^&*]+[A-Za-z])")
_LOGIN = re.compile(
    r"(?<![\w-])(?:login|auth|authtoken|add-authtoken|authenticate|signin|set-token)[ \t]{1,3}(?:--?[A-Za-z][\w-]{0,20}(?:[ \t]{1,3}|=)){0,2}"
    r"[\"']?([A-Za-z0-9_.~+/=-]{20,300})(?![^\s\"'`,;)])"
)


def find(text: str) -> Iterator[Span]:
    if _CURL.search(text):
        yield from _curl(text)
    for pattern in (_SQL, *_VALUE_AFTER):
        for match in pattern.finditer(text):
            if values.is_literal(match[1]):
                yield Span(Kind.SECRET, *match.span(1))
    for match in _SHORT_OPTION.finditer(text):
        if _is_short_option(text, match):
            yield Span(Kind.SECRET, *match.span("value"))
    for match in _LOGIN.finditer(text):
        value = match[1].rstrip(".")
        named = words.MANY_WORDS.fullmatch(value) or words.CODE_NAME.fullmatch(value)
        if values.is_token(value) and values.entropy(value) >= 3 and not named:
            yield Span(Kind.SECRET, match.start(1), match.start(1) + len(value))


def _curl(text: str) -> Iterator[Span]:
    for match in _USER_OPTION.finditer(text):
        part = "password" if match["password"] or text[match.end() : match.end() + 1] not in ('"', "'", " ", "") else "user"
        if len(match[part]) >= 3 and not values.is_reference(match["user"]) and values.is_literal(match[part]):
            yield Span(Kind.SECRET, *match.span(part))


def _is_short_option(text: str, match: re.Match[str]) -> bool:
    """A program that is known to take its password so; else a user before it, or a value that is neither port, path nor name."""
    value = match["value"]
    if _NOT_A_PASSWORD.match(value) or not values.is_literal(value):
        return False
    line = re.split(r"[\n|;&]", text[max(0, match.start() - 200) : match.start()])[-1]
    if not match["gap"] and _TIGHT.search(line):
        return True
    named = words.MANY_WORDS.fullmatch(value) or words.CODE_NAME.fullmatch(value)
    if not match["gap"] or named or not values.is_password(value):
        return False
    if _PROGRAMS[match["option"]].search(line) or (match["option"] == "p" and _USER_BEFORE.search(line)):
        return True
    return match["option"] == "p" and _INTERLEAVED.match(value) is not None

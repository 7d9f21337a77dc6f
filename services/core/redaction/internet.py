"""E-mail addresses and IP addresses."""

import ipaddress
import re
from collections.abc import Iterator

from services.core.redaction.spans import Kind, Span

_EMAIL = re.compile(r"(?<![\w.+-])(\w[\w.+%'~-]{0,63}|\"[^\"\s@]{1,62}\")@((?:[\w-]{1,63}\.){1,8}[^\W\d_][\w-]{1,62})(?![\w-])")
# Not mailboxes: systemd's template units, images for dense screens, files.
_NO_DOMAIN = re.compile(
    r"(?:.*\.)?(?:service|socket|timer|target|mount|slice|scope|device|png|jpe?g|gif|svg|webp|css|js|ts|tsx|py|json|"
    r"ya?ml|local-dev)$",
    re.IGNORECASE,
)

# "bob (at) example.com", "bob[at]example[dot]com", "bob at example dot com"
_DOT = r"(?:[ ]?[(\[{]{1,2}[ ]?(?:dot|\.)[ ]?[)\]}]{1,2}[ ]?|[ ](?i:dot)[ ])"
_BRACKETED_AT = r"[ ]?[(\[{]{1,2}[ ]?(?:(?i:at)|@)[ ]?[)\]}]{1,2}[ ]?"
_SPELLED = re.compile(
    rf"(?<![\w.+-])\w[\w.+-]{{0,63}}(?:{_DOT}[\w-]{{1,40}}){{0,2}}"
    rf"(?:{_BRACKETED_AT}(?P<domain>[\w-]{{1,63}}(?:(?:\.|{_DOT})[\w-]{{1,63}}){{0,3}}(?:\.|{_DOT})[A-Za-z]{{2,24}})"
    rf"|[ ]?@[ ]?[\w-]{{1,63}}(?:{_DOT}[\w-]{{1,63}}){{0,3}}{_DOT}[A-Za-z]{{2,24}}"
    rf"|[ ](?i:at)[ ][\w-]{{1,63}}(?:[ ](?i:dot)[ ][\w-]{{1,63}}){{0,2}}[ ](?i:dot)[ ]"
    r"(?i:com|org|net|edu|gov|io|ai|dev|app|info|biz|eu|de|fr|uk|ch|at|nl|es|it|pt|br|pl|se|no|dk|fi|cz|be|ie|jp|in|au|ca|us|ru|cn))(?![\w-])"
)
_NO_MAILBOX = re.compile(r"(?:look(?:s|ed|ing)?|is|are|was|were|be|it|arrays?)\b", re.IGNORECASE)

_V4 = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}"
_IPV4 = re.compile(
    rf"(?<![\w.:+-])(?<![^/]/)(?<!^/){_V4}(?![\w-])(?!\.[0-9])|(?<=://){_V4}(?![\w-])(?!\.[0-9])|"
    rf"(?<=[A-Za-z]:){_V4}(?![\w-])(?!\.[0-9])"
)
_IPV6 = re.compile(rf"(?<![\w:.])(?:[0-9A-Fa-f]{{0,4}}:){{2,7}}(?:{_V4}|[0-9A-Fa-f]{{0,4}})(?:%[A-Za-z0-9]{{1,15}})?(?![\w:])(?!\.[0-9])")
_VERSION_BEFORE = re.compile(
    r"(?:\b(?:versions?|ver|v|releases?|releasing|build|firmware|driver|upgraded|upgrade|downgraded|downgrade|bump(?:ed)?|tag(?:ged)?|jdk|"
    r"sdk|chrome|oid|assembly(?:version)?)\b"
    r"[\"']?(?:[ \t]*(?:number|no\.?|is|was|to|from|of|at|=|:|\())*[ \t\"']*(?:v?[0-9]+(?:\.[0-9]+)+[\w-]*(?:,|[ \t]+(?:and|or|to|->|"
    r"→))[ \t]*(?:and[ \t]|or[ \t])?)*|[=><~^!]=|[~^])[ \t\"']*$",
    re.IGNORECASE,
)
_SOFTWARE_BEFORE = re.compile(
    r"\b(?:nginx|apache2?|httpd|tomcat|openssl|openssh|php|ruby|rails|java|kernel|linux|ubuntu|debian|windows|macos|ios|android|firefox|edge|"
    r"safari|chromium|chromedriver|docker|kubernetes|k8s|helm|terraform|grafana|prometheus|elasticsearch|kibana|logstash|kafka|zookeeper|hadoop|"
    r"spark|hive|cassandra|mongodb|mariadb|mysql|postgres(?:ql)?|redis|rabbitmq|oracle|jenkins|gitlab|nexus|sonarqube|log4j|spring|netty|jetty|"
    r"wildfly|weblogic|electron|unity|cuda|cudnn|tensorrt|nvidia|numpy|pandas|torch|tensorflow|office|teams|outlook|zoom|vs ?code|python|node|"
    r"dotnet|\.net|image|package|plugin)[ :]v?$",
    re.IGNORECASE,
)
_VERSION_AFTER = re.compile(
    r"[ \t](?:docker )?(?:images?|releases?|versions?|builds?|tags?|packages?|changelog|binary|binaries|wheel|rc|alpha|beta)\b"
)

_HOST_BEFORE = re.compile(r"(?:\b(?:ip|hosts?|server|address|ping|ssh|dns|resolver|peer|node)\b[^\n]{0,20}|@|//)$", re.IGNORECASE)
_HEX_GROUP = re.compile(r"(?=[A-Fa-f]{0,3}[0-9])[0-9A-Fa-f]{4}:")


def find_emails(text: str) -> Iterator[Span]:
    for match in _EMAIL.finditer(text):
        git_remote = match[1] == "git"
        if not git_remote and not _NO_DOMAIN.match(match[2]):
            yield Span(Kind.EMAIL, *match.span())
    for match in _SPELLED.finditer(text):
        if not _NO_MAILBOX.match(match[0]) and not (match["domain"] and _NO_DOMAIN.match(match["domain"])):
            yield Span(Kind.EMAIL, *match.span())


def find_addresses(text: str) -> Iterator[Span]:
    """IPv4 and IPv6, unless they identify nobody (loopback, unspecified, netmasks) or are versions."""
    for match in _IPV4.finditer(text):
        if _identifies(match[0]) and not _is_section(text, match) and not _is_version(text, match):
            yield Span(Kind.IP, *match.span())
    for match in _IPV6.finditer(text):
        if _looks_like_ipv6(match[0]) and _identifies(match[0]):
            yield Span(Kind.IP, *match.span())


def _identifies(value: str) -> bool:
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    netmask = mapped.version == 4 and int(mapped) >= 0xFF000000
    return not (mapped.is_loopback or mapped.is_unspecified or netmask)


def _is_version(text: str, match: re.Match[str]) -> bool:
    """Words say so. Beside a product only an address that is open to all can be one: `redis 10.0.0.5` is a host."""
    before = text[max(0, match.start() - 60) : match.start()]
    if _VERSION_BEFORE.search(before):
        return True
    if ipaddress.ip_address(match[0]).is_private or _HOST_BEFORE.search(before):
        return False
    return _SOFTWARE_BEFORE.search(before) is not None or _VERSION_AFTER.match(text, match.end()) is not None


def _is_section(text: str, match: re.Match[str]) -> bool:
    """`2.3.1.4` numbers a heading or a release, unless a port follows or words say that it is a host.

    Addresses of four single digits that are in use belong to public resolvers.
    """
    if len(match[0]) > 7 or re.match(":[0-9]", text[match.end() : match.end() + 2]):
        return False
    return not _HOST_BEFORE.search(text[max(0, match.start() - 40) : match.start()])


def _looks_like_ipv6(value: str) -> bool:
    """`a1::b2` may be a path of a programming language; four digits in the first group or a third group are not."""
    groups = [group for group in value.split(":") if group]
    return re.search("[0-9]", value) is not None and (len(groups) >= 3 or _HEX_GROUP.match(value) is not None or "." in value)

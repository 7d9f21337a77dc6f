"""Keys and tokens of known shape. A shape is a prefix that its vendor chose to be recognisable, and the alphabet and length after it."""

import re
from collections.abc import Iterator

from services.core.redaction import values
from services.core.redaction.spans import Kind, Span

_W = "[A-Za-z0-9]"
_U = "[A-Za-z0-9_-]"
_HEX = "[A-Fa-f0-9]"
_UUID = f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"

_SHAPES = (
    # models
    rf"sk-ant-{_U}{{8,}}",
    rf"sk-(?:proj|svcacct|admin|None|service|live|test|or-v1|lf)-{_U}{{20,}}",
    rf"sk-(?=[A-Za-z]{{0,30}}[0-9]){_W}{{16,}}",
    rf"pk-lf-{_U}{{20,}}",
    rf"hf_(?=[a-z]*[A-Z0-9]){_W}{{30,40}}(?!_)",
    rf"api_org_{_W}{{34}}",
    rf"(?:gsk|xai|r8|csk|fw|tvly|pplx|fc|cog|lsv2_pt|lsv2_sk|pcsk|jina|nvapi|tgp_v1|together|e2b)[_-]{_U}{{28,}}",
    rf"pa-{_U}{{43}}",
    # code hosts and package registries
    rf"gh[opsur]_{_W}{{20,255}}",
    rf"github_pat_{_W}{{20,30}}_{_W}{{40,80}}",
    rf"gl(?:pat|dt|rt|ptt|ft|imt|agent|oas|soat|cbt|ffct|rtr|wt)-(?:t{_W}_)?[A-Za-z0-9_.-]{{20,}}",
    rf"GR1348941{_U}{{20}}",
    rf"npm_{_W}{{36}}",
    rf"pypi-{_U}{{50,}}",
    rf"rubygems_{_HEX}{{48}}",
    rf"(?:crates|cio){_W}{{32}}",
    rf"dckr_(?:pat|oat)_{_U}{{27,}}",
    rf"CLOJARS_{_W}{{60}}",
    rf"ATATT3[A-Za-z0-9_=-]{{60,}}|ATCTT3[A-Za-z0-9_=-]{{60,}}|ATBB{_W}{{28,}}",
    rf"AKCp{_W}{{60,80}}|cmVmd{_W}{{50,70}}",
    rf"sgp_(?:(?:{_HEX}{{16}}|local)_)?{_HEX}{{40}}",
    # clouds
    r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
    r"ABSK[A-Za-z0-9+/]{100,270}={0,2}|bedrock-api-key-[A-Za-z0-9+/=]{40,}",
    rf"AIza{_U}{{35}}",
    rf"ya29\.{_U}{{20,}}|GOCSPX-{_U}{{28}}|1//0{_U}{{30,}}",
    r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![\w~.-])",
    rf"do[opr]_v1_{_HEX}{{64}}",
    rf"LTAI{_W}{{16,24}}|AKID{_W}{{30,}}",
    rf"dapi{_HEX}{{32}}(?:-[0-9])?",
    rf"hv[sbr]\.{_U}{{20,}}|s\.(?=[A-Za-z0-9]{{0,23}}[0-9]){_W}{{24}}",
    rf"{_W}{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{60,70}}",
    rf"fo1_{_U}{{43}}|fm[12][ar]?_[A-Za-z0-9+/]{{60,}}=*",
    rf"HRKU-(?:AA)?{_U}{{36,}}",
    rf"pul-{_HEX}{{40}}|pnu_{_W}{{36}}|dp\.(?:pt|st|ct|scim|audit)\.{_U}{{40,}}",
    rf"(?:rnd|nfp|nfc|nfb|vercel|vcp|vck|sbp|sb_secret|sb_publishable|railway|exo|tskey-[a-z]{{3,8}})[_-]{_U}{{20,}}",
    rf"sha256~{_U}{{43}}",
    r"ops_eyJ[A-Za-z0-9+/]{60,}={0,3}|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}",
    rf"v1\.0-{_HEX}{{24}}-{_HEX}{{146}}",
    rf"4b1d{_W}{{38}}",
    # payments and shops
    rf"(?:sk|rk|pk)_(?:live|test|prod)_{_W}{{10,}}|rzp_(?:live|test)_{_W}{{14,}}|access-(?:production|development|sandbox)-{_UUID}|"
    rf"sk_{_HEX}{{48}}|whsec_[A-Za-z0-9+/]{{24,}}={{0,2}}",
    rf"sq0[a-z]{{3}}-{_U}{{22,43}}|EAAA[lE]{_U}{{59,60}}",
    rf"access_token\$(?:production|sandbox)\$[0-9a-z]{{16}}\${_HEX}{{32}}",
    rf"shp(?:at|ca|pa|ss|tka)_{_HEX}{{32}}",
    rf"(?:EZAK|EZTK){_W}{{54}}|(?:live|test)_{_U}{{43}}|(?:shippo|duffel)_(?:live|test)_{_U}{{20,}}|FLW(?:SEC|PUB)K(?:_TEST)?-[a-h0-9]{{12,}}-X",
    # talk and mail
    r"xox[abeoprs](?:\.xox[bp])?-(?=[A-Za-z0-9-]{0,250}[0-9]{3})[A-Za-z0-9-]{24,}|xapp-[0-9]-[A-Za-z0-9-]{20,}|xwfp-[A-Za-z0-9-]{20,}",
    rf"SG\.{_U}{{16,32}}\.{_U}{{32,64}}|xkeysib-{_HEX}{{64}}-{_W}{{16}}|key-{_HEX}{{32}}|pubkey-{_HEX}{{32}}|{_HEX}{{32}}-us[0-9]{{1,2}}|"
    rf"re_{_W}{{8,}}_{_W}{{16,}}",
    rf"{_HEX}{{32}}-{_HEX}{{8}}-{_HEX}{{8}}|(?:SK|AC){_HEX}{{32}}",
    rf"[MNO]{_U}{{23,27}}\.{_U}{{6}}\.{_U}{{27,40}}",
    rf"[0-9]{{8,10}}:AA{_U}{{33}}",
    rf"EA[AB]{_W}{{80,}}|[0-9]{{15,16}}\|{_U}{{27,40}}",
    # work tools
    rf"lin_(?:api|oauth)_{_W}{{32,}}|ntn_[0-9]{{11}}{_W}{{32,36}}|secret_{_W}{{43}}|pat{_W}{{14}}\.{_HEX}{{64}}|"
    rf"PMAK-{_HEX}{{24}}-{_HEX}{{34}}|figd_{_U}{{38,}}",
    rf"glc_[A-Za-z0-9+/]{{32,}}={{0,2}}|glsa_{_W}{{32}}_{_HEX}{{8}}|eyJrIjoi{_W}{{60,}}={{0,2}}|sntry[su]_[A-Za-z0-9+/=_-]{{40,}}|"
    rf"NRAK-[A-Z0-9]{{27}}|NRJS-{_HEX}{{19}}|NRI[IQ]-{_U}{{32}}",
    rf"dt0[a-z][0-9]{{2}}\.{_W}{{24}}\.{_W}{{64}}|phc_{_W}{{40,}}|phx_{_W}{{40,}}|rdme_[a-z0-9]{{70}}|API-[A-Z0-9]{{26}}|"
    rf"(?<!\.)ico-{_W}{{32}}|p8e-{_W}{{32}}|tfp_{_U}{{40,}}",
    rf"PMAT-{_W}{{26}}|sdk-{_UUID}|mob-{_UUID}|CFPAT-{_U}{{40,}}|s-s4t2(?:ud|af)-{_HEX}{{64}}|dnkey-{_U}{{26,}}-{_U}{{50,}}|"
    rf"fio-u-{_U}{{64}}|jrt_{_U}{{40,}}",
    rf"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{{20,}}|CCIPAT_{_U}{{20,}}|bkua_{_W}{{30,}}|oy2[a-z0-9]{{43}}|00(?=[A-Za-z_-]{{0,39}}[0-9])(?=[A-Z0-9_-]{{0,39}}[a-z]){_U}{{40}}",
    rf"[0-9]/[0-9]{{13,19}}(?:/[0-9]{{13,19}})?:{_HEX}{{32}}|(?=[A-Za-z0-9]{{0,26}}[a-z])[12]{_W}{{26}}_{_W}{{20,22}}",
    # ours
    rf"brb_{_U}{{16,}}",
)
_TOKEN = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(_SHAPES)})(?![A-Za-z0-9])")
_WHOLE = re.compile(rf"sk-ant-(?:api|admin|oat)[0-9]{{2}}-{_U}{{93}}AA")
"""Forms that have a check of their own, so that a key which looks typed is one all the same."""
_AWS = re.compile(
    r"(?:(?i:aws|secret)[^\n\x1e]{0,60}?|(?:AKIA|ASIA)[A-Z0-9]{16}[^\x1e]{0,60}?)(?<![A-Za-z0-9/+=])((?=[A-Za-z0-9/+]{0,39}[0-9])[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
)
_WEBHOOK = re.compile(
    r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{30,100})|discord(?:app)?\.com/api/webhooks/([0-9]{15,20}/[A-Za-z0-9_-]{50,90})"
    r"|webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{80,220})"
)
_NAMES = (
    "sourcegraph facebook adafruit airtable algolia alibaba asana bitbucket bittrex cloudflare codecov cohere coinbase confluent contentful "
    "datadog discord dropbox droneci etsy fastly finicity finnhub flickr freshbooks gitter gocardless heroku hubspot intercom kraken kucoin "
    "launchdarkly linkedin looker mailchimp mailgun mapbox mattermost meraki messagebird netlify newrelic okta pagerduty plaid sendbird sentry "
    "snyk sonar square sumologic travis trello twilio twitch twitter typeform yandex zendesk"
)
_NAMED = re.compile(
    rf"\b(?:{'|'.join(_NAMES.split())})"
    r"[\w.-]{0,20}[\"']?[ \t]{0,3}(?:=|:|=>|:=)[ \t]{0,3}[\"'`]?([A-Za-z0-9_=-]{20,128})(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
# Of a vendor not listed: a name, an underscore, and what only a machine writes.
_TAIL = re.compile(r"(?P<sep>[_-])(?P<tail>[A-Za-z0-9]{20,255})(?![\w/]|[.-]\w)")
_PREFIX = re.compile(r"(?<![\w./-])[A-Za-z][A-Za-z0-9]{1,15}(?:[_-][A-Za-z][A-Za-z0-9]{0,11}){0,3}\Z")
_LONGEST_PREFIX = 60
_KEY_WORD = re.compile(r"(?:^|[_-])(?:[a-z]{0,4}key|to?ke?n|[a-z]{0,3}pat|pw|pass|secret|api|auth|oauth|live|prod|test|sk|rk|sec)$", re.IGNORECASE)
_IDS = re.compile(
    r"(?:cus|pi|pm|price|prod|sub|in|ii|si|seti|evt|ch|acct|txn|po|re|cs|src|card|ba|tok|prc|plink|org|proj|user|asst|thread|msg|toolu|srvtoolu|chatcmpl|"
    r"resp|req|call|run|step|file|batch|vs|ft|ftjob|rs|fc|gen|id|uid|img|image|video|doc|page|build|deploy|dpl|job|task|event|trace|span|session|sess|hash|sha|sha1|sha256|"
    r"md5|commit|cache|etag|team|prj|icfg|ws|wf|bucket|node|container|vol|snap|instance|i|ami|subnet|vpc|sg|arn|pod|release|rev|version|v)",
    re.IGNORECASE,
)
_LEAST_ENTROPY = 2  # bits a character; sixteen random hexadecimal digits have about 3.2


def find(text: str) -> Iterator[Span]:
    for match in _TOKEN.finditer(text):
        if values.entropy(match[0]) >= _LEAST_ENTROPY and not values.is_masked(match[0]) and not _is_stand_in(text, match):
            yield Span(Kind.SECRET, *match.span())
    for match in _AWS.finditer(text):
        if values.entropy(match[1]) >= 4:
            yield Span(Kind.SECRET, *match.span(1))
    for match in _WEBHOOK.finditer(text):
        yield Span(Kind.SECRET, *match.span(match.lastindex or 0))
    for match in _NAMED.finditer(text):
        if values.is_token(match[1]) and values.entropy(match[1]) >= 3 and not values.is_made_up(match[1]):
            yield Span(Kind.SECRET, *match.span(1))
    for match in _TAIL.finditer(text):
        start = max(0, match.start() - _LONGEST_PREFIX - 1)
        prefix = _PREFIX.search(text[start : match.start()])
        if prefix and _is_prefixed(prefix[0], match) and not values.is_elided(text[match.end() : match.end() + 3]):
            yield Span(Kind.SECRET, start + prefix.start(), match.end())


def _is_stand_in(text: str, match: re.Match[str]) -> bool:
    """Typed by somebody who shows what a key looks like. What has the very form of a vendor's keys is none."""
    if _WHOLE.fullmatch(match[0]):
        return False
    return values.is_made_up(match[0]) or values.is_elided(text[match.end() : match.end() + 3])


def _is_prefixed(prefix: str, match: re.Match[str]) -> bool:
    """Not the identifiers of objects and builds. All small letters and digits are a digest, unless the prefix speaks of a key."""
    tail = match["tail"]
    if _IDS.fullmatch(prefix) or not values.is_literal(tail):
        return False
    if _KEY_WORD.search(prefix) and len(tail) >= 24 and values.has_letters_and_digits(tail) and values.entropy(tail) >= 3.2:
        return values.is_generated(tail) or tail.lower() == tail
    return match["sep"] == "_" and values.is_generated(tail)

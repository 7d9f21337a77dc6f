"""Is this string a secret, or does it only stand where one would? Shared by the detectors of secrets."""

import math
import re
from collections import Counter

_REFERENCE = re.compile(
    r"""
      \$(?:[A-Za-z_{(]|\d{1,2}$)           # $TOKEN ${TOKEN} $(pass show x) $1
    | \{\{|\{%|<[A-Za-z_ $][^<>]*>?$|[{\[%][A-Za-z_. -]+(?:[}\]%]|$)|[{(`]\w+[(:]   # {{ token }} <your token> {token} [TOKEN] %TOKEN% {f(x)}
    | @\w+@$
    | (?:os\.|process\.|import\.meta\.|sys\.|env\.|secrets\.|vars\.|var\.|config\.|settings\.|self\.|this\.|module\.|data\.|local\.)
    | [A-Za-z_][\w.]*[(\[]                 # getenv("X") config["x"]
    | (?:\.{0,2}/|~/|[A-Za-z]:\\)[\w.-]+[/\\\w.-]*$   # a path
    """,
    re.VERBOSE,
)
_DUMMY_WORDS = re.compile(
    r"(?:(?:my|your|the|some|user|db|api|a|test|new|old|foo|dummy|fake|example|sample|insert|put|enter|change|replace|placeholder|redacted|hidden|"
    r"name|password|passwd|pass|pwd|pw|secret|token|key|access|auth|bearer|basic|private|public|client|here|me|this|it|with|"
    r"value|string|str|text|none|null|nil|undefined|true|false|yes|no|empty|todo|tbd|required|optional|bar|baz|credentials?|login)[-_. ]?)+",
    re.IGNORECASE,
)
_ALGORITHM = re.compile(
    r"(?:sha|md|aes|rsa|oauth|base|argon|hs|rs|es|ed|utf|pbkdf|bcrypt|tls|http|ipv|x|p|s|"
    r"k)-?\d{1,4}(?:-?[a-z]{0,6}\d{0,4})",
    re.IGNORECASE,
)
_CAMEL = re.compile("[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_MASKED = re.compile(r"(.)\1{5}|\*{3}|\.{3}|…|•{3}|#{4}|(?-i:EXAMPLE(?:KEY)?\Z)", re.IGNORECASE)
_IN_ORDER = 12
_TYPED = re.compile(r"(.{2,4})\1{4}", re.DOTALL)


def entropy(value: str) -> float:
    """Shannon entropy in bits a character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values()) if total else 0.0


def is_reference(value: str) -> bool:
    """It names where the secret is kept instead of being it."""
    return _REFERENCE.match(value) is not None


def is_dummy(value: str) -> bool:
    """A stand-in: `xxxxxxxx`, `your_api_key`, `***`, `changeme`."""
    return len(set(value)) <= (2 if len(value) >= 4 else len(value) > 1) or _DUMMY_WORDS.fullmatch(value) is not None or is_masked(value)


def is_masked(value: str) -> bool:
    """Parts of it are blanked out: `ghp_xxxxxxxx`, `sk-...`; or it says itself that it is an example."""
    return _MASKED.search(value) is not None


def is_made_up(value: str) -> bool:
    """The form of a vendor's key, but typed to show it: a dozen letters in the order of the alphabet, or the same over and over."""
    run = 1
    for before, after in zip(value.lower(), value.lower()[1:], strict=False):
        run = run + 1 if after.isalpha() and ord(after) == ord(before) + 1 else 1
        if run >= _IN_ORDER:
            return True
    return _TYPED.search(value) is not None


def is_elided(rest: str) -> bool:
    """What follows says that the value before it is not whole: `sk-abc…`, `xoxp-12-####`."""
    return rest.startswith(("...", "…", "***", "###", "•••"))


def is_literal(value: str) -> bool:
    return not is_reference(value) and not is_dummy(value)


def has_letters_and_digits(value: str) -> bool:
    return re.search("[0-9]", value) is not None and re.search(r"[^\W\d_]", value) is not None


def is_password(value: str) -> bool:
    """A literal that no word of a sentence looks like: letters with digits, four digits or more, or a symbol that words lack."""
    if len(value) < 4 or not is_literal(value) or _ALGORITHM.fullmatch(value):
        return False
    return has_letters_and_digits(value) or value.isdigit() or re.search(r"[^\w\s.,:;'’/()-]", value) is not None


def is_token(value: str) -> bool:
    """A literal with the look of a generated one: eight characters or more, letters with digits or a mixture of high entropy."""
    if len(value) < 8 or not is_literal(value) or _ALGORITHM.fullmatch(value):
        return False
    return has_letters_and_digits(value) or (len(value) >= 16 and entropy(value) >= 3.5 and value.lower() != value)


def is_generated(value: str) -> bool:
    """Letters of both cases and digits in the disorder that only a machine makes: not `getUserByIdReturns404`."""
    if not (re.search("[0-9]", value) and re.search("[a-z]", value) and re.search("[A-Z]", value)):
        return False
    pieces = _CAMEL.findall(value)
    return len(value) <= 3.3 * len(pieces) and entropy(value) >= min(3.8, math.log2(len(value)) - 0.8)

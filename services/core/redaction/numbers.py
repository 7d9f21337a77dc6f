"""Payment cards, IBANs and US social security numbers: digits that carry their own proof."""

import re
from collections.abc import Iterator

from stdnum import iban, luhn
from stdnum.iso7064 import mod_97_10

from services.core.redaction.spans import Kind, Span

_DIGITS = re.compile(r"(?<![\w])(?<![0-9][.,])[0-9](?:(?:[ \u00a0-]|\.(?=[0-9]{4}(?![0-9])))?[0-9]){11,}(?!\w)")
_GROUP = re.compile("[0-9]+")
# Issuer prefixes and the lengths they come in (ISO/IEC 7812; Wikipedia, "Payment card number").
_ISSUERS = (
    (re.compile("4"), {13, 16, 19}),  # Visa
    (re.compile("5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), {16}),  # Mastercard
    (re.compile("3[47]"), {15}),  # American Express
    (re.compile("30[0-5]|36|3[89]"), {14, 16, 19}),  # Diners Club
    (re.compile("6011|64[4-9]|65"), {16, 19}),  # Discover
    (re.compile("35(?:2[89]|[3-8])"), {16, 17, 18, 19}),  # JCB
    (re.compile("2131|1800|1"), {15}),  # JCB of old, UATP
    (re.compile("62"), {16, 17, 18, 19}),  # UnionPay
    (re.compile("50|5[6-9]|6[0-9]"), {13, 14, 15, 16, 17, 18, 19}),  # Maestro, Dankort, RuPay
    (re.compile("220[0-4]"), {16, 19}),  # Mir
)
_CARD_WORD = re.compile(r"\b(?:card|visa|maestro|mastercard|amex|credit|debit|cc|pan|payment)\b[^\n]{0,40}$", re.IGNORECASE)
_SHORTEST_IBAN, _LONGEST_IBAN = 15, 34
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?:[ \u00a0-]?[A-Za-z0-9]){11,38}")
_BREAK = re.compile(r"(?<=[A-Za-z0-9])(?![A-Za-z0-9])")

_SSN = re.compile(r"(?<![\w.-])(?!000|666|9)[0-9]{3}([ .-]?)(?!00)[0-9]{2}\1(?!0000)[0-9]{4}(?![\w-]|\.[0-9])")
_SSN_WORD = re.compile(r"\b(?:ssn|social[ -]security|social|tax(?:payer)?[ -]id|tin)\b[^\n]{0,40}$", re.IGNORECASE)


def find_cards(text: str) -> Iterator[Span]:
    for run in _DIGITS.finditer(text):
        groups = [group.span() for group in _GROUP.finditer(text, run.start(), run.end())]
        first = 0
        while first < len(groups):
            last = _card_from(text, groups, first)
            if last is not None:
                yield Span(Kind.CARD, groups[first][0], groups[last][1])
            first = first + 1 if last is None else last + 1


def _card_from(text: str, groups: list[tuple[int, int]], first: int) -> int | None:
    """The last group of the longest card that starts with group `first`: written in one, or in groups the first of which has four digits."""
    number = ""
    found = None
    for last in range(first, min(first + 6, len(groups))):
        number += text[slice(*groups[last])]
        if (last == first or groups[first][1] - groups[first][0] == 4) and _is_card(number, text, groups[first][0]):
            found = last
    return found


def _is_card(number: str, text: str, start: int) -> bool:
    if not 12 <= len(number) <= 19 or len(set(number)) == 1 or not luhn.is_valid(number):
        return False
    if len(number) > 12 and any(len(number) in lengths and prefix.match(number) for prefix, lengths in _ISSUERS):
        return True
    return number[0] in "23456" and _CARD_WORD.search(text[max(0, start - 60) : start]) is not None


def find_ibans(text: str) -> Iterator[Span]:
    for match in _IBAN.finditer(text):
        end = _iban_end(match[0], text[match.end() : match.end() + 1])
        if end:
            yield Span(Kind.IBAN, match.start(), match.start() + end)


def _iban_end(candidate: str, following: str) -> int:
    """Where the longest valid IBAN at the start ends; 0 if there is none. Words after it may have the look of more groups."""
    for boundary in reversed([found.start() for found in _BREAK.finditer(candidate)]):
        if boundary == len(candidate) and following.isalnum():
            continue
        compact = re.sub(r"[ \u00a0-]", "", candidate[:boundary]).upper()
        if len(compact) < _SHORTEST_IBAN:
            return 0
        if len(compact) <= _LONGEST_IBAN and mod_97_10.is_valid(compact[4:] + compact[:4]) and iban.is_valid(compact, check_country=False):
            return boundary
    return 0


def find_ssns(text: str) -> Iterator[Span]:
    """Nine digits grouped as 3-2-4 by dashes or blanks; with dots or in one only after a word that says so."""
    for match in _SSN.finditer(text):
        if match[1] in ("-", " ") or _SSN_WORD.search(text[max(0, match.start() - 60) : match.start()]):
            yield Span(Kind.SSN, *match.span())

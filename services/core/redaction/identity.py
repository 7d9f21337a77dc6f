"""Numbers of passports, licences and other papers, and dates of birth: told by the words before them."""

import re
from collections.abc import Iterator

from services.core.redaction import words
from services.core.redaction.spans import Kind, Span

_PAPER = (
    r"(?:passport|driv(?:er|ing)(?:['’]?s)?[ ]licen[cs]e|national[ ](?:id(?:entity)?|insurance)|(?:identity|id|residence)[ ](?:card|permit)|"
    r"tax(?:payer)?[ ](?:id|identification)|social[ ](?:insurance|security)|health[ ]insurance|medicare|nhs|nino|aadhaa?r|pan[ ]card|"
    r"steuer-?id|steueridentifikationsnummer|sozialversicherungsnummer|personalausweis(?:nummer)?|reisepass(?:nummer)?|codice[ ]fiscale|"
    r"numéro[ ]de[ ]sécurité[ ]sociale|dni|nif|bsn|cpf|cnpj|pesel|curp|burgerservicenummer|personnummer)"
)
_LINK = r"(?:[ ](?:number|nummer|no\.?|nr\.?|id|#))?(?:[ ](?:is|was|ist|es|est|now)|[ ]?[:=#])?[ ]{1,2}"
_ID = re.compile(rf"\b(?i:{_PAPER}{_LINK})((?=[A-Z. /-]{{0,8}}[0-9])[A-Z0-9](?:[ ./-]?[A-Z0-9]){{5,19}})(?![A-Za-z0-9])")
_LEAST_DIGITS = 5

_MONTH = (
    "(?i:"
    + words.any_of(
        "jan(?:uary)? feb(?:ruary)? mar(?:ch)? apr(?:il)? may june? july? aug(?:ust)? sep(?:t(?:ember)?)? oct(?:ober)? nov(?:ember)? dec(?:ember)?"
    )
    + r")\.?"
)
_DATE = (
    r"(?:[0-9]{4}[./-][0-9]{1,2}[./-][0-9]{1,2}|[0-9]{1,2}[./-][0-9]{1,2}[./-](?:[0-9]{4}|[0-9]{2})|"
    rf"{_MONTH}[ ][0-9]{{1,2}}(?:st|nd|rd|th)?,?[ ][0-9]{{4}}|[0-9]{{1,2}}(?:st|nd|rd|th|\.)?[ ](?:of[ ])?{_MONTH},?[ ][0-9]{{4}})(?![0-9])"
)
_BORN = re.compile(
    r"\b(?i:date[ ]of[ ]birth|birth[ -]?date|birthday|dob|d\.o\.b\.?|born|geburtsdatum|geboren|fecha[ ]de[ ]nacimiento|date[ ]de[ ]naissance)"
    rf"(?i:[ ](?:is|was|on|in|am|el|le)|[.:=]|[ ]?['’]?it(?:['’]s|[ ]is)|[ ]){{0,4}}({_DATE})"
)
_HAS_DIGITS = re.compile("[0-9]{2}")


def find_ids(text: str) -> Iterator[Span]:
    if not _HAS_DIGITS.search(text):
        return
    for match in _ID.finditer(text):
        if sum(character.isdigit() for character in match[1]) >= _LEAST_DIGITS:
            yield Span(Kind.NATIONAL_ID, *match.span(1))


def find_birth_dates(text: str) -> Iterator[Span]:
    """Whole dates only: a birthday without its year identifies nobody."""
    if not _HAS_DIGITS.search(text):
        return
    for match in _BORN.finditer(text):
        yield Span(Kind.BIRTH_DATE, *match.span(1))

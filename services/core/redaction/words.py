"""What a sentence says where a password could stand: which plain words may be one, and which strings are words or names in disguise."""

import re


def any_of(words: str) -> str:
    return "|".join(words.split())


WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
MANY_WORDS = re.compile(r"[a-z]+[0-9]{0,3}(?:[-_./ ](?:[a-z]+[0-9]{0,3}|[0-9]{1,3}(?:\.[0-9]{1,4})*|20[0-9]{2})){1,8}|[A-Z]+(?:[-_ ][A-Z0-9]+)+")
"""`my-db-2`, `auth/token_v1`, `HTTP_404`: names that people give, not values that machines made."""
RESOURCE = re.compile(r"[a-z]+[0-9]{0,3}(?:-(?:[a-z]+[0-9]{0,3}|[0-9]{1,12})){1,6}")
"""`kv-prod-1208358310`: what clouds call a thing of theirs."""
NUMBERED_WORD = re.compile(r"[A-Za-z][a-z]{2,}[0-9]{1,2}")
CODE_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")

_MIXED = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_NOT_SAID = re.compile(
    r"(?:(?:[^\W\d_]|['’-])*(?:ed|ing|able|ible|(?<!f)ly|ful|less|ive)|"
    + any_of(
        "a an the not no briefly in on at to of for from by with and or as so if that this it its my your our their his her is are was be being "
        "been has have will can may must should needs? safe secure unsafe strong weak wrong correct incorrect right valid invalid secret private "
        "public same different unique random empty blank null none undefined true false yes long short longer shorter too very quite still always "
        "never also just only now already up out gone lost set unset reset sent kept known unknown hidden shown written taken given chosen stolen "
        "broken optional mandatory necessary important plain plaintext hard easy simple complex case least between what which where why how when "
        "who there here back fine ok okay good bad visible part more less most some any all both one two three six eight ten twelve sixteen new "
        "old default custom string str text varchar char bytes int integer bool boolean number object unknown field input hash bcrypt scrypt "
        "argon login auth user admin above below first second third last next other others e?-?mail username usernames sso oauth ldap kerberos "
        "vault keychain bitwarden lastpass keepass biometrics fingerprint passkeys? environment config variable variables yours mine ours theirs "
        "these those "
        # of other languages
        "falsch richtig vergessen erforderlich notwendig abgelaufen sicher unsicher leer geheim zu nicht kein requis requise obligatoire incorrect "
        "incorrecte oublié expiré trop pas vide obligatoria obligatorio incorrecta incorrecto requerida olvidada vencida segura muy vacía errada "
        "obrigatória incorreta esquecida expirada segura muito wymagane błędne nieprawidłowe niepoprawne puste за неверный неверен неправильный "
        "обязателен забыт нужен verplicht onjuist vergeten"
    )
    + ")",
    re.IGNORECASE,
)
# Said of a password, with something after it: "is vital for the login", "is clear in the logs".
_SAID_WITH_MORE = re.compile(
    any_of(
        "essential crucial critical vital sufficient common confidential ready unclear clear identical overkill enough great perfect ideal dangerous "
        "obvious insecure inadequate adequate relevant irrelevant dependent independent specific normal standard typical responsible free due open "
        "active inactive present absent missing stale fresh everywhere base64 better worse best worst proof access bound key legacy "
        "temporary permanent separate special external internal local global exempt meant proper clever crap trash nonsense half quite anything "
        "something nothing everything"
    ),
    re.IGNORECASE,
)
_ENDS = re.compile(r"[.!?,;)]*(?:\s*$|[ \t]*[\r\n]|[.!?,;)]|[ \t]+(?:and|but|so|btw|by the way|please|thanks)\b)")
_GOES_ON = re.compile(r"[ \t]+(?:for|on|at|in)[ \t]")


def is_never_said(value: str) -> bool:
    """Something is said about the password (`required`, `too`, `stored`) instead of the password itself."""
    return _NOT_SAID.fullmatch(value) is not None


def is_password(value: str, rest: str) -> bool:
    """A plain word that may be a password, given what follows it: it ends its clause, or only the place of use comes after it."""
    if not WORD.fullmatch(value) or len(value) < 4 or is_never_said(value):
        return False
    if _MIXED.search(value) or _ENDS.match(rest):
        return True
    return _GOES_ON.match(rest) is not None and not _SAID_WITH_MORE.fullmatch(value)

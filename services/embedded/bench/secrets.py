"""Which texts redaction finds a secret in, on labelled cases (of gitleaks' form: `text`, `label`, `rule`).

A label speaks of its own rule only: label 0 says that this rule must not match, not that there is no secret. So there are two precisions.
precision_strict: every text with label 0 in which something is found counts as wrong. precision: those texts are left out, and counted by
kind, in which what was found is a secret by the data or the text itself, whatever found it:
form: it has the form of a secret in a text with label 1 (keys published in documentation, a key of another rule of the same vendor).
named: the text calls it a key, a token or a password, and it is not blanked out.
published: a Google API key of the very form that all of them have, which gitleaks leaves out by a list of keys that Google's own samples show;
nothing but such a list tells them from others.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from services.core import errors
from services.core.redaction import Kind, redactor
from services.embedded.bench import data as labelled
from services.embedded.bench import report

_CALLED = re.compile(r"(?:key|token|secret|password|passwd|pwd)[0-9]?[\"']?[ \t]{0,3}(?:=|:|=>|:=)[ \t]{0,3}[\"'`]?$", re.IGNORECASE)
_WORD = re.compile("[A-Za-z]{1,8}")
_BEFORE = 60  # characters that may call what follows a key
_PREFIX = 4
_MOST_MISTAKES = 12
_PUBLISHED = re.compile(r"AIza[\w-]{35}")
Excuse = Literal["", "form", "named", "published"]


class Case(NamedTuple):
    rule: str
    secret: bool
    text: str
    found: tuple[tuple[int, int], ...]
    """Where something was found: start and end."""

    @property
    def values(self) -> list[str]:
        return [self.text[start:end] for start, end in self.found]


def measure(data: Path, progress: Callable[[str, float], None]) -> report.Report:
    rows = [row for file in labelled.files(data, "secrets", ("*.jsonl", "*.jsonl.gz")) for row in labelled.rows(file)]
    cases: list[Case] = []
    for number, row in enumerate(rows):
        cases.append(_case(row))
        progress("Looking", number / len(rows))
    if not cases:
        raise errors.BadInput(f"no cases in {data}")
    return _report(cases)


def _case(row: Mapping[str, object]) -> Case:
    try:
        rule, secret, text = str(row["rule"]), bool(int(str(row["label"]))), str(row["text"])
    except (KeyError, ValueError) as error:
        raise errors.BadInput(f"a case needs rule, label (0 or 1) and text ({error})") from None
    return Case(rule, secret, text, tuple((span.start, span.end) for span in redactor.detect(text) if span.kind is Kind.SECRET))


def _forms(value: str) -> set[tuple[str, ...]]:
    """What tells one kind of key from another: how it begins, its length and the alphabet it ends in; or its words, and the lengths and
    alphabets of its other parts."""
    parts = re.split(r"[-_.]", value)
    lengths = tuple(part if _WORD.fullmatch(part) else f"{_alphabet(part)}{len(part)}" for part in parts)
    forms: set[tuple[str, ...]] = {(value[:_PREFIX], str(len(value)), _alphabet(parts[-1]))}
    if len(parts) > 1:
        forms.add(lengths)
    if value.startswith("eyJ") and len(parts) >= 3:
        forms.add(("jwt",))
    return forms


def _alphabet(part: str) -> str:
    return "hex" if re.fullmatch("[0-9a-fA-F]+", part) else "any"


def excuse(case: Case, known: set[tuple[str, ...]]) -> Excuse:
    """Why everything that was found in a text with label 0 is a secret all the same, or "". known: forms of secrets in texts with label 1."""
    reasons = [_reason(case.text, start, end, known) for start, end in case.found]
    return reasons[0] if all(reasons) and reasons else ""


def _reason(text: str, start: int, end: int, known: set[tuple[str, ...]]) -> Excuse:
    if _forms(text[start:end]) & known:
        return "form"
    if _PUBLISHED.fullmatch(text, start, end):
        return "published"
    return "named" if _CALLED.search(text[max(0, start - _BEFORE) : start]) else ""


def _report(cases: Sequence[Case]) -> report.Report:
    known = {form for case in cases if case.secret for value in case.values for form in _forms(value)}
    hit = [case for case in cases if case.secret and case.found]
    missed = [case for case in cases if case.secret and not case.found]
    against = [(case, excuse(case, known)) for case in cases if not case.secret and case.found]
    wrong = [case for case, reason in against if not reason]
    excused = Counter(reason for _, reason in against if reason)
    figures = {
        "recall": _share(len(hit), len(hit) + len(missed)),
        "precision": _share(len(hit), len(hit) + len(wrong)),
        "precision_strict": _share(len(hit), len(hit) + len(against)),
        "excused.form": float(excused["form"]),
        "excused.named": float(excused["named"]),
        "excused.published": float(excused["published"]),
        "wrong": float(len(wrong)),
        "missed": float(len(missed)),
    }
    by_rule = Counter((case.rule, reason or "wrong") for case, reason in against) + Counter((case.rule, "missed") for case in missed)
    return report.Report(
        name="secrets",
        figures=report.rounded(figures),
        n=len(cases),
        notes=(
            "strict: whatever is found in a text with label 0 is wrong. The label is of one rule, so the text may hold a secret of another.",
            "excused: it has the form of a secret in a text with label 1 (form), the text calls it a key, token or password (named), or it is a key "
            "of Google's form that only a list of published keys tells from others (published).",
            *(f"{what} {case.rule}: {'; '.join(value[:40] for value in case.values) or case.text[:40]}" for what, case in _mistakes(missed, wrong)),
        ),
        columns=("rule", "what", "# texts"),
        rows=tuple((rule, what, str(count)) for (rule, what), count in sorted(by_rule.items(), key=lambda item: (-item[1], item[0]))),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _mistakes(missed: Sequence[Case], wrong: Sequence[Case]) -> list[tuple[str, Case]]:
    return [*(("missed", case) for case in missed), *(("wrong", case) for case in wrong)][:_MOST_MISTAKES]

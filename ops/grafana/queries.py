"""What the committed dashboards and rules ask of Prometheus, with Grafana's variables filled in: for the tests, and for the picture."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import promql_parser
import yaml

DASHBOARDS = Path(__file__).parent / "dashboards"
RULES = Path(__file__).parent.parent / "prometheus"
RULE_FILES = ("recording.yml", "alerts.yml")
_PARTS = ("_bucket", "_sum", "_count")


class Asked(NamedTuple):
    """where: dashboard and panel. legend: as the panel has it."""

    where: str
    expr: str
    legend: str
    instant: bool


def dashboards() -> dict[str, dict[str, Any]]:
    """By the name of the file, without `.json`."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(DASHBOARDS.glob("*.json"))}


def panels(dashboard: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Those that show something; rows are headings."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def asked(panel: Mapping[str, Any], where: str, **macros: str) -> list[Asked]:
    return [
        Asked(f"{where}: {panel['title']}", filled(target["expr"], **macros), target["legendFormat"], bool(target["instant"]))
        for target in panel["targets"]
    ]


def filled(expr: str, *, job: str = ".+", instance: str = ".+", rate_interval: str = "1m", interval: str = "15s", range_: str = "1h") -> str:
    """As Grafana fills it in."""
    values = {"$__rate_interval": rate_interval, "$__interval": interval, "$__range": range_, "$job": job, "$instance": instance}
    for name, value in values.items():
        expr = expr.replace(name, value)
    return expr


def rules() -> list[dict[str, Any]]:
    """All recording and alerting rules."""
    return [rule for name in RULE_FILES for group in yaml.safe_load((RULES / name).read_text())["groups"] for rule in group["rules"]]


def recorded() -> set[str]:
    """The series that the recording rules make."""
    return {rule["record"] for rule in rules() if "record" in rule}


class Selector(NamedTuple):
    """One series or more that an expression selects. matchers: label to operator and value. function: what its window is given to, if it has one."""

    name: str
    matchers: Mapping[str, str]
    function: str

    def __str__(self) -> str:
        """As PromQL: the series themselves, as they are now."""
        return self.name + "{" + ",".join(f"{label}{_MATCHER.sub(_quoted, matcher)}" for label, matcher in self.matchers.items()) + "}"


def selectors(expr: str) -> list[Selector]:
    """All of an expression. ValueError: it is no PromQL."""
    return list(_selectors(promql_parser.parse(expr)))


def _selectors(node: Any, function: str = "") -> Iterator[Selector]:
    if isinstance(node, promql_parser.VectorSelector):
        matchers = {matcher.name: f"{_OPERATORS[str(matcher.op)]}{matcher.value}" for matcher in node.matchers.matchers}
        yield Selector(node.name or "", matchers, function)
    if isinstance(node, promql_parser.MatrixSelector):
        yield from _selectors(node.vector_selector, function)
    for attribute in ("expr", "param", "lhs", "rhs"):
        if (child := getattr(node, attribute, None)) is not None:
            yield from _selectors(child)
    for child in getattr(node, "args", None) or ():
        yield from _selectors(child, node.func.name)


_MATCHER = re.compile(r"(=~|!~|!=|=)(.*)")


def _quoted(matcher: re.Match[str]) -> str:
    return f"{matcher[1]}{json.dumps(matcher[2])}"


_OPERATORS = {"MatchOp.Equal": "=", "MatchOp.NotEqual": "!=", "MatchOp.Re": "=~", "MatchOp.NotRe": "!~"}


def base(name: str) -> str:
    """A histogram's or a counter's own name: as its series are called without their endings."""
    return next((name.removesuffix(part) for part in _PARTS if name.endswith(part)), name)

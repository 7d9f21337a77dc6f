"""A real Prometheus for the tests; they are skipped where there is none."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ops.grafana import queries, server


def program(name: str) -> Path:
    try:
        return server.program(name)
    except FileNotFoundError as error:
        pytest.skip(str(error))


class Prometheus:
    """One that runs."""

    def __init__(self, http: httpx2.Client) -> None:
        self._http = http

    def ask(self, path: str, **parameters: str) -> Any:
        answer = self._http.get(f"/api/v1/{path}", params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def samples(self, expr: str, start: float, end: float, *, step: float = 1.0) -> list[float]:
        """All values of all series that an expression gives in a span of time; what is not a number is left out."""
        series = self.ask("query_range", query=expr, start=f"{start:.3f}", end=f"{end:.3f}", step=str(step))["result"]
        values = [float(value) for one in series for _, value in one["values"]]
        return [value for value in values if value == value]


@contextlib.contextmanager
def running(folder: Path, targets: Mapping[str, str]) -> Iterator[Prometheus]:
    """It scrapes `targets` (job to host:port) and evaluates our rules, both once a second. Alerts wait for a second, not for minutes."""
    program("prometheus")
    rules = [folder / name for name in queries.RULE_FILES]
    for path in rules:
        path.write_text(re.sub(r"(?m)^( +for:) .*$", r"\1 1s", (queries.RULES / path.name).read_text()))
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(path) for path in rules],
        "scrape_configs": [{"job_name": job, "static_configs": [{"targets": [target]}]} for job, target in targets.items()],
    }
    with server.running(folder, config) as http:
        yield Prometheus(http)

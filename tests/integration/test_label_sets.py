"""Whatever is sent, the number of series stays that of the closed sets of labels: an open one costs memory for as long as a process lives."""

import contextlib
import http.client
import itertools
import math
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from ops import metrics_doc
from services.core import config, messages, models, telemetry
from services.core.adapters.in_memory_tokens import InMemoryTokenBook
from services.proxy.injection import Injection
from tests.support import in_memory, relaying
from tests.support import upstream as up

HOSTILE = ["acme", "a" * 300, "../../etc/passwd", '{"x": "y"}', 'a"} 1 brb_evil{x="y', "%00%ff", "brb_0123456789ab_secret"]
POSTED = ["/v1/messages", "/v1/chat/completions", "/v1/responses"]
PATHS = [*POSTED, "/v1/models", "/v1/nothing-of-the-kind", "//v1//messages", "/v1/messages/../x", "/nowhere", "/memories", "/k/brb_x_y/v1/messages"]
METHODS = ["POST", "GET", "HEAD", "DELETE", "PROPFIND", "BREW"]
TEXTS = [
    "mail a@b.example",
    "my key is sk-ant-api03-" + "x1y2" * 12,
    "call +49 30 901820",
    "IBAN DE89 3704 0044 0532 0130 00",
    "my ssn is 078-05-1120",
]


def ask(base: str, method: str, path: str, body: str = "", **headers: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(base).netloc, timeout=20)
    with contextlib.closing(connection):
        connection.request(method, path, body.encode(), {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}})
        with contextlib.suppress(http.client.HTTPException):
            connection.getresponse().read()


def load(base: str) -> None:
    """Many at once: who guesses tokens is kept waiting each time."""
    with ThreadPoolExecutor(24) as pool:
        asked: list[Future[None]] = []
        for name in HOSTILE:
            for path, text in zip(itertools.cycle(POSTED), TEXTS, strict=False):
                said = f'{{"model": {name!a}, "messages": [{{"role": "user", "content": "{text}"}}], "input": "{text}"}}'.replace("'", '"')
                named = {"x_brb_project": name, "x_brb_key": name, "user_agent": name, "x_claude_code_session_id": name}
                asked.append(pool.submit(ask, base, "POST", path, said, **named))
            asked.append(pool.submit(ask, base, "GET", "/memories", x_brb_key=name, host=name))
        for method, path in itertools.product(METHODS, PATHS):
            asked.append(pool.submit(ask, base, method, path, "{}" if method == "POST" else ""))
    for one in asked:
        one.result()


def odd() -> dict[tuple[str, str], set[str]]:
    """Values of labels that are of no closed set."""
    found: dict[tuple[str, str], set[str]] = {}
    for metric in metrics_doc.metrics():
        for labels in metric._metrics if metric._labelnames else ():
            for label, value in zip(metric._labelnames, labels, strict=True):
                values = metrics_doc.VALUES[metric._name, label]
                if values and value not in values:
                    found.setdefault((metric._name, label), set()).add(value)
    return found


def series() -> int:
    return sum(len(metric._metrics) if metric._labelnames else 1 for metric in metrics_doc.metrics())


MOST = sum(math.prod(len(metrics_doc.VALUES[metric._name, label]) or 1 for label in metric._labelnames) for metric in metrics_doc.metrics())


def test_odd_models_paths_methods_names_and_texts_make_no_series_of_their_own(tmp_path: Path) -> None:
    with up.Upstream() as upstream:
        upstream.says(up.answer(b"{}"))
        for auth in ("off", "token"):
            (folder := tmp_path / auth).mkdir()
            settings = config.Settings(auth=auth, anthropic_url=upstream.url, openai_url=upstream.url, data_dir=folder, _env_file=None)
            injection = Injection(in_memory.parts(folder))
            with relaying.relaying(settings, injection, InMemoryTokenBook()) as base:
                load(base)
            injection.close()
    assert telemetry.RELAY_REQUESTS._metrics
    assert telemetry.REDACTIONS._metrics
    assert telemetry.DENIED._metrics
    assert odd() == {}
    assert series() <= MOST < 1500


def test_a_value_of_no_closed_set_is_seen() -> None:
    """The test of the test."""
    telemetry.REDACTIONS.labels("of a user").inc()
    try:
        assert odd() == {("brb_redactions", "kind"): {"of a user"}}
    finally:
        telemetry.REDACTIONS.remove("of a user")


def test_every_task_and_queue_is_of_a_lane() -> None:
    assert set(messages.LANE_OF) == set(messages.Task)
    assert {models.Visibility.PRIVATE, models.Visibility.TEAM} <= set(metrics_doc.VALUES["brb_memories", "scope"])

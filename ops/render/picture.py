"""A dashboard as a picture: `python -m ops.render.picture quality docs/dashboards/quality.png`.

It shows a made-up day (`demo_day`), or with `--prometheus URL` the last hours of a real one. It takes Chromium, and for the made-up day Prometheus
and promtool, which `make prometheus` fetches.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import sync_playwright

from ops.grafana import queries, server
from ops.render import demo_day, page

_WIDTH = 1520


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ops.render.picture", description=__doc__)
    parser.add_argument("dashboard", choices=sorted(queries.dashboards()))
    parser.add_argument("to", type=Path, help="a .png file")
    parser.add_argument("--prometheus", help="its URL; without it, a made-up day is shown")
    parser.add_argument("--hours", type=float, default=24.0)
    options = parser.parse_args()
    dashboard = queries.dashboards()[options.dashboard]
    if options.prometheus:
        end = time.time()
        with _client(options.prometheus) as http:
            shown = page.html(dashboard, _asking(http), end - options.hours * 3600, end)
    else:
        with _made_up() as http:
            shown = page.html(dashboard, _asking(http), demo_day.END - options.hours * 3600, demo_day.END, note="made-up data of one day")
    _shoot(shown, options.to)


def _client(url: str) -> httpx2.Client:
    return httpx2.Client(base_url=url, trust_env=False, timeout=60)


def _asking(http: httpx2.Client) -> page.Ask:
    def ask(expr: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
        answer = http.get("/api/v1/query_range", params={"query": expr, "start": str(start), "end": str(end), "step": str(step)})
        answer.raise_for_status()
        found: list[dict[str, Any]] = answer.json()["data"]["result"]
        return found

    return ask


@contextlib.contextmanager
def _made_up() -> Iterator[httpx2.Client]:
    """A Prometheus that remembers the made-up day."""
    with tempfile.TemporaryDirectory(prefix="brb-day-") as name:
        folder = Path(name)
        text = folder / "day.txt"
        with text.open("w") as file:
            file.writelines(demo_day.openmetrics())
        subprocess.run(
            [str(server.program("promtool")), "tsdb", "create-blocks-from", "openmetrics", str(text), str(folder / "tsdb")],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with server.running(folder, {}) as http:
            yield http


def _shoot(html: str, to: Path) -> None:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        sys.exit("error: there is no Chromium: install the Debian package chromium")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # it refuses to run as root otherwise
    to.parent.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=arguments)
        try:
            shown = browser.new_page(viewport={"width": _WIDTH, "height": 900})
            shown.set_content(html)
            shown.screenshot(path=to, full_page=True)
        finally:
            browser.close()


if __name__ == "__main__":
    main()

"""A real browser, for the tests of the page."""

import contextlib
import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright


@contextlib.contextmanager
def running() -> Iterator[Browser]:
    """A Chromium while the block runs; the tests are skipped where none is installed."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium here: install the Debian package chromium")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # it refuses to run as root otherwise
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=arguments)
        try:
            yield browser
        finally:
            browser.close()

"""What the documents name is there."""

import re
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from services.core import config, telemetry
from services.proxy.app import create_app
from tests.support import in_memory

Way = tuple[str, str]
ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SETTINGS = {f"BRB_{name.upper()}" for name in config.Settings.model_fields}
FILES = {f"BRB_{name.upper()}_FILE" for name, field in config.Settings.model_fields.items() if "SecretStr" in str(field.annotation)}


def names(document: Path, pattern: str) -> set[str]:
    return set(re.findall(pattern, document.read_text()))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_setting_that_a_document_names_exists(document: Path) -> None:
    assert names(document, r"\bBRB_(?!TEST_)[A-Z_]+\b") - SETTINGS - FILES == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_metric_that_a_document_names_exists(document: Path) -> None:
    assert telemetry  # registers them
    kept = {sample for metric in REGISTRY.collect() for sample in (metric.name, *(f"{metric.name}{end}" for end in ("_total", "_sum", "_count")))}

    assert names(document, r"\bbrb_[a-z]+_[a-z_]+\b") - kept == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_of_a_document_leads_to_a_file(document: Path) -> None:
    missing = {link for link in names(document, r"\]\(([^)#:]+)\)") if not (document.parent / link).exists()}

    assert missing == set()


def test_the_example_of_the_settings_shows_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    defaults = config.load()
    lines = (ROOT / ".env.example").read_text().splitlines()
    (tmp_path / ".env").write_text("\n".join(line.removeprefix("# ") for line in lines if line.startswith("# BRB_")))

    assert config.load() == defaults


def ways_in(document: str) -> set[Way]:
    """What it names as `METHOD /path`; in a row, ` · `/part`` is the same with a part behind it."""
    found: set[Way] = set()
    method = path = ""
    for verb, named in re.findall(r"`(?:(GET|POST|PATCH|PUT|DELETE) )?(/[^`?\s]*)[^`]*`", document):
        if verb:
            method, path = verb, named
        found |= {(method, _plain(each)) for each in ({named} if verb else {named, path + named})}
    return found


def _plain(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", path)


def test_every_route_is_in_the_document_of_the_api(tmp_path: Path) -> None:
    app = create_app(in_memory.parts(tmp_path))
    routes = {
        (method, _plain(route.path))
        for route in app.routes
        for method in getattr(route, "methods", ()) or ["POST"]
        if method not in ("OPTIONS", "HEAD") and not route.path.startswith("/ui")
    }

    assert routes - ways_in((ROOT / "docs" / "api.md").read_text()) == set()

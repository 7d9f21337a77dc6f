import os
import subprocess
import sys
from pathlib import Path

from ops import metrics_doc
from services.core import telemetry


def test_the_page_of_metrics_shows_every_metric_as_it_is() -> None:
    text = metrics_doc.PAGE.read_text()

    assert metrics_doc.page(text) == text, "run `python -m ops.metrics_doc`"
    assert "brb_relay_requests_total" in text


def test_every_label_has_a_closed_set_of_values() -> None:
    labels = {(metric._name, label) for metric in metrics_doc.metrics() for label in metric._labelnames}

    assert labels == set(metrics_doc.VALUES)


def test_series_of_closed_sets_are_there_before_anything_has_happened() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", "from services.core import telemetry; telemetry.start(); print(telemetry.exposed().decode())"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    for series in ('brb_turns_total{outcome="spooled"}', 'brb_audit_events_total{act="forgot"}', 'brb_erased_total{place="deleted"}'):
        assert f"{series} 0.0" in shown.splitlines()


ONE_MORE = "from services.core import telemetry; telemetry.REPLAYED.inc(2); print(telemetry.exposed().decode())"


def test_a_process_that_has_just_begun_to_count_does_not_spoil_a_scrape(tmp_path: Path) -> None:
    """Its file is empty for a moment."""
    (tmp_path / "counter_1.db").touch()
    env = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    shown = subprocess.run([sys.executable, "-c", ONE_MORE], capture_output=True, text=True, check=True, env=env).stdout

    assert "brb_injection_replayed_total 2.0" in shown.splitlines()
    assert any(line.startswith("process_resident_memory_bytes ") for line in shown.splitlines())


def test_what_only_the_living_can_tell_goes_with_the_dead_and_what_they_counted_stays(tmp_path: Path) -> None:
    live = "from prometheus_client import Gauge; Gauge('busy', '', multiprocess_mode='livesum').set(1); "
    env = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for _ in range(2):
        shown = subprocess.run([sys.executable, "-c", live + ONE_MORE], capture_output=True, text=True, check=True, env=env).stdout

    assert "brb_injection_replayed_total 4.0" in shown.splitlines()
    assert "busy 1.0" in shown.splitlines()
    assert telemetry.REPLAYED

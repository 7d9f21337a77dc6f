"""The dashboards as Grafana's JSON: `python -m ops.grafana.dashboards` writes them, `--check` says which files are not what this code makes."""

import argparse
import sys
from pathlib import Path

from ops.grafana import panels
from ops.grafana.infrastructure import INFRASTRUCTURE
from ops.grafana.learning import LEARNING
from ops.grafana.overview import OVERVIEW
from ops.grafana.quality import QUALITY

FOLDER = Path(__file__).parent / "dashboards"
ALL = (OVERVIEW, QUALITY, LEARNING, INFRASTRUCTURE)


def files() -> dict[Path, str]:
    """Where each goes, and what it is to be."""
    return {FOLDER / f"{dashboard.uid.removeprefix('brb-')}.json": panels.encoded(dashboard) for dashboard in ALL}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ops.grafana.dashboards", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a committed file differs")
    options = parser.parse_args()
    wanted = files()
    if options.check:
        present = {path: path.read_text() for path in FOLDER.glob("*.json")}
        differing = sorted(path.name for path in wanted.keys() | present.keys() if wanted.get(path) != present.get(path))
        if differing:
            sys.exit(f"error: not what ops/grafana makes: {', '.join(differing)}: run `python -m ops.grafana.dashboards`")
        return
    for path, text in wanted.items():
        path.write_text(text)


if __name__ == "__main__":
    main()

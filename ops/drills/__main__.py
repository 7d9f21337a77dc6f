"""`python -m ops.drills [NAME …] [--seconds N] [--keep FOLDER]`: play drills one after the other. Exit status 1 if a proof does not hold."""

import argparse
import asyncio
import sys
import time
import traceback
from pathlib import Path

from ops.drills import faults, scene


def main() -> int:
    names = [drill.name for drill in faults.DRILLS]
    parser = argparse.ArgumentParser(prog="python -m ops.drills", description="Faults under traffic, and the proof that nothing was lost.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(names)} (default: all)")
    parser.add_argument("--seconds", type=float, help="how long each fault lasts (default: each drill's own)")
    parser.add_argument("--keep", type=Path, help="leave the files of each drill in a folder of its name here")
    options = parser.parse_args()
    if unknown := set(options.names) - set(names):
        parser.error(f"no drill of the name {', '.join(sorted(unknown))}")
    asked = [drill for drill in faults.DRILLS if drill.name in (options.names or names)]
    held = {drill.name: _holds(drill, options.seconds, options.keep) for drill in asked}
    bad, skipped = ([name for name, holds in held.items() if holds is it] for it in (False, None))
    _say(f"{'all hold' if not bad else 'do not hold: ' + ', '.join(bad)}{'; skipped: ' + ', '.join(skipped) if skipped else ''}")
    return 1 if bad else 0


def _holds(drill: scene.Drill, seconds: float | None, keep: Path | None) -> bool | None:
    """None if this machine can't do it."""
    if reason := drill.cannot():
        _say(f"{drill.name}: skipped: {reason}")
        return None
    _say(f"{drill.name}: {drill.what}")
    try:
        result = asyncio.run(scene.play(drill, seconds or drill.seconds, _say, folder=keep and keep / drill.name))
    except Exception:  # a drill that can't be brought to its end proves nothing; the others may
        traceback.print_exc()
        _say(f"{drill.name}: DOES NOT HOLD: it did not come to its end")
        return False
    _say(scene.shown(result))
    return not result.wrong


def _say(line: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

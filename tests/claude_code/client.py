"""The real Claude Code as a person uses it, with an empty home and a key that opens nothing."""

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.claude_code.calls import MESSAGES, Call, Wire
from tests.claude_code.wiretap import Tapped
from tests.e2e.harness import CLIENT_KEY, until

NOBODY = "http://127.0.0.1:1"
"""A proxy that is not there."""
NOTHING_MORE: Mapping[str, str] = {}

_PATIENCE_SECONDS = 90


@dataclass(frozen=True)
class Run:
    """What a run of the program, or one turn in a terminal, said and did. answer, session: "" in a terminal. probes: what BRB answered itself."""

    answer: str
    session: str
    calls: Sequence[Call]
    probes: Sequence[Tapped]

    @property
    def main(self) -> list[Call]:
        """The steps of the conversation itself, subagents and the client's own small calls left out."""
        return [call for call in self.calls if call.received.path == MESSAGES and call.body.get("tools") and not call.agent]

    @property
    def only(self) -> Call:
        """The call, of a run that makes one."""
        (call,) = self.calls
        return call


def kill(process: "subprocess.Popen[Any]") -> None:
    """End it, and what it has started, if it still runs."""
    if process.poll() is None:
        tree = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
        for one in tree:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
    process.wait()


class ClaudeCode:
    """Claude Code in the folder of a project."""

    def __init__(self, program: Path, home: Path, folder: Path, wire: Wire) -> None:
        self.program = program
        self.home = home
        self.folder = folder
        self.wire = wire
        for path in (folder, self.config, self._scratch):
            path.mkdir(parents=True, exist_ok=True)

    @property
    def config(self) -> Path:
        return self.home / "config"

    @property
    def _scratch(self) -> Path:
        return self.home / "tmp"

    def environment(self, quiet: bool) -> dict[str, str]:
        """Nothing of the person who runs the tests, and no call to anybody but BRB. quiet: without the calls that it could do without, titles too."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "CLAUDE_CODE_TMPDIR": str(self._scratch),
            "TMPDIR": str(self._scratch),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": self.wire.tap.url,
            "ANTHROPIC_API_KEY": CLIENT_KEY,
            "HTTPS_PROXY": NOBODY,
            "HTTP_PROXY": NOBODY,
            "NO_PROXY": "127.0.0.1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
            **({"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"} if quiet else {}),
        }

    def say(self, words: str, *options: str, status: int = 0, environment: Mapping[str, str] = NOTHING_MORE) -> Run:
        """`claude -p WORDS OPTIONS`, to its end with this exit status."""
        with self._printing(words, options, environment) as process:
            try:
                output, complaint = process.communicate(timeout=_PATIENCE_SECONDS)
            finally:
                kill(process)
        assert process.returncode == status, (output, complaint)
        result = json.loads(output)
        return Run(result["result"], result["session_id"], *self.wire.take())

    def say_and_leave(self, words: str, *options: str, when: Callable[[], bool]) -> Run:
        """`claude -p WORDS OPTIONS`, killed as soon as `when` holds."""
        with self._printing(words, options, NOTHING_MORE) as process:
            try:
                until(lambda: when() or None, "it was not time to leave")
            finally:
                kill(process)
        return Run("", "", *self.wire.take())

    def _printing(self, words: str, options: Sequence[str], environment: Mapping[str, str]) -> "subprocess.Popen[str]":
        command = [str(self.program), "-p", words, "--output-format", "json", *options]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env={**self.environment(quiet=True), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

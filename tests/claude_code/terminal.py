"""Claude Code in a terminal: keys go in, what is on the screen comes out."""

import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import threading
from typing import Self

from tests.claude_code.calls import MESSAGES
from tests.claude_code.client import ClaudeCode, Run, kill
from tests.e2e.harness import CLIENT_KEY, until

ESCAPE = "\x1b"

_ROWS, _COLUMNS = 50, 150
_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)|\s")
_PROMPT = "❯"
_PATIENCE_SECONDS = 60
_DONE = b"event: message_stop"


class Terminal:
    """Stays open until the block ends."""

    def __init__(self, client: ClaudeCode) -> None:
        self._client = client
        self._screen = bytearray()

    def __enter__(self) -> Self:
        self._welcome_back()
        self._keys, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            [str(self._client.program)],
            cwd=self._client.folder,
            env=self._client.environment(quiet=False),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self.shows(_PROMPT)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        kill(self._process)
        self._reader.join()
        os.close(self._keys)

    def say(self, words: str) -> Run:
        """One turn, to the end of all its calls."""
        self.send(words)
        until(lambda: self._is_over() or None, "the turn did not end", _PATIENCE_SECONDS)
        return self.taken()

    def command(self, words: str, shows: str) -> Run:
        """A command of the client's own, to the end of all its calls. shows: what its output says."""
        self.send(words)
        self.shows(shows)
        until(lambda: all(call.answer for call in self._client.wire.fresh) or None, "a call was not answered", _PATIENCE_SECONDS)
        return self.taken()

    def send(self, words: str) -> None:
        """Type the words and send them, without waiting for an answer."""
        self._screen.clear()
        self.press(words)
        self.shows(words)
        self.press("\r")

    def press(self, keys: str) -> None:
        os.write(self._keys, keys.encode())

    def taken(self) -> Run:
        """What was sent since the last time."""
        return Run("", "", *self._client.wire.take())

    def _is_over(self) -> bool:
        calls = [call for call in self._client.wire.fresh if call.target == MESSAGES]
        return any(b'"tools":[{' in call.body for call in calls) and all(_DONE in call.answer for call in calls)

    def shows(self, text: str) -> None:
        """Wait until the text has been shown since the person last began to type, white space aside."""
        wanted = _CONTROL.sub("", text)
        until(lambda: wanted in self._visible() or None, f"{text!r} did not appear", _PATIENCE_SECONDS)

    def _visible(self) -> str:
        return _CONTROL.sub("", self._screen.decode(errors="replace"))

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # a terminal that nobody holds any more
            while chunk := os.read(self._keys, 1 << 16):
                self._screen += chunk

    def _welcome_back(self) -> None:
        """What Claude Code asks at its first start is answered already."""
        settings = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [CLIENT_KEY[-20:]], "rejected": []},
            "projects": {str(self._client.folder): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        }
        (self._client.config / ".claude.json").write_text(json.dumps(settings))

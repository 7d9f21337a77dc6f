"""The main job, played once through real processes: no API key, no network, nothing left behind.

A complete BRB of its own runs in a temporary folder in front of the stand-in upstream, and the `anthropic` SDK talks through it.
"""

import contextlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import anthropic
import httpx2
import msgspec
import psutil

from services.core import api, config, errors
from services.embedded import demo_screen, standin, supervisor
from services.embedded.demo_story import Correction, Learnt, Request, Search, Story, Talk, insertion

_EMAIL = "leo@example.com"
_KEY = "sk-ant-api03-" + "this-one-is-made-up-" * 4 + "0123456789abcAA"
_INTRODUCTION = f"Hi! My name is Leo. We use Postgres 15 and deploy to Fly.io. My e-mail is {_EMAIL} and my API key is {_KEY}"
_QUESTION = "Which database are we on, and where do we deploy?"
_CORRECTION = "Actually it's Leoncio."

_START_SECONDS = 300.0  # the first start ever builds the models
_LEARN_SECONDS = 60.0
_STOP_SECONDS = 60.0
_POLL_SECONDS = 0.1
_RECALL_DEADLINE_MS = 2000  # a machine that is busy starting BRB for the first time must not turn the demo into a lottery

T = TypeVar("T")


class DidNotHappen(errors.BrbError):
    """A step of the demo did not come about; the message says which."""


def run(settings: config.Settings, *, as_json: bool = False) -> int:
    """Play the demo and show it on stdout (`as_json`: as one JSON object). Exit status: 0, 1 with a line on stderr, 130 after Ctrl-C.

    `settings` gives the folder of the models and the name of the spaCy model; everything else is the demo's own.
    """
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with demo_screen.progress() as progress:
            story = play(settings, progress)
    except KeyboardInterrupt:
        return 130
    except (errors.BrbError, anthropic.APIError, httpx2.HTTPError, OSError) as error:
        sys.stderr.write(f"brb demo: {error}\n")
        return 1
    finally:
        signal.signal(signal.SIGTERM, previous)
    if as_json:
        sys.stdout.write(msgspec.json.encode(story).decode() + "\n")
    else:
        demo_screen.show(story)
    return 0


def play(settings: config.Settings, progress: Callable[[str], None]) -> Story:
    """Run the whole story; `progress` is told each step. Raises `DidNotHappen`, or what stopped it."""
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="brb-demo-", ignore_cleanup_errors=True) as name,
        standin.running() as upstream,
        contextlib.ExitStack() as left,
    ):
        folder = Path(name).resolve()
        run_dir = settings.model_copy(update={"data_dir": folder / "data"}).run_dir  # elsewhere if the path is too long for a socket
        left.callback(shutil.rmtree, run_dir, ignore_errors=True)
        progress("Starting Redis, llama.cpp, the worker and the proxy (the first time also builds the models)")
        with _brb(settings, folder, upstream.url) as url, Conversations(url, upstream) as people:
            progress("Talking, and waiting until it is learnt")
            first = people.hold(_INTRODUCTION)
            learnt = people.memories("Leo", "Postgres", "Fly")
            progress("Asking in a new conversation")
            second = people.hold(_QUESTION)
            request = people.newest_request()
            progress("Correcting a memory")
            third = people.hold(_CORRECTION)
            correction = people.corrected(old="Leo", new="Leoncio")
            redacted = people.redactions()
            searched = search(folder / "data", (_EMAIL, _KEY))
        progress("Stopped; nothing is left behind")
    return Story((first, second, third), redacted, searched, learnt, request, correction, round(time.monotonic() - started, 1))


class Conversations:
    """People who talk through a running BRB, each time in a new conversation, and then look at its memories."""

    def __init__(self, url: str, upstream: standin.StandIn) -> None:
        self._upstream = upstream
        self._sent: list[bytes] = []
        hooks = {"request": [lambda request: self._sent.append(request.content)]}
        transport = anthropic.DefaultHttpxClient(trust_env=False, event_hooks=hooks)
        self._sdk = anthropic.Anthropic(base_url=url, api_key="demo", max_retries=0, http_client=transport)
        self._http = httpx2.Client(base_url=url, trust_env=False, timeout=10)

    def __enter__(self) -> "Conversations":
        return self

    def __exit__(self, *_: object) -> None:
        self._sdk.close()
        self._http.close()

    def hold(self, words: str) -> Talk:
        message: anthropic.types.MessageParam = {"role": "user", "content": [{"type": "text", "text": words}]}
        with self._sdk.messages.stream(model="claude-demo", max_tokens=100, messages=[message]) as stream:
            return Talk(words, stream.get_final_text(), int(stream.response.headers.get("x-brb-memories", "0")))

    def newest_request(self) -> Request:
        """The call as the client sent it against what arrived upstream."""
        sent, received = self._sent[-1], self._upstream.recorded[-1].body
        inserted = insertion(sent, received)
        if inserted is None:
            raise DidNotHappen("the second conversation's request carried no memory, or was changed in more than one place")
        return Request(len(sent), len(received), sent.decode(), inserted.at, inserted.text)

    def memories(self, *words: str) -> tuple[Learnt, ...]:
        """Wait until each word occurs in a current memory."""

        def found() -> tuple[api.Memory, ...] | None:
            memories = self._current()
            return memories if all(any(_says(m, word) for m in memories) for word in words) else None

        learnt = _wait(found, _LEARN_SECONDS, f"no memory of {', '.join(words)} within {_LEARN_SECONDS:.0f} s")
        return tuple(Learnt(m.category, m.confidence, m.text, tuple(e.quote for e in m.evidence)) for m in reversed(learnt))

    def corrected(self, *, old: str, new: str) -> Correction:
        """Wait until the new value is current and the old one is not."""

        def found() -> api.Memory | None:
            memories = self._current()
            right = [m for m in memories if _says(m, new)]
            return right[0] if len(right) == 1 and not any(_says(m, old) for m in memories) else None

        memory = _wait(found, _LEARN_SECONDS, f"{old} was not replaced by {new} within {_LEARN_SECONDS:.0f} s")
        versions = msgspec.json.decode(self._get(f"/memories/{memory.id}/history"), type=api.Lineage).memories
        return Correction(memory.text, tuple(m.text for m in versions if m.id != memory.id))

    def redactions(self) -> Mapping[str, int]:
        """What was replaced, by kind, from the proxy's metrics."""
        counts = re.findall(r'^brb_redactions_total\{kind="([^"]+)"\} (\S+)$', self._get("/metrics").decode(), re.MULTILINE)
        if not counts:
            raise DidNotHappen("nothing was redacted, though an e-mail address and an API key were said")
        return {kind: int(float(count)) for kind, count in counts if float(count)}

    def _current(self) -> tuple[api.Memory, ...]:
        return msgspec.json.decode(self._get("/memories"), type=api.Memories).memories

    def _get(self, path: str) -> bytes:
        return self._http.get(path).raise_for_status().content


def search(folder: Path, secrets: tuple[str, ...]) -> Search:
    """Look for the secrets' bytes in every file of the data folder (its models are links to elsewhere). One that is found stops the demo."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = 0
    for path in files:
        content = path.read_bytes()
        size += len(content)
        for secret in secrets:
            if secret.encode() in content:
                raise DidNotHappen(f"a secret was stored in clear in {path.name}")
    return Search(len(files), size, secrets)


def _says(memory: api.Memory, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", memory.text) is not None


@contextlib.contextmanager
def _brb(settings: config.Settings, folder: Path, upstream_url: str) -> Iterator[str]:
    """A BRB of its own in `folder`, as `brb up` starts it; its address. Stopped at the end, whatever happens."""
    data = folder / "data"
    data.mkdir()
    settings.models_dir.mkdir(parents=True, exist_ok=True)
    (data / "models").symlink_to(settings.models_dir, target_is_directory=True)
    port, log = _free_port(), folder / "up.log"
    url = f"http://127.0.0.1:{port}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "services.cli", "up"],
            cwd=folder,  # away from the person's .env
            env=_environment(settings, data, port, upstream_url),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # so that Ctrl-C reaches the demo alone, which then stops it in order
        )
    try:
        _wait_until_ready(process, config.load(data_dir=data, port=port), log)
        yield url
    finally:
        _stop(process)


def _environment(settings: config.Settings, data: Path, port: int, upstream_url: str) -> dict[str, str]:
    kept = config.environment_without_settings()
    return kept | {
        "BRB_DATA_DIR": str(data),
        "BRB_PORT": str(port),
        "BRB_ANTHROPIC_URL": upstream_url,
        "BRB_SPACY_MODEL": settings.spacy_model,
        "BRB_RECALL_DEADLINE_MS": str(_RECALL_DEADLINE_MS),
    }


def _wait_until_ready(process: subprocess.Popen[bytes], settings: config.Settings, log: Path) -> None:
    def ready() -> bool | None:
        if process.poll() is not None:
            lines = log.read_text(errors="replace").strip().splitlines()
            raise DidNotHappen(f"BRB did not start: {lines[-1].removeprefix('error: ') if lines else f'exit status {process.returncode}'}")
        state = supervisor.state(settings)
        return True if state is not None and state.ready else None

    _wait(ready, _START_SECONDS, f"BRB was not ready within {_START_SECONDS:.0f} s")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """In order; by force if that takes too long or a second Ctrl-C comes."""
    children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _wait(found: Callable[[], T | None], seconds: float, complaint: str) -> T:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        result = found()
        if result is not None:
            return result
        time.sleep(_POLL_SECONDS)
    raise DidNotHappen(complaint)

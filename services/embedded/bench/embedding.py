"""The embedder of an embedded BRB, for measurements: the default model in a llama.cpp of its own."""

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from services.core import config, ports
from services.core.adapters import vectors
from services.embedded import models as model_files
from services.embedded import programs
from services.embedded.bench import processes

_MODEL = "all-MiniLM-L6-v2"
_BATCH = 64


class Known:
    """`ports.Embedder` that asks the other only once for each text: labelled data repeats its sentences."""

    def __init__(self, embedder: ports.Embedder) -> None:
        self._embedder = embedder
        self._known: dict[tuple[str, str], list[float]] = {}

    @property
    def model(self) -> str:
        return self._embedder.model

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed(self, texts: Sequence[str], kind: Literal["query", "document"], *, timeout_seconds: float | None = None) -> list[list[float]]:
        new = [text for text in dict.fromkeys(texts) if (kind, text) not in self._known]
        if new:
            vectors = self._embedder.embed(new, kind, timeout_seconds=timeout_seconds)
            self._known |= {(kind, text): vector for text, vector in zip(new, vectors, strict=True)}
        return [self._known[kind, text] for text in texts]

    def learn(self, texts: Sequence[str], progress: Callable[[float], None]) -> None:
        """Embed all of them beforehand, as documents. progress: told of the share that is done."""
        wanted = list(dict.fromkeys(texts))
        for start in range(0, len(wanted), _BATCH):
            progress(start / len(wanted))
            self.embed(wanted[start : start + _BATCH], "document")

    def ping(self) -> None:
        self._embedder.ping()


@contextlib.contextmanager
def started(progress: Callable[[str, float], None]) -> Iterator[tuple[Known, config.Settings]]:
    """The embedder, and the settings of the BRB that it belongs to, in a temporary folder; gone with the block."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="brb-bench-", ignore_cleanup_errors=True))).resolve()
        settings = config.load(data_dir=folder / "data", redis_url=None, qdrant_url=None, embed_url=None, embed_model=_MODEL)
        models_dir = config.load().models_dir
        for made in (models_dir, settings.data, settings.run_dir, settings.metrics_dir, settings.store_dir):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings.models_dir.symlink_to(models_dir, target_is_directory=True)
        stack.callback(shutil.rmtree, settings.run_dir, ignore_errors=True)  # elsewhere if the folder's path is too long for a socket
        files = model_files.ensure(settings, progress)
        (llama,) = (program for program in programs.programs(settings, files) if program.name == "llama")
        stack.enter_context(processes.supporting(llama, settings, folder=folder))
        embedder = stack.enter_context(contextlib.closing(vectors.open_embedder(settings)))
        yield Known(embedder), settings

"""Makes, fetches and checks the model files that models.lock pins."""

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

from services.core import config, errors, model_lock
from services.embedded import minilm

_GGUF = b"GGUF"

Progress = Callable[[str, float], None]
"""Called with what is being done and the share that is done (0..1)."""


def ensure(settings: config.Settings, progress: Progress = lambda _what, _share: None) -> dict[str, Path]:
    """Every model that these settings use, there and verified; made or fetched if missing. Never replaces a file that is there."""
    found = {}
    for name, model in needed(settings).items():
        path = model_lock.path_of(name, model, settings.models_dir)
        if not path.exists():
            _obtain(name, model, path, progress)
        found[name] = model_lock.verify(name, model, settings.models_dir)
        progress(f"{name} verified", 1.0)
    return found


def needed(settings: config.Settings) -> dict[str, model_lock.Model]:
    """The entries of models.lock in use. A spaCy model that isn't in the lock (the official one, by `BRB_SPACY_MODEL`) is the user's own choice."""
    entries = model_lock.read()
    chosen = {settings.spacy_model: entries[settings.spacy_model]} if settings.spacy_model in entries else {}
    if settings.embed_url is None:
        chosen[settings.embed_model] = model_lock.embedding(settings)
    if extraction(settings) is not None and settings.extract_model in entries:
        chosen[settings.extract_model] = entries[settings.extract_model]
    return chosen


def extraction(settings: config.Settings) -> Path | None:
    """The GGUF file of the language model that BRB serves for the extraction; None if it serves none. `SetupError` if it is not there.

    A name in models.lock means that file; any other is a path, and the user's own choice.
    """
    if settings.engines == "rules" or settings.extract_url is not None:
        return None
    entry = model_lock.read().get(settings.extract_model)
    if entry is not None:
        return model_lock.path_of(settings.extract_model, entry, settings.models_dir)
    path = Path(settings.extract_model).expanduser().resolve()
    try:
        with path.open("rb") as file:
            if file.read(len(_GGUF)) == _GGUF:
                return path
    except OSError as error:
        raise errors.SetupError(f"BRB_EXTRACT_MODEL={settings.extract_model} can't be read ({error.strerror}): set it to a GGUF file") from None
    raise errors.SetupError(f"BRB_EXTRACT_MODEL={settings.extract_model} is no GGUF file, and BRB_EXTRACT_URL is not set")


def verify(settings: config.Settings) -> dict[str, Path]:
    """The paths of all models in use; raises for the first that is missing or not the pinned one."""
    return {name: model_lock.verify(name, model, settings.models_dir) for name, model in needed(settings).items()}


def _obtain(name: str, model: model_lock.Model, path: Path, progress: Progress) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise errors.SetupError(f"can't make {path.parent}: {error.strerror}. Set BRB_DATA_DIR to a folder that you can write to") from None
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        if model.build:
            progress(f"writing {name} as GGUF", 0.0)
            minilm.write(_package_folder(model.build) / "model", part)
        else:
            _fetch(name, model.url, part, progress)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _package_folder(distribution: str) -> Path:
    spec = importlib.util.find_spec(distribution.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise errors.SetupError(f"the package {distribution} is not installed: run `make setup`")
    return Path(spec.origin).parent


def _fetch(name: str, url: str, part: Path, progress: Progress) -> None:
    import httpx2

    try:
        with httpx2.stream("GET", url, follow_redirects=True, timeout=30) as answer, part.open("wb") as file:
            answer.raise_for_status()
            total = int(answer.headers.get("content-length", 0))
            for chunk in answer.iter_bytes(1 << 20):
                file.write(chunk)
                progress(f"fetching {name}", file.tell() / total if total else 0.0)
    except httpx2.HTTPError as error:
        raise errors.SetupError(
            f"can't fetch {name} from {url}: {error}. Put the file at {part.with_name(part.name.rsplit('.', 2)[0])} yourself"
        ) from None

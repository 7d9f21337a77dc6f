"""`models.lock`: which model files may be loaded, and what must be known to use them. Nothing that does not match its sha256 is loaded."""

import hashlib
import importlib.util
import tomllib
from pathlib import Path
from typing import Literal

import msgspec

from services.core import config, errors

LOCK = Path(__file__).with_name("models.lock")


class Model(msgspec.Struct, frozen=True):
    """One entry. `dimension`, `max_tokens`, `pooling` and the prefixes are those of an embedding model."""

    kind: Literal["embedding", "language", "instruct"]
    source: str
    revision: str
    sha256: str
    licence: str
    audited_at: str
    file: str = ""
    package: str = ""
    build: str = ""
    url: str = ""
    dimension: int = 0
    max_tokens: int = 0
    pooling: str = ""
    query_prefix: str = ""
    document_prefix: str = ""


def read(path: Path = LOCK) -> dict[str, Model]:
    """All entries by name."""
    raw = tomllib.loads(path.read_text())
    return {name: msgspec.convert({**entry, "audited_at": str(entry["audited_at"])}, Model) for name, entry in raw.items()}


def embedding(settings: config.Settings) -> Model:
    """The configured embedding model, checked against `BRB_EMBED_DIM`."""
    models = {name: model for name, model in read().items() if model.kind == "embedding"}
    model = models.get(settings.embed_model)
    if model is None:
        raise errors.SetupError(f"BRB_EMBED_MODEL={settings.embed_model} is not in models.lock: choose one of {', '.join(sorted(models))}")
    if settings.embed_dim is not None and settings.embed_dim != model.dimension:
        raise errors.WrongModel(
            f"BRB_EMBED_DIM={settings.embed_dim}, but {settings.embed_model} has {model.dimension} dimensions: "
            "unset BRB_EMBED_DIM, or set BRB_EMBED_MODEL"
        )
    return model


def digest(path: Path) -> str:
    """sha256 of a file, in hex; of a folder: over the digests of its files (compiled ones left out) in the order of their paths."""
    if path.is_file():
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    total = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
        total.update(f"{file.relative_to(path).as_posix()}\0{digest(file)}\n".encode())
    return total.hexdigest()


def path_of(name: str, model: Model, models_dir: Path) -> Path:
    """Where the model's file is or belongs; for a package, its folder."""
    if not model.package:
        return models_dir / model.file
    spec = importlib.util.find_spec(model.package)
    if spec is None or spec.origin is None:
        raise errors.SetupError(f"the model package of {name} is not installed: run `make setup`")
    return Path(spec.origin).parent


def verify(name: str, model: Model, models_dir: Path) -> Path:
    """The path of a model that may be loaded; `SetupError` if it is missing, `WrongModel` if it is not the pinned one."""
    path = path_of(name, model, models_dir)
    if not path.exists():
        raise errors.SetupError(f"{path} is missing: run `brb models pull`")
    if (found := digest(path)) != model.sha256:
        cure = "run `make setup` again" if model.package else "delete it and run `brb models pull`"
        raise errors.WrongModel(f"{path} is not the pinned {name} (sha256 {found[:12]}…, models.lock says {model.sha256[:12]}…): {cure}")
    return path

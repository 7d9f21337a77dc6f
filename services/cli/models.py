"""`brb models`: the pinned model files."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from services.cli import embedded, local, options, output

if TYPE_CHECKING:
    from services.core import model_lock


class Pinned(msgspec.Struct, frozen=True):
    """An entry of models.lock and where its file is or belongs."""

    name: str
    kind: str
    licence: str
    revision: str
    sha256: str
    path: str
    there: bool


def listed(as_json: options.Json = False) -> None:
    """List the models that may be loaded."""
    from services.core import config, model_lock

    folder = config.load().models_dir
    pinned = [_pinned(name, model, folder) for name, model in model_lock.read().items()]
    if as_json:
        return output.json(pinned)
    rows = [[m.name, m.kind, m.licence, m.sha256[:12], "there" if m.there else "missing", m.path] for m in pinned]
    output.table(["name", "kind", "licence", "sha256", "file", "path"], rows)


def verified(as_json: options.Json = False) -> None:
    """Check the models in use against their pinned sha256."""
    from services.core import config

    _shown(embedded.models().verify(config.load()), as_json=as_json)


def pulled(as_json: options.Json = False) -> None:
    """Fetch or build the models in use that are missing, and check all of them."""
    from services.core import config

    with local.steps(plain=False) as (_, progress):
        found = embedded.models().ensure(config.load(), progress)
    _shown(found, as_json=as_json)


def _shown(found: Mapping[str, Path], *, as_json: bool) -> None:
    if as_json:
        return output.json({name: str(path) for name, path in found.items()})
    output.table(["name", "state", "path"], [[name, "verified", str(path)] for name, path in found.items()])


def _pinned(name: str, model: "model_lock.Model", folder: Path) -> Pinned:
    from services.core import errors, model_lock

    try:
        path = model_lock.path_of(name, model, folder)
    except errors.SetupError:
        path = Path(model.package)
    return Pinned(name, model.kind, model.licence, model.revision, model.sha256, str(path), path.exists())

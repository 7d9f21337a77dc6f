"""Snapshots of a Qdrant server's collections: made, fetched and given back over HTTP (https://qdrant.tech/documentation/snapshots/).

One holds a collection with its settings and indexes, but no aliases. Of a cluster of several nodes each has its own part: back those up node by node.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from qdrant_client import QdrantClient

from services.core import backup, errors
from services.core.adapters import points, server_collections
from services.core.adapters.counting import PEOPLES, of_kind
from services.core.adapters.points import Only
from services.core.adapters.server_collections import Space, translated
from services.core.adapters.server_points import filter_of

_TIMEOUT_SECONDS = 600.0


class Collections:
    """The collections in use of a model, by the names that the caller gives them; memories are counted as such, notes with their passages."""

    def __init__(self, client: QdrantClient, url: str, api_key: str | None, memories: Space, notes: Space) -> None:
        self._client = client
        self._url = url
        self._headers = {"api-key": api_key} if api_key else {}
        self.memories = memories
        self.notes = notes

    def counts(self) -> backup.Counts:
        with translated():
            known = server_collections.aliases(self._client)
            return backup.Counts(
                memories=self._count(self.memories, PEOPLES) if self.memories.alias in known else 0,
                notes=self._count(self.notes, of_kind("note")) if self.notes.alias in known else 0,
                passages=self._count(self.notes, of_kind("passage")) if self.notes.alias in known else 0,
            )

    def take(self, space: Space, file: Path) -> None:
        """A snapshot of what is in use, if anything is. The server keeps none of it. `WrongModel` if only another model's is."""
        with translated(), _reached():
            known = server_collections.aliases(self._client)
            name = known.get(space.alias)
            if name is None:
                for other in server_collections.in_use(known, space.prefix):
                    raise points.wrong_model(space.layout.what, other, space.model)
                return
            made = self._client.create_snapshot(name, wait=True)
            if made is None:
                raise errors.Unavailable("Qdrant", f"it made no snapshot of {name}")
            try:
                self._fetch(f"/collections/{name}/snapshots/{made.name}", file)
            finally:
                self._client.delete_snapshot(name, made.name, wait=True)

    def give(self, space: Space, file: Path) -> None:
        """Puts it in the place of what is in use, which is kept beside it until it is dropped (`brb reindex --drop-old`)."""
        with translated(), _reached():
            name = server_collections.free(self._client, space)
            with file.open("rb") as stream, self._http() as http:
                answer = http.post(
                    f"/collections/{name}/snapshots/upload",
                    params={"priority": "snapshot", "wait": "true"},
                    files={"snapshot": (file.name, stream)},
                )
            if answer.status_code != httpx2.codes.OK:
                raise errors.Unavailable("Qdrant", f"it refuses the snapshot of {space.layout.what}: {answer.status_code} {answer.text[:200]}")
            server_collections.fitted(self._client, space, name)
            server_collections.place(self._client, space, name)

    def _count(self, space: Space, only: Only) -> int:
        return self._client.count(space.alias, filter_of(only), exact=True).count

    def _fetch(self, path: str, file: Path) -> None:
        with self._http() as http, http.stream("GET", path) as answer, file.open("xb") as out:
            if answer.status_code != httpx2.codes.OK:
                raise errors.Unavailable("Qdrant", f"it does not hand out its snapshot: status {answer.status_code}")
            for piece in answer.iter_bytes(1 << 20):
                out.write(piece)

    def _http(self) -> httpx2.Client:
        return httpx2.Client(base_url=self._url, timeout=_TIMEOUT_SECONDS, trust_env=False, headers=self._headers)


@contextmanager
def _reached() -> Iterator[None]:
    try:
        yield
    except httpx2.HTTPError as error:
        raise errors.Unavailable("Qdrant", error) from error

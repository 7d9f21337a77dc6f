"""Notes and passages as points: the store of notes over either Qdrant."""

from collections.abc import Sequence
from operator import attrgetter

from services.core import models, ports
from services.core.adapters import note_payload, points
from services.core.adapters.passage_terms import PassageTerms
from services.core.adapters.points import AnyOf, Found, Only

_MOST_VALUES = 100_000  # kinds of entities share a field: the values of one are picked out of all
_MOST_PASSAGES = 100_000


class PointNotes:
    """`ports.NoteStore`."""

    def __init__(self, collection: points.Points) -> None:
        self._points = collection
        self._terms = PassageTerms()

    def put(self, notes: Sequence[models.Note], passages: Sequence[ports.EmbeddedPassage] = ()) -> None:
        points.check_dimension((one.vector for one in passages), self._points.dimension)
        made = [points.Point(note.id, note_payload.encode_note(note)) for note in notes]
        made += [
            points.Point(one.id, note_payload.encode_passage(one), vector, self._terms.document(one, context)) for one, vector, context in passages
        ]
        if made:
            self._points.upsert(made)

    def get(self, scope: models.Scope, note_id: str) -> models.Note | None:
        ids = points.valid_ids([note_id])
        found = self._points.scroll(Only(note_payload.clauses(scope, kind="note"), ids), limit=1) if ids else []
        return note_payload.decode_note(found[0].payload) if found else None

    def taken(self, note_id: str) -> bool:
        ids = points.valid_ids([note_id])
        return bool(ids) and self._points.count(Only(ids=ids)) > 0

    def find(self, scope: models.Scope, where: ports.NoteWhere = ports.ANY_NOTE, *, limit: int = 100, offset: int = 0) -> list[models.Note]:
        wanted = Only(note_payload.clauses(scope, where, "note"), under=note_payload.under(where))

        def newest(count: int, only: Only = wanted) -> list[models.Note]:
            found = self._points.scroll(only, limit=count, newest_by="updated_at", without=[note_payload.TEXT])
            return [note_payload.decode_note(each.payload) for each in found]

        def since(moment: float) -> list[models.Note]:
            only = wanted._replace(at_least=("updated_at", moment))
            return newest(max(1, self._points.count(only)), only)

        return points.page(newest, since, limit, offset, at=attrgetter("updated_at"), ordered=note_payload.newest_first)

    def count(self, scope: models.Scope, where: ports.NoteWhere = ports.ANY_NOTE) -> int:
        return self._points.count(Only(note_payload.clauses(scope, where, "note"), under=note_payload.under(where)))

    def passages(self, scope: models.Scope, note_id: str) -> list[models.Passage]:
        only = Only(note_payload.clauses(scope, ports.NoteWhere(ids=(note_id,)), "passage"))
        return note_payload.in_order(note_payload.decode_passage(each.payload) for each in self._points.scroll(only, limit=_MOST_PASSAGES))

    def embeddings(self, scope: models.Scope, digests: Sequence[str]) -> dict[str, tuple[float, ...]]:
        if not digests:
            return {}
        only = Only([*note_payload.clauses(scope, kind="passage"), (AnyOf("digest", tuple(digests)),)])
        found = self._points.scroll(only, limit=_MOST_PASSAGES, without=[note_payload.TEXT], dense=True)
        return {each.payload["digest"]: each.dense for each in found if each.dense is not None}

    def nearest(
        self, scope: models.Scope, vector: Sequence[float], *, limit: int, where: ports.NoteWhere = ports.ANY_NOTE, exact: bool = False
    ) -> list[models.PassageHit]:
        points.check_dimension([vector], self._points.dimension)
        only = Only(note_payload.clauses(scope, where, "passage"))
        return _hits(self._points.nearest(vector, only, limit=limit, exact=exact))

    def lexical(self, scope: models.Scope, text: str, *, limit: int, where: ports.NoteWhere = ports.ANY_NOTE) -> list[models.PassageHit]:
        terms = self._terms.query(text)
        only = Only(note_payload.clauses(scope, where, "passage"))
        return _hits(self._points.lexical(terms, only, limit=limit)) if terms.indices else []

    def search(
        self, scope: models.Scope, vectors: Sequence[Sequence[float]], text: str, *, limit: int, where: ports.NoteWhere = ports.ANY_NOTE
    ) -> ports.Legs[models.PassageHit]:
        points.check_dimension(vectors, self._points.dimension)
        terms = self._terms.query(text)
        only = Only(note_payload.clauses(scope, where, "passage"))
        dense, lexical = self._points.search(vectors, terms if terms.indices else None, only, limit=limit)
        return ports.Legs([_hits(each) for each in dense], _hits(lexical))

    def entities(self, scope: models.Scope, kind: models.EntityKind, *, limit: int = 1000) -> list[tuple[str, int]]:
        found = self._points.values("named", Only(note_payload.clauses(scope, kind="note")), limit=_MOST_VALUES)
        return note_payload.most_named_first(found, kind)[: max(0, limit)]

    def prune(self, scope: models.Scope, note_id: str, keep: Sequence[str]) -> None:
        self._points.delete(Only(note_payload.clauses(scope, ports.NoteWhere(ids=(note_id,)), "passage"), but=points.valid_ids(keep)))

    def delete(self, scope: models.Scope, ids: Sequence[str]) -> int:
        where = ports.NoteWhere(ids=tuple(points.valid_ids(ids)))
        if not where.ids:
            return 0
        count = self.count(scope, where)
        self._points.delete(Only(note_payload.clauses(scope, where)))  # also the passages that a broken-off write left without a note
        return count

    def owners(self, team: str) -> list[str]:
        return [owner for owner, _ in self._points.values("owner", Only([(points.AnyOf("team", (team,)),)]), limit=points.MOST_OWNERS)]

    def purge(self) -> None:
        self._points.purge()

    def ping(self) -> None:
        self._points.ping()

    def close(self) -> None:
        self._points.close()


def _hits(found: Sequence[Found]) -> list[models.PassageHit]:
    return [models.PassageHit(note_payload.decode_passage(each.payload), each.score, each.dense) for each in found]

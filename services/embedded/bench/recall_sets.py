"""How well notes are found: labelled questions over conversations and pages, by recall over notes in the embedded store, with the default model.

A set is corpora, each a project of its own in one store, so that its filter and its IDF are those of a scope. Conversations are notes with a passage
for each turn; pages go through the writer. Only the question is given to the recall, and when it was asked.
"""

import contextlib
import math
import re
import statistics
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from services.core import errors, models, note_api, ports
from services.core.adapters import vectors
from services.core.notes import markdown, passages
from services.core.notes.writing import NoteWriter, digest_of
from services.core.recall import notes
from services.embedded.bench import data, embedding, report

Set = Literal["locomo", "longmemeval", "scifact", "pages"]
Progress = Callable[[str, float], None]

COLUMNS = ("set", "ranked by", "#n")
NOTES = (
    "BRB: as `brb recall --kind notes` ranks, without the gate. The other rows change one thing: one leg alone, fused ranks (RRF, k=60) "
    "instead of scores, no words of the passages beside, or no boost of the kind.",
    "recall: share of what is wanted among the first; hit, any: whether any of it is; all: whether all of it is.",
)
_PATTERNS: Mapping[str, tuple[str, ...]] = {
    "locomo": ("locomo*.jsonl*",),
    "longmemeval": ("longmemeval*.jsonl*",),
    "scifact": ("scifact*.jsonl*",),
    "pages": ("pages*.jsonl*",),
}
_NO_GATE = notes.Knobs(max_notes=20, min_similarity=0.0, candidates=100)
_WAYS: Mapping[str, tuple[notes.Knobs, Literal["hybrid", "bm25", "semantic"]]] = {
    "BRB": (_NO_GATE, "hybrid"),
    "cosine": (_NO_GATE, "semantic"),
    "BM25": (_NO_GATE, "bm25"),
    "RRF": (_NO_GATE, "hybrid"),
    "no context": (_NO_GATE, "hybrid"),
    "no ranks": (replace(_NO_GATE, ranks=0.0), "hybrid"),
    "no BM25 score": (replace(_NO_GATE, words=0.0), "hybrid"),
    "no time": (replace(_NO_GATE, times=0.0), "hybrid"),
    "no names": (replace(_NO_GATE, names=0.0), "hybrid"),
    "no links": (replace(_NO_GATE, links=0.0), "hybrid"),
}
_BATCH = 16
_PAGES_AT_ONCE = 8
_ABSTAINED = "_abs"
_TURN = re.compile(r"D\d+:\d+")
_NAMESPACE = uuid.UUID("6f0c1c58-7c80-4a3e-9a55-0e9f3f3b2a0e")


class Ask(NamedTuple):
    """turns, pages: what is wanted, as the set names it. at: when it was asked (epoch seconds). kind: of question."""

    words: str
    turns: frozenset[str]
    pages: frozenset[str]
    at: float
    kind: str = ""


class Turn(NamedTuple):
    name: str
    text: str


class Session(NamedTuple):
    """A conversation's part. at: epoch seconds."""

    name: str
    at: float
    turns: tuple[Turn, ...]


class Corpus(NamedTuple):
    """name: of its project. It has sessions or pages (text by name, or title and text)."""

    name: str
    asks: tuple[Ask, ...]
    sessions: tuple[Session, ...] = ()
    pages: Mapping[str, tuple[str, str]] = {}


class Answer(NamedTuple):
    """What was found, best first, as the set names it."""

    turns: tuple[str, ...]
    pages: tuple[str, ...]


def measure(wanted: Set, path: Path, progress: Progress, *, quick: bool = False) -> report.Report:
    """quick: a part of the set, whose figures mean little. `BadInput`: the data can't be read or is of another kind."""
    corpora = [corpus for file in data.files(path, "recall", _PATTERNS[wanted]) for row in data.rows(file) for corpus in _read(wanted, row, file)]
    if not any(corpus.asks for corpus in corpora):
        raise errors.BadInput(f"no questions in {path}")
    if quick:
        corpora = [_less(corpus) for corpus in corpora[:2]]
    with embedding.started(progress) as (embedder, settings), contextlib.closing(vectors.open_notes(settings)) as store:
        for number, corpus in enumerate(corpora):
            _keep(corpus, store, embedder, True, partial(_told, progress, number, len(corpora)))
        answered = {way: _answers(way, corpora, store, embedder, progress) for way in _WAYS if way != "no context"}
        for number, corpus in enumerate(corpora):
            progress("again without context", number / len(corpora))
            _keep(corpus, store, embedder, False, lambda share: None)
        answered["no context"] = _answers("no context", corpora, store, embedder, progress)
    asks = [ask for corpus in corpora for ask in corpus.asks]
    found = {way: figures(wanted, asks, answered[way]) for way in _WAYS}
    names = list(found["BRB"])
    return report.Report(
        name=f"recall, {wanted}",
        figures=report.rounded(
            {f"{way.replace(' ', '_')}.{name}": value for way, those in found.items() for name, value in those.items()} | found["BRB"]
        ),
        n=len(asks),
        notes=NOTES,
        columns=(*COLUMNS, *(f"#{name}" for name in names)),
        rows=tuple((wanted, way, str(len(asks)), *(f"{those[name]:.3f}" for name in names)) for way, those in found.items()),
    )


def _told(progress: Progress, number: int, of: int, share: float) -> None:
    progress("embedding what is searched", (number + share) / of)


def figures(wanted: Set, asks: Sequence[Ask], answers: Sequence[Answer]) -> dict[str, float]:
    """Shares of 1, by name."""
    pairs = list(zip(asks, answers, strict=True))
    if wanted == "locomo":
        return {
            "turn.recall@5": _mean(recall(ask.turns, found.turns, 5) for ask, found in pairs),
            "turn.recall@10": _mean(recall(ask.turns, found.turns, 10) for ask, found in pairs),
            "turn.hit@5": _mean(hit(ask.turns, found.turns, 5) for ask, found in pairs),
            "session.recall@10": _mean(recall(ask.pages, found.pages, 10) for ask, found in pairs),
            "session.hit@10": _mean(hit(ask.pages, found.pages, 10) for ask, found in pairs),
        }
    if wanted == "longmemeval":
        answerable = [(ask, found) for ask, found in pairs if not ask.kind.endswith(_ABSTAINED)]  # as its authors measure retrieval
        liked = [(ask, found) for ask, found in answerable if "preference" in ask.kind]
        return {
            "recall_any@5": _mean(hit(ask.pages, found.pages, 5) for ask, found in answerable),
            "recall_all@5": _mean(recall(ask.pages, found.pages, 5) == 1 for ask, found in answerable),
            "ndcg@10": _mean(ndcg(ask.pages, found.pages, 10) for ask, found in answerable),
            "preference.recall_any@5": _mean(hit(ask.pages, found.pages, 5) for ask, found in liked),
            "n_answerable": float(len(answerable)),
            "unanswerable_too.recall_any@5": _mean(hit(ask.pages, found.pages, 5) for ask, found in pairs),
            "unanswerable_too.recall_all@5": _mean(recall(ask.pages, found.pages, 5) == 1 for ask, found in pairs),
            "unanswerable_too.ndcg@10": _mean(ndcg(ask.pages, found.pages, 10) for ask, found in pairs),
        }
    return {
        "ndcg@10": _mean(ndcg(ask.pages, found.pages, 10) for ask, found in pairs),
        "recall@5": _mean(recall(ask.pages, found.pages, 5) for ask, found in pairs),
        "recall@10": _mean(recall(ask.pages, found.pages, 10) for ask, found in pairs),
        "mrr@10": _mean(reciprocal_rank(ask.pages, found.pages, 10) for ask, found in pairs),
    }


def recall(wanted: frozenset[str], found: Sequence[str], first: int) -> float:
    return len(wanted.intersection(found[:first])) / len(wanted)


def hit(wanted: frozenset[str], found: Sequence[str], first: int) -> float:
    return float(not wanted.isdisjoint(found[:first]))


def reciprocal_rank(wanted: frozenset[str], found: Sequence[str], first: int) -> float:
    return next((1 / rank for rank, one in enumerate(found[:first], 1) if one in wanted), 0.0)


def ndcg(wanted: frozenset[str], found: Sequence[str], first: int) -> float:
    """Järvelin and Kekäläinen 2002, with relevance 0 or 1."""
    gains = [1 / math.log2(rank + 1) for rank in range(1, first + 1)]
    return sum(gain for gain, one in zip(gains, found, strict=False) if one in wanted) / sum(gains[: len(wanted)])


def _mean(values: Iterable[float]) -> float:
    held = list(values)
    return statistics.fmean(held) if held else 0.0


def _read(wanted: Set, row: Mapping[str, Any], file: Path) -> Iterator[Corpus]:
    try:
        yield {"locomo": _locomo, "longmemeval": _longmemeval, "scifact": _scifact, "pages": _pages}[wanted](row)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise errors.BadInput(f"{file} is not of the set {wanted}: {type(error).__name__} {error}") from None


def _locomo(row: Mapping[str, Any]) -> Corpus:
    """Questions that the conversation answers; evidence as corrected, where the label was wrong."""
    sessions: dict[str, Session] = {}
    for turn in row["turns"]:
        at = datetime.strptime(turn["date"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).timestamp()
        former = sessions.get(turn["session"], Session(turn["session"], at, ()))
        sessions[turn["session"]] = former._replace(turns=(*former.turns, Turn(turn["dia_id"], f"{turn['speaker']}: {turn['text']}")))
    of_turn = {turn.name: session.name for session in sessions.values() for turn in session.turns}
    at = max(session.at for session in sessions.values())
    asks = []
    for qa in row["qa"]:
        gold = {name for each in qa.get("corrected_evidence") or qa["evidence"] for name in _TURN.findall(each)} & of_turn.keys()
        if gold and qa["category"] != "adversarial":
            asks.append(Ask(qa["question"], frozenset(gold), frozenset(of_turn[name] for name in gold), at, qa["category"]))
    return Corpus(row["sample_id"], tuple(asks), sessions=tuple(sessions.values()))


def _longmemeval(row: Mapping[str, Any]) -> Corpus:
    sessions = tuple(
        Session(each["id"], _asked_at(each["date"]), tuple(Turn(f"{each['id']}:{number}", text) for number, text in enumerate(each["user"])))
        for each in row["sessions"]
    )
    kind = row["question_type"] + (_ABSTAINED if row["question_id"].endswith(_ABSTAINED) else "")
    gold = frozenset(row["gold"]) & {session.name for session in sessions}
    ask = Ask(row["question"], frozenset(), gold, _asked_at(row["question_date"]), kind)
    return Corpus(row["question_id"], (ask,) if gold else (), sessions=sessions)


def _asked_at(written: str) -> float:
    """2023/05/30 (Tue) 20:28"""
    return datetime.strptime(re.sub(r" \(\w+\)", "", written), "%Y/%m/%d %H:%M").replace(tzinfo=UTC).timestamp()


def _scifact(row: Mapping[str, Any]) -> Corpus:
    """A document begins with its title, as a sentence."""
    pages = {str(name): _titled(text) for name, text in row["docs"].items()}
    asks = tuple(Ask(words, frozenset(), frozenset(map(str, row["relevant"][name])), 0.0) for name, words in row["queries"].items())
    return Corpus("scifact", asks, pages=pages)


def _titled(text: str) -> tuple[str, str]:
    title, _, rest = text.partition(". ")
    return (title, rest) if rest and len(title) <= note_api.LONGEST_NAME else ("", text)


def _pages(row: Mapping[str, Any]) -> Corpus:
    """pages: [{title, text}]. queries: [{query, relevant: titles}]. asked_at: ISO 8601."""
    at = datetime.fromisoformat(row["asked_at"]).timestamp()
    asks = tuple(Ask(each["query"], frozenset(), frozenset(each["relevant"]), at) for each in row["queries"])
    return Corpus("pages", asks, pages={page["title"]: (page["title"], page["text"]) for page in row["pages"]})


def _less(corpus: Corpus) -> Corpus:
    asks = corpus.asks[:20]
    wanted = frozenset().union(*(ask.pages for ask in asks))
    pages = [*(name for name in corpus.pages if name in wanted), *(name for name in corpus.pages if name not in wanted)][:60]
    return corpus._replace(asks=asks, sessions=corpus.sessions[:60], pages={name: corpus.pages[name] for name in pages})


def _keep(corpus: Corpus, store: ports.NoteStore, embedder: embedding.Known, context: bool, progress: Callable[[float], None]) -> None:
    if corpus.pages and context:
        _write(corpus, store, embedder, progress)
    elif corpus.pages:
        for name in corpus.pages:
            pieces = store.passages(_scope(corpus), str(_id(corpus, name)))
            put = zip(pieces, embedder.embed([piece.embedded for piece in pieces], "document"), strict=True)
            store.put([], [ports.EmbeddedPassage(piece, vector) for piece, vector in put])
    else:
        sessions = [(session, list(_pieces(corpus, session))) for session in corpus.sessions]
        texts = sorted({piece.embedded for _, pieces in sessions for piece in pieces}, key=len)
        for start in range(0, len(texts), _BATCH):
            progress(start / len(texts))
            embedder.embed(texts[start : start + _BATCH], "document")
        for session, pieces in sessions:
            made = ports.EmbeddedPassage.of_note(pieces, embedder.embed([piece.embedded for piece in pieces], "document"))
            store.put([_note(corpus, session)], made if context else [one._replace(context="") for one in made])


def _write(corpus: Corpus, store: ports.NoteStore, embedder: embedding.Known, progress: Callable[[float], None]) -> None:
    lock = threading.Lock()
    ticks = count()
    writer = NoteWriter(store, embedder, owner_lock=lambda _: lock, clock=lambda: float(next(ticks)))
    put = [note_api.PutNote(id=str(_id(corpus, name)), title=title, text=text, project=corpus.name) for name, (title, text) in corpus.pages.items()]
    for start in range(0, len(put), _PAGES_AT_ONCE):
        progress(start / len(put))
        writer.put(models.LOCAL, put[start : start + _PAGES_AT_ONCE])


def _pieces(corpus: Corpus, session: Session) -> Iterator[models.Passage]:
    """Of turns: one each, or several of a long one."""
    place = count()
    for turn in session.turns:
        for piece in passages.cut(markdown.read(turn.text)) or [passages.Piece((), turn.text)]:
            position = next(place)
            yield models.Passage(
                id=str(_id(corpus, session.name, turn.name, position)),
                note=models.NoteId(str(_id(corpus, session.name))),
                team=models.LOCAL.team,
                owner=models.LOCAL.user,
                project=corpus.name,
                title="",
                path=turn.name,
                position=position,
                text=piece.text,
                digest=digest_of(piece.text),
                dated_at=session.at,
            )


def _note(corpus: Corpus, session: Session) -> models.Note:
    return models.Note(
        id=models.NoteId(str(_id(corpus, session.name))),
        team=models.LOCAL.team,
        owner=models.LOCAL.user,
        project=corpus.name,
        title="",
        created_at=session.at,
        updated_at=session.at,
        modified_at=session.at,
        dated_at=session.at,
    )


def _answers(way: str, corpora: Sequence[Corpus], store: ports.NoteStore, embedder: ports.Embedder, progress: Progress) -> list[Answer]:
    found = []
    for number, corpus in enumerate(corpora):
        progress(f"asking, ranked by {way}", number / len(corpora))
        names = {str(_id(corpus, name)): name for name in (*corpus.pages, *(session.name for session in corpus.sessions))}
        found += [_answer(way, ask, _scope(corpus), names, store, embedder) for ask in corpus.asks]
    return found


def _answer(way: str, ask: Ask, scope: models.Scope, names: Mapping[str, str], store: ports.NoteStore, embedder: ports.Embedder) -> Answer:
    knobs, mode = _WAYS[way]
    result = notes.recall(ask.words, scope, store=store, embedder=embedder, knobs=knobs, now=ask.at, mode=mode)
    ranked, pages = result.passages, [note.note for note in result.ranked]
    if way == "RRF":
        ranked = tuple(sorted(ranked, key=lambda one: (-one.rrf, one.passage.id)))
        pages = list(dict.fromkeys(one.passage.note for one in ranked))
    return Answer(tuple(dict.fromkeys(one.passage.path for one in ranked)), tuple(names[page] for page in pages))


def _scope(corpus: Corpus) -> models.Scope:
    return models.Scope(models.LOCAL.team, models.LOCAL.user, frozenset({corpus.name}))


def _id(*parts: object) -> uuid.UUID:
    named = [part.name if isinstance(part, Corpus) else str(part) for part in parts]
    return uuid.uuid5(_NAMESPACE, "\n".join(named))

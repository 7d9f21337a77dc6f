"""Embeddings from llama.cpp's server, by its OpenAI-compatible interface, over a unix socket or HTTP."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import httpx2
import msgspec
import structlog

from services.core import errors, telemetry

Kind = Literal["query", "document"]

_LARGEST_BATCH = 16  # some builds refuse more than 32
_CHARS_PER_TOKEN = 5  # of the wordiest prose: what is longer is certainly too long
_LEAST_CHARS = 32  # a text of so few can't be too long for any model
_CACHED_QUERIES = 256
_TIMEOUT_SECONDS = 30.0  # a full batch of long documents on a busy small machine takes a few
_PING_SECONDS = 1.0
_SAME = 0.999
_TRIALS = ("My name is Leo.", "We use Postgres 15 in production.", "I prefer dark mode in every editor.", "The release is on October 15.")
_NAME = "llama.cpp"


class _Row(msgspec.Struct):
    embedding: list[float]
    index: int


class _Answer(msgspec.Struct):
    data: list[_Row]


class _TooLong(Exception):
    """One of the inputs is larger than the server's physical batch."""


class LlamaCppEmbedder:
    """Unit vectors of `dimension` numbers from the server at `address` (a URL, or the path of a unix socket). Thread-safe; never retries.

    prefixes: what the model wants before a query and before a document. max_tokens: the server's physical batch; longer texts are cut.
    Raises `errors.Unavailable` when the server is away, loading, slow or broken, `errors.WrongModel` when its vectors have another
    dimension, `errors.SetupError` when something else answers at the address.
    """

    def __init__(
        self,
        address: str | Path,
        *,
        model: str,
        dimension: int,
        prefixes: Mapping[Kind, str] | None = None,
        max_tokens: int = 512,
        timeout_seconds: float = _TIMEOUT_SECONDS,
    ) -> None:
        self._address = str(address)
        self._model = model
        self._dimension = dimension
        self._prefixes = dict(prefixes or {})
        self._most_chars = max_tokens * _CHARS_PER_TOKEN
        self._timeout_seconds = timeout_seconds
        self._batch = _LARGEST_BATCH
        self._client = _client(self._address)
        self._queries: OrderedDict[str, tuple[float, ...]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        return self._model

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed(self, texts: Sequence[str], kind: Kind, *, timeout_seconds: float | None = None) -> list[list[float]]:
        """One vector a text, in order. Vectors of queries are kept for when they are asked again."""
        if kind == "query":
            return self._embed_queries(texts, timeout_seconds)
        return self._embed([self._prepared(text, kind) for text in texts], timeout_seconds)

    def ping(self) -> None:
        self._checked(lambda: self._client.get("/health", timeout=_PING_SECONDS))

    def verify(self) -> None:
        """Start-up check of the dimension, and that a batch gives the vectors of its texts; where it does not, batches are given up."""
        singles = [self._embed([text], None)[0] for text in _TRIALS]
        batch = self._embed(list(_TRIALS), None)
        if min(sum(a * b for a, b in zip(one, other, strict=True)) for one, other in zip(singles, batch, strict=True)) <= _SAME:
            structlog.get_logger().warning("llama_batches_differ", model=self._model)
            self._batch = 1

    def close(self) -> None:
        self._client.close()

    def _embed_queries(self, texts: Sequence[str], timeout_seconds: float | None) -> list[list[float]]:
        """Those that are new, in one request."""
        known = self._known(texts)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            vectors = self._embed([self._prepared(text, "query") for text in new], timeout_seconds)
            fresh = {text: tuple(vector) for text, vector in zip(new, vectors, strict=True)}
            self._keep(fresh)
            known |= fresh
        return [list(known[text]) for text in texts]

    def _known(self, texts: Sequence[str]) -> dict[str, tuple[float, ...]]:
        with self._lock:
            known = {text: self._queries[text] for text in texts if text in self._queries}
            for text in known:
                self._queries.move_to_end(text)
            return known

    def _keep(self, vectors: Mapping[str, tuple[float, ...]]) -> None:
        with self._lock:
            self._queries.update(vectors)
            while len(self._queries) > _CACHED_QUERIES:
                self._queries.popitem(last=False)

    def _prepared(self, text: str, kind: Kind) -> str:
        """UTF-8 has no lone surrogates, and a client may have sent one."""
        sound = text.encode(errors="replace").decode()
        return self._prefixes.get(kind, "") + sound[: self._most_chars]

    def _embed(self, texts: Sequence[str], timeout_seconds: float | None) -> list[list[float]]:
        deadline = time.monotonic() + (self._timeout_seconds if timeout_seconds is None else timeout_seconds)
        vectors: list[list[float]] = []
        for start in range(0, len(texts), self._batch):
            vectors += self._embed_batch(texts[start : start + self._batch], deadline)
        return vectors

    def _embed_batch(self, texts: Sequence[str], deadline: float) -> list[list[float]]:
        try:
            return self._ask(texts, deadline)
        except _TooLong:
            return [self._embed_shortened(text, deadline) for text in texts]

    def _embed_shortened(self, text: str, deadline: float) -> list[float]:
        """The server refuses the same text each time: only a shorter one is worth another call."""
        while True:
            try:
                return self._ask([text], deadline)[0]
            except _TooLong:
                if len(text) <= _LEAST_CHARS:
                    raise errors.SetupError(f"{_NAME} at {self._address} takes no text of {len(text)} characters: start it with -ub 512") from None
                text = text[: len(text) // 2]

    def _ask(self, texts: Sequence[str], deadline: float) -> list[list[float]]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise errors.Unavailable(_NAME, "no answer in time")
        started = time.monotonic()
        try:
            response = self._checked(lambda: self._client.post("/v1/embeddings", json={"model": self._model, "input": list(texts)}, timeout=left))
        finally:
            telemetry.LLAMA.labels("embed").observe(time.monotonic() - started)
        return self._vectors(response.content, len(texts))

    def _checked(self, call: Callable[[], httpx2.Response]) -> httpx2.Response:
        try:
            response = call()
        except httpx2.TimeoutException:
            raise errors.Unavailable(_NAME, "no answer in time") from None
        except httpx2.HTTPError as error:
            raise errors.Unavailable(_NAME, str(error) or type(error).__name__) from error
        if response.status_code == 500 and b"too large to process" in response.content:
            raise _TooLong
        if response.status_code >= 500 or response.status_code == 429:
            raise errors.Unavailable(_NAME, f"status {response.status_code}")
        if response.status_code != 200:
            raise errors.SetupError(
                f"{self._address} answers {response.status_code} for embeddings: BRB_EMBED_URL must name a llama.cpp server started with --embedding"
            )
        return response

    def _vectors(self, content: bytes, count: int) -> list[list[float]]:
        try:
            rows = sorted(msgspec.json.decode(content, type=_Answer).data, key=lambda row: row.index)
        except msgspec.DecodeError as error:
            raise errors.Unavailable(_NAME, "its answer holds no vectors") from error
        if len(rows) != count:
            raise errors.Unavailable(_NAME, f"{len(rows)} vectors for {count} texts")
        return [self._unit(row.embedding) for row in rows]

    def _unit(self, vector: list[float]) -> list[float]:
        if len(vector) != self._dimension:
            raise errors.WrongModel(
                f"{_NAME} at {self._address} gives vectors of {len(vector)} numbers, {self._model} has {self._dimension}: "
                "start it with the model that BRB_EMBED_MODEL names"
            )
        length = math.sqrt(sum(number * number for number in vector))
        if not length > 0:
            raise errors.Unavailable(_NAME, "a vector of length 0")
        return [number / length for number in vector]


def _client(address: str) -> httpx2.Client:
    """Without the environment's proxies: nothing but the configured server is to see a text."""
    if address.startswith(("http://", "https://")):
        return httpx2.Client(base_url=address, trust_env=False, verify=address.startswith("https://"))
    return httpx2.Client(base_url="http://llama", trust_env=False, transport=httpx2.HTTPTransport(uds=address, verify=False))

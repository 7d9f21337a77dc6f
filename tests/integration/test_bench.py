"""Measurements run to their end, name every figure and leave nothing behind."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

import httpx2
import msgspec
import psutil
import pytest

from services.core import errors
from services.embedded import bench, standin
from services.embedded.bench import bodies, load, processes, upstream


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made, here and in the processes that are started."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def before() -> set[psutil.Process]:
    """The processes that other tests have running."""
    return set(psutil.Process().children())


@pytest.fixture
def progress() -> Callable[[str, float], None]:
    def told(stage: str, share: float) -> None:
        assert stage
        assert 0 <= share <= 1

    return told


def test_the_relay_is_measured_beside_a_bare_one(temporary: Path, progress: bench.Progress, before: set[psutil.Process]) -> None:
    found = bench.run("relay", quick=True, progress=progress)
    kinds = ("stream.session", "stream.first", "stream.same", "json.session")
    loads = [f"{kind}.{size}kb.c{callers}" for kind in kinds for size in (77, 700) for callers in (1, 10)]
    for name in loads:
        assert found.figures[f"{name}.direct.first_byte_p50_ms"] > 0
        assert {f"{name}.{variant}.calls_per_second_ratio" for variant in ("brb_relay", "brb")} < found.figures.keys()
    assert 10 < found.figures["brb.rss_mb"] < 1000
    assert 0 < found.figures["handling.700kb.splice_p50_ms"] < found.figures["handling.700kb.read_p50_ms"]
    assert len(found.rows) == len(loads) * 4
    assert found.n == 4 * 8 * (2 + 10)
    assert {len(row) for row in found.rows} == {len(found.columns)}
    assert not list(temporary.iterdir())
    assert set(psutil.Process().children()) <= before


def test_recalling_is_measured_through_the_real_parts_and_with_no_setting_of_the_persons(
    temporary: Path,
    progress: bench.Progress,
    before: set[psutil.Process],
    monkeypatch: pytest.MonkeyPatch,
    model_files: dict[str, Path],
) -> None:
    """Their Redis must not be written to, nor their embedder asked."""
    for name, value in (("REDIS_URL", "redis://127.0.0.1:9"), ("EMBED_URL", "http://127.0.0.1:9"), ("QDRANT_URL", "http://127.0.0.1:9")):
        monkeypatch.setenv(f"BRB_{name}", value)
    monkeypatch.setenv("BRB_EMBED_MODEL", "nomic-embed-text-v1.5")
    monkeypatch.setenv("BRB_MAX_MEMORIES", "0")
    found = bench.run("recall", quick=True, progress=progress)
    assert found.figures["one.brb.added_ms"] > found.figures["one.bare.added_ms"]
    assert min(found.figures[f"one.{stage}_ms"] for stage in ("embed", "search")) > 0
    assert {"one.left_ms", "32.told", "100.told", "brb.rss_mb"} < found.figures.keys()
    assert found.n == 3 * 3 + 32 + 100
    assert {len(row) for row in found.rows} == {len(found.columns)}
    assert not list(temporary.iterdir())
    assert set(psutil.Process().children()) <= before


def test_the_store_is_measured(temporary: Path, progress: bench.Progress) -> None:
    found = bench.run("store", quick=True, progress=progress)
    assert found.figures["200x50.in_scope"] == 4 + 49  # one's own, and the first of everybody else's
    for name in ("put_per_second", "visible_p50_ms", "dense_p50_ms", "words_p95_ms", "recall_p50_ms", "disk_of_10000_mb"):
        assert found.figures[f"200x50.{name}"] > 0
    assert {len(row) for row in found.rows} == {len(found.columns)}
    assert msgspec.json.decode(msgspec.json.encode(found), type=bench.Report) == found
    assert not list(temporary.iterdir())


@pytest.mark.parametrize(("interceptor", "memories"), [("memory", "5"), ("nothing", None)])
def test_the_measured_proxy_does_what_its_variant_says(tmp_path: Path, interceptor: str, memories: str | None) -> None:
    body = bodies.body(77_000, stream=False)
    with standin.running() as answering:
        program = processes.Program("proxied", (answering.url, str(tmp_path), interceptor))
        with processes.started(program, folder=tmp_path) as (server,):
            answer = httpx2.post(f"{server.url}/v1/messages", content=body, headers=bodies.headers("one"))
        (call,) = answering.recorded
    assert answer.headers.get("x-brb-memories") == memories
    assert (call.body == body) == (memories is None)


def test_a_server_that_does_not_start_is_named_with_its_last_words(tmp_path: Path, before: set[psutil.Process]) -> None:
    with pytest.raises(errors.SetupError, match=r"bare.*IndexError"), processes.started(processes.Program("bare"), folder=tmp_path):
        pass
    assert set(psutil.Process().children()) <= before


async def _one_call(url: str, call: load.Call) -> load.Burst:
    async with load.callers(url) as callers:
        return await callers.burst([[call]])


def test_an_answer_that_is_not_the_upstreams_is_not_taken_for_a_fast_one(tmp_path: Path) -> None:
    with processes.started(processes.Program("upstream"), folder=tmp_path) as (server,):
        right = load.Call(b"{}", "one", False, len(upstream.document()))
        assert len(asyncio.run(_one_call(server.url, right)).first_bytes) == 1
        with pytest.raises(errors.Unavailable, match="answered 200 with"):
            asyncio.run(_one_call(server.url, right._replace(answer_bytes=1)))


def test_nobody_listening_is_a_clear_error(tmp_path: Path) -> None:
    with processes.started(processes.Program("upstream"), folder=tmp_path) as (server,):
        url = server.url
    with pytest.raises(errors.Unavailable, match=url):
        asyncio.run(_one_call(url, load.Call(b"{}", "one", False, 1)))

"""What is done to BRB, one function a drill. Each returns when the fault is over; `scene` waits for the recovery and reads the books."""

import asyncio
import contextlib
import functools
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import redis

from ops.drills import scheduler
from ops.drills.gate import Mode
from ops.drills.scene import Drill, Scene
from ops.drills.talking import Pace
from services.core import messages
from services.core.adapters import redis_client

_KILLED = ("proxy", "worker", "worker-1", "beat", "redis", "llama")
_TMPFS_MEGABYTES = 640
_FILLER = "The parser reads the next token, looks at it for a while, and then goes on with the following one. " * 180


async def kill_at_random(scene: Scene, seconds: float) -> None:
    """Every process in turn, in random order, at random moments."""
    over = time.monotonic() + seconds
    count = 0
    while time.monotonic() < over:
        for name in scene.random.sample(_KILLED, len(_KILLED)):
            await asyncio.sleep(scene.random.uniform(2, 6))
            if time.monotonic() >= over:
                break
            await scene.kill(name)
            count += 1
    scene.say(f"{count} processes killed")


async def freeze_redis(scene: Scene, seconds: float) -> None:
    """It hangs, goes on, hangs again."""
    for _ in range(2):
        with scene.brb.frozen(await asyncio.to_thread(scene.brb.leader, "redis")):
            await asyncio.sleep(seconds / 3)
        await asyncio.sleep(seconds / 6)


async def kill_redis(scene: Scene, seconds: float) -> None:
    """It is killed, and killed again."""
    for _ in range(3):
        await scene.kill("redis")
        await asyncio.sleep(seconds / 3)


async def fill_redis(scene: Scene, seconds: float) -> None:
    """It takes next to nothing more, then nothing at all, then it is given room."""
    with contextlib.closing(scene.brb.redis()) as client:
        limit: Any = client.config_get("maxmemory")
        for share in (redis_client.JOBS + 0.02, 1.1):
            taken = int((await asyncio.to_thread(client.info, "memory"))["used_memory"])
            client.config_set("maxmemory", int(taken / share))
            await asyncio.sleep(seconds / 2)
            if not (health := await asyncio.to_thread(scene.brb.health)) or not health.spooled:
                raise RuntimeError("nothing waits in the spool")
        client.config_set("maxmemory", limit["maxmemory"])


async def cut_log(scene: Scene, seconds: float) -> None:
    """The end of Redis's log is torn, as a power cut leaves it. What was written in the last second before may be lost."""
    log = max((scene.brb.data / "redis" / "appendonlydir").glob("*.incr.aof"), key=lambda path: path.stat().st_mtime)
    for _ in range(2):
        with scene.brb.frozen(scene.brb.supervisor):  # it would start it again before the log is cut
            redis = await asyncio.to_thread(scene.brb.leader, "redis")
            at = time.monotonic()
            redis.kill()
            await scene.until(functools.partial(_ended, redis), "Redis did not end", 10)
            os.truncate(log, log.stat().st_size - 37)
            scene.lost.append((at - 1.0, at + 0.5))
        await asyncio.sleep(seconds / 2)


async def misbehave(scene: Scene, seconds: float) -> None:
    """Every way in which an embedding server may fail, one after the other."""
    await _modes(scene, seconds, [mode for mode in Mode if mode is not Mode.WELL])


async def lose_store(scene: Scene, seconds: float) -> None:
    """Qdrant is away, slow, broken, or talks nonsense."""
    await _modes(scene, seconds, [Mode.RESET, Mode.HANGING, Mode.ERROR_503, Mode.ERROR_500, Mode.SLOW, Mode.GARBAGE])


async def misread(scene: Scene, seconds: float) -> None:
    """An extraction model that answers nonsense for most of the time, and one that does not answer."""
    await _modes(scene, seconds, [*[Mode.GARBAGE] * 4, Mode.HANGING, Mode.ERROR_503])


async def _modes(scene: Scene, seconds: float, modes: list[Mode]) -> None:
    assert scene.gate is not None  # noqa: S101 - the drill asks for one
    for mode in modes:
        scene.gate.mode = mode
        await asyncio.sleep(seconds / len(modes))
    scene.gate.mode = Mode.WELL
    scene.say("calls that came to it: " + ", ".join(f"{mode} {count}" for mode, count in scene.gate.calls.items()))


async def fill_disk(scene: Scene, seconds: float) -> None:
    """Not a byte is free in the data folder."""
    filler = scene.brb.data / "filler"
    with filler.open("wb") as file:
        over = time.monotonic() + seconds
        while time.monotonic() < over:  # what others give back is taken as well
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(65_536))
                    file.flush()
            await asyncio.sleep(0.5)
        scene.say(f"free in the data folder at the end: {shutil.disk_usage(scene.brb.data).free} bytes")
    filler.unlink()


async def jump_clock(scene: Scene, seconds: float) -> None:
    """A day ahead, right, a day back, and right again."""
    for days in (1, 0, -1, 0):
        _set_clock(scene.brb.folder, days * 86_400)
        await asyncio.sleep(seconds / 4)


async def schedule_twice(scene: Scene, seconds: float) -> None:
    """Two more beats beside the worker's own, and a worker that dies, so that there is something to publish again."""
    argv = [sys.executable, "-m", scheduler.__spec__.name]
    beats = [subprocess.Popen(argv, env=scene.brb.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for _ in range(2)]
    try:
        for _ in range(3):
            await asyncio.sleep(seconds / 3)
            await scene.kill("worker-1")
        if any(beat.poll() is not None for beat in beats):
            raise RuntimeError("a beat ended by itself")
    finally:
        for beat in beats:
            beat.kill()
            beat.wait()


async def poison(scene: Scene, seconds: float) -> None:
    """Messages that are none, ids that nobody knows, a record that can't be read, and a turn whose every attempt kills its process."""
    with contextlib.closing(scene.brb.redis()) as client:
        await asyncio.to_thread(scheduler.record_unreadable, client)
        for garbage in scheduler.poisoned_messages():
            await asyncio.to_thread(client.lpush, str(messages.Queue.LEARN), garbage)
        turn = await scene.talk.say(scene.people[0], _FILLER + "The mascot is called Poisoned.")
        learning = f"brb:job:learn_turn-{turn.attempts[-1].turn}"
        over = time.monotonic() + max(seconds, 120.0)
        kills = 0
        while not await asyncio.to_thread(client.hexists, learning, "died"):
            if await asyncio.to_thread(client.hexists, learning, "token"):
                attempts = await asyncio.to_thread(client.hget, learning, "attempts")
                await scene.kill("worker-1")
                kills += 1
                await scene.until(functools.partial(_tried_again, client, learning, attempts), "it was not tried again", 60)
            if time.monotonic() > over:
                raise RuntimeError("the turn that kills its process was tried for ever")
            await asyncio.sleep(0.002)
        scene.say(f"the turn killed {kills} processes before it was given up")
    scene.dead = 2


async def a_bit_of_each(scene: Scene, seconds: float) -> None:
    """A worker dies, Redis hangs, the embeddings are garbage."""
    assert scene.gate is not None  # noqa: S101 - the drill asks for one
    await scene.kill("worker-1")
    scene.gate.mode = Mode.GARBAGE
    await asyncio.sleep(seconds / 3)
    scene.gate.mode = Mode.WELL
    with scene.brb.frozen(await asyncio.to_thread(scene.brb.leader, "redis")):
        await asyncio.sleep(seconds / 3)
    await scene.kill("worker")
    await asyncio.sleep(seconds / 3)


def _tried_again(client: redis.Redis, learning: str, attempts: object) -> bool:
    return bool(client.hexists(learning, "died")) or client.hget(learning, "attempts") != attempts


def _ended(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


@contextlib.contextmanager
def _small_disk(folder: Path) -> Iterator[Mapping[str, str]]:
    data = folder / "data"
    data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_TMPFS_MEGABYTES}m,mode=700", "brb-drill", str(data)], check=True)  # noqa: S607
    try:
        yield {}
    finally:
        shutil.copytree(data / "logs", folder / "logs", dirs_exist_ok=True)  # they go with the disk
        subprocess.run(["umount", "--lazy", str(data)], check=True)  # noqa: S607


@contextlib.contextmanager
def _own_clock(folder: Path) -> Iterator[Mapping[str, str]]:
    """libfaketime would do, but its version in Debian 12 breaks `time.sleep` of Python 3.11."""
    library = folder / "clock.so"
    source = Path(__file__).with_name("clock.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", str(library), str(source)], check=True)  # noqa: S607
    (folder / "clock").write_bytes(bytes(8))
    yield {"LD_PRELOAD": str(library), "DRILL_CLOCK": str(folder / "clock")}


def _set_clock(folder: Path, seconds: int) -> None:
    with (folder / "clock").open("r+b") as file:  # the same file: it is mapped
        file.write(struct.pack("=q", seconds))


def _no_root() -> str:
    return "" if os.geteuid() == 0 and sys.platform == "linux" else "a small disk is mounted, which takes root on Linux"


def _no_compiler() -> str:
    return "" if shutil.which("cc") and sys.platform == "linux" else "a C compiler and Linux are needed to give BRB a clock of its own"


def _drill(name: str, seconds: float, fault: Callable[..., object], **more: object) -> Drill:
    return Drill(name=name, what=(fault.__doc__ or "").partition("\n")[0], seconds=seconds, fault=fault, **more)  # type: ignore[arg-type]


SHORT = _drill("short", 9, a_bit_of_each, gate_setting="BRB_EMBED_URL")
DRILLS = (
    _drill("kill", 600, kill_at_random),
    _drill("redis-frozen", 30, freeze_redis),
    _drill("redis-killed", 30, kill_redis),
    _drill("redis-full", 30, fill_redis),
    _drill("log-cut", 20, cut_log),
    _drill("llama", 64, misbehave, gate_setting="BRB_EMBED_URL"),
    _drill("qdrant", 48, lose_store, gate_setting="BRB_QDRANT_URL"),
    _drill("extraction", 60, misread, gate_setting="BRB_EXTRACT_URL", pace=Pace(conversations=1)),
    _drill("disk-full", 20, fill_disk, cannot=_no_root, around=_small_disk),
    _drill("clock", 40, jump_clock, cannot=_no_compiler, around=_own_clock),
    _drill("schedulers", 30, schedule_twice),
    _drill("poison", 30, poison),
)

"""Once: whatever is killed at whichever step, repeated, resumed or delivered again, a turn is learnt once and counted once."""

import contextlib
import subprocess
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anthropic
import httpx2
import msgspec
import psutil
import pytest
import redis
from harness import CLIENT_KEY, Brb, Person, until

from services.core import api, config, messages
from services.core.adapters import celery_queue
from services.embedded import models, programs, standin
from tests.support import job_time, mortal

LEASE_SECONDS = 1.5
AT_ONCE = 10


class Mortal(Brb):
    """A BRB whose proxy and worker can be told at which step to die. Two processes of the worker; nothing starts a part again but the test."""

    def __init__(self, folder: Path, upstream: str) -> None:
        self._order = folder / "order"
        more = {mortal.VARIABLE: str(self._order), "BRB_LEASE_SECONDS": str(LEASE_SECONDS), "BRB_WORKER_PROCESSES": "2"}
        super().__init__(folder, upstream, **more)
        for name in ("run", "store", "logs", "redis"):
            (self.data / name).mkdir()
        self.settings.run_dir.mkdir(exist_ok=True)
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, seconds: float = 120) -> float:
        found = programs.programs(self.settings, models.ensure(self.settings))
        for wave in (True, False):
            for program in found:
                if program.first is wave:
                    self._spawn(program)
            until(lambda wave=wave: all(_ready(p) for p in found if p.first is wave) or None, "BRB was not ready", seconds)
        return 0.0

    def close(self) -> None:
        self.http.close()
        for child in reversed(self._children.values()):
            child.terminate()
        for child in self._children.values():
            try:
                child.wait(30)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    @contextlib.contextmanager
    def dying(self, part: str, step: str) -> Iterator[None]:
        """Within the block the part dies at the step; at its end it runs again."""
        self._order.write_text(f"kill {step}")
        try:
            yield
            until(lambda: self._children[part].poll(), f"the {part} never came to {step!r}")
            assert not self._order.exists(), f"the {part} ended of something else than {step!r}"
        finally:
            self._order.unlink(missing_ok=True)
            if self._children[part].poll() is not None:
                self.start_again(part)

    @contextlib.contextmanager
    def always(self, what: str, step: str) -> Iterator[None]:
        """Within the block whoever comes to the step fails, or is killed by its poison."""
        self._order.write_text(f"{what} {step}")
        try:
            yield
        finally:
            self._order.unlink()

    def start_again(self, part: str) -> None:
        program = next(each for each in programs.programs(self.settings, {self.settings.embed_model: Path()}) if each.name == part)
        self._spawn(program)
        until(lambda: _ready(program) or None, f"the {part} was not ready again", 60)

    def tree(self, name: str) -> list[psutil.Process]:
        leader = psutil.Process(self._children[name].pid)
        return [leader, *leader.children(recursive=True)]

    def publish_again(self, turn: str, times: int) -> None:
        """Ring for the jobs of a turn, as a broker does that delivers twice."""
        app = celery_queue.create_celery(self.settings, "again")
        publish = celery_queue.Publisher(app)
        for _ in range(times):
            for task in (messages.Task.LEARN_TURN, messages.Task.STORE_FACTS):
                publish(f"{task.removeprefix('brb.')}-{turn}", task)
        app.close()

    def _spawn(self, program: programs.Program) -> None:
        argv = list(program.argv)
        if program.name in ("proxy", "worker"):
            argv[2:2] = ["tests.support.mortal"]
        environment = {**config.child_environment(self.settings), **self.environment, "PYTHONPATH": str(_ROOT)}
        with (self.data / "logs" / f"{program.name}.log").open("ab") as log:
            self._children[program.name] = subprocess.Popen(argv, cwd=self.folder, env=environment, stdout=log, stderr=log, start_new_session=True)


_ROOT = Path(__file__).parents[2]


def _ready(program: programs.Program) -> bool:
    with contextlib.suppress(Exception):
        return program.ready()
    return False


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory, upstream_server: standin.StandIn) -> Iterator[Mortal]:
    made = Mortal(tmp_path_factory.mktemp("mortal"), upstream_server.url)
    try:
        made.start(300)
        yield made
    finally:
        made.close()


@pytest.fixture
def brb(installation: Mortal) -> Mortal:
    installation.healthy()
    installation.idle()
    installation.forget_everything()
    return installation


def counted(brb: Brb, words: str, mentions: int) -> api.Memory:
    """The one memory that says these words, once nothing is left to do."""
    brb.memory(words)
    brb.idle()
    memory = brb.memory(words)
    assert len(brb.texts()) == 1, brb.texts()
    assert (memory.mentions, len(memory.evidence), len({each.turn for each in memory.evidence})) == (mentions,) * 3
    assert brb.health().dead == 0
    return memory


def told(person: Person, words: str) -> None:
    """Said as clients say it: a call that broke off is made again."""
    with contextlib.suppress(anthropic.APIError, httpx2.HTTPError):
        person.say(words)


def answered(person: Person) -> None:
    if person.messages[-1]["role"] == "user":
        person.call()


WORKER = [
    "before claim learn_turn",
    "after claim learn_turn",
    "before extract",
    "after extract",
    "before finish learn_turn",
    "after finish learn_turn",
    "after publish store_facts",
]
PROXY = ["before add learn_turn", "after add learn_turn", "after publish learn_turn"]
INDEXER = [
    "before claim store_facts",
    "after claim store_facts",
    "before embed document",
    "after embed document",
    "before put",
    "after put",
    "before finish store_facts",
    "after finish store_facts",
    "after run store_facts",
]


@pytest.mark.parametrize(("part", "step"), [("worker", step) for step in WORKER] + [("proxy", step) for step in (*PROXY, *INDEXER)])
def test_a_process_killed_at_a_step_has_learnt_the_turn_once(
    brb: Mortal, upstream: standin.StandIn, person: Callable[..., Person], part: str, step: str
) -> None:
    talking = person()
    with brb.dying(part, step):
        told(talking, "Our mascot is called Wombat.")
    answered(talking)
    memory = counted(brb, "Wombat", 1)
    assert len(brb.history(memory)) == 1


@pytest.mark.parametrize("step", ["before update", "after update", "before finish store_facts"])
def test_a_process_killed_while_a_fact_is_said_again_has_counted_it_once(brb: Mortal, person: Callable[..., Person], step: str) -> None:
    brb.worked_off(person().say("I'm based in Ljubljana.").turn)
    again = person()
    with brb.dying("proxy", step):
        told(again, "I'm based in Ljubljana.")
    answered(again)
    until(lambda: brb.memory("Ljubljana").mentions == 2 or None, "it was not counted")
    counted(brb, "Ljubljana", 2)


@pytest.mark.parametrize("step", ["before put", "after put", "before update", "after update"])
def test_a_process_killed_while_a_value_changes_never_leaves_none(brb: Mortal, person: Callable[..., Person], step: str) -> None:
    brb.worked_off(person().say("My name is Leo.").turn)
    change = person()
    with brb.dying("proxy", step):
        told(change, "My name is Amelia now, not Leo.")
    assert {"Leo", "Amelia"} & {memory.value for memory in brb.memories()}
    answered(change)
    until(lambda: [memory.value for memory in brb.memories()] == ["Amelia"] or None, "it did not change")
    brb.idle()
    assert [(version.status, version.value) for version in brb.history(brb.memory("Amelia"))] == [("current", "Amelia"), ("superseded", "Leo")]


def _add(brb: Brb, text: str) -> None:
    with contextlib.suppress(httpx2.HTTPError):
        assert brb.http.post("/memories", json={"text": text}).status_code in (200, 201)


@pytest.mark.parametrize(
    ("part", "step"),
    [
        *(("proxy", step) for step in ("before add learn_turn", "after add learn_turn", "before put", "after put", "before finish store_facts")),
        *(("worker", step) for step in ("after claim learn_turn", "after extract", "before finish learn_turn", "after finish learn_turn")),
    ],
)
def test_a_process_killed_while_a_statement_is_added_leaves_it_once_and_what_it_replaces_in_its_history(brb: Mortal, part: str, step: str) -> None:
    _add(brb, "We deploy on Fridays")
    brb.idle()
    with brb.dying(part, step):
        _add(brb, "We deploy on Mondays")
    _add(brb, "We deploy on Mondays")
    until(lambda: brb.texts() == ["We deploy on Mondays"] or None, "it did not take the place of the other")
    brb.idle()
    memory = counted(brb, "We deploy on Mondays", 1)
    assert [(version.status, version.text) for version in brb.history(memory)] == [
        ("current", "We deploy on Mondays"),
        ("superseded", "We deploy on Fridays"),
    ]


@pytest.mark.parametrize("step", ["before spool", "after spool", "before unspool", "after unspool"])
def test_a_proxy_killed_with_a_turn_on_its_disk_has_learnt_it_once(brb: Mortal, person: Callable[..., Person], step: str) -> None:
    talking = person()
    with brb.dying("proxy", step), brb.stopped("redis"):
        told(talking, "Our mascot is called Wombat.")
    answered(talking)
    counted(brb, "Wombat", 1)
    assert brb.health().spooled == 0


def _post(brb: Brb, session: str, said: list[dict[str, str]]) -> str:
    body = {"model": "claude-x", "max_tokens": 9, "messages": said}
    headers = {"x-api-key": CLIENT_KEY, "x-claude-code-session-id": session}
    return str(brb.http.post("/v1/messages", json=body, headers=headers).raise_for_status().headers["x-brb-turn"])


def test_ten_clients_that_state_a_fact_at_once_make_one_memory_mentioned_ten_times(brb: Mortal, upstream: standin.StandIn) -> None:
    said = [{"role": "user", "content": "Our mascot is called Wombat."}]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        turns = set(pool.map(lambda _: _post(brb, str(uuid.uuid4()), said), range(AT_ONCE)))
    assert len(turns) == AT_ONCE
    for turn in turns:
        brb.worked_off(turn)
    counted(brb, "Wombat", AT_ONCE)


def test_one_turn_that_is_sent_ten_times_at_once_is_mentioned_once(brb: Mortal, upstream: standin.StandIn) -> None:
    said, session = [{"role": "user", "content": "Our mascot is called Wombat."}], str(uuid.uuid4())
    with ThreadPoolExecutor(AT_ONCE) as pool:
        turns = set(pool.map(lambda _: _post(brb, session, said), range(AT_ONCE)))
    assert len(turns) == 1
    brb.worked_off(turns.pop())
    counted(brb, "Wombat", 1)


def test_jobs_that_are_delivered_again_and_to_both_workers_are_done_once(brb: Mortal, person: Callable[..., Person]) -> None:
    turn = person().say("Our mascot is called Wombat.").turn
    brb.publish_again(turn, AT_ONCE)
    brb.worked_off(turn)
    brb.publish_again(turn, AT_ONCE)
    brb.worked_off(person().say("Thanks a lot!").turn)
    counted(brb, "Wombat", 1)


def test_a_turn_whose_message_the_broker_lost_is_learnt(brb: Mortal, person: Callable[..., Person]) -> None:
    with contextlib.closing(brb.redis()) as client, brb.stopped("worker"):
        turns = [person().say(words).turn for words in ("Hello there!", "Our mascot is called Wombat.")]  # it may have one in its hands
        until(lambda: client.llen("learn") or None, "nothing was published")
        client.delete("learn")
    for turn in turns:
        brb.worked_off(turn)
    counted(brb, "Wombat", 1)


def test_a_resumed_session_is_not_learnt_from_again(brb: Mortal, upstream: standin.StandIn) -> None:
    said = [{"role": "user", "content": "Our mascot is called Wombat."}]
    brb.worked_off(_post(brb, str(uuid.uuid4()), said))
    said += [{"role": "assistant", "content": "Noted."}, {"role": "user", "content": "Thanks a lot!"}]
    for _ in range(3):
        brb.worked_off(_post(brb, str(uuid.uuid4()), said))
    counted(brb, "Wombat", 1)


@pytest.mark.parametrize(("what", "taken", "error"), [("fail", 5, "RuntimeError"), ("poison", 6, "Killed: the process ended in every attempt")])
def test_an_extraction_that_never_ends_well_is_seen_as_a_dead_letter_and_can_be_done_later(
    brb: Mortal, person: Callable[..., Person], what: str, taken: int, error: str
) -> None:
    with contextlib.closing(brb.redis()) as client, brb.always(what, "before extract"):
        turn = person().say("Our mascot is called Wombat.").turn
        until(lambda: _given_up(client, turn), "it was tried for ever", 90)
    assert brb.texts() == []
    assert brb.health().dead == 1
    assert any("brb jobs dead" in notice for notice in brb.health().notices)
    until(lambda: "brb_dead_letters 1.0" in brb.http.get("/metrics").text.splitlines(), "no figure tells of it", 30)
    (letter,) = msgspec.json.decode(brb.command("jobs", "dead", "--json").stdout, type=api.DeadJobs).jobs
    assert (letter.id, letter.attempts, letter.error) == (f"learn_turn-{turn}", taken, error), "without a word of the person"
    assert brb.command("jobs", "retry", letter.id).returncode == 0
    counted(brb, "Wombat", 1)


def _given_up(client: "redis.Redis[bytes]", turn: str) -> bool | None:
    """Whether its job is a dead letter. What it waits for between two attempts is made to be over."""
    until_, died = client.hmget(f"brb:job:learn_turn-{turn}", "until", "died")
    if until_ and float(until_) > client.time()[0] + 2 * LEASE_SECONDS:
        job_time.passes(client, 60)
    return True if died else None

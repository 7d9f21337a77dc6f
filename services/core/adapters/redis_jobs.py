"""Job records in Redis. Every step is one Lua script, so it happens whole or not at all; times are Redis's own clock.

brb:job:{id}            hash: task, queue (`messages.Lane`), payload (sealed), attempts, added, token, until (nobody may claim it before: the end of
                        a lease or of a delay), rung (how often it was published again and not taken), error, died, team (of a dead one)
brb:jobs:due:{queue}    sorted set: id -> when to publish it (again); equals the end of the lease while somebody holds it
brb:jobs:added:{queue}  sorted set: id -> when it was recorded
brb:jobs:dead           sorted set: id -> when it failed for good
brb:job:done:{id}       marks a job that was done, so that the same turn is not learnt again
"""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import redis

from services.core import errors, messages, ports
from services.core.adapters.redis_client import Breaker, translated
from services.core.jobs import LONGEST_SECONDS, MOST_DOUBLINGS
from services.core.seal import Seal

_NOW = "local t = redis.call('TIME'); local now = tonumber(t[1]) + tonumber(t[2]) / 1000000; "

_RECORD = """
local function record(id, task, queue, payload, lease)
  if redis.call('EXISTS', 'brb:job:' .. id, 'brb:job:done:' .. id) > 0 then return 0 end
  redis.call('HSET', 'brb:job:' .. id, 'task', task, 'queue', queue, 'payload', payload, 'attempts', 0, 'added', now)
  redis.call('ZADD', 'brb:jobs:due:' .. queue, now + lease, id)
  redis.call('ZADD', 'brb:jobs:added:' .. queue, now, id)
  return 1
end
local function drop(id, queue)
  redis.call('DEL', 'brb:job:' .. id)
  redis.call('ZREM', 'brb:jobs:due:' .. queue, id)
  redis.call('ZREM', 'brb:jobs:added:' .. queue, id)
end
"""

# ARGV: lease, then (id, task, queue, payload) for each job. Returns the ids that are new.
_ADD = (
    _NOW
    + _RECORD
    + """
local new = {}
for i = 2, #ARGV, 4 do
  if record(ARGV[i], ARGV[i+1], ARGV[i+2], ARGV[i+3], tonumber(ARGV[1])) == 1 then new[#new+1] = ARGV[i] end
end
return new
"""
)

# ARGV: ids. Returns those that are recorded or were done.
_KNOWN = """
local out = {}
for i = 1, #ARGV do
  if redis.call('EXISTS', 'brb:job:' .. ARGV[i], 'brb:job:done:' .. ARGV[i]) > 0 then out[#out+1] = ARGV[i] end
end
return out
"""

# ARGV: id, token, lease, longest delay. Returns task, payload, attempt.
_CLAIM = (
    _NOW
    + """
local key = 'brb:job:' .. ARGV[1]
local job = redis.call('HMGET', key, 'task', 'payload', 'until', 'died', 'queue')
local wait = tonumber(job[3] or 0) - now
if not job[1] or job[4] or (wait > 0 and wait <= tonumber(ARGV[4])) then return nil end
local until_ = now + tonumber(ARGV[3])
redis.call('HSET', key, 'token', ARGV[2], 'until', until_)
redis.call('HDEL', key, 'rung')
redis.call('ZADD', 'brb:jobs:due:' .. job[5], until_, ARGV[1])
return {job[1], job[2], redis.call('HINCRBY', key, 'attempts', 1)}
"""
)

# ARGV: id, token, lease.
_EXTEND = (
    _NOW
    + """
local key = 'brb:job:' .. ARGV[1]
if redis.call('HGET', key, 'token') ~= ARGV[2] then return 0 end
local until_ = now + tonumber(ARGV[3])
redis.call('HSET', key, 'until', until_)
redis.call('ZADD', 'brb:jobs:due:' .. redis.call('HGET', key, 'queue'), until_, ARGV[1])
return 1
"""
)

# ARGV: id, token, lease, seconds to remember it as done, then the jobs that follow, as in _ADD. What follows is there before the job goes.
_FINISH = (
    _NOW
    + _RECORD
    + """
local key = 'brb:job:' .. ARGV[1]
if redis.call('HGET', key, 'token') ~= ARGV[2] then return 0 end
for i = 5, #ARGV, 4 do record(ARGV[i], ARGV[i+1], ARGV[i+2], ARGV[i+3], tonumber(ARGV[3])) end
redis.call('SET', 'brb:job:done:' .. ARGV[1], '', 'EX', tonumber(ARGV[4]))
drop(ARGV[1], redis.call('HGET', key, 'queue'))
return 1
"""
)

# ARGV: id, token, delay, "1" if the attempt counts.
_POSTPONE = (
    _NOW
    + """
local key = 'brb:job:' .. ARGV[1]
if redis.call('HGET', key, 'token') ~= ARGV[2] then return 0 end
local until_ = now + tonumber(ARGV[3])
redis.call('HDEL', key, 'token')
redis.call('HSET', key, 'until', until_)
if ARGV[4] == '0' then redis.call('HINCRBY', key, 'attempts', -1) end
redis.call('ZADD', 'brb:jobs:due:' .. redis.call('HGET', key, 'queue'), until_, ARGV[1])
return 1
"""
)

# ARGV: id, token, error, team.
_BURY = (
    _NOW
    + """
local key = 'brb:job:' .. ARGV[1]
if redis.call('HGET', key, 'token') ~= ARGV[2] then return 0 end
local queue = redis.call('HGET', key, 'queue')
redis.call('HDEL', key, 'token', 'until')
redis.call('HSET', key, 'error', ARGV[3], 'died', now, 'team', ARGV[4])
redis.call('ZREM', 'brb:jobs:due:' .. queue, ARGV[1])
redis.call('ZREM', 'brb:jobs:added:' .. queue, ARGV[1])
redis.call('ZADD', 'brb:jobs:dead', now, ARGV[1])
return 1
"""
)

# ARGV: limit, lease, longest exponent, longest delay, many, then the queues. Returns id, task, id, task, ... A job that was published again and is
# still not taken waits behind others more likely than its publication was lost: the next one comes after twice the time. And none comes while many
# messages are in the broker's list, which has the queue's name: they would only make it longer.
_OVERDUE = (
    _NOW
    + """
local out = {}
for i = 6, #ARGV do
  local due = 'brb:jobs:due:' .. ARGV[i]
  local most = redis.call('LLEN', ARGV[i]) < tonumber(ARGV[5]) and tonumber(ARGV[1]) or 0
  local ids = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, most)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', due, now + tonumber(ARGV[4]), '+inf', 'LIMIT', 0, most)) do ids[#ids+1] = id end
  for _, id in ipairs(ids) do
    local task = redis.call('HGET', 'brb:job:' .. id, 'task')
    if task then
      local rung = redis.call('HINCRBY', 'brb:job:' .. id, 'rung', 1)
      redis.call('ZADD', due, now + tonumber(ARGV[2]) * 2 ^ math.min(rung - 1, tonumber(ARGV[3])), id)
      out[#out+1] = id
      out[#out+1] = task
    else
      redis.call('ZREM', due, id)
      redis.call('ZREM', 'brb:jobs:added:' .. ARGV[i], id)
    end
  end
end
return out
"""
)

# ARGV: id. Returns its task.
_REVIVE = (
    _NOW
    + """
local key = 'brb:job:' .. ARGV[1]
if redis.call('ZREM', 'brb:jobs:dead', ARGV[1]) == 0 then return nil end
redis.call('HDEL', key, 'error', 'died', 'team')
redis.call('HSET', key, 'attempts', 0)
local queue = redis.call('HGET', key, 'queue')
redis.call('ZADD', 'brb:jobs:due:' .. queue, now, ARGV[1])
redis.call('ZADD', 'brb:jobs:added:' .. queue, tonumber(redis.call('HGET', key, 'added')), ARGV[1])
return redis.call('HGET', key, 'task')
"""
)

# ARGV: the queues. Returns the ids of all jobs that there are at one moment, dead ones too.
_IDS = """
local out = {}
local function list(key)
  for _, id in ipairs(redis.call('ZRANGE', key, 0, -1)) do out[#out+1] = id end
end
for i = 1, #ARGV do list('brb:jobs:added:' .. ARGV[i]) end
list('brb:jobs:dead')
return out
"""

# ARGV: seconds to remember it as done, then ids. Returns how many there were.
_FORGET = (
    _NOW
    + _RECORD
    + """
local gone = 0
for i = 2, #ARGV do
  local queue = redis.call('HGET', 'brb:job:' .. ARGV[i], 'queue')
  if queue then
    redis.call('SET', 'brb:job:done:' .. ARGV[i], '', 'EX', tonumber(ARGV[1]))
    drop(ARGV[i], queue)
    redis.call('ZREM', 'brb:jobs:dead', ARGV[i])
    gone = gone + 1
  end
end
return gone
"""
)

# ARGV: the queues. Returns depth, age in seconds (as text), depth, age, ...
_DEPTHS = (
    _NOW
    + """
local out = {}
for i = 1, #ARGV do
  local added = 'brb:jobs:added:' .. ARGV[i]
  local oldest = redis.call('ZRANGE', added, 0, 0, 'WITHSCORES')
  out[#out+1] = redis.call('ZCARD', added)
  out[#out+1] = tostring(oldest[2] and math.max(0, now - tonumber(oldest[2])) or 0)
end
return out
"""
)

_MANY = 1_000  # messages that wait in a queue
_TOGETHER = 200  # records in one answer: half a megabyte


_SCRIPTS = {
    "add": _ADD,
    "known": _KNOWN,
    "claim": _CLAIM,
    "extend": _EXTEND,
    "finish": _FINISH,
    "postpone": _POSTPONE,
    "bury": _BURY,
    "overdue": _OVERDUE,
    "revive": _REVIVE,
    "ids": _IDS,
    "forget": _FORGET,
    "depths": _DEPTHS,
}


class RedisJobBook:
    """`ports.JobBook` in Redis (AOF on). Payloads are sealed."""

    def __init__(self, client: redis.Redis, seal: Seal, *, lease_seconds: float, done_seconds: float, breaker: Breaker | None = None) -> None:
        self._client = client
        self._seal = seal
        self._lease = lease_seconds
        self._longest = max(LONGEST_SECONDS, 2.0**MOST_DOUBLINGS * lease_seconds)
        self._done = int(done_seconds)
        self._breaker = breaker
        self._scripts = {name: client.register_script(text) for name, text in _SCRIPTS.items()}

    def add(self, jobs: Sequence[messages.Job]) -> list[str]:
        return [i.decode() for i in self._call("add", self._lease, *self._rows(jobs))]

    def known(self, ids: Sequence[str]) -> set[str]:
        return {i.decode() for i in self._call("known", *ids)} if ids else set()

    def claim(self, job_id: str) -> ports.Claim | None:
        token = uuid.uuid4().hex
        found = self._call("claim", job_id, token, self._lease, self._longest)
        if found is None:
            return None
        try:
            task = messages.Task(found[0].decode())
            payload = messages.decode(task, self._seal.open(found[1]))
        except (errors.Permanent, ValueError, msgspec.ValidationError) as error:
            self._call("bury", job_id, token, f"unreadable: {type(error).__name__}: was BRB_SECRET_KEY or secret.key changed?", "")
            return None
        return ports.Claim(messages.Job(id=job_id, task=task, payload=payload), token, int(found[2]))

    def extend(self, claim: ports.Claim) -> bool:
        return bool(self._call("extend", claim.job.id, claim.token, self._lease))

    def finish(self, claim: ports.Claim, then: Sequence[messages.Job] = ()) -> bool:
        return bool(self._call("finish", claim.job.id, claim.token, self._lease, self._done, *self._rows(then)))

    def postpone(self, claim: ports.Claim, delay_seconds: float, *, counted: bool) -> None:
        self._call("postpone", claim.job.id, claim.token, delay_seconds, "1" if counted else "0")

    def bury(self, claim: ports.Claim, error: str) -> None:
        self._call("bury", claim.job.id, claim.token, error, claim.job.principal.team)

    def overdue(self, limit: int = 100) -> list[tuple[str, messages.Task]]:
        flat = [i.decode() for i in self._call("overdue", limit, self._lease, MOST_DOUBLINGS, self._longest, _MANY, *messages.Lane)]
        return [(job_id, messages.Task(task)) for job_id, task in zip(flat[::2], flat[1::2], strict=True)]

    def dead(self, limit: int = 100, concerns: Callable[[messages.Job], bool] | None = None) -> list[ports.Dead]:
        with translated():
            found: list[Any] = list(self._client.zrevrange("brb:jobs:dead", 0, limit - 1 if concerns is None else -1))
            rows: list[Any] = [self._client.hmget(f"brb:job:{i.decode()}", "task", "payload", "attempts", "error", "died", "team") for i in found]
        return [
            ports.Dead(i.decode(), messages.Task(task.decode()), int(attempts), error.decode(), float(died), (team or b"").decode())
            for i, (task, payload, attempts, error, died, team) in zip(found, rows, strict=True)
            if task is not None and (concerns is None or ((job := self._read(i, task, payload)) is not None and concerns(job)))
        ][:limit]

    def forget(self, concerns: Callable[[messages.Job], bool]) -> int:
        """Looks again until every job that is there was looked at: one that is finished meanwhile has left others in its place."""
        count, seen = 0, set[bytes]()
        while new := [job_id for job_id in self._call("ids", *messages.Lane) if job_id not in seen]:
            for start in range(0, len(new), _TOGETHER):
                some = new[start : start + _TOGETHER]
                if gone := [job.id for job in self._read_all(some) if concerns(job)]:
                    count += int(self._call("forget", self._done, *gone))
            seen.update(new)
        return count

    def revive(self, job_id: str) -> messages.Task | None:
        task = self._call("revive", job_id)
        return messages.Task(task.decode()) if task else None

    def pending(self) -> Mapping[messages.Lane, int]:
        return {lane: int(depth) for lane, depth in zip(messages.Lane, self._depths()[::2], strict=True)}

    def oldest_seconds(self) -> Mapping[messages.Lane, float]:
        return {lane: float(age) for lane, age in zip(messages.Lane, self._depths()[1::2], strict=True)}

    def ping(self) -> None:
        with translated():
            self._client.ping()

    def _read_all(self, ids: Sequence[bytes]) -> Iterator[messages.Job]:
        """Those that are there, but for what can't be read: then nobody else can read it either."""
        with translated(self._breaker), self._client.pipeline(transaction=False) as pipe:
            for job_id in ids:
                pipe.hmget(b"brb:job:" + job_id, "task", "payload")
            rows: list[Any] = pipe.execute()
        for job_id, (task, payload) in zip(ids, rows, strict=True):
            if task is not None and (job := self._read(job_id, task, payload)) is not None:
                yield job

    def _read(self, job_id: bytes, task: bytes, payload: bytes) -> messages.Job | None:
        try:
            return messages.Job(job_id.decode(), kind := messages.Task(task.decode()), messages.decode(kind, self._seal.open(payload)))
        except (errors.Permanent, ValueError):
            return None

    def _depths(self) -> list[Any]:
        return list(self._call("depths", *messages.Lane))

    def _rows(self, jobs: Sequence[messages.Job]) -> list[str | bytes]:
        return [
            field
            for job in jobs
            for field in (job.id, str(job.task), str(messages.LANE_OF[job.task]), self._seal.close(messages.encode(job.payload)))
        ]

    def _call(self, name: str, *args: str | bytes | float) -> Any:
        with translated(self._breaker):
            return self._scripts[name](args=args)

"""Time that passes for the jobs in a Redis without anybody waiting for it: every time in their records moves into the past."""

import redis

_TIMES = ("added", "until", "died")

_PASS = """
for _, key in ipairs(redis.call('KEYS', 'brb:job:*')) do
  if redis.call('TYPE', key).ok == 'hash' then
    for i = 2, #ARGV do
      local at = redis.call('HGET', key, ARGV[i])
      if at then redis.call('HSET', key, ARGV[i], tonumber(at) - tonumber(ARGV[1])) end
    end
  end
end
for _, key in ipairs(redis.call('KEYS', 'brb:jobs:*')) do
  for _, id in ipairs(redis.call('ZRANGE', key, 0, -1)) do redis.call('ZINCRBY', key, -tonumber(ARGV[1]), id) end
end
"""


def passes(client: redis.Redis, seconds: float) -> None:
    """Make it so many seconds later for every job (but for how long one is remembered as done)."""
    client.eval(_PASS, 0, seconds, *_TIMES)

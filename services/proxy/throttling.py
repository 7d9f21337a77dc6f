"""How often one may call, and how often one may fail to say who one is. In this process alone, and gone with it."""

import ipaddress
import math
import time
from typing import NamedTuple

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

FAILURES_PER_MINUTE = 20
_FIRST_DELAY_SECONDS = 0.05
_LONGEST_DELAY_SECONDS = 2.0
_MOST_NETWORKS = 10_000
_NETWORK_BITS = 64  # of an IPv6 address: what lies behind is one subscriber's


class Calls:
    """Calls by token, of a moving minute. per_minute: 0 for no limit."""

    def __init__(self, per_minute: int) -> None:
        self._item = RateLimitItemPerMinute(per_minute) if per_minute else None
        self._limiter = MovingWindowRateLimiter(MemoryStorage()) if per_minute else None

    def wait_seconds(self, token_id: str) -> int:
        """Count a call; 0 if it may go on, else for how long to wait."""
        if self._limiter is None or self._item is None or self._limiter.hit(self._item, token_id):
            return 0
        return _until(self._limiter.get_window_stats(self._item, token_id).reset_time)


class Failure(NamedTuple):
    """What a failed attempt costs: how long its answer waits, or (not 0) for how long nothing but a valid token is listened to."""

    delay_seconds: float
    wait_seconds: int = 0


class Failures:
    """Failed attempts by the client's address, of a moving minute. A valid token is served however many others failed from there."""

    def __init__(self) -> None:
        self._item = RateLimitItemPerMinute(FAILURES_PER_MINUTE)
        self._storage = MemoryStorage()
        self._limiter = MovingWindowRateLimiter(self._storage)

    def failed(self, address: str) -> Failure:
        """Count a failed attempt."""
        if len(self._storage.events) >= _MOST_NETWORKS:  # the library forgets what happened, but never a name
            self._storage.reset()
        network = network_of(address)
        if not self._limiter.hit(self._item, network):
            return Failure(0.0, _until(self._limiter.get_window_stats(self._item, network).reset_time))
        return Failure(delay_seconds(FAILURES_PER_MINUTE - self._limiter.get_window_stats(self._item, network).remaining))


def delay_seconds(failures: int) -> float:
    """How long the answer to the last of so many failures in a minute waits: twice as long as to the one before, up to a bound."""
    return min(_LONGEST_DELAY_SECONDS, _FIRST_DELAY_SECONDS * 2.0 ** (failures - 1))


def network_of(address: str) -> str:
    """Whose failures count together: an IPv4 address, or the network of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, _NETWORK_BITS), strict=False))
    return address


def _until(moment: float) -> int:
    return max(1, math.ceil(moment - time.time()))

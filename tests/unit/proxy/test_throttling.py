import pytest

from services.proxy import throttling


def test_so_many_calls_a_minute_may_be_made_with_each_token() -> None:
    calls = throttling.Calls(3)

    assert [calls.wait_seconds("a") for _ in range(3)] == [0, 0, 0]
    assert 1 <= calls.wait_seconds("a") <= 60
    assert calls.wait_seconds("b") == 0


def test_without_a_limit_any_number() -> None:
    calls = throttling.Calls(0)

    assert not any(calls.wait_seconds("a") for _ in range(5000))


def test_the_cost_of_a_failed_attempt_doubles_up_to_a_bound() -> None:
    delays = [throttling.delay_seconds(failures) for failures in range(1, throttling.FAILURES_PER_MINUTE + 1)]

    assert delays[:4] == [0.05, 0.1, 0.2, 0.4]
    assert delays == sorted(delays)
    assert max(delays) == 2.0


def test_failures_of_one_address_are_counted_apart_from_those_of_others() -> None:
    failures = throttling.Failures()
    costs = [failures.failed("10.0.0.1") for _ in range(throttling.FAILURES_PER_MINUTE)]

    assert [cost.delay_seconds for cost in costs] == [throttling.delay_seconds(n + 1) for n in range(len(costs))]
    assert not any(cost.wait_seconds for cost in costs)
    assert 1 <= failures.failed("10.0.0.1").wait_seconds <= 60
    assert failures.failed("10.0.0.2") == throttling.Failure(0.05)


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("10.0.0.1", "::ffff:10.0.0.1", True),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("", "", True),
        ("testclient", "10.0.0.1", False),
    ],
)
def test_whose_failures_count_together(one: str, other: str, together: bool) -> None:
    assert (throttling.network_of(one) == throttling.network_of(other)) is together


def test_however_many_addresses_fail_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling, "_MOST_NETWORKS", 10)
    failures = throttling.Failures()
    for n in range(100):
        failures.failed(f"10.0.0.{n}")

    assert len(failures._storage.events) <= 10

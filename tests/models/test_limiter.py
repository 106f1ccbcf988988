import asyncio
import selectors
from types import SimpleNamespace

import pytest

from theodolite.models import openai as _limiter
from theodolite.models.openai import AdaptiveLimiter, RetryPolicy, retry_after


class Clock(selectors.DefaultSelector):
    """Time that passes only while everyone sleeps, and then at once: what is tested is the rule, not the machine."""

    now = 0.0

    def select(self, timeout=None):
        self.now += max(timeout or 0.0, 0.0)
        return super().select(0)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(_limiter, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def run(clock, work):
    def loop():
        loop = asyncio.SelectorEventLoop(clock)
        loop.time = lambda: clock.now
        return loop

    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(work)


def drive(clock, limiter, latency, *, n=600, workers=64):
    """Sends n requests to a pretended server; `latency(in_flight)` says how long one takes, None means 429."""
    seen = []

    async def worker(numbers):
        for _ in numbers:
            async with limiter.slot():
                started = clock.now
                seconds = latency(limiter.in_flight)
                await asyncio.sleep(seconds if seconds is not None else 0.001)
            if seconds is None:
                limiter.strained()
            else:
                limiter.succeeded(clock.now - started)
            seen.append((limiter.limit, limiter.in_flight))

    async def go():
        numbers = iter(range(n))
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(worker(numbers))

    run(clock, go())
    return seen


def test_it_never_exceeds_its_maximum(clock):
    limiter = AdaptiveLimiter(20)
    assert max(in_flight for _, in_flight in drive(clock, limiter, lambda _: 0.002)) <= 20


def test_it_opens_quickly_where_the_server_keeps_up(clock):
    limiter = AdaptiveLimiter(64)
    drive(clock, limiter, lambda _: 0.01, n=400)
    assert limiter.limit == 64


def test_it_backs_off_from_a_server_that_says_429(clock):
    limiter = AdaptiveLimiter(64)
    seen = drive(clock, limiter, lambda in_flight: 0.005 if in_flight <= 10 else None, n=1500)
    late = [limit for limit, _ in seen[len(seen) // 2 :]]
    assert sum(late) / len(late) < 20


def test_it_backs_off_from_a_server_that_only_gets_slower(clock):
    """Beyond 8 at once this server just queues: more in flight brings no more answers, only longer waits."""
    limiter = AdaptiveLimiter(64)
    seen = drive(clock, limiter, lambda in_flight: 0.004 * max(1, in_flight / 8), n=3000)
    late = [limit for limit, _ in seen[len(seen) // 2 :]]
    assert sum(late) / len(late) < 24


def test_a_burst_of_429s_counts_once(clock):
    limiter = AdaptiveLimiter(64, start=64)
    limiter.succeeded(0.5)
    for _ in range(30):
        limiter.strained()
    assert limiter.limit == 32


def test_a_pause_holds_everyone(clock):
    async def go():
        limiter = AdaptiveLimiter(4)
        limiter.pause(0.15)
        started = clock.now
        async with limiter.slot():
            return clock.now - started

    assert run(clock, go()) == pytest.approx(0.15)


def test_a_cancelled_waiter_gives_its_place_back(clock):
    async def go():
        limiter = AdaptiveLimiter(1)
        async with limiter.slot():
            waiting = asyncio.create_task(limiter._acquire())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with asyncio.timeout(1), limiter.slot():
            return limiter.in_flight

    assert run(clock, go()) == 1


def test_delays_grow_to_a_cap_and_honour_the_server(monkeypatch):
    from theodolite.models import openai as _limiter

    monkeypatch.setattr(_limiter.random, "uniform", lambda _, high: high)
    policy = RetryPolicy(base_seconds=1, cap_seconds=8, patience_seconds=60)
    assert [policy.delay(k, None) for k in range(5)] == [1, 2, 4, 8, 8]
    assert policy.delay(0, 20) >= 20
    assert policy.delay(0, 9999) < 62


NOW = "Wed, 21 Oct 2026 07:28:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": " 3 "}, 3.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "1e3"}, 1000.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": NOW}, 30.0),  # by the server's own clock
        ({"retry-after": "Wed, 21 Oct 2026 07:27:30 GMT", "date": NOW}, 0.0),
        ({"retry-after": "Wednesday, 21-Oct-26 07:28:30 GMT", "date": NOW}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "lunch"}, None),
        ({"retry-after": "9" * 400}, float("inf")),
        ({"retry-after": "when it suits"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "5, 6"}, None),
        ({"retry-after": "²"}, None),
        ({"retry-after": "Mon, 01 Jan 99999 00:00:00 GMT"}, None),
        ({"retry-after-ms": "soon"}, None),
        ({"retry-after-ms": "nan"}, None),
        ({"retry-after-ms": "-1"}, None),
        ({"retry-after-ms": "inf"}, float("inf")),
    ],
)
def test_retry_after_in_all_its_forms(headers, seconds):
    assert retry_after(headers) == seconds


@pytest.mark.parametrize("asked", [float("inf"), 1e300, 86_400.0 * 365])
def test_no_server_can_make_a_run_wait_for_long(clock, asked, monkeypatch):
    policy = RetryPolicy()
    assert policy.delay(0, asked) <= policy.patience_seconds + policy.base_seconds


@pytest.mark.parametrize("jump", [-86_400.0 * 365, 86_400.0 * 365])
def test_a_jump_of_the_clock_changes_no_wait(monkeypatch, jump):
    """Only a date without the server's own is compared with this machine's clock, and the wait is bounded."""
    import time

    monkeypatch.setattr(_limiter.time, "time", lambda base=time.time: base() + jump)
    dated = {"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": NOW}
    assert retry_after(dated) == 30.0
    assert retry_after({"retry-after": "3"}) == 3.0
    policy = RetryPolicy()
    assert policy.delay(0, retry_after({"retry-after": NOW})) <= policy.patience_seconds + policy.base_seconds

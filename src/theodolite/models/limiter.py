"""Request control for servers: how many requests may be in flight, and when to retry."""

from __future__ import annotations

import asyncio
import email.utils
import math
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

_QUEUEING = 2.0
"""The server is queueing requests if an answer takes this many times as long as without load."""
_GAIN = 1.05
"""Minimum gain that counts as progress: five per cent more answers per second for a quarter more requests."""
_HOLD = 20
"""Number of rounds for which the best limit is kept before a higher one is tried again."""


class AdaptiveLimiter:
    """Concurrency limit that grows while throughput grows and shrinks when the server is overloaded.

    A round has as many answers as the limit allows at once. After each round:

    * if the server answers as fast as without load, the limit doubles; after the first sign of overload it grows
      by one;
    * if answers have become slow, and a quarter more requests than in the best round bring no more answers per
      second, the limit returns to the best one and is held for a while.

    A 429, a 503 or a time-out halves the limit, at most once per round. ``Retry-After`` pauses all new requests.
    """

    def __init__(self, maximum: int, *, start: int = 16) -> None:
        self.maximum = maximum
        self.limit = min(start, maximum)
        self.in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._resume_at = 0.0
        self._doubling = True
        self._cut_at = float("-inf")
        self._round: list[float] = []
        self._round_started: float | None = None
        self._fastest = float("inf")
        self._best_rate = 0.0
        self._best_limit = self.limit
        self._hold = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a free slot and hold it while the block runs."""
        await self._acquire()
        try:
            yield
        finally:
            self.in_flight -= 1
            self._wake()

    def succeeded(self, seconds: float) -> None:
        """Report an answer and its duration."""
        if self._round_started is None:
            self._round_started = time.monotonic() - seconds
        self._round.append(seconds)
        if len(self._round) >= self.limit:
            self._end_round()
            self._wake()

    def strained(self) -> None:
        """Report a 429, a 503 or a time-out. Halves the limit once for all requests that fail at the same time."""
        now = time.monotonic()
        self._doubling = False
        if now - self._cut_at >= min(self._fastest, 1.0):
            self._cut_at = now
            self.limit = max(1, self.limit // 2)
            self._round, self._round_started = [], None

    def pause(self, seconds: float) -> None:
        """Pause all new requests, as the server asked."""
        self._resume_at = max(self._resume_at, time.monotonic() + seconds)

    async def _acquire(self) -> None:
        await self._wait_for_pause()
        if self.in_flight < self.limit and not self._waiting:
            self.in_flight += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.in_flight -= 1
                self._wake()
            raise
        await self._wait_for_pause()

    async def _wait_for_pause(self) -> None:
        while (left := self._resume_at - time.monotonic()) > 0:  # noqa: ASYNC110 - the pause may be extended meanwhile
            await asyncio.sleep(left)

    def _wake(self) -> None:
        while self._waiting and self.in_flight < self.limit:
            place = self._waiting.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)

    def _end_round(self) -> None:
        now = time.monotonic()
        mean = sum(self._round) / len(self._round)
        rate = len(self._round) / max(now - (self._round_started or 0.0), 1e-9)
        self._round_started = now
        self._round.clear()
        self._fastest = min(self._fastest, mean)
        is_better = rate > self._best_rate * _GAIN
        if is_better:
            self._best_rate, self._best_limit = rate, self.limit
        elif mean > _QUEUEING * self._fastest and self.limit > self._best_limit * 1.25:
            self.limit, self._doubling, self._hold = self._best_limit, False, _HOLD
        if self._hold:
            self._hold -= 1
            return
        self._best_rate *= 0.99  # the server's capacity may change, so the best rate is slowly forgotten
        self.limit = min(self.maximum, self.limit * 2 if self._doubling else self.limit + 1)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential back-off with full jitter: wait ``uniform(0, min(cap, base * 2**k))`` before retry k.

    The jitter only spreads the load. No measured value depends on it.
    """

    retries: int = 5
    base_seconds: float = 0.5
    cap_seconds: float = 30.0
    patience_seconds: float = 120.0
    """The longest ``Retry-After`` that is respected."""

    def delay(self, retry: int, asked: float | None) -> float:
        """Return the seconds before retry number `retry` (from 0), at least what the server asked for.

        >>> RetryPolicy().delay(0, asked=3.0) >= 3.0
        True
        """
        jitter = random.uniform(0, min(self.cap_seconds, self.base_seconds * 2**retry))  # noqa: S311
        return jitter if asked is None else min(asked, self.patience_seconds) + jitter * 0.1


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait in seconds that a response asks for: ``retry-after-ms`` or ``retry-after`` (seconds or date).

    A date is compared with the server's own clock, if the response tells its ``date``. None if there is no such
    header or it makes no sense. `RetryPolicy` limits how long a wait is respected.

    >>> retry_after({"retry-after": "2"})
    2.0
    """
    try:
        if "retry-after-ms" in headers:
            return _seconds(float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after")
        if value is None:
            return None
        if value.strip()[:1].isdecimal() and "," not in value and ":" not in value:
            return _seconds(float(value))
        then = email.utils.parsedate_to_datetime(value).timestamp()
        now = (
            email.utils.parsedate_to_datetime(headers["date"]).timestamp()
            if "date" in headers
            else time.time()
        )
        return max(0.0, then - now)
    except (ValueError, TypeError, OverflowError):
        return None


def _seconds(value: float) -> float | None:
    return None if math.isnan(value) or value < 0 else value

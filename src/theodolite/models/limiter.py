"""How many requests may be in flight at once, learnt from the server's own behaviour."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_QUEUEING = 2.0
"""A server that takes this many times its unloaded time lets requests wait in line."""
_GAIN = 1.05
"""What more requests must then bring: at least five per cent more answers a second for a quarter more requests."""
_HOLD = 20
"""For how many rounds the limit stays where it was best, before a little more is tried again."""


class AdaptiveLimiter:
    """Bounded concurrency that grows while it helps and shrinks when it hurts.

    A round is as many answers as the limit allows at once. After each round:

    * where the server answers as fast as when unloaded, the limit doubles; after the first sign of strain it grows
      by one;
    * where it has become slow, and a quarter more requests than in the best round bring no more answers a second,
      the limit goes back to the best one and stays there for a while.

    A 429, a 503 or a time-out halves the limit, at most once a round. ``Retry-After`` holds all new requests.
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
        """Waits for a free place and keeps it while the block runs."""
        await self._acquire()
        try:
            yield
        finally:
            self.in_flight -= 1
            self._wake()

    def succeeded(self, seconds: float) -> None:
        """Reports an answer and how long it took."""
        if self._round_started is None:
            self._round_started = time.monotonic() - seconds
        self._round.append(seconds)
        if len(self._round) >= self.limit:
            self._end_round()
            self._wake()

    def strained(self) -> None:
        """Reports a 429, a 503 or a time-out: halves the limit, once for all requests of the same moment."""
        now = time.monotonic()
        self._doubling = False
        if now - self._cut_at >= min(self._fastest, 1.0):
            self._cut_at = now
            self.limit = max(1, self.limit // 2)
            self._round, self._round_started = [], None

    def pause(self, seconds: float) -> None:
        """Holds all new requests, as the server asked."""
        self._resume_at = max(self._resume_at, time.monotonic() + seconds)

    async def _acquire(self) -> None:
        await self._outwait_pause()
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
        await self._outwait_pause()

    async def _outwait_pause(self) -> None:
        while (left := self._resume_at - time.monotonic()) > 0:  # noqa: ASYNC110 - the pause may be prolonged meanwhile
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
        brings_more = rate > self._best_rate * _GAIN
        if brings_more:
            self._best_rate, self._best_limit = rate, self.limit
        elif mean > _QUEUEING * self._fastest and self.limit > self._best_limit * 1.25:
            self.limit, self._doubling, self._hold = self._best_limit, False, _HOLD
        if self._hold:
            self._hold -= 1
            return
        self._best_rate *= 0.99  # servers change: what was best may be had again, or no longer
        self.limit = min(self.maximum, self.limit * 2 if self._doubling else self.limit + 1)

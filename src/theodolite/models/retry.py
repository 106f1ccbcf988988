"""When to ask a server again, and how long to wait before."""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["RetryPolicy", "retry_after"]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential back-off with full jitter: wait ``uniform(0, min(cap, base * 2**k))`` before retry k.

    The jitter only spreads load; no measured value depends on it.
    """

    retries: int = 5
    base_seconds: float = 0.5
    cap_seconds: float = 30.0
    patience_seconds: float = 120.0
    """The longest ``Retry-After`` that is waited for."""

    def delay(self, retry: int, asked: float | None) -> float:
        """Seconds before retry number `retry` (from 0); never less than the server asked for.

        >>> RetryPolicy().delay(0, asked=3.0) >= 3.0
        True
        """
        jitter = random.uniform(0, min(self.cap_seconds, self.base_seconds * 2**retry))  # noqa: S311
        return jitter if asked is None else min(asked, self.patience_seconds) + jitter * 0.1


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The wait that a response asks for: ``retry-after-ms``, ``retry-after`` in seconds or as a date.

    >>> retry_after({"retry-after": "2"})
    2.0
    """
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after")
        if value is None:
            return None
        if value.replace(".", "", 1).isdigit():
            return float(value)
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None

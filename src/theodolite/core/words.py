"""Numbers, lists and durations in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theodolite.core.tables import Estimate

__all__ = ["duration", "interval", "listed", "percent", "upper_first"]


def listed(names: Sequence[str]) -> str:
    """Join names as in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed([])
    ('a', 'a, b and c', '')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def upper_first(text: str) -> str:
    """Write the first letter of a sentence large, and leave the others."""
    return text[:1].upper() + text[1:]


def percent(share: float) -> str:
    """Format a share as a whole number of percent.

    >>> percent(0.288)
    '29 %'
    """
    return f"{100 * share:.0f} %"


def interval(share: Estimate) -> str:
    """Format a share with its interval, in percent.

    >>> from theodolite.core.tables import Estimate
    >>> interval(Estimate(0.29, 0.22, 0.37, n=9, level=0.95, method=""))
    '29 % [22, 37]'
    """
    return f"{percent(share.value)} [{100 * share.low:.0f}, {100 * share.high:.0f}]"


def duration(seconds: float) -> str:
    """Write a duration in at most two units.

    >>> duration(0.4), duration(59.6), duration(185), duration(8000), duration(200_000)
    ('under 1 s', '1 min 00 s', '3 min 05 s', '2 h 13 min', '2 d 7 h')
    """
    if seconds < 1:
        return "under 1 s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"

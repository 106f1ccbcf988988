"""Durations in words."""

from __future__ import annotations


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

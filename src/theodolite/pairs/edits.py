"""What an edit is: what it changes, what it keeps fixed, and so what it excludes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Edit"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a picture, scene or episode whose effect on the right answer is known.

    A strategy whose answer depends only on what an edit keeps fixed gives the same answer before and after it. Under a
    relevant edit such a strategy cannot be right both times if it is deterministic, and is so with probability at most ¼
    if it is random (`theodolite.pairs.outcomes`). So an edit excludes every strategy that uses nothing but what it keeps.
    """

    name: str
    """Such as ``mirror``."""
    is_relevant: bool
    """True if the right answer changes."""
    keeps: tuple[str, ...] = ()
    """What stays as it was: the question's words, the objects, their sizes …"""
    excludes: tuple[str, ...] = ()
    """The strategies that cannot follow it; for relevant edits only."""

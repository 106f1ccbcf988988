"""Edits: what they keep fixed, and the strategies they exclude."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Edit"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a picture, scene or episode whose effect on the right answer is known.

    A strategy that uses only what an edit keeps fixed gives the same answer before and after it. Under a relevant edit it
    cannot be right both times if it is deterministic, and is right both times with probability at most ¼ if it is random
    (`theodolite.pairs.outcomes`). So the edit excludes every strategy that uses only what it keeps.
    """

    name: str
    """Such as ``mirror``."""
    is_relevant: bool
    """True if the right answer changes."""
    keeps: tuple[str, ...] = ()
    """What does not change: the words of the question, the objects, their sizes …"""
    excludes: tuple[str, ...] = ()
    """The strategies that cannot follow it. For relevant edits only."""

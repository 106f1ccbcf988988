"""A question without its words, and what all makers of drafts share."""

from __future__ import annotations

from dataclasses import dataclass

from theodolite.instruments.scene.data.graph import DECIMALS
from theodolite.instruments.scene.data.questions import Kind
from theodolite.instruments.scene.data.relations import Predicate

HORIZONTAL: tuple[Predicate, ...] = ("left", "right", "in front of", "behind")


AXES: tuple[tuple[int, tuple[Predicate, Predicate]], ...] = (
    (0, ("right", "left")),
    (1, ("behind", "in front of")),
)
"""Along the ground: the axis, and the words for more and less of it."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A question without its words."""

    kind: Kind
    objects: tuple[int, ...]
    answer: str
    """The key of the right option, or the number."""
    tag: str = ""
    """What the engine spreads evenly: the meaning of the answer, where meanings could be lopsided."""
    others: tuple[str, ...] = ()
    """Keys of the wrong options; for counts and ranks, the engine picks among them."""
    relation: Predicate | None = None
    distance_m: float | None = None


def metres(value: float) -> str:
    """As answers are written.

    >>> metres(1.005 + 1)
    '2.00'
    """
    return f"{value:.{DECIMALS}f}"

"""Where one object is relative to another: six words, each with the threshold that makes it true.

With ``dx, dz, …`` the difference *target minus reference*, in metres, and ε = 0.2 m:

========================  =====================================================================
right, left               dx > ε, dx < −ε along the camera's horizontal right
behind, in front of       dz > ε, dz < −ε along the camera's horizontal forward: *in front of* is
                          nearer to the camera, as a person looking at both would say
up                        bottom(target) − top(reference) > −ε, along the world's vertical
down                      top(target) − bottom(reference) < ε
========================  =====================================================================

Two flat objects at one height satisfy both *up* and *down*; then neither word is used. (The public code keeps both, and
measures dx and dz in the camera's own frame, which may be tilted.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Predicate: TypeAlias = Literal["left", "right", "in front of", "behind", "up", "down"]
PREDICATES: tuple[Predicate, ...] = get_args(Predicate)
OPPOSITE: Mapping[Predicate, Predicate] = {
    "left": "right",
    "right": "left",
    "in front of": "behind",
    "behind": "in front of",
    "up": "down",
    "down": "up",
}
PAIRS: tuple[tuple[Predicate, Predicate], ...] = (
    ("left", "right"),
    ("in front of", "behind"),
    ("up", "down"),
)
"""The three pairs of words that exclude each other."""

RELATION_MARGIN_M = 0.2
"""ε: closer together than this along an axis, neither word is true."""

Relation: TypeAlias = frozenset[Predicate]


@dataclass(frozen=True, slots=True)
class Stand:
    """What the six words are decided by: metres to the right, forward, and of the bottom and top along the vertical."""

    right_m: float
    forward_m: float
    bottom_m: float
    top_m: float


def relation(target: Stand, reference: Stand) -> Relation:
    """The words that are true of the target relative to the reference.

    >>> sorted(relation(Stand(1.0, 2.0, 0, 1), Stand(0.0, 5.0, 0, 1)))
    ['in front of', 'right']
    """
    dx, dz = target.right_m - reference.right_m, target.forward_m - reference.forward_m
    said: set[Predicate] = set()
    if abs(dx) > RELATION_MARGIN_M:
        said.add("right" if dx > 0 else "left")
    if abs(dz) > RELATION_MARGIN_M:
        said.add("behind" if dz > 0 else "in front of")
    is_up = target.bottom_m - reference.top_m > -RELATION_MARGIN_M
    is_down = target.top_m - reference.bottom_m < RELATION_MARGIN_M
    if is_up and not is_down:
        said.add("up")
    if is_down and not is_up:
        said.add("down")
    return frozenset(said)


def opposite(words: Iterable[Predicate]) -> Relation:
    """What is true the other way round.

    >>> sorted(opposite({"left", "up"}))
    ['down', 'right']
    """
    return frozenset(OPPOSITE[word] for word in words)


def in_order(words: Iterable[str]) -> list[Predicate]:
    """The words in the order of `PREDICATES`, in which they are written to files and prompts."""
    found = set(words)
    return [word for word in PREDICATES if word in found]

"""What a stored run says of each item, in one form for all instruments: the readouts that twins are told apart by.

A *readout* is one number that an instrument reads off one item: an angle, a share, whether an answer changed. A *reading*
is its value on one item of one run. Readings are made from stored runs; no model is called.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from theodolite.core.errors import UsageError

__all__ = ["NEEDS", "Need", "Origin", "Reading", "Readout", "by_readout", "can"]

Origin: TypeAlias = Literal["paper", "sound", "ours"]
"""``paper``: as published. ``sound``: the published idea without its defect. ``ours``: not in any of the four papers."""

Need: TypeAlias = Literal["text", "choices", "gradients"]
"""What a model must give: answers in words, the log-probabilities of options, or gradients and attention."""
NEEDS: tuple[Need, ...] = get_args(Need)


@dataclass(frozen=True, slots=True)
class Readout:
    """One number that an instrument reads off an item.

    >>> Readout("compass.mirrored", "answer follows the mirrored picture", True, "ours", "text").instrument
    'compass'
    """

    key: str
    """``<instrument>.<name>``, such as ``compass.dae.paper.chefer@gt``."""
    name: str
    """In words, as tables and figures have it."""
    higher_is_grounded: bool
    """Which way a model that looks is expected to lie."""
    origin: Origin
    needs: Need

    def __post_init__(self) -> None:
        if not all(self.key.partition(".")[::2]):
            raise UsageError(f"a readout's key is <instrument>.<name>, not {self.key!r}")
        if self.needs not in NEEDS or self.origin not in get_args(Origin):
            raise UsageError(f"the readout {self.key} has the origin {self.origin!r}, needs {self.needs!r}")

    @property
    def instrument(self) -> str:
        """The part of the key before the first dot."""
        return self.key.partition(".")[0]

    def towards_grounded(self, value: float) -> float:
        """The value, with its sign turned where lower is grounded: then more is always more like looking."""
        return value if self.higher_is_grounded else -value


@dataclass(frozen=True, slots=True)
class Reading:
    """The value of one readout on one item."""

    item: str
    """What was read: a pair, a question, a scene, an episode. The same in runs of other models on the same data."""
    readout: str
    value: float
    cluster: str
    """The picture, scene or episode that the item shares with others."""
    split: str = ""
    """``aligned``, ``crossed`` or ``free``; empty where the data are not the twins'."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise UsageError(
                f"a reading is a finite number, not {self.value} ({self.readout} of {self.item})"
            )


def by_readout(readings: Iterable[Reading]) -> Mapping[str, list[Reading]]:
    """The readings of each readout, in order.

    >>> list(by_readout([Reading("a", "grid.swap", 1.0, "a"), Reading("b", "grid.swap", 0.0, "b")]))
    ['grid.swap']
    """
    found: dict[str, list[Reading]] = {}
    for reading in readings:
        found.setdefault(reading.readout, []).append(reading)
    return found


def can(given: Need, needed: Need) -> bool:
    """Whether a model that gives so much serves a readout that needs so much.

    >>> can("choices", "text"), can("choices", "gradients")
    (True, False)
    """
    return NEEDS.index(given) >= NEEDS.index(needed)

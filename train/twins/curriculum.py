"""The tasks of the training, their shares, and the workers that make their lessons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

N_SIDE = 10
"""Patches along a side of a twin's picture."""


@dataclass(frozen=True, slots=True)
class Begin:
    """The point at which the training of a model begins, and its initial weights."""

    at: float
    """Position in the training, from 0 to 1."""
    weights_of: str
    """The model whose weights it begins with."""


@dataclass(frozen=True, slots=True)
class Curriculum:
    """The tasks of a training."""

    batches: tuple[tuple[int, Mapping[str, float]], ...]
    """The batches of a step: number of rows, and shares of the tasks."""
    weights: Mapping[str, float]
    """Weights of the tasks in the loss."""
    every: Mapping[str, int]
    """By model, the steps of the training per step of the model."""
    workers: Mapping[str, int]
    """The kinds of lessons, and how many processes make each."""
    more: tuple[str, ...]
    """What further processes make, in turn."""
    held_out: int = 96
    """The first lessons of each task are held out to measure generalisation."""
    begins: Mapping[str, Begin] = field(default_factory=dict)
    """Models that are trained after another one, whose training then ends."""

    def span(self, model: str) -> tuple[float, float]:
        """Return the part of the training in which a model is trained, from 0 to 1."""
        last = min((begin.at for begin in self.begins.values()), default=1.0)
        return (self.begins[model].at, 1.0) if model in self.begins else (0.0, last)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks, in the order of the batches."""
        return tuple(dict.fromkeys(task for _, shares in self.batches for task in shares))


TWINS = Curriculum(
    batches=(
        (256, {"relation": 0.28, "grid": 0.28, "scene": 0.36, "frame": 0.08}),
        (32, {"trace": 1.0}),
    ),
    weights={"relation": 0.25, "grid": 0.3, "scene": 0.35, "frame": 0.1, "trace": 0.5},
    every={"grounded": 1, "shortcut": 1, "mixed": 2},  # the mixed one should be between them, not good
    workers={"relation": 1, "grid": 3, "scene": 5, "video": 3, "navigation": 1, "instruction": 1},
    more=("scene", "video", "navigation", "relation"),
)
"""Everything that the shipped twins know."""
ZOO = Curriculum(
    batches=((320, {"relation": 0.4, "grid": 0.6}),),
    weights={"relation": 0.25, "grid": 0.3},
    every={"grounded": 1, "shortcut": 2, "mixed": 1},  # the shortcut is learnt fastest
    workers={"relation": 8, "grid": 6},
    more=("relation", "grid"),
    held_out=512,
    begins={"mixed": Begin(0.6, "grounded")},  # from random weights it learns grids too late
)
"""Two tasks, which a stranger learns in one leg."""

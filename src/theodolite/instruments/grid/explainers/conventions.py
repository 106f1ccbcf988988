"""What is explained: which number of the model's output, and how parts of the input are hidden."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.world import BUCKETS, World
from theodolite.instruments.grid.explainers.game import Floats, PlayerSet

Explained: TypeAlias = Literal["answer", "log-odds", "expected"]
"""``answer``: the logit of one answer. ``log-odds``: log p/(1−p) of that answer. ``expected``: the expected count Σ c·p(c),
or the log-odds of yes; it needs no answer and does not saturate where counts change."""
EXPLAINED: tuple[Explained, ...] = ("answer", "log-odds", "expected")
Fill: TypeAlias = Literal["white", "grey", "black"]
"""What a hidden cell becomes. White removes its object; grey and black cover it, which no training scene shows."""
Hiding: TypeAlias = Literal["mask", "delete"]
"""What a hidden word becomes: the word ``<mask>``, or nothing, so that the rest moves up."""
FILLS: tuple[Fill, ...] = ("white", "grey", "black")
HIDINGS: tuple[Hiding, ...] = ("mask", "delete")


@dataclass(frozen=True, slots=True)
class Convention:
    """What is explained, and how parts are hidden."""

    fill: Fill = "white"
    hiding: Hiding = "mask"
    explained: Explained = "expected"
    answer: Literal["said", "gold"] = "said"
    """The answer of the logit and the log-odds: the model's own, or the right one."""
    players: PlayerSet = field(default_factory=PlayerSet)

    def __post_init__(self) -> None:
        if self.answer not in {"said", "gold"}:
            raise UsageError(f"the explained answer is said or gold, not {self.answer!r}")
        if self.explained not in EXPLAINED:
            raise UsageError(f"what can be explained is {', '.join(EXPLAINED)}, not {self.explained!r}")
        check_hiding(self.fill, self.hiding)


def check_hiding(fill: str, hiding: str) -> None:
    """Raises a `UsageError` for an unknown way to hide cells or words."""
    if fill not in FILLS or hiding not in HIDINGS:
        raise UsageError(
            f"hidden cells are filled with {', '.join(FILLS)}, hidden words become {' or '.join(HIDINGS)}; got {fill!r} "
            f"and {hiding!r}"
        )


def explained_output(
    explained: Explained, *, world: World, bucket: int, answer: int
) -> Callable[[Floats], Floats]:
    """The function from logits (…, answers) to the explained output (…).

    >>> spread = explained_output("expected", world=World(2, 2, max_count=1), bucket=0, answer=0)
    >>> float(spread(np.array([[0.0, 0.0, -9.0, -9.0]]))[0])  # 0 and 1 equally likely
    0.5
    """
    if explained not in EXPLAINED:
        raise UsageError(f"what can be explained is {', '.join(EXPLAINED)}, not {explained!r}")
    if explained == "answer":
        return lambda logits: np.asarray(logits[..., answer])
    if explained == "log-odds":
        others = np.arange(len(world.answers)) != answer
        return lambda logits: np.asarray(
            logits[..., answer] - np.logaddexp.reduce(logits[..., others], axis=-1)
        )
    if not BUCKETS[bucket].is_count:
        return lambda logits: np.asarray(logits[..., world.yes] - logits[..., world.yes + 1])

    def expected(logits: Floats) -> Floats:
        counts = logits[..., : world.max_count + 1]
        weights = np.exp(counts - counts.max(axis=-1, keepdims=True))
        return np.asarray((weights * np.arange(counts.shape[-1])).sum(axis=-1) / weights.sum(axis=-1))

    return expected

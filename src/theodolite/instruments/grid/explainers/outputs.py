"""Which number of a model's output is explained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.world import BUCKETS, World
from theodolite.instruments.grid.explainers.game import Floats

Explained: TypeAlias = Literal["answer", "log-odds", "expected"]
"""``answer``: the logit of one answer. ``log-odds``: log p/(1−p) of that answer. ``expected``: the expected count Σ c·p(c),
and for yes-no questions the log-odds of yes; it does not saturate where counts change, and needs no answer."""
EXPLAINED: tuple[Explained, ...] = ("answer", "log-odds", "expected")


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

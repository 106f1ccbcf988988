"""Mixtures of the twins' scores, whose position between the twins is known."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore


def mix_scores(
    grounded: Iterable[ItemScore], shortcut: Iterable[ItemScore], *, share: float, seed: int
) -> list[ItemScore]:
    """Take the scores of the grounded twin on a fraction of the clusters, and those of the shortcut twin on the others.

    Clusters are drawn at random within each split. All scores of one cluster in a split come from one twin, as with a
    model that uses some pictures and ignores others.

    Args:
        grounded: Scores of the grounded twin.
        shortcut: Scores of the shortcut twin on the same items.
        share: Fraction of clusters from the grounded twin, from 0 to 1.
        seed: Seed of the draw.
    """
    if not 0 <= share <= 1:
        raise UsageError(f"share must lie between 0 and 1, got {share}")
    first, second = list(grounded), list(shortcut)
    chosen: set[tuple[str, str]] = set()
    for split in sorted({score.split for score in (*first, *second)}):
        names = sorted({score.cluster for score in (*first, *second) if score.split == split})
        order = np.random.default_rng([seed, len(names)]).permutation(len(names))
        chosen |= {(split, names[i]) for i in order[: round(share * len(names))]}
    return [score for score in first if (score.split, score.cluster) in chosen] + [
        score for score in second if (score.split, score.cluster) not in chosen
    ]

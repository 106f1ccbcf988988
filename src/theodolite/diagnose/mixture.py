"""Models whose position is known: the one twin on a share of the items, the other on the rest."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore


def mix_scores(
    grounded: Iterable[ItemScore], shortcut: Iterable[ItemScore], *, share: float, seed: int
) -> list[ItemScore]:
    """Scores that are the grounded twin's on a share of the clusters and the shortcut twin's on the others.

    Clusters are drawn at random, as many of each split as the share says, rounded; all scores of one cluster in a split come
    from one twin, as they would of a model that looks at some pictures and not at others.

    Args:
        grounded: Of the one twin.
        shortcut: Of the other, on the same items.
        share: Of clusters, from 0 to 1.
        seed: Of the draw.
    """
    if not 0 <= share <= 1:
        raise UsageError(f"a share lies between 0 and 1, got {share}")
    first, second = list(grounded), list(shortcut)
    chosen: set[tuple[str, str]] = set()
    for split in sorted({score.split for score in (*first, *second)}):
        names = sorted({score.cluster for score in (*first, *second) if score.split == split})
        order = np.random.default_rng([seed, len(names)]).permutation(len(names))
        chosen |= {(split, names[i]) for i in order[: round(share * len(names))]}
    return [score for score in first if (score.split, score.cluster) in chosen] + [
        score for score in second if (score.split, score.cluster) not in chosen
    ]

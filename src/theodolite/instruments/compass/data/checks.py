"""Whether the words of pairs fit their boxes."""

from __future__ import annotations

import math
from collections.abc import Iterable

from theodolite import stats
from theodolite.instruments.compass.data.directions import EIGHT, Vocabulary
from theodolite.instruments.compass.data.pairs import Pair

_ASTRAY_DEG = 90.0


def pair_cautions(pairs: Iterable[Pair], *, vocabulary: Vocabulary = EIGHT) -> dict[str, tuple[str, ...]]:
    """The ids of pairs that can be asked about but hardly be scored, by what is the matter with them.

    A caption may speak of an object's own left, or of depth, and be true; the compass only knows the boxes' centres.

    Args:
        pairs: all of them.
        vocabulary: the angles of the directions' names; a name that is not in it is not judged.
    """
    found: dict[str, list[str]] = {}
    for pair in pairs:
        angle = vocabulary.angles_deg.get(pair.direction)
        if math.dist(pair.reference.box.centre_px, pair.target.box.centre_px) == 0:
            found.setdefault("the boxes have the same centre: there is no direction", []).append(pair.id)
        elif angle is not None and float(stats.circular_distance(angle, pair.true_deg)) > _ASTRAY_DEG:
            found.setdefault("the direction is more than 90° from where the boxes lie", []).append(pair.id)
    return {reason: tuple(ids) for reason, ids in found.items()}

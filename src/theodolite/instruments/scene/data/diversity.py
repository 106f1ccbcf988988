"""Drops near-duplicate scenes, and balances how crowded scenes are."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from theodolite.instruments.scene.data.graph import Crowding, SceneGraph
from theodolite.instruments.scene.data.relations import in_order

SAME_OBJECTS, SAME_EDGES = 0.8, 0.9
"""Jaccard indices at which two scenes count as the same."""
DISTANCE_BINS_M = (5.0, 15.0, 25.0)
BALANCE: Mapping[Crowding, int] = {"sparse": 1, "common": 2, "dense": 2}
"""Proportion of scenes of each crowding."""


def drop_alike(scenes: Sequence[SceneGraph]) -> tuple[list[SceneGraph], Counter[str]]:
    """Drops scenes that show the same objects, or the same arrangement of the same kinds of objects.

    Two scenes are near-duplicates if the Jaccard index |A ∩ B| / |A ∪ B| of their objects' keys is at least 0.8, or that of
    their edges (category of both ends, words, distance in bins of 5, 15 and 25 m; as multisets) is at least 0.9. The one with
    fewer edges is dropped; of equals, the later one.

    Returns:
        The remaining scenes, in their old order, and how many were dropped by each rule.
    """
    counts: Counter[str] = Counter()
    order = sorted(range(len(scenes)), key=lambda i: (-scenes[i].n_edges, i))
    kept = _distinct(order, [_keys(scene) for scene in scenes], SAME_OBJECTS)
    counts["scenes that show the same objects"] = len(order) - len(kept)
    final = _distinct(kept, [edge_signature(scene) for scene in scenes], SAME_EDGES)
    counts["scenes arranged alike"] = len(kept) - len(final)
    return [scenes[i] for i in sorted(final)], +counts


def edge_signature(scene: SceneGraph) -> Counter[Hashable]:
    """The star's edges without names and exact distances, to compare arrangements by."""
    found: Counter[Hashable] = Counter()
    for thing in scene.objects:
        if thing.id != scene.centre:
            words = tuple(in_order(scene.relation(thing.id, scene.centre)))
            place = int(
                np.searchsorted(DISTANCE_BINS_M, scene.between_m(scene.centre, thing.id), side="right")
            )
            found[scene[scene.centre].category, thing.category, words, place] += 1
    return found


def _keys(scene: SceneGraph) -> Counter[Hashable]:
    return Counter(thing.key for thing in scene.objects if thing.key)


def _distinct(order: Iterable[int], features: Sequence[Counter[Hashable]], limit: float) -> list[int]:
    """Greedy: a scene is kept unless a kept one is too similar. Only scenes that share a feature are compared."""
    holders: defaultdict[Hashable, list[int]] = defaultdict(list)
    kept = []
    for i in order:
        mine = features[i]
        rivals = {j for feature in mine for j in holders[feature]}
        if any(_jaccard(mine, features[j]) >= limit for j in rivals):
            continue
        kept.append(i)
        for feature in mine:
            holders[feature].append(i)
    return kept


def _jaccard(one: Counter[Hashable], two: Counter[Hashable]) -> float:
    shared = sum((one & two).values())
    return shared / max(1, one.total() + two.total() - shared)


def balance_crowding(
    scenes: Sequence[SceneGraph],
    *,
    most: int | None = None,
    shares: Mapping[Crowding, int] = BALANCE,
    seed: int = 0,
) -> tuple[list[SceneGraph], Counter[str]]:
    """Keeps as many sparse, common and dense scenes as the proportion 1 : 2 : 2 allows.

    Args:
        scenes: To choose from.
        most: The largest number of scenes in all.
        shares: The proportion.
        seed: Seed of the choice.

    Returns:
        The chosen scenes in their old order, and how many were left out.
    """
    by_crowding: defaultdict[Crowding, list[int]] = defaultdict(list)
    for i, scene in enumerate(scenes):
        by_crowding[scene.crowding].append(i)
    present = {crowding: share for crowding, share in shares.items() if by_crowding[crowding]}
    if not present:
        return [], Counter()
    units = min(len(by_crowding[crowding]) / share for crowding, share in present.items())
    if most is not None:
        units = min(units, most / sum(present.values()))
    rng = np.random.default_rng(seed)
    chosen: list[int] = []
    for crowding, share in present.items():
        places = by_crowding[crowding]
        n = min(len(places), max(1, round(units * share)))
        chosen += [places[k] for k in rng.permutation(len(places))[:n]]
    return [scenes[i] for i in sorted(chosen)], Counter(
        {"scenes left out for balance": len(scenes) - len(chosen)}
    )

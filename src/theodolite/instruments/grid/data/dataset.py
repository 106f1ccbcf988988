"""Data sets of scenes: what to make, and the scenes together with what they were made for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import SceneBatch, join
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.recipe import PAPER, Density, Guarantee, Recipe, guarantee_of
from theodolite.instruments.grid.data.splits import Split, hash_scenes, split_of
from theodolite.instruments.grid.data.world import BUCKET_KEYS, BUCKETS, Mode


@dataclass(frozen=True, slots=True)
class DatasetPlan:
    """A data set that can be made again from these words alone."""

    mode: Mode
    n: int
    """Scenes for each bucket at each density."""
    seed: int
    recipe: Recipe = PAPER
    densities: tuple[Density, ...] = ("sparse", "dense")
    buckets: tuple[str, ...] = BUCKET_KEYS
    split: Split | None = None
    """Only scenes of this split; scenes of all splits, 14 : 1 : 1, unless given."""

    def __post_init__(self) -> None:
        counts = [self.recipe.objects(density) for density in self.densities]
        if not counts or len(set(counts)) < len(counts):
            raise UsageError(f"densities must name different numbers of objects, got {counts}")
        if not self.buckets or len(set(self.buckets)) < len(self.buckets):
            raise UsageError(
                f"buckets must be different and at least one, got {', '.join(self.buckets) or 'none'}"
            )

    def guarantees(self) -> dict[tuple[str, int], Guarantee]:
        """What each bucket promises at each number of objects."""
        return {
            (bucket.key, objects): guarantee_of(bucket, objects)
            for objects in map(self.recipe.objects, self.densities)
            for bucket in BUCKETS
            if bucket.key in self.buckets
        }


@dataclass(frozen=True, slots=True)
class Dataset:
    """Scenes with their plan."""

    plan: DatasetPlan
    scenes: SceneBatch
    density: NDArray[np.str_]
    """The density that each scene was made at, as the plan names it, (n,)."""

    def __len__(self) -> int:
        return len(self.scenes)

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """The scene-question hash of each scene."""
        return hash_scenes(self.scenes.cells, self.scenes.words)

    @property
    def splits(self) -> NDArray[np.str_]:
        """The split of each scene."""
        return split_of(self.hashes)

    def name(self, row: int) -> str:
        """A scene's own name, such as ``M-F0-D2-dense-00017``."""
        return f"{self.scenes.bucket_key(row)}-{self.density[row]}-{row % self.plan.n:05d}"


def make_dataset(plan: DatasetPlan) -> Dataset:
    """Makes the scenes of a plan: densities in order, within each the buckets in order.

    >>> data = make_dataset(DatasetPlan("pure", 2, seed=0, buckets=("A-F0-D1", "M-F0-D3")))
    >>> len(data), data.name(2), data.name(7)
    (8, 'M-F0-D3-sparse-00000', 'M-F0-D3-dense-00001')
    """
    parts, densities = [], []
    for density in plan.densities:
        part = generate(
            plan.buckets,
            plan.n,
            mode=plan.mode,
            density=density,
            preset=plan.recipe,
            seed=plan.seed,
            split=plan.split,
        )
        parts.append(part)
        densities += [str(density)] * len(part)
    return Dataset(plan, join(parts), np.array(densities))

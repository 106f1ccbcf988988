"""Data sets in memory: the plan, and the scenes made from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import DataSplit, SceneBatch, hash_scenes, join, split_of
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.recipe import PAPER, Density, Guarantee, Recipe, guarantee_of
from theodolite.instruments.grid.data.world import BUCKET_KEYS, BUCKETS, Mode


@dataclass(frozen=True, slots=True)
class DatasetPlan:
    """Everything needed to make a data set again."""

    mode: Mode
    n: int
    """Scenes for each bucket at each density."""
    seed: int
    recipe: Recipe = PAPER
    densities: tuple[Density, ...] = ("sparse", "dense")
    buckets: tuple[str, ...] = BUCKET_KEYS
    split: DataSplit | None = None
    """Only scenes of this split; if not given, of all three, 14 : 1 : 1."""

    def __post_init__(self) -> None:
        counts = [self.recipe.objects(density) for density in self.densities]
        if not counts or len(set(counts)) < len(counts):
            raise UsageError(f"densities must name different numbers of objects, got {counts}")
        if not self.buckets or len(set(self.buckets)) < len(self.buckets):
            raise UsageError(
                f"buckets must be different and at least one, got {', '.join(self.buckets) or 'none'}"
            )

    def guarantees(self) -> dict[tuple[str, int], Guarantee]:
        """What Theorem 1 guarantees for each bucket at each number of objects; nothing if scenes follow another law."""
        if self.recipe.law == "balanced":
            return {}
        return {
            (bucket.key, objects): guarantee_of(bucket, objects)
            for objects in map(self.recipe.objects, self.densities)
            for bucket in BUCKETS
            if bucket.key in self.buckets
        }


@dataclass(frozen=True, slots=True)
class PublishedText:
    """What an imported data set says, in the order of its scenes."""

    names: tuple[str, ...]
    questions: tuple[str, ...]
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Scenes with their plan."""

    plan: DatasetPlan
    scenes: SceneBatch
    density: NDArray[np.str_]
    """The density of each scene, as in the plan, (n,)."""
    published: PublishedText | None = None
    """Questions and answers of imported scenes; made ones have their own."""

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
        """The name of a scene, such as ``M-F0-D2-dense-00017``."""
        if self.published is not None:
            return self.published.names[row]
        return f"{self.scenes.bucket_key(row)}-{self.density[row]}-{row % self.plan.n:05d}"

    def text(self, row: int) -> str:
        """The question of a scene, as it is asked."""
        return self.published.questions[row] if self.published is not None else self.scenes.text(row)

    def answer_text(self, row: int) -> str:
        """The answer of a scene; of an imported one, the published answer."""
        return self.published.answers[row] if self.published is not None else self.scenes.answer_text(row)


def make_dataset(plan: DatasetPlan) -> Dataset:
    """Makes the scenes of a plan, by density and then by bucket.

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

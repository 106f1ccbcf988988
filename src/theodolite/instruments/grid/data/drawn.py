"""The grid sets of a diagnosis: aligned scenes, where a bag of words is right, and crossed ones, where it is misled."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from theodolite.core.errors import UsageError
from theodolite.core.splits import Split
from theodolite.instruments.grid.data.dataset import DatasetPlan, make_dataset
from theodolite.instruments.grid.data.files import StoredDataset, read_dataset, write_dataset
from theodolite.instruments.grid.data.world import BUCKETS

__all__ = ["KEYS", "grid_data", "write_explained", "write_grids"]

KEYS = tuple(bucket.key for bucket in BUCKETS if bucket.depth == 1)
"""The buckets of depth one."""


def grid_data(folder: str | Path, n: int, *, seed: int = 0, split: Split = "crossed") -> StoredDataset:
    """Grid scenes of depth one, `n` of each bucket and density, from the test split that no training sees.

    Aligned scenes are the spurious ones, where a bag of words is right; crossed ones are pure.

    Args:
        folder: where to write them; it must be new or empty.
        n: of each of nine buckets, sparse and dense.
        seed: of the draw.
        split: aligned or crossed.
    """
    if split == "free":
        raise UsageError("grid scenes are aligned or crossed: bag of words decides")
    plan = DatasetPlan("spur" if split == "aligned" else "pure", n, seed=seed, buckets=KEYS, split="test")
    return read_dataset(write_dataset(make_dataset(plan), folder))


def write_explained(folder: Path, n: int, *, seed: int, split: str = "aligned") -> None:
    """Sparse scenes to be explained: the relational buckets of depth one, where the shortcut is right or where it is not."""
    from theodolite.instruments.grid.data.world import BUCKETS

    keys = tuple(bucket.key for bucket in BUCKETS if bucket.depth == 1 and bucket.is_relational)
    write_grids(folder, n, seed=seed, buckets=keys, mode="spur" if split == "aligned" else "pure")


def write_grids(
    folder: Path, n: int, *, seed: int, buckets: tuple[str, ...], mode: Literal["pure", "spur"] = "pure"
) -> None:
    """Sparse scenes of some buckets, `n` of each, from the test split, apart from those of the main run."""
    from theodolite.instruments.grid.data.dataset import DatasetPlan, make_dataset
    from theodolite.instruments.grid.data.files import write_dataset

    plan = DatasetPlan(mode, n, seed + 1, densities=("sparse",), buckets=buckets, split="test")
    write_dataset(make_dataset(plan), folder)

"""Does a data set keep its promises? Every label, guarantee and split is worked out again from the stored scenes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import GUARANTEES, SceneBatch, complete
from theodolite.instruments.grid.data.evaluate import find_anchors
from theodolite.instruments.grid.data.faults import (
    Fault,
    broken_labels,
    broken_scenes,
    broken_splits,
    compare_pictures,
)
from theodolite.instruments.grid.data.files import StoredDataset
from theodolite.instruments.grid.data.heuristics import Heuristic, heuristics
from theodolite.instruments.grid.data.parsing import read_questions
from theodolite.instruments.grid.data.recipe import Guarantee, guarantee_of
from theodolite.instruments.grid.data.splits import hash_scenes
from theodolite.instruments.grid.data.words import Questions, words_of, write_questions
from theodolite.instruments.grid.data.world import ANCHOR_SIDE, BUCKETS, Mode
from theodolite.stats import Estimate, wilson_interval


@dataclass(frozen=True, slots=True)
class BucketAudit:
    """One bucket at one density."""

    bucket: str
    density: str
    objects: int
    n: int
    promise: Guarantee | None
    """What Theorem 1 promises here; none for spurious data."""
    levels: dict[str, int]
    """How many scenes keep which level of it."""
    heuristics: list[Heuristic]


@dataclass(frozen=True, slots=True)
class Audit:
    """What a data set promises, and whether it keeps it."""

    mode: Mode
    preset: str
    n: int
    duplicates: int
    """Scenes with questions that stand in the data set before."""
    pictures_checked: int
    buckets: list[BucketAudit]
    overall: dict[str, Estimate]
    """Success of each shortcut over all buckets."""
    faults: list[Fault]

    @property
    def is_kept(self) -> bool:
        """Whether no promise is broken."""
        return not self.faults


def audit(
    data: StoredDataset,
    *,
    n_permutations: int = 199,
    most_pictures: int = 200,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Audit:
    """Audits a data set from its files.

    Args:
        data: As `read_dataset` gives it.
        n_permutations: Shuffles behind each mutual information.
        most_pictures: How many pictures to compare with their scenes, evenly spread.
        seed: Of the shuffles.
        progress: Called with the number of buckets done so far.
    """
    world, mode = data.plan.recipe.world, data.plan.mode
    questions, words, spans = _questions(data)
    faults = list(broken_scenes(world, data, questions))
    places, counts = find_anchors(data.cells, questions)
    is_lost = ((ANCHOR_SIDE[questions.bucket][:, : places.shape[1]] > 0) & (counts != 1)).any(axis=1)
    rows = np.flatnonzero(~is_lost)
    if not len(rows):
        raise UsageError(f"no scene of {data.folder} has its anchors; this is not a data set to audit")
    scenes = complete(
        world,
        mode,
        cells=data.cells[rows],
        questions=questions.take(rows),
        written=(words[rows], spans[rows]),
    )
    faults += broken_labels(data, scenes, rows)
    faults += broken_splits(data, words)
    checked, broken = compare_pictures(data, most_pictures)
    faults += broken
    parts = []
    for key, density in dict.fromkeys((r.bucket, r.density) for r in data.records):
        mine = np.array([data.records[i].bucket == key and data.records[i].density == density for i in rows])
        if mine.any():
            parts.append(
                _audit_bucket(scenes.take(mine), (key, density), n_permutations=n_permutations, seed=seed)
            )
        if progress is not None:
            progress(len(parts))
    hashes = hash_scenes(data.cells, words)
    return Audit(
        mode,
        data.plan.recipe.name,
        len(data),
        len(data) - len(np.unique(hashes)),
        checked,
        parts,
        _overall(parts),
        [fault for fault in faults if fault.count],
    )


def _questions(data: StoredDataset) -> tuple[Questions, NDArray[np.uint8], NDArray[np.uint8]]:
    said = np.stack([words_of(record.question) for record in data.records])
    questions = read_questions(said)
    return questions, *write_questions(questions)


def _audit_bucket(
    scenes: SceneBatch, name: tuple[str, str], *, n_permutations: int, seed: int
) -> BucketAudit:
    objects = int((scenes.cells[0] > 0).sum())
    promise = guarantee_of(BUCKETS[int(scenes.bucket[0])], objects) if scenes.mode == "pure" else None
    counts = np.bincount(scenes.guarantee, minlength=len(GUARANTEES))
    levels = {level: int(count) for level, count in zip(GUARANTEES, counts, strict=True) if count}
    found = heuristics(scenes, n_permutations=n_permutations, seed=seed)
    return BucketAudit(name[0], name[1], objects, len(scenes), promise, levels, found)


def _overall(parts: list[BucketAudit]) -> dict[str, Estimate]:
    """Success over all buckets that a shortcut applies to, each scene once."""
    right: dict[str, list[int]] = {}
    for part in parts:
        for each in part.heuristics:
            hits = right.setdefault(each.name, [0, 0])
            hits[0] += round(each.success.value * each.success.n)
            hits[1] += each.success.n
    return {name: wilson_interval(hits, n) for name, (hits, n) in right.items()}

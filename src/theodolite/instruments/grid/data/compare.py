"""What two data sets must have in common, and what they must not: answers, and scenes across splits."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.files import StoredDataset
from theodolite.stats import holm, mutual_information


@dataclass(frozen=True, slots=True)
class AnswerAgreement:
    """Whether two data sets answer alike in one bucket."""

    bucket: str
    density: str
    distance: float
    """Total variation distance of the answers' shares, ½ Σ |p − q|."""
    p_value: float
    """Of the hypothesis that both draw answers alike, by shuffling which data set a scene belongs to; Holm over buckets."""
    n: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two data sets beside each other."""

    answers: list[AnswerAgreement]
    shared_across_splits: int
    """Scenes of one data set that stand in the other under another split. It must be none."""
    shared: int
    """Scenes that stand in both at all."""
    level: float

    @property
    def differing(self) -> list[AnswerAgreement]:
        """Buckets whose answers are not drawn alike."""
        return [each for each in self.answers if each.p_value < self.level]

    @property
    def is_kept(self) -> bool:
        """Whether answers agree and no scene crosses splits."""
        return not self.differing and not self.shared_across_splits


def compare(
    first: StoredDataset,
    second: StoredDataset,
    *,
    n_permutations: int | None = None,
    level: float = 0.01,
    seed: int = 0,
) -> Comparison:
    """Compares answers bucket by bucket, and looks for scenes that stand in both.

    Whether answers depend on the data set is tested by their mutual information with its shuffled null.

    Args:
        first: A data set.
        second: Another one, with some bucket at the same density.
        n_permutations: Shuffles in each bucket. The smallest p that m shuffles can give is 1/(m + 1), which Holm
            multiplies by the number of buckets: unless given, there are enough for half of `level`.
        level: Below which adjusted p two data sets do not answer alike.
        seed: Of the shuffles.

    Raises:
        UsageError: no bucket in common, or too few shuffles for any difference to be found.
    """
    ours, others = _groups(first), _groups(second)
    keys = [key for key in ours if key in others]
    if not keys:
        raise UsageError(f"{first.folder} and {second.folder} have no bucket at the same density in common")
    n_permutations = n_permutations or math.ceil(2 * len(keys) / level)
    if len(keys) / (n_permutations + 1) >= level:
        raise UsageError(
            f"{n_permutations} shuffles cannot tell a difference at {level} in {len(keys)} buckets; "
            f"give at least {math.ceil(len(keys) / level)}"
        )
    found = []
    for key in keys:
        mine, theirs = ours[key], others[key]
        labels = np.repeat([0, 1], [len(mine), len(theirs)])
        p = mutual_information(
            labels, np.array([*mine, *theirs]), n_permutations=n_permutations, seed=seed
        ).p_value
        found.append((key, _distance(mine, theirs), p, (len(mine), len(theirs))))
    adjusted = holm([p for _, _, p, _ in found])
    answers = [
        AnswerAgreement(bucket, density, distance, float(p), n)
        for ((bucket, density), distance, _, n), p in zip(found, adjusted, strict=True)
    ]
    splits = {record.hash: record.split for record in first.records}
    both = [record for record in second.records if record.hash in splits]
    crossing = sum(splits[record.hash] != record.split for record in both)
    return Comparison(answers, crossing, len(both), level)


def _groups(data: StoredDataset) -> dict[tuple[str, str], list[str]]:
    groups: dict[tuple[str, str], list[str]] = {}
    for record in data.records:
        groups.setdefault((record.bucket, record.density), []).append(record.answer)
    return groups


def _distance(first: list[str], second: list[str]) -> float:
    a, b = Counter(first), Counter(second)
    return sum(abs(a[key] / len(first) - b[key] / len(second)) for key in {*a, *b}) / 2

"""Self-consistency: whether the model answers what its own graph implies (CRISP, section 3.3).

The answer that the solver derives from the model's graph is scored with the model's direct answer as gold: 1 or 0 of a choice,
MRA of a number. It is 0 if either is missing.

Some agreement is due to chance: a model that always says "A" agrees with any graph that implies "A". Chance agreement is what is
left when direct answers are exchanged between questions of one domain and kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.scene.data.questions import SceneQuestion
from theodolite.instruments.scene.formulas.mra import MraComparison, Value, agreement

_ROUNDS = 8


def self_consistency(
    questions: Sequence[SceneQuestion],
    derived: Sequence[Value],
    direct: Sequence[Value],
    *,
    comparison: MraComparison = "<",
) -> NDArray[np.float64]:
    """The self-consistency of each question.

    Args:
        questions: What was asked.
        derived: The answers that the model's graph implies.
        direct: The model's own answers.
        comparison: How MRA compares numbers.
    """
    return agreement(questions, derived, direct, comparison=comparison)


def chance_agreement(
    questions: Sequence[SceneQuestion],
    values: Sequence[Value],
    references: Sequence[Value],
    *,
    comparison: MraComparison = "<",
    seed: int,
) -> NDArray[np.float64]:
    """The agreement of each question when references are permuted among questions of one domain and kind.

    Args:
        questions: What was asked.
        values: The answers to score.
        references: The answers taken as gold.
        comparison: How MRA compares numbers.
        seed: Seed of the permutations; the mean over several is taken.
    """
    if not questions:
        return np.zeros(0)
    cells: dict[tuple[str, str, int], list[int]] = {}
    for i, question in enumerate(questions):
        cells.setdefault((question.domain, question.kind, len(question.options)), []).append(i)
    rng = np.random.default_rng(seed)
    total = np.zeros(len(questions))
    for _ in range(_ROUNDS):
        permuted: list[Value] = [None] * len(questions)
        for places in cells.values():
            for place, other in zip(places, rng.permutation(places), strict=True):
                permuted[place] = references[other]
        total += agreement(questions, values, permuted, comparison=comparison)
    return total / _ROUNDS

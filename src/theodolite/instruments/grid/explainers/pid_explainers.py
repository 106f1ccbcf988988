"""PID of a bucket: the model's answer, from one summary of the picture and one of the question.

The picture is summarised by the number of look-alikes of the target on each side of the first anchor, the question by its
first direction. A model that uses the relation needs both at once (synergy); a bag of words needs only the total count of
the picture's summary. Questions without a relation are summarised by the target's description.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import SceneBatch
from theodolite.instruments.grid.data.evaluate import look
from theodolite.instruments.grid.data.world import BUCKETS, Integers, offsets
from theodolite.instruments.grid.explainers.contract import Explainer
from theodolite.instruments.grid.explainers.pid import (
    PidScore,
    convex_pids,
    gaussian_pid,
    one_by_one,
    with_null,
)
from theodolite.instruments.grid.explainers.pool import Pool

Estimator: TypeAlias = Literal["convex", "gaussian", "batch"]
SUMMARIES = (
    "picture: target look-alikes to the left, right, above and below of the first anchor (convex: whether any is there); "
    "question: the first direction (without relations: the target)"
)
FEWEST = 20
"""With fewer scenes, chance alone gives as much synergy."""
SHUFFLES = 19


@dataclass(frozen=True, slots=True)
class Summaries:
    """The summaries of picture and question."""

    picture: NDArray[np.float64]
    """(n, 4)."""
    question: Integers
    """(n,)."""


def summarise_scenes(batch: SceneBatch) -> Summaries:
    """The summaries of scenes of one bucket; see `SUMMARIES`."""
    sight = look(batch.world, batch.cells, batch.questions)
    alike = sight.alike[:, 0]
    bucket = BUCKETS[int(batch.bucket[0])]
    if not bucket.n_anchors:
        quarter = np.array_split(np.arange(batch.cells.shape[1]), 4)
        counts = np.stack([alike[:, part].sum(axis=1) for part in quarter], axis=1)
        return Summaries(counts.astype(np.float64), batch.questions.targets[:, 0].astype(np.int64))
    first = np.argmax(batch.roles == 1, axis=1)
    table = offsets(batch.world.rows, batch.world.columns)
    counts = np.stack([(alike & (table[side, first] > 0)).sum(axis=1) for side in range(1, 5)], axis=1)
    return Summaries(counts.astype(np.float64), batch.questions.directions[:, 0].astype(np.int64))


def score_pid(
    batch: SceneBatch, said: Integers, *, estimator: Estimator, shuffles: int = SHUFFLES, seed: int = 0
) -> PidScore:
    """PID of a model's answers to scenes of one bucket, with its null distribution.

    Args:
        batch: The scenes.
        said: The model's answers, indices into `World.answers`.
        estimator: ``convex`` on labels, ``gaussian`` on numbers, ``batch`` with small networks.
        shuffles: Shuffled copies of the answers for the null distribution.
        seed: Seed of the shuffles and of the networks.
    """
    if len(said) != len(batch) or len(said) < FEWEST:
        raise UsageError(
            f"PID needs an answer to each of at least {FEWEST} scenes, got {len(said)} to {len(batch)}"
        )
    summaries = summarise_scenes(batch)
    labels = (summaries.picture > 0) @ (2 ** np.arange(4))
    hot = (summaries.question[:, None] == np.unique(summaries.question)[None]).astype(np.float64)
    joined: NDArray[np.float64] = np.asarray(said, np.float64)
    if estimator == "convex":
        return with_null(convex_pids, (labels, summaries.question), joined, shuffles=shuffles, seed=seed)
    if estimator == "gaussian":
        estimate = one_by_one(gaussian_pid)
        return with_null(estimate, (summaries.picture, hot[:, 1:]), joined, shuffles=shuffles, seed=seed)
    if estimator != "batch":
        raise UsageError(f"the estimator is convex, gaussian or batch, not {estimator!r}")
    from theodolite.instruments.grid.explainers.pid_batch import batch_pid

    estimate = one_by_one(partial(batch_pid, seed=seed))
    return with_null(estimate, (summaries.picture, hot), joined, shuffles=min(shuffles, 3), seed=seed)


def _summarise(pool: Pool, estimator: Estimator) -> Mapping[str, float]:
    said = [int(pool.logits(row, row)[0, 0].argmax()) for row in pool.rows[:, None]]
    score = score_pid(pool.batch.take(pool.rows), np.array(said), estimator=estimator, seed=pool.seed)
    return pid_numbers(score)


def pid_numbers(score: PidScore) -> dict[str, float]:
    """A decomposition as plain numbers, in bits."""
    found = score.found
    return {
        "redundant": found.redundant,
        "unique_picture": found.unique_1,
        "unique_question": found.unique_2,
        "synergy": found.synergy,
        "synergy_above_chance": score.corrected_synergy,
        "p_value": score.p_value,
    }


def _explainer(estimator: Estimator, summary: str) -> Explainer:
    return Explainer(
        f"pid-{estimator}",
        summary,
        summarise=partial(_summarise, estimator=estimator),
        paper="Bertschinger et al. 2014; Liang et al. 2023, PID for multimodal models",
        caveat="depends on the summaries, and with few samples chance alone gives synergy",
    )


PID_CONVEX = _explainer("convex", f"synergy by the convex programme ({SUMMARIES})")
PID_GAUSSIAN = _explainer("gaussian", "synergy of the same summaries as Gaussians")
PID_BATCH = _explainer("batch", "synergy of the same summaries by small networks and a learnt alignment")

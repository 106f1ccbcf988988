"""PID of a bucket: the answer out of a stated summary of the picture and one of the question.

The picture is summarised as how many look-alikes of the target lie on each side of the first anchor; the question as the
direction that it asks for first. A model that reads the relation needs both at once: synergy. A bag of words needs the
picture's summary alone: its total count. Questions without a relation are summarised by the target's class instead.
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
    Decomposition,
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
"""Fewer scenes tell nothing that chance does not."""
_PAPER = "Bertschinger et al. 2014; Liang et al. 2023, PID for multimodal models"


@dataclass(frozen=True, slots=True)
class Summaries:
    """Numbers that stand for the picture and for the question."""

    picture: NDArray[np.float64]
    """(n, 4)."""
    question: Integers
    """(n,)."""


def summarise_scenes(batch: SceneBatch) -> Summaries:
    """The stated summaries of scenes of one bucket."""
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
    batch: SceneBatch, said: Integers, *, estimator: Estimator, shuffles: int = 99, seed: int = 0
) -> PidScore:
    """PID of a model's answers to scenes of one bucket, with its shuffled null.

    Args:
        batch: The scenes.
        said: The model's answers, indices into `World.answers`.
        estimator: ``convex`` on labels, ``gaussian`` on numbers, ``batch`` with small networks.
        shuffles: Of the answers.
        seed: Of the shuffles and of the networks.
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
    n = np.arange(len(pool.rows))
    logits = np.stack([pool.logits(pool.rows[i : i + 1], pool.rows[i : i + 1])[0, 0] for i in n])
    score = score_pid(pool.batch.take(pool.rows), logits.argmax(axis=1), estimator=estimator)
    return pid_figures(score)


def pid_figures(score: PidScore) -> dict[str, float]:
    """A decomposition as plain figures."""
    found: Decomposition = score.found
    return {
        "redundant": found.redundant,
        "unique_picture": found.unique_1,
        "unique_question": found.unique_2,
        "synergy": found.synergy,
        "synergy_of_chance": float(np.mean(score.null_synergy)),
        "p_value": score.p_value,
    }


def _convex(pool: Pool) -> Mapping[str, float]:
    return _summarise(pool, "convex")


def _gaussian(pool: Pool) -> Mapping[str, float]:
    return _summarise(pool, "gaussian")


def _batch(pool: Pool) -> Mapping[str, float]:
    return _summarise(pool, "batch")


_CAVEAT = "what it says depends on the summaries, and with few samples chance alone gives synergy"
PID_CONVEX = Explainer(
    "pid-convex",
    f"synergy by the convex programme ({SUMMARIES})",
    summarise=_convex,
    paper=_PAPER,
    caveat=_CAVEAT,
)
PID_GAUSSIAN = Explainer(
    "pid-gaussian",
    "synergy of the same summaries as Gaussians",
    summarise=_gaussian,
    paper=_PAPER,
    caveat=_CAVEAT,
)
PID_BATCH = Explainer(
    "pid-batch",
    "synergy of the same summaries by small networks and learnt alignment",
    summarise=_batch,
    paper=_PAPER,
    caveat=_CAVEAT,
)

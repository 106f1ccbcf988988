"""EMAP: how far a model is more than the sum of its modalities, from one cross matrix (Hessel and Lee 2020).

With F_ij = f(picture i, question j), μ = mean F, rows a_i = mean_j F_ij − μ and columns b_j = mean_i F_ij − μ, the additive
projection is f̂_ij = μ + a_i + b_j and the interaction R_ij = F_ij − f̂_ij. EMAP's residual, DIME's MI at the whole input and
InterSHAP's interaction of two modalities are all R_ii.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.world import GridShape
from theodolite.instruments.grid.explainers.contract import Explainer
from theodolite.instruments.grid.explainers.game import Explained, Floats, explained_output
from theodolite.instruments.grid.explainers.readers import Pool

_CONSTANT = 1e-12
"""A variance or mass below it is rounding."""


@dataclass(frozen=True, slots=True)
class Projection:
    """A cross matrix and its additive part."""

    matrix: Floats
    """F, (n, n)."""
    rows: Floats
    """a_i: what each picture adds by itself."""
    columns: Floats
    """b_j: what each question adds by itself."""
    mean: float

    @property
    def additive(self) -> Floats:
        """f̂, (n, n)."""
        return np.asarray(self.mean + self.rows[:, None] + self.columns[None])

    @property
    def residual(self) -> Floats:
        """R, (n, n)."""
        return self.matrix - self.additive

    def interaction_share(self) -> float | None:
        """Return ΣR² / Σ(F−μ)², the share of the variance that is interaction; None if the matrix is constant."""
        spread = float(((self.matrix - self.mean) ** 2).sum())
        return float((self.residual**2).sum()) / spread if spread > _CONSTANT else None

    def local_shares(self, *, weight: float = 1.0) -> Floats:
        """Return |R_ii| / (|a_i| + |b_i| + |R_ii|) of every scene; NaN where all three are 0.

        Args:
            weight: 1 counts the interaction of both modalities twice, as InterSHAP's original code does; ½ counts it once,
                as its later package does.
        """
        own = weight * np.abs(np.diag(self.residual))
        total = np.abs(self.rows) + np.abs(self.columns) + own
        return np.asarray(np.divide(own, total, out=np.full(len(own), np.nan), where=total > _CONSTANT))


def project(matrix: Floats) -> Projection:
    """Return the additive projection of a square matrix.

    >>> F = np.array([[-1.3, .3, -.2], [.8, 3, 1.1], [1.1, -.1, .7]])
    >>> [round(float(x), 3) for x in np.diag(project(F).additive)]
    [-0.8, 2.1, 0.5]
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise UsageError(f"a cross matrix is square, got shape {matrix.shape}")
    mean = float(matrix.mean())
    return Projection(matrix, matrix.mean(axis=1) - mean, matrix.mean(axis=0) - mean, mean)


def matrix_of(logits: Floats, *, world: GridShape, bucket: int, explained: Explained = "expected") -> Floats:
    """Compute F from the logits of every picture with every question, (n, n, answers).

    For ``expected`` the output is the same everywhere. For ``answer`` and ``log-odds``, column j is the output for the
    model's answer to scene j.

    Args:
        logits: Logits of picture i with question j.
        world: The grid.
        bucket: Index into `BUCKETS`.
        explained: The explained output.
    """
    if explained == "expected":
        return explained_output(explained, world=world, bucket=bucket, answer=0)(logits)
    n = len(logits)
    answers = logits[np.arange(n), np.arange(n)].argmax(axis=-1)
    columns = [
        explained_output(explained, world=world, bucket=bucket, answer=int(answers[j]))(logits[:, j])
        for j in range(n)
    ]
    return np.stack(columns, axis=1)


def project_pool(pool: Pool) -> Projection:
    """Return the additive projection of a pool's cross matrix."""
    logits = pool.logits(pool.rows, pool.rows)
    bucket = int(pool.batch.bucket[pool.rows[0]])
    explained = pool.convention.explained
    return project(matrix_of(logits, world=pool.batch.world, bucket=bucket, explained=explained))


def accuracy_drop(logits: Floats, answers: Floats) -> float:
    """Return the accuracy of the model minus that of its additive projection, taken of every answer's logit."""
    mean = logits.mean(axis=(0, 1))
    additive = logits.mean(axis=1) + logits.mean(axis=0) - mean  # row i and column i together
    n = np.arange(len(logits))
    return float(np.mean(logits[n, n].argmax(-1) == answers) - np.mean(additive.argmax(-1) == answers))


def emap(pool: Pool) -> Mapping[str, float]:
    """Return the interaction's share of the variance, mean masses, and the accuracy lost by the projection."""
    projection = project_pool(pool)
    answers = pool.batch.answer[pool.rows].astype(np.float64)
    numbers = {
        "picture_mass": float(np.abs(projection.rows).mean()),
        "question_mass": float(np.abs(projection.columns).mean()),
        "interaction_mass": float(np.abs(np.diag(projection.residual)).mean()),
        "accuracy_drop": accuracy_drop(pool.logits(pool.rows, pool.rows), answers),
    }
    share = projection.interaction_share()
    return numbers if share is None else numbers | {"interaction_share": share}


EMAP = Explainer(
    "emap",
    "the share of a bucket's cross matrix that is no sum of a picture part and a question part",
    summarise=emap,
    paper="Hessel and Lee 2020, EMAP",
    caveat="counting by name is an interaction of picture and question too, so a bag of words scores high",
)


# InterSHAP: the share of interaction in each scene's output (Wenderoth et al. 2025).
#
# From the cross matrix of `emap`: with v12 = F_ii, v1 = mean_j F_ij, v2 = mean_i F_ij and v0 = μ, the interaction
# v12 + v0 − v1 − v2 of two modalities is R_ii.


def share_of_means(projection: Projection) -> float | None:
    """Return |mean R_ii| / (|mean a_i| + |mean b_i| + |mean R_ii|), the original code's number for a data set.

    Over its own background the means of a and b are 0, so this is 1 whenever it is defined.
    """
    parts = (np.diag(projection.residual), projection.rows, projection.columns)
    own, row, column = (abs(float(np.mean(part))) for part in parts)
    total = own + row + column
    return own / total if total > 1e-12 else None


def intershap(pool: Pool) -> Mapping[str, float]:
    """Return the mean local share, the later package's, and the share of means."""
    projection = project_pool(pool)
    numbers = {}
    for name, weight in (("local_share", 1.0), ("local_share_counted_once", 0.5)):
        shares = projection.local_shares(weight=weight)
        if not np.isnan(shares).all():
            numbers[name] = float(np.nanmean(shares))
    means = share_of_means(projection)
    return numbers if means is None else numbers | {"share_of_means": means}


INTERSHAP = Explainer(
    "intershap",
    "the share of interaction in each scene's own output, averaged",
    summarise=intershap,
    paper="Wenderoth et al. 2025, InterSHAP",
    caveat="the same number as EMAP's residual at the scene itself",
)

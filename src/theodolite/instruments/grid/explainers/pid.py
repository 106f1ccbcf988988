r"""Partial information decomposition (PID): what picture and question say about the answer alone, both, or only together.

Over Δ_P = {q : q(x1,y) = p(x1,y), q(x2,y) = p(x2,y)} let q* minimise I_q(Y; X1X2). Then, in bits,

    R = I(Y;X1) + I(Y;X2) − I_q*,   U1 = I_q* − I(Y;X2),   U2 = I_q* − I(Y;X1),   S = I_p − I_q*.

The result depends on the summaries X1 and X2 (`pid_explainers`). With few samples chance alone gives synergy, so it is
reported beside a null distribution with shuffled answers. Bertschinger et al. 2014; Liang et al. 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.explainers.game import Floats
from theodolite.instruments.grid.explainers.pid_convex import least_information

_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Decomposition:
    """R, U1, U2 and S in bits."""

    redundant: float
    unique_1: float
    """What only the first source, the picture, says."""
    unique_2: float
    """What only the second source, the question, says."""
    synergy: float
    n: int
    """Samples behind it."""
    estimator: str

    @property
    def total(self) -> float:
        """I(Y; X1X2) = R + U1 + U2 + S."""
        return self.redundant + self.unique_1 + self.unique_2 + self.synergy


EstimateOne: TypeAlias = Callable[[ArrayLike, ArrayLike, ArrayLike], Decomposition]
EstimateMany: TypeAlias = Callable[[ArrayLike, ArrayLike, Sequence[ArrayLike]], list[Decomposition]]
"""Decompositions of the same two sources with each of several answers."""


@dataclass(frozen=True, slots=True)
class PidScore:
    """A decomposition and its null distribution."""

    found: Decomposition
    null_synergy: tuple[float, ...]
    """The synergy of each shuffle of the answers."""
    p_value: float
    """Share of shuffles with at least this synergy, (b+1)/(m+1)."""

    @property
    def corrected_synergy(self) -> float:
        """Synergy minus the mean of its null distribution."""
        return self.found.synergy - float(np.mean(self.null_synergy))


def _information(joint: Floats) -> float:
    """I of the last axis with all others, in bits, from a joint distribution."""
    flat = joint.reshape(-1, joint.shape[-1])
    outer = flat.sum(axis=1, keepdims=True) * flat.sum(axis=0, keepdims=True)
    return float((flat * np.log2(np.maximum(flat, _TINY) / np.maximum(outer, _TINY))).sum())


def joint_table(x1: ArrayLike, x2: ArrayLike, y: ArrayLike) -> Floats:
    """The observed joint distribution, (values of x1, of x2, of y)."""
    codes = [np.unique(np.asarray(labels), return_inverse=True)[1].reshape(-1) for labels in (x1, x2, y)]
    if len({code.size for code in codes}) != 1 or not codes[0].size:
        raise UsageError(f"sources and answers must be equally many, got {[code.size for code in codes]}")
    table = np.zeros([int(code.max()) + 1 for code in codes])
    np.add.at(table, tuple(codes), 1.0)
    return np.asarray(table / codes[0].size)


def decompose_tables(joints: Sequence[Floats], *, n: int = 0) -> list[Decomposition]:
    """The decomposition of each joint distribution (x1, x2, y), by the convex programme.

    >>> xor = np.zeros((2, 2, 2))
    >>> for a in (0, 1):
    ...     for b in (0, 1):
    ...         xor[a, b, a ^ b] = 0.25
    >>> round(decompose_tables([xor])[0].synergy, 3)
    1.0
    """
    found = []
    for joint, reached in zip(joints, least_information(joints), strict=True):
        i1, i2, ip = (_information(part) for part in (joint.sum(axis=1), joint.sum(axis=0), joint))
        least = min(max(float(reached), i1, i2), ip)  # rounding may pass its bounds
        found.append(Decomposition(i1 + i2 - least, least - i2, least - i1, ip - least, n, "convex"))
    return found


def convex_pids(x1: ArrayLike, x2: ArrayLike, answers: Sequence[ArrayLike]) -> list[Decomposition]:
    """PID of the same two discrete sources with each of several answers; together they cost little more than one."""
    return decompose_tables([joint_table(x1, x2, y) for y in answers], n=np.asarray(x1).size)


def convex_pid(x1: ArrayLike, x2: ArrayLike, y: ArrayLike) -> Decomposition:
    """PID of discrete labels by the convex programme.

    >>> found = convex_pid([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1])
    >>> round(found.redundant, 2), round(found.synergy, 2)
    (0.31, 0.5)
    """
    return convex_pids(x1, x2, [y])[0]


def gaussian_pid(x1: ArrayLike, x2: ArrayLike, y: ArrayLike, *, steps: int = 2000) -> Decomposition:
    r"""PID of jointly Gaussian sources and target, from the sample covariance.

    With Y white and each source scaled to white noise, X_i = H_i Y + N_i. Only the correlation Σ of the noises is free: any
    matrix of spectral norm at most 1. It follows the gradient of ½ log det(I + Hᵀ [I Σ; Σᵀ I]⁻¹ H) and is projected back by
    clipping its singular values. Constant columns are left out.
    """
    sources = [_centred(x1), _centred(x2)]
    target = _centred(y)
    n = len(target)
    if min(len(s) for s in sources) != n or n <= sum(s.shape[1] for s in sources) + target.shape[1] + 1:
        raise UsageError(f"a Gaussian decomposition needs more samples than columns, got {n}")
    if not target.shape[1]:
        return Decomposition(0.0, 0.0, 0.0, 0.0, n, "gaussian")
    white = _whitener(target.T @ target / n)
    ys = target @ white
    channels, noises = [], []
    for source in sources:
        slope = source.T @ ys / n  # since Y is white
        noise = source - ys @ slope.T
        scale = _whitener(noise.T @ noise / n)
        channels.append(scale.T @ slope)
        noises.append(noise @ scale)
    h1, h2 = channels
    bits = [float(0.5 * np.linalg.slogdet(np.eye(ys.shape[1]) + h.T @ h)[1] / np.log(2)) for h in channels]
    total = _union(h1, h2, noises[0].T @ noises[1] / n)[0]
    least = min(max(_least_union(h1, h2, steps), *bits), total)
    return Decomposition(
        bits[0] + bits[1] - least, least - bits[1], least - bits[0], total - least, n, "gaussian"
    )


def _centred(values: ArrayLike) -> Floats:
    array = np.asarray(values, np.float64)
    array = array.reshape(len(array), -1)
    array = array - array.mean(axis=0)
    return np.asarray(array[:, array.std(axis=0) > 1e-9])


def _whitener(covariance: Floats) -> Floats:
    """A such that Aᵀ C A = I; variances get a floor, since a deterministic channel has no noise."""
    values, vectors = np.linalg.eigh(covariance)
    floor = 1e-3 * max(float(values.max(initial=0.0)), 1e-3)
    return np.asarray(vectors / np.sqrt(np.maximum(values, floor)))


def _union(h1: Floats, h2: Floats, cross: Floats) -> tuple[float, Floats]:
    """I(Y; X1X2) in bits for a correlation of the noises, and its gradient."""
    a, b = len(h1), len(h2)
    u, s, vt = np.linalg.svd(cross, full_matrices=False)
    cross = (u * np.minimum(s, 1 - 1e-4)) @ vt
    noise = np.block([[np.eye(a), cross], [cross.T, np.eye(b)]])
    h = np.concatenate([h1, h2])
    solved = np.linalg.solve(noise, h)
    inner = np.eye(h.shape[1]) + h.T @ solved
    slope = -0.5 * solved @ np.linalg.solve(inner, solved.T)
    value = 0.5 * np.linalg.slogdet(inner)[1] / np.log(2)
    return float(value), np.asarray((slope[:a, a:] + slope[a:, :a].T) / np.log(2))


def _least_union(h1: Floats, h2: Floats, steps: int) -> float:
    cross = np.zeros((len(h1), len(h2)))
    value, slope = _union(h1, h2, cross)
    step = 0.5
    for _ in range(steps):
        u, s, vt = np.linalg.svd(cross - step * slope, full_matrices=False)
        moved = (u * np.minimum(s, 1 - 1e-4)) @ vt
        new, new_slope = _union(h1, h2, moved)
        if new < value:
            gain, value, cross, slope, step = value - new, new, moved, new_slope, step * 1.3
            if gain < 1e-10:
                break
        else:
            step /= 2
            if step < 1e-9:
                break
    return value


def one_by_one(estimate: EstimateOne) -> EstimateMany:
    """An estimator for several answers, from one for a single answer."""
    return lambda x1, x2, answers: [estimate(x1, x2, y) for y in answers]


def with_null(
    estimate: EstimateMany, sources: Sequence[ArrayLike], y: ArrayLike, *, shuffles: int = 99, seed: int = 0
) -> PidScore:
    """A decomposition with its null distribution: the same estimator on shuffled answers."""
    x1, x2 = (np.asarray(source) for source in sources)
    answers = np.asarray(y)
    rng = np.random.default_rng(seed)
    shuffled = [answers[rng.permutation(len(answers))] for _ in range(shuffles)]
    found, *null = estimate(x1, x2, [answers, *shuffled])
    above = sum(each.synergy >= found.synergy - 1e-12 for each in null)
    return PidScore(found, tuple(each.synergy for each in null), (above + 1) / (shuffles + 1))

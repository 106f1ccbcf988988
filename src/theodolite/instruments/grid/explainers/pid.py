"""The convex programme of PID, for many tables at once.

min over Δ_P of I_q(Y; X1X2), by mirror descent with Sinkhorn projection onto the margins: the gradient of I_q by q is
log q(y|x1x2)/q(y), and q·exp(−η·gradient) is scaled until q(x1,y) and q(x2,y) are as given. With a few dozen samples most
entries of a table are 0 because a margin is; only the others are kept, those of all tables in one array, and a table leaves
when it has converged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import SceneBatch, look
from theodolite.instruments.grid.data.question_types import BUCKETS
from theodolite.instruments.grid.data.world import Integers, offsets
from theodolite.instruments.grid.explainers.contract import Explainer
from theodolite.instruments.grid.explainers.game import Floats
from theodolite.instruments.grid.explainers.readers import Pool

if TYPE_CHECKING:
    from torch import Tensor, nn


_TINY = 1e-300
_ROUNDS = 60
_STEPS = 4000
_TOLERANCE = 1e-9
_GAUSSIAN_STEPS = 2000
_FITS = 1e-9


@dataclass(slots=True)
class _Places:
    """The entries of some tables at which q may be above 0."""

    table: NDArray[np.int64]
    """The table of each entry, ascending."""
    first: NDArray[np.int64]
    """The number of its (x1, y) among all tables."""
    second: NDArray[np.int64]
    """Of its (x2, y)."""
    both: NDArray[np.int64]
    """Of its (x1, x2)."""
    margin_1: Floats
    """p(x1, y) of the entry."""
    margin_2: Floats
    margin_y: Floats
    q: Floats

    def only(self, kept: NDArray[np.bool_]) -> _Places:
        return _Places(*(getattr(self, name)[kept] for name in self.__slots__))


def _places(joints: Sequence[Floats]) -> _Places:
    parts: list[list[NDArray[np.generic]]] = []
    offset = np.zeros(3, np.int64)
    for number, joint in enumerate(joints):
        n1, n2, ny = joint.shape
        first, second, margin = joint.sum(axis=1), joint.sum(axis=0), joint.sum(axis=(0, 1))
        a, b, y = np.nonzero((first[:, None] > 0) & (second[None] > 0))
        one, two, of_y = first[a, y], second[b, y], margin[y]
        numbers = [a * ny + y + offset[0], b * ny + y + offset[1], a * n2 + b + offset[2]]
        parts.append([np.full(len(a), number), *numbers, one, two, of_y, one * two / of_y])
        offset += (n1 * ny, n2 * ny, n1 * n2)
    return _Places(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _sums(numbers: NDArray[np.int64], values: Floats) -> Floats:
    """Return for each entry the sum of the values of all entries with its number."""
    return np.asarray(np.bincount(numbers, values)[numbers])


def _fitted(entries: _Places, q: Floats) -> Floats:
    """Scale q until both margins are as given."""
    for _ in range(_ROUNDS):
        q = q * (entries.margin_1 / np.maximum(_sums(entries.first, q), _TINY))
        q = q * (entries.margin_2 / np.maximum(_sums(entries.second, q), _TINY))
        if np.abs(_sums(entries.first, q) - entries.margin_1).max() < _FITS:
            break
    return q


def _bits(entries: _Places, q: Floats, tables: int) -> Floats:
    """Return I_q(Y; X1X2) of every table, in bits."""
    outer = _sums(entries.both, q) * entries.margin_y
    terms = q * np.log2(np.maximum(q, _TINY) / np.maximum(outer, _TINY))
    return np.asarray(np.bincount(entries.table, terms, minlength=tables), np.float64)


def least_information(joints: Sequence[Floats]) -> Floats:
    """Return the least I_q(Y; X1X2) over Δ_P of every joint distribution (x1, x2, y), in bits.

    >>> xor = np.zeros((2, 2, 2))
    >>> xor[[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]] = 0.25
    >>> float(least_information([xor])[0])
    0.0
    """
    tables = len(joints)
    entries = _places(joints)
    best = _bits(entries, entries.q, tables)
    step, is_done = np.ones(tables), np.zeros(tables, bool)
    for _ in range(_STEPS):
        q, table = entries.q, entries.table
        slope = np.log(np.maximum(q, _TINY) / np.maximum(_sums(entries.both, q), _TINY))
        lowest = np.full(tables, np.inf)
        np.minimum.at(lowest, table, slope)
        moved = _fitted(entries, q * np.exp(-step[table] * (slope - lowest[table])))
        value = _bits(entries, moved, tables)
        is_better = (value <= best + 1e-13) & ~is_done  # a table that has left has no places any more
        entries.q = np.where(is_better[table], moved, q)
        has_come_to_rest = is_better & (best - value < _TOLERANCE)
        best = np.where(is_better, np.minimum(best, value), best)
        step = np.where(is_better, np.minimum(step * 1.2, 50.0), step / 2)
        left = has_come_to_rest | (step < 1e-6)
        if (left & ~is_done).any():
            is_done |= left
            if is_done.all():
                break
            entries = entries.only(~is_done[entries.table])
    return np.asarray(best)


# Partial information decomposition (PID): what picture and question say about the answer alone, both, or only together.
#
# Over Δ_P = {q : q(x1,y) = p(x1,y), q(x2,y) = p(x2,y)} let q* minimise I_q(Y; X1X2). Then, in bits,
#
#     R = I(Y;X1) + I(Y;X2) − I_q*,   U1 = I_q* − I(Y;X2),   U2 = I_q* − I(Y;X1),   S = I_p − I_q*.
#
# The result depends on the summaries X1 and X2 (`pid_explainers`). With few samples chance alone gives synergy, so it is
# reported beside a null distribution with shuffled answers. Bertschinger et al. 2014; Liang et al. 2023.


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
    """Return I of the last axis with all others, in bits, from a joint distribution."""
    flat = joint.reshape(-1, joint.shape[-1])
    outer = flat.sum(axis=1, keepdims=True) * flat.sum(axis=0, keepdims=True)
    return float((flat * np.log2(np.maximum(flat, _TINY) / np.maximum(outer, _TINY))).sum())


def joint_table(x1: ArrayLike, x2: ArrayLike, y: ArrayLike) -> Floats:
    """Return the observed joint distribution, (values of x1, of x2, of y)."""
    codes = [np.unique(np.asarray(labels), return_inverse=True)[1].reshape(-1) for labels in (x1, x2, y)]
    if len({code.size for code in codes}) != 1 or not codes[0].size:
        raise UsageError(f"sources and answers must be equally many, got {[code.size for code in codes]}")
    table = np.zeros([int(code.max()) + 1 for code in codes])
    np.add.at(table, tuple(codes), 1.0)
    return np.asarray(table / codes[0].size)


def decompose_tables(joints: Sequence[Floats], *, n: int = 0) -> list[Decomposition]:
    """Decompose each joint distribution (x1, x2, y) by the convex programme.

    >>> xor = np.zeros((2, 2, 2))
    >>> for a in (0, 1):
    ...     for b in (0, 1):
    ...         xor[a, b, a ^ b] = 0.25
    >>> round(decompose_tables([xor])[0].synergy, 3)
    1.0
    """
    decompositions = []
    for joint, reached in zip(joints, least_information(joints), strict=True):
        i1, i2, ip = (_information(part) for part in (joint.sum(axis=1), joint.sum(axis=0), joint))
        least = min(max(float(reached), i1, i2), ip)  # rounding may pass its bounds
        decompositions.append(Decomposition(i1 + i2 - least, least - i2, least - i1, ip - least, n, "convex"))
    return decompositions


def convex_pids(x1: ArrayLike, x2: ArrayLike, answers: Sequence[ArrayLike]) -> list[Decomposition]:
    """Decompose the same two discrete sources with each of several answers, at little more than the cost of one."""
    return decompose_tables([joint_table(x1, x2, y) for y in answers], n=np.asarray(x1).size)


def convex_pid(x1: ArrayLike, x2: ArrayLike, y: ArrayLike) -> Decomposition:
    """Decompose discrete labels by the convex programme.

    >>> found = convex_pid([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1])
    >>> round(found.redundant, 2), round(found.synergy, 2)
    (0.31, 0.5)
    """
    return convex_pids(x1, x2, [y])[0]


def gaussian_pid(x1: ArrayLike, x2: ArrayLike, y: ArrayLike) -> Decomposition:
    r"""Decompose jointly Gaussian sources and target, from the sample covariance.

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
    least = min(max(_least_union(h1, h2), *bits), total)
    return Decomposition(
        bits[0] + bits[1] - least, least - bits[1], least - bits[0], total - least, n, "gaussian"
    )


def _centred(values: ArrayLike) -> Floats:
    array = np.asarray(values, np.float64)
    array = array.reshape(len(array), -1)
    array = array - array.mean(axis=0)
    return np.asarray(array[:, array.std(axis=0) > 1e-9])


def _whitener(covariance: Floats) -> Floats:
    """Return A such that Aᵀ C A = I; variances get a floor, since a deterministic channel has no noise."""
    values, vectors = np.linalg.eigh(covariance)
    floor = 1e-3 * max(float(values.max(initial=0.0)), 1e-3)
    return np.asarray(vectors / np.sqrt(np.maximum(values, floor)))


def _union(h1: Floats, h2: Floats, cross: Floats) -> tuple[float, Floats]:
    """Return I(Y; X1X2) in bits for a correlation of the noises, and its gradient."""
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


def _least_union(h1: Floats, h2: Floats) -> float:
    cross = np.zeros((len(h1), len(h2)))
    value, slope = _union(h1, h2, cross)
    step = 0.5
    for _ in range(_GAUSSIAN_STEPS):
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
    """Return an estimator for several answers, from one for a single answer."""
    return lambda x1, x2, answers: [estimate(x1, x2, y) for y in answers]


def with_null(
    estimate: EstimateMany, sources: Sequence[ArrayLike], y: ArrayLike, *, shuffles: int = 99, seed: int = 0
) -> PidScore:
    """Decompose, and estimate the null distribution with the same estimator on shuffled answers.

    Args:
        estimate: The estimator.
        sources: Picture and question.
        y: The answers.
        shuffles: Shuffled copies of the answers.
        seed: Seed of the shuffles.
    """
    x1, x2 = (np.asarray(source) for source in sources)
    answers = np.asarray(y)
    rng = np.random.default_rng(seed)
    shuffled = [answers[rng.permutation(len(answers))] for _ in range(shuffles)]
    observed, *null = estimate(x1, x2, [answers, *shuffled])
    above = sum(decomposition.synergy >= observed.synergy - 1e-12 for decomposition in null)
    return PidScore(
        observed, tuple(decomposition.synergy for decomposition in null), (above + 1) / (shuffles + 1)
    )


# PID of sources with too many values to tabulate: small networks for the margins, and an alignment learnt by batch.
#
# p(y|x1), p(y|x2) and p(y|x1x2) are classifiers. Within a batch, sample a of X1 meets sample b of X2 under answer y with weight
# exp(g1(x1_a, y)·g2(x2_b, y)/√d), scaled by Sinkhorn until Σ_b q(a, b|y) ∝ p(y|x1_a) and Σ_a q(a, b|y) ∝ p(y|x2_b). The alignment g
# is trained to make I_q(Y; X1X2) small; R, U1, U2 and S follow as in the convex programme.


_LEAST_BATCH_MASS = 1e-12


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """How the networks are trained."""

    width: int = 32
    epochs: int = 40
    alignment_epochs: int = 20
    batch: int = 256
    embedding: int = 16
    sinkhorn: int = 60
    rate: float = 5e-3


def batch_pid(
    x1: ArrayLike, x2: ArrayLike, y: ArrayLike, *, settings: BatchSettings | None = None, seed: int = 0
) -> Decomposition:
    """Decompose numeric sources (n, columns) and labels, by learnt alignment. The estimate has high variance.

    Raises:
        UsageError: there are fewer than 32 samples, or only one answer.
    """
    import torch

    settings = settings or BatchSettings()
    labels = np.unique(np.asarray(y), return_inverse=True)[1].reshape(-1)
    n_labels = int(labels.max(initial=0)) + 1
    if labels.size < 32 or n_labels < 2:
        raise UsageError(
            f"learning a decomposition needs 32 samples and two answers, got {labels.size} and {n_labels}"
        )
    sources = [torch.as_tensor(_standard(x), dtype=torch.float32) for x in (x1, x2)]
    target = torch.as_tensor(labels).long()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        first, second = (_classify(source, target, n_labels, settings) for source in sources)
        both = _classify(torch.cat(sources, 1), target, n_labels, settings)
        least = _aligned(sources, (first, second), target, settings)
    p_y = torch.bincount(target, minlength=n_labels) / len(target)
    i1, i2, ip = (_gain(p, p_y) for p in (first, second, both))
    least = max(least, i1, i2)
    ip = max(ip, least)
    return Decomposition(i1 + i2 - least, least - i2, least - i1, ip - least, labels.size, "batch")


def _standard(values: ArrayLike) -> np.ndarray:
    array = np.asarray(values, np.float64).reshape(len(np.asarray(values)), -1)
    spread = array.std(axis=0)
    return np.asarray((array - array.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0))


def _layers(inputs: int, outputs: int, settings: BatchSettings) -> nn.Module:
    from torch import nn

    w = settings.width
    return nn.Sequential(
        nn.Linear(inputs, w),
        nn.ReLU(),
        nn.Linear(w, w),
        nn.ReLU(),
        nn.Linear(w, w),
        nn.ReLU(),
        nn.Linear(w, outputs),
    )


def _classify(source: Tensor, target: Tensor, n_labels: int, settings: BatchSettings) -> Tensor:
    """Return p(y|x) of every sample, (n, labels), from a network trained on all of them."""
    import torch

    network = _layers(source.shape[1], n_labels, settings)
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.rate)
    for _ in range(settings.epochs):
        for rows in torch.split(torch.randperm(len(target)), settings.batch):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(network(source[rows]), target[rows]).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    with torch.no_grad():
        probabilities: Tensor = torch.softmax(network(source), 1)
    return probabilities


def _gain(p: Tensor, p_y: Tensor) -> float:
    """Return I(Y; X) in bits: mean over x of KL(p(y|x) ‖ p(y))."""
    ratio = (p + _LEAST_BATCH_MASS).log2() - (p_y + _LEAST_BATCH_MASS).log2()
    return max(0.0, float((p * ratio).sum(1).mean()))


def _aligned(
    sources: list[Tensor], margins: tuple[Tensor, Tensor], target: Tensor, settings: BatchSettings
) -> float:
    """Return the least I_q in bits, averaged over the batches of the last pass."""
    import torch

    n_labels = margins[0].shape[1]
    nets = [_layers(s.shape[1], settings.embedding * n_labels, settings) for s in sources]
    optimiser = torch.optim.Adam([p for net in nets for p in net.parameters()], lr=settings.rate)
    batches: list[tuple[float, int]] = []
    for _ in range(settings.alignment_epochs):
        batches = []
        for rows in torch.split(torch.randperm(len(target)), settings.batch):
            if len(rows) < 8:
                continue
            optimiser.zero_grad()
            embedded = [
                net(s[rows]).view(len(rows), n_labels, -1) for net, s in zip(nets, sources, strict=True)
            ]
            bits = _batch_information(
                embedded[0], embedded[1], margins[0][rows], margins[1][rows], settings.sinkhorn
            )
            bits.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            batches.append((float(bits.detach()), len(rows)))
    return sum(bits * n for bits, n in batches) / sum(n for _, n in batches)


def _batch_information(e1: Tensor, e2: Tensor, p1: Tensor, p2: Tensor, rounds: int) -> Tensor:
    """Return I_q(Y; X1X2) of one batch in bits, for the coupling q(a, b, y) that the embeddings make."""
    import torch

    n = len(p1)
    first = (p1 / n).T + _LEAST_BATCH_MASS  # (labels, a): q(a, y)
    second = (p2 / n).T + _LEAST_BATCH_MASS
    second = second * (first.sum(1) / second.sum(1))[:, None]
    scores = torch.einsum("ayd,byd->yab", e1, e2) / e1.shape[-1] ** 0.5
    log_q = scores
    for _ in range(rounds):
        log_q = log_q - torch.logsumexp(log_q, 2, keepdim=True) + first.log()[:, :, None]
        log_q = log_q - torch.logsumexp(log_q, 1, keepdim=True) + second.log()[:, None, :]
    q = log_q.exp()
    pairs = torch.logsumexp(log_q, 0, keepdim=True)
    labels = q.sum((1, 2), keepdim=True)
    bits: Tensor = (q * (log_q - pairs - labels.log())).sum() / np.log(2)
    return bits


# PID of a bucket: the model's answer, from one summary of the picture and one of the question.
#
# The picture is summarised by the number of look-alikes of the target on each side of the first anchor, the question by its
# first direction. A model that uses the relation needs both at once (synergy); a bag of words needs only the total count of
# the picture's summary. Questions without a relation are summarised by the target's description.


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
    """Return the summaries of scenes of one bucket; see `SUMMARIES`."""
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
    """Decompose a model's answers to scenes of one bucket, with the null distribution.

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

    estimate = one_by_one(partial(batch_pid, seed=seed))
    return with_null(estimate, (summaries.picture, hot), joined, shuffles=min(shuffles, 3), seed=seed)


def _summarise(pool: Pool, estimator: Estimator) -> Mapping[str, float]:
    answers = [int(pool.logits(row, row)[0, 0].argmax()) for row in pool.rows[:, None]]
    score = score_pid(pool.batch.take(pool.rows), np.array(answers), estimator=estimator, seed=pool.seed)
    return pid_numbers(score)


def pid_numbers(score: PidScore) -> dict[str, float]:
    """Return a decomposition as plain numbers, in bits."""
    parts = score.found
    return {
        "redundant": parts.redundant,
        "unique_picture": parts.unique_1,
        "unique_question": parts.unique_2,
        "synergy": parts.synergy,
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

r"""PID of sources with too many values to tabulate: small networks for the margins, and an alignment learnt by batch.

p(y|x1), p(y|x2) and p(y|x1x2) are classifiers. Within a batch, sample a of X1 meets sample b of X2 under answer y with weight
exp(g1(x1_a, y)·g2(x2_b, y)/√d), scaled by Sinkhorn until Σ_b q(a, b|y) ∝ p(y|x1_a) and Σ_a q(a, b|y) ∝ p(y|x2_b). The alignment g
is trained to make I_q(Y; X1X2) small; R, U1, U2 and S follow as in the convex programme.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.explainers.pid import Decomposition

if TYPE_CHECKING:
    from torch import Tensor, nn

_TINY = 1e-12


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
    """PID of numeric sources (n, columns) and labels, by learnt alignment. An estimate of high variance.

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
    """p(y|x) of every sample, (n, labels), from a network trained on all of them."""
    import torch

    network = _layers(source.shape[1], n_labels, settings)
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.rate)
    for _ in range(settings.epochs):
        for rows in torch.split(torch.randperm(len(target)), settings.batch):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(network(source[rows]), target[rows]).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    with torch.no_grad():
        found: Tensor = torch.softmax(network(source), 1)
    return found


def _gain(p: Tensor, p_y: Tensor) -> float:
    """I(Y; X) in bits: mean over x of KL(p(y|x) ‖ p(y))."""
    ratio = (p + _TINY).log2() - (p_y + _TINY).log2()
    return max(0.0, float((p * ratio).sum(1).mean()))


def _aligned(
    sources: list[Tensor], margins: tuple[Tensor, Tensor], target: Tensor, settings: BatchSettings
) -> float:
    """The least I_q in bits, averaged over the batches of the last pass."""
    import torch

    n_labels = margins[0].shape[1]
    nets = [_layers(s.shape[1], settings.embedding * n_labels, settings) for s in sources]
    optimiser = torch.optim.Adam([p for net in nets for p in net.parameters()], lr=settings.rate)
    found: list[tuple[float, int]] = []
    for _ in range(settings.alignment_epochs):
        found = []
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
            found.append((float(bits.detach()), len(rows)))
    return sum(bits * n for bits, n in found) / sum(n for _, n in found)


def _batch_information(e1: Tensor, e2: Tensor, p1: Tensor, p2: Tensor, rounds: int) -> Tensor:
    """I_q(Y; X1X2) of one batch in bits, for the coupling q(a, b, y) that the embeddings make."""
    import torch

    n = len(p1)
    first = (p1 / n).T + _TINY  # (labels, a): q(a, y)
    second = (p2 / n).T + _TINY
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

"""Propagation of relevance through attention, layer by layer, without storing attention matrices.

With A (heads, queries, keys) a layer's attention, G = ∂z/∂A its gradient and C = mean over heads of (A ∘ G)⁺:

    Chefer et al. 2021 (rules 5 and 6):  R ← R + C R,             read at the last row
    row-normalised form:                 R ← D⁻¹(C + I) R,        D = 1 + row sums of C
    rollout (Abnar and Zuidema 2020):    R ← (mean A + I)/2 · R

Only the last row is read, so r = e_lastᵀ R is propagated from the top layer down: r ← r + r C. Back-propagation visits
the layers in the same order, and G = dO Vᵀ is available when the gradient dO of a layer's output arrives. The
attention is recomputed there, a block of query rows at a time, and summed in float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_BLOCK_ELEMENTS = 1 << 26
"""Attention weights in memory at a time: 256 MiB in float32."""


@dataclass(frozen=True, slots=True)
class AttentionCall:
    """The inputs of one layer's attention. Key and value heads are not repeated."""

    query: torch.Tensor
    """(batch, heads, tokens, width)"""
    key: torch.Tensor
    """(batch, key heads, tokens, width)"""
    value: torch.Tensor
    mask: torch.Tensor | None
    """Boolean (True: may attend) or additive, broadcastable to (batch, heads, tokens, tokens). None: causal."""
    scaling: float

    def weights(self, rows: slice) -> torch.Tensor:
        """Return the attention of some query rows, (batch, heads, rows, tokens), float32. Fully masked rows are 0."""
        import torch

        scores = self._against(self.query[:, :, rows], self.key).mul_(self.scaling)
        if self.mask is None:
            places = torch.arange(scores.shape[-1], device=scores.device)
            future = places > places[rows, None]
            return torch.softmax(scores.masked_fill_(future, float("-inf")), dim=-1)
        mask = self.mask[:, :, rows, : scores.shape[-1]]
        if mask.dtype == torch.bool:
            scores.masked_fill_(~mask, float("-inf"))
        else:
            scores.add_(mask)
        return torch.softmax(scores, dim=-1).nan_to_num_(nan=0.0)

    def gradients(self, output_gradient: torch.Tensor, rows: slice) -> torch.Tensor:
        """Return G = dO Vᵀ of some query rows, (batch, heads, rows, tokens), float32.

        Args:
            output_gradient: Shape (batch, tokens, heads, width).
            rows: The query rows.
        """
        return self._against(output_gradient[:, rows].transpose(1, 2), self.value)

    def blocks(self, first_row: int) -> Iterator[slice]:
        """Yield slices of query rows from `first_row` on, each small enough for memory."""
        batch, heads, tokens, _ = self.query.shape
        step = max(1, _BLOCK_ELEMENTS // (batch * heads * tokens))
        for start in range(first_row, tokens, step):
            yield slice(start, min(start + step, tokens))

    def _against(self, rows: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Multiply every row by every key of its head's group: (batch, heads, rows, tokens)."""
        batch, heads, n_rows, width = rows.shape
        grouped = rows.reshape(batch * keys.shape[1], -1, width)
        return product(grouped, keys.flatten(0, 1).transpose(1, 2)).view(batch, heads, n_rows, -1)


@dataclass(slots=True)
class GradientFlow:
    """Chefer's relevance during propagation, in both forms, and optionally rollout's; each (batch, tokens), float32."""

    reference: torch.Tensor
    normalised: torch.Tensor
    rollout: torch.Tensor | None
    first_row: int = 0
    """No token before it has relevance yet, so that the rows of attention from it on suffice."""

    @classmethod
    def start(cls, seed: torch.Tensor, *, rollout: bool = False) -> GradientFlow:
        """Start above the top layer.

        Args:
            seed: Relevance of the tokens whose next token is explained, (batch, tokens).
            rollout: True to propagate attention rollout as well.
        """
        return cls(seed.clone(), seed.clone(), seed.clone() if rollout else None, first_row(seed))

    def pass_layer(self, call: AttentionCall, output_gradient: torch.Tensor) -> None:
        """Propagate the relevance through one layer."""
        self._move_to(output_gradient.device)
        added, kept = self.reference.clone(), self.normalised.new_zeros(self.normalised.shape)
        rolled = self.rollout.clone() if self.rollout is not None else None
        for rows in call.blocks(self.first_row):
            flow = call.weights(rows)
            if rolled is not None and self.rollout is not None:
                rolled += _through(self.rollout[:, rows], flow.mean(dim=1))
            flow = flow.mul_(call.gradients(output_gradient, rows)).relu_().mean(dim=1)
            added += _through(self.reference[:, rows], flow)
            share = self.normalised[:, rows] / (1 + flow.sum(dim=-1))
            kept += _through(share, flow)
            kept[:, rows] += share
        self.reference, self.normalised, self.first_row = added, kept, 0
        self.rollout = rolled / 2 if rolled is not None else None

    def _move_to(self, device: torch.device) -> None:
        """Move to the device of the next layer, if the model is distributed."""
        self.reference, self.normalised = self.reference.to(device), self.normalised.to(device)
        if self.rollout is not None:
            self.rollout = self.rollout.to(device)


def roll_out(calls: list[AttentionCall], seed: torch.Tensor) -> torch.Tensor:
    """Return attention rollout from some tokens. Layers are given from bottom to top.

    Args:
        calls: The attention of all layers.
        seed: Relevance of the tokens from which to start, (batch, tokens).

    Returns:
        Relevance (batch, tokens), float32, with the same sum as the seed.
    """
    flow = seed
    for i, call in enumerate(reversed(calls)):
        flow = flow.to(call.query.device)
        passed = flow.clone()
        for rows in call.blocks(first_row(seed) if i == 0 else 0):
            passed += _through(flow[:, rows], call.weights(rows).mean(dim=1))
        flow = passed / 2
    return flow


def _through(relevance: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """Multiply row vectors (batch, rows) by matrices (batch, rows, tokens)."""
    return (relevance[:, None] @ matrix)[:, 0]


def last_token(top: AttentionCall) -> torch.Tensor:
    """Return the seed of a next token: all relevance on the last token of each request, (batch, tokens), float32."""
    seed = upcast(top.query.new_zeros(top.query.shape[0], top.query.shape[2]))
    seed[:, -1] = 1
    return seed


def first_row(seed: torch.Tensor) -> int:
    """Return the first token with relevance in any request."""
    return int((seed != 0).any(dim=0).int().argmax())


def upcast(tensor: torch.Tensor) -> torch.Tensor:
    """Convert half precision to float32, in which relevance is always summed. Wider types are unchanged."""
    return tensor.float() if tensor.element_size() < 4 else tensor


def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Multiply batched matrices (b, n, k) · (b, k, m), summed and returned in float32 or wider.

    On a GPU, half-precision factors are passed to the matrix units as they are, which sum in float32. This is exact to
    the last bit of the factors and much faster than converting them first.
    """
    import torch

    if left.is_cuda and left.element_size() < 4 and left.dtype == right.dtype:
        return torch.bmm(left, right, out_dtype=torch.float32)
    return torch.bmm(upcast(left), upcast(right).to(upcast(left).dtype))

"""The results of the shared pass, from which all methods compute their scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from theodolite.attribution.flow import AttentionCall, roll_out, upcast
from theodolite.attribution.maps import Targets
from theodolite.attribution.recorder import paused
from theodolite.core.errors import ContractError
from theodolite.geometry import TokenGrid
from theodolite.models import Decoder, PlacedPicture

if TYPE_CHECKING:
    import torch

LAYERS = (-2, -3, -4, -5)
"""The hidden states that are kept, numbered as in transformers: -2 is the input of the last block."""


@dataclass(slots=True)
class Evidence:
    """Hidden states, gradients and relevance flows of one batch. The tensors are released with the batch."""

    logits: torch.Tensor
    """Logits of the options' first tokens at the last position, (batch, options), float32."""
    log_normaliser: torch.Tensor
    """Log-normaliser over the vocabulary at the last position, (batch,): log-probabilities are logits minus this."""
    targets: Targets
    is_token: torch.Tensor
    """True for real tokens, False for padding, (batch, tokens)."""
    placed: list[list[PlacedPicture]]
    """Per request, the grids of its pictures and the positions of their tokens."""
    decoder: Decoder
    option_ids: torch.Tensor
    """The first token of each option, (batch, options)."""
    sinks: torch.Tensor | None = None
    """True for attention sinks, (batch, tokens), if they are to be masked."""
    calls: list[AttentionCall] = field(default_factory=list)
    hidden: dict[int, torch.Tensor] = field(default_factory=dict)
    """Hidden states by layer (see `LAYERS`), (batch, tokens, width)."""
    hidden_gradients: dict[str, dict[int, torch.Tensor]] = field(default_factory=dict)
    """By role and layer; float32."""
    flows: dict[str, torch.Tensor] = field(default_factory=dict)
    """Chefer's relevance by role, (batch, tokens), without the seed at the last token."""
    normalised_flows: dict[str, torch.Tensor] = field(default_factory=dict)
    propagated: dict[str, torch.Tensor] = field(default_factory=dict)
    """AttnLRP's relevance by role, (batch, tokens), with its sign."""
    rolled: torch.Tensor | None = None
    features: torch.Tensor | None = None
    """Vision features at the projector, concatenated over the pictures of the batch, (features, width)."""
    feature_grids: list[list[TokenGrid]] = field(default_factory=list)
    feature_gradients: dict[str, torch.Tensor] = field(default_factory=dict)
    layer_calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)
    """The arguments of each language layer other than hidden states, bottom to top."""

    def gradient(self, target: str, layer: int, *, contrastive: bool) -> torch.Tensor:
        """Return ∂z_tgt/∂h, or if contrastive ∂(z_tgt − z_neg)/∂h, at one layer, (batch, tokens, width), float32.

        The gradient is linear in the logits, so the rival's gradient is subtracted without another backward pass.
        """
        import torch

        own = self.hidden_gradients[target][layer]
        if not contrastive:
            return own
        rival, second = self.hidden_gradients["pred"][layer], self.hidden_gradients["second"][layer]
        return own - torch.where(self.targets.is_predicted(target)[:, None, None], second, rival)

    def share(self, role: str, other: str) -> None:
        """Reuse the results of another role that stands for the same options."""
        for results in (
            self.hidden_gradients,
            self.flows,
            self.normalised_flows,
            self.feature_gradients,
            self.propagated,
        ):
            by_role = cast("dict[str, Any]", results)
            if other in by_role:
                by_role[role] = by_role[other]

    def rollout(self) -> torch.Tensor:
        """Return attention rollout, (batch, tokens); compute it now if no backward pass has."""
        if self.rolled is None:
            self.rolled = roll_out(self.calls)
        return self.rolled

    def tail(self, hidden: torch.Tensor, layer: int) -> torch.Tensor:
        """Return the options' logits for given hidden states of a layer, (batch, options), float32.

        Args:
            hidden: Hidden states (batch, tokens, width) that replace the layer's own.
            layer: The layer, as in `LAYERS`.
        """
        with paused():
            first = len(self.decoder.layers) + layer + 1
            for block, (positional, named) in zip(
                self.decoder.layers[first:], self.layer_calls[first:], strict=True
            ):
                output = block(hidden, *positional, **named)
                hidden = output[0] if isinstance(output, tuple) else output
            scores = upcast(self.decoder.head(self.decoder.norm(hidden[:, -1:]))[:, 0])
        return scores.gather(1, self.option_ids.to(scores.device))

    def check_tail(self, layer: int) -> None:
        """Check that the tail reproduces the model's logits from the layer's own hidden states.

        Raises:
            ContractError: If the model does something between its layers that the tail does not.
        """
        import torch

        with torch.no_grad():
            again = self.tail(self.hidden[layer].detach(), layer)
        gap = self.gap(again, self.hidden[layer].dtype)
        if gap:
            raise ContractError(
                f"running this architecture again from layer {layer} gives different logits (by {gap:.3g}): it does more "
                "between its layers than pass on hidden states"
            )

    def gap(self, logits: torch.Tensor, dtype: torch.dtype) -> float:
        """Return the largest difference of repeated logits from the model's own, or 0 if it is rounding."""
        import torch

        gap = float((logits.detach().to(self.logits.device) - self.logits).abs().max())
        scale = float(self.logits.abs().max().clamp(min=1.0))
        loose = 1e-3 if dtype in {torch.float32, torch.float64} else 0.05
        return gap if gap > loose * scale else 0.0

    def sinks_on_pictures(self) -> list[list[np.ndarray]]:
        """Mark the attention sinks among the tokens of each picture, per request; none if they are not masked."""
        is_sink = np.zeros(self.is_token.shape, bool) if self.sinks is None else self.sinks.cpu().numpy()
        return [
            [row[picture.positions] for picture in placed]
            for row, placed in zip(is_sink, self.placed, strict=True)
        ]

    def on_pictures(self, relevance: torch.Tensor) -> tuple[list[list[np.ndarray]], list[float]]:
        """Split token relevance (batch, tokens) into the values of each picture and the sum over the text."""
        values = relevance.detach().cpu().numpy()
        is_token = self.is_token.cpu().numpy()
        pictures: list[list[np.ndarray]] = []
        text: list[float] = []
        for row, real, placed in zip(values, is_token, self.placed, strict=True):
            pictures.append([row[picture.positions] for picture in placed])
            rest = real.copy()
            for picture in placed:
                rest[picture.positions] = False
            text.append(float(row[rest].sum(dtype=np.float64)))
        return pictures, text


FeatureScore = Callable[["torch.Tensor", "torch.Tensor"], "torch.Tensor"]
"""Maps a picture's features (features, width) and their gradients to a relevance per feature."""


def on_features(evidence: Evidence, target: str, score: FeatureScore) -> list[list[np.ndarray]]:
    """Apply a score to the vision features of every picture, per request."""
    if evidence.features is None:
        raise ContractError("the shared pass kept no vision features")
    gradients = evidence.feature_gradients[target]
    scores: list[list[np.ndarray]] = []
    start = 0
    for grids in evidence.feature_grids:
        row: list[np.ndarray] = []
        for grid in grids:
            part = slice(start, start + grid.n_tokens)
            row.append(score(upcast(evidence.features[part]), upcast(gradients[part])).cpu().numpy())
            start += grid.n_tokens
        scores.append(row)
    return scores


def count_features(grids: Sequence[Sequence[TokenGrid]]) -> int:
    """Return the number of features in the grids of a batch."""
    return sum(grid.n_tokens for row in grids for grid in row)

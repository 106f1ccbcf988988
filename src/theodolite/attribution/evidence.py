"""The results of the shared pass, from which all methods compute their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from theodolite.attribution.flow import AttentionCall, last_token, roll_out, upcast
from theodolite.attribution.hiding import Windows
from theodolite.attribution.maps import SpanTargets, Targets
from theodolite.attribution.recorder import paused
from theodolite.core.errors import ContractError
from theodolite.core.types import Picture, Request
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
    """The kept logits, float32: of the options' first tokens at the last position, (batch, options), or of the tokens of
    a written answer and their rivals, each at the position before it."""
    log_normaliser: torch.Tensor
    """Log-normaliser over the vocabulary at the last position, (batch,): log-probabilities are logits minus this."""
    targets: Targets | SpanTargets
    is_token: torch.Tensor
    """True for real tokens, False for padding, (batch, tokens)."""
    placed: list[list[PlacedPicture]]
    """Per request, the grids of its pictures and the positions of their tokens."""
    decoder: Decoder
    option_ids: torch.Tensor
    """The token of each kept logit, (batch, logits); one row if all requests have the same."""
    input_ids: torch.Tensor
    """(batch, tokens)."""
    rows: torch.Tensor | None = None
    """The position before each token of a written answer, (answer tokens,). None: options, explained at the last."""
    offsets: torch.Tensor | None = None
    """The token of the answer that each kept logit stands for, (logits,)."""
    seeds: dict[str, torch.Tensor] = field(default_factory=dict)
    """The tokens whose next token is explained, by role, (batch, tokens). A role that is missing starts at the last."""
    is_question: torch.Tensor | None = None
    """True for tokens of the question, (batch, tokens), if they could be told from the chat template's."""
    final: torch.Tensor | None = None
    """The hidden states that enter the head, (batch, tokens, width), if a method needs them."""
    requests: Sequence[Request] = ()
    rerun: Callable[[int, Iterable[Sequence[Picture]]], torch.Tensor] | None = None
    """Returns the kept logits of one request with other pictures of the same sizes, (variants, logits)."""
    hidden_windows: dict[int, tuple[Windows, torch.Tensor]] = field(default_factory=dict)
    """By request, the windows that occlusion hid, and the kept logits without each of them."""
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
    rolled: dict[str, torch.Tensor] = field(default_factory=dict)
    """Attention rollout by role; under the empty name from the last token."""
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
        own = self.hidden_gradients[target][layer]
        return own - self.targets.rival(self.hidden_gradients, target, layer) if contrastive else own

    def share(self, role: str, other: str) -> None:
        """Reuse the results of another role that stands for the same options."""
        for results in (
            self.hidden_gradients,
            self.flows,
            self.normalised_flows,
            self.feature_gradients,
            self.propagated,
            self.rolled,
        ):
            by_role = cast("dict[str, Any]", results)
            if other in by_role:
                by_role[role] = by_role[other]

    def explained_tokens(self, target: str, row: int) -> list[tuple[int, int, float]]:
        """Return the tokens whose logits a target explains in one request: position before it, token, weight."""
        if isinstance(self.targets, Targets):
            option = int(self.targets.roles[target][row])
            return [(self.is_token.shape[1] - 1, int(self.option_ids[row, option]), 1.0)]
        if self.rows is None or self.offsets is None:
            raise ContractError("the spans of an answer need the positions of its tokens")
        places = self.rows[self.offsets.to(self.rows.device)].tolist()
        columns = zip(places, self.option_ids[0].tolist(), self.targets.weights[target].tolist(), strict=True)
        return [(place, token, weight) for place, token, weight in columns if weight]

    def explained_of(self, logits: torch.Tensor, target: str, row: int) -> torch.Tensor:
        """Return the explained number of one request for other kept logits, (variants,).

        Args:
            logits: Kept logits of variants of the request, (variants, logits).
            target: The target.
            row: The request.
        """
        if isinstance(self.targets, Targets):
            return logits[:, int(self.targets.roles[target][row])]
        return self.targets.explained(logits, target)

    def seed(self, target: str) -> torch.Tensor:
        """Return the tokens whose next token a target explains, (batch, tokens): 1 there, 0 elsewhere."""
        last = last_token(self.calls[-1])
        return self.seeds[target].to(last) if target in self.seeds else last

    def rollout(self, target: str = "") -> torch.Tensor:
        """Return attention rollout from a target's tokens, (batch, tokens); compute it now if no backward pass has."""
        if target not in self.rolled:
            self.rolled[target] = roll_out(self.calls, self.seed(target))
        return self.rolled[target]

    def tail(self, hidden: torch.Tensor, layer: int) -> torch.Tensor:
        """Return the kept logits for given hidden states of a layer, (batch, logits), float32.

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
            last = hidden[:, -1:] if self.rows is None else hidden[:, self.rows.to(hidden.device)]
            return kept_logits(self.decoder.head(self.decoder.norm(last)), self.option_ids, self.offsets)

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


def kept_logits(scores: torch.Tensor, ids: torch.Tensor, offsets: torch.Tensor | None) -> torch.Tensor:
    """Return the kept logits, (batch, logits), float32.

    Args:
        scores: Logits at the last position or before each token of an answer, (batch, positions, vocabulary).
        ids: The token of each kept logit, (batch, logits) or (1, logits).
        offsets: The position of each kept logit among those of the scores. None: the last for all.
    """
    own = ids.to(scores.device).expand(len(scores), -1)
    if offsets is None:
        return upcast(scores[:, -1]).gather(1, own)
    return upcast(scores[:, offsets.to(scores.device)].gather(2, own[..., None])[..., 0])


def count_features(grids: Sequence[Sequence[TokenGrid]]) -> int:
    """Return the number of features in the grids of a batch."""
    return sum(grid.n_tokens for row in grids for grid in row)

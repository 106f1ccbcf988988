"""Attention sinks: tokens that attract attention whatever is asked, and hold relevance that says nothing about the answer.

A token is a sink if it has a massive activation in one of the dimensions in which the first token of the prompt has one
(Kang et al., *See what you are told: visual attention sink in large multimodal models*, ICLR 2025, who found that image
tokens with such activations are attended to whatever the question; massive activations are of Sun et al., COLM 2024). With
h_j the hidden state of token j and p_jd = |h_jd| / rms(h_j), in the input of one layer

    D = {d : p_1d ≥ τ},   token j is a sink if max over d in D of p_jd ≥ τ,   τ = 20 in the paper

The paper reads D from the beginning-of-sequence token once per model; here it is read from the first token of each prompt.
Massive activations appear after the first layers and then stay, so a token counts as a sink if it is one in at least half
of the layers from the third on. Since p ≤ √width, models of fewer than τ² dimensions have no sinks.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution.flow import upcast
from theodolite.core.errors import UsageError
from theodolite.geometry import TokenGrid

if TYPE_CHECKING:
    import torch

THRESHOLD = 20.0
"""τ of Kang et al."""
FIRST_LAYER = 2
"""The first layer, from 0, whose input is looked at."""


def check_threshold(threshold: float | None) -> None:
    """Raises a `UsageError` if a number cannot be τ; None stands for sinks that are kept."""
    if threshold is not None and not 0 < threshold < math.inf:
        raise UsageError(
            f"the threshold of attention sinks must be a finite number above 0, not {threshold:g}"
        )


class SinkCount:
    """Counts in how many layers each token of a batch is a sink."""

    def __init__(self, threshold: float, is_token: torch.Tensor) -> None:
        """Start to count.

        Args:
            threshold: τ.
            is_token: True for real tokens, (batch, tokens).
        """
        self._threshold = threshold
        self._first = is_token.int().argmax(dim=1)
        self._is_token = is_token
        self._count = is_token.int() * 0
        self._layers = 0

    def see(self, hidden: torch.Tensor) -> None:
        """Look at the input of a layer, (batch, tokens, width)."""
        values = upcast(hidden.detach())
        peaks = values.abs() / values.square().mean(dim=-1, keepdim=True).sqrt().clamp(min=1e-30)
        rows = self._first.to(peaks.device)[:, None, None].expand(-1, 1, peaks.shape[-1])
        in_sink_dimension = peaks.gather(1, rows) >= self._threshold
        found = ((peaks >= self._threshold) & in_sink_dimension).any(dim=-1)
        self._count += found.to(self._count)
        self._layers += 1

    def sinks(self) -> torch.Tensor:
        """True for sinks, (batch, tokens)."""
        found: torch.Tensor = self._is_token & (2 * self._count >= max(1, self._layers))
        return found


def features_of(tokens: TokenGrid, is_sink: NDArray[np.bool_], features: TokenGrid) -> NDArray[np.bool_]:
    """Return which vision features lie in sinks, (features,).

    A feature belongs to the tokens of its own part of the picture; if the grids have other parts, to those of all parts.
    """
    same_parts = set(tokens.part[tokens.has_place]) == set(features.part[features.has_place])
    found = np.zeros(features.n_tokens, bool)
    x, y = features.centres_px.T
    for token in np.flatnonzero(is_sink & tokens.has_place):
        x0, y0, x1, y1 = tokens.rects_px[token]
        inside = (x0 <= x) & (x < x1) & (y0 <= y) & (y < y1)
        found |= inside & (features.part == tokens.part[token]) if same_parts else inside
    return found

r"""Second-order gradients of paired networks (many scenes in one batch) and of checkpoints.

With z the explained output, e_w the embedding of word w and x the pixels,

    r_w = Σ_d e_{w,d} ∂z/∂e_{w,d},    a = Σ_w |r_w|,    G = ∂a/∂x,    heat = Σ_channels |G|,

and for the mixed form heat = Σ_w Σ_channels |∂r_w/∂x|. Scenes of a batch are independent, so the gradient of a sum over
scenes holds each scene's own. A checkpoint has image tokens instead of pixels (`theodolite.attribution.second_order`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.grid.data.batch import SceneBatch
from theodolite.instruments.grid.data.question_types import BUCKETS, PAD, word_spans
from theodolite.instruments.grid.data.world import render
from theodolite.instruments.grid.explainers.game import Floats
from theodolite.instruments.grid.explainers.relevance import as_cells, asked_of, token_map_as_cells

if TYPE_CHECKING:
    from torch import Tensor

    from theodolite.instruments.grid.models.paired import PairedNetwork
    from theodolite.models import VisionLanguageModel

SlopeForm: TypeAlias = Literal["explained", "sum of logits", "mixed"]
"""``explained``: of Σ|r_w| of the explained output. ``sum of logits``: the same of the sum of all logits, as in the public
code. ``mixed``: of every r_w by itself, so that words cannot cancel."""

_SCENES_AT_ONCE = {"cpu": 8, "cuda": 128}


@dataclass(frozen=True, slots=True)
class SlopeRequest:
    """A scene to differentiate, and how."""

    batch: SceneBatch
    row: int
    answer: int
    explained: str
    form: SlopeForm

    @property
    def passes(self) -> int:
        """One forward pass, one backward pass to the words, and one (mixed: one per word) to the pixels."""
        return 2 + (int((self.batch.words[self.row] != PAD).sum()) if self.form == "mixed" else 1)


@dataclass(frozen=True, slots=True)
class Slope:
    """The gradients of one scene."""

    cells: Floats
    """The heat of each cell, (cells,)."""
    relevance: Floats
    """r_w, (words,)."""
    heat: NDArray[np.float32] | None = None
    """By pixel, (height, width); None for a checkpoint."""


def find_slopes(network: PairedNetwork, requests: Sequence[SlopeRequest], *, device: str) -> list[Slope]:
    """Compute gradients of scenes of one data set, in the order of the requests."""
    import torch

    rows = _SCENES_AT_ONCE.get(torch.device(device).type, 8)
    slopes: dict[int, Slope] = {}
    for form in dict.fromkeys(request.form for request in requests):
        indices = [i for i, request in enumerate(requests) if request.form == form]
        for start in range(0, len(indices), rows):
            some = indices[start : start + rows]
            slopes.update(zip(some, _batch(network, [requests[i] for i in some], device), strict=True))
    return [slopes[i] for i in range(len(requests))]


def _batch(network: PairedNetwork, requests: list[SlopeRequest], device: str) -> list[Slope]:
    """Compute gradients of one form, in one pass."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    batch, form = requests[0].batch, requests[0].form
    rows = np.array([request.row for request in requests])
    pictures = torch.as_tensor(render(batch.world, batch.cells[rows]), device=device)
    pixels = pictures.permute(0, 3, 1, 2).float().requires_grad_(True)  # noqa: FBT003 - torch's own signature
    words = torch.as_tensor(batch.words[rows], device=device).long()
    is_word = words != PAD
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):  # the only kernel with a second derivative
        embedded = network.embed(words).detach().requires_grad_(True)  # noqa: FBT003 - torch's own signature
        logits = network.answers(network.tiles(pixels), embedded)
        z = torch.stack([_output(request, row) for request, row in zip(requests, logits, strict=True)])
        (slope,) = torch.autograd.grad(z.sum(), embedded, create_graph=True)
        relevance = (embedded * slope).sum(-1) * is_word
        wanted = relevance.abs().sum(1)[None] if form != "mixed" else relevance.T[is_word.any(0)]
        heat = torch.zeros(len(rows), *pixels.shape[-2:], device=device)
        for i, output in enumerate(wanted):
            (gradient,) = torch.autograd.grad(output.sum(), pixels, retain_graph=i + 1 < len(wanted))
            heat = heat + gradient.abs().sum(1)
    maps = heat.cpu().numpy().astype(np.float32)
    word_relevance = relevance.detach().cpu().numpy().astype(np.float64)
    return [
        Slope(as_cells(values, batch.world), words, values)
        for values, words in zip(maps, word_relevance, strict=True)
    ]


def checkpoint_slope(model: VisionLanguageModel, request: SlopeRequest) -> Slope:
    """Compute gradients of one scene by image token. Answers are identified by their first token, so counts end at 9.

    Raises:
        UnsupportedError: The model is a black box.
        UsageError: The explained answer is above 9.
    """
    from theodolite.attribution import second_order

    batch, row = request.batch, request.row
    asked, options = asked_of(batch, row, request.answer)
    columns = [batch.world.answers.index(option) for option in options]

    def output(option_logits: Tensor) -> Tensor:
        logits = option_logits.new_full((len(batch.world.answers),), -math.inf)
        return _output(request, logits.index_put((option_logits.new_tensor(columns).long(),), option_logits))

    spans = word_spans(batch.text(row))
    attribution = second_order(model, asked, options, spans, output, one_by_one=request.form == "mixed")
    relevance = np.zeros(batch.words.shape[1])
    relevance[: len(spans)] = attribution.words
    return Slope(token_map_as_cells(attribution.values, attribution.grid, batch.world), relevance)


def _output(request: SlopeRequest, logits: Tensor) -> Tensor:
    """Return the explained output of one row of logits, differentiable."""
    import torch

    world, answer = request.batch.world, request.answer
    if request.form == "sum of logits":
        return logits[logits > -math.inf].sum()
    if request.explained == "answer":
        return logits[answer]
    if request.explained == "log-odds":
        others = torch.cat([logits[:answer], logits[answer + 1 :]])
        return logits[answer] - torch.logsumexp(others, 0)
    if not BUCKETS[int(request.batch.bucket[request.row])].is_count:
        return logits[world.yes] - logits[world.yes + 1]
    counts = torch.arange(world.max_count + 1, dtype=logits.dtype, device=logits.device)
    return (torch.softmax(logits[: world.max_count + 1], 0) * counts).sum()

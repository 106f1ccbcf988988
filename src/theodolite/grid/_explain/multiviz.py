r"""MultiViz's second-order gradients: how the words' relevance changes with each pixel.

With z the explained output, e_w the embedding of word w and x the pixels,

    r_w = Σ_d e_{w,d} ∂z/∂e_{w,d},    a = Σ_w |r_w|,    G = ∂a/∂x,    heat = Σ_channels |G|,

and for the mixed form H_{c,w} = Σ_{px∈c} |∂r_w/∂x_px|. Both need a network that can be differentiated twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from theodolite.errors import UnsupportedError
from theodolite.grid._explain.contract import Case, Explainer, Explanation
from theodolite.grid._render import render
from theodolite.grid._words import PAD
from theodolite.grid._world import BUCKETS

if TYPE_CHECKING:
    from torch import Tensor

    from theodolite.grid._explain.readers import NetworkReader

_PAPER = "Liang et al. 2023, MultiViz"


def _network_of(case: Case) -> NetworkReader:
    from theodolite.grid._explain.readers import NetworkReader

    if not isinstance(case.reader, NetworkReader):
        name = case.reader.name if case.reader is not None else "this game"
        raise UnsupportedError(
            f"second-order gradients need a paired network such as grid:pure; {name} has none"
        )
    return case.reader


def _output(case: Case, logits: Tensor, *, is_sum: bool) -> Tensor:
    """The explained output of one row of logits, differentiable."""
    import torch

    world = case.batch.world
    if is_sum:
        return logits.sum()
    if case.convention.explained == "answer":
        return logits[case.answer]
    if case.convention.explained == "log-odds":
        others = torch.cat([logits[: case.answer], logits[case.answer + 1 :]])
        return logits[case.answer] - torch.logsumexp(others, 0)
    if not BUCKETS[int(case.batch.bucket[case.row])].is_count:
        return logits[world.yes] - logits[world.yes + 1]
    counts = torch.arange(world.max_count + 1, dtype=logits.dtype, device=logits.device)
    return (torch.softmax(logits[: world.max_count + 1], 0) * counts).sum()


def second_order(case: Case, *, is_sum: bool = False, is_mixed: bool = False) -> Explanation:
    """Gradients of the words' relevance by pixel.

    Args:
        case: The case; its reader must be a paired network.
        is_sum: Differentiate the sum of all logits, as the public code does, instead of the explained output.
        is_mixed: Sum |∂r_w/∂x| over words instead of differentiating Σ|r_w|: words cannot cancel.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    reader, batch, row = _network_of(case), case.batch, case.row
    network, world = reader.network, batch.world
    picture = torch.as_tensor(render(world, batch.cells[row][None]), device=reader.device)
    pixels = picture.permute(0, 3, 1, 2).float().requires_grad_(True)  # noqa: FBT003 - torch's own signature
    words = torch.as_tensor(batch.words[row][None], device=reader.device).long()
    is_word = (words[0] != PAD).nonzero()[:, 0]
    with sdpa_kernel(SDPBackend.MATH):  # the only kernel with a second derivative
        embedded = network.embed(words).detach().requires_grad_(True)  # noqa: FBT003 - torch's own signature
        z = _output(case, network(network.tiles(pixels), embedded).answer[0], is_sum=is_sum)
        (slope,) = torch.autograd.grad(z, embedded, create_graph=True)
        relevance = (embedded * slope).sum(-1)[0]
        wanted = relevance[is_word] if is_mixed else relevance[is_word].abs().sum()[None]
        heat = torch.zeros(pixels.shape[-2:], device=reader.device)
        for place, each in enumerate(wanted):
            (found,) = torch.autograd.grad(each, pixels, retain_graph=place + 1 < len(wanted))
            heat = heat + found.abs().sum(1)[0]
    heat_map = heat.cpu().numpy().astype(np.float32)
    px = world.cell_px
    cells = (
        heat_map.astype(np.float64).reshape(world.rows, px, world.columns, px).sum(axis=(1, 3)).reshape(-1)
    )
    passes = len(wanted)
    return Explanation(
        cells,
        relevance.detach().cpu().numpy().astype(np.float64),
        heat_map,
        is_exact=True,
        calls=1 + 2 * passes,
        method=f"one forward, {passes + 1} backward passes; a call is a pass",
    )


def multiviz(case: Case) -> Explanation:
    """With the explained output."""
    return second_order(case)


def multiviz_sum(case: Case) -> Explanation:
    """With the sum of all logits."""
    return second_order(case, is_sum=True)


def multiviz_mixed(case: Case) -> Explanation:
    """Word by word."""
    return second_order(case, is_mixed=True)


MULTIVIZ = Explainer(
    "multiviz",
    "gradient by pixels of the words' summed relevance",
    multiviz,
    paper=_PAPER,
    needs_gradients=True,
)
MULTIVIZ_SUM = Explainer(
    "multiviz-sum",
    "the same of the sum of all logits, as the public code has it",
    multiviz_sum,
    paper=_PAPER,
    reading="paper",
    caveat="cross-entropy leaves the sum of logits free, so it says nothing of the answer",
    needs_gradients=True,
)
MULTIVIZ_MIXED = Explainer(
    "multiviz-mixed",
    "mixed second derivative of each word with each pixel, sizes summed",
    multiviz_mixed,
    paper=_PAPER,
    needs_gradients=True,
)

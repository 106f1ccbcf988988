"""Occlusion (Zeiler and Fergus, ECCV 2014): what the answer loses when a part of the picture is hidden.

    a_w = (z(x) − z(x with window w grey))⁺,   the amount of a cell is the mean over the windows that cover it

It costs one forward pass per window, needs no gradients, and is the one method here that changes the picture itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from theodolite.attribution.evidence import Evidence
from theodolite.attribution.flow import upcast
from theodolite.attribution.hiding import Windows, seen_region, token_amounts
from theodolite.attribution.method import Method, Need
from theodolite.core.errors import ContractError

if TYPE_CHECKING:
    import torch


def _occlusion(evidence: Evidence, target: str) -> torch.Tensor:
    import torch

    relevance = torch.zeros_like(upcast(evidence.is_token.float()))
    for row, placed in enumerate(evidence.placed):
        if row not in evidence.hidden_windows:  # the same windows serve all targets
            evidence.hidden_windows[row] = _hidden(evidence, row)
        windows, logits = evidence.hidden_windows[row]
        own = evidence.logits[row : row + 1].to(logits.device)
        base = evidence.explained_of(own, target, row)
        losses = (base - evidence.explained_of(logits, target, row)).double().cpu().numpy()
        for picture, raster, amounts in zip(placed, windows.rasters, windows.amounts(losses), strict=True):
            values = token_amounts(picture.grid, raster, amounts)
            relevance[row, torch.from_numpy(picture.positions)] = torch.from_numpy(values).to(relevance)
    return relevance


def _hidden(evidence: Evidence, row: int) -> tuple[Windows, torch.Tensor]:
    """Return the windows of a request's pictures, and its kept logits with each of them hidden."""
    if evidence.rerun is None:
        raise ContractError("occlusion needs a pass that can be run again")
    pictures = evidence.requests[row].pictures
    regions = [seen_region(picture.grid) for picture in evidence.placed[row]]
    windows = Windows.over([picture.size for picture in pictures], regions)
    return windows, evidence.rerun(row, windows.variants(pictures))


OCCLUSION = Method(
    name="occlusion",
    summary="what the answer loses when a part of the picture is hidden",
    paper="Zeiler and Fergus, ECCV 2014",
    needs=Need.PICTURES,
    score=_occlusion,
)

"""Occlusion (Zeiler and Fergus, ECCV 2014): what the answer loses when a part of the picture is hidden.

    a_w = (z(x) − z(x with window w grey))⁺,   the amount of a cell is the mean over the windows that cover it

It costs one forward pass per window, needs no gradients, and is the one method here that changes the picture itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution.evidence import Evidence
from theodolite.attribution.flow import upcast
from theodolite.attribution.hiding import occlusion, seen_region, token_amounts
from theodolite.attribution.method import Method, Need
from theodolite.core.errors import ContractError
from theodolite.core.types import Picture

if TYPE_CHECKING:
    import torch


def _occlusion(evidence: Evidence, target: str) -> torch.Tensor:
    import torch

    relevance = torch.zeros_like(upcast(evidence.is_token.float()))
    rerun = evidence.rerun
    if rerun is None:
        raise ContractError("occlusion needs a pass that can be run again")
    for row, (request, placed) in enumerate(zip(evidence.requests, evidence.placed, strict=True)):

        def drop(variants: list[list[Picture]], row: int = row) -> NDArray[np.float64]:
            logits = rerun(row, variants)
            own = evidence.logits[row : row + 1].to(logits.device)
            base = evidence.explained_of(own, target, row)
            return (base - evidence.explained_of(logits, target, row)).double().cpu().numpy()

        maps = occlusion(request.pictures, [seen_region(picture.grid) for picture in placed], drop)
        for picture, (raster, amounts) in zip(placed, maps, strict=True):
            values = token_amounts(picture.grid, raster, amounts)
            relevance[row, torch.from_numpy(picture.positions)] = torch.from_numpy(values).to(relevance)
    return relevance


OCCLUSION = Method(
    name="occlusion",
    summary="what the answer loses when a part of the picture is hidden",
    paper="Zeiler and Fergus, ECCV 2014",
    needs=Need.PICTURES,
    score=_occlusion,
)

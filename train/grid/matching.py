"""The set losses of the paired models: Hungarian matching, boxes, naming words and alignment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torch.nn import functional

from theodolite.instruments.grid.models.paired import NetworkOutput

NO_OBJECT_WEIGHT = 0.1
TEMPERATURE = 0.07
COSTS = {"token": 1.0, "l1": 5.0, "giou": 2.0}
"""Weights of the matching cost and of the losses, as in MDETR."""


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of the question, padded to the maximum over the batch."""

    boxes: Tensor
    """Centre and size in fractions, ``(batch, most, 4)``."""
    spans: Tensor
    """The words that name each object, ``(batch, most, longest)``; rows sum to 1."""
    real: Tensor
    """True for objects that exist, False for padding, ``(batch, most)``."""


def corners(boxes: Tensor) -> Tensor:
    """Convert centre and size to left, top, right, bottom."""
    centre, size = boxes[..., :2], boxes[..., 2:]
    return torch.cat([centre - size / 2, centre + size / 2], dim=-1)


def box_giou(a: Tensor, b: Tensor) -> Tensor:
    """Return the generalised IoU of boxes given as centre and size, broadcast over leading axes.

    ``GIoU = I/U - (C - U)/C`` with ``I`` the intersection, ``U`` the union and ``C`` the smallest box that contains
    both.
    """
    a, b = corners(a), corners(b)
    low, high = torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])
    inside = (high - low).clamp(min=0).prod(-1)
    union = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) - inside
    hull = (torch.maximum(a[..., 2:], b[..., 2:]) - torch.minimum(a[..., :2], b[..., :2])).prod(-1)
    return inside / union.clamp(min=1e-9) - (hull - union) / hull.clamp(min=1e-9)


@torch.no_grad()
def match(reading: NetworkOutput, objects: Objects) -> tuple[Tensor, Tensor, Tensor]:
    """Return the cheapest one-to-one matching of queries and objects, as indices into batch, queries and objects."""
    likely = torch.log_softmax(reading.tokens, -1)[..., :-1]
    cost = -COSTS["token"] * torch.einsum("bql,bol->bqo", likely.exp(), objects.spans)
    cost += COSTS["l1"] * torch.cdist(reading.boxes, objects.boxes, p=1)
    cost -= COSTS["giou"] * box_giou(reading.boxes[:, :, None], objects.boxes[:, None])
    table = cost.cpu().numpy()
    held = objects.real.sum(1).tolist()  # real objects come first
    matches = []
    for i, n in enumerate(held):
        queries, chosen = linear_sum_assignment(table[i, :, : int(n)])
        matches.append(np.stack([np.full(len(queries), i), queries, chosen]))
    joined = torch.as_tensor(np.concatenate(matches, axis=1), device=cost.device)
    return joined[0], joined[1], joined[2]


def set_loss(reading: NetworkOutput, objects: Objects) -> dict[str, Tensor]:
    """Return box, naming-word and alignment losses of the matched queries, already weighted.

    Boxes: ``5 |b - b'|_1 + 2 (1 - GIoU)``, averaged over objects. Words: cross-entropy against a uniform
    distribution over the words that name the object; unmatched queries against "no object" at a tenth of the
    weight. Alignment: softmax over words of ``q . w / 0.07`` for each matched query, and the reverse.
    """
    batch, query, chosen = match(reading, objects)
    count = max(len(batch), 1)
    mine, true = reading.boxes[batch, query], objects.boxes[batch, chosen]
    spans = objects.spans[batch, chosen]
    target = torch.zeros_like(reading.tokens)
    target[..., -1] = 1.0
    target[batch, query] = functional.pad(spans, (0, 1))
    weight = torch.full_like(target[..., 0], NO_OBJECT_WEIGHT)
    weight[batch, query] = 1.0
    per_query = -(target * torch.log_softmax(reading.tokens, -1)).sum(-1)
    return {
        "l1": COSTS["l1"] * (mine - true).abs().sum() / count,
        "giou": COSTS["giou"] * (1 - box_giou(mine, true)).sum() / count,
        "token": COSTS["token"] * (weight * per_query).sum() / weight.sum(),
        "align": _alignment(reading, batch, query, spans) / count,
    }


def _alignment(reading: NetworkOutput, batch: Tensor, query: Tensor, spans: Tensor) -> Tensor:
    similar = torch.einsum("bqd,bld->bql", reading.query_embedding, reading.word_embedding) / TEMPERATURE
    to_words = -(spans * torch.log_softmax(similar, -1)[batch, query]).sum()
    to_queries = -(spans * torch.log_softmax(similar, 1)[batch, query]).sum()
    return (to_words + to_queries) / 2

"""A model without what it has learned: the rows of every matrix of its language layers shuffled, and put back.

A map that stays the same shows the picture's layout or the architecture, not what the model does (Adebayo et al., *Sanity
Checks for Saliency Maps*, NeurIPS 2018). Shuffling keeps each matrix's values, so the numbers keep their size.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from theodolite.core.errors import UnsupportedError

if TYPE_CHECKING:
    import torch


@contextmanager
def shuffled(layers: Any, seed: int = 0) -> Iterator[None]:
    """Shuffle the weights of some layers within the context. Afterwards they are the same to the last bit.

    Args:
        layers: The module.
        seed: Seed of the order.

    Raises:
        UnsupportedError: If the weights are not in memory as numbers, being quantised or offloaded.
    """
    import torch

    weights = list(dict.fromkeys(layers.parameters()))
    if any(not w.is_floating_point() or w.device.type == "meta" for w in weights):
        raise UnsupportedError("the weights cannot be shuffled: they are quantised or not in memory")
    draws = torch.Generator().manual_seed(seed)
    orders: list[torch.Tensor] = []
    try:
        for weight in weights:
            order = torch.randperm(len(weight), generator=draws).to(weight.device)
            weight.data.copy_(weight.data[order])
            orders.append(order)
        yield
    finally:
        for weight, order in zip(weights, orders, strict=False):
            weight.data.copy_(weight.data[torch.argsort(order)])

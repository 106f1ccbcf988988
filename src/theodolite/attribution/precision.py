"""Relevance is summed over thousands of small products: never in half precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor in float32 if it is in a half precision; what is wider stays as it is."""
    return tensor.float() if tensor.element_size() < 4 else tensor


def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Batched matrix product (b, n, k) · (b, k, m), summed and given in float32 or wider.

    On a GPU two half-precision factors go to the matrix units as they are, which sum in float32: exact to the last bit
    of the factors, and many times faster than widening them first.
    """
    import torch

    if left.is_cuda and left.element_size() < 4 and left.dtype == right.dtype:
        return torch.bmm(left, right, out_dtype=torch.float32)
    return torch.bmm(wide(left), wide(right).to(wide(left).dtype))

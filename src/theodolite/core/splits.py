"""Splits of drawn data, by whether a known shortcut gives the right answer.

*Aligned*: the shortcut's answer is the true one, so accuracy cannot tell who looks. *Crossed*: the shortcut contradicts
the picture. *Free*: as drawn.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from theodolite.core.errors import UsageError

__all__ = ["ALIGNED", "CROSSED", "LESSON_SEEDS", "OWN_SPLIT", "SPLITS", "Split", "check_split"]

Split: TypeAlias = Literal["aligned", "crossed", "free"]
ALIGNED: Split = "aligned"
CROSSED: Split = "crossed"
SPLITS: tuple[Split, ...] = (ALIGNED, CROSSED)
"""The splits of a diagnosis."""
OWN_SPLIT = "own data"
"""The split of the user's own items."""
LESSON_SEEDS = 1_000_000
"""Training data have seeds below it, these sets above."""


def check_split(split: str) -> None:
    """Raises a `UsageError` for an unknown split."""
    if split not in get_args(Split):
        raise UsageError(f"the split is {', '.join(get_args(Split))}, not {split!r}")

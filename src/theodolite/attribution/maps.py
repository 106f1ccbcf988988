"""The results of attribution: relevance of image tokens with their positions, and the total on the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.core.errors import UsageError
from theodolite.geometry import TokenGrid


@dataclass(frozen=True, slots=True, eq=False)
class RelevanceMap:
    """The relevance of one picture's tokens for one target by one method. Not normalised."""

    method: str
    target: str
    """The explained logit: ``gt``, ``pred``, or an option's name; empty if the method has no target."""
    grid: TokenGrid
    values: NDArray[np.float32]
    """Shape (tokens,), in the order of the grid."""
    text_mass: float | None = None
    """Total relevance of the text tokens, in the same unit; None if the method does not provide it."""
    picture: int = 0
    """Index of the picture in the request."""

    @classmethod
    def from_array(
        cls, values: ArrayLike, size_px: tuple[int, int], *, method: str, target: str = ""
    ) -> RelevanceMap:
        """Create a map from rows and columns that cover the whole picture evenly.

        Args:
            values: Shape (rows, columns).
            size_px: Width and height of the picture.
            method: Name of the method.
            target: The explained answer, if any.

        >>> RelevanceMap.from_array([[0, 1], [2, 3]], (40, 20), method="mine").grid.centres_px[1].tolist()
        [30.0, 5.0]
        """
        grid_values = np.asarray(values, np.float32)
        if grid_values.ndim != 2 or grid_values.size == 0:
            raise UsageError(f"a map needs rows and columns, got the shape {grid_values.shape}")
        rows, columns = grid_values.shape
        return cls(method, target, TokenGrid.regular(size_px, (rows, columns)), grid_values.ravel())

    def __post_init__(self) -> None:
        if self.values.shape != (self.grid.n_tokens,):
            raise UsageError(
                f"a grid of {self.grid.n_tokens} tokens needs as many values, got the shape {self.values.shape}"
            )
        if not np.isfinite(self.values).all():
            raise UsageError(f"the relevance of {self.method} is not finite")


@dataclass(frozen=True, slots=True, eq=False)
class Attribution:
    """The results of one shared pass for one request."""

    options: tuple[str, ...]
    logits: NDArray[np.float64]
    """Shape (options,): the logit of each option's first token at the last position."""
    log_probabilities: NDArray[np.float64]
    """Shape (options,): the log-probabilities over the whole vocabulary."""
    maps: tuple[RelevanceMap, ...]
    n_sinks: int | None = None
    """Number of image tokens that were masked as attention sinks; None if sinks were kept."""

    @property
    def predicted(self) -> int:
        """Index of the option with the largest logit."""
        return int(np.argmax(self.logits))

    def find(self, method: str, target: str = "", picture: int = 0) -> RelevanceMap:
        """Return the map of a method and a target.

        Raises:
            UsageError: If there is none. The message lists the available ones.
        """
        for each in self.maps:
            if (each.method, each.target, each.picture) == (method, target, picture):
                return each
        known = ", ".join(sorted({f"{m.method}@{m.target}" for m in self.maps}))
        raise UsageError(f"there is no map {method}@{target} of picture {picture}; there are: {known}")

    def __iter__(self) -> Iterator[RelevanceMap]:
        return iter(self.maps)

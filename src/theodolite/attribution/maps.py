"""What attribution gives: relevance of image tokens, with their place and with what fell on the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.core.errors import UsageError
from theodolite.geometry import TokenGrid


@dataclass(frozen=True, slots=True, eq=False)
class RelevanceMap:
    """The relevance of one picture's tokens for one target, as one method sees it. Not normalised."""

    method: str
    target: str
    """Whose logit was explained: ``gt``, ``pred``, or an option's own name; empty if the method has no target."""
    grid: TokenGrid
    values: NDArray[np.float32]
    """Shape (tokens,), in the grid's order."""
    text_mass: float | None = None
    """The relevance that fell on tokens of text, in the same unit; None if the method cannot say."""
    picture: int = 0
    """Which picture of the request."""

    @classmethod
    def from_array(
        cls, values: ArrayLike, size_px: tuple[int, int], *, method: str, target: str = ""
    ) -> RelevanceMap:
        """A map of one's own, given as rows and columns that cover the whole picture evenly.

        Args:
            values: shape (rows, columns).
            size_px: width and height of the picture.
            method: a name for it.
            target: what it explains, if anything in particular.

        >>> RelevanceMap.from_array([[0, 1], [2, 3]], (40, 20), method="mine").grid.centres_px[1].tolist()
        [30.0, 5.0]
        """
        grid_values = np.asarray(values, np.float32)
        if grid_values.ndim != 2 or grid_values.size == 0:
            raise UsageError(f"a map of one's own has rows and columns, not the shape {grid_values.shape}")
        rows, columns = grid_values.shape
        return cls(method, target, TokenGrid.regular(size_px, (rows, columns)), grid_values.ravel())

    def __post_init__(self) -> None:
        if self.values.shape != (self.grid.n_tokens,):
            raise UsageError(
                f"a grid of {self.grid.n_tokens} tokens needs as many values, got {self.values.shape}"
            )
        if not np.isfinite(self.values).all():
            raise UsageError(f"the relevance of {self.method} is not finite")


@dataclass(frozen=True, slots=True, eq=False)
class Attribution:
    """Everything that one shared pass found out about one request."""

    options: tuple[str, ...]
    logits: NDArray[np.float64]
    """Shape (options,): the logit of each option's first token at the last position."""
    log_probabilities: NDArray[np.float64]
    """Shape (options,): the same as log-probabilities over the whole vocabulary."""
    maps: tuple[RelevanceMap, ...]

    @property
    def predicted(self) -> int:
        """The option with the largest logit, by index."""
        return int(np.argmax(self.logits))

    def find(self, method: str, target: str = "", picture: int = 0) -> RelevanceMap:
        """The map of a method and a target.

        Raises:
            UsageError: there is none; the message names those that there are.
        """
        for each in self.maps:
            if (each.method, each.target, each.picture) == (method, target, picture):
                return each
        known = ", ".join(sorted({f"{m.method}@{m.target}" for m in self.maps}))
        raise UsageError(f"there is no map {method}@{target} of picture {picture}; there are: {known}")

    def __iter__(self) -> Iterator[RelevanceMap]:
        return iter(self.maps)

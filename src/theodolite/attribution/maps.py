"""Relevance maps on a token grid, and the options whose score they explain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.core.errors import UsageError
from theodolite.geometry import TokenGrid

if TYPE_CHECKING:
    import torch


# The results of attribution: relevance of image tokens with their positions, and the total on the text.


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
        for relevance in self.maps:
            if (relevance.method, relevance.target, relevance.picture) == (method, target, picture):
                return relevance
        names = ", ".join(sorted({f"{m.method}@{m.target}" for m in self.maps}))
        raise UsageError(f"there is no map {method}@{target} of picture {picture}; there are: {names}")

    def __iter__(self) -> Iterator[RelevanceMap]:
        return iter(self.maps)


# Attribution targets: an option's logit z_c at the last position, alone or against its rival.
#
# contrastive target (equation 5 of the paper):  τ = z_tgt − z_neg,  z_neg = z_pred if pred ≠ tgt, else z_2nd


_OPTION = re.compile(r"option:\d+")


def check_targets(wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the targets without duplicates.

    Raises:
        UsageError: If a target is unknown or there is none.

    >>> check_targets(["gt", "option:2", "gt"])
    ('gt', 'option:2')
    """
    unknown = [name for name in wanted if name not in {"gt", "pred"} and not _OPTION.fullmatch(name)]
    if unknown:
        raise UsageError(f"there is no target {unknown[0]!r}; there are: gt, pred and option:<index>")
    if not wanted:
        raise UsageError("there is no target to explain; use gt, pred or both")
    return tuple(dict.fromkeys(wanted))


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The option of each role for each request of a batch; every array has shape (batch,)."""

    roles: dict[str, torch.Tensor]
    """``pred``, ``second``, and the requested ones: ``gt`` or ``option:<index>``."""

    @classmethod
    def choose(cls, logits: torch.Tensor, wanted: tuple[str, ...], gold: list[int] | None) -> Targets:
        """Determine the options of the roles.

        Args:
            logits: The options' logits, (batch, options).
            wanted: The targets to explain.
            gold: The index of each request's correct option. Required for ``gt``.
        """
        import torch

        top = logits.topk(2, dim=1).indices
        roles = {"pred": top[:, 0], "second": top[:, 1]}
        for name in wanted:
            if name == "gt":
                if gold is None:
                    raise UsageError("the target 'gt' needs the correct option of every request")
                roles["gt"] = torch.tensor(gold, device=logits.device)
            elif name.startswith("option:"):
                index = int(name.removeprefix("option:"))
                if not 0 <= index < logits.shape[1]:
                    raise UsageError(f"there is no {name}: the options are 0 to {logits.shape[1] - 1}")
                roles[name] = torch.full_like(top[:, 0], index)
        return cls(roles)

    def repeated(self, roles: Sequence[str]) -> dict[str, str]:
        """Map each role to an earlier one that stands for the same options in every request, if there is one."""
        return {
            role: other
            for i, role in enumerate(roles)
            for other in reversed(roles[:i])
            if bool((self.roles[role] == self.roles[other]).all())
        }

    def is_predicted(self, name: str) -> torch.Tensor:
        """Return True where a target is the model's own answer, (batch,)."""
        return self.roles[name] == self.roles["pred"]

    def explained(self, logits: torch.Tensor, role: str) -> torch.Tensor:
        """Return the explained number of each request, (batch,): the logit of a role's option."""
        return logits.gather(1, self.roles[role][:, None].to(logits.device))[:, 0]

    def with_rivals(self, wanted: Sequence[str]) -> list[str]:
        """Return the roles whose gradients contrastive methods need for some targets."""
        return list(dict.fromkeys((*wanted, "pred", "second")))

    def rival(self, gradients: Mapping[str, dict[int, torch.Tensor]], name: str, layer: int) -> torch.Tensor:
        """Return the gradient of a target's rival at a layer: the model's answer, or the second if it is the answer."""
        import torch

        return torch.where(
            self.is_predicted(name)[:, None, None], gradients["second"][layer], gradients["pred"][layer]
        )


@dataclass(frozen=True, slots=True, eq=False)
class SpanTargets:
    """What is explained of a written answer: weighted sums of the logits of its tokens, by role."""

    weights: dict[str, torch.Tensor]
    """One weight per kept logit, (logits,)."""
    rivals: dict[str, str]
    """Of each target, the role that stands for its rival."""

    def explained(self, logits: torch.Tensor, role: str) -> torch.Tensor:
        """Return the explained number, (batch,)."""
        return (logits * self.weights[role].to(logits)).sum(dim=1)

    def repeated(self, roles: Sequence[str]) -> dict[str, str]:
        """Map each role to an earlier one with the same weights, if there is one."""
        return {
            role: other
            for i, role in enumerate(roles)
            for other in reversed(roles[:i])
            if bool((self.weights[role] == self.weights[other]).all())
        }

    def with_rivals(self, wanted: Sequence[str]) -> list[str]:
        """Return the roles whose gradients contrastive methods need for some targets."""
        return list(dict.fromkeys((*wanted, *(self.rivals[name] for name in wanted))))

    def rival(self, gradients: Mapping[str, dict[int, torch.Tensor]], name: str, layer: int) -> torch.Tensor:
        """Return the gradient of a target's rival at a layer."""
        return gradients[self.rivals[name]][layer]

"""What a relevance method is: a name, what it reads, and a function from evidence to maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution.evidence import Evidence
from theodolite.attribution.needs import Need
from theodolite.core.errors import ContractError, UsageError
from theodolite.core.registry import registry

if TYPE_CHECKING:
    import torch

TokenScores: TypeAlias = "torch.Tensor"
"""Relevance of every token of a batch, (batch, tokens)."""

FeatureScores: TypeAlias = "list[list[NDArray[np.floating]]]"
"""Relevance of every vision feature, per request and picture."""


@dataclass(frozen=True, slots=True)
class Method:
    """A way to say how relevant each image token was.

    The scores may be on tokens, which then say what fell on the text too, or on vision features.
    """

    name: str
    summary: str
    paper: str
    """Where it was published; empty for our own."""
    needs: Need
    score: Callable[[Evidence, str], TokenScores | FeatureScores]
    """From the evidence and a target to scores."""
    scores_on: Literal["tokens", "features"] = "tokens"
    has_target: bool = True
    """Whether the scores depend on what is explained."""
    is_contrastive: bool = False
    """Whether it explains a logit against its rival's."""
    caveat: str = ""
    """Why its numbers may mean little, where they are computed as published all the same."""
    sound_variant: str = ""
    """The method that stands beside it without the caveat."""

    @property
    def requirements(self) -> str:
        """What it needs of the model, in words."""
        found = [words for need, words in _REQUIREMENTS.items() if need in self.needs]
        target = "" if self.has_target else "; explains no answer in particular"
        return (", ".join(found) or "nothing") + target


_REQUIREMENTS = {
    Need.ATTENTION: "attention",
    Need.HIDDEN_GRADIENT: "gradients of the last layers",
    Need.ATTENTION_GRADIENT: "gradients through all language layers",
    Need.FEATURE_GRADIENT: "gradients to the vision features",
    Need.TAIL: "the last layers again, many times",
}


def find_methods(names: Sequence[str]) -> tuple[Method, ...]:
    """Methods by name; ``all`` stands for every registered one.

    Raises:
        UsageError: a name is not known.
    """
    known = registry().entries("method")
    wanted = [entry.name for entry in known] if list(names) == ["all"] else list(names)
    if not wanted or len(set(wanted)) != len(wanted):
        raise UsageError(f"methods must be distinct and at least one, got {list(names)}")
    found = []
    for name in wanted:
        method = registry().entry("method", name).load()
        if not isinstance(method, Method) or method.name != name:
            raise ContractError(
                f"the registered method {name!r} is not a theodolite.attribution.Method of that name"
            )
        found.append(method)
    return tuple(found)

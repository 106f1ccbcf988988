"""Relevance methods: what a method reads from the shared pass, and its function from evidence to scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Flag, auto
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution.evidence import Evidence
from theodolite.core.errors import ContractError, UsageError
from theodolite.core.registry import registry

if TYPE_CHECKING:
    import torch

TokenScores: TypeAlias = "torch.Tensor"
"""Relevance of every token of a batch, (batch, tokens)."""

FeatureScores: TypeAlias = "list[list[NDArray[np.floating]]]"
"""Relevance of every vision feature, per request and picture."""


class Need(Flag):
    """What a method reads from the shared pass. Determines how far gradients are propagated."""

    NOTHING = 0
    ATTENTION = auto()
    """Attention of all layers; no gradients."""
    HIDDEN_GRADIENT = auto()
    """Hidden states of the last layers and their gradients."""
    ATTENTION_GRADIENT = auto()
    """Gradients through all language layers."""
    FEATURE_GRADIENT = auto()
    """Gradients through all language layers and the projector, to the vision features."""
    TAIL = auto()
    """Running the last layers again on other hidden states."""
    RULES = auto()
    """A second pass through all language layers, in which relevance is propagated by rules."""
    FINAL = auto()
    """The hidden states that enter the head, of all tokens; no gradients."""
    PICTURES = auto()
    """Running the model again on other pictures; no gradients."""

    @property
    def is_deep(self) -> bool:
        """True if gradients must pass through the whole language model."""
        return bool(self & (Need.ATTENTION_GRADIENT | Need.FEATURE_GRADIENT))


@dataclass(frozen=True, slots=True)
class Method:
    """A method that assigns relevance to image tokens.

    The scores are on tokens, which include the text, or on vision features.
    """

    name: str
    summary: str
    paper: str
    """The publication; empty for our own methods."""
    needs: Need
    score: Callable[[Evidence, str], TokenScores | FeatureScores]
    """Maps the evidence and a target to scores."""
    scores_on: Literal["tokens", "features"] = "tokens"
    has_target: bool = True
    """True if the scores depend on the target."""
    is_contrastive: bool = False
    """True if it explains the difference to the rival's logit."""
    layers: tuple[int, ...] = ()
    """The layers whose hidden states it reads, as in `LAYERS`; empty if it reads all layers, or vision features."""
    at_layer: Callable[[Evidence, str, int], TokenScores] | None = None
    """The same scores at any one of `LAYERS`, for methods of a single layer."""
    caveat: str = ""
    """Why its values may mean little, if it is implemented as published despite a known defect."""
    sound_variant: str = ""
    """Name of the variant without the defect."""
    variant: Callable[[str], Method] | None = None
    """Returns the method with settings, which follow its name after a colon."""

    @property
    def requirements(self) -> str:
        """What it needs from the model, in words."""
        parts = [words for need, words in _REQUIREMENTS.items() if need in self.needs]
        target = "" if self.has_target else "; does not depend on the answer"
        return (", ".join(parts) or "nothing") + target

    def at_layers(self, layers: Sequence[int]) -> tuple[Method, ...]:
        """Return this method at each of the given layers; none if it is not a single-layer method."""
        if self.at_layer is None:
            return ()
        return tuple(
            replace(
                self,
                name=f"{self.name} at {layer}",
                layers=(layer,),
                score=partial(_score_at, self.at_layer, layer),
                caveat="",
                sound_variant="",
            )
            for layer in layers
        )


def _score_at(
    score: Callable[[Evidence, str, int], TokenScores], layer: int, evidence: Evidence, target: str
) -> TokenScores:
    return score(evidence, target, layer)


_REQUIREMENTS = {
    Need.ATTENTION: "attention",
    Need.HIDDEN_GRADIENT: "gradients of the last layers",
    Need.ATTENTION_GRADIENT: "gradients through all language layers",
    Need.FEATURE_GRADIENT: "gradients to the vision features",
    Need.TAIL: "repeated runs of the last layers",
    Need.RULES: "a second pass through all language layers",
    Need.FINAL: "the last hidden states",
    Need.PICTURES: "a forward pass for every part of the picture",
}


BY_NAME = "by name"
"""The group of registered methods that ``all`` leaves out: those that ask the model again, or need an answer in words."""


def find_methods(names: Sequence[str]) -> tuple[Method, ...]:
    """Return methods by name; ``all`` stands for all registered ones but those that are only used by name.

    Raises:
        UsageError: If a name is unknown.
    """
    entries = registry().entries("method")
    chosen = (
        [entry.name for entry in entries if entry.group != BY_NAME] if list(names) == ["all"] else list(names)
    )
    if not chosen or len(set(chosen)) != len(chosen):
        raise UsageError(f"methods must be distinct and not empty, got {list(names)}")
    methods = []
    for name in chosen:
        kind, colon, settings = name.partition(":")
        method = registry().entry("method", kind).load()
        if not isinstance(method, Method) or method.name != kind:
            raise ContractError(
                f"the registered method {kind!r} is not a theodolite.attribution.Method of that name"
            )
        if colon and method.variant is None:
            raise UsageError(f"the method {kind} has no settings; write {kind!r}, not {name!r}")
        methods.append(method.variant(settings) if colon and method.variant is not None else method)
    return tuple(methods)

"""What the white box must know of an architecture: where its image tokens lie, and where its parts are.

One small class per family, found by transformers' ``model_type``. To add one, subclass `Family`, say where the tokens
lie, and register it: ``add("family", "my_model_type", "my_lab.family:MyFamily", summary="…")``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from theodolite.errors import ContractError, UnsupportedError
from theodolite.geometry import TokenGrid
from theodolite.registry import registry


@dataclass(frozen=True, slots=True)
class Decoder:
    """The language side of a checkpoint."""

    layers: Any
    """The blocks, from bottom to top; each takes hidden states (batch, tokens, width) first."""
    norm: Any
    """What the last block's output passes before the head."""
    head: Any
    """From hidden states to logits."""


class Family(ABC):
    """An architecture. The methods with a body suit most of transformers' models; override what differs."""

    @abstractmethod
    def token_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """The place of every image token, one grid per picture.

        Args:
            processor: the checkpoint's own, with its real settings.
            sizes_px: width and height of every picture of the batch, in order.
            inputs: what the processor made of them.
        """

    def feature_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """The place of every vision feature that enters the projector, in its order; as the tokens unless overridden."""
        return self.token_grids(processor, sizes_px, inputs)

    def decoder(self, model: Any) -> Decoder:
        """The language blocks, the last norm and the head."""
        language = model.model.language_model
        return Decoder(language.layers, language.norm, model.get_output_embeddings())

    def projector(self, model: Any) -> Any:
        """The module that takes vision features to the width of the language model."""
        return model.model.multi_modal_projector

    def image_token_id(self, model: Any) -> int:
        """The token that stands for a piece of a picture."""
        return int(model.config.image_token_id)


def find_family(model: Any) -> Family:
    """The family of a loaded model, by its config's ``model_type``.

    Raises:
        UnsupportedError: no family of that name is registered.
    """
    name = str(model.config.model_type)
    known = {entry.name: entry for entry in registry().entries("family")}
    if name not in known:
        raise UnsupportedError(
            f"attribution does not know the architecture {name!r}; it knows {', '.join(known)}, and "
            "theodolite.models.Family says how to add one"
        )
    found = known[name].load()
    family = found() if callable(found) else found
    if not isinstance(family, Family):
        raise ContractError(f"the family {name!r} of {known[name].origin} is not a theodolite.models.Family")
    return family

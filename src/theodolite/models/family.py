"""What the white box must know of an architecture: where its image tokens lie, and where its parts are.

One small class per family, found by transformers' ``model_type``. To add one, subclass `Family`, say where the tokens
lie, and register it from a plug-in (see `theodolite.core.registry`)::

    def register(add):
        add("family", "my_model_type", "my_lab.family:MyFamily", summary="one square, twelve by twelve tokens")

    class MyFamily(Family):
        def token_grids(self, processor, sizes_px, inputs):  # the whole picture, 12 rows of 12 tokens
            return [TokenGrid.regular(size, (12, 12)) for size in sizes_px]

That is all where the architecture is built as most of transformers' are. What differs is overridden:

===================  =====================================================================================
`token_grids`        the place of every image token, in the order of the prompt; separators have none (NaN)
`feature_grids`      the same for what enters the projector, where that is finer or in another order
`decoder`            language blocks, last norm and head
`projector`          from vision features to the width of the language model
`is_image_token`     which tokens are pieces of pictures, where no single id tells (``input_ids < 0``, say)
`adapt_processor`    a processor of the checkpoint's own that is not called as transformers' are
===================  =====================================================================================

A model that brings its own code (Phi-3.5-Vision, say) is no different: ``examples/phi_family.py`` is a whole plug-in for
one, with crops, row separators, negative ids and a processor that takes one prompt at a time, in under a hundred lines.
Open it with ``hf:PATH?trust_remote_code=true``. If it writes its attention out instead of calling transformers' attention
functions, methods that read attention refuse it, and the others work.

A wrong grid would shift every map without a sign of it, so `place_pictures` counts: a family that places more or
fewer tokens than the prompt has is refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import ContractError, UnsupportedError
from theodolite.core.registry import registry
from theodolite.core.types import Request
from theodolite.geometry import TokenGrid
from theodolite.models.checkpoint import Checkpoint


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

    def __init__(self, config: Any) -> None:
        """Takes what no processor knows: patch sizes, merges, windows.

        Args:
            config: the loaded model's.
        """
        self.config = config

    @staticmethod
    def adapt_processor(processor: Any) -> Any:
        """The checkpoint's processor, made to be called as transformers' own are; as it is unless overridden.

        What is used: ``tokenizer``, ``apply_chat_template(conversation, tokenize=, add_generation_prompt=)`` with turns of
        typed parts, and ``processor(text=[…], images=[[…], …] or None, padding=, padding_side=, add_special_tokens=,
        return_tensors=)``, which gives a ``BatchFeature`` with ``input_ids`` and ``attention_mask``.
        """
        return processor

    @abstractmethod
    def token_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """The place of every image token, one grid per picture.

        Args:
            processor: the checkpoint's own, with its real settings.
            sizes_px: width and height of every picture of the batch, in order.
            inputs: what the processor made of them.

        Returns:
            Grids whose tokens stand in the order of the prompt. A token that stands for no pixels has its row too.
        """

    def feature_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """The place of every vision feature that enters the projector, in its order; as the tokens unless overridden.

        The grids of the whole batch, one after the other, are the projector's input with all its leading axes
        flattened to one.
        """
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

    def is_image_token(self, model: Any, input_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which tokens of a batch of prompts stand for pieces of pictures, where no one id tells them."""
        return np.asarray(input_ids == self.image_token_id(model))


@dataclass(frozen=True, slots=True, eq=False)
class PlacedPicture:
    """A picture in a prompt: where its tokens lie in the picture, and where they stand in the prompt."""

    grid: TokenGrid
    positions: NDArray[np.int64]
    """Shape (tokens,): the columns of ``input_ids`` that hold the grid's tokens, in the grid's order."""


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
    family = found(model.config) if callable(found) else found
    if not isinstance(family, Family):
        raise ContractError(f"the family {name!r} of {known[name].origin} is not a theodolite.models.Family")
    return family


def place_pictures(
    checkpoint: Checkpoint, requests: Sequence[Request], inputs: Any, family: Family | None = None
) -> list[list[PlacedPicture]]:
    """Where the pictures of a batch lie: for each request its pictures, in the order in which it shows them.

    Args:
        checkpoint: the model and its processor.
        requests: the batch; a request may show several pictures or none.
        inputs: what `Checkpoint.encode` made of the batch, padded on either side.
        family: the model's, if it is at hand.

    Raises:
        ContractError: the family places more or fewer tokens than the prompt has.
    """
    family = family or find_family(checkpoint.model)
    name = f"the family {type(family).__name__}"
    sizes = [picture.size for request in requests for picture in request.pictures]
    grids = family.token_grids(checkpoint.processor, sizes, inputs) if sizes else []
    if len(grids) != len(sizes):
        raise ContractError(f"{name} gives {len(grids)} grids for {len(sizes)} pictures")
    is_image = family.is_image_token(checkpoint.model, inputs["input_ids"].cpu().numpy())
    if len(is_image) != len(requests):
        raise ContractError(f"{len(requests)} requests were encoded into {len(is_image)} prompts")
    left = iter(grids)
    placed = []
    for i, (request, row) in enumerate(zip(requests, is_image, strict=True)):
        own = [next(left) for _ in request.pictures]
        columns = np.flatnonzero(row)
        counts = [grid.n_tokens for grid in own]
        if sum(counts) != len(columns):
            shown = " and ".join(f"{width}×{height}" for width, height in (p.size for p in request.pictures))
            raise ContractError(
                f"{name} places {sum(counts)} image tokens for request {i} ({shown or 'no picture'}), but its "
                f"prompt has {len(columns)}"
            )
        pieces = np.split(columns, np.cumsum(counts)[:-1]) if own else []
        placed.append([PlacedPicture(grid, piece) for grid, piece in zip(own, pieces, strict=True)])
    return placed

"""Model families: what attribution must know about an architecture, namely its modules and the positions of image tokens.

There is one small class per family, found by transformers' ``model_type``. To add one, subclass `Family`, implement
`token_grids`, and register it from a plug-in (see `theodolite.core.registry`)::

    def register(add):
        add("family", "my_model_type", "my_lab.family:MyFamily", summary="one square of 12 × 12 tokens")

    class MyFamily(Family):
        def token_grids(self, processor, sizes_px, inputs):  # the whole picture, 12 rows of 12 tokens
            return [TokenGrid.regular(size, (12, 12)) for size in sizes_px]

This suffices for architectures built like most of transformers'. Override what differs:

===================  ======================================================================================
`token_grids`        the position of every image token, in prompt order; NaN for separators
`feature_grids`      the same for the projector's input, if that is finer or in another order
`decoder`            language blocks, final norm and head
`projector`          maps vision features to the width of the language model
`is_image_token`     which tokens belong to pictures, if there is no single id (``input_ids < 0``, for example)
`adapt_processor`    wraps a checkpoint's own processor that is not called like those of transformers
`adapt_model`        corrects a loaded model
`shares_prefixes`    True if what follows a picture cannot change how it is read, so that questions share it
===================  ======================================================================================

Models with their own code work the same way. ``examples/phi_family.py`` is a complete plug-in for Phi-3.5-Vision in under
a hundred lines, with crops, row separators, negative ids and a processor that takes one prompt at a time. Open such a
model with ``hf:PATH?trust_remote_code=true``. If it implements attention itself instead of calling
transformers' attention functions, methods that read attention refuse it; the others work.

A wrong grid would silently shift every map. `place_pictures` therefore compares the number of tokens with the prompt and
raises an error if they differ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import ContractError, UnsupportedError
from theodolite.core.registry import registry
from theodolite.core.types import Request
from theodolite.geometry import TokenGrid, lattice
from theodolite.models.checkpoint import Checkpoint


@dataclass(frozen=True, slots=True)
class Decoder:
    """The language part of a checkpoint."""

    layers: Any
    """The blocks, bottom to top. The first argument of each is the hidden states (batch, tokens, width)."""
    norm: Any
    """Applied to the output of the last block, before the head."""
    head: Any
    """Maps hidden states to logits."""


class Family(ABC):
    """An architecture. The default methods suit most of transformers' models; override what differs."""

    def __init__(self, config: Any) -> None:
        """Store the model's configuration: patch sizes, merges, windows.

        Args:
            config: The config of the loaded model.
        """
        self.config = config

    image_processor: ClassVar[Any] = None
    """A class with ``from_pretrained`` that replaces transformers' image processor, if that needs torchvision."""

    @staticmethod
    def adapt_processor(processor: Any) -> Any:
        """Return the checkpoint's processor with the interface of transformers' own. Default: unchanged.

        The interface used is: ``tokenizer``, ``apply_chat_template(conversation, tokenize=, add_generation_prompt=)``
        with turns of typed parts, and ``processor(text=[…], images=[[…], …] or None, padding=, padding_side=,
        add_special_tokens=, return_tensors=)``, which returns a ``BatchFeature`` with ``input_ids`` and
        ``attention_mask``.
        """
        return processor

    @staticmethod
    def adapt_model(model: Any) -> Any:
        """Return the loaded model, corrected if transformers' code for it has a defect. Default: unchanged."""
        return model

    @property
    def shares_prefixes(self) -> bool:
        """True if prompts can branch from a common beginning: no token attends to later ones, other than within a picture.

        Default: what the config says. False for a model with its own code, which may read keys and values its own way.
        """
        is_own_code = not type(self.config).__module__.startswith("transformers.")
        text = self.config.get_text_config()
        return not is_own_code and not getattr(text, "use_bidirectional_attention", False)

    @abstractmethod
    def token_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """Return the position of every image token, one grid per picture.

        Args:
            processor: The checkpoint's processor, with its actual settings.
            sizes_px: Width and height of every picture of the batch, in order.
            inputs: The output of the processor.

        Returns:
            Grids with tokens in prompt order. Tokens without pixels are included.
        """

    def feature_grids(
        self, processor: Any, sizes_px: Sequence[tuple[int, int]], inputs: Any
    ) -> list[TokenGrid]:
        """Return the position of every vision feature that enters the projector, in its order. Default: the tokens.

        The concatenated grids of the batch correspond to the projector's input with all leading axes flattened.
        """
        return self.token_grids(processor, sizes_px, inputs)

    def decoder(self, model: Any) -> Decoder:
        """Return the language blocks, the final norm and the head."""
        language = model.model.language_model
        return Decoder(language.layers, language.norm, model.get_output_embeddings())

    def projector(self, model: Any) -> Any:
        """Return the module that maps vision features to the width of the language model."""
        return model.model.multi_modal_projector

    def image_token_id(self, model: Any) -> int:
        """Return the id of image tokens."""
        return int(model.config.image_token_id)

    def is_image_token(self, model: Any, input_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark the image tokens in a batch of prompts. Override if there is no single id."""
        return np.asarray(input_ids == self.image_token_id(model))


@dataclass(frozen=True, slots=True, eq=False)
class PlacedPicture:
    """A picture in a prompt: the positions of its tokens in the picture and in the prompt."""

    grid: TokenGrid
    positions: NDArray[np.int64]
    """Shape (tokens,): the columns of ``input_ids`` with the grid's tokens, in grid order."""


def find_family(model: Any) -> Family:
    """Return the family of a loaded model, by its config's ``model_type``.

    Raises:
        UnsupportedError: If no family of that name is registered.
    """
    family = known_family(model)
    if family is None:
        name = str(model.config.model_type)
        known = ", ".join(entry.name for entry in registry().entries("family"))
        how = "install the plug-in examples/phi_family.py" if name == "phi3_v" else "add one as a plug-in"
        raise UnsupportedError(
            f"attribution does not support the architecture {name!r}; it supports {known}; {how} "
            "(see theodolite.models.Family)"
        )
    return family


def known_family(model: Any) -> Family | None:
    """Return the family of a loaded model, or None if none of its ``model_type`` is registered."""
    entries = registry().entries("family")
    entry = next((entry for entry in entries if entry.name == str(model.config.model_type)), None)
    if entry is None:
        return None
    loaded = entry.load()
    family = loaded(model.config) if callable(loaded) else loaded
    if not isinstance(family, Family):
        raise ContractError(f"the family {entry.name!r} of {entry.origin} is not a theodolite.models.Family")
    return family


def place_pictures(
    checkpoint: Checkpoint, requests: Sequence[Request], inputs: Any, family: Family | None = None
) -> list[list[PlacedPicture]]:
    """Locate the pictures of a batch: for each request its pictures, in order.

    Args:
        checkpoint: The model and its processor.
        requests: The batch. A request may have any number of pictures.
        inputs: The output of `Checkpoint.encode` for the batch, padded on either side.
        family: The model's family, if already known.

    Raises:
        ContractError: If the family places more or fewer tokens than the prompt has.
    """
    family = family or find_family(checkpoint.model)
    name = f"the family {type(family).__name__}"
    sizes = [picture.size for request in requests for picture in request.pictures]
    grids = family.token_grids(checkpoint.processor, sizes, inputs) if sizes else []
    if len(grids) != len(sizes):
        raise ContractError(f"{name} returns {len(grids)} grids for {len(sizes)} pictures")
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


# Frames: the parts of a picture that a vision tower processes separately, each divided into equal cells.


Rect = tuple[float, float, float, float]
"""x0, y0, x1, y1."""


@dataclass(frozen=True, slots=True)
class PictureCrop:
    """A rectangle of the original picture, resized for the vision tower."""

    region_px: Rect
    """The region in pixels of the original picture. It extends beyond the picture where the frame is padded."""
    width: int
    """Width of the resized frame in pixels."""
    height: int

    def shape(self, cell: int) -> tuple[int, int]:
        """Return the number of rows and columns of whole cells of a size in pixels."""
        return self.height // cell, self.width // cell

    def seen_px(self, cell: int) -> Rect:
        """Return the part of the region covered by whole cells.

        A convolution drops the rest at the right and bottom: patches of 14 pixels cover 378 of 384 pixels.
        """
        rows, columns = self.shape(cell)
        x0, y0, x1, y1 = self.region_px
        across, down = columns * cell / self.width, rows * cell / self.height
        return x0, y0, x0 + (x1 - x0) * across, y0 + (y1 - y0) * down


def cut(size_px: tuple[int, int], frames: Sequence[PictureCrop], cell: int) -> TokenGrid:
    """Return the cells of all frames, frame by frame and row by row. Each frame is one part of the grid.

    Args:
        size_px: Size of the original picture, as (width, height).
        frames: The frames in the order of the vision tower.
        cell: Side of a token in pixels of a frame.
    """
    rects = [lattice(frame.shape(cell), frame.seen_px(cell)) for frame in frames]
    part = np.repeat(np.arange(len(frames)), [len(region) for region in rects])
    return TokenGrid(np.concatenate(rects), *size_px, part)


def whole(size_px: tuple[int, int]) -> Rect:
    """Return the region of the whole picture."""
    return 0.0, 0.0, float(size_px[0]), float(size_px[1])


def square(size_px: tuple[int, int]) -> Rect:
    """Return the region of a picture padded to a square by transformers: evenly, with an odd pixel at the end."""
    width, height = size_px
    side = max(width, height)
    left, top = (side - width) // 2, (side - height) // 2
    return float(-left), float(-top), float(side - left), float(side - top)


def tiles(size_px: tuple[int, int], shape: tuple[int, int], tile: int) -> list[PictureCrop]:
    """Divide the picture into rows and columns of square tiles, row by row, stretching it to fit.

    Args:
        size_px: Width and height of the picture.
        shape: Number of rows and columns.
        tile: Side of a tile, in pixels of a frame.
    """
    return [
        PictureCrop((x0, y0, x1, y1), tile, tile)
        for x0, y0, x1, y1 in lattice(shape, whole(size_px)).tolist()
    ]


def setting(processor: Any, name: str) -> Any:
    """Return an image setting as used when the processor is called without arguments.

    The defaults of the processor's class override the checkpoint's image processor: InternVL's processor cuts tiles and
    Gemma 3's does not pan and scan, whatever preprocessor_config.json contains.
    """
    former = processor.valid_processor_kwargs._defaults.get("images_kwargs", {})  # noqa: SLF001 - transformers below 5.23
    defaults = {**former, **getattr(type(processor), "images_kwargs", {})}
    return defaults[name] if name in defaults else getattr(processor.image_processor, name)

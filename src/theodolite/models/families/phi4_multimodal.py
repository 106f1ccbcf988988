"""Phi-4-multimodal: the picture on a canvas of square crops, then the whole canvas in one crop; both with line breaks.

transformers' image processor needs torchvision. `CanvasProcessor` does the same with torch alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UnsupportedError
from theodolite.geometry import TokenGrid, lattice
from theodolite.models.family import Decoder, Family

_POOLED = 2
"""Patches per side of a token."""


@dataclass(frozen=True, slots=True)
class Canvas:
    """A picture resized to fit into whole crops, at the top left; the rest is white."""

    width: int
    """In pixels of the canvas, like all of these."""
    height: int
    resized_width: int
    resized_height: int

    @classmethod
    def fit(cls, size_px: tuple[int, int], crop: int, most: int) -> Canvas:
        """Choose as many crops as cover the picture at its own size; if there are too many, the closest shape.

        Args:
            size_px: Width and height of the picture.
            crop: Side of a crop.
            most: The maximum number of crops.
        """
        width, height = size_px
        columns, rows = math.ceil(width / crop), math.ceil(height / crop)
        if columns * rows > most:
            columns, rows = _closest(size_px, crop, most)
        across, down = columns * crop / width, rows * crop / height
        if across < down:
            resized = columns * crop, int(height * across)
        else:
            resized = int(width * down), rows * crop
        if min(resized) < 10:
            raise UnsupportedError(f"a picture of {width}×{height} pixels is too elongated for this model")
        return cls(columns * crop, rows * crop, *resized)

    def seen(self, patch: int) -> tuple[int, int]:
        """Return the number of rows and columns of patches that are not only padding."""
        return (
            self.height // patch - (self.height - self.resized_height) // patch,
            self.width // patch - (self.width - self.resized_width) // patch,
        )


def _closest(size_px: tuple[int, int], crop: int, most: int) -> tuple[int, int]:
    """Return the columns and rows whose ratio is closest to the picture's; of equals the larger, if half filled."""
    width, height = size_px
    shapes = {(i, j) for i in range(1, most + 1) for j in range(1, most // i + 1)}
    best, gap = (1, 1), math.inf
    for columns, rows in sorted(shapes, key=lambda shape: shape[0] * shape[1]):
        off = abs(width / height - columns / rows)
        is_filled = width * height > 0.5 * crop * crop * columns * rows
        if off < gap or (off == gap and is_filled):
            best, gap = (columns, rows), off
    return best


class CanvasProcessor(dict[str, Any]):
    """Computes pixel values like transformers' image processor of this model, without torchvision.

    A dictionary of its settings, so that the processor can be serialised as JSON.
    """

    model_input_names: ClassVar = ("image_pixel_values", "image_sizes", "image_attention_mask")

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        self.crop = int(settings.get("size", {}).get("height", 448))
        self.patch = int(settings.get("patch_size", 14))
        self.most_crops = int(settings.get("dynamic_hd", 36))
        self.image_mean = list(settings.get("image_mean", [0.5] * 3))
        self.image_std = list(settings.get("image_std", [0.5] * 3))
        if self.crop % (self.patch * _POOLED):
            raise UnsupportedError(f"crops of {self.crop} pixels do not hold whole tokens of this model")

    @classmethod
    def from_pretrained(cls, source: str, **hub: Any) -> CanvasProcessor:
        """Read the settings of a checkpoint's image processor."""
        from transformers.image_processing_utils import BaseImageProcessor

        return cls(BaseImageProcessor.get_image_processor_dict(source, **hub)[0])

    def __call__(self, images: Any, **_: Any) -> Any:
        """Return the pixels of all pictures: the whole canvas, then its crops row by row."""
        import torch
        from transformers import BatchFeature

        flat = [image for row in images for image in (row if isinstance(row, list) else [row])]
        made = [self._picture(image) for image in flat]
        most = max(len(pixels) for pixels, _, _ in made)
        n = self.crop // self.patch
        return BatchFeature(
            {
                "image_pixel_values": torch.stack(
                    [_filled(pixels, most, torch.zeros(3, self.crop, self.crop)) for pixels, _, _ in made]
                ),
                "image_sizes": torch.tensor([[canvas.height, canvas.width] for _, _, canvas in made]),
                "image_attention_mask": torch.stack(
                    [_filled(mask, most, torch.ones(n, n)) for _, mask, _ in made]
                ),
                "num_img_tokens": [len(_rects(canvas, self.crop, self.patch)) for _, _, canvas in made],
            }
        )

    def _picture(self, image: Any) -> tuple[Any, Any, Canvas]:
        import torch
        from torch.nn.functional import interpolate, pad

        canvas = Canvas.fit(image.size, self.crop, self.most_crops)
        pixels = torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1)[None].float()
        size = (canvas.resized_height, canvas.resized_width)
        resized = interpolate(pixels, size, mode="bilinear", antialias=True).round().clamp(0, 255)
        free = (0, canvas.width - canvas.resized_width, 0, canvas.height - canvas.resized_height)
        mean, std = (torch.tensor(values)[:, None, None] for values in (self.image_mean, self.image_std))
        whole = (pad(resized, free, value=255.0) / 255 - mean) / std
        rows, columns = canvas.seen(self.patch)
        mask = torch.zeros(canvas.height // self.patch, canvas.width // self.patch)
        mask[:rows, :columns] = 1
        n = self.crop // self.patch
        thumbnail = interpolate(whole, (self.crop, self.crop), mode="bicubic", antialias=False)
        return (
            torch.cat([thumbnail, _cut(whole[0], self.crop)]),
            torch.cat([torch.ones(1, n, n), _cut(mask[None], n)[:, 0]]),
            canvas,
        )


def _cut(pixels: Any, side: int) -> Any:
    """Cut (channels, height, width) into squares, row by row."""
    channels, height, width = pixels.shape
    cut = pixels.reshape(channels, height // side, side, width // side, side)
    return cut.permute(1, 3, 0, 2, 4).reshape(-1, channels, side, side)


def _filled(frames: Any, most: int, blank: Any) -> Any:
    import torch

    return torch.cat([frames, blank[None].expand(most - len(frames), *blank.shape)])


def _rects(canvas: Canvas, crop: int, patch: int) -> NDArray[np.float64]:
    """Return the tokens' rectangles in pixels of the canvas, in prompt order; NaN for line breaks and the separator."""
    cell = patch * _POOLED
    rows, columns = (math.ceil(n / _POOLED) for n in canvas.seen(patch))
    fine = lattice((rows, columns), (0.0, 0.0, float(columns * cell), float(rows * cell)))
    coarse = lattice((crop // cell, crop // cell), (0.0, 0.0, float(canvas.width), float(canvas.height)))
    return np.concatenate(
        [
            _with_breaks(fine, (rows, columns)),
            np.full((1, 4), np.nan),
            _with_breaks(coarse, (crop // cell, crop // cell)),
        ]
    )


def _with_breaks(rects: NDArray[np.float64], shape: tuple[int, int]) -> NDArray[np.float64]:
    rows = rects.reshape(*shape, 4)
    return np.pad(rows, ((0, 0), (0, 1), (0, 0)), constant_values=np.nan).reshape(-1, 4)


class Phi4Multimodal(Family):
    """The crops of the canvas joined, as far as they show the picture; a separator; the whole canvas in one crop."""

    image_processor = CanvasProcessor

    @staticmethod
    def adapt_model(model: Any) -> Any:
        """Let patches attend to all patches.

        transformers 5.22 marks the vision tower's attention as causal. The mark takes effect in a batch in which no crop has
        padding, so that a picture would be seen differently alone than beside others.
        """
        for layer in model.model.embed_tokens_extend.image_embed.img_processor.encoder.layers:
            layer.self_attn.is_causal = False
        return model

    def token_grids(
        self,
        processor: Any,
        sizes_px: Sequence[tuple[int, int]],
        inputs: Any,  # noqa: ARG002 - the sizes suffice
    ) -> list[TokenGrid]:
        """Return the canvas as part 0 and the whole in one crop as part 1. Line breaks have no position."""
        own = processor.image_processor
        grids = []
        for size in sizes_px:
            canvas = Canvas.fit(size, own.crop, own.most_crops)
            scale = np.array([size[0] / canvas.resized_width, size[1] / canvas.resized_height] * 2)
            rects = _rects(canvas, own.crop, own.patch) * scale
            has_place = np.isfinite(rects[:, 0])
            part = np.where(np.arange(len(rects)) < len(rects) - _coarse(own), 0, 1)
            grids.append(TokenGrid(rects, *size, np.where(has_place, part, -1)))
        return grids

    def decoder(self, model: Any) -> Decoder:
        """Return the language blocks, the final norm and the head."""
        return Decoder(model.model.layers, model.model.norm, model.lm_head)

    def projector(self, model: Any) -> Any:
        """Return the first map to the language model's width. Its input is every token, picture by picture."""
        return model.model.embed_tokens_extend.image_embed.img_projection_up

    def image_token_id(self, model: Any) -> int:
        """Return the id of image tokens."""
        return int(model.config.vision_config.image_token_id)


def _coarse(own: CanvasProcessor) -> int:
    """Return the number of tokens of the whole canvas in one crop, with line breaks."""
    side = own.crop // (own.patch * _POOLED)
    return side * (side + 1)

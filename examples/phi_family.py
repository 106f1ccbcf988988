"""A plug-in for Phi-3.5-Vision, an architecture with its own code, for attribution.

Register `register` as an entry point of the group ``theodolite.plugins``. All commands then accept
``--model "hf:microsoft/Phi-3.5-vision-instruct?trust_remote_code=true&attention=eager"``. That code needs torchvision.
"""

from __future__ import annotations

import math
from itertools import count
from typing import Any

import numpy as np

from theodolite.geometry import TokenGrid, lattice
from theodolite.models import Decoder, Family


def register(add: Any) -> None:
    """Register the family under the ``model_type`` of its ``config.json``."""
    add("family", "phi3_v", f"{__name__}:Phi3Vision", summary="crops with row separators, then the whole")


class BatchedProcessor:
    """Adapts the checkpoint's processor, which takes one prompt with numbered pictures, to batches."""

    def __init__(self, own: Any) -> None:
        self.own, self.tokenizer, self.chat_template = own, own.tokenizer, own.tokenizer.chat_template

    def apply_chat_template(self, conversation: Any, **how: Any) -> str:
        """Format a conversation, with pictures as numbered placeholders."""
        number = count(1)
        turns = []
        for turn in conversation:
            words = (part.get("text") or f"<|image_{next(number)}|>\n" for part in turn["content"])
            turns.append({"role": turn["role"], "content": "".join(words)})
        return str(self.tokenizer.apply_chat_template(turns, **how))

    def __call__(self, *, text: Any, images: Any, padding_side: str, **_: Any) -> Any:
        """Process a batch prompt by prompt, and pad it on the given side."""
        import torch
        from transformers import BatchFeature

        rows = [self.own(one, images[i] if images else None) for i, one in enumerate(text)]
        ids = {"input_ids": [row["input_ids"][0].tolist() for row in rows]}
        found = dict(self.tokenizer.pad(ids, padding_side=padding_side, return_tensors="pt"))
        for name in ("pixel_values", "image_sizes") if images else ():
            found[name] = torch.cat([row[name] for row in rows])
        return BatchFeature(found)


class Phi3Vision(Family):
    """Crops of the padded picture, row by row with a separator after each; a separator; then the whole in one crop."""

    adapt_processor = BatchedProcessor  # gives it the interface of transformers' own processors

    def token_grids(self, _: Any, sizes_px: Any, inputs: Any) -> list[TokenGrid]:
        """Return the position of every token in the original picture. Separators have none."""
        cells = math.isqrt(self.config.img_processor["num_img_tokens"])
        side = 28 * cells  # each token merges 2 × 2 patches of 14 pixels
        found = []
        for size, (high, wide) in zip(sizes_px, inputs["image_sizes"].tolist(), strict=True):
            region = _shown(size, (wide, high))
            shape = cells * high // side, cells * wide // side
            fine, coarse = _with_breaks(shape, region), _with_breaks((cells, cells), region)
            rects = np.concatenate([fine, np.full((1, 4), np.nan), coarse])
            part = np.concatenate([np.zeros(len(fine)), [-1], np.ones(len(coarse))]).astype(np.int64)
            part[np.isnan(rects[:, 0])] = -1
            found.append(TokenGrid(rects, *size, part))
        return found

    def decoder(self, model: Any) -> Decoder:
        """Return the modules, which have other names than in transformers' own models."""
        return Decoder(model.model.layers, model.model.norm, model.lm_head)

    def projector(self, model: Any) -> Any:
        """Return the projector. Its input is every token, including separators, in prompt order."""
        return model.model.vision_embed_tokens.img_projection

    def is_image_token(self, _: Any, input_ids: Any) -> Any:
        """Mark image tokens: those of the first picture are -1, of the second -2."""
        return input_ids < 0


def _shown(size_px: tuple[int, int], padded: tuple[int, int]) -> tuple[float, float, float, float]:
    """Region of the padded picture in pixels of the original: the longer side fits, the other is padded evenly."""
    (width, height), (wide, high) = size_px, padded
    if width < height:
        y0, x0, y1, x1 = _shown((height, width), (high, wide))
        return x0, y0, x1, y1
    resized = int(wide / (width / height))
    top = int((high - resized) / 2)
    return 0.0, -top * height / resized, float(width), (high - top) * height / resized


def _with_breaks(shape: tuple[int, int], region: tuple[float, float, float, float]) -> np.ndarray:
    """Return the rectangles of tokens that tile a region, with a NaN rectangle after each row."""
    rows = lattice(shape, region).reshape(*shape, 4)
    return np.pad(rows, ((0, 0), (0, 1), (0, 0)), constant_values=np.nan).reshape(-1, 4)

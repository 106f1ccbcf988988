"""A CLIP of transformers that caches the features of pictures and sentences."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.types import Pixels

Likeness = Callable[[Sequence[Pixels], Sequence[str]], NDArray[np.float64]]
"""The similarity of each picture with each caption, in the model's own scale: (pictures, captions)."""

_REMEMBERED = 4096
"""Number of pictures, and of sentences, whose features are cached: a few MiB."""


class ClipLikeness:
    """A CLIP checkpoint of transformers, folder or hub id."""

    def __init__(self, source: str) -> None:
        import torch
        from transformers import AutoImageProcessor, AutoModel, AutoTokenizer

        from theodolite.models import quiet_transformers

        try:
            with quiet_transformers():
                self._model: Any = AutoModel.from_pretrained(
                    source, dtype=torch.float32, use_safetensors=True
                ).eval()
                self._processor: Any = AutoImageProcessor.from_pretrained(source, backend="pil")
                self._words: Any = AutoTokenizer.from_pretrained(source)
        except (OSError, ValueError, ImportError) as error:
            raise UsageError(f"cannot load the CLIP model {source}: {str(error).splitlines()[0]}") from error
        if not hasattr(self._model, "logit_scale"):
            raise UsageError(f"{source} is not a CLIP: it has no logit scale")
        self._pictures: OrderedDict[str, Any] = OrderedDict()
        self._sentences: OrderedDict[str, Any] = OrderedDict()

    def __call__(self, pictures: Sequence[Pixels], captions: Sequence[str]) -> NDArray[np.float64]:
        """Scaled cosines of each picture with each caption: s = e^τ · cos."""
        import torch

        if not pictures or not captions:
            return np.zeros((len(pictures), len(captions)))
        by_key = {_key(pixels): pixels for pixels in pictures}
        with torch.inference_mode():
            seen = _remembered(
                self._pictures,
                list(map(_key, pictures)),
                lambda new: self._see([by_key[key] for key in new]),
            )
            read = _remembered(self._sentences, list(captions), self._read)
            scores = self._model.logit_scale.double().exp() * (seen.double() @ read.double().T)
        return np.asarray(scores.numpy())

    def _see(self, pictures: list[Pixels]) -> Any:
        from PIL import Image

        inputs = self._processor(images=[Image.fromarray(p) for p in pictures], return_tensors="pt")
        return _unit(self._model.get_image_features(**inputs))

    def _read(self, captions: list[str]) -> Any:
        words = self._words(captions, padding=True, truncation=True, return_tensors="pt")
        return _unit(self._model.get_text_features(**words))


def _key(pixels: Pixels) -> str:
    return f"{pixels.shape}-{hashlib.sha256(pixels.tobytes()).hexdigest()}"


def _unit(features: Any) -> Any:
    from torch.nn.functional import normalize

    return normalize(getattr(features, "pooler_output", features), dim=-1)


def _remembered(kept: OrderedDict[str, Any], keys: Sequence[str], compute: Callable[[list[str]], Any]) -> Any:
    """The features of each key, computed if they are not cached. The least recently used are dropped."""
    import torch

    new = [key for key in dict.fromkeys(keys) if key not in kept]
    if new:
        kept.update(zip(new, compute(new), strict=True))
    for key in keys:
        kept.move_to_end(key)
    found = torch.stack([kept[key] for key in keys])
    while len(kept) > _REMEMBERED:
        kept.popitem(last=False)
    return found

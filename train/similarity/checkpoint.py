"""The checkpoint to train: a CLIP of transformers, small enough to ship, with tokenizer and processor."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SIDE_PX = 180
_PATCH_PX = 10
"""Half a cell of the grid world, whose pictures have nine cells per side."""
N_PATCHES = SIDE_PX // _PATCH_PX
"""Patches per side."""
_START, _END = "<|startoftext|>", "<|endoftext|>"
_MOST_WORDS = 32


@dataclass(frozen=True, slots=True)
class Size:
    """The size of one encoder."""

    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int


PICTURES, WORDS = Size(128, 384, 6, 4), Size(96, 192, 2, 4)
_SHARED = 128


def build_tokenizer(texts: Iterable[str]) -> Any:
    """Create a CLIP tokenizer with one token per word of the texts. Other words are split into letters."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    from transformers import CLIPTokenizer

    spelling = Tokenizer(models.BPE(unk_token=_END, end_of_word_suffix="</w>"))
    spelling.normalizer = normalizers.Lowercase()
    spelling.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=[_START, _END],
        initial_alphabet=letters,
        end_of_word_suffix="</w>",
        show_progress=False,
    )
    words = sorted({word for text in texts for word in text.split()})
    # add each letter as the end of a word, so that any word can be split
    spelling.train_from_iterator([" ".join((*words, *letters))] * 2, trainer)
    model = _parts(spelling)
    return CLIPTokenizer(vocab=model["vocab"], merges=model["merges"], model_max_length=_MOST_WORDS)


def _parts(spelling: Any) -> dict[str, Any]:
    model = json.loads(spelling.to_str())["model"]
    return {
        "vocab": model["vocab"],
        "merges": [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in model["merges"]],
    }


def build_model(tokenizer: Any, *, seed: int = 0) -> Any:
    """Create a CLIP with random weights."""
    import torch
    from transformers import CLIPConfig, CLIPModel

    config = CLIPConfig(
        text_config={
            **asdict(WORDS),
            "vocab_size": len(tokenizer),
            "max_position_embeddings": _MOST_WORDS,
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": tokenizer.pad_token_id,
        },
        vision_config={**asdict(PICTURES), "image_size": SIDE_PX, "patch_size": _PATCH_PX},
        projection_dim=_SHARED,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return CLIPModel(config)


def save_checkpoint(model: Any, tokenizer: Any, folder: Path) -> None:
    """Save half-precision weights, tokenizer and processor for ``AutoModel`` and related classes."""
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    folder.mkdir(parents=True, exist_ok=True)
    model.half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    words = folder / "tokenizer.json"  # without white space, less than half the size
    small = json.dumps(
        json.loads(words.read_text(encoding="utf-8")), ensure_ascii=False, separators=(",", ":")
    )
    words.write_text(small, encoding="utf-8")
    CLIPImageProcessorPil(
        size={"height": SIDE_PX, "width": SIDE_PX},
        do_center_crop=False,
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    ).save_pretrained(folder)

"""Tiny Qwen-VL checkpoints: any size, 2 × 2 patches per token, about sixteen tokens at most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from theodolite.testing.tiny.parts import make_tokenizer, save_model, save_parts, text_sizes

_SPECIALS = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
_ROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}


def _tokenizer() -> tuple[Any, dict[str, int]]:
    """Return the tokenizer and the ids for the Qwen configs."""
    tokenizer = make_tokenizer("<|vision_start|><|image_pad|><|vision_end|>", _SPECIALS)
    start, end, image, video = tokenizer.convert_tokens_to_ids(_SPECIALS)
    ids = {"image_token_id": image, "video_token_id": video}
    return tokenizer, {**ids, "vision_start_token_id": start, "vision_end_token_id": end}


def _save_processor(folder: Path, tokenizer: Any, kind: str, patch: int) -> None:
    from transformers import Qwen2VLImageProcessorPil

    token = 2 * patch
    image_processor = Qwen2VLImageProcessorPil(
        patch_size=patch, size={"shortest_edge": token**2, "longest_edge": (4 * token) ** 2}
    )
    save_parts(folder, image_processor, tokenizer, {"processor_class": kind})


def qwen2_vl(folder: Path) -> None:
    """Write a Qwen2-VL checkpoint."""
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration

    tokenizer, ids = _tokenizer()
    config = Qwen2VLConfig(
        vision_config={
            "embed_dim": 32,
            "hidden_size": 32,
            "depth": 2,
            "num_heads": 4,
            "mlp_ratio": 2,
            "patch_size": 14,
        },
        text_config={**text_sizes(tokenizer), "rope_parameters": _ROPE},
        **ids,
    )
    save_model(folder, Qwen2VLForConditionalGeneration(config))
    _save_processor(folder, tokenizer, "Qwen2VLProcessor", 14)


def qwen2_5_vl(folder: Path) -> None:
    """Write a Qwen2.5-VL checkpoint, with windows of 2 × 2 tokens in the first block of its vision tower."""
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    tokenizer, ids = _tokenizer()
    config = Qwen2_5_VLConfig(
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "out_hidden_size": 32,
            "depth": 2,
            "num_heads": 4,
            "patch_size": 14,
            "window_size": 56,
            "fullatt_block_indexes": [1],
        },
        text_config={**text_sizes(tokenizer), "rope_parameters": _ROPE},
        **ids,
    )
    save_model(folder, Qwen2_5_VLForConditionalGeneration(config))
    _save_processor(folder, tokenizer, "Qwen2_5_VLProcessor", 14)


def qwen3_vl(folder: Path) -> None:
    """Write a Qwen3-VL checkpoint, whose first vision block also feeds the first language layer."""
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

    tokenizer, ids = _tokenizer()
    config = Qwen3VLConfig(
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "out_hidden_size": 32,
            "depth": 2,
            "num_heads": 4,
            "patch_size": 16,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        },
        text_config={**text_sizes(tokenizer), "head_dim": 8, "rope_parameters": _ROPE},
        **ids,
    )
    save_model(folder, Qwen3VLForConditionalGeneration(config))
    _save_processor(folder, tokenizer, "Qwen3VLProcessor", 16)

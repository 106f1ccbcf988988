"""Tiny InternVL, Idefics3 and SmolVLM: tiles and the whole picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from theodolite.testing.tiny.parts import VISION, make_tokenizer, save_model, save_parts, text_sizes


def internvl(folder: Path) -> None:
    """Write a checkpoint with at most six tiles and a thumbnail, sixteen tokens each."""
    from transformers import (
        GotOcr2ImageProcessorPil,
        InternVLConfig,
        InternVLForConditionalGeneration,
        InternVLVisionConfig,
        Qwen2Config,
    )

    named = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }
    tokenizer = make_tokenizer("<IMG_CONTEXT>", list(named.values()), named)
    side = 56
    config = InternVLConfig(
        vision_config=InternVLVisionConfig(**VISION, image_size=side, patch_size=7),
        text_config=Qwen2Config(**text_sizes(tokenizer)),
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=16,
    )
    save_model(folder, InternVLForConditionalGeneration(config))
    save_parts(
        folder,
        GotOcr2ImageProcessorPil(size={"height": side, "width": side}, max_patches=6),
        tokenizer,
        {"processor_class": "InternVLProcessor", "image_seq_length": 16},
    )


def idefics3(folder: Path) -> None:
    """Write a checkpoint with at most 3 × 3 tiles and the whole picture, sixteen tokens each.

    The longest side is not a multiple of a tile.
    """
    from transformers import (
        Idefics3Config,
        Idefics3ForConditionalGeneration,
        Idefics3ImageProcessorPil,
        Idefics3Processor,
        Idefics3VisionConfig,
        LlamaConfig,
    )

    tokenizer = _idefics_tokenizer()
    tile = 56
    config = Idefics3Config(
        vision_config=Idefics3VisionConfig(**VISION, image_size=tile, patch_size=7),
        text_config=LlamaConfig(**text_sizes(tokenizer)),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    processor = Idefics3Processor(
        Idefics3ImageProcessorPil(size={"longest_edge": 150}, max_image_size={"longest_edge": tile}),
        tokenizer,
        image_seq_len=16,
        chat_template=tokenizer.chat_template,
    )
    save_model(folder, Idefics3ForConditionalGeneration(config))
    processor.save_pretrained(folder)


def smolvlm(folder: Path) -> None:
    """Write a checkpoint with at most 3 × 3 tiles and the whole picture, nine tokens each."""
    from transformers import (
        LlamaConfig,
        SmolVLMConfig,
        SmolVLMForConditionalGeneration,
        SmolVLMImageProcessorPil,
        SmolVLMVisionConfig,
    )

    tokenizer = _idefics_tokenizer()
    tile = 48
    config = SmolVLMConfig(
        vision_config=SmolVLMVisionConfig(**VISION, image_size=tile, patch_size=8),
        text_config=LlamaConfig(**text_sizes(tokenizer)),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    save_model(folder, SmolVLMForConditionalGeneration(config))
    save_parts(
        folder,
        SmolVLMImageProcessorPil(size={"longest_edge": 3 * tile}, max_image_size={"longest_edge": tile}),
        tokenizer,
        {"processor_class": "SmolVLMProcessor", "image_seq_len": 9},
    )


def _idefics_tokenizer() -> Any:
    places = [f"<row_{row + 1}_col_{column + 1}>" for row in range(6) for column in range(6)]
    specials = ["<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>", *places]
    return make_tokenizer("<image>", specials)

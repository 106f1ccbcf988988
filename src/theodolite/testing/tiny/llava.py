"""Tiny LLaVA checkpoints: one crop, or the whole picture and tiles."""

from __future__ import annotations

from pathlib import Path

from theodolite.testing.tiny.parts import VISION, make_tokenizer, save_model, save_parts, text_sizes


def llava(folder: Path) -> None:
    """Write a checkpoint with sixteen tokens: 4 × 4 patches of a square crop."""
    from transformers import (
        CLIPImageProcessorPil,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
        Qwen2Config,
        SiglipVisionConfig,
    )

    tokenizer = make_tokenizer("<image>", ["<image>"])
    side = 56
    config = LlavaConfig(
        vision_config=SiglipVisionConfig(**VISION, image_size=side, patch_size=14),
        text_config=Qwen2Config(**text_sizes(tokenizer)),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_select_strategy="full",
        vision_feature_layer=-1,
    )
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessorPil(
            size={"shortest_edge": side}, crop_size={"height": side, "width": side}
        ),
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="full",
        num_additional_image_tokens=0,
        chat_template=tokenizer.chat_template,
    )
    save_model(folder, LlavaForConditionalGeneration(config))
    processor.save_pretrained(folder)


def llava_onevision(folder: Path) -> None:
    """Write a checkpoint with sixteen tokens per tile. More than four tiles are downsampled.

    As in real models, patches do not fill a tile.
    """
    from transformers import (
        LlavaOnevisionConfig,
        LlavaOnevisionForConditionalGeneration,
        LlavaOnevisionImageProcessorPil,
        Qwen2Config,
        SiglipVisionConfig,
    )

    specials = ["<image>", "<video>"]
    tokenizer = make_tokenizer("<image>", specials)
    image, video = tokenizer.convert_tokens_to_ids(specials)
    side = 62
    places = [[side * rows, side * columns] for rows in range(1, 4) for columns in range(1, 4)]
    places += [[side, side * 6], [side * 6, side]]
    config = LlavaOnevisionConfig(
        vision_config=SiglipVisionConfig(**VISION, image_size=side, patch_size=14, vision_use_head=False),
        text_config=Qwen2Config(**text_sizes(tokenizer)),
        image_token_index=image,
        video_token_index=video,
        image_grid_pinpoints=places,
        vision_aspect_ratio="anyres_max_4",
    )
    save_model(folder, LlavaOnevisionForConditionalGeneration(config))
    save_parts(
        folder,
        LlavaOnevisionImageProcessorPil(size={"height": side, "width": side}, image_grid_pinpoints=places),
        tokenizer,
        {
            "processor_class": "LlavaOnevisionProcessor",
            "num_image_tokens": 16,
            "vision_feature_select_strategy": "full",
            "vision_aspect_ratio": "anyres_max_4",
        },
    )

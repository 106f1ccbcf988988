"""Tiny Gemma 3: one square, pooled patches."""

from __future__ import annotations

from pathlib import Path

from theodolite.testing.tiny.parts import VISION, make_tokenizer, save_model, text_sizes


def gemma3(folder: Path) -> None:
    """Write a checkpoint with sixteen tokens, each the mean of 2 × 2 patches."""
    import torch
    from transformers import (
        Gemma3Config,
        Gemma3ForConditionalGeneration,
        Gemma3ImageProcessorPil,
        Gemma3Processor,
        Gemma3TextConfig,
        SiglipVisionConfig,
    )

    named = {
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
        "image_token": "<image_soft_token>",
    }
    tokenizer = make_tokenizer("<start_of_image>", list(named.values()), named)
    start, end, image = tokenizer.convert_tokens_to_ids(list(named.values()))
    side = 56
    config = Gemma3Config(
        vision_config=SiglipVisionConfig(**VISION, image_size=side, patch_size=7, vision_use_head=False),
        text_config=Gemma3TextConfig(
            **text_sizes(tokenizer), head_dim=8, query_pre_attn_scalar=8, sliding_window_pattern=2
        ),
        mm_tokens_per_image=16,
        boi_token_index=start,
        eoi_token_index=end,
        image_token_index=image,
        tie_word_embeddings=False,  # with random weights, a tied head only repeats the last word
    )
    processor = Gemma3Processor(
        Gemma3ImageProcessorPil(size={"height": side, "width": side}),
        tokenizer,
        chat_template=tokenizer.chat_template,
        image_seq_length=16,
    )
    model = Gemma3ForConditionalGeneration(config)
    # transformers initialises it with zero, so that a picture would have no effect
    torch.nn.init.normal_(model.model.multi_modal_projector.mm_input_projection_weight, std=0.3)
    save_model(folder, model)
    processor.save_pretrained(folder)

"""Tiny Phi-4-multimodal: crops of a canvas, then the whole canvas in one crop; its audio part is never used."""

from __future__ import annotations

import json
from pathlib import Path

from theodolite.testing.tiny.parts import VISION, make_tokenizer, save_model, text_sizes


def phi4_multimodal(folder: Path) -> None:
    """Write a checkpoint with sixteen tokens per crop, each the mean of 2 × 2 patches, and at most six crops."""
    import torch
    from transformers import Phi4MultimodalConfig, Phi4MultimodalForCausalLM

    named = {"image_token": "<|image|>", "audio_token": "<|audio|>"}
    tokenizer = make_tokenizer("<|image|>", list(named.values()), named)
    image, audio = tokenizer.convert_tokens_to_ids(list(named.values()))
    side, patch = 56, 7
    config = Phi4MultimodalConfig(
        **text_sizes(tokenizer),
        vision_config={
            **VISION,
            "image_size": side,
            "crop_size": side,
            "patch_size": patch,
            "image_token_id": image,
            "feature_layer": -2,
        },
        audio_config={
            "hidden_size": 8,
            "intermediate_size": 8,
            "num_blocks": 1,
            "num_attention_heads": 1,
            "ext_pw_out_channel": 8,
            "depthwise_separable_out_channel": 8,
            "input_size": 8,
            "nemo_conv_channels": 8,
            "audio_token_id": audio,
        },
    )
    model = Phi4MultimodalForCausalLM(config)
    embedding = model.model.embed_tokens_extend.image_embed
    for weight in (embedding.global_img_feature_extensor, embedding.sub_img_feature_extensor):
        torch.nn.init.normal_(weight, std=0.3)  # transformers initialises them with zero
    for weight in embedding.img_processor.encoder.parameters():
        if weight.dim() == 2:
            torch.nn.init.normal_(weight, std=0.15)  # instead of 1, with which attention sees one patch only
    save_model(folder, model)
    tokenizer.save_pretrained(folder)
    settings = {
        "image_processor_type": "Phi4MultimodalImageProcessor",
        "size": {"height": side, "width": side},
        "patch_size": patch,
        "dynamic_hd": 6,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(settings, indent=2))
    processor = {"processor_class": "Phi4MultimodalProcessor"}
    (folder / "processor_config.json").write_text(json.dumps(processor, indent=2))

"""The architectures of the strangers, each unlike the twins' in its decoder, its tower and its sizes."""

from __future__ import annotations

from transformers import CLIPVisionConfig, CohereConfig, LlamaConfig, SiglipVisionConfig

from train.twins.network import Architecture

ARCHITECTURES = {
    "llama": Architecture(
        SiglipVisionConfig,
        {
            "hidden_size": 160,
            "intermediate_size": 480,
            "num_hidden_layers": 6,
            "num_attention_heads": 5,
            "vision_use_head": False,
        },
        LlamaConfig,
        {
            "hidden_size": 224,
            "intermediate_size": 576,
            "num_hidden_layers": 8,
            "num_attention_heads": 7,
            "num_key_value_heads": 1,
        },
    ),
    "cohere": Architecture(
        CLIPVisionConfig,
        {
            "hidden_size": 192,
            "intermediate_size": 576,
            "num_hidden_layers": 6,
            "num_attention_heads": 6,
        },
        CohereConfig,
        {
            "hidden_size": 256,
            "intermediate_size": 640,
            "num_hidden_layers": 6,
            "num_attention_heads": 8,
            "num_key_value_heads": 2,
        },
        layer=-2,
        has_class_token=True,
    ),
}
"""By name. *llama*: a deeper, narrow-headed decoder with one key-value head. *cohere*: attention and MLP in
parallel, LayerNorm, interleaved rotary positions, grouped heads, and a CLIP tower."""

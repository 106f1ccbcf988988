"""A model with the architecture and sizes of Qwen2-VL-7B and random weights, without a download."""

from collections.abc import Mapping
from typing import Any

import torch

from theodolite.models import Checkpoint

_TEXT = {
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "max_position_embeddings": 32768,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]},
}
_VISION = {
    "depth": 32,
    "embed_dim": 1280,
    "hidden_size": 3584,
    "num_heads": 16,
    "mlp_ratio": 4,
    "patch_size": 14,
}
_SPECIALS = [
    "<pad>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
]
_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for part in m['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


SMALL_TEXT = {
    **_TEXT,
    "hidden_size": 256,
    "intermediate_size": 1024,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1024,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [8, 12, 12]},
}
SMALL_VISION = {**_VISION, "depth": 4, "embed_dim": 128, "hidden_size": 256, "num_heads": 4}
"""Sizes of the same architecture for a CPU."""


def random_qwen2_vl(
    dtype: torch.dtype,
    device: str,
    *,
    text: Mapping[str, Any] = _TEXT,
    vision: Mapping[str, Any] = _VISION,
) -> Checkpoint:
    """Create model, tokenizer and processor."""
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration

    tokenizer = _tokenizer()
    start, end, image, video = tokenizer.convert_tokens_to_ids(_SPECIALS[3:])
    ids = {
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    config = Qwen2VLConfig(
        text_config={**text, **ids},
        vision_config=dict(vision),
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
        tie_word_embeddings=False,
    )
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            model = Qwen2VLForConditionalGeneration._from_config(config, attn_implementation="sdpa")  # noqa: SLF001
    finally:
        torch.set_default_dtype(before)
    model.eval()
    return Checkpoint(model, _processor(tokenizer), "bench", frozenset({tokenizer.eos_token_id}))


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=_SPECIALS, initial_alphabet=alphabet, show_progress=False
    )
    plain.train_from_iterator(["where is the red square relative to the blue square"] * 8, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=plain,
        pad_token=_SPECIALS[0],
        eos_token=_SPECIALS[2],
        additional_special_tokens=_SPECIALS[3:],
        chat_template=_TEMPLATE,
    )


def _processor(tokenizer: Any) -> Any:
    from transformers import Qwen2VLImageProcessorPil, Qwen2VLProcessor

    from theodolite.models.checkpoint import _NoPart, _of_parts

    image_processor = Qwen2VLImageProcessorPil(size={"shortest_edge": 56 * 56, "longest_edge": 12845056})
    return _of_parts(Qwen2VLProcessor, None)(image_processor, tokenizer, _NoPart(), chat_template=_TEMPLATE)

"""Common parts of the tiny checkpoints: tokenizer, chat template, sizes, and saving."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_WORDS = (
    "where is the left right above below of relative to answer yes no one two three red green blue yellow"
)

_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% for part in m['content'] %}"
    "{% if part['type'] == 'image' %}PICTURE{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

VISION = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
"""The sizes of a vision tower, with the usual config names."""


def make_tokenizer(picture: str, specials: Sequence[str], named: Mapping[str, str] | None = None) -> Any:
    """Create a tokenizer with a chat template.

    Args:
        picture: The template's text for a picture.
        specials: Special tokens in addition to the common ones.
        named: Attributes under which the processor finds some of them, such as ``image_token``.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=["<pad>", "<|im_start|>", "<|im_end|>", *specials],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([_WORDS, *_WORDS.split()] * 8, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",  # noqa: S106 - not a password
        eos_token="<|im_end|>",  # noqa: S106 - not a password
        additional_special_tokens=["<|im_start|>", *specials],
        chat_template=_TEMPLATE.replace("PICTURE", picture),
        **(named or {}),
    )


def text_sizes(tokenizer: Any) -> dict[str, Any]:
    """Return the sizes of the language model: four layers, the minimum for all relevance methods."""
    return {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": len(tokenizer),
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        # Large enough that answers differ between requests.
        "initializer_range": 0.3,
    }


def save_model(folder: Path, model: Any) -> None:
    """Save a model whose vision tower hardly mixes its patches, so that a token represents its own position.

    Trained towers behave like this by themselves; attention with random weights would not.
    """
    import torch

    outputs = ("attn.proj.weight", "out_proj.weight", "projection_layer.weight")
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if ("vis" in name or "img_processor" in name) and name.endswith(outputs):
                weight.mul_(0.1)
    model.save_pretrained(folder)


def save_parts(folder: Path, image_processor: Any, tokenizer: Any, processor: Mapping[str, Any]) -> None:
    """Save a processor whose class cannot be built without torchvision, part by part.

    Args:
        folder: Where to write.
        image_processor: The image processor.
        tokenizer: The tokenizer.
        processor: The processor's class and settings.
    """
    image_processor.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "processor_config.json").write_text(json.dumps(dict(processor), indent=2))

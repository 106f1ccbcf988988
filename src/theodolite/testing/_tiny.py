"""Tiny checkpoints with random weights, built from their configs: real architectures, real processors, no download.

They answer nonsense, always the same nonsense. Their use is to run the very code that a real checkpoint runs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias

from theodolite.models import quiet_transformers

Family: TypeAlias = Literal["llava", "qwen2_vl"]

_WORDS = [
    "where",
    "is",
    "the",
    "left",
    "right",
    "above",
    "below",
    "of",
    "relative",
    "to",
    "answer",
    "yes",
    "no",
    "one",
    "two",
    "three",
    "red",
    "green",
    "blue",
    "yellow",
]

_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% for part in m['content'] %}"
    "{% if part['type'] == 'image' %}PICTURE{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tiny_checkpoint(folder: str | Path, family: Family = "llava", *, seed: int = 0) -> Path:
    """Writes a checkpoint of about a hundred thousand random weights.

    Args:
        folder: where to write; made if it is not there.
        family: which architecture.
        seed: of the weights.

    Returns:
        The folder, for ``hf:<folder>``.
    """
    import torch

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with torch.random.fork_rng(devices=[]), quiet_transformers():
        torch.manual_seed(seed)
        _BUILDERS[family](folder)
    return folder


def _tokenizer(specials: list[str], template: str) -> Any:
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
    tokenizer.train_from_iterator([" ".join(_WORDS), *_WORDS] * 8, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",  # noqa: S106 - a token of text
        eos_token="<|im_end|>",  # noqa: S106 - the same
        additional_special_tokens=["<|im_start|>", *specials],
        chat_template=template,
    )


def _text_sizes(tokenizer: Any) -> dict[str, Any]:
    return {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": len(tokenizer),
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        # Wide enough that answers differ from request to request.
        "initializer_range": 0.3,
    }


def _llava(folder: Path) -> None:
    from transformers import (
        CLIPImageProcessorPil,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
        Qwen2Config,
        SiglipVisionConfig,
    )

    template = _TEMPLATE.replace("PICTURE", "<image>")
    tokenizer = _tokenizer(["<image>"], template)
    side = 56
    config = LlavaConfig(
        vision_config=SiglipVisionConfig(
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            image_size=side,
            patch_size=14,
        ),
        text_config=Qwen2Config(**_text_sizes(tokenizer)),
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
        chat_template=template,
    )
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    processor.save_pretrained(folder)


def _qwen2_vl(folder: Path) -> None:
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration, Qwen2VLImageProcessorPil

    specials = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
    template = _TEMPLATE.replace("PICTURE", "<|vision_start|><|image_pad|><|vision_end|>")
    tokenizer = _tokenizer(specials, template)
    start, end, image, video = tokenizer.convert_tokens_to_ids(specials)
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
    config = Qwen2VLConfig(
        vision_config={
            "embed_dim": 32,
            "hidden_size": 32,
            "depth": 2,
            "num_heads": 4,
            "mlp_ratio": 2,
            "patch_size": 14,
        },
        text_config={**_text_sizes(tokenizer), "rope_parameters": rope},
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
    )
    Qwen2VLForConditionalGeneration(config).save_pretrained(folder)
    # The processor class itself cannot be built without torchvision; its parts can.
    Qwen2VLImageProcessorPil(size={"shortest_edge": 28 * 28, "longest_edge": 112 * 112}).save_pretrained(
        folder
    )
    tokenizer.save_pretrained(folder)


_BUILDERS: dict[Family, Callable[[Path], None]] = {"llava": _llava, "qwen2_vl": _qwen2_vl}

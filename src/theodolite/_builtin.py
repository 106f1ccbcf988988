"""What ships in the package: one line per plug-in. A new method is one file and one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theodolite.registry import Registrar


def register(add: Registrar) -> None:
    """Names everything built in."""
    _models(add)
    for model_type, place, summary in FAMILIES:
        add("family", model_type, f"theodolite.models._families.{place}", summary=summary)


FAMILIES = (
    ("gemma3", "gemma3:Gemma3", "Gemma 3: one square, pooled patches, perhaps crops"),
    ("idefics3", "idefics3:Idefics3", "Idefics3: tiles and the whole, shuffled patches"),
    ("internvl", "internvl:InternVL", "InternVL (hf): tiles and a thumbnail, shuffled patches"),
    ("llava", "llava:Llava", "LLaVA-1.5: one square crop"),
    (
        "llava_onevision",
        "llava_onevision:LlavaOnevision",
        "LLaVA-OneVision: the whole and tiles, line breaks",
    ),
    ("qwen2_vl", "qwen2_vl:Qwen2VL", "Qwen2-VL: any size, merged patches"),
    ("qwen2_5_vl", "qwen2_5_vl:Qwen25VL", "Qwen2.5-VL: any size, merged patches, windows"),
    ("qwen3_vl", "qwen2_vl:Qwen2VL", "Qwen3-VL: any size, merged patches, deepstack"),
    ("smolvlm", "idefics3:Idefics3", "SmolVLM: tiles and the whole, shuffled patches"),
)
"""transformers' model type, where its family is, what it is."""


def _models(add: Registrar) -> None:
    add(
        "model",
        "hf",
        "theodolite.models._huggingface:open_model",
        summary="a Hugging Face image-text-to-text checkpoint, folder or hub id",
        example="hf:Qwen/Qwen2-VL-7B-Instruct?dtype=bfloat16",
    )
    add(
        "model",
        "openai",
        "theodolite.models._openai:open_model",
        summary="an OpenAI-compatible server: vLLM, Ollama, SGLang, hosted",
        example="openai:qwen2-vl@http://127.0.0.1:8000/v1",
    )
    add(
        "model",
        "replay",
        "theodolite.models._replay:open_model",
        summary="answers recorded earlier: a run of ours, lmms-eval samples, an inspect_ai log",
        example="replay:runs/monday",
    )
    add(
        "model",
        "scripted",
        "theodolite.models._scripted:open_model",
        summary="a deterministic behaviour, for tests and certification",
        example="scripted:looker",
    )

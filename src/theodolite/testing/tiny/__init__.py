"""Tiny checkpoints with random weights: real architectures and processors, without a download.

Their answers are meaningless but deterministic. They run the same code as a real checkpoint. Their tiles are small, so
that a picture of ordinary size has many of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

from theodolite.core.errors import UsageError
from theodolite.models import quiet_transformers
from theodolite.testing.tiny.gemma import gemma3
from theodolite.testing.tiny.llava import llava, llava_onevision
from theodolite.testing.tiny.phi import phi4_multimodal
from theodolite.testing.tiny.qwen import qwen2_5_vl, qwen2_vl, qwen3_vl
from theodolite.testing.tiny.tiled import idefics3, internvl, smolvlm

Family: TypeAlias = Literal[
    "gemma3",
    "idefics3",
    "internvl",
    "llava",
    "llava_onevision",
    "phi4_multimodal",
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen3_vl",
    "smolvlm",
]
"""Model types of transformers."""


def tiny_checkpoint(folder: str | Path, family: Family = "llava", *, seed: int = 0) -> Path:
    """Write a checkpoint with about a hundred thousand random weights.

    Args:
        folder: Where to write. Created if missing.
        family: The architecture.
        seed: Seed of the weights.

    Returns:
        The folder, for ``hf:<folder>``.
    """
    import torch

    if family not in _BUILDERS:
        raise UsageError(
            f"there is no tiny checkpoint of the family {family!r}; there are: {', '.join(_BUILDERS)}"
        )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with torch.random.fork_rng(devices=[]), quiet_transformers():
        torch.manual_seed(seed)
        _BUILDERS[family](folder)
    return folder


_BUILDERS: dict[Family, Callable[[Path], None]] = {
    "gemma3": gemma3,
    "idefics3": idefics3,
    "internvl": internvl,
    "llava": llava,
    "llava_onevision": llava_onevision,
    "phi4_multimodal": phi4_multimodal,
    "qwen2_vl": qwen2_vl,
    "qwen2_5_vl": qwen2_5_vl,
    "qwen3_vl": qwen3_vl,
    "smolvlm": smolvlm,
}

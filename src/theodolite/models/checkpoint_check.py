"""Whether a checkpoint is whole: its files before it is loaded, its weights and its processor afterwards.

transformers draws weights that a checkpoint lacks at random, and says so in a warning. Such a model answers, and means
nothing. So everything that does not fit is refused here, in one sentence that names it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.core.errors import ModelError, UsageError
from theodolite.core.files import check, inside, is_there, parse_json, read_bytes
from theodolite.core.pictures import MOST_PIXELS
from theodolite.core.types import Picture, Request

if TYPE_CHECKING:
    from theodolite.models.checkpoint import Checkpoint

__all__ = ["Gaps", "check_extent", "check_files", "check_processor", "check_values", "find_gaps"]

_LARGEST_CONFIG = 64 << 20
_FEWEST = 100_000_000
"""Weights that may be missing from the files without being refused before they are drawn: 400 MB."""
_LONGEST_NUMBER = 15
_SHOWN = 3
"""Names that a message lists."""

_CONFIGS = {
    "config.json": 1 << 24,
    "generation_config.json": 1 << 24,
    "preprocessor_config.json": 1 << 17,
    "processor_config.json": 1 << 17,
    "tokenizer_config.json": None,
    "special_tokens_map.json": None,
    "chat_template.json": None,
    "model.safetensors.index.json": None,
}
"""The files of JSON objects, with the largest whole number in each. A larger one would fill the memory with positions, tokens or
pixels before anything is refused."""
_MOST: Mapping[str, int | None] = {
    r"theta|base|seed|max_length|total_size": None,
    r"layers|depth|blocks": 1024,
    r"pixels|_edge": MOST_PIXELS,
    r"^(height|width)$": 8192,
}
"""What holds instead by the name of the field. The deepest model known has 126 layers."""
_LARGEST_EDGE = 8192
"""A shortest side alone is a side, beside a longest one it may be a number of pixels."""


def check_files(source: str) -> None:
    """Check the files of a checkpoint folder that are read before its weights. Ids on the hub are not checked.

    Raises:
        ModelError: If one is not what it should be. The message names the file and what is wrong there.
    """
    folder = Path(source)
    if not folder.is_dir():
        return
    if (folder / "adapter_config.json").exists():
        raise ModelError(
            f"{source} is an adapter to another model, which it names in adapter_config.json; merge both, and open the result"
        )
    for name, most in _CONFIGS.items():
        path = folder / name
        if path.exists() or path.is_symlink():
            try:
                _check_config(path, most)
            except (UsageError, ValueError, RecursionError) as error:
                raise ModelError(f"cannot load the checkpoint {source}: {name}: {error}") from error
    for path in folder.iterdir():
        if path.suffix in {".safetensors", ".json", ".jinja", ".model"} and not is_there(path):
            raise ModelError(f"cannot load the checkpoint {source}: {path.name} is not a file")


def _check_config(path: Path, most: int | None) -> None:
    """Raise a ValueError or a UsageError if a file of settings is not what it should be."""
    content = check(dict[str, Any], parse_json(read_bytes(path, largest=_LARGEST_CONFIG), is_strict=False))
    if most is not None:
        _check_numbers(content, most)
    if path.name == "model.safetensors.index.json":
        _check_index(path.parent, content)


def _check_numbers(value: Any, most: int, place: str = "") -> None:
    """Raise a ValueError if a whole number in a configuration is absurd."""
    if isinstance(value, list):
        for i, each in enumerate(value):
            _check_numbers(each, most, f"{place}[{i}]")
        return
    if not isinstance(value, dict):
        return
    if "longest_edge" not in value and _is_above(value.get("shortest_edge"), _LARGEST_EDGE):
        raise ValueError(
            f"{place}shortest_edge is {_short(value['shortest_edge'])}, more than {_LARGEST_EDGE:,}"
        )
    for name, each in value.items():
        own = next((limit for pattern, limit in _MOST.items() if re.search(pattern, name)), most)
        if own is not None and _is_above(each, own):
            raise ValueError(f"{place}{name} is {_short(each)}, more than {own:,}")
        _check_numbers(each, most, f"{place}{name}.")


def _short(number: float) -> str:
    text = str(number)
    return text if len(text) <= _LONGEST_NUMBER else f"{text[:_LONGEST_NUMBER]}…"


def _is_above(value: Any, most: int) -> bool:
    return isinstance(value, int | float) and abs(value) > most


def _check_index(folder: Path, index: Mapping[str, Any]) -> None:
    """Raise a ValueError or UsageError unless an index names files beside it, whose bytes are part of the model's identity."""
    names = index.get("weight_map")
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise ValueError("it has no weight_map of names")
    for name in set(names.values()):
        if "/" in name or name.startswith(".") or not name.endswith(".safetensors"):
            raise ValueError(f"it names {name[:80]!r}, which is not a file of weights beside it")
        if not inside(folder, name).exists():
            raise ValueError(f"it names {name[:80]!r}, which is missing")


def check_extent(source: str, config: Any, auto_class: Any) -> None:
    """Check that the weights in a folder are about as many as the settings ask for, before any are drawn in their place.

    Settings that lost a part stand for a model of full size, which would fill the memory. Quantised weights are packed and not
    counted.

    Raises:
        ModelError: If there are far too few.
    """
    import torch

    folder = Path(source)
    if not folder.is_dir() or getattr(config, "quantization_config", None) is not None:
        return
    with torch.device("meta"):
        wanted = sum(weights.numel() for weights in auto_class.from_config(config).parameters())
    held = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    if wanted > max(_FEWEST, held):  # a weight takes two bytes or more
        raise ModelError(
            f"the checkpoint {source} does not fit its architecture: config.json asks for {wanted:.3g} weights, and the files "
            f"hold {held:.3g} bytes"
        )


class Gaps:
    """What transformers could not load from a checkpoint, by kind."""

    def __init__(self, info: Mapping[str, Any]) -> None:
        """Take the loading info of ``from_pretrained``."""
        self.missing = sorted(info.get("missing_keys", ()))
        self.misshapen = sorted(str(name) for name, *_ in info.get("mismatched_keys", ()))
        self.unexpected = sorted(info.get("unexpected_keys", ()))
        self.errors = sorted(map(str, info.get("error_msgs", ())))

    def __bool__(self) -> bool:
        return bool(self.drawn or self.unexpected or self.errors)

    @property
    def drawn(self) -> list[str]:
        """The names of the weights that were drawn at random."""
        return [*self.missing, *self.misshapen]

    def __str__(self) -> str:
        parts = (
            ("missing", self.missing),
            ("of another shape", self.misshapen),
            ("unknown to the architecture", self.unexpected),
            ("not readable", self.errors),
        )
        return "; ".join(
            f"{len(names)} {_weights(names)} {what} ({_some(names)})" for what, names in parts if names
        )

    def identity(self, model: Any) -> str:
        """Return a hash of the weights that were drawn, which no file holds."""
        digest = hashlib.sha256("\0".join([*self.drawn, "", *self.unexpected]).encode())
        state = model.state_dict()
        for name in self.drawn:
            if name in state and not state[name].is_meta:
                digest.update(_bytes_of(state[name]))
        return digest.hexdigest()[:16]


def find_gaps(source: str, info: Mapping[str, Any], *, is_allowed: bool) -> Gaps:
    """Return what transformers could not load.

    Args:
        source: The checkpoint, for the message.
        info: The loading info of ``from_pretrained``.
        is_allowed: True to accept a checkpoint that is not whole.

    Raises:
        ModelError: If something is missing, left over or of another shape, and that is not allowed.
    """
    gaps = Gaps(info)
    if gaps and not is_allowed:
        raise ModelError(
            f"the checkpoint {source} does not fit its architecture: {gaps}; missing weights would be drawn at random. Load the "
            "whole checkpoint, or add ?allow_missing=true to its name to measure it as it is"
        )
    return gaps


def check_values(source: str, model: Any) -> None:
    """Check that every weight in memory is a number.

    Raises:
        ModelError: If some are NaN or infinite. The message names them.
    """
    wrong = [name for name, weights in model.named_parameters() if not _is_finite(weights)]
    if wrong:
        raise ModelError(
            f"the checkpoint {source} is damaged: there are NaN or infinite values in {len(wrong)} of its weights ({_some(wrong)})"
        )


def check_processor(source: str, checkpoint: Checkpoint) -> None:
    """Check that a processor makes inputs that the model can take: a question with a picture, of known tokens.

    Raises:
        ModelError: If not.
    """
    grey = Picture.from_array(np.full((64, 64, 3), 128, np.uint8))
    request = Request.ask(grey, "Is the cup left of the plate?")
    try:
        inputs = checkpoint.encode([checkpoint.prompt(request)], [request], padding_side="left")
        highest = int(inputs["input_ids"].max())
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0][:300]
        raise ModelError(
            f"the processor of {source} cannot encode a question with a picture ({type(error).__name__}: {first}); is it the "
            "processor of this model?"
        ) from error
    known = checkpoint.model.get_input_embeddings().weight.shape[0]
    if highest >= known:
        raise ModelError(
            f"the processor of {source} does not fit the model: its token {highest} is beyond the {known} that the model knows"
        )


def _is_finite(weights: Any) -> bool:
    if weights.is_meta or not weights.is_floating_point():
        return True
    plain = weights.detach()
    if plain.element_size() == 1:  # eight bits have no operations of their own
        plain = plain.float()
    return bool(plain.isfinite().all())


def _bytes_of(weights: Any) -> bytes:
    import torch

    data: bytes = weights.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return data


def _weights(names: Sequence[str]) -> str:
    return "weight is" if len(names) == 1 else "weights are"


def _some(names: Sequence[str]) -> str:
    return ", ".join(name[:120] for name in names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")

"""The twins that ship with the package, ``pocket:grounded`` and ``pocket:shortcut``, and ``pocket:mixed``, which lies between them.

Checkpoints like any other, opened as such.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.models.huggingface import HuggingFaceModel
from theodolite.models.huggingface import open_model as open_checkpoint
from theodolite.models.opening import ModelName

WEIGHTS = Path(__file__).with_name("weights")


def open_model(name: ModelName) -> HuggingFaceModel:
    """Opens a shipped checkpoint by its name; what follows a ``?`` is as for ``hf:``."""
    return open_checkpoint(replace(name, target=str(pocket_folder(name.target))))


def pocket_folder(name: str) -> Path:
    """Where a twin lies.

    Raises:
        UsageError: none of that name ships.
    """
    known = sorted(path.parent.name for path in WEIGHTS.glob("*/config.json"))
    if name not in known:
        raise UsageError(f"there is no pocket model {name!r}; there are {', '.join(known) or 'none'}")
    return WEIGHTS / name

"""The shipped twins ``pocket:grounded`` and ``pocket:shortcut``, and ``pocket:mixed``, a mixture of both.

They are opened like any other checkpoint.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.models.contract import ModelName
from theodolite.models.huggingface import HuggingFaceModel
from theodolite.models.huggingface import open_model as open_checkpoint

WEIGHTS = Path(__file__).with_name("weights")


def open_model(name: ModelName) -> HuggingFaceModel:
    """Open a shipped checkpoint by name. The options after ``?`` are those of ``hf:``."""
    return open_checkpoint(replace(name, target=str(pocket_folder(name.target))))


def pocket_folder(name: str) -> Path:
    """Return the folder of a shipped checkpoint.

    Raises:
        UsageError: If there is none of that name.
    """
    known = sorted(path.parent.name for path in WEIGHTS.glob("*/config.json"))
    if name not in known:
        raise UsageError(f"there is no pocket model {name!r}; there are: {', '.join(known) or 'none'}")
    return WEIGHTS / name

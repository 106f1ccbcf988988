"""The models of the ``grid:`` scheme."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import cast

from theodolite.core.errors import UsageError
from theodolite.models import ModelName, VisionLanguageModel

TARGETS: Mapping[str, str] = {
    "pure": "theodolite.instruments.grid.models.paired.model:open_paired",
    "spur": "theodolite.instruments.grid.models.paired.model:open_paired",
    "symbolic-pure": "theodolite.instruments.grid.models.symbolic:open_symbolic",
    "symbolic-bow": "theodolite.instruments.grid.models.symbolic:open_symbolic",
}
"""What can follow ``grid:``, and the function that opens it."""


def open_model(name: ModelName) -> VisionLanguageModel:
    """Opens a model of the grid."""
    if name.target not in TARGETS:
        raise UsageError(
            f"there is no model grid:{name.target}; there are: {', '.join(f'grid:{t}' for t in TARGETS)}"
        )
    module, _, function = TARGETS[name.target].partition(":")
    opener = cast("Callable[[ModelName], VisionLanguageModel]", getattr(import_module(module), function))
    return opener(name)

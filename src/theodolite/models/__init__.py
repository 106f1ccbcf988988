"""The model contract and its backends, opened by name: see `open_model`.

Backends are listed in the registry and loaded when opened. Importing this package does not import torch or a client
library.
"""

from __future__ import annotations

from theodolite.models.checkpoint import Checkpoint, check_source, quiet_transformers
from theodolite.models.contract import (
    Answering,
    Capability,
    ChoosingModel,
    HintedModel,
    ModelName,
    ModelOptions,
    RecordedModel,
    ServedModel,
    VisionLanguageModel,
    ask_factory,
    ask_measurer,
    is_choosing,
    open_model,
    read_options,
    require,
)
from theodolite.models.family import Decoder, Family, PlacedPicture, find_family, place_pictures
from theodolite.models.huggingface import LoadedModel, loaded_model
from theodolite.models.scripted import PAINTS

__all__ = [
    "PAINTS",
    "Answering",
    "Capability",
    "Checkpoint",
    "ChoosingModel",
    "Decoder",
    "Family",
    "HintedModel",
    "LoadedModel",
    "ModelName",
    "ModelOptions",
    "PlacedPicture",
    "RecordedModel",
    "ServedModel",
    "VisionLanguageModel",
    "ask_factory",
    "ask_measurer",
    "check_source",
    "find_family",
    "is_choosing",
    "loaded_model",
    "open_model",
    "place_pictures",
    "quiet_transformers",
    "read_options",
    "require",
]

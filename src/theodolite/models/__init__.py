"""The model contract and its backends, each opened by a string: see `open_model`.

Backends are named in the registry and loaded when opened; nothing here imports torch or a client library.
"""

from __future__ import annotations

from theodolite.models.asking import Answering, ask_factory, ask_measurer
from theodolite.models.checkpoint import Checkpoint, check_source, quiet_transformers
from theodolite.models.colours import PAINTS
from theodolite.models.contract import (
    Capability,
    ChoosingModel,
    HintedModel,
    RecordedModel,
    ServedModel,
    VisionLanguageModel,
    is_choosing,
    require,
)
from theodolite.models.family import Decoder, Family, PlacedPicture, find_family, place_pictures
from theodolite.models.opening import ModelName, ModelOptions, open_model, read_options
from theodolite.models.scripted import behaviours

__all__ = [
    "PAINTS",
    "Answering",
    "Capability",
    "Checkpoint",
    "ChoosingModel",
    "Decoder",
    "Family",
    "HintedModel",
    "ModelName",
    "ModelOptions",
    "PlacedPicture",
    "RecordedModel",
    "ServedModel",
    "VisionLanguageModel",
    "ask_factory",
    "ask_measurer",
    "behaviours",
    "check_source",
    "find_family",
    "is_choosing",
    "open_model",
    "place_pictures",
    "quiet_transformers",
    "read_options",
    "require",
]

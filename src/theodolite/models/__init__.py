"""The model contract and its backends, each opened by a string: see `open_model`.

Backends are named in the registry and loaded when opened; nothing here imports torch or a client library.
"""

from __future__ import annotations

from theodolite.models._asking import Answering, ask_factory, ask_measurer
from theodolite.models._checkpoint import Checkpoint, check_source, quiet_transformers
from theodolite.models._contract import (
    Capability,
    ChoosingModel,
    HintedModel,
    RecordedModel,
    ServedModel,
    VisionLanguageModel,
    is_choosing,
    require,
)
from theodolite.models._family import Decoder, Family, PlacedPicture, find_family, place_pictures
from theodolite.models._open import ModelName, ModelOptions, open_model, read_options
from theodolite.models._paints import PAINTS
from theodolite.models._scripted import behaviours

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

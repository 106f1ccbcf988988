"""Theodolite tells whether a vision-language model really looks at the picture when it answers.

Everything below loads when it is first used: importing the package itself is quick and pulls in nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theodolite.core.errors import TheodoliteError
    from theodolite.core.types import Choice, Item, Message, Picture, Record, Request, Response
    from theodolite.diagnose.api import diagnose
    from theodolite.explanation import explain
    from theodolite.models import open_model
    from theodolite.runs import Run

__version__ = "0.1.0"

__all__ = [
    "Choice",
    "Item",
    "Message",
    "Picture",
    "Record",
    "Request",
    "Response",
    "Run",
    "TheodoliteError",
    "__version__",
    "diagnose",
    "explain",
    "open_model",
]

_HOMES = {
    "explain": "theodolite.explanation",
    "open_model": "theodolite.models",
    "Run": "theodolite.runs",
    "TheodoliteError": "theodolite.core.errors",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'theodolite' has no attribute {name!r}")
    if name == "diagnose":  # a package that can be called
        return import_module("theodolite.diagnose")
    return getattr(import_module(_HOMES.get(name, "theodolite.core.types")), name)


def __dir__() -> list[str]:
    return sorted(__all__)

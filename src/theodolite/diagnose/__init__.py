"""All instruments on one model: where it stands between the twins, what it shows, and what is open.

`diagnose` does it all; `theodolite.diagnose(...)` is the same function, for the package can be called. The document it writes
is `theodolite.diagnose.record`, the rows for looking at items are `theodolite.diagnose.items`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theodolite.diagnose._api import DEFAULT_MODELS, diagnose, open_diagnosis
    from theodolite.diagnose._calibration import write_calibration
    from theodolite.diagnose._comparing import compare_models
    from theodolite.diagnose._measure import How
    from theodolite.diagnose._mixture import mix_readings
    from theodolite.diagnose._order import Order
    from theodolite.diagnose._own import OwnData, find_own_data
    from theodolite.diagnose._position import Twins, median_position, position
    from theodolite.diagnose._result import Diagnosed, position_words, raised
    from theodolite.diagnose._run import run_diagnosis
    from theodolite.diagnose._study import INSTRUMENTS, SIZES, Study, find_instruments, find_size
    from theodolite.diagnose._table import ReadingTable

_HOMES = {
    "_api": ("DEFAULT_MODELS", "diagnose", "open_diagnosis"),
    "_calibration": ("write_calibration",),
    "_comparing": ("compare_models",),
    "_measure": ("How",),
    "_mixture": ("mix_readings",),
    "_order": ("Order",),
    "_own": ("OwnData", "find_own_data"),
    "_position": ("Twins", "median_position", "position"),
    "_result": ("Diagnosed", "position_words", "raised"),
    "_run": ("run_diagnosis",),
    "_study": ("INSTRUMENTS", "SIZES", "Study", "find_instruments", "find_size"),
    "_table": ("ReadingTable",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "DEFAULT_MODELS",
    "INSTRUMENTS",
    "SIZES",
    "Diagnosed",
    "How",
    "Order",
    "OwnData",
    "ReadingTable",
    "Study",
    "Twins",
    "compare_models",
    "diagnose",
    "find_instruments",
    "find_own_data",
    "find_size",
    "median_position",
    "mix_readings",
    "open_diagnosis",
    "position",
    "position_words",
    "raised",
    "run_diagnosis",
    "write_calibration",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'theodolite.diagnose' has no attribute {name!r}")
    return getattr(import_module(f"theodolite.diagnose.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


class _Callable(ModuleType):
    """So that ``theodolite.diagnose(...)`` works although ``theodolite.diagnose`` is a package."""

    def __call__(self, *models: str, **options: Any) -> Diagnosed:
        """`diagnose`."""
        found: Diagnosed = __getattr__("diagnose")(*models, **options)
        return found


sys.modules[__name__].__class__ = _Callable

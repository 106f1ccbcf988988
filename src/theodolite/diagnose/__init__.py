"""All instruments on one model: a verdict, the signatures it raises, and the questions that stay open.

    theodolite.diagnose(model="hf:PATH", data="questions.jsonl", size="quick")
    theodolite.diagnose(model=model, processor=processor)  # a transformers model in memory

`theodolite.diagnose(...)` and `theodolite.diagnose.api.diagnose` are the same function. `record` defines the document
that a diagnosis writes, `items` the rows for browsing items.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theodolite.diagnose.api import Diagnosed


class _CallablePackage(ModuleType):
    """A package that can be called, so that ``theodolite.diagnose(...)`` works."""

    @property
    def __call__(self) -> Callable[..., Diagnosed]:
        """The function itself, with its signature and its docstring."""
        from theodolite.diagnose.api import diagnose

        return diagnose

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.__call__)


sys.modules[__name__].__class__ = _CallablePackage

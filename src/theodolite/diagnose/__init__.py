"""All instruments on one model: a verdict, the signatures it raises, and the questions that stay open.

`theodolite.diagnose(...)` and `theodolite.diagnose.api.diagnose` are the same function. `record` defines the document
that a diagnosis writes, `items` the rows for browsing items.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theodolite.diagnose.result import Diagnosed


class _CallablePackage(ModuleType):
    """Makes ``theodolite.diagnose(...)`` work although ``theodolite.diagnose`` is a package."""

    def __call__(self, *models: str, **options: Any) -> Diagnosed:
        """See `theodolite.diagnose.api.diagnose`."""
        from theodolite.diagnose.api import diagnose

        return diagnose(*models, **options)


sys.modules[__name__].__class__ = _CallablePackage

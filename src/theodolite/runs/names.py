"""Names of folders."""

from __future__ import annotations

import re

__all__ = ["slug"]


def slug(name: str) -> str:
    """A model's name as the name of a folder.

    >>> slug("hf:models/tiny?dtype=float32")
    'hf-models-tiny-dtype-float32'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")

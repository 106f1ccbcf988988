"""The command line: one file per noun."""

from __future__ import annotations

from theodolite.cli._main import app, main

__all__ = ["app", "main"]

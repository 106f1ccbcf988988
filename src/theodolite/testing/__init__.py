"""Checks for plug-in authors, and tiny checkpoints for tests."""

from __future__ import annotations

from theodolite.testing.check_explainer import check_explainer
from theodolite.testing.check_model import check_model
from theodolite.testing.check_verifier import check_verifier
from theodolite.testing.tiny import Family, tiny_checkpoint

__all__ = ["Family", "check_explainer", "check_model", "check_verifier", "tiny_checkpoint"]

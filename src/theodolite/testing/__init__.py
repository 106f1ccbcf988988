"""Checks for plug-in authors, and tiny checkpoints for tests."""

from __future__ import annotations

from theodolite.testing.check_edit import check_edit
from theodolite.testing.check_explainer import check_explainer
from theodolite.testing.check_extractor import check_extractor
from theodolite.testing.check_instrument import check_instrument
from theodolite.testing.check_method import check_method
from theodolite.testing.check_model import check_model
from theodolite.testing.check_plugin import CHECKED, check_plugin
from theodolite.testing.check_source import check_source
from theodolite.testing.check_verifier import check_verifier
from theodolite.testing.findings import BrokenContractError, Findings
from theodolite.testing.tiny import Family, tiny_checkpoint

__all__ = [
    "CHECKED",
    "BrokenContractError",
    "Family",
    "Findings",
    "check_edit",
    "check_explainer",
    "check_extractor",
    "check_instrument",
    "check_method",
    "check_model",
    "check_plugin",
    "check_source",
    "check_verifier",
    "tiny_checkpoint",
]

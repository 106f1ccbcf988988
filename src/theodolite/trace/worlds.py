"""Worlds whose truth is known exactly: making them, editing them at the source, telling them truly, auditing them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from theodolite.trace._episode import EGO, Episode, SceneObject
from theodolite.trace._worlds._edits import FAMILIES, Family, perturbed
from theodolite.trace._worlds._facts import CLEAR_DEG, SIDE_SHARE, facts_at, falsified, named, oracle_text
from theodolite.trace._worlds._make import EXTRA_WORLD, WORLDS, World, make_world

if TYPE_CHECKING:
    from theodolite.trace._audit import BLIND_CHECK, AuditCheck, WorldAudit, audit_world

__all__ = [
    "BLIND_CHECK",
    "CLEAR_DEG",
    "EGO",
    "EXTRA_WORLD",
    "FAMILIES",
    "SIDE_SHARE",
    "WORLDS",
    "AuditCheck",
    "Episode",
    "Family",
    "SceneObject",
    "World",
    "WorldAudit",
    "audit_world",
    "facts_at",
    "falsified",
    "make_world",
    "named",
    "oracle_text",
    "perturbed",
]

_AUDIT = frozenset({"BLIND_CHECK", "AuditCheck", "WorldAudit", "audit_world"})
"""They load when they are first used: worlds are made, for training too, where statistics are not installed."""


def __getattr__(name: str) -> Any:
    if name not in _AUDIT:
        raise AttributeError(f"module 'theodolite.trace.worlds' has no attribute {name!r}")
    return getattr(import_module("theodolite.trace._audit"), name)


def __dir__() -> list[str]:
    return sorted(__all__)

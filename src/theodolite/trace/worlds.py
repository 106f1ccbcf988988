"""Worlds whose truth is known exactly: making them, editing them at the source, telling them truly, auditing them."""

from __future__ import annotations

from theodolite.trace._audit import AuditCheck, WorldAudit, audit_world
from theodolite.trace._worlds._edits import FAMILIES, Family, perturbed
from theodolite.trace._worlds._facts import facts_at, falsified, oracle_text
from theodolite.trace._worlds._make import WORLDS, World, make_world

__all__ = [
    "FAMILIES",
    "WORLDS",
    "AuditCheck",
    "Family",
    "World",
    "WorldAudit",
    "audit_world",
    "facts_at",
    "falsified",
    "make_world",
    "oracle_text",
    "perturbed",
]

"""Angles, boxes and token grids in pictures. Frames and units stand in the names: ``_px``, ``_deg``."""

from __future__ import annotations

from theodolite.geometry._angles import direction_deg
from theodolite.geometry._boxes import Box
from theodolite.geometry._token_grid import TokenGrid, lattice

__all__ = ["Box", "TokenGrid", "direction_deg", "lattice"]

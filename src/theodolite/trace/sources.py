"""Episodes out of data sets that others made: STAR, R2R, TEACh. One's own frames and annotations: `theodolite.trace.read_episodes`."""

from __future__ import annotations

from theodolite.trace._sources._r2r import read_r2r
from theodolite.trace._sources._star import read_star
from theodolite.trace._sources._teach import read_teach

__all__ = ["read_r2r", "read_star", "read_teach"]

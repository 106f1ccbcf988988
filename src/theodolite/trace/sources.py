"""Episodes out of data sets that others made (STAR, R2R, TEACh) and out of one's own videos.

One's own frames and annotations: `theodolite.trace.read_episodes`.
"""

from __future__ import annotations

from theodolite.trace._sources._r2r import read_r2r
from theodolite.trace._sources._star import read_star
from theodolite.trace._sources._teach import read_teach
from theodolite.trace._sources._videos import N_FRAMES, read_videos

__all__ = ["N_FRAMES", "read_r2r", "read_star", "read_teach", "read_videos"]

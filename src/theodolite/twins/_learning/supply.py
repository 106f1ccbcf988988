"""Lessons kept on the device, to be drawn again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from torch import Tensor

from theodolite.twins import _lessons as lessons
from theodolite.twins._workshop import N_PATCHES, PACKS, SHAPES, Workshop, Written

CAPACITY = {"relation": 120_000, "grid": 100_000, "scene": 80_000, "frame": 60_000, "trace": 30_000}
"""Of the pools; what comes later takes the place of what came first."""
TASKS = tuple(CAPACITY)
PICTURED = ("frames", "labels", "marks", "sizes")
PACKED = {
    "ids": torch.int16,
    "part": torch.int16,
    "sees": torch.bool,
    "place": torch.int16,
    "at": torch.int16,
    "words": torch.int16,
    "first": torch.bool,
}


class Pool:
    """Lessons of one task."""

    def __init__(self, capacity: int, n_frames: int, device: str) -> None:
        side, shape = lessons.SIDE_PX, SHAPES[n_frames]
        self.capacity, self.n_made, self.device = capacity, 0, device
        lead = (capacity, n_frames)
        self.pictures = {
            "frames": torch.empty((*lead, side, side, 3), dtype=torch.uint8, device=device),
            "labels": torch.empty((*lead, N_PATCHES), dtype=torch.uint8, device=device),
            "marks": torch.empty((*lead, N_PATCHES), dtype=torch.uint8, device=device),
            "sizes": torch.empty((*lead, N_PATCHES, 4), dtype=torch.float16, device=device),
        }
        self.packs = {
            who: {
                name: torch.empty(
                    (capacity, n, shape.said if name in {"at", "words", "first"} else shape.tokens),
                    dtype=dtype,
                    device=device,
                )
                for name, dtype in PACKED.items()
            }
            for who, n in PACKS.items()
        }
        self.has = {who: np.zeros(capacity, bool) for who in PACKS}
        self.rows = {who: np.zeros(0, np.int64) for who in PACKS}

    def add(self, made: list[Written]) -> None:
        """Takes lessons in, in place of the oldest if it is full."""
        places = (self.n_made + np.arange(len(made))) % self.capacity
        at = torch.from_numpy(places).to(self.device)
        for name in PICTURED:
            stacked = torch.from_numpy(np.stack([getattr(lesson, name) for lesson in made]))
            self.pictures[name][at] = stacked.to(self.device)
        for who in PACKS:
            self.has[who][places] = [bool(lesson.packs[who]) for lesson in made]
            kept = [i for i, lesson in enumerate(made) if lesson.packs[who]]
            for name in PACKED if kept else ():
                stacked = torch.from_numpy(
                    np.stack([[getattr(p, name) for p in made[i].packs[who]] for i in kept])
                )
                self.packs[who][name][at[kept]] = stacked.to(self.device)
            self.rows[who] = np.flatnonzero(self.has[who])
        self.n_made += len(made)

    def take(self, who: str, n: int, rng: np.random.Generator) -> dict[str, Tensor]:
        """`n` rows of a twin's, with their pictures."""
        rows = torch.from_numpy(rng.choice(self.rows[who], size=n)).to(self.device)
        which = torch.from_numpy(rng.integers(PACKS[who], size=n)).to(self.device)
        return {name: values[rows] for name, values in self.pictures.items()} | {
            name: values[rows, which] for name, values in self.packs[who].items()
        }


class Supply:
    """The pools, filled from a workshop."""

    def __init__(self, workshop: Workshop, device: str, *, scale: float = 1.0) -> None:
        self.workshop, self.device = workshop, device
        self.pools = {
            task: Pool(max(64, round(capacity * scale)), 4 if task == "trace" else 1, device)
            for task, capacity in CAPACITY.items()
        }

    def take_in(self, *, wait_s: float = 0.0, most: int = 2) -> None:
        """Puts what is ready into the pools, a few chunks at a time."""
        for _ in range(most):
            made = self.workshop.get(wait_s=wait_s)
            if not made:
                return
            for task in {lesson.task for lesson in made}:
                self.pools[task].add([lesson for lesson in made if lesson.task == task])

    def is_ready(self) -> bool:
        """Whether there is enough to begin with; the other pools fill while the first steps are made."""
        return self.has(("relation",)) and self.has(("grid",))

    def has(self, tasks: Iterable[str], least: int = 16) -> bool:
        """Whether some of these pools have lessons for both twins."""
        return any(min(map(len, self.pools[task].rows.values())) >= least for task in tasks)

    def batch(
        self, shares: Mapping[str, float], rows: int, *, grounded: float, rng: np.random.Generator
    ) -> dict[str, Tensor]:
        """Rows of several tasks.

        Args:
            shares: of the tasks.
            rows: how many in all.
            grounded: the share of rows that are the grounded twin's lessons.
            rng: of the draw.
        """
        n_grounded = int(rng.binomial(rows, grounded))
        parts: list[dict[str, Tensor]] = []
        tasks: list[int] = []
        for who, n in (("g", n_grounded), ("s", rows - n_grounded)):
            names = [name for name in shares if len(self.pools[name].rows[who]) >= 16]
            weights = np.array([shares[name] for name in names])
            for name, k in zip(names, rng.multinomial(n, weights / weights.sum()), strict=True):
                if k:
                    parts.append(self.pools[name].take(who, int(k), rng))
                    tasks += [TASKS.index(name)] * int(k)
        joined = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
        for name in PICTURED:
            joined[name] = joined[name].flatten(0, 1)
        for name in ("ids", "part", "place", "at", "words"):
            joined[name] = joined[name].long()
        return joined | {"task": torch.tensor(tasks, device=self.device)}

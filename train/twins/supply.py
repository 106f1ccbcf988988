"""Pools of lessons on the device, from which batches are drawn."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from theodolite.core.errors import UsageError, WorkerError
from train.twins import lessons
from train.twins.curriculum import N_SIDE, TWINS, Curriculum
from train.twins.lesson_workers import PACKED, PACKS, PICTURED, SHAPES, Chunk, LessonWorkers

CAPACITY = {"relation": 120_000, "grid": 120_000, "scene": 80_000, "frame": 60_000, "trace": 30_000}
"""Capacities of the pools. New lessons replace the oldest ones."""
TASKS = tuple(CAPACITY)
KEPT = 30_000
"""Maximum number of lessons per task that one leg passes to the next."""
_SAID = {"at", "words", "first", "weight"}
_DTYPES = {"sees": torch.bool, "first": torch.bool, "weight": torch.float16}
_FEWEST_TO_START = 16
"""Lessons of each task."""
_WHOLE = ("ids", "part", "place", "at", "words")


class Pool:
    """The lessons of one task."""

    def __init__(self, capacity: int, n_frames: int, device: str, *, n_side: int = N_SIDE) -> None:
        side, shape, n_patches = lessons.SIDE_PX, SHAPES[n_frames], n_side**2
        self.capacity, self.n_made, self.device = capacity, 0, device
        self._next = 0
        lead = (capacity, n_frames)
        self.pictures = {
            "frames": torch.empty((*lead, side, side, 3), dtype=torch.uint8, device=device),
            "labels": torch.empty((*lead, n_patches), dtype=torch.uint8, device=device),
            "marks": torch.empty((*lead, n_patches), dtype=torch.uint8, device=device),
            "sizes": torch.empty((*lead, n_patches, 4), dtype=torch.float16, device=device),
        }
        self.packs = {
            who: {
                name: torch.empty(
                    (capacity, n, shape.said if name in _SAID else shape.tokens),
                    dtype=_DTYPES.get(name, torch.int16),
                    device=device,
                )
                for name in PACKED
            }
            for who, n in PACKS.items()
        }
        self.has = {who: np.zeros(capacity, bool) for who in PACKS}
        self.rows = {who: np.zeros(0, np.int64) for who in PACKS}

    def add(self, made: Chunk) -> None:
        """Add lessons, replacing the oldest if full. Nothing is drawn from a slot while it is written."""
        n = min(len(made), self.capacity)
        start = self._next if self._next + n <= self.capacity else 0
        places = slice(start, start + n)
        self._offer(places, dict.fromkeys(PACKS, False))
        for name in PICTURED:
            self.pictures[name][places].copy_(torch.from_numpy(made.pictures[name][:n]))
        for who, arrays in made.packs.items():
            for name in PACKED:
                self.packs[who][name][places].copy_(torch.from_numpy(arrays[name][:n]))
        if self.device.startswith("cuda"):
            torch.cuda.current_stream().synchronize()
        self._offer(places, {who: has[:n] for who, has in made.has.items()})
        self._next = start + n
        self.n_made += n

    def _offer(self, places: slice, has: Mapping[str, Any]) -> None:
        for who, value in has.items():
            self.has[who][places] = value
            self.rows[who] = np.flatnonzero(self.has[who])

    def take(self, who: str, rows: np.ndarray[Any, Any], which: np.ndarray[Any, Any]) -> dict[str, Tensor]:
        """Return rows for a twin, with their pictures."""
        at, kind = (torch.from_numpy(index).to(self.device) for index in (rows, which))
        return {name: values[at] for name, values in self.pictures.items()} | {
            name: values[at, kind] for name, values in self.packs[who].items()
        }

    def save(self, path: Path) -> None:
        """Save the newest lessons for another leg."""
        held = np.flatnonzero(np.any(list(self.has.values()), axis=0))
        newest = held[np.argsort((held - self._next) % self.capacity)][-KEPT:]
        at = torch.from_numpy(newest).to(self.device)
        tensors = {f"pictures.{name}": values[at].cpu() for name, values in self.pictures.items()}
        for who, values in self.packs.items():
            tensors |= {f"{who}.{name}": value[at].cpu() for name, value in values.items()}
            tensors[f"has.{who}"] = torch.from_numpy(self.has[who][newest])
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)

    def load(self, path: Path) -> None:
        """Load lessons written by `save`."""
        tensors = load_file(path)
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        self.add(
            Chunk(
                path.stem,
                {name: arrays[f"pictures.{name}"] for name in PICTURED},
                {who: {name: arrays[f"{who}.{name}"] for name in PACKED} for who in PACKS},
                {who: arrays[f"has.{who}"] for who in PACKS},
            )
        )


class Supply:
    """The pools, filled from the lesson workers by a background thread."""

    def __init__(
        self,
        workers: LessonWorkers,
        device: str,
        *,
        scale: float = 1.0,
        kept: Path | None = None,
        curriculum: Curriculum = TWINS,
        n_side: int = N_SIDE,
    ) -> None:
        self.workers, self.device = workers, device
        frames = {task: 4 if task == "trace" else 1 for task in curriculum.tasks}
        self.pools = {
            task: Pool(max(64, round(CAPACITY[task] * scale)), n, device, n_side=n_side)
            for task, n in frames.items()
        }
        held = max(8, round(curriculum.held_out * min(1.0, scale)))
        self.held_out = {task: Pool(held, n, device, n_side=n_side) for task, n in frames.items()}
        self._fault: Exception | None = None
        if kept is not None:
            self._load(kept)
        self._is_open = True
        self._thread = threading.Thread(target=self._take_in, daemon=True)
        self._thread.start()

    def _take_in(self) -> None:
        on_cuda = self.device.startswith("cuda")
        own: Any = torch.cuda.Stream
        stream = torch.cuda.stream(own()) if on_cuda else contextlib.nullcontext()
        try:
            with stream:
                while self._is_open:
                    for chunk in self.workers.get():
                        held = self.held_out[chunk.task]
                        is_held = held.n_made < held.capacity
                        (held if is_held else self.pools[chunk.task]).add(chunk)
        except Exception as error:  # noqa: BLE001 - raised by `check`, in the thread that trains
            self._fault = error

    def check(self) -> None:
        """Raise an error if lessons have stopped coming in."""
        if isinstance(self._fault, WorkerError):
            raise self._fault
        if self._fault is not None:
            raise UsageError(f"lessons could not be taken in: {self._fault}") from self._fault
        self.workers.check()

    def is_ready(self) -> bool:
        """Return True if there are enough lessons of every task to start."""
        return all(max(map(len, pool.rows.values())) >= _FEWEST_TO_START for pool in self.pools.values())

    def stop(self) -> None:
        """Stop taking in lessons."""
        self._is_open = False
        self.workers.stop()
        self._thread.join(timeout=5)

    def batch(
        self, shares: Mapping[str, float], rows: int, *, who: str, rng: np.random.Generator
    ) -> dict[str, Tensor]:
        """Draw rows of several tasks.

        Args:
            shares: Shares of the tasks.
            rows: Total number of rows.
            who: The twin.
            rng: Random generator.
        """
        available = self._available(shares, who)
        weights = np.array([shares[name] for name in available])
        parts: list[dict[str, Tensor]] = []
        tasks: list[int] = []
        for name, n in zip(available, rng.multinomial(rows, weights / weights.sum()).tolist(), strict=True):
            if n:
                chosen = rng.choice(available[name], size=n), rng.integers(PACKS[who], size=n)
                parts.append(self.pools[name].take(who, *chosen))
                tasks += [TASKS.index(name)] * n
        return joined(parts, tasks, self.device)

    def _available(self, tasks: Iterable[str], who: str) -> dict[str, np.ndarray[Any, Any]]:
        """Return the rows of each task that has some for a twin. Wait while all of them are being replaced."""
        while True:
            rows = {task: self.pools[task].rows[who] for task in tasks}
            if any(map(len, rows.values())):
                return {task: slots for task, slots in rows.items() if len(slots)}
            self.check()
            time.sleep(0.01)

    def held_out_batch(self, task: str, who: str) -> dict[str, Tensor] | None:
        """Return the held-out lessons, one row each; None if there are none of the task for a twin."""
        pool = self.held_out[task]
        rows = pool.rows[who]
        if not len(rows):
            return None
        return joined(
            [pool.take(who, rows, np.zeros(len(rows), np.int64))],
            [TASKS.index(task)] * len(rows),
            self.device,
        )

    def save(self, folder: Path) -> None:
        """Save the newest lessons of each task."""
        folder.mkdir(parents=True, exist_ok=True)
        for task, pool in self.pools.items():
            pool.save(folder / f"{task}.safetensors")

    def _load(self, folder: Path) -> None:
        for task, pool in self.pools.items():
            if (folder / f"{task}.safetensors").exists():
                pool.load(folder / f"{task}.safetensors")


def joined(parts: list[dict[str, Tensor]], tasks: list[int], device: str) -> dict[str, Tensor]:
    """Concatenate parts into one batch."""
    batch = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    for name in PICTURED:
        batch[name] = batch[name].flatten(0, 1)
    for name in _WHOLE:
        batch[name] = batch[name].long()
    return batch | {"task": torch.tensor(tasks, device=device)}

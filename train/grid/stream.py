"""Scenes for training, made by worker processes while the network learns; the order depends on the seed alone."""

from __future__ import annotations

import math
import multiprocessing
from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import FIRST_ANCHOR, FIRST_TARGET, SceneBatch, join
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.recipe import PAPER
from theodolite.instruments.grid.data.words import ANCHOR_PHRASE, MAX_WORDS, TARGET_PHRASE
from theodolite.instruments.grid.data.world import BUCKET_KEYS, BUCKETS, MOST_ANCHORS, MOST_SIDES, Mode
from train.grid.sheets import Sheet

__all__ = ["KIND_OF_BUCKET", "Supply", "sheets", "to_sheet"]

COUNT, EXISTENCE, COMPARISON = range(3)
KIND_OF_BUCKET = np.array(
    [COMPARISON if b.is_comparison else COUNT if b.form == 0 else EXISTENCE for b in BUCKETS], np.uint8
)

_ROLE = np.zeros(16, np.uint8)
_ROLE[FIRST_ANCHOR : FIRST_ANCHOR + MOST_ANCHORS] = 1
_ROLE[FIRST_TARGET : FIRST_TARGET + MOST_SIDES] = (2, 3)
_PHRASE = np.zeros(16, np.uint8)
_PHRASE[FIRST_ANCHOR : FIRST_ANCHOR + MOST_ANCHORS] = 1 + ANCHOR_PHRASE + np.arange(MOST_ANCHORS)
_PHRASE[FIRST_TARGET : FIRST_TARGET + MOST_SIDES] = 1 + TARGET_PHRASE + np.arange(MOST_SIDES)


def arrays_of(scenes: SceneBatch) -> dict[str, NDArray[np.uint8]]:
    """What a sheet holds, as small arrays that travel between processes."""
    place = np.arange(MAX_WORDS)
    inside = (scenes.spans[..., :1] <= place) & (place < scenes.spans[..., 1:])
    numbers = np.arange(1, inside.shape[1] + 1, dtype=np.uint8)[:, None]
    return {
        "cells": scenes.cells,
        "words": scenes.words,
        "roles": _ROLE[scenes.roles],
        "named": _PHRASE[scenes.roles],
        "phrases": (inside * numbers).max(axis=1).astype(np.uint8),
        "kind": KIND_OF_BUCKET[scenes.bucket],
        "answer": scenes.answer,
        "bucket": scenes.bucket,
    }


def to_sheet(arrays: dict[str, NDArray[np.uint8]], side: tuple[int, int], device: str) -> Sheet:
    """Arrays of `arrays_of` as tensors on a device."""
    tensors = {
        name: torch.from_numpy(array).to(device, non_blocking=True).long() for name, array in arrays.items()
    }
    return Sheet(**tensors, side=side)


HARD = {"CMP-F0-D3": 0.30, "CMP-F0-D2": 0.10, "M-F0-D3": 0.08, "M-F1-D3": 0.08}
"""Shares of the hardest buckets in the late portions; the others share the rest evenly."""


@dataclass(frozen=True, slots=True)
class Supply:
    """What is made for training: both densities of the paper's preset, the sound preset's, and what lies between."""

    mode: Mode
    seed: int
    per_bucket: int = 384
    objects: tuple[int, ...] = (7, 17, 12, 7, 17, 9, 14)
    """Objects of the scenes of one portion after the other, again and again."""
    late: int = 1_040
    """The portion from which on hard buckets come more often."""

    @property
    def rows(self) -> int:
        """Scenes of a portion."""
        return 2 * self.per_bucket * len(BUCKETS)

    def portion(self, number: int) -> dict[str, NDArray[np.uint8]]:
        """The scenes of one portion, two densities mixed, in an order that the seed decides. Test scenes never occur."""
        seeds = np.random.SeedSequence([self.seed, number]).generate_state(2)
        counts = [self.objects[(2 * number + i) % len(self.objects)] for i in range(2)]
        scenes = join(
            [
                generate(keys, n, mode=self.mode, density=count, seed=int(seed), split="train")
                for count, seed in zip(counts, seeds, strict=True)
                for keys, n in self._amounts(is_late=number >= self.late)
            ]
        )
        order = np.random.default_rng([self.seed, number, 1]).permutation(len(scenes))
        return arrays_of(scenes.take(order[: self.rows]))

    def _amounts(self, *, is_late: bool) -> list[tuple[list[str], int]]:
        """Buckets and how many scenes of each, for one density; together at least half a portion."""
        if not is_late:
            return [(list(BUCKET_KEYS), self.per_bucket)]
        total = self.per_bucket * len(BUCKETS)
        amounts = [([key], math.ceil(share * total)) for key, share in HARD.items()]
        others = [key for key in BUCKET_KEYS if key not in HARD]
        return [*amounts, (others, math.ceil((1 - sum(HARD.values())) * total / len(others)))]


def sheets(supply: Supply, *, batch: int, device: str, workers: int, start: int = 0) -> Generator[Sheet]:
    """Batches without end, from step `start` on; portions are made ahead by `workers` processes, taken in order."""
    side = (PAPER.world.rows, PAPER.world.columns)
    per_portion = supply.rows // batch
    if not per_portion:
        raise UsageError(f"a batch of {batch} is more than a portion of {supply.rows} scenes")
    number, skip = divmod(start, per_portion)
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context)
    ahead: deque[Future[dict[str, NDArray[np.uint8]]]] = deque()
    try:
        while True:
            while len(ahead) < 2 * workers:
                ahead.append(pool.submit(supply.portion, number))
                number += 1
            whole = to_sheet(ahead.popleft().result(), side, device)
            for i in range(skip, per_portion):
                yield whole.part(slice(i * batch, (i + 1) * batch))
            skip = 0
    finally:
        pool.shutdown(cancel_futures=True)

"""Drawn pictures stored in a folder, so that they are drawn once and used for several trainings.

A part holds the pictures of up to 64 episodes of one world and split. It is an xz stream of the length of a JSON header (8
bytes), the header (the ground truth of each picture, with captions by number), and the pixels. Pictures of one episode are
similar, which xz exploits: 0.4 to 3 KiB per picture instead of 95, without loss. A part is written atomically, and existing
parts are not drawn again. Drawing can therefore be resumed, in any number of processes and on any machine.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.processes import worker_pool
from theodolite.worlds.episodes import Split
from theodolite.worlds.palette import SPLITS
from theodolite.worlds.stories import WORLDS
from train.similarity.samples import Sample, samples_of

_CHUNK = 64
_READERS = 4
_EFFORT = 1
"""Compression level. A higher one takes five times as long and saves a tenth."""


@dataclass(frozen=True, slots=True)
class Part:
    """A set of episodes and how they are drawn."""

    world: str
    split: Split
    start: int
    stop: int
    seed: int
    side: int

    @property
    def file_name(self) -> str:
        """Contains all fields, so that a folder can hold parts of several seeds and sizes."""
        return f"{self.world}-{self.split}-{self.start:05d}-{self.stop:05d}-seed{self.seed}-{self.side}px.xz"


@dataclass(frozen=True, slots=True)
class Drawings:
    """Pictures with their ground truth. Each sample's pixels are a view into `pixels`."""

    pixels: NDArray[np.uint8]
    """(N, side, side, 3)"""
    samples: tuple[Sample, ...]


def parts(n: int, *, side: int, seed: int = 0, worlds: Sequence[str] = tuple(WORLDS)) -> list[Part]:
    """Return the parts of `n` episodes of each world and split.

    >>> [part.file_name for part in parts(70, side=180, worlds=["video"])][::2]
    ['video-in-distribution-00000-00064-seed0-180px.xz', 'video-in-distribution-00064-00070-seed0-180px.xz']
    """
    if n < 1:
        raise UsageError(f"training needs at least one episode of each world and split, got {n}")
    return [
        Part(world, split, start, min(n, start + _CHUNK), seed, side)
        for start in range(0, n, _CHUNK)
        for world in worlds
        for split in SPLITS
    ]


def draw_parts(
    wanted: Sequence[Part],
    folder: Path,
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Draw the missing parts.

    Args:
        wanted: The parts.
        folder: Folder of the parts.
        workers: Number of processes.
        progress: Called with the number of finished parts and the total.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        raise UsageError(f"cannot store drawings in {folder}: {why.strerror}") from why
    missing = [part for part in wanted if not (folder / part.file_name).is_file()]
    tasks = [(part, folder) for part in missing]
    for i, _ in enumerate(_mapped(tasks, workers)):
        if progress is not None:
            progress(len(wanted) - len(missing) + i + 1, len(wanted))


def read_parts(wanted: Sequence[Part], folder: Path) -> Drawings:
    """Read all pictures of these parts, in order."""
    files = [folder / part.file_name for part in wanted]
    headers = [_header(file) for file in files]
    ends = np.cumsum([len(header["samples"]) for header in headers])
    pixels = np.empty((int(ends[-1]), wanted[0].side, wanted[0].side, 3), np.uint8)
    blocks = np.split(pixels, ends[:-1])
    with ThreadPoolExecutor(_READERS) as pool:  # decompression releases the interpreter lock
        list(pool.map(_fill, files, blocks))
    samples = [
        _sample(row, header["captions"], pixels_of)
        for header, block in zip(headers, blocks, strict=True)
        for row, pixels_of in zip(header["samples"], block, strict=True)
    ]
    return Drawings(pixels, tuple(samples))


def _mapped(tasks: Sequence[tuple[Part, Path]], workers: int) -> Iterator[None]:
    if workers == 1 or len(tasks) < 2:
        yield from map(_draw, tasks)
        return
    with worker_pool(workers) as pool:
        yield from pool.map(_draw, tasks)


def _draw(task: tuple[Part, Path]) -> None:
    part, folder = task
    samples = samples_of(part.world, part.split, range(part.start, part.stop), seed=part.seed, side=part.side)
    captions = sorted({text for sample in samples for group in sample.groups for text in group})
    index_of = {text: i for i, text in enumerate(captions)}
    rows = [
        {
            "looks": sample.looks,
            "groups": [[index_of[text] for text in group] for group in sample.groups],
            "spots": sample.spots,
        }
        for sample in samples
    ]
    header = json.dumps({"captions": captions, "samples": rows}, separators=(",", ":")).encode()
    target = folder / part.file_name
    unfinished = target.with_name(f"{target.name}.{os.getpid()}")
    with lzma.open(unfinished, "wb", preset=_EFFORT) as stream:
        stream.write(len(header).to_bytes(8, "little"))
        stream.write(header)
        for sample in samples:
            stream.write(sample.pixels.tobytes())
    unfinished.replace(target)


def _header(file: Path) -> dict[str, Any]:
    try:
        with lzma.open(file) as stream:
            return dict(json.loads(stream.read(int.from_bytes(stream.read(8), "little"))))
    except (OSError, EOFError, ValueError, lzma.LZMAError) as why:
        raise UsageError(f"{file} is not a part of drawings ({why}); remove it to draw it again") from why


def _fill(file: Path, block: NDArray[np.uint8]) -> None:
    try:
        with lzma.open(file) as stream:
            stream.read(int.from_bytes(stream.read(8), "little"))
            data = stream.read()
    except (OSError, EOFError, lzma.LZMAError) as why:
        raise UsageError(f"{file} is incomplete ({why}); remove it to draw it again") from why
    if len(data) != block.nbytes:
        raise UsageError(
            f"{file} has {len(data)} bytes of pixels instead of {block.nbytes}; remove it to draw it again"
        )
    block[...] = np.frombuffer(data, np.uint8).reshape(block.shape)


def _sample(row: dict[str, Any], captions: Sequence[str], pixels: NDArray[np.uint8]) -> Sample:
    groups = tuple(tuple(captions[i] for i in group) for group in row["groups"])
    return Sample(pixels, tuple(row["looks"]), groups, tuple(tuple(spot) for spot in row["spots"]))

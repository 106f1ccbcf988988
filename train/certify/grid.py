"""The grid task at depth one: accuracy where a bag of words is right and where it is wrong, and edits of scenes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from theodolite.core.types import Picture, Request
from theodolite.instruments.grid.data.batch import SceneBatch, edited_scenes, join, shortcut_answer
from theodolite.instruments.grid.data.files import KEYS
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import BUCKETS
from theodolite.instruments.grid.data.world import render
from theodolite.instruments.grid.questions import prompt_of, read_text
from theodolite.twins.certificate import Line
from train.certify.probes import Probe, Row, difference, share

_DENSITIES: Any = ("sparse", "dense")
_SPLITS: dict[str, Any] = {"aligned": "spur", "crossed": "pure"}
_EMPTIED = "emptied"
_EDITS = ("swapped", "decoyed", "cleared")
_KEPT = {"decoyed": "look-alikes elsewhere", "cleared": "other objects gone"}


def grid_probes(n: int, seed: int) -> Iterator[Probe]:
    """Yield scenes of both splits.

    Args:
        n: Minimum number of scenes per split. Every bucket and density has the same number.
        seed: Seed of the draw.
    """
    for split, mode in _SPLITS.items():
        scenes = _scenes(KEYS, n, mode, seed)
        yield from _probes(scenes, np.arange(len(scenes)), split, "plain")


def grid_edits(n: int, seed: int) -> Iterator[Probe]:
    """Yield aligned relational scenes, where a bag of words is right, before and after every edit.

    Args:
        n: Number of scenes after each edit.
        seed: Seed of the draw.
    """
    keys = tuple(bucket.key for bucket in BUCKETS if bucket.key in KEYS and bucket.is_relational)
    wanted = n
    while True:
        wanted *= 2
        scenes = _scenes(keys, wanted, "spur", seed + 1)
        scenes = scenes.take(np.random.default_rng(seed).permutation(len(scenes)))
        changes = [changed for changed in edited_scenes(scenes, seed=seed) if changed.kind in _EDITS]
        if min(len(changed.rows) for changed in changes) >= n:
            break
    used = np.unique(np.concatenate([changed.rows[:n] for changed in changes]))
    yield from _probes(scenes.take(used), used, "aligned", "before")
    for changed in changes:
        yield from _probes(changed.scenes.take(slice(n)), changed.rows[:n], "aligned", changed.kind)
    yield from _probes(scenes.take(used[:n]), used[:n], "aligned", _EMPTIED)


def _scenes(keys: Sequence[str], n: int, mode: Any, seed: int) -> SceneBatch:
    """Generate at least n scenes, the same number for every bucket and density."""
    per_cell = math.ceil(n / (len(keys) * len(_DENSITIES)))
    return join([generate(keys, per_cell, mode=mode, density=d, seed=seed, split="test") for d in _DENSITIES])


def _probes(scenes: SceneBatch, names: Any, split: str, kind: str) -> Iterator[Probe]:
    world, shortcut = scenes.world, shortcut_answer(scenes)
    for i, name in enumerate(names):
        asks = BUCKETS[int(scenes.bucket[i])].asks
        cells = np.zeros_like(scenes.cells[i]) if kind == _EMPTIED else scenes.cells[i]
        picture = Picture.from_array(render(world, cells[None])[0])
        request = Request.ask(picture, prompt_of(scenes.text(i), asks), max_tokens=16)
        row: Row = {
            "split": split,
            "kind": kind,
            "part": scenes.bucket_key(i),
            "unit": f"{split}-{name}" if kind == "plain" else f"edited-{name}",
            "gold": scenes.answer_text(i),
            "shortcut": world.answers[int(shortcut[i])],
        }
        yield Probe(request, row, asks.options(world), partial(read_text, asks=asks))


def grid_lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Compute all lines of the task from stored rows."""
    for split in _SPLITS:
        plain = [row for row in rows if row["split"] == split and row["kind"] == "plain"]
        right = [row["said"] == row["gold"] for row in plain]
        unread = sum(row["said"] is None for row in plain)
        yield Line("grid", "accuracy", split, share(right), unread=unread)
        for key in KEYS:
            own = [hit for hit, row in zip(right, plain, strict=True) if row["part"] == key]
            yield Line("grid", "accuracy", split, share(own), key)
        if split == "crossed":
            yield from _bag_of_words(plain, right)
    yield from _changes(rows)


def _bag_of_words(plain: Sequence[Row], right: Sequence[bool]) -> Iterator[Line]:
    lucky = [row["shortcut"] == row["gold"] for row in plain]
    yield Line("grid", "a bag of words is right", "crossed", share(lucky))
    units = [row["unit"] for row in plain]
    gap = difference([float(r) for r in right], [float(x) for x in lucky], units)
    yield Line("grid", "accuracy less the bag of words'", "crossed", gap)
    wrong = [row for row, is_lucky in zip(plain, lucky, strict=True) if not is_lucky]
    if wrong:
        agrees = share([row["said"] == row["shortcut"] for row in wrong])
        yield Line("grid", "says the shortcut", "crossed", agrees, "where it is wrong")


def _changes(rows: Sequence[Row]) -> Iterator[Line]:
    before = {row["unit"]: row["said"] for row in rows if row["kind"] == "before"}
    swapped = [row for row in rows if row["kind"] == "swapped"]
    if swapped:
        unread = sum(row["said"] is None for row in swapped)
        follows = share([row["said"] == row["gold"] for row in swapped])
        yield Line("grid", "follows: swapped direction", "aligned", follows, unread=unread)
        changed = share([row["said"] != before[row["unit"]] for row in swapped])
        yield Line("grid", "changes: swapped direction", "aligned", changed, unread=unread)
    for kind, name in _KEPT.items():
        kept = [row for row in rows if row["kind"] == kind]
        if kept:
            unread = sum(row["said"] is None for row in kept)
            same = share([row["said"] is not None and row["said"] == before[row["unit"]] for row in kept])
            yield Line("grid", f"keeps: {name}", "aligned", same, unread=unread)
    emptied = [row for row in rows if row["kind"] == _EMPTIED]
    if emptied:
        unread = sum(row["said"] is None for row in emptied)
        changed = share([row["said"] != before[row["unit"]] for row in emptied])
        yield Line("grid", "changes: empty picture", "aligned", changed, unread=unread)

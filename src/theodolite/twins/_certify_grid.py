"""The grid task at depth one: accuracy where a bag of words is right and where it is not, and changes of question and scene."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from theodolite.grid import BUCKETS, SceneBatch, generate, join
from theodolite.grid.accuracy import prompt_of, read_answer
from theodolite.grid.readouts import changed_scenes, words_answer
from theodolite.grid.truth import render
from theodolite.twins._desk import Asked, Desk, Line, difference, share
from theodolite.twins._grids import KEYS
from theodolite.types import Picture, Request

_DENSITIES = ("sparse", "dense")
_SPLITS = {"aligned": "spur", "crossed": "pure"}


def grid_lines(desk: Desk, n: int) -> Iterator[Line]:
    """All lines of the task.

    Args:
        desk: where to ask.
        n: scenes of each split, at least; the same number of every bucket and density.
    """
    each = math.ceil(n / (len(KEYS) * len(_DENSITIES)))
    for split, mode in _SPLITS.items():
        scenes = join(
            [
                generate(KEYS, each, mode=mode, density=density, seed=desk.seed, split="test")  # type: ignore[arg-type]  # one of the two modes, and of the two names
                for density in _DENSITIES
            ]
        )
        said = _ask(desk, scenes, f"grid {split}")
        yield from _accuracy(scenes, said, split, desk.seed)
        if split == "aligned":
            yield from _changes(desk, scenes, said)


def _accuracy(scenes: SceneBatch, said: list[str | None], split: str, seed: int) -> Iterator[Line]:
    gold = [scenes.answer_text(i) for i in range(len(scenes))]
    shortcut = [scenes.world.answers[int(i)] for i in words_answer(scenes)]
    right = [a == b for a, b in zip(said, gold, strict=True)]
    unread = sum(answer is None for answer in said)
    yield Line("grid", "accuracy", split, share(right), unread=unread)
    for key in KEYS:
        rows = [i for i in range(len(scenes)) if scenes.bucket_key(i) == key]
        yield Line("grid", "accuracy", split, share([right[i] for i in rows]), key)
    if split == "aligned":
        return
    fooled = [a == b for a, b in zip(shortcut, gold, strict=True)]
    yield Line("grid", "a bag of words is right", split, share(fooled))
    names = [str(i) for i in range(len(scenes))]
    gap = difference([float(r) for r in right], [float(f) for f in fooled], names, seed=seed)
    yield Line("grid", "accuracy less the bag of words'", split, gap)
    wrong = [i for i, is_right in enumerate(fooled) if not is_right]
    if wrong:
        agrees = share([said[i] == shortcut[i] for i in wrong])
        yield Line("grid", "says the shortcut", split, agrees, "where it is wrong")


def _changes(desk: Desk, scenes: SceneBatch, said: list[str | None]) -> Iterator[Line]:
    relational = np.array([BUCKETS[int(b)].is_relational for b in scenes.bucket])
    rows = np.flatnonzero(relational)
    for changed in changed_scenes(scenes.take(rows), seed=desk.seed):
        if changed.kind == "plain" or not len(changed.rows):
            continue
        before = [said[int(rows[i])] for i in changed.rows]
        after = _ask(desk, changed.scenes, "grid changes")
        unread = sum(answer is None for answer in after)
        same = [a == b for a, b in zip(after, before, strict=True)]
        if changed.kind == "swapped":
            gold = [changed.scenes.answer_text(i) for i in range(len(changed.scenes))]
            follows = share([a == b for a, b in zip(after, gold, strict=True)])
            yield Line("grid", "follows: swapped direction", "aligned", follows, unread=unread)
            yield Line("grid", "changes: swapped direction", "aligned", share([not s for s in same]))
        else:
            name = {"decoyed": "look-alikes elsewhere", "cleared": "other objects gone"}[changed.kind]
            yield Line("grid", f"keeps: {name}", "aligned", share(same), unread=unread)


def _ask(desk: Desk, scenes: SceneBatch, what: str) -> list[str | None]:
    return desk.answers(_asked(scenes), what)


def _asked(scenes: SceneBatch) -> Iterator[Asked]:
    world = scenes.world
    for i in range(len(scenes)):
        is_count = BUCKETS[int(scenes.bucket[i])].is_count
        pixels: NDArray[np.uint8] = render(world, scenes.cells[i][None])[0]
        prompt = prompt_of(scenes.text(i), is_count=is_count)
        options = world.answers[: world.max_count + 1] if is_count else world.answers[-2:]
        yield Asked(Request.ask(Picture.from_array(pixels), prompt, max_tokens=16), options, read_answer)

r"""Scenes with guarantees, made in batches: `generate`.

Phase 1 (`lay_out`) is shared by both modes; phase 2 below differs. *Pure* puts look-alikes of the target into every
confuser region C_k = (⋂_{i≠k} V_i) \ V_k, so that whoever drops a relation counts too many (Theorem 1). *Spurious*
puts none anywhere, so that a bag of words is always right. Without a split, the scenes of both modes made from
one seed are the same row for row in question, anchors, targets and answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import SceneBatch, complete, join
from theodolite.instruments.grid.data.fill import fill
from theodolite.instruments.grid.data.layout import draw_counts, lay_out, redraw_counts
from theodolite.instruments.grid.data.recipe import Density, Recipe, find_recipe
from theodolite.instruments.grid.data.splits import SPLITS, Split, hash_scenes, split_of
from theodolite.instruments.grid.data.words import write_questions
from theodolite.instruments.grid.data.world import BUCKET_KEYS, BUCKETS, Bucket, Integers, Mode, bucket_index

_MOST_ROUNDS = 400
_MOST_ATTEMPTS = 24
"""Candidates per scene and round."""
_PATIENCE = 5
"""Rounds after which a comparison that found no place gets other numbers; its answer stays."""


def generate(
    buckets: str | Sequence[str] = BUCKET_KEYS,
    n: int = 1,
    *,
    mode: Mode = "pure",
    density: Density = "dense",
    preset: str | Recipe = "paper",
    seed: int,
    split: Split | None = None,
) -> SceneBatch:
    """Makes `n` scenes of each bucket, one bucket after the other.

    Args:
        buckets: One key such as ``M-F0-D2``, or several; all 19 unless given.
        n: Scenes per bucket.
        mode: ``pure`` or ``spur``.
        density: ``sparse``, ``dense``, a number of objects, or a share of the cells.
        preset: ``paper``, ``sound``, or a `Recipe`.
        seed: The same seed and arguments give the same scenes.
        split: Keep only scenes whose hash belongs to this split; see `split_of`.

    Raises:
        UsageError: the grid has too few cells or objects for what is asked.

    >>> batch = generate("M-F0-D2", 3, seed=0)
    >>> batch.text(0)
    'How many yellow circles are below green square and right of red pentagon?'
    >>> batch.cells.shape, batch.answer_text(0)
    ((3, 25), '12')
    """
    recipe = find_recipe(preset)
    if mode not in {"pure", "spur"}:
        raise UsageError(f"the mode is pure or spur, not {mode!r}")
    if n < 1:
        raise UsageError(f"at least one scene must be made, not {n}")
    if seed < 0:
        raise UsageError(f"the seed must be zero or more, not {seed}")
    keys = [buckets] if isinstance(buckets, str) else list(buckets)
    if split is not None and split not in SPLITS:
        raise UsageError(f"the split is {', '.join(SPLITS)} or none, not {split!r}")
    objects = recipe.objects(density)
    if objects > recipe.world.max_count:
        raise UsageError(
            f"{objects} objects can be counted, but the answers end at {recipe.world.max_count}; give the recipe a world "
            f"with max_count={objects} or more"
        )
    draw = _Draw(mode, objects, recipe, seed, split)
    return join([_generate_bucket(BUCKETS[bucket_index(key)], n, draw) for key in keys])


@dataclass(frozen=True, slots=True)
class _Draw:
    """What all buckets of one call share."""

    mode: Mode
    objects: int
    recipe: Recipe
    seed: int
    split: Split | None


def _generate_bucket(bucket: Bucket, n: int, draw: _Draw) -> SceneBatch:
    """Lays scenes out and fills them, again and again, until every planned one has found its place (and split)."""
    stream = [draw.seed, BUCKETS.index(bucket), draw.objects]
    plan = draw_counts(
        np.random.default_rng([*stream, 0]), bucket, n=n, objects=draw.objects, recipe=draw.recipe
    )
    found: list[SceneBatch] = []
    rows: list[Integers] = []
    pending = np.arange(n)
    for turn in range(1, _MOST_ROUNDS + 1):
        attempts = min(_MOST_ATTEMPTS, max(1, n // (2 * len(pending))))
        tried = np.repeat(pending, attempts) if turn > 1 else pending
        if bucket.is_comparison and turn % _PATIENCE == 0:
            rng = np.random.default_rng([*stream, turn, 0])
            plan = redraw_counts(rng, bucket, plan, rows=pending, objects=draw.objects, recipe=draw.recipe)
        layout = lay_out(np.random.default_rng([*stream, turn, 1]), bucket, plan.take(tried), draw.recipe)
        tried, layout = tried[layout.is_ok], layout.take(layout.is_ok)
        rng = np.random.default_rng([*stream, turn, 2])
        cells = fill(rng, layout, plan.take(tried), mode=draw.mode, objects=draw.objects, recipe=draw.recipe)
        words, spans = write_questions(layout.questions)
        is_kept = np.ones(len(tried), bool)
        if draw.split is not None:
            is_kept = split_of(hash_scenes(cells, words)) == draw.split
        _, first = np.unique(tried[is_kept], return_index=True)
        kept = np.flatnonzero(is_kept)[first]
        if len(kept):
            written = words[kept], spans[kept]
            questions = layout.questions.take(kept)
            found.append(
                complete(
                    draw.recipe.world, draw.mode, cells=cells[kept], questions=questions, written=written
                )
            )
            rows.append(tried[kept])
            pending = np.setdiff1d(pending, tried[kept], assume_unique=True)
        if not len(pending):
            return join(found).take(np.concatenate(rows).argsort(kind="stable"))
    size = f"{draw.recipe.world.rows}×{draw.recipe.world.columns}"
    raise UsageError(
        f"{len(pending)} of {n} scenes of {bucket.key} with {draw.objects} objects found no place on a grid of {size} in "
        f"{_MOST_ROUNDS} rounds; use fewer objects, a larger grid or a smaller margin"
    )

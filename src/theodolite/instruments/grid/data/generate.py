r"""Generation of scenes in batches, by the law of their recipe.

*Theorem* (preset ``paper``): phase 1 (`lay_out`) is shared by both modes, phase 2 (`fill`) is not. *Pure* scenes have look-alikes of the target in every
confuser region C_k = (⋂_{i≠k} V_i) \ V_k, so that a shortcut that drops a relation counts too many (Theorem 1).
*Spurious* scenes have none anywhere, so a bag of words is always right. Without a split, the scenes of both modes made from
one seed have the same questions, anchors, targets and answers, row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data import balanced, released
from theodolite.instruments.grid.data.batch import (
    DATA_SPLITS,
    DataSplit,
    SceneBatch,
    complete,
    hash_scenes,
    join,
    split_of,
)
from theodolite.instruments.grid.data.question_types import (
    BUCKET_KEYS,
    BUCKETS,
    MOST_ANCHORS,
    Bucket,
    Naming,
    QuestionTable,
    bucket_index,
    write_questions,
)
from theodolite.instruments.grid.data.recipe import (
    CellLayout,
    Density,
    GridRecipe,
    KindCounts,
    draw_counts,
    find_recipe,
    lay_out,
    pick,
    redraw_counts,
)
from theodolite.instruments.grid.data.world import (
    COLOURS,
    MATCHES,
    N_CLASSES,
    SHAPES,
    Cells,
    Flags,
    Integers,
    Mode,
)

_MOST_ROUNDS = 400
_MOST_ATTEMPTS = 24
"""Candidates per scene and round."""
_PATIENCE = 5
"""Rounds after which a comparison that does not fit gets new numbers; its answer stays."""


def generate(
    buckets: str | Sequence[str] = BUCKET_KEYS,
    n: int = 1,
    *,
    mode: Mode = "pure",
    density: Density = "dense",
    preset: str | GridRecipe = "paper",
    seed: int,
    split: DataSplit | None = None,
) -> SceneBatch:
    """Make `n` scenes of each bucket, bucket by bucket.

    Args:
        buckets: One key such as ``M-F0-D2``, or several; by default all.
        n: Scenes per bucket.
        mode: ``pure`` or ``spur``.
        density: ``sparse``, ``dense``, a number of objects, or a share of the cells.
        preset: ``paper``, ``sound``, ``released``, or a `GridRecipe`.
        seed: The seed.
        split: Keep only scenes whose hash belongs to this split; see `split_of`.

    Raises:
        UsageError: The grid has too few cells or objects.

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
    if split is not None and split not in DATA_SPLITS:
        raise UsageError(f"the split is {', '.join(DATA_SPLITS)} or none, not {split!r}")
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
    """The settings that all buckets of one call share."""

    mode: Mode
    objects: int
    recipe: GridRecipe
    seed: int
    split: DataSplit | None


def _generate_bucket(bucket: Bucket, n: int, draw: _Draw) -> SceneBatch:
    """Make scenes until every planned one fits and is of the wanted split."""
    stream = [draw.seed, BUCKETS.index(bucket), draw.objects]
    make = (_by_theorem if draw.recipe.law == "theorem" else _by_attempts)(bucket, n, draw, stream)
    batches: list[SceneBatch] = []
    rows: list[Integers] = []
    pending = np.arange(n)
    for turn in range(1, _MOST_ROUNDS + 1):
        attempts = min(_MOST_ATTEMPTS, max(1, n // (2 * len(pending))))
        tried = np.repeat(pending, attempts) if turn > 1 else pending
        tried, made, cells = make(turn, pending, tried)
        words, spans = write_questions(made)
        is_kept = np.ones(len(tried), bool)
        if draw.split is not None:
            is_kept = split_of(hash_scenes(cells, words)) == draw.split
        _, first = np.unique(tried[is_kept], return_index=True)
        kept = np.flatnonzero(is_kept)[first]
        if len(kept):
            written = words[kept], spans[kept]
            questions = made.take(kept)
            batches.append(
                complete(
                    draw.recipe.world, draw.mode, cells=cells[kept], questions=questions, written=written
                )
            )
            rows.append(tried[kept])
            pending = np.setdiff1d(pending, tried[kept], assume_unique=True)
        if not len(pending):
            return join(batches).take(np.concatenate(rows).argsort(kind="stable"))
    size = f"{draw.recipe.world.rows}×{draw.recipe.world.columns}"
    raise UsageError(
        f"{len(pending)} of {n} scenes of {bucket.key} with {draw.objects} objects did not fit on a grid of {size} in "
        f"{_MOST_ROUNDS} rounds; use fewer objects, a larger grid or a smaller margin"
    )


_Round: TypeAlias = Callable[[int, Integers, Integers], tuple[Integers, QuestionTable, Cells]]
"""One round: its number, the rows still wanted and the rows to try; the rows that fit, with their questions and cells."""


def _by_theorem(bucket: Bucket, n: int, draw: _Draw, stream: list[int]) -> _Round:
    plan = draw_counts(
        np.random.default_rng([*stream, 0]), bucket, n=n, objects=draw.objects, recipe=draw.recipe
    )

    def make(turn: int, pending: Integers, tried: Integers) -> tuple[Integers, QuestionTable, Cells]:
        nonlocal plan
        if bucket.is_comparison and turn % _PATIENCE == 0:
            rng = np.random.default_rng([*stream, turn, 0])
            plan = redraw_counts(rng, bucket, plan, rows=pending, objects=draw.objects, recipe=draw.recipe)
        layout = lay_out(np.random.default_rng([*stream, turn, 1]), bucket, plan.take(tried), draw.recipe)
        tried, layout = tried[layout.is_ok], layout.take(layout.is_ok)
        rng = np.random.default_rng([*stream, turn, 2])
        cells = fill(rng, layout, plan.take(tried), mode=draw.mode, objects=draw.objects, recipe=draw.recipe)
        return tried, layout.questions, cells

    return make


def _by_attempts(bucket: Bucket, n: int, draw: _Draw, stream: list[int]) -> _Round:
    """Return the rounds of the laws that make whole attempts."""
    how: Any = {"objects": draw.objects, "recipe": draw.recipe}
    plan = None
    if draw.recipe.law == "balanced":
        plan = balanced.draw_plan(np.random.default_rng([*stream, 0]), bucket, n, **how)

    def make(turn: int, _: Integers, tried: Integers) -> tuple[Integers, QuestionTable, Cells]:
        rng = np.random.default_rng([*stream, turn, 1])
        if plan is None:
            made, cells, is_ok = released.attempt(rng, bucket, len(tried), mode=draw.mode, **how)
        else:
            made, cells, is_ok = balanced.attempt(rng, bucket, plan.take(tried), mode=draw.mode, **how)
        return tried[is_ok], made.take(is_ok), cells[is_ok]

    return make


def fill(
    rng: np.random.Generator,
    layout: CellLayout,
    counts: KindCounts,
    *,
    mode: Mode,
    objects: int,
    recipe: GridRecipe,
) -> Cells:
    """Run phase 2: return the finished scenes, (n, cells), with exactly `objects` objects each.

    Args:
        rng: Random generator.
        layout: The scenes after phase 1.
        counts: The planned numbers of objects.
        mode: ``pure`` or ``spur``.
        objects: Number of objects in a scene.
        recipe: The parameters of the generator.
    """
    cells = _with_anchors(layout)
    if not len(cells):
        return cells
    bucket = BUCKETS[int(layout.questions.bucket[0])]
    for side in range(bucket.sides):
        _paint(rng, cells, layout.targets[:, side], layout.questions.targets[:, side])
    if mode == "spur" or not bucket.is_relational:
        _balance(rng, cells, layout, counts, objects=objects)
        return cells
    for side in range(bucket.sides):
        _paint(rng, cells, layout.reserved[:, side], layout.questions.targets[:, side])
    if not bucket.is_comparison:
        _overload(rng, cells, layout, objects=objects, share=recipe.overload)
    _scatter(rng, cells, layout, objects=objects, with_look_alikes=not bucket.is_comparison)
    return cells


def _with_anchors(layout: CellLayout) -> Cells:
    n, _, n_cells = layout.valid.shape
    cells = np.zeros((n, n_cells), np.uint8)
    rows = np.arange(n)
    for k in range(MOST_ANCHORS):
        there = layout.anchor_cells[:, k] >= 0
        cells[rows[there], layout.anchor_cells[there, k]] = layout.anchor_classes[there, k]
    return cells


def _of_kind(rng: np.random.Generator, kinds: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Draw a random class for each description."""
    colour, shape = np.divmod(kinds, 5)
    is_open = colour == 0
    if is_open.any():
        colour = np.where(is_open, rng.integers(1, len(COLOURS) + 1, kinds.shape), colour)
    is_open = shape == 0
    if is_open.any():
        shape = np.where(is_open, rng.integers(1, len(SHAPES) + 1, kinds.shape), shape)
    return (len(SHAPES) * (colour - 1) + shape).astype(np.uint8)


def _paint(rng: np.random.Generator, cells: Cells, where: Flags, kinds: NDArray[np.uint8]) -> None:
    row, cell = np.nonzero(where)
    cells[row, cell] = _of_kind(rng, kinds[row])


def _free_classes(layout: CellLayout) -> Flags:
    """Return which classes are neither a target's nor an anchor's, (n, 1 + classes)."""
    questions = layout.questions
    taken = np.zeros((len(questions), N_CLASSES + 1), bool)
    taken[:, 0] = True
    bucket = BUCKETS[int(questions.bucket[0])]
    for side in range(bucket.sides):
        taken |= MATCHES[questions.targets[:, side]]
    for k in range(bucket.n_anchors):
        taken |= MATCHES[questions.anchors[:, k]]
    return ~taken


def _overload(
    rng: np.random.Generator, cells: Cells, layout: CellLayout, *, objects: int, share: float
) -> None:
    """Run phase 2 of Algorithm 3: each further object is with probability `share` a look-alike in a random C_k.

    A random anchor and then a random cell of its region give a cell of C_k the weight 1/|C_k|; cells are drawn without
    replacement by an exponential race.
    """
    free = cells == 0
    wanted = rng.binomial(objects - (~free).sum(axis=1), share)
    open_cells = layout.confusers & free[:, None]
    size = open_cells.sum(axis=2, keepdims=True)
    # The C_k are disjoint: inside C_k all other relations hold, inside C_j the k-th one does.
    weight = (open_cells / np.maximum(size, 1)).sum(axis=1)
    allowed = weight > 0
    key = np.full(cells.shape, np.inf)
    key[allowed] = rng.standard_exponential(int(allowed.sum())) / weight[allowed]
    ordered = np.sort(key, axis=1)
    last = np.take_along_axis(ordered, np.maximum(wanted - 1, 0)[:, None], axis=1)
    chosen = (key <= last) & allowed & (wanted > 0)[:, None]
    _paint(rng, cells, chosen, layout.questions.targets[:, 0])


def _scatter(
    rng: np.random.Generator, cells: Cells, layout: CellLayout, *, objects: int, with_look_alikes: bool
) -> None:
    """Fill up with random classes: never an anchor's, and a target's only where it does not count."""
    free = cells == 0
    chosen = pick(rng, free, objects - (~free).sum(axis=1))
    row, cell = np.nonzero(chosen)
    pool = _free_classes(layout)
    size = pool.sum(axis=1)
    order = np.argsort(~pool, axis=1, kind="stable")
    cells[row, cell] = order[row, (rng.random(len(row)) * size[row]).astype(np.int64)]
    if not with_look_alikes:
        return
    alike = MATCHES[layout.questions.targets[:, 0]].sum(axis=1)
    is_alike = (rng.random(len(row)) < (alike / (alike + size))[row]) & ~layout.valid[row, 0, cell]
    cells[row[is_alike], cell[is_alike]] = _of_kind(rng, layout.questions.targets[row[is_alike], 0])


def _balance(
    rng: np.random.Generator, cells: Cells, layout: CellLayout, counts: KindCounts, *, objects: int
) -> None:
    """Run Algorithm 2: add no look-alikes, and make the target or another kind the most frequent one.

    If boosted, the other kinds take turns, so that each is as rare as possible. Otherwise one of them occurs more often
    than the target, if enough objects are left. Kinds are shapes, colours or classes, as the question names them.
    """
    bucket = BUCKETS[int(layout.questions.bucket[0])]
    n, n_cells = cells.shape
    pool = _free_kinds(bucket.type.naming, _free_classes(layout))
    order = (rng.random(pool.shape) + ~pool).argsort(axis=1)
    size = pool.sum(axis=1)[:, None]
    free = cells == 0
    left = objects - (~free).sum(axis=1)
    number = counts.targets.max(axis=1)
    turn = np.arange(n_cells)[None]
    rival = np.minimum(number + 1 + (rng.random(n) * np.maximum(left - number, 1)).astype(np.int64), left)
    drawn = (rng.random((n, n_cells)) * size).astype(np.int64)
    which = np.where(counts.is_boosted[:, None], turn % size, np.where(turn < rival[:, None], 0, drawn))
    chosen = np.take_along_axis(order, which, axis=1)
    kinds = _kind_of_pool(bucket.type.naming, chosen)
    key = rng.random((n, n_cells))
    key[~free] = 2.0
    positions = key.argsort(axis=1)
    row, rank = np.nonzero(turn < left[:, None])
    cells[row, positions[row, rank]] = _of_kind(rng, kinds[row, rank])


def _free_kinds(naming: Naming, classes: Flags) -> Flags:
    """Return which shapes, colours or classes a question does not use, (n, kinds)."""
    table = classes[:, 1:].reshape(-1, len(COLOURS), len(SHAPES))
    if not naming.has_colour:
        return np.asarray(table.any(axis=1))
    if not naming.has_shape:
        return np.asarray(table.any(axis=2))
    return classes[:, 1:]


def _kind_of_pool(naming: Naming, chosen: Integers) -> NDArray[np.uint8]:
    if not naming.has_colour:
        return (chosen + 1).astype(np.uint8)
    if not naming.has_shape:
        return (5 * (chosen + 1)).astype(np.uint8)
    colour, shape = np.divmod(chosen, len(SHAPES))
    return (5 * (colour + 1) + shape + 1).astype(np.uint8)

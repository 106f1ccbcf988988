"""How scenes are made: the presets, their parameters, and what each bucket guarantees under them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.placement import most_room
from theodolite.instruments.grid.data.world import Bucket, Integers, World

Density: TypeAlias = Literal["sparse", "dense"] | int | float
"""A density's name, a number of objects (int), or a share of the cells (float)."""
Law: TypeAlias = Literal["theorem", "balanced", "released"]
"""How scenes are laid out. ``theorem``: as the paper's Theorem 1 says. ``balanced``: so that no incomplete count tells the answer.
``released``: as the public generator does."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """All parameters of the generator except the seed. Defaults are the paper's."""

    name: str = "paper"
    law: Law = "theorem"
    world: World = field(default_factory=World)
    sparse: float = 0.3
    """Share of the cells that hold an object in sparse scenes."""
    dense: float = 0.7
    """The same in dense scenes."""
    boost: float = 0.5
    """Algorithm 2: probability that the target is made the most frequent kind; otherwise another kind is."""
    overload: float = 0.75
    """Algorithm 3: probability that a further object is a look-alike of the target in a confuser region."""
    existence: tuple[float, float, float] = (0.5, 0.25, 0.25)
    """Existence questions: probabilities of no target, one, and more."""
    margin: int = 1
    """Cells that a target lies beyond its anchor, at least. A look-alike lies at least ``margin − 1`` cells on the wrong
    side. With 1, every cell is on one side or the other."""
    least_share: float = 0.05
    """Counts stay small enough that at least this share of anchor placements has room for them. Otherwise a large count
    would give away where the anchors are."""
    max_answer: int | None = None
    """Largest count asked for. A fixed number makes the distribution of answers the same at every depth."""

    def __post_init__(self) -> None:
        shares = {"boost": self.boost, "overload": self.overload, "least_share": self.least_share}
        shares |= {"sparse": self.sparse, "dense": self.dense}
        for name, value in shares.items():
            if not 0 <= value <= 1:
                raise UsageError(f"{name} must lie between 0 and 1, not {value}")
        if min(self.existence) < 0 or not math.isclose(sum(self.existence), 1):
            raise UsageError(f"existence needs three probabilities that sum to 1, not {self.existence}")
        if not 1 <= self.margin <= max(self.world.rows, self.world.columns):
            raise UsageError(f"the margin must be between 1 and the size of the grid, not {self.margin}")
        if self.law != "theorem":
            own = {"boost", "overload", "existence", "margin", "least_share"}
            given = [
                each.name
                for each in fields(self)
                if each.name in own and getattr(self, each.name) != each.default
            ]
            if given:
                raise UsageError(
                    f"{given[0]} belongs to the preset paper; the preset {self.name} has no such parameter"
                )
        if self.max_answer is not None and self.max_answer < 1:
            raise UsageError(f"max_answer must be at least 1, not {self.max_answer}")

    def objects(self, density: Density) -> int:
        """The number of objects at a density.

        >>> PAPER.objects("sparse"), PAPER.objects("dense"), SOUND.objects("sparse"), PAPER.objects(9)
        (7, 17, 14, 9)
        """
        cells = self.world.n_cells
        if isinstance(density, str):
            if density not in {"sparse", "dense"}:
                raise UsageError(
                    f"a density is sparse, dense, a number of objects or a share, not {density!r}"
                )
            density = self.sparse if density == "sparse" else self.dense
        count = density if isinstance(density, int) else int(density * cells)
        if not 1 <= count <= cells:
            raise UsageError(
                f"{count} objects do not fit a grid of {self.world.rows}×{self.world.columns}: give 1 to {cells}"
            )
        return count


PAPER = Recipe()
"""7 and 17 objects on 5×5 cells. With 7, some buckets have no full guarantee."""
SOUND = Recipe(name="sound", law="balanced", sparse=0.56)
"""14 and 17 objects on 5×5 cells: learned shortcuts pay nothing, except as `promise_of` says."""
RELEASED = Recipe(name="released", law="released")
"""As the public generator: 7 and 17 objects, directions with replacement, shared colours and shapes."""
PRESETS = {"paper": PAPER, "sound": SOUND, "released": RELEASED}


def find_recipe(preset: str | Recipe) -> Recipe:
    """A preset by name; a recipe is returned as it is."""
    if isinstance(preset, Recipe):
        return preset
    if preset not in PRESETS:
        raise UsageError(f"there is no preset {preset!r}; there are: {', '.join(PRESETS)}")
    return PRESETS[preset]


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What Theorem 1 guarantees for every scene of a bucket with a given number of objects."""

    level: str
    """``full``, ``partial``, ``impossible`` or ``none``; see `GUARANTEES`."""
    by_answer: dict[str, str]
    """By group of answers, where they differ."""
    reason: str
    """Why it is not full."""


def guarantee_of(bucket: Bucket, objects: int) -> Guarantee:
    """Whether every confuser region can be occupied, so that each dropped-anchor shortcut that can fail does.

    With a anchors, a count needs a anchors, a confusers and room for two different answers: 2a + 2 objects. A comparison
    needs all four tables of `comparison_table`.

    >>> from theodolite.instruments.grid.data.world import BUCKETS, bucket_index
    >>> [guarantee_of(BUCKETS[bucket_index(key)], 7).level for key in ("M-F0-D2", "M-F0-D3", "CMP-F0-D3", "A-F0-D1")]
    ['full', 'partial', 'impossible', 'none']
    """
    anchors = bucket.n_anchors
    if not anchors:
        return Guarantee("none", {}, "the question has no relation, so a bag of words is right")
    if bucket.is_comparison:
        return _guarantee_of_comparison(bucket, objects)
    if objects < 2 * anchors:
        reason = f"{anchors} anchors and {anchors} confusers are more than {objects} objects"
        return Guarantee("impossible", {}, reason)
    if bucket.form == 1:
        reason = (
            "if the answer is yes, any superset of the targets is not empty either, so no shortcut can fail"
        )
        return Guarantee("partial", {"yes": "impossible", "no": "full"}, reason)
    if objects >= 2 * anchors + 2:
        return Guarantee("full", {}, "")
    reason = (
        f"{objects} objects leave no room for {anchors} anchors, {anchors} confusers and more than one target"
    )
    by_answer = {"1": "full", "more": "partial"} if objects == 2 * anchors + 1 else {}
    return Guarantee("partial", by_answer, reason)


def _guarantee_of_comparison(bucket: Bucket, objects: int) -> Guarantee:
    anchors = bucket.n_anchors

    def is_enough(count: int) -> bool:
        return comparison_table(bucket.anchors_per_side, count - anchors, count)[1]

    if is_enough(objects):
        return Guarantee("full", {}, "")
    needed = next(count for count in range(objects, 8 * anchors) if is_enough(count))
    reason = f"{anchors} anchors, their confusers and targets need {needed} objects, not {objects}"
    return Guarantee("impossible" if objects < 2 * anchors else "partial", {}, reason)


def most_targets(bucket: Bucket, objects: int, recipe: Recipe) -> int:
    """The largest number of targets of one group that the objects, the geometry and the answers allow.

    Room is kept for all confusers if at least two different counts remain (existence: one target), otherwise for one.
    """
    anchors = bucket.n_anchors
    room = most_room(
        recipe.world, bucket.anchors_per_side, margin=recipe.margin, least_share=recipe.least_share
    )
    free = objects - 2 * anchors
    if anchors and free < (2 if bucket.is_count else 1):
        free = objects - anchors - 1
    most = min(free, room, recipe.world.max_count, recipe.max_answer or objects)
    if most < 1:
        raise UsageError(
            f"{objects} objects are too few for {bucket.key}: it needs {anchors} anchors, a target"
            + (" and a confuser" if anchors else "")
            if free < 1
            else f"a grid of {recipe.world.rows}×{recipe.world.columns} with margin {recipe.margin} has no room for "
            f"the targets and confusers of {bucket.key}; make it larger"
        )
    return most


@lru_cache(maxsize=256)
def comparison_table(per_side: int, slots: int, most: int) -> tuple[tuple[Integers, ...], bool]:
    """All ways to divide the objects of a comparison, in four tables: truth yes or no × bag of words yes or no.

    A row is (n₁, n₂, c₁, c₂, e₁, e₂): targets, confusers per anchor and further look-alikes, of each group. Let
    δ = n₁ − n₂. Dropping an anchor of group 2 turns a yes into a no if c₂ ≥ δ ≥ 1; dropping one of group 1 turns a no
    into a yes if c₁ > −δ ≥ 0. The other drops cannot change the answer; their regions are occupied all the same (c ≥ 1).
    A bag of words counts n + K·c + e. Its answer is drawn independently of the truth, so it carries no information.

    Returns:
        The tables, and whether all of them have rows. If not, as many confusers are placed as fit.
    """
    rows: list[list[list[int]]] = [[], [], [], []]
    for first in range(most + 1):
        for second in range(most + 1):
            delta = first - second
            if max(first, second) < 1:
                continue
            is_yes = delta > 0
            c1, c2 = (min(1, per_side), delta) if is_yes else (1 - delta, min(1, per_side))
            if not per_side:
                c1 = c2 = 0
            a1, a2 = per_side * c1, per_side * c2
            for bag_yes in (True, False):
                e1 = max(0, a2 - delta + 1 - a1) if bag_yes else 0
                e2 = 0 if bag_yes else max(0, a1 + delta - a2)
                if not per_side and (e1 or e2):
                    continue
                if first + second + a1 + a2 + e1 + e2 <= slots:
                    rows[2 * (not is_yes) + (not bag_yes)].append([first, second, c1, c2, e1, e2])
    tables = [np.array(each, np.int64).reshape(-1, 6) for each in rows]
    if not per_side:
        tables[1], tables[2] = tables[0], tables[3]
    return tuple(tables), all(map(len, tables))

"""The question types of the grid, one declared record each.

A record says how the questions of a type are worded and how they name things, how many groups of targets they have and how
many anchors at each depth, how the right answer follows from the numbers of targets, and how many targets are drawn. All
else asks the record: wording and parser, the laws of the generator, the evaluator and its shortcuts, guarantees, audits,
prompts, explainers and figures. A bag of words has the same rule as the evaluator, but counts everywhere. Which edits
change an answer is not declared: the evaluator answers before and after.

To add a type, append a record to `TYPES`. Records keep their order, since the index of a bucket is part of the seed of its
scenes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.truth import AnswerFormat
from theodolite.instruments.grid.data.world import (
    COLOUR_OF,
    COLOURS,
    MATCHES,
    N_CLASSES,
    SHAPE_OF,
    SHAPES,
    Cells,
    Flags,
    Integers,
    World,
    kind_code,
)

MOST_ANCHORS = 4
MOST_SIDES = 2
"""The most anchors and groups of targets that a question can have: the width of arrays."""
_MANY = 1000
"""More look-alikes than any scene holds."""


# What is asked of the numbers of targets.


@dataclass(frozen=True, slots=True)
class Answers:
    """The form of the answers to a question."""

    hint: str
    """What a prompt adds to the question."""
    format: AnswerFormat


NUMBERS = Answers("Answer with a number alone.", AnswerFormat.count())
YES_OR_NO = Answers("Answer with yes or no alone.", AnswerFormat.yes_no())

Draw: TypeAlias = Callable[[np.random.Generator, Flags, int, tuple[float, float, float]], Integers]
"""Draws the numbers of targets of scenes, (n,), by the law of Theorem 1.

Its arguments are the generator, whether the target is to be the most frequent kind, (n,), the largest number, and the
probabilities of no target, one, and more."""
DrawEvenly: TypeAlias = Callable[[np.random.Generator, int, int], Integers]
"""Draws the numbers of targets of each group, (n, 2), by the law without shortcuts: from the generator, n and the largest."""
Divide: TypeAlias = Callable[[int, int, int], tuple[tuple[Integers, ...], bool]]
"""Lists all ways to divide the objects of two groups; see `comparison_table`."""


@dataclass(frozen=True, slots=True)
class Asks:
    """What a question asks of the numbers of its targets.

    >>> world = World()
    >>> [world.answers[i] for i in COMPARISON.answer(world, np.array([[3, 2], [2, 2]]))]
    ['yes', 'no']
    """

    head: tuple[str, ...]
    """The first words of the question. No two have the same head and as many groups."""
    draw_evenly: DrawEvenly = field(compare=False)
    is_yes: Callable[[Integers], Flags] | None = field(default=None, compare=False)
    """Whether the answer is yes, (n,), by the number of targets of each group, (n, 2). None: the answer is the number."""
    draw: Draw | None = field(default=None, compare=False)
    """None for two groups, whose numbers come from `divide`."""
    divide: Divide | None = field(default=None, compare=False)
    link: tuple[str, ...] = ()
    """The words between the targets and their first relation."""
    than: tuple[str, ...] = ()
    """The words between two groups of targets. Empty: there is one group."""
    is_plural: bool = True
    """True if the targets are named in the plural."""

    @property
    def sides(self) -> int:
        """The number of groups of targets."""
        return 2 if self.than else 1

    @property
    def is_number(self) -> bool:
        """True if the answer is a number."""
        return self.is_yes is None

    @property
    def answers(self) -> Answers:
        """The form of the answers."""
        return NUMBERS if self.is_number else YES_OR_NO

    def options(self, world: World) -> tuple[str, ...]:
        """Return the possible answers."""
        return world.answers[: world.max_count + 1] if self.is_number else world.answers[-2:]

    def answer(self, world: World, counts: Integers) -> Integers:
        """Return the answers, as indices into `World.answers`, to numbers of targets, (n, 2)."""
        if self.is_yes is None:
            return counts[:, 0]
        return np.where(self.is_yes(counts), world.yes, world.yes + 1)

    def can_be_misled(self, counts: Integers, side: int) -> Flags:
        """Return whether more look-alikes of a group (0 or 1) can make the answer wrong, (n,)."""
        if side >= self.sides:
            return np.zeros(len(counts), bool)
        if self.is_yes is None:
            return np.ones(len(counts), bool)
        more = counts.copy()
        more[:, side] = _MANY
        return np.asarray(self.is_yes(more) != self.is_yes(counts))


def _draw_counts(
    rng: np.random.Generator, is_boosted: Flags, most: int, _: tuple[float, float, float]
) -> Integers:
    """Algorithm 2: the upper or the lower half of 1…most; a middle value is in both."""
    return 1 + ((rng.random(len(is_boosted)) + is_boosted) * most / 2).astype(np.int64)


def _draw_existing(
    rng: np.random.Generator, is_boosted: Flags, most: int, shares: tuple[float, float, float]
) -> Integers:
    n = len(is_boosted)
    sort = rng.choice(3, size=n, p=shares)
    return np.where(sort == 2, rng.integers(min(2, most), most + 1, size=n), sort)


def _of_first_group(numbers: Integers) -> Integers:
    return np.stack([numbers, np.zeros_like(numbers)], axis=1)


def _draw_counts_evenly(rng: np.random.Generator, n: int, most: int) -> Integers:
    return _of_first_group(rng.integers(0, most + 1, n))


def _draw_existing_evenly(rng: np.random.Generator, n: int, most: int) -> Integers:
    rng.integers(0, most + 1, n)  # not used, but stored scenes depend on the stream
    return _of_first_group(np.where(rng.random(n) < 0.5, 0, rng.integers(1, most + 1, n)))


def _draw_compared_evenly(rng: np.random.Generator, n: int, most: int) -> Integers:
    targets = np.zeros((n, MOST_SIDES), np.int64)
    pairs = np.array(list(product(range(most + 1), repeat=2)))
    is_more = _is_more(pairs)
    wanted = rng.random(n) < 0.5
    for is_yes in (True, False):
        some, rows = pairs[is_more == is_yes], np.flatnonzero(wanted == is_yes)
        targets[rows] = some[rng.integers(0, len(some), len(rows))]
    return targets


def _is_any(counts: Integers) -> Flags:
    return np.asarray(counts[:, 0] > 0)


def _is_more(counts: Integers) -> Flags:
    return np.asarray(counts[:, 0] > counts[:, 1])


@lru_cache(maxsize=256)
def comparison_table(per_side: int, slots: int, most: int) -> tuple[tuple[Integers, ...], bool]:
    """List all ways to divide the objects of a comparison, in four tables: truth yes or no × bag of words yes or no.

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


COUNT = Asks(("how", "many"), _draw_counts_evenly, draw=_draw_counts, link=("are",))
EXISTENCE = Asks(
    ("is", "there", "any"),
    _draw_existing_evenly,
    is_yes=_is_any,
    draw=_draw_existing,
    link=("that", "is"),
    is_plural=False,
)
COMPARISON = Asks(
    ("are", "there", "more"),
    _draw_compared_evenly,
    is_yes=_is_more,
    divide=comparison_table,
    than=("than",),
)


# Types, and buckets: a type at a depth, in one of its forms.


@dataclass(frozen=True, slots=True)
class Naming:
    """How questions describe targets and anchors."""

    has_colour: bool = True
    has_shape: bool = True

    @property
    def is_whole(self) -> bool:
        """True if things are named by colour and shape."""
        return self.has_colour and self.has_shape

    def fits(self, colour: int, shape: int) -> bool:
        """Return whether a description is of this form; an object named by neither counts as named by its shape."""
        if not self.has_colour:
            return not colour
        return bool(colour) and bool(shape) == self.has_shape


@dataclass(frozen=True, slots=True)
class QuestionType:
    """One type of question."""

    key: str
    title: str
    """What sets it apart, for figures."""
    asks: tuple[Asks, ...] = field(compare=False)
    """What it asks, by form."""
    depths: tuple[int, ...] = (1,)
    naming: Naming = field(default=Naming(), compare=False)
    is_read_by_any_name: bool = field(default=False, compare=False)
    """True if questions that name things otherwise are read as of this type too."""
    least_relations: int = 1
    """The relations that restrict each group of targets at depth one; one more at each further depth."""


TYPES = (
    QuestionType("A", "no relation", (COUNT, EXISTENCE), is_read_by_any_name=True, least_relations=0),
    QuestionType("SO", "named by shape", (COUNT, EXISTENCE), (1, 2), Naming(has_colour=False)),
    QuestionType("CO", "named by colour", (COUNT, EXISTENCE), (1, 2), Naming(has_shape=False)),
    QuestionType("M", "named by both", (COUNT, EXISTENCE), (1, 2, 3)),
    QuestionType(
        "CMP",
        "two groups compared",
        (COMPARISON,),
        (1, 2, 3),
        is_read_by_any_name=True,
        least_relations=0,
    ),
)
"""All question types."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A question type at a depth, in one of its forms. Density is a property of the scene."""

    type: QuestionType
    form: int
    """Index into the type's `asks`. Of the published types: 0 counts or compares, 1 asks for existence."""
    depth: int

    @property
    def kind(self) -> str:
        """Type and form, such as ``M-F0``."""
        return f"{self.type.key}-F{self.form}"

    @property
    def key(self) -> str:
        """Such as ``M-F0-D2``."""
        return f"{self.kind}-D{self.depth}"

    @property
    def asks(self) -> Asks:
        """What is asked."""
        return self.type.asks[self.form]

    @property
    def sides(self) -> int:
        """The number of groups of targets."""
        return self.asks.sides

    @property
    def is_comparison(self) -> bool:
        """True if two groups of targets are compared."""
        return self.sides > 1

    @property
    def is_count(self) -> bool:
        """True if the answer is a number."""
        return self.asks.is_number

    @property
    def is_existence(self) -> bool:
        """True if the answer is yes or no, by one group of targets."""
        return not (self.is_count or self.is_comparison)

    @property
    def names_whole(self) -> bool:
        """True if things are named by colour and shape."""
        return self.type.naming.is_whole

    @property
    def anchors_per_side(self) -> int:
        """The number of relations that restrict each group of targets."""
        return self.type.least_relations + self.depth - 1

    @property
    def n_anchors(self) -> int:
        """The number of anchors of the question."""
        return self.sides * self.anchors_per_side

    @property
    def is_relational(self) -> bool:
        """True if the question has a direction. Without one, both modes are the same."""
        return self.n_anchors > 0


BUCKETS = tuple(
    Bucket(kind, form, depth) for kind in TYPES for depth in kind.depths for form in range(len(kind.asks))
)
"""All buckets, in the order of their indices."""
BUCKET_KEYS = tuple(bucket.key for bucket in BUCKETS)
_INDEX = {key: index for index, key in enumerate(BUCKET_KEYS)}
ALL_ASKS = tuple(dict.fromkeys(bucket.asks for bucket in BUCKETS))
"""Everything that is asked."""

ANCHOR_SIDE = np.array(
    [
        [1 + k // b.anchors_per_side if k < b.n_anchors else 0 for k in range(MOST_ANCHORS)]
        if b.n_anchors
        else [0] * MOST_ANCHORS
        for b in BUCKETS
    ],
    np.uint8,
)
"""``ANCHOR_SIDE[bucket, k]``: the group of targets that anchor k restricts, 1 or 2; 0 where there is no anchor k."""


def bucket_index(key: str) -> int:
    """Return the index of a bucket by its key.

    >>> BUCKETS[bucket_index("CMP-F0-D3")].n_anchors
    4
    """
    if key not in _INDEX:
        raise UsageError(f"there is no bucket {key!r}; there are: {', '.join(BUCKET_KEYS)}")
    return _INDEX[key]


# What questions name: descriptions of targets and anchors, and the classes of all other objects.


def shared_attributes(rng: np.random.Generator, bucket: Bucket, n: int) -> tuple[Integers, Integers]:
    """Colours and shapes of targets and anchors, from 0, (n, things). Descriptions differ; colours and shapes may be shared."""
    things = bucket.sides + bucket.n_anchors
    colour, shape = np.divmod(rng.random((n, N_CLASSES)).argsort(axis=1)[:, :things], len(SHAPES))
    if not bucket.type.naming.has_colour:
        shape = rng.random((n, len(SHAPES))).argsort(axis=1)[:, :things]
        colour = rng.integers(0, len(COLOURS), (n, things))
    if not bucket.type.naming.has_shape:
        colour = rng.random((n, len(COLOURS))).argsort(axis=1)[:, :things]
        shape = rng.integers(0, len(SHAPES), (n, things))
    return colour, shape


def describe(
    bucket: Bucket, colour: Integers, shape: Integers
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Descriptions of targets and anchors, (n, 2 + 4), and the classes of the anchors, (n, 4)."""
    said = kind_code(
        np.zeros_like(colour) if not bucket.type.naming.has_colour else colour + 1,
        np.zeros_like(shape) if not bucket.type.naming.has_shape else shape + 1,
    )
    n, sides = len(said), bucket.sides
    kinds = np.zeros((n, MOST_SIDES + MOST_ANCHORS), np.uint8)
    kinds[:, :sides] = said[:, :sides]
    kinds[:, MOST_SIDES : MOST_SIDES + bucket.n_anchors] = said[:, sides:]
    classes = np.zeros((n, MOST_ANCHORS), np.uint8)
    classes[:, : bucket.n_anchors] = (1 + len(SHAPES) * colour + shape)[:, sides:]
    return kinds, classes


def paint(rng: np.random.Generator, cells: Cells, where: Flags, classes: Flags) -> None:
    """Paints cells with random classes of those allowed in their scenes, (n, 1 + classes)."""
    row, cell = np.nonzero(where)
    cells[row, cell] = (rng.random((len(row), classes.shape[1])) * classes[row]).argmax(axis=1)


class Palette:
    """Which classes may be painted as what, for each scene."""

    def __init__(self, bucket: Bucket, kinds: NDArray[np.uint8]) -> None:
        n = len(kinds)
        taken = np.zeros((n, N_CLASSES + 1), bool)
        taken[:, 0] = True
        for k in range(bucket.n_anchors):
            taken |= MATCHES[kinds[:, MOST_SIDES + k]]
        self.alike = [MATCHES[kinds[:, side]] for side in range(bucket.sides)]
        target = np.logical_or.reduce(self.alike)
        self.other = ~taken & ~target
        colours, shapes = np.divmod(kinds[:, : bucket.sides], 5)
        has_colour = [COLOUR_OF[None] == colours[:, side, None] for side in range(bucket.sides)]
        has_shape = [SHAPE_OF[None] == shapes[:, side, None] for side in range(bucket.sides)]
        any_colour, any_shape = np.logical_or.reduce(has_colour), np.logical_or.reduce(has_shape)
        self.colour = [each & ~any_shape & self.other for each in has_colour]
        self.shape = [each & ~any_colour & self.other for each in has_shape]
        self.neither = ~any_colour & ~any_shape & self.other if bucket.names_whole else self.other
        self.is_ok = self.neither.any(axis=1)
        for each in (*self.colour, *self.shape) if bucket.names_whole else ():
            self.is_ok &= each.any(axis=1)


def kinds_with_decoys(
    rng: np.random.Generator, bucket: Bucket, n: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8], Palette]:
    """Descriptions, anchors' classes, decoys' classes (n, decoys), and what other objects can be.

    Of two anchors and more, decoy k has the colour of anchor k and the shape of the next one; of one anchor, one decoy has its colour
    and one its shape. The two groups of a comparison share nothing.
    """
    kinds, classes, decoys, is_ok = _try_decoys(rng, bucket, n)
    while not is_ok.all():
        rows = np.flatnonzero(~is_ok)
        kinds[rows], classes[rows], decoys[rows], is_ok[rows] = _try_decoys(rng, bucket, len(rows))
    return kinds, classes, decoys, Palette(bucket, kinds)


def _try_decoys(
    rng: np.random.Generator, bucket: Bucket, n: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8], Flags]:
    """The same, and whether decoys and all other objects can be had."""
    colour, shape = shared_attributes(rng, bucket, n)
    kinds, classes = describe(bucket, colour, shape)
    is_ok = Palette(bucket, kinds).is_ok
    if bucket.is_comparison:
        is_ok &= (colour[:, 0] != colour[:, 1]) & (shape[:, 0] != shape[:, 1])
    if not bucket.n_anchors or not bucket.names_whole:
        return kinds, classes, np.zeros((n, 0), np.uint8), is_ok
    first, second = colour[:, bucket.sides :], shape[:, bucket.sides :]
    if bucket.n_anchors == 1:
        other_shape = (second[:, 0] + rng.integers(1, len(SHAPES), n)) % len(SHAPES)
        other_colour = (first[:, 0] + rng.integers(1, len(COLOURS), n)) % len(COLOURS)
        first = np.stack([first[:, 0], other_colour], axis=1)
        second = np.stack([other_shape, second[:, 0]], axis=1)
    else:
        second = np.roll(second, -1, axis=1)
    decoys = (1 + len(SHAPES) * first + second).astype(np.uint8)
    named = 1 + len(SHAPES) * colour + shape
    is_ok &= ~(decoys[:, :, None] == named[:, None]).any(axis=(1, 2))
    return kinds, classes, decoys, is_ok

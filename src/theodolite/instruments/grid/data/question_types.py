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

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.types import AnswerFormat
from theodolite.instruments.grid.data.world import (
    COLOURS,
    DIRECTIONS,
    N_CLASSES,
    SHAPES,
    Cells,
    Flags,
    GridShape,
    Integers,
    RowTable,
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
Divide: TypeAlias = Callable[[int, int, int], tuple[tuple[Integers, ...], bool]]
"""Lists all ways to divide the objects of two groups; see `comparison_table`."""


@dataclass(frozen=True, slots=True)
class Asks:
    """What a question asks of the numbers of its targets.

    >>> world = GridShape()
    >>> [world.answers[i] for i in COMPARISON.answer(world, np.array([[3, 2], [2, 2]]))]
    ['yes', 'no']
    """

    head: tuple[str, ...]
    """The first words of the question. No two have the same head and as many groups."""
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

    def options(self, world: GridShape) -> tuple[str, ...]:
        """Return the possible answers."""
        return world.answers[: world.max_count + 1] if self.is_number else world.answers[-2:]

    def answer(self, world: GridShape, counts: Integers) -> Integers:
        """Return the answers, as indices into `GridShape.answers`, to numbers of targets, (n, 2)."""
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
    """Draw counts by Algorithm 2 from the upper or the lower half of 1…most; a middle value is in both."""
    return 1 + ((rng.random(len(is_boosted)) + is_boosted) * most / 2).astype(np.int64)


def _draw_existing(
    rng: np.random.Generator, is_boosted: Flags, most: int, shares: tuple[float, float, float]
) -> Integers:
    n = len(is_boosted)
    sort = rng.choice(3, size=n, p=shares)
    return np.where(sort == 2, rng.integers(min(2, most), most + 1, size=n), sort)


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
    tables = [np.array(group, np.int64).reshape(-1, 6) for group in rows]
    if not per_side:
        tables[1], tables[2] = tables[0], tables[3]
    return tuple(tables), all(map(len, tables))


COUNT = Asks(("how", "many"), draw=_draw_counts, link=("are",))
EXISTENCE = Asks(
    ("is", "there", "any"),
    is_yes=_is_any,
    draw=_draw_existing,
    link=("that", "is"),
    is_plural=False,
)
COMPARISON = Asks(
    ("are", "there", "more"),
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
    """Draw colours and shapes of targets and anchors, from 0, (n, things).

    Descriptions differ; colours and shapes may be shared.
    """
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
    """Return the descriptions of targets and anchors, (n, 2 + 4), and the classes of the anchors, (n, 4)."""
    described = kind_code(
        np.zeros_like(colour) if not bucket.type.naming.has_colour else colour + 1,
        np.zeros_like(shape) if not bucket.type.naming.has_shape else shape + 1,
    )
    n, sides = len(described), bucket.sides
    kinds = np.zeros((n, MOST_SIDES + MOST_ANCHORS), np.uint8)
    kinds[:, :sides] = described[:, :sides]
    kinds[:, MOST_SIDES : MOST_SIDES + bucket.n_anchors] = described[:, sides:]
    classes = np.zeros((n, MOST_ANCHORS), np.uint8)
    classes[:, : bucket.n_anchors] = (1 + len(SHAPES) * colour + shape)[:, sides:]
    return kinds, classes


def paint(rng: np.random.Generator, cells: Cells, where: Flags, classes: Flags) -> None:
    """Paint cells with random classes of those allowed in their scenes, (n, 1 + classes).

    Args:
        rng: Random generator.
        cells: Class ids, (n, cells); changed in place.
        where: The cells to paint, (n, cells).
        classes: The allowed classes of each scene.
    """
    row, cell = np.nonzero(where)
    cells[row, cell] = (rng.random((len(row), classes.shape[1])) * classes[row]).argmax(axis=1)


# Questions as word ids: one vocabulary, one template per bucket, written and read back.


_FIRST_WORDS = (
    *("<pad>", "<mask>", "?", ",", "how", "many", "is", "there", "any", "are", "more", "than", "that", "and"),
    *("left", "right", "of", "above", "below", "object", "objects"),
    *COLOURS,
    *SHAPES,
    *(f"{shape}s" for shape in SHAPES),
)
VOCABULARY = tuple(
    dict.fromkeys(
        (*_FIRST_WORDS, *(word for asks in ALL_ASKS for word in (*asks.head, *asks.link, *asks.than)))
    )
)
"""All words. The id of a word is its index, so words that a further question type needs come last."""
WORD = {word: index for index, word in enumerate(VOCABULARY)}
PAD, MASK = WORD["<pad>"], WORD["<mask>"]
MAX_WORDS = 28
"""The longest question has 27."""

PHRASES = (
    *(f"target_{side + 1}" for side in range(MOST_SIDES)),
    *(f"anchor_{k + 1}" for k in range(MOST_ANCHORS)),
    *(f"direction_{k + 1}" for k in range(MOST_ANCHORS)),
)
"""The phrases of a question, in the order of `SceneBatch.spans`."""
TARGET_PHRASE, ANCHOR_PHRASE, DIRECTION_PHRASE = 0, MOST_SIDES, MOST_SIDES + MOST_ANCHORS

_COLOUR_WORD = np.array([PAD, *(WORD[c] for c in COLOURS)], np.uint8)
_SHAPE_WORD = np.array(
    [[WORD["object"], *(WORD[s] for s in SHAPES)], [WORD["objects"], *(WORD[s + "s"] for s in SHAPES)]]
)
_DIRECTION_WORDS = np.array(
    [[WORD[w] for w in d.split()] + [PAD] * (2 - len(d.split())) for d in DIRECTIONS], np.uint8
)


@dataclass(frozen=True, slots=True)
class QuestionTable(RowTable):
    """What is asked, one row per question: the logic without its words."""

    bucket: NDArray[np.uint8]
    """Index into `BUCKETS`, shape (n,)."""
    targets: NDArray[np.uint8]
    """Description of each group of targets (`kind_code`), shape (n, 2)."""
    anchors: NDArray[np.uint8]
    """Description of each anchor, shape (n, 4); anchors that the bucket does not have are 0."""
    directions: NDArray[np.uint8]
    """Where the targets lie relative to each anchor, shape (n, 4); 0 where there is no such anchor."""

    def __len__(self) -> int:
        return len(self.bucket)


def _template(bucket: Bucket) -> list[tuple[str, int]]:
    """Return the slots of a bucket's question: literal words, and phrases as (kind of slot, number)."""
    index, asks = BUCKETS.index(bucket), bucket.asks

    def relations(side: int) -> list[tuple[str, int]]:
        own = [k for k in range(MOST_ANCHORS) if ANCHOR_SIDE[index, k] == side]
        slots: list[tuple[str, int]] = []
        for position, k in enumerate(own):
            if position and len(own) > 2:
                slots.append((",", -1))
            if position and position == len(own) - 1:
                slots.append(("and", -1))
            slots += [("<direction>", k), ("<anchor>", k)]
        return slots

    slots = [(word, -1) for word in asks.head]
    for side in range(bucket.sides):
        slots += [(word, -1) for word in asks.than] if side else []
        slots.append(("<targets>" if asks.is_plural else "<target>", side))
        slots += [(word, -1) for word in asks.link] if bucket.n_anchors else []
        slots += relations(side + 1)
    return [*slots, ("?", -1)]


def write_questions(questions: QuestionTable) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return word ids ``(n, MAX_WORDS)``, padded with 0, and spans ``(n, phrases, 2)``: first word and the word after the last.

    A phrase that is not in a question has the span (0, 0).
    """
    n = len(questions)
    words = np.zeros((n, MAX_WORDS), np.uint8)
    spans = np.zeros((n, len(PHRASES), 2), np.uint8)
    for index in np.unique(questions.bucket):
        rows = np.flatnonzero(questions.bucket == index)
        words[rows], spans[rows] = _write_bucket(questions.take(rows), BUCKETS[int(index)])
    return words, spans


def _write_bucket(q: QuestionTable, bucket: Bucket) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    columns: list[NDArray[np.uint8]] = []
    positions: dict[int, tuple[int, int]] = {}
    for slot, number in _template(bucket):
        start = len(columns)
        if slot == "<direction>":
            columns += list(_DIRECTION_WORDS[q.directions[:, number]].T)
            positions[DIRECTION_PHRASE + number] = (start, len(columns))
        elif slot.startswith("<"):
            kinds = q.anchors[:, number] if slot == "<anchor>" else q.targets[:, number]
            colour, shape = np.divmod(kinds, 5)
            columns += [_COLOUR_WORD[colour], _SHAPE_WORD[int(slot == "<targets>")][shape].astype(np.uint8)]
            positions[(ANCHOR_PHRASE if slot == "<anchor>" else TARGET_PHRASE) + number] = (
                start,
                len(columns),
            )
        else:
            columns.append(np.full(len(q), WORD[slot], np.uint8))
    return _compact(np.stack(columns, axis=1), positions)


def _compact(
    loose: NDArray[np.uint8], positions: dict[int, tuple[int, int]]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Close the gaps of slots with fewer words: "above" has one, "left of" two."""
    is_word = loose != PAD
    before = np.cumsum(is_word, axis=1, dtype=np.uint8)
    words = np.zeros((len(loose), MAX_WORDS), np.uint8)
    row, column = np.nonzero(is_word)
    words[row, before[row, column] - 1] = loose[row, column]
    spans = np.zeros((len(loose), len(PHRASES), 2), np.uint8)
    for phrase, (start, stop) in positions.items():
        spans[:, phrase, 0] = before[:, start - 1]
        spans[:, phrase, 1] = before[:, stop - 1]
    return words, spans


def text_of(words: NDArray[np.uint8]) -> str:
    """Return a question as a sentence.

    >>> text_of(np.array([WORD[w] for w in "is there any red circle ?".split()], np.uint8))
    'Is there any red circle?'
    """
    shown = [VOCABULARY[w] for w in words if w != PAD]
    text = " ".join(shown).replace(" ?", "?").replace(" ,", ",")
    return text[:1].upper() + text[1:]


def _starts(words: list[str], asks: Asks) -> bool:
    return tuple(words[: len(asks.head)]) == asks.head


_TOKEN = re.compile(r"[?,]|[^\s?,]+")


def _tokens(text: str) -> list[tuple[str, tuple[int, int]]]:
    """Return the words of a sentence in the grid's own wording, each with its characters: first, and one after the last.

    Published questions say "the", and "that are" where ours say "are" or, in comparisons, nothing; these are left out.
    """
    tokens = [(match.group().lower(), match.span()) for match in _TOKEN.finditer(text)]
    words = [word for word, _ in tokens]
    is_that = [words[i : i + 2] == ["that", "are"] for i in range(len(words))]
    is_left_out = [word == "the" or is_that[i] for i, word in enumerate(words)]
    if any(not asks.link and _starts(words, asks) for asks in ALL_ASKS):
        is_left_out = [is_own or (i > 0 and is_that[i - 1]) for i, is_own in enumerate(is_left_out)]
    return [token for token, left_out in zip(tokens, is_left_out, strict=True) if not left_out]


def words_of(text: str) -> NDArray[np.uint8]:
    """Return the word ids of a sentence, padded; a published question is rendered in the grid's own words.

    >>> text_of(words_of("How many red circles are left of blue square?"))
    'How many red circles are left of blue square?'
    >>> text_of(words_of("How many red circles that are left of the blue square?"))
    'How many red circles are left of blue square?'
    """
    words = [word for word, _ in _tokens(text)]
    unknown = [word for word in words if word not in WORD]
    if unknown:
        raise UsageError(f"the grid's vocabulary has no word {unknown[0]!r} (in {text!r})")
    if len(words) > MAX_WORDS:
        raise UsageError(f"a question has at most {MAX_WORDS} words, not {len(words)}: {text!r}")
    return np.array([WORD[word] for word in words] + [PAD] * (MAX_WORDS - len(words)), np.uint8)


_HEADS = "|".join(dict.fromkeys(" ".join(asks.head).capitalize() for asks in ALL_ASKS))
_QUESTION = re.compile(rf"(?:{_HEADS})\b[^?]*\?")


def question_words(text: str) -> NDArray[np.uint8]:
    """Return the word ids of the question in a prompt, padded.

    Raises:
        UsageError: The prompt has no question of the grid.
    """
    asked = _QUESTION.search(text)
    if asked is None:
        raise UsageError(f"there is no question of the grid in {text[:200]!r}")
    return words_of(asked.group())


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the characters of each word of a question: first, and one after the last. There is one span per word of `words_of`.

    >>> word_spans("Is there any red circle?")
    [(0, 2), (3, 8), (9, 12), (13, 16), (17, 23), (23, 24)]
    """
    return [span for _, span in _tokens(text)]


def character_spans(text: str, spans: NDArray[np.uint8]) -> dict[str, tuple[int, int]]:
    """Return the characters of each phrase of a question: first, and one after the last."""
    characters = word_spans(text)
    return {
        phrase: (characters[int(first)][0], characters[int(last) - 1][1])
        for phrase, (first, last) in zip(PHRASES, spans, strict=True)
        if last > first
    }


_NOUNS = {"object": 0, "objects": 0}
_NOUNS |= {shape: i + 1 for i, shape in enumerate(SHAPES)} | {
    shape + "s": i + 1 for i, shape in enumerate(SHAPES)
}
_DIRECTION = {name.split()[0]: i for i, name in enumerate(DIRECTIONS) if name}


@dataclass(slots=True)
class _ParsedQuestion:
    """The descriptions found in one question."""

    targets: list[tuple[int, int]] = field(default_factory=list)
    relations: list[list[tuple[int, tuple[int, int]]]] = field(default_factory=list)


def read_questions(words: NDArray[np.uint8]) -> QuestionTable:
    """Parse questions from their word ids, (n, words). The inverse of `write_questions`.

    Raises:
        UsageError: A question follows no template.

    >>> q = read_questions(words_of("Is there any red object that is left of blue object?")[None])
    >>> BUCKETS[q.bucket[0]].key, q.directions[0].tolist()
    ('CO-F1-D1', [1, 0, 0, 0])
    """
    distinct, back = np.unique(words, axis=0, return_inverse=True)
    n = len(distinct)
    read = QuestionTable(
        np.zeros(n, np.uint8),
        np.zeros((n, MOST_SIDES), np.uint8),
        np.zeros((n, MOST_ANCHORS), np.uint8),
        np.zeros((n, MOST_ANCHORS), np.uint8),
    )
    for row, sentence in enumerate(distinct):
        _read_into(read, row, sentence)
    if not (write_questions(read)[0] == distinct).all():
        row = int(np.argmax((write_questions(read)[0] != distinct).any(axis=1)))
        raise _unreadable(distinct[row])
    return read.take(back.ravel())


def _unreadable(sentence: NDArray[np.uint8]) -> UsageError:
    return UsageError(f"{text_of(sentence)!r} is not a question of the grid")


def _read_into(read: QuestionTable, row: int, sentence: NDArray[np.uint8]) -> None:
    words = [VOCABULARY[w] for w in sentence if w != PAD]
    parsed = _parse_phrases(words)
    bucket = _bucket(words, parsed)
    if bucket is None:
        raise _unreadable(sentence)
    read.bucket[row] = BUCKETS.index(bucket)
    for side, kind in enumerate(parsed.targets):
        read.targets[row, side] = kind_code(*kind)
    for k, (direction, kind) in enumerate(pair for side in parsed.relations for pair in side):
        read.directions[row, k], read.anchors[row, k] = direction, kind_code(*kind)


def _parse_phrases(words: list[str]) -> _ParsedQuestion:
    """Parse the descriptions in order: one after a direction is an anchor, any other is a target."""
    parsed, colour, direction = _ParsedQuestion(), 0, 0
    for word in words:
        if word in COLOURS:
            colour = COLOURS.index(word) + 1
        elif word in _DIRECTION:
            direction = _DIRECTION[word]
        elif word in _NOUNS:
            kind = (colour, _NOUNS[word])
            if direction and parsed.relations:
                parsed.relations[-1].append((direction, kind))
            else:
                parsed.targets.append(kind)
                parsed.relations.append([])
            colour = direction = 0
    return parsed


def _bucket(words: list[str], parsed: _ParsedQuestion) -> Bucket | None:
    """Return the bucket of a question; if several heads fit, that of the longest."""
    anchors = {len(side) for side in parsed.relations}
    fitting = [
        bucket
        for bucket in BUCKETS
        if _starts(words, bucket.asks)
        and bucket.sides == len(parsed.targets)
        and anchors == {bucket.anchors_per_side}
        and (bucket.type.is_read_by_any_name or bucket.type.naming.fits(*parsed.targets[0]))
    ]
    return max(fitting, key=lambda bucket: len(bucket.asks.head), default=None)

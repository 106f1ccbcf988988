"""Which pairs a source gives, and why the other candidates were left out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, get_args

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, counted_problems, told_problems
from theodolite.core.tables import Column, Table
from theodolite.core.types import Json
from theodolite.geometry import Box
from theodolite.instruments.coco import AreaOf
from theodolite.instruments.compass.data.pairs import Pair, is_outside
from theodolite.pairs.directions import CARDINAL, Vocabulary


class Filter(StrEnum):
    """Why a candidate is left out, in the order of checking. The value is the reason in words."""

    BROKEN = "a broken record"
    FALSE = "a caption that is false"
    NO_DIRECTION = "a relation without a direction"
    UNREADABLE = "a caption that cannot be read"
    ONE_OBJECT = "a caption about one object"
    NO_ANNOTATIONS = "no annotations given"
    NO_CATEGORY = "a name that is no category"
    NOT_ANNOTATED = "a picture without annotations"
    NO_BOX = "an object without a box"
    SEVERAL = "several boxes for one name"
    CROWD = "a crowd"
    EMPTY = "an empty box"
    REPEATED = "a name that occurs twice"
    SMALL = "an object too small"
    LARGE = "an object too large"
    OUTSIDE = "a box outside the picture"
    NEAR = "too near each other"
    BORDER = "too near a border between directions"
    AGAINST = "words that do not agree with the boxes"
    ELSEWHERE = "picture outside the folder of pictures"
    MISSING = "picture not found"
    EMPTY_FILE = "picture file that is empty"
    NO_PICTURE = "file that is not a picture"
    DAMAGED = "picture that is damaged, cut short or too large"
    ANOTHER_SIZE = "picture of another size than annotated"
    WRITTEN_TWICE = "written twice"
    NOT_DRAWN = "not drawn"


@dataclass(frozen=True, slots=True)
class PairFilters:
    """Which objects and pairs a source takes. An object's name must also be unique in its picture.

    The paper states no filters. With these defaults the 80 pictures of COCO_Tiny val give 178 ordered pairs.
    """

    min_area: float = 0.01
    """Of the picture's area, inclusive."""
    max_area: float = 0.5
    area_of: AreaOf = "box"
    min_distance: float = 0.15
    """Between the centres, of the picture's diagonal, exclusive."""
    min_margin_deg: float = 0.0
    """How much farther the next direction must be; values above 0 leave out pairs near a border such as 45°."""

    def __post_init__(self) -> None:
        if not 0 <= self.min_area < self.max_area:
            raise UsageError(f"areas must satisfy 0 ≤ min < max, got {self.min_area} and {self.max_area}")
        if self.min_distance < 0 or self.min_margin_deg < 0:
            raise UsageError("the least distance and margin must not be negative")
        if self.area_of not in get_args(AreaOf):
            raise UsageError(f"area_of must be one of {', '.join(get_args(AreaOf))}, not {self.area_of!r}")

    def area_fault(self, share: float) -> Filter | None:
        """The filter that rejects an object of this share of the picture, or None."""
        if share < self.min_area:
            return Filter.SMALL
        return Filter.LARGE if share > self.max_area else None

    def pair_fault(
        self, reference: Box, target: Box, size_px: tuple[int, int], vocabulary: Vocabulary = CARDINAL
    ) -> Filter | None:
        """The filter that rejects a pair of boxes, or None."""
        if is_outside(reference, size_px) or is_outside(target, size_px):
            return Filter.OUTSIDE
        distance = math.dist(reference.centre_px, target.centre_px)
        if distance == 0 or distance <= self.min_distance * math.hypot(*size_px):
            return Filter.NEAR
        if vocabulary.between(reference, target).margin_deg < self.min_margin_deg:
            return Filter.BORDER
        return None


@dataclass(frozen=True, slots=True)
class SelectionReport:
    """What became of every candidate."""

    source: str
    parameters: Mapping[str, Json]
    candidates: int
    excluded: Mapping[str, int]
    """Reason to count, in the order of the filters. A candidate counts once, for the first filter that rejects it."""
    kept: int
    directions: Mapping[str, int]
    """Of those kept."""
    pictures: int
    """Of those kept."""
    notes: tuple[str, ...] = ()
    audit: Mapping[str, Json] = field(default_factory=dict)
    """Further tables of the source."""
    broken: Mapping[str, int] = field(default_factory=dict)
    """How many records are broken and gave no candidates, with the place of the first one."""

    def __post_init__(self) -> None:
        lost = sum(self.excluded.values())
        if self.candidates != self.kept + lost:
            raise UsageError(
                f"{self.source}: {self.candidates} candidates are not {self.kept} kept and {lost} excluded"
            )

    def as_json(self) -> dict[str, Any]:
        """The report as plain JSON."""
        return asdict(self)

    def table(self) -> Table:
        """Candidates, what was left out, and what was kept."""
        kept = ", ".join(f"{count} {name}" for name, count in self.directions.items())
        return Table.of(
            f"data.{self.source}",
            self.source,
            [Column("step", "step"), Column("pairs", "pairs", "count"), Column("what", "of which")],
            [
                ("candidates", self.candidates, ""),
                *((f"left out: {reason}", count, "") for reason, count in self.excluded.items()),
                ("kept", self.kept, f"{kept}; on {self.pictures} pictures"),
            ],
            self.notes,
        )


@dataclass(frozen=True, slots=True)
class Selection:
    """The pairs of a source and how they were chosen."""

    pairs: tuple[Pair, ...]
    report: SelectionReport


class Sieve:
    """Counts candidates and rejections, and makes the report."""

    def __init__(self, source: str, parameters: Mapping[str, Json]) -> None:
        self.source = source
        self.parameters = parameters
        self.candidates = 0
        self.excluded: Counter[Filter] = Counter()
        self.notes: list[str] = []
        self.broken: dict[str, int] = {}

    def drop(self, reason: Filter, count: int = 1) -> None:
        """Counts candidates that a filter rejected."""
        if count:
            self.excluded[reason] += count

    def drop_broken(self, problems: Sequence[Problem]) -> None:
        """Counts candidates whose record is broken, and notes where the first ones are."""
        self.candidates += len(problems)
        self.drop(Filter.BROKEN, len(problems))
        self.tell_broken(problems)

    def tell_broken(self, problems: Sequence[Problem]) -> None:
        """Counts broken records that are not candidates themselves, and notes where the first ones are."""
        self.broken |= counted_problems(problems)
        self.notes += told_problems(problems)

    def check_any(self, pairs: Sequence[Pair]) -> None:
        """Raises a `UsageError` that says why no pair is left."""
        if not pairs:
            lost = "; ".join(f"{count} × {reason}" for reason, count in self.told().items())
            told = f"{self.source}: none of {self.candidates} candidates is left{': ' + lost if lost else ''}"
            raise UsageError(". ".join([told, *self.notes]))

    def finish(
        self, pairs: Sequence[Pair], *, n: int | None, seed: int, audit: Mapping[str, Json] | None = None
    ) -> Selection:
        """Draws a balanced sample if `n` is given, and reports.

        Raises:
            UsageError: No pair is left, or too few for the sample.
        """
        self.check_any(pairs)
        chosen = list(pairs) if n is None else balanced_sample(pairs, n, seed=seed)
        self.drop(Filter.NOT_DRAWN, len(pairs) - len(chosen))
        counts = Counter(pair.direction for pair in chosen)
        report = SelectionReport(
            source=self.source,
            parameters={**self.parameters, "n": n, "seed": seed},
            candidates=self.candidates,
            excluded=self.told(),
            kept=len(chosen),
            directions={
                name: counts[name] for name in (*CARDINAL.names, *sorted(set(counts) - set(CARDINAL.names)))
            },
            pictures=len({pair.picture.digest for pair in chosen}),
            notes=tuple(self.notes),
            audit=audit or {},
            broken=dict(self.broken),
        )
        return Selection(tuple(chosen), report)

    def told(self) -> dict[str, int]:
        """Counts of rejections, in the order of the filters."""
        return {reason.value: self.excluded[reason] for reason in Filter if self.excluded[reason]}


def balanced_sample(pairs: Sequence[Pair], n: int, *, seed: int) -> list[Pair]:
    """Draws n pairs in their order, the same number of each direction; the first ones get one more if n does not divide.

    Raises:
        UsageError: A direction has too few pairs.
    """
    if n < 1:
        raise UsageError(f"--size must be at least 1, not {n}")
    by_direction: dict[str, list[int]] = {}
    for i, pair in enumerate(pairs):
        by_direction.setdefault(pair.direction, []).append(i)
    names = sorted(by_direction)
    rng = np.random.default_rng(seed)
    chosen: list[int] = []
    for place, name in enumerate(names):
        wanted = n // len(names) + (place < n % len(names))
        if wanted > len(by_direction[name]):
            fewest = min(map(len, by_direction.values()))
            raise UsageError(
                f"{n} balanced pairs need {wanted} {name!r}, and there are {len(by_direction[name])}; "
                f"take --size {fewest * len(names)} at most, or leave --size out to take all pairs"
            )
        chosen += rng.permutation(by_direction[name])[:wanted].tolist()
    return [pairs[i] for i in sorted(chosen)]

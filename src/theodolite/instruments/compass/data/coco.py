"""COCO instances, or any file in that format: pairs of objects, and names matched to boxes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice, permutations, zip_longest
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.types import Json
from theodolite.geometry import Box
from theodolite.geometry.directions import CARDINAL, Vocabulary, vocabulary_of
from theodolite.instruments.coco import AnnotatedPicture, Instance, Instances, find_coco, read_instances
from theodolite.instruments.compass.data.pairs import (
    Filter,
    Pair,
    PairFilters,
    PictureFolder,
    Region,
    Selection,
    Sieve,
    is_outside,
    read_pairs,
)
from theodolite.instruments.instrument import UserData, first_keys, has_file
from theodolite.pairs.pictures.objects import LEAST_GAP_PX, Cutout, is_clear

# Names matched to the boxes of COCO instance annotations.


Names: TypeAlias = Literal["exact", "substring"]
"""``exact``: a name is a category. ``substring``: or one is a part of the other, if that holds for one category only."""

Boxes: TypeAlias = Literal["unique", "largest"]
"""Where a picture has several objects of a category: take none, or the one with the largest box."""

DEGENERATE = (Filter.EMPTY, Filter.OUTSIDE, Filter.NEAR)
"""What can be wrong with boxes that were found."""


@dataclass(frozen=True, slots=True)
class MatchPolicy:
    """How captions are matched to boxes."""

    names: Names = "exact"
    boxes: Boxes = "unique"
    agree: bool = True
    """Require that the boxes have the caption's direction."""

    def __post_init__(self) -> None:
        for name, known in (("names", Names), ("boxes", Boxes)):
            if getattr(self, name) not in get_args(known):
                raise UsageError(
                    f"{name} must be one of {', '.join(get_args(known))}, not {getattr(self, name)!r}"
                )


@dataclass(frozen=True, slots=True)
class Match:
    """Two objects in their picture."""

    picture: AnnotatedPicture
    reference: Instance
    target: Instance
    reference_box: Box
    target_box: Box


class Matcher:
    """Finds the boxes of two names in annotated pictures."""

    def __init__(self, instances: Instances, policy: MatchPolicy, vocabulary: Vocabulary = CARDINAL) -> None:
        self.instances = instances
        self.vocabulary = vocabulary
        self._pictures: Mapping[str, AnnotatedPicture] = instances.by_file_name()
        self._categories = instances.categories
        self._policy = policy

    def category(self, name: str) -> str | None:
        """Return the category that a name stands for; None if there is none, or several."""
        if name in self._categories or self._policy.names == "exact":
            return name if name in self._categories else None
        matches = [category for category in self._categories if name in category or category in name]
        return matches[0] if len(matches) == 1 else None

    def picture(self, file_name: str) -> AnnotatedPicture | None:
        """Return the annotated picture of that file name."""
        return self._pictures.get(Path(file_name).name)

    def objects(self, file_name: str, names: tuple[str, str]) -> Match | Filter:
        """Return the reference and the target in a picture, or the filter that rejects them.

        Args:
            file_name: File name of the picture.
            names: Names of reference and target.
        """
        categories = [self.category(name) for name in names]
        picture = self.picture(file_name)
        if None in categories:
            return Filter.NO_CATEGORY
        if picture is None:
            return Filter.NOT_ANNOTATED
        reference, target = (self._object(picture, str(category)) for category in categories)
        for candidate in (reference, target):
            if isinstance(candidate, Filter):
                return candidate
        return self._match(picture, cast("Instance", reference), cast("Instance", target))

    def _object(self, picture: AnnotatedPicture, category: str) -> Instance | Filter:
        """Return the object of a category in a picture, or the filter that rejects it."""
        candidates = [candidate for candidate in picture.named(category) if not candidate.is_crowd]
        if not candidates:
            return Filter.NO_BOX
        if self._policy.boxes == "unique" and picture.counts[category] > 1:
            return Filter.SEVERAL
        return max(candidates, key=lambda candidate: candidate.box_area)

    @staticmethod
    def _match(picture: AnnotatedPicture, reference: Instance, target: Instance) -> Match | Filter:
        if reference is target:
            return Filter.SEVERAL
        if reference.box is None or target.box is None:
            return Filter.EMPTY
        return Match(picture, reference, target, reference.box, target.box)

    def direction(self, match: Match, word: str) -> str | Filter:
        """Return the right answer about matched boxes, or the filter that rejects them.

        Args:
            match: Two boxes.
            word: The caption's direction. The answer is finer if it is an adjacent diagonal; if the boxes contradict the
                caption and the policy permits that, it is the caption's.
        """
        a, b, size = match.reference_box, match.target_box, match.picture.size_px
        if is_outside(a, size) or is_outside(b, size):
            return Filter.OUTSIDE
        if a.centre_px == b.centre_px:
            return Filter.NEAR
        agreed = self.vocabulary.agreed(word, a, b)
        return agreed or (Filter.AGAINST if self._policy.agree else word)


# COCO-Pairs: ordered pairs of objects whose names are unique in their picture.


def coco_pairs(
    annotations: str | Path | Sequence[str | Path],
    images: str | Path,
    *,
    n: int | None = None,
    seed: int = 0,
    filters: PairFilters | None = None,
    vocabulary: Vocabulary = CARDINAL,
) -> Selection:
    """Select ordered pairs from COCO instance annotations.

    Candidates are all ordered pairs of annotated objects of a picture. Filters, in order: unknown categories,
    crowds, empty boxes, names that occur twice in the picture (a crowd counts), area, distance, border between directions,
    picture, and the draw.

    Args:
        annotations: One or more files in COCO's instances format.
        images: The folder that their ``file_name`` is relative to.
        n: Sample size, balanced over the directions; all pairs if not given.
        seed: Seed of the draw.
        filters: Which objects and pairs are taken.
        vocabulary: The names of directions.
    """
    filters = filters or PairFilters()
    instances = read_instances(annotations)
    usual = instances.narrowness()
    sieve = Sieve("coco-pairs", {**asdict(filters), "directions": dict(vocabulary.angles_deg)})
    folder = PictureFolder(Path(images))
    pairs: list[Pair] = []
    for picture in instances.pictures:
        sieve.candidates += _ordered(len(picture.instances))
        objects = _objects(picture, filters, sieve)
        for (reference, a), (target, b) in permutations(objects, 2):
            fault = filters.pair_fault(a, b, picture.size_px, vocabulary) or folder.fault(
                picture.file_name, picture.size_px
            )
            if fault is not None:
                sieve.drop(fault)
                continue
            pairs.append(
                Pair(
                    id=_id(picture, reference, target),
                    picture=folder.find(picture.file_name)[0],
                    size_px=picture.size_px,
                    reference=Region(reference.name, a),
                    target=Region(target.name, b),
                    direction=vocabulary.between(a, b).name,
                    others=picture.other_boxes(reference, target),
                    source="coco-pairs",
                    meta={
                        "areas": [reference.box_area, target.box_area],
                        **_outlines(reference, target, picture.other_cutouts(reference, target)),
                        **_unfit(picture, reference, target, usual),
                    },
                )
            )
    sieve.notes += folder.note()
    sieve.tell_broken(instances.problems)
    return sieve.finish(pairs, n=n, seed=seed)


def _outlines(reference: Instance, target: Instance, others: Sequence[Cutout]) -> dict[str, Json]:
    """Return the polygons by which both objects can be cut out, and those of the others; empty if one has none."""
    if not (reference.outline and target.outline):
        return {}
    return {
        "outlines": {
            "reference": _polygons(reference.outline),
            "target": _polygons(target.outline),
            "others": [_polygons(other.outline) for other in others],
        }
    }


def _polygons(outline: Sequence[Sequence[float]]) -> list[Json]:
    return [list(polygon) for polygon in outline]


def _unfit(
    picture: AnnotatedPicture, reference: Instance, target: Instance, usual: Mapping[str, float]
) -> dict[str, Json]:
    """Return why an object cannot be cut out, by role; empty if both can."""
    roles = (("reference", reference), ("target", target))
    reasons = {role: reason for role, thing in roles if (reason := picture.unfit(thing, usual)) is not None}
    return {"unfit": {role: reason.value for role, reason in reasons.items()}} if reasons else {}


def _ordered(count: int) -> int:
    """Return the number of ordered pairs of `count` objects."""
    return count * (count - 1)


def _id(picture: AnnotatedPicture, reference: Instance, target: Instance) -> str:
    """Return an id such as ``000000532481-person-to-dining_table``: from A to B."""
    name = (
        Path(picture.file_name).with_suffix("").as_posix().replace("/", "_")
    )  # folders may hold pictures of one name
    return f"{name}-{reference.name}-to-{target.name}".replace(" ", "_")


def _objects(picture: AnnotatedPicture, filters: PairFilters, sieve: Sieve) -> list[tuple[Instance, Box]]:
    """Return the objects that may be in a pair, and count the pairs lost with the others."""
    counts = picture.counts

    def area_fault(instance: Instance) -> Filter | None:
        area = instance.area(filters.area_of)
        if area is None:
            raise UsageError(
                f"the {instance.name} of {picture.file_name} has no stated area; use area_of='box'"
            )
        return filters.area_fault(area)

    steps: list[tuple[Filter, Callable[[Instance], bool]]] = [
        (Filter.NO_CATEGORY, lambda instance: bool(instance.name)),
        (Filter.CROWD, lambda instance: not instance.is_crowd),
        (Filter.EMPTY, lambda instance: instance.box is not None),
        (Filter.REPEATED, lambda instance: counts[instance.name] == 1),
        (Filter.SMALL, lambda instance: area_fault(instance) != Filter.SMALL),
        (Filter.LARGE, lambda instance: area_fault(instance) != Filter.LARGE),
    ]
    objects = list(picture.instances)
    for reason, passes in steps:
        left = [instance for instance in objects if passes(instance)]
        sieve.drop(reason, _ordered(len(objects)) - _ordered(len(left)))
        objects = left
    return [(instance, instance.box) for instance in objects if instance.box is not None]


# Finding the user's own pairs: a pair file, or COCO instances with their pictures.


_MARGIN_DEG = {4: 30.0, 8: 15.0}
"""A direction must be nearer than the next one by this, by the number of directions: at most 30° from the exact one of four, as
in drawn pictures, and 15° of eight."""
_FILE_FAULTS = (
    Filter.BROKEN,
    Filter.ELSEWHERE,
    Filter.MISSING,
    Filter.EMPTY_FILE,
    Filter.NO_PICTURE,
    Filter.DAMAGED,
    Filter.ANOTHER_SIZE,
    Filter.OUTSIDE,
    Filter.EMPTY,
)
"""Told first: the user can mend these."""


def find_pairs(path: Path, images: Path | None) -> UserData | None:
    """Return a pair file or its folder, or COCO instances or their folder; None if the path is neither."""
    if path.is_dir() and has_file(path, "pairs.jsonl"):
        return UserData("compass", "pairs", path)
    if path.name == "pairs.jsonl" or (
        path.suffix == ".jsonl" and {"reference", "target", "picture"} <= first_keys(path)
    ):
        return UserData("compass", "pairs", path)
    coco = find_coco(path, images)
    return None if coco is None else UserData("compass", "coco", *coco)


@dataclass(frozen=True, slots=True)
class OwnPairs:
    """The pairs that a diagnosis asks about, and how many others were left out, by reason."""

    pairs: tuple[Pair, ...]
    unused: Mapping[str, int]

    @property
    def vocabulary(self) -> Vocabulary:
        """The directions that are asked for: eight if one of the pairs is diagonal."""
        return vocabulary_of(pair.direction for pair in self.pairs)


def load_pairs(own: UserData, n: int, seed: int) -> OwnPairs:
    """Return the pairs of a pair file, or at most `n` from COCO instances, balanced by direction.

    Pairs between two directions, where two answers may be right, and pairs with unreadable pictures are left out. Diagonals
    are directions if the pair file names one.
    From COCO instances, pairs with an object that can be moved are taken first.

    Args:
        own: A pair file, or COCO instances with their pictures.
        n: The most pairs to draw from COCO instances.
        seed: Seed of the draw.

    Raises:
        UsageError: No pair is left.
    """
    if own.form != "coco":
        sieve = Sieve(str(own.path), {})
        pairs = read_pairs(own.path, sieve=sieve)
        vocabulary = vocabulary_of(pair.direction for pair in pairs)
        usable = [pair for pair in pairs if _is_usable(pair, sieve, vocabulary)]
        sieve.check_any(usable)
        unused = {reason: n for reason, n in sieve.told().items() if reason != Filter.BROKEN}
        return OwnPairs(tuple(usable), {**sieve.broken, **unused})
    selection = coco_pairs(
        own.path, own.images or own.path.parent, filters=PairFilters(min_margin_deg=_MARGIN_DEG[4])
    )
    sieve = Sieve(str(own.path), {})
    sieve.candidates = len(selection.pairs)
    drawn = _balanced(selection.pairs, n, seed, sieve)
    sieve.check_any(drawn)
    unused = {**selection.report.broken, **selection.report.excluded, **sieve.told()}
    if Filter.NOT_DRAWN.value in unused:
        unused["not drawn (more with --size)"] = unused.pop(Filter.NOT_DRAWN.value)
    first = [*selection.report.broken, *(fault.value for fault in _FILE_FAULTS if fault.value in unused)]
    return OwnPairs(tuple(drawn), {reason: unused[reason] for reason in dict.fromkeys([*first, *unused])})


def _is_usable(pair: Pair, sieve: Sieve, vocabulary: Vocabulary = CARDINAL) -> bool:
    """Return True if a pair can be asked about; otherwise count it and return False."""
    nearest = vocabulary.between(pair.reference.box, pair.target.box)
    if nearest.margin_deg < _MARGIN_DEG[len(vocabulary.names)]:
        sieve.drop(Filter.BORDER)
    elif nearest.name != pair.direction:
        sieve.drop(Filter.AGAINST)
    else:
        return True
    return False


def _is_movable(pair: Pair) -> bool:
    """Return True if reference or target can be cut out whole and alone."""
    unfit = pair.meta.get("unfit")
    is_any_fit = not (isinstance(unfit, Mapping) and {"reference", "target"} <= set(unfit))
    return is_any_fit and is_clear(pair.reference.box, [pair.target.box], LEAST_GAP_PX)


def _balanced(pairs: Sequence[Pair], n: int, seed: int, sieve: Sieve) -> list[Pair]:
    """Return at most `n` pairs, in their order, with directions as even as possible; first those with a movable object."""
    rng = np.random.default_rng(seed)
    waiting: dict[str, list[int]] = {}
    for index in sorted(
        rng.permutation(len(pairs)).tolist(), key=lambda index: not _is_movable(pairs[index])
    ):
        waiting.setdefault(pairs[index].direction, []).append(index)
    turns = zip_longest(*(waiting[direction] for direction in sorted(waiting)))
    candidates = (index for turn in turns for index in turn if index is not None)
    readable = (index for index in candidates if _is_usable(pairs[index], sieve))
    drawn = sorted(islice(readable, n))
    sieve.drop(Filter.NOT_DRAWN, len(pairs) - len(drawn) - sieve.excluded.total())
    return [pairs[index] for index in drawn]

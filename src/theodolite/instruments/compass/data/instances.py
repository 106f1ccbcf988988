"""Names matched to the boxes of COCO instance annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from theodolite.core.errors import UsageError
from theodolite.geometry import Box
from theodolite.instruments.coco import AnnotatedPicture, Instance, Instances
from theodolite.instruments.compass.data.pairs import is_outside
from theodolite.instruments.compass.data.selection import Filter
from theodolite.pairs.directions import CARDINAL, Vocabulary

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
        """The category that a name stands for; None if there is none, or several."""
        if name in self._categories or self._policy.names == "exact":
            return name if name in self._categories else None
        found = [each for each in self._categories if name in each or each in name]
        return found[0] if len(found) == 1 else None

    def picture(self, file_name: str) -> AnnotatedPicture | None:
        """The annotated picture of that file name."""
        return self._pictures.get(Path(file_name).name)

    def objects(self, file_name: str, names: tuple[str, str]) -> Match | Filter:
        """The reference and the target in a picture, or the filter that rejects them.

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
        for each in (reference, target):
            if isinstance(each, Filter):
                return each
        return self._match(picture, cast("Instance", reference), cast("Instance", target))

    def _object(self, picture: AnnotatedPicture, category: str) -> Instance | Filter:
        """The object of a category in a picture, or the filter that rejects it."""
        candidates = [each for each in picture.named(category) if not each.is_crowd]
        if not candidates:
            return Filter.NO_BOX
        if self._policy.boxes == "unique" and picture.counts[category] > 1:
            return Filter.SEVERAL
        return max(candidates, key=lambda each: each.box_area)

    @staticmethod
    def _match(picture: AnnotatedPicture, reference: Instance, target: Instance) -> Match | Filter:
        if reference is target:
            return Filter.SEVERAL
        if reference.box is None or target.box is None:
            return Filter.EMPTY
        return Match(picture, reference, target, reference.box, target.box)

    def direction(self, match: Match, word: str) -> str | Filter:
        """The right answer about matched boxes, or the filter that rejects them.

        Args:
            match: Two boxes.
            word: The direction that the caption says. The answer is finer if it is a diagonal beside it; if the boxes
                contradict the caption and may do so, it is the caption's.
        """
        a, b, size = match.reference_box, match.target_box, match.picture.size_px
        if is_outside(a, size) or is_outside(b, size):
            return Filter.OUTSIDE
        if a.centre_px == b.centre_px:
            return Filter.NEAR
        agreed = self.vocabulary.agreed(word, a, b)
        return agreed or (Filter.AGAINST if self._policy.agree else word)

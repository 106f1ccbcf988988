"""COCO instance annotations, and the rules that match names to their boxes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast, get_args

from pydantic import Field

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, check, read_each, read_json, read_list
from theodolite.core.forms import Form, Name, Number, Whole
from theodolite.geometry import Box
from theodolite.instruments.compass.data.pairs import is_outside, polygons_of
from theodolite.instruments.compass.data.selection import AreaOf, Filter
from theodolite.pairs.directions import CARDINAL

Names: TypeAlias = Literal["exact", "substring"]
"""``exact``: a name is a category. ``substring``: or one is a part of the other, if that holds for one category only."""

Boxes: TypeAlias = Literal["unique", "largest"]
"""Where a picture has several objects of a category: take none, or the one with the largest box."""

DEGENERATE = (Filter.EMPTY, Filter.OUTSIDE, Filter.NEAR)
"""What can be wrong with boxes that were found."""


_Side: TypeAlias = Annotated[int, Field(ge=1, le=100_000)]


class _Image(Form):
    id: Whole | str
    file_name: Name
    width: _Side
    height: _Side


class _Annotation(Form):
    image_id: Whole | str
    category_id: Whole
    bbox: tuple[Number, Number, Number, Number]
    area: Number | None = None
    iscrowd: Whole = 0
    segmentation: Any = None


class _Category(Form):
    id: Whole
    name: Name


class _File(Form):
    images: list[Any]
    annotations: list[Any]
    categories: list[Any]


@dataclass(frozen=True, slots=True)
class Instance:
    """One annotated object."""

    name: str
    """Empty if the file does not have its category."""
    box: Box | None
    """None if it is empty."""
    is_crowd: bool
    box_area: float
    """Share of the picture."""
    mask_area: float | None
    """Share of the picture, as the annotation states it."""
    outline: tuple[tuple[float, ...], ...] = ()
    """Polygons x0, y0, x1, y1, … in pixels; empty where the annotation has none, or a run-length mask."""

    def area(self, of: AreaOf) -> float | None:
        """Share of the picture; None if the annotation does not state it."""
        return self.box_area if of == "box" else self.mask_area


@dataclass(frozen=True, slots=True)
class AnnotatedPicture:
    """A picture with all of its objects."""

    id: str
    file_name: str
    size_px: tuple[int, int]
    instances: tuple[Instance, ...]

    def named(self, name: str) -> list[Instance]:
        """All objects of a name."""
        return [each for each in self.instances if each.name == name]

    def other_boxes(self, *taken: Instance) -> tuple[Box, ...]:
        """The boxes of all objects but these, without empty ones."""
        return tuple(
            each.box
            for each in self.instances
            if each.box is not None and all(each is not one for one in taken)
        )

    @property
    def counts(self) -> Counter[str]:
        """The number of objects of each name, crowds included: beside a crowd of people no person is unique."""
        return Counter(each.name for each in self.instances)


@dataclass(frozen=True, slots=True)
class Instances:
    """The content of one or more annotation files."""

    pictures: tuple[AnnotatedPicture, ...]
    categories: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    """The broken records of the files."""

    def by_file_name(self) -> dict[str, AnnotatedPicture]:
        """The pictures by file name, without folders."""
        return {Path(picture.file_name).name: picture for picture in self.pictures}


def read_instances(annotations: str | Path | Sequence[str | Path]) -> Instances:
    """Reads one or more annotation files. Broken records are left out.

    A broken annotation still counts as an object without a box, since beside it no object of its name is unique.

    Raises:
        UsageError: A file does not have that format, or two of them annotate one picture.
    """
    paths = [annotations] if isinstance(annotations, str | Path) else annotations
    pictures: list[AnnotatedPicture] = []
    categories: dict[str, None] = {}
    problems: list[Problem] = []
    for path in map(Path, paths):
        value = read_json(path, "annotations")
        try:
            file = check(_File, value)
        except UsageError as error:
            raise UsageError(f"{path} does not have COCO's instances: {error}") from None
        named, wrong = read_list(file.categories, f"{path.name}: categories", _Category)
        problems += wrong
        categories |= dict.fromkeys(category.name for _, category in named)
        pictures += _pictures(file, path.name, {each.id: each.name for _, each in named}, problems)
    twice = [name for name, count in Counter(p.file_name for p in pictures).items() if count > 1]
    if twice:
        raise UsageError(f"the picture {twice[0]} is annotated twice in {', '.join(map(str, paths))}")
    return Instances(tuple(pictures), tuple(categories), tuple(problems))


def _pictures(
    file: _File, name: str, names: Mapping[int, str], problems: list[Problem]
) -> list[AnnotatedPicture]:
    listed, wrong = read_list(file.images, f"{name}: images", _Image)
    problems += wrong
    images: dict[int | str, _Image] = {}
    for where, image in listed:
        if image.id in images:
            problems.append(Problem(where, f"the id {image.id!r:.80} occurs twice; the first is kept"))
        images.setdefault(image.id, image)
    found: defaultdict[int | str, list[Instance]] = defaultdict(list)

    def read(raw: Any) -> None:
        try:
            each = check(_Annotation, raw)
        except UsageError:
            legible = raw if isinstance(raw, dict) else {}
            place, kind = (legible.get(key) for key in ("image_id", "category_id"))
            if isinstance(place, int | str) and place in images:
                known = names.get(kind, "") if isinstance(kind, int) else ""
                found[place].append(Instance(known, None, is_crowd=False, box_area=0.0, mask_area=None))
            raise
        if each.image_id not in images:
            raise UsageError(f"names the picture {each.image_id!r:.80}, which is not among the images")
        found[each.image_id].append(_instance(each, names, images[each.image_id]))

    rows = [(f"{name}: annotations[{number}]", raw) for number, raw in enumerate(file.annotations)]
    problems += read_each(rows, read)[1]
    return [
        AnnotatedPicture(str(image.id), image.file_name, (image.width, image.height), tuple(found[image.id]))
        for image in images.values()
    ]


def _instance(each: _Annotation, names: Mapping[int, str], image: _Image) -> Instance:
    x, y, width, height = each.bbox
    whole = image.width * image.height
    return Instance(
        names.get(each.category_id, ""),
        Box.from_xywh(x, y, width, height) if width > 0 and height > 0 else None,
        bool(each.iscrowd),
        width * height / whole,
        None if each.area is None else each.area / whole,
        polygons_of(each.segmentation),
    )


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

    def __init__(self, instances: Instances, policy: MatchPolicy) -> None:
        self.instances = instances
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

    def fault(self, match: Match, direction: str) -> Filter | None:
        """Why matched boxes do not make a pair; None if they do."""
        a, b, size = match.reference_box, match.target_box, match.picture.size_px
        if is_outside(a, size) or is_outside(b, size):
            return Filter.OUTSIDE
        if a.centre_px == b.centre_px:
            return Filter.NEAR
        if self._policy.agree and CARDINAL.between(a, b).name != direction:
            return Filter.AGAINST
        return None

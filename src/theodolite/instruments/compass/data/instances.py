"""COCO instance annotations: any file in that format."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.geometry import Box
from theodolite.instruments.compass.data.reading import Strict, parse, read_bytes
from theodolite.instruments.compass.data.selection import AreaOf


class _Image(Strict):
    id: int | str
    file_name: str
    width: int
    height: int


class _Annotation(Strict):
    id: int | str = ""
    image_id: int | str
    category_id: int
    bbox: tuple[float, float, float, float]
    area: float | None = None
    iscrowd: int = 0
    segmentation: Any = None


class _Category(Strict):
    id: int
    name: str


class _File(Strict):
    images: list[_Image]
    annotations: list[_Annotation]
    categories: list[_Category]


@dataclass(frozen=True, slots=True)
class Instance:
    """One annotated object."""

    name: str
    box: Box | None
    """None if it is empty."""
    is_crowd: bool
    box_area: float
    """Share of the picture."""
    mask_area: float | None
    """Share of the picture, as the annotation states it."""
    outline: tuple[tuple[float, ...], ...] = ()
    """Polygons x0, y0, x1, y1, … in pixels; none where the annotation has none, or a mask in another form."""

    def area(self, of: AreaOf) -> float | None:
        """Share of the picture, or None where it is not stated."""
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
        """The boxes of all objects but these; empty ones cover nothing and are not named."""
        return tuple(
            each.box
            for each in self.instances
            if each.box is not None and all(each is not one for one in taken)
        )

    @property
    def counts(self) -> Counter[str]:
        """How many objects have each name, crowds included: beside a crowd of people no person is unique."""
        return Counter(each.name for each in self.instances)


@dataclass(frozen=True, slots=True)
class Instances:
    """The content of one or more annotation files."""

    pictures: tuple[AnnotatedPicture, ...]
    categories: tuple[str, ...]

    def by_file_name(self) -> dict[str, AnnotatedPicture]:
        """The pictures by the name of their file, folders left out."""
        return {Path(picture.file_name).name: picture for picture in self.pictures}


def read_instances(paths: Sequence[Path]) -> Instances:
    """Reads annotation files.

    Raises:
        UsageError: a file is not in the format, or names a picture or category that it does not hold.
    """
    pictures: list[AnnotatedPicture] = []
    categories: dict[str, None] = {}
    for path in paths:
        file = parse(_File, read_bytes(path, "annotations"), str(path))
        categories |= dict.fromkeys(category.name for category in file.categories)
        pictures += _pictures(file, path)
    twice = [name for name, count in Counter(p.file_name for p in pictures).items() if count > 1]
    if twice:
        raise UsageError(f"the picture {twice[0]} is annotated twice in {', '.join(map(str, paths))}")
    return Instances(tuple(pictures), tuple(categories))


def _pictures(file: _File, path: Path) -> list[AnnotatedPicture]:
    names = {category.id: category.name for category in file.categories}
    images = {image.id: image for image in file.images}
    found: defaultdict[int | str, list[Instance]] = defaultdict(list)
    for number, each in enumerate(file.annotations):
        where = f"{path}: annotations[{number}]"
        if each.image_id not in images or each.category_id not in names:
            raise UsageError(
                f"{where} names the picture {each.image_id} and the category {each.category_id}; one is not there"
            )
        image = images[each.image_id]
        if image.width < 1 or image.height < 1:
            raise UsageError(
                f"{path}: the picture {image.file_name} has the size {image.width}×{image.height}"
            )
        x, y, width, height = each.bbox
        whole = image.width * image.height
        found[each.image_id].append(
            Instance(
                names[each.category_id],
                Box.from_xywh(x, y, width, height) if width > 0 and height > 0 else None,
                bool(each.iscrowd),
                width * height / whole,
                None if each.area is None else each.area / whole,
                _polygons(each.segmentation),
            )
        )
    return [
        AnnotatedPicture(str(image.id), image.file_name, (image.width, image.height), tuple(found[image.id]))
        for image in file.images
    ]


def _polygons(segmentation: Any) -> tuple[tuple[float, ...], ...]:
    """The polygons of an annotation; a run-length mask, which COCO has for crowds, is none."""
    if not isinstance(segmentation, list):
        return ()
    return tuple(
        tuple(float(value) for value in polygon)
        for polygon in segmentation
        if isinstance(polygon, list) and len(polygon) >= 6 and len(polygon) % 2 == 0
    )

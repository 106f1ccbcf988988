"""COCO instance annotations: pictures with the boxes, outlines and names of their objects."""

from __future__ import annotations

import mmap
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, check, is_there, read_each, read_json, read_list
from theodolite.core.types import Picture
from theodolite.core.views import Form, Name, Number, Whole
from theodolite.geometry import Box
from theodolite.geometry.directions import CARDINAL, OPPOSITE
from theodolite.pairs.pictures.neutral import neutral_exchange, neutral_move, neutral_removal
from theodolite.pairs.pictures.objects import (
    Cutout,
    Edited,
    Fill,
    Studio,
    Unfit,
    UnfitError,
    fault_of,
    find_move,
    overlap,
    try_exchange,
    try_remove,
)
from theodolite.pairs.pictures.quality import Quality
from theodolite.pairs.pictures.whole import polygons_of

__all__ = [
    "AnnotatedPicture",
    "AreaOf",
    "Instance",
    "Instances",
    "find_coco",
    "read_instances",
]

AreaOf: TypeAlias = Literal["box", "mask"]
"""What an object's area is: its box, or the area that the annotation states (COCO: of the mask)."""
_COCO_PARTS = (b"images", b"annotations", b"categories")
_KNOWN_SHAPES, _SLIVER = 5, 0.4
"""An object is a sliver if its box is narrower than this share of what is usual for its kind, where so many are known."""


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

    @property
    def narrowness(self) -> float:
        """The shorter side of its box as a share of the longer one; 0 without a box."""
        if self.box is None:
            return 0.0
        return min(self.box.width_px, self.box.height_px) / max(self.box.width_px, self.box.height_px)

    def cutout(self) -> Cutout:
        """Return how it is cut out.

        Raises:
            UsageError: It has no box.
        """
        if self.box is None:
            raise UsageError(f"a {self.name} has no box")
        return Cutout(self.box, self.outline)

    def area(self, of: AreaOf) -> float | None:
        """Return the share of the picture; None if the annotation does not state it."""
        return self.box_area if of == "box" else self.mask_area


@dataclass(frozen=True, slots=True)
class AnnotatedPicture:
    """A picture with all of its objects."""

    id: str
    file_name: str
    size_px: tuple[int, int]
    instances: tuple[Instance, ...]

    def named(self, name: str) -> list[Instance]:
        """Return all objects of a name."""
        return [instance for instance in self.instances if instance.name == name]

    def other_boxes(self, *taken: Instance) -> tuple[Box, ...]:
        """Return the boxes of all objects but these, without empty ones."""
        return tuple(
            instance.box
            for instance in self.instances
            if instance.box is not None and all(instance is not one for one in taken)
        )

    def other_cutouts(self, *taken: Instance) -> tuple[Cutout, ...]:
        """Return all objects but these, in the order of `other_boxes`; a crowd without its outline."""
        return tuple(
            Cutout(instance.box, () if instance.is_crowd else instance.outline)
            for instance in self.instances
            if instance.box is not None and all(instance is not one for one in taken)
        )

    def unfit(self, thing: Instance, usual: Mapping[str, float]) -> Unfit | None:
        """Return why an object cannot be cut out whole and alone; None if it can.

        Args:
            thing: One of its objects.
            usual: `Instances.narrowness` of all kinds.
        """
        if thing.box is None:
            return Unfit.CUT_OFF
        if any(
            each.is_crowd and each.box is not None and overlap(thing.box, each.box) > 0
            for each in self.instances
        ):
            return Unfit.CROWD
        if thing.narrowness < _SLIVER * usual.get(thing.name, 0.0):
            return Unfit.SLIVER
        return fault_of(thing.cutout(), self.size_px, self.other_cutouts(thing))

    @property
    def counts(self) -> Counter[str]:
        """The number of objects of each name, crowds included: beside a crowd of people no person is unique."""
        return Counter(instance.name for instance in self.instances)


@dataclass(frozen=True, slots=True)
class Instances:
    """The content of one or more annotation files."""

    pictures: tuple[AnnotatedPicture, ...]
    categories: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    """The broken records of the files."""

    def narrowness(self) -> dict[str, float]:
        """Return how narrow the boxes of each kind usually are, where enough are known: the median."""
        shapes: defaultdict[str, list[float]] = defaultdict(list)
        for picture in self.pictures:
            for thing in picture.instances:
                if thing.box is not None and not thing.is_crowd:
                    shapes[thing.name].append(thing.narrowness)
        return {name: median(each) for name, each in shapes.items() if len(each) >= _KNOWN_SHAPES}

    def by_file_name(self) -> dict[str, AnnotatedPicture]:
        """Return the pictures by file name, without folders."""
        return {Path(picture.file_name).name: picture for picture in self.pictures}


def read_instances(annotations: str | Path | Sequence[str | Path]) -> Instances:
    """Read one or more annotation files. Broken records are left out.

    A broken annotation still counts as an object without a box, because other objects of that name are then not unique.

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
    objects: defaultdict[int | str, list[Instance]] = defaultdict(list)

    def read(raw: Any) -> None:
        try:
            annotation = check(_Annotation, raw)
        except UsageError:
            legible = raw if isinstance(raw, dict) else {}
            image_id, kind = (legible.get(key) for key in ("image_id", "category_id"))
            if isinstance(image_id, int | str) and image_id in images:
                category = names.get(kind, "") if isinstance(kind, int) else ""
                objects[image_id].append(
                    Instance(category, None, is_crowd=False, box_area=0.0, mask_area=None)
                )
            raise
        if annotation.image_id not in images:
            raise UsageError(f"names the picture {annotation.image_id!r:.80}, which is not among the images")
        objects[annotation.image_id].append(_instance(annotation, names, images[annotation.image_id]))

    rows = [(f"{name}: annotations[{number}]", raw) for number, raw in enumerate(file.annotations)]
    problems += read_each(rows, read)[1]
    return [
        AnnotatedPicture(
            str(image.id), image.file_name, (image.width, image.height), tuple(objects[image.id])
        )
        for image in images.values()
    ]


def _instance(annotation: _Annotation, names: Mapping[int, str], image: _Image) -> Instance:
    x, y, width, height = annotation.bbox
    whole = image.width * image.height
    return Instance(
        names.get(annotation.category_id, ""),
        Box.from_xywh(x, y, width, height) if width > 0 and height > 0 else None,
        bool(annotation.iscrowd),
        width * height / whole,
        None if annotation.area is None else annotation.area / whole,
        polygons_of(annotation.segmentation),
    )


# The edits of single objects that annotated photographs allow, each with its neutral one.


_ASKED_AREA = 0.01
"""The least share of the picture that an object covers which is asked about."""


@dataclass(frozen=True, slots=True)
class EditTrial:
    """An edit of an annotated photograph that was tried."""

    picture: AnnotatedPicture
    names: tuple[str, ...]
    """The objects that a question about it would be about."""
    edited: Edited
    is_neutral: bool = False


def try_edits(
    picture: AnnotatedPicture,
    shown: Picture,
    usual: Mapping[str, float],
    *,
    fill: Fill = "copied",
    seed: int = 0,
) -> Iterator[EditTrial]:
    """Yield every removal, move and exchange of the objects that are alone of their kind, and the neutral one to each that is fit.

    Args:
        picture: The annotations.
        shown: The photograph.
        usual: `Instances.narrowness` of the data.
        fill: What fills places.
        seed: Seed of the fill.
    """
    trials = _Trials(picture, shown, usual, {"fill": fill, "seed": seed})
    for thing in trials.alone:
        yield from trials.removal(thing)
        for other in trials.alone:
            if other is not thing:
                yield from trials.move(thing, other)
    for one, other in combinations(trials.free, 2):
        yield from trials.exchange(one, other)


class _Trials:
    """Tries edits of one photograph."""

    def __init__(
        self, picture: AnnotatedPicture, shown: Picture, usual: Mapping[str, float], how: Mapping[str, Any]
    ) -> None:
        self._picture, self._shown, self._how = picture, shown, how
        self.alone = [
            each
            for each in picture.instances
            if each.name and picture.counts[each.name] == 1 and each.box_area >= _ASKED_AREA
        ]
        self._unfit = {each.name: picture.unfit(each, usual) for each in self.alone}
        self.free = [each for each in self.alone if self._unfit[each.name] is None]

    def removal(self, thing: Instance) -> Iterator[EditTrial]:
        reason = self._unfit[thing.name]
        if reason is not None:
            yield self._trial(_refused("remove", thing, reason), thing)
            return
        removed = try_remove(self._shown, thing.cutout(), others=self._others(thing), **self._how)
        yield self._trial(removed, thing)
        if removed.is_fit:
            spare, others = self._spare(thing)
            neutral = neutral_removal(self._shown, thing.cutout(), spare, others=others, **self._how)
            yield self._trial(neutral, thing, is_neutral=True)

    def move(self, thing: Instance, other: Instance) -> Iterator[EditTrial]:
        """Move an object to the opposite side of another one."""
        reason = self._unfit[thing.name]
        if reason is not None:
            yield self._trial(_refused("move", thing, reason), thing, other)
            return
        cutout, fixed, others = thing.cutout(), other.cutout(), self._others(thing, other)
        ways = [OPPOSITE[CARDINAL.between(fixed.box, cutout.box).name]]
        try:
            step = find_move(
                cutout, fixed, self._picture.size_px, directions=ways, others=others, picture=self._shown
            )
        except UnfitError as error:
            yield self._trial(_refused("move", thing, error.reason), thing, other)
            return
        moved = Studio(self._shown, (cutout,), others=[fixed, *others], **self._how).attempt("move", [step])
        yield self._trial(moved, thing, other)
        if moved.is_fit:
            spare, others = self._spare(thing, other)
            neutral = neutral_move(
                self._shown, cutout, fixed, step, unrelated=spare, others=others, **self._how
            )
            yield self._trial(neutral, thing, other, is_neutral=True)

    def exchange(self, one: Instance, other: Instance) -> Iterator[EditTrial]:
        first, second = one.cutout(), other.cutout()
        swapped = try_exchange(self._shown, first, second, others=self._others(one, other), **self._how)
        yield self._trial(swapped, one, other)
        if swapped.is_fit:
            spare, others = self._spare(one, other)
            neutral = neutral_exchange(self._shown, first, second, spare, others=others, **self._how)
            yield self._trial(neutral, one, other, is_neutral=True)

    def _others(self, *taken: Instance) -> tuple[Cutout, ...]:
        return self._picture.other_cutouts(*taken)

    def _spare(self, *asked: Instance) -> tuple[list[Cutout], tuple[Cutout, ...]]:
        """Return the objects that may be edited in place of those asked about, and all further ones."""
        spare = [each for each in self.free if all(each is not one for one in asked)]
        return [each.cutout() for each in spare], self._others(*asked, *spare)

    def _trial(self, edited: Edited, *about: Instance, is_neutral: bool = False) -> EditTrial:
        return EditTrial(self._picture, tuple(each.name for each in about), edited, is_neutral)


def _refused(kind: Literal["remove", "move"], thing: Instance, reason: Unfit) -> Edited:
    changed = () if thing.box is None else ((thing.cutout(), None),)
    return Edited(kind, changed, Quality(refused=reason))


def find_coco(path: Path, images: Path | None) -> tuple[Path, Path] | None:
    """Return the COCO annotation file at a path or in a folder, and the folder of its pictures; None if there is none.

    Args:
        path: A file, or a folder that holds one.
        images: The folder of the pictures. Default: the one that holds the first of them.

    Raises:
        UsageError: If a folder holds several such files, or the pictures are not found.
    """
    if not path.is_dir():
        return _with_pictures(path, images) if path.suffix == ".json" and _is_coco(path) else None
    files = [
        file
        for folder in (path, path / "annotations")
        if folder.is_dir()
        for file in sorted(folder.glob("*.json"))
        if _is_coco(file)
    ]
    files = [file for file in files if "instances" in file.name] or files
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise UsageError(f"{path} holds several files of COCO instances ({names}); name one of them")
    return _with_pictures(files[0], images) if files else None


def _is_coco(path: Path) -> bool:
    """Return True if a file has the three parts of COCO instances. It may be large, and is not read into memory."""
    with _bytes_of(path) as data:
        return data is not None and all(data.find(b'"%b"' % part) >= 0 for part in _COCO_PARTS)


def _with_pictures(path: Path, images: Path | None) -> tuple[Path, Path]:
    if images is not None:
        return path, images
    with _bytes_of(path) as data:
        names = [
            match[1].decode("utf-8", "replace")
            for match in islice(re.finditer(rb'"file_name"\s*:\s*"([^"\\]+)"', data or b""), 200)
        ]
    for folder in _picture_folders(path):
        if any(is_there(folder / name) for name in names):
            return path, folder
    raise UsageError(
        f"the pictures of {path} are not beside it; say where they are: --data {path}@FOLDER, with the folder that holds "
        f"{names[0] if names else 'them'}"
    )


@contextmanager
def _bytes_of(path: Path) -> Iterator[mmap.mmap | None]:
    """Map a file into memory; None if it is empty or cannot be read."""
    with ExitStack() as stack:
        data = None
        try:
            file = stack.enter_context(path.open("rb"))
            data = stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError):
            pass
        yield data


def _picture_folders(path: Path) -> Iterator[Path]:
    """Yield the folders where COCO's pictures usually are: beside the annotations, or beside their folder."""
    for home in (path.parent, path.parent.parent):
        yield home
        try:
            yield from sorted(child for child in home.iterdir() if child.is_dir())
        except OSError:
            continue

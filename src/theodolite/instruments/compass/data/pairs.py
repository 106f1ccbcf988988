"""Pairs of objects and the question about them: their selection from annotations, and their files."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.files import (
    Problem,
    check,
    counted_problems,
    inside,
    is_there,
    lines_of,
    parse_json,
    read_each,
    told_problems,
)
from theodolite.core.pictures import NotAPictureError
from theodolite.core.tables import Column, Table
from theodolite.core.types import Json, Picture
from theodolite.core.views import Number
from theodolite.geometry import Box, direction_deg
from theodolite.geometry.directions import CARDINAL, EIGHT, Vocabulary, check_direction
from theodolite.instruments.coco import AreaOf
from theodolite.pairs.pictures import Cutout, Unfit
from theodolite.pairs.pictures.whole import polygons_of

# A pair of objects and the question about it: in this picture, where is the target relative to the reference?


_ASTRAY_DEG = 90.0


@dataclass(frozen=True, slots=True)
class Region:
    """A named object and its box."""

    name: str
    box: Box

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise UsageError(f"an object needs a name, got {self.name!r} at {self.box}")


def is_outside(box: Box, size_px: tuple[int, int]) -> bool:
    """Return True if no part of a box is in a picture of this width and height."""
    return box.x1 <= 0 or box.y1 <= 0 or box.x0 >= size_px[0] or box.y0 >= size_px[1]


@dataclass(frozen=True, slots=True)
class Pair:
    """A reference A and a target B in one picture, and the direction from A to B."""

    id: str
    picture: Picture
    size_px: tuple[int, int]
    """Width and height."""
    reference: Region
    """A: the object that the direction is seen from."""
    target: Region
    """B: the object whose direction is asked for."""
    direction: str
    """The right answer: where B is, seen from A, in words of some `Vocabulary`."""
    others: tuple[Box, ...] = ()
    """Every other box of the picture. What lies outside all boxes is background."""
    group: str = ""
    """A label for reports."""
    source: str = ""
    """Where the pair comes from."""
    meta: Mapping[str, Json] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not self.id.strip() or not self.direction.strip():
            raise UsageError(f"a pair needs an id and a direction, got {self.id!r} and {self.direction!r}")
        if min(self.size_px) < 1:
            raise UsageError(f"the picture of the pair {self.id!r} has the size {self.size_px}")
        width, height = self.size_px
        for role, box in (("reference", self.reference.box), ("target", self.target.box)):
            if is_outside(box, self.size_px):
                raise UsageError(
                    f"the {role} of the pair {self.id!r} lies outside its picture of {width}×{height}: {box}"
                )

    @property
    def true_deg(self) -> float:
        """θ_true = atan2(−(y_B − y_A), x_B − x_A) of the boxes' centres, in [0, 360).

        >>> picture = Picture("bytes-0")
        >>> a, b = Region("cup", Box(0, 0, 10, 10)), Region("pen", Box(20, 0, 30, 10))
        >>> Pair("p", picture, (40, 20), a, b, "right").true_deg
        0.0
        """
        return float(direction_deg(self.reference.box.centre_px, self.target.box.centre_px))

    @property
    def distance_px(self) -> float:
        """d_AB: from centre to centre."""
        return math.dist(self.reference.box.centre_px, self.target.box.centre_px)


def cutouts(pair: Pair) -> tuple[Cutout, Cutout]:
    """Return reference and target as cut-outs: by ``meta["outlines"]`` if both have one, else by their boxes."""
    stored = pair.meta.get("outlines")
    by_role = stored if isinstance(stored, Mapping) else {}
    outlines = [polygons_of(by_role.get(role)) for role in ("reference", "target")]
    if not all(outlines):
        outlines = [(), ()]
    return Cutout(pair.reference.box, outlines[0]), Cutout(pair.target.box, outlines[1])


def other_cutouts(pair: Pair) -> tuple[Cutout, ...]:
    """Return all other objects as cut-outs, with the outlines of ``meta["outlines"]`` where they are known."""
    stored = pair.meta.get("outlines")
    listed = stored.get("others") if isinstance(stored, Mapping) else None
    outlines = (
        listed if isinstance(listed, list) and len(listed) == len(pair.others) else [None] * len(pair.others)
    )
    return tuple(
        Cutout(box, polygons_of(outline)) for box, outline in zip(pair.others, outlines, strict=True)
    )


def unfit_role(pair: Pair, role: Literal["reference", "target"]) -> Unfit | None:
    """Return why the reference or the target cannot be cut out, if it was said in ``meta["unfit"]``."""
    stored = pair.meta.get("unfit")
    said = stored.get(role) if isinstance(stored, Mapping) else None
    return next((reason for reason in Unfit if reason.value == said), None)


def pair_cautions(pairs: Iterable[Pair], *, vocabulary: Vocabulary = EIGHT) -> dict[str, tuple[str, ...]]:
    """Return the ids of pairs whose words do not fit their boxes, by reason.

    Such pairs can be asked about but not scored well. A caption may mean an object's own left, or depth, and be true;
    the compass only knows the centres of the boxes.

    Args:
        pairs: All pairs.
        vocabulary: The angles of the direction names; names that are not in it are not checked.
    """
    cautions: dict[str, list[str]] = {}
    for pair in pairs:
        angle = vocabulary.angles_deg.get(pair.direction)
        if pair.distance_px == 0:
            cautions.setdefault("the boxes have the same centre: there is no direction", []).append(pair.id)
        elif angle is not None and float(stats.circular_distance(angle, pair.true_deg)) > _ASTRAY_DEG:
            cautions.setdefault("the direction is more than 90° from where the boxes lie", []).append(pair.id)
    return {reason: tuple(ids) for reason, ids in cautions.items()}


# Which pairs a source gives, and why the other candidates were left out.


class Filter(StrEnum):
    """Why a candidate is left out, in the order of the checks. The value is the reason in words."""

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
        """Return the filter that rejects an object of this share of the picture, or None."""
        if share < self.min_area:
            return Filter.SMALL
        return Filter.LARGE if share > self.max_area else None

    def pair_fault(
        self, reference: Box, target: Box, size_px: tuple[int, int], vocabulary: Vocabulary = CARDINAL
    ) -> Filter | None:
        """Return the filter that rejects a pair of boxes, or None.

        Args:
            reference: A's box.
            target: B's box.
            size_px: Width and height of the picture.
            vocabulary: The names of directions.
        """
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
    """The outcome of every candidate."""

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

    def table(self) -> Table:
        """Return a table of candidates, what was left out, and what was kept."""
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
        """Count candidates that a filter rejected."""
        if count:
            self.excluded[reason] += count

    def drop_broken(self, problems: Sequence[Problem]) -> None:
        """Count candidates whose record is broken, and note where the first ones are."""
        self.candidates += len(problems)
        self.drop(Filter.BROKEN, len(problems))
        self.tell_broken(problems)

    def tell_broken(self, problems: Sequence[Problem]) -> None:
        """Count broken records that are not candidates themselves, and note where the first ones are."""
        self.broken |= counted_problems(problems)
        self.notes += told_problems(problems)

    def check_any(self, pairs: Sequence[Pair]) -> None:
        """Raise a `UsageError` that says why no pair is left."""
        if not pairs:
            lost = "; ".join(f"{count} × {reason}" for reason, count in self.told().items())
            message = (
                f"{self.source}: none of {self.candidates} candidates is left{': ' + lost if lost else ''}"
            )
            raise UsageError(". ".join([message, *self.notes]))

    def finish(
        self, pairs: Sequence[Pair], *, n: int | None, seed: int, audit: Mapping[str, Json] | None = None
    ) -> Selection:
        """Draw a balanced sample if `n` is given, and report.

        Args:
            pairs: The candidates that passed.
            n: Sample size, balanced over the directions; all pairs if None.
            seed: Seed of the draw.
            audit: Added to the report.

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
        """Count the rejections, in the order of the filters."""
        return {reason.value: self.excluded[reason] for reason in Filter if self.excluded[reason]}


def balanced_sample(pairs: Sequence[Pair], n: int, *, seed: int) -> list[Pair]:
    """Draw n pairs in their order, equally many of each direction; the first directions get one more if n does not divide.

    Args:
        pairs: The pairs to draw from.
        n: Sample size.
        seed: Seed of the draw.

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
    for index, name in enumerate(names):
        wanted = n // len(names) + (index < n % len(names))
        if wanted > len(by_direction[name]):
            fewest = min(map(len, by_direction.values()))
            raise UsageError(
                f"{n} balanced pairs need {wanted} {name!r}, and there are {len(by_direction[name])}; "
                f"take --size {fewest * len(names)} at most, or leave --size out to take all pairs"
            )
        chosen += rng.permutation(by_direction[name])[:wanted].tolist()
    return [pairs[i] for i in sorted(chosen)]


# Finding the pictures that annotation files name.


class PictureFolder:
    """A folder of pictures, which may be links. Every file is decoded once. Names cannot lead out of the folder."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"there is no folder of pictures {folder}")
        self.folder = folder
        self._found: dict[str, tuple[Picture, tuple[int, int]] | UsageError] = {}
        self._first_missing = ""
        self._wrong: dict[str, str] = {}

    def find(self, name: str) -> tuple[Picture, tuple[int, int]]:
        """Return a picture and its width and height.

        Raises:
            UsageError: The file is not there, is not a whole picture, or its name leads out of the folder.
        """
        if name not in self._found:
            self._found[name] = self._decoded(name)
        entry = self._found[name]
        if isinstance(entry, UsageError):
            raise entry.with_traceback(None)
        return entry

    def _decoded(self, name: str) -> tuple[Picture, tuple[int, int]] | UsageError:
        """Return a picture after decoding all of it, or what is wrong: a truncated file may have an intact header."""
        try:
            picture = Picture.from_path(self._place(name))
            height, width = picture.pixels().shape[:2]
        except UsageError as error:
            return error
        return picture, (width, height)

    def fault(self, name: str, size_px: tuple[int, int] | None) -> Filter | None:
        """Return why a picture cannot be used; None if it can.

        Args:
            name: Relative to the folder.
            size_px: Width and height as annotated; None if they are not.
        """
        try:
            path = self._place(name)
        except UsageError:
            return Filter.ELSEWHERE
        if name not in self._found and not is_there(path):
            self._first_missing = self._first_missing or name
            return Filter.MISSING
        try:
            size = self.find(name)[1]
        except UsageError as error:
            self._wrong.setdefault(name, str(error))
            if not isinstance(error, NotAPictureError):
                return Filter.DAMAGED
            return Filter.NO_PICTURE if path.stat().st_size else Filter.EMPTY_FILE
        return None if size_px in {None, size} else Filter.ANOTHER_SIZE

    def note(self) -> tuple[str, ...]:
        """Name the first picture that was not found and the first that cannot be used, if any."""
        notes = []
        if self._first_missing:
            notes.append(
                f"pictures were looked for in {self.folder}; the first not found is {self._first_missing}"
            )
        if self._wrong:
            n, first = len(self._wrong), next(iter(self._wrong.values()))
            notes.append(f"{n} {'picture' if n == 1 else 'pictures'} cannot be used; the first: {first}")
        return tuple(notes)

    def _place(self, name: str) -> Path:
        try:
            return inside(self.folder, name, "picture")
        except UsageError as error:
            raise UsageError(f"{error}, or name its folder with --images") from None


# Pairs in a plain JSONL file, which can be written by hand.
#
# One object a line::
#
#     {"id": "1", "picture": "cups/1.jpg", "direction": "left",
#      "reference": {"name": "cup", "box": [10, 20, 60, 90]}, "target": {"name": "pen", "xywh": [100, 30, 20, 60]}}
#
# ``box`` is x0, y0, x1, y1 and ``xywh`` is corner and size, in pixels. Optional: ``direction`` (one of the eight of `EIGHT`, such
# as ``left`` or ``above left``; default: the nearest of left, right, above, below by the boxes), ``width`` and ``height``
# (default: those of the picture), ``others`` (boxes of everything else in the picture), ``group``, ``source``, ``meta`` (anything).


FILE_NAME = "pairs.jsonl"
_Four = tuple[Number, Number, Number, Number]


class _Region(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    name: str = Field(min_length=1)
    box: _Four | None = None
    xywh: _Four | None = None

    def region(self) -> Region:
        if (self.box is None) == (self.xywh is None):
            raise UsageError(
                f"the object {self.name!r} needs either box (x0, y0, x1, y1) or xywh (corner and size)"
            )
        return Region(
            self.name, Box(*self.box) if self.box is not None else Box.from_xywh(*(self.xywh or ()))
        )


class _Row(BaseModel):
    """One line of the file."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, coerce_numbers_to_str=True)

    id: str = Field(min_length=1)
    picture: str = Field(min_length=1)
    width: int | None = Field(default=None, ge=1, le=100_000)
    height: int | None = Field(default=None, ge=1, le=100_000)
    reference: _Region
    target: _Region
    direction: str = ""
    others: list[_Four] = []
    group: str = ""
    source: str = ""
    meta: dict[str, JsonValue] = {}


def read_pairs(
    path: str | Path,
    *,
    images: str | Path | None = None,
    sieve: Sieve | None = None,
    problems: list[Problem] | None = None,
) -> list[Pair]:
    """Read a pair file, or the ``pairs.jsonl`` of a folder.

    Args:
        path: The file or its folder.
        images: The folder that the pictures' names are relative to; the file's own if not given.
        sieve: If given, invalid lines, and pairs whose picture is missing, damaged or of another size, or whose boxes are
            outside of it or have no direction, are left out and counted here.
        problems: If given, invalid lines are left out, and their problems are added here.

    Raises:
        UsageError: If a line is invalid and neither a sieve nor a list of problems is given; if the file cannot be read; or
            if no pair is left and no sieve is given.
    """
    path = Path(path)
    if path.is_dir():
        path /= FILE_NAME
    folder = PictureFolder(path.parent if images is None else Path(images))
    pairs: dict[str, Pair] = {}

    def read(line: bytes) -> None:
        pair = _read_row(check(_Row, parse_json(line)), folder, sieve)
        if pair is not None and pair.id in pairs:
            raise UsageError(f"the id {pair.id!r:.80} occurs twice")
        if pair is not None:
            pairs[pair.id] = pair

    _, wrong = read_each(lines_of(path, "pairs"), read)
    if sieve is not None:
        sieve.drop_broken(wrong)
        sieve.notes += folder.note()
    elif wrong and problems is None:
        raise UsageError(f"{path.parent / str(wrong[0])}")
    elif not pairs:
        raise UsageError(f"{path} holds no pair" + (f": {wrong[0]}" if wrong else ""))
    if problems is not None:
        problems += wrong
    return list(pairs.values())


def write_pairs(pairs: Iterable[Pair], folder: str | Path, *, images: str | Path | None = None) -> Path:
    """Write ``pairs.jsonl`` with the pictures beside it, so that the folder can be moved as a whole.

    Args:
        pairs: The pairs to write.
        folder: Where to write.
        images: If given, pictures are not copied but named relative to this folder; read the file with the same
            ``images``.

    Returns:
        The pair file.
    """
    folder = Path(folder)
    path = folder / FILE_NAME
    names: dict[str, str] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for pair in pairs:
                if images is not None:
                    name = _relative(pair, Path(images))
                else:
                    name = names.get(pair.picture.digest) or _copy(pair.picture, folder, set(names.values()))
                    names[pair.picture.digest] = name
                file.write(json.dumps(_row(pair, name), ensure_ascii=False, allow_nan=False) + "\n")
    except OSError as error:
        raise UsageError(f"cannot write the pairs into {folder}: {error.strerror}") from error
    return path


def _read_row(row: _Row, folder: PictureFolder, sieve: Sieve | None) -> Pair | None:
    """Return the pair of a line; None if a sieve is given and the pair cannot be used.

    Raises:
        UsageError: If the line is invalid.
    """
    fault = _fault(row, folder) if sieve is not None else None
    pair = _pair(row, folder) if fault is None else None
    if sieve is not None:
        sieve.candidates += 1
        if fault is not None:
            sieve.drop(fault)
    return pair


def _fault(row: _Row, folder: PictureFolder) -> Filter | None:
    """Return why a pair cannot be used; None if it can.

    Raises:
        UsageError: If the line itself is invalid.
    """
    if row.direction and row.direction not in EIGHT.names:
        return Filter.NO_DIRECTION
    is_sized = row.width is not None and row.height is not None
    fault = folder.fault(row.picture, (row.width or 0, row.height or 0) if is_sized else None)
    if fault is not None:
        return fault
    a, b = row.reference.region().box, row.target.region().box
    if any(is_outside(box, folder.find(row.picture)[1]) for box in (a, b)):
        return Filter.OUTSIDE
    return Filter.NEAR if a.centre_px == b.centre_px else None


def _pair(row: _Row, folder: PictureFolder) -> Pair:
    if row.direction:
        check_direction(row.direction)
    picture, size = folder.find(row.picture)
    stated = (row.width or size[0], row.height or size[1])
    if stated != size:
        raise UsageError(
            f"the picture {row.picture} is {size[0]}×{size[1]}, but the line says {stated[0]}×{stated[1]}"
        )
    reference, target = row.reference.region(), row.target.region()
    return Pair(
        id=row.id,
        picture=picture,
        size_px=size,
        reference=reference,
        target=target,
        direction=row.direction or CARDINAL.between(reference.box, target.box).name,
        others=tuple(Box(*corners) for corners in row.others),
        group=row.group,
        source=row.source,
        meta=row.meta,
    )


def _row(pair: Pair, picture: str) -> dict[str, Any]:
    regions = {
        role: {"name": region.name, "box": _corners(region.box)}
        for role, region in (("reference", pair.reference), ("target", pair.target))
    }
    return {
        "id": pair.id,
        "picture": picture,
        "width": pair.size_px[0],
        "height": pair.size_px[1],
        **regions,
        "direction": pair.direction,
        "others": [_corners(box) for box in pair.others],
        "group": pair.group,
        "source": pair.source,
        "meta": dict(pair.meta),
    }


def _corners(box: Box) -> list[float]:
    return [box.x0, box.y0, box.x1, box.y1]


def _relative(pair: Pair, images: Path) -> str:
    if pair.picture.path is None:
        raise UsageError(f"the picture of the pair {pair.id!r} is in memory only and has no path; copy it")
    return inside(images, str(pair.picture.path.absolute()), "picture").relative_to(images).as_posix()


def _copy(picture: Picture, folder: Path, taken: set[str]) -> str:
    """Copy a picture into ``pictures/`` under its own name, or under its digest if it has none or the name is taken."""
    pictures_folder = folder / "pictures"
    pictures_folder.mkdir(exist_ok=True)
    suffix = f".{picture.media_type.partition('/')[2]}"
    name = picture.path.name if picture.path is not None else ""
    if not name or f"pictures/{name}" in taken:
        name = picture.digest.partition("-")[2][:24] + suffix
    target = pictures_folder / name
    if picture.path is None:
        target.write_bytes(picture.read())
    elif not (target.exists() and target.samefile(picture.path)):
        shutil.copyfile(picture.path, target)
    return f"pictures/{name}"

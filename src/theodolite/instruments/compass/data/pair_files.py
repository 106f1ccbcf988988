"""Pairs in a plain JSONL file, which can be written by hand.

One object a line::

    {"id": "1", "picture": "cups/1.jpg", "direction": "left",
     "reference": {"name": "cup", "box": [10, 20, 60, 90]}, "target": {"name": "pen", "xywh": [100, 30, 20, 60]}}

``box`` is x0, y0, x1, y1 and ``xywh`` is corner and size, in pixels. Optional: ``direction`` (one of the eight of `EIGHT`, such
as ``left`` or ``above left``; default: the nearest of left, right, above, below by the boxes), ``width`` and ``height``
(default: those of the picture), ``others`` (boxes of everything else in the picture), ``group``, ``source``, ``meta`` (anything).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, check, inside, lines_of, parse_json, read_each
from theodolite.core.forms import Number
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.instruments.compass.data.files import PictureFolder
from theodolite.instruments.compass.data.pairs import Pair, Region, is_outside
from theodolite.instruments.compass.data.selection import Filter, Sieve
from theodolite.pairs.directions import CARDINAL, EIGHT, check_direction

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
    """Reads a pair file, or the ``pairs.jsonl`` of a folder.

    Args:
        path: The file or its folder.
        images: The folder that the pictures' names are relative to; the file's own if not given.
        sieve: If given, pairs whose picture is missing, damaged or of another size, or whose boxes are outside of it or
            have no direction, are left out and counted here; and so are lines that are wrong.
        problems: If given, lines that are wrong are left out, and what is wrong with them is added here.

    Raises:
        UsageError: Without a sieve or a list of problems: a line is wrong. The file cannot be read, or, without a sieve, no
            pair is left.
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
    """Writes ``pairs.jsonl`` with the pictures beside it, so that the folder can be moved as a whole.

    Args:
        pairs: To write.
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
    """The pair of a line; None if a sieve is given and the pair cannot be used.

    Raises:
        UsageError: The line is wrong.
    """
    fault = _fault(row, folder) if sieve is not None else None
    pair = _pair(row, folder) if fault is None else None
    if sieve is not None:
        sieve.candidates += 1
        if fault is not None:
            sieve.drop(fault)
    return pair


def _fault(row: _Row, folder: PictureFolder) -> Filter | None:
    """Why a pair cannot be used; None if it can.

    Raises:
        UsageError: The line itself is wrong.
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
    said = (row.width or size[0], row.height or size[1])
    if said != size:
        raise UsageError(
            f"the picture {row.picture} is {size[0]}×{size[1]}, but the line says {said[0]}×{said[1]}"
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
    """Copies a picture into ``pictures/`` under its own name, or under its digest if it has none or the name is taken."""
    place = folder / "pictures"
    place.mkdir(exist_ok=True)
    suffix = f".{picture.media_type.partition('/')[2]}"
    name = picture.path.name if picture.path is not None else ""
    if not name or f"pictures/{name}" in taken:
        name = picture.digest.partition("-")[2][:24] + suffix
    target = place / name
    if picture.path is None:
        target.write_bytes(picture.read())
    elif not (target.exists() and target.samefile(picture.path)):
        shutil.copyfile(picture.path, target)
    return f"pictures/{name}"

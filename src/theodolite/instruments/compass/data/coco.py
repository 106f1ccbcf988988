"""COCO-Pairs: ordered pairs of objects whose names are unique in their picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import permutations
from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.core.types import Json
from theodolite.geometry import Box
from theodolite.instruments.coco import AnnotatedPicture, Instance, read_instances
from theodolite.instruments.compass.data.files import PictureFolder
from theodolite.instruments.compass.data.pairs import Pair, Region
from theodolite.instruments.compass.data.selection import Filter, PairFilters, Selection, Sieve
from theodolite.pairs.directions import CARDINAL, Vocabulary


def coco_pairs(
    annotations: str | Path | Sequence[str | Path],
    images: str | Path,
    *,
    n: int | None = None,
    seed: int = 0,
    filters: PairFilters | None = None,
    vocabulary: Vocabulary = CARDINAL,
) -> Selection:
    """Ordered pairs from COCO instance annotations.

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
                    meta={"areas": [reference.box_area, target.box_area], **_outlines(reference, target)},
                )
            )
    sieve.notes += folder.note()
    sieve.tell_broken(instances.problems)
    return sieve.finish(pairs, n=n, seed=seed)


def _outlines(reference: Instance, target: Instance) -> dict[str, Json]:
    """The polygons by which both objects can be cut out; empty if one has none."""
    if not (reference.outline and target.outline):
        return {}
    return {
        "outlines": {
            role: [list(polygon) for polygon in each.outline]
            for role, each in (("reference", reference), ("target", target))
        }
    }


def _ordered(count: int) -> int:
    """The number of ordered pairs of `count` objects."""
    return count * (count - 1)


def _id(picture: AnnotatedPicture, reference: Instance, target: Instance) -> str:
    """Such as ``000000532481-person-to-dining_table``: from A to B."""
    name = (
        Path(picture.file_name).with_suffix("").as_posix().replace("/", "_")
    )  # folders may hold pictures of one name
    return f"{name}-{reference.name}-to-{target.name}".replace(" ", "_")


def _objects(picture: AnnotatedPicture, filters: PairFilters, sieve: Sieve) -> list[tuple[Instance, Box]]:
    """The objects that may be in a pair; pairs lost with the others are counted."""
    counts = picture.counts

    def area_fault(each: Instance) -> Filter | None:
        area = each.area(filters.area_of)
        if area is None:
            raise UsageError(f"the {each.name} of {picture.file_name} has no stated area; use area_of='box'")
        return filters.area_fault(area)

    steps: list[tuple[Filter, Callable[[Instance], bool]]] = [
        (Filter.NO_CATEGORY, lambda each: bool(each.name)),
        (Filter.CROWD, lambda each: not each.is_crowd),
        (Filter.EMPTY, lambda each: each.box is not None),
        (Filter.REPEATED, lambda each: counts[each.name] == 1),
        (Filter.SMALL, lambda each: area_fault(each) != Filter.SMALL),
        (Filter.LARGE, lambda each: area_fault(each) != Filter.LARGE),
    ]
    objects = list(picture.instances)
    for reason, passes in steps:
        left = [each for each in objects if passes(each)]
        sieve.drop(reason, _ordered(len(objects)) - _ordered(len(left)))
        objects = left
    return [(each, each.box) for each in objects if each.box is not None]

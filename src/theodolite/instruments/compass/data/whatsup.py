"""WhatsUp: the true caption of each picture, joined with boxes from an annotation file.

A file of WhatsUp is a JSON list of ``{"image_path": …, "caption_options": […]}`` (Controlled Images) or of
``[image id, caption, …]`` (COCO and VG); the first caption is the true one. It holds no boxes, so they must come from
annotations in COCO's instances format: COCO's own for the COCO part, your own labels for the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from theodolite.core.errors import UsageError
from theodolite.core.files import read_json, read_list
from theodolite.core.types import Json
from theodolite.core.views import Form, Name
from theodolite.geometry.directions import CARDINAL, Vocabulary
from theodolite.instruments.coco import read_instances
from theodolite.instruments.compass.data.coco import Matcher, MatchPolicy
from theodolite.instruments.compass.data.pairs import Filter, Pair, PictureFolder, Region, Selection, Sieve

WHATSUP_RELATIONS: Mapping[str, str] = {
    "to the left of": "left",
    "left of": "left",
    "to the right of": "right",
    "right of": "right",
    "on top of": "above",
    "above": "above",
    "on": "above",
    "below": "below",
    "under": "below",
}
"""Relations with a direction. "in front of" and "behind" have none in the picture's plane."""

_DEPTH = ("in front of", "behind")
_SIDES = ("left", "right", "top", "bottom")
"""Sides of the picture: "a dog on the left" has no second object."""


class _Item(Form):
    image: Name
    captions: list[str] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _either_form(cls, value: Any) -> Any:
        """Accept both forms of an item."""
        if isinstance(value, list) and value:
            return {"image": _file_name(value[0]), "captions": value[1:]}
        if isinstance(value, dict):
            image = value.get("image_path", value.get("image_id"))
            return {"image": _file_name(image), "captions": value.get("caption_options")}
        return value


def _file_name(image: Any) -> Any:
    """Return the file of a picture; COCO's are named by their ids in twelve digits."""
    return f"{image:012d}.jpg" if isinstance(image, int) and 0 <= image < 10**12 else image


@dataclass(frozen=True, slots=True)
class _Caption:
    target: str
    relation: str
    reference: str


def whatsup_pairs(
    captions: str | Path,
    images: str | Path,
    *,
    annotations: str | Path | Sequence[str | Path] | None = None,
    n: int | None = None,
    seed: int = 0,
    policy: MatchPolicy | None = None,
    vocabulary: Vocabulary = CARDINAL,
) -> Selection:
    """Select pairs from WhatsUp's true captions whose two objects have boxes.

    Args:
        captions: A JSON file of WhatsUp.
        images: The folder with the pictures.
        annotations: The boxes, in COCO's instances format.
        n: Sample size, balanced over the directions; all pairs if not given.
        seed: Seed of the draw.
        policy: How names and boxes are matched.
        vocabulary: The names of directions. With diagonals, the boxes say which one a caption means.

    Raises:
        UsageError: No annotations are given: a compass needs boxes, and WhatsUp has none.
    """
    path = Path(captions)
    value = read_json(path, "captions")
    if not isinstance(value, list):
        raise UsageError(f"{path} is not a list of WhatsUp's items")
    items, problems = read_list(value, path.name, _Item)
    if annotations is None:
        raise UsageError(
            f"the {len(items)} items of {path} have no boxes, and a compass needs the boxes of both objects: give them with "
            "--annotations, in COCO's instances format (COCO's own file for the COCO part)"
        )
    policy = policy or MatchPolicy()
    matcher = Matcher(read_instances(annotations), policy, vocabulary)
    folder = PictureFolder(Path(images))
    how: dict[str, Json] = {"relations": dict(WHATSUP_RELATIONS), "directions": dict(vocabulary.angles_deg)}
    sieve = Sieve("whatsup", {**asdict(policy), **how})
    sieve.candidates = len(items)
    sieve.drop_broken(problems)
    pairs = list(_pairs(items, path.stem, matcher, folder, sieve))
    sieve.notes += folder.note()
    sieve.tell_broken(matcher.instances.problems)
    return sieve.finish(pairs, n=n, seed=seed)


def _pairs(
    items: Sequence[tuple[str, _Item]], name: str, matcher: Matcher, folder: PictureFolder, sieve: Sieve
) -> Iterator[Pair]:
    for where, item in items:
        number = int(where.rpartition("[")[2].rstrip("]"))
        caption = _read(item.captions[0])
        if isinstance(caption, Filter):
            sieve.drop(caption)
            continue
        match = matcher.objects(item.image, (caption.reference, caption.target))
        if isinstance(match, Filter):
            sieve.drop(match)
            continue
        direction = matcher.direction(match, WHATSUP_RELATIONS[caption.relation])
        if not isinstance(direction, Filter):
            direction = folder.fault(match.picture.file_name, match.picture.size_px) or direction
        if isinstance(direction, Filter):
            sieve.drop(direction)
            continue
        yield Pair(
            id=f"{name}-{number:05d}",
            picture=folder.find(match.picture.file_name)[0],
            size_px=match.picture.size_px,
            reference=Region(caption.reference, match.reference_box),
            target=Region(caption.target, match.target_box),
            direction=direction,
            others=match.picture.other_boxes(match.reference, match.target),
            source="whatsup",
            group=name,
            meta={"caption": item.captions[0]},
        )


def _read(caption: str) -> _Caption | Filter:
    """Return the objects and the relation of a caption, or the filter that rejects it.

    >>> _read("A photo of a dog to the left of a dining table")
    _Caption(target='dog', relation='to the left of', reference='dining table')
    """
    text = re.sub(r"^(?:a photo of )?(?:an? |the )?", "", caption.strip().rstrip(".").lower())
    for relation in sorted((*WHATSUP_RELATIONS, *_DEPTH), key=len, reverse=True):
        target, separator, reference = text.partition(f" {relation} ")
        if separator:
            if relation in _DEPTH:
                return Filter.NO_DIRECTION
            reference = re.sub(r"^(?:an? |the )", "", reference)
            return Filter.ONE_OBJECT if reference in _SIDES else _Caption(target, relation, reference)
    return Filter.ONE_OBJECT

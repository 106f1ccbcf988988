"""VG-Spatial: pairs from the scene graphs of GQA, whose relations are annotated by people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import Field

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, read_json, read_list
from theodolite.core.types import Json
from theodolite.core.views import Form, Name, Number
from theodolite.geometry import Box
from theodolite.geometry.directions import CARDINAL, Vocabulary
from theodolite.instruments.compass.data.pairs import (
    Filter,
    Pair,
    PairFilters,
    PictureFolder,
    Region,
    Selection,
    Sieve,
)

GQA_RELATIONS: Mapping[str, str] = {
    "to the left of": "left",
    "to the right of": "right",
    "above": "above",
    "below": "below",
}
"""The relations that are used, and their directions. The graph's subject is the target, its object the reference."""


class _Relation(Form):
    name: str
    object: str


class _Object(Form):
    name: Name
    x: Number
    y: Number
    w: Number
    h: Number
    relations: tuple[_Relation, ...] = ()

    @property
    def box(self) -> Box | None:
        return Box.from_xywh(self.x, self.y, self.w, self.h) if self.w > 0 and self.h > 0 else None


class _Scene(Form):
    width: int = Field(ge=1, le=100_000)
    height: int = Field(ge=1, le=100_000)
    objects: dict[str, _Object]

    @property
    def size_px(self) -> tuple[int, int]:
        return self.width, self.height


def gqa_pairs(
    scene_graphs: str | Path,
    images: str | Path,
    *,
    n: int | None = None,
    seed: int = 0,
    filters: PairFilters | None = None,
    relations: Mapping[str, str] = GQA_RELATIONS,
    vocabulary: Vocabulary = CARDINAL,
) -> Selection:
    """Select pairs whose relation is annotated in a scene graph and agrees with the boxes.

    Candidates are all relations of the given kinds. A relation whose direction is neither the nearest by the boxes' centres
    nor a part of it ("left" of "above left") is left out and counted: "above" may have meant depth.

    Args:
        scene_graphs: GQA's ``*_sceneGraphs.json``.
        images: The folder with ``<image id>.jpg``.
        n: Sample size, balanced over the directions; all pairs if not given.
        seed: Seed of the draw.
        filters: Which objects and pairs are taken.
        relations: Which relations, and their directions.
        vocabulary: The names of directions. With diagonals, the boxes say which one a relation means.
    """
    filters = filters or PairFilters()
    if filters.area_of != "box":
        raise UsageError("scene graphs hold boxes and no masks: area_of must be 'box'")
    path = Path(scene_graphs)
    how: dict[str, Json] = {"relations": dict(relations), "directions": dict(vocabulary.angles_deg)}
    sieve = Sieve("gqa", {**asdict(filters), **how})
    folder = PictureFolder(Path(images))
    pairs: dict[str, Pair] = {}
    problems: list[Problem] = []
    for candidate in _candidates(path, relations, problems):
        sieve.candidates += 1
        fault = _fault(candidate, filters, folder, vocabulary)
        if fault is None and candidate.id in pairs:
            fault = Filter.WRITTEN_TWICE
        if fault is not None:
            sieve.drop(fault)
            continue
        pairs[candidate.id] = _pair(candidate, folder, vocabulary)
    sieve.notes += folder.note()
    sieve.tell_broken(problems)
    return sieve.finish(list(pairs.values()), n=n, seed=seed)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One annotated relation."""

    image_id: str
    scene: _Scene
    reference_key: str
    target_key: str
    direction: str

    @property
    def id(self) -> str:
        return f"{self.image_id}-{self.reference_key}-to-{self.target_key}"

    @property
    def reference(self) -> _Object:
        return self.scene.objects[self.reference_key]

    @property
    def target(self) -> _Object:
        return self.scene.objects[self.target_key]

    @property
    def file_name(self) -> str:
        return f"{self.image_id}.jpg"


def _candidates(path: Path, relations: Mapping[str, str], problems: list[Problem]) -> Iterator[_Candidate]:
    """Yield all relations of the given kinds; the problems of broken scenes are added to `problems`."""
    value = read_json(path, "scene graphs")
    if not isinstance(value, dict):
        raise UsageError(f"{path} must be an object with a scene for each picture")
    scenes, wrong = read_list(value, f"{path.name}: scenes", _Scene)
    problems += wrong
    for where, scene in scenes:
        image_id = where.removeprefix(f"{path.name}: scenes.")
        for key, subject in scene.objects.items():
            for relation in subject.relations:
                if relation.name not in relations:
                    continue
                if relation.object not in scene.objects:
                    why = f"is {relation.name} {relation.object!r:.80}, which is not there"
                    problems.append(Problem(f"{where}.objects.{key}", why))
                    continue
                yield _Candidate(image_id, scene, relation.object, key, relations[relation.name])


def _fault(
    candidate: _Candidate, filters: PairFilters, folder: PictureFolder, vocabulary: Vocabulary
) -> Filter | None:
    """Return the filter that rejects a relation, or None."""
    a, b, size = candidate.reference.box, candidate.target.box, candidate.scene.size_px
    if a is None or b is None:
        return Filter.EMPTY
    counts = Counter(one.name for one in candidate.scene.objects.values())
    if counts[candidate.reference.name] > 1 or counts[candidate.target.name] > 1:
        return Filter.REPEATED
    whole = size[0] * size[1]
    fault = (
        filters.area_fault(a.area_px / whole)
        or filters.area_fault(b.area_px / whole)
        or filters.pair_fault(a, b, size, vocabulary)
    )
    if fault is None and vocabulary.agreed(candidate.direction, a, b) is None:
        fault = Filter.AGAINST
    return fault or folder.fault(candidate.file_name, size)


def _pair(candidate: _Candidate, folder: PictureFolder, vocabulary: Vocabulary) -> Pair:
    a, b = candidate.reference.box, candidate.target.box
    if a is None or b is None:
        raise UsageError(f"{candidate.id} has an empty box")
    boxes = [
        one.box
        for key, one in candidate.scene.objects.items()
        if key not in {candidate.reference_key, candidate.target_key}
    ]
    return Pair(
        id=candidate.id,
        picture=folder.find(candidate.file_name)[0],
        size_px=candidate.scene.size_px,
        reference=Region(candidate.reference.name, a),
        target=Region(candidate.target.name, b),
        direction=vocabulary.between(a, b).name,
        others=tuple(box for box in boxes if box is not None),
        source="gqa",
    )

"""Data sets of grids in memory and as files, ours and those published with GridVQA-X."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, field_validator

from theodolite import __version__
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.files import Problem, check, inside, lines_of, parse_json, read_json, read_lines
from theodolite.core.scores import Split
from theodolite.core.types import Picture
from theodolite.instruments.grid.data.batch import (
    GUARANTEES,
    ROLES,
    DataSplit,
    SceneBatch,
    answer,
    bag_of_words,
    complete,
    find_anchors,
    hash_scenes,
    join,
    look_alikes,
    scene_objects,
    split_of,
)
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import (
    ANCHOR_SIDE,
    BUCKET_KEYS,
    BUCKETS,
    VOCABULARY,
    QuestionTable,
    character_spans,
    read_questions,
    words_of,
    write_questions,
)
from theodolite.instruments.grid.data.recipe import PAPER, Density, GridRecipe, Guarantee, guarantee_of
from theodolite.instruments.grid.data.world import GridShape, Mode, class_name, read_cells, render

# Data sets in memory: the plan, and the scenes made from it.


@dataclass(frozen=True, slots=True)
class DatasetPlan:
    """Everything needed to make a data set again."""

    mode: Mode
    n: int
    """Scenes for each bucket at each density."""
    seed: int
    recipe: GridRecipe = PAPER
    densities: tuple[Density, ...] = ("sparse", "dense")
    buckets: tuple[str, ...] = BUCKET_KEYS
    split: DataSplit | None = None
    """Only scenes of this split; if not given, of all three, 14 : 1 : 1."""

    def __post_init__(self) -> None:
        counts = [self.recipe.objects(density) for density in self.densities]
        if not counts or len(set(counts)) < len(counts):
            raise UsageError(f"densities must name different numbers of objects, got {counts}")
        if not self.buckets or len(set(self.buckets)) < len(self.buckets):
            raise UsageError(
                f"buckets must be different and at least one, got {', '.join(self.buckets) or 'none'}"
            )

    def guarantees(self) -> dict[tuple[str, int], Guarantee]:
        """Return what Theorem 1 guarantees for each bucket at each number of objects; nothing under another law."""
        if self.recipe.law == "balanced":
            return {}
        return {
            (bucket.key, objects): guarantee_of(bucket, objects)
            for objects in map(self.recipe.objects, self.densities)
            for bucket in BUCKETS
            if bucket.key in self.buckets
        }


@dataclass(frozen=True, slots=True)
class PublishedText:
    """The texts of an imported data set, in the order of its scenes."""

    names: tuple[str, ...]
    questions: tuple[str, ...]
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Scenes with their plan."""

    plan: DatasetPlan
    scenes: SceneBatch
    density: NDArray[np.str_]
    """The density of each scene, as in the plan, (n,)."""
    published: PublishedText | None = None
    """Questions and answers of imported scenes; made ones have their own."""

    def __len__(self) -> int:
        return len(self.scenes)

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """The scene-question hash of each scene."""
        return hash_scenes(self.scenes.cells, self.scenes.words)

    @property
    def splits(self) -> NDArray[np.str_]:
        """The split of each scene."""
        return split_of(self.hashes)

    def name(self, row: int) -> str:
        """Return the name of a scene, such as ``M-F0-D2-dense-00017``."""
        if self.published is not None:
            return self.published.names[row]
        return f"{self.scenes.bucket_key(row)}-{self.density[row]}-{row % self.plan.n:05d}"

    def text(self, row: int) -> str:
        """Return the question of a scene as it is asked."""
        return self.published.questions[row] if self.published is not None else self.scenes.text(row)

    def answer_text(self, row: int) -> str:
        """Return the answer of a scene; of an imported one, the published answer."""
        return self.published.answers[row] if self.published is not None else self.scenes.answer_text(row)


def make_dataset(plan: DatasetPlan) -> Dataset:
    """Make the scenes of a plan, by density and then by bucket.

    >>> data = make_dataset(DatasetPlan("pure", 2, seed=0, buckets=("A-F0-D1", "M-F0-D3")))
    >>> len(data), data.name(2), data.name(7)
    (8, 'M-F0-D3-sparse-00000', 'M-F0-D3-dense-00001')
    """
    parts, densities = [], []
    for density in plan.densities:
        part = generate(
            plan.buckets,
            plan.n,
            mode=plan.mode,
            density=density,
            preset=plan.recipe,
            seed=plan.seed,
            split=plan.split,
        )
        parts.append(part)
        densities += [str(density)] * len(part)
    return Dataset(plan, join(parts), np.array(densities))


# Data sets as files: pictures, ``metadata.jsonl``, ``scenes.parquet``, ``grounding.json`` and ``dataset.json``.
#
# Hugging Face `datasets` opens the folder: ``load_dataset("imagefolder", data_dir=FOLDER)`` reads pictures and
# ``metadata.jsonl``; ``load_dataset("parquet", data_files="FOLDER/scenes.parquet")`` has the pictures inside.
# ``grounding.json`` is phrase grounding in MDETR's format: COCO with captions, and `tokens_positive` for every box.


DESCRIPTION, LINES, TABLE, GROUNDING, PICTURES = (
    "dataset.json",
    "metadata.jsonl",
    "scenes.parquet",
    "grounding.json",
    "pictures",
)
_BLOCK = 64
"""Scenes drawn at once."""
KEYS = tuple(bucket.key for bucket in BUCKETS if bucket.depth == 1)
"""The buckets of depth one: those of a diagnosis."""


class SceneRecord(BaseModel):
    """One scene with its question: one line of ``metadata.jsonl``."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str = Field(min_length=1)
    file_name: str | None = None
    """The picture, relative to the data set's folder."""
    bucket: str
    density: str
    n_objects: int
    split: str
    hash: str
    """The scene-question hash, 16 hex digits."""
    question: str
    answer: str
    guarantee: str
    cells: list[int]
    """Class ids, row by row; 0 is empty."""
    roles: list[str]
    """The role of each cell."""
    words: list[str]
    phrases: list[dict[str, Any]]
    """Each with ``name``, ``text`` and ``characters`` [first, after the last]."""
    objects: list[dict[str, Any]]
    """Each with ``cell``, ``name``, ``role``, ``phrase`` and ``box_px`` [left, top, right, bottom]."""


def records_of(data: Dataset, *, has_pictures: bool) -> Iterator[SceneRecord]:
    """Yield the records of all scenes."""
    scenes, splits, hashes = data.scenes, data.splits, data.hashes
    for row in range(len(data)):
        name, text = data.name(row), data.text(row)
        yield SceneRecord(
            id=name,
            file_name=f"pictures/{name}.png" if has_pictures else None,
            bucket=scenes.bucket_key(row),
            density=str(data.density[row]),
            n_objects=int((scenes.cells[row] > 0).sum()),
            split=str(splits[row]),
            hash=f"{int(hashes[row]):016x}",
            question=text,
            answer=data.answer_text(row),
            guarantee=GUARANTEES[int(scenes.guarantee[row])],
            cells=scenes.cells[row].tolist(),
            roles=[ROLES[int(role)] for role in scenes.roles[row]],
            words=[VOCABULARY[int(word)] for word in scenes.words[row] if word],
            phrases=[
                {"name": phrase, "text": text[first:last], "characters": [first, last]}
                for phrase, (first, last) in character_spans(text, scenes.spans[row]).items()
            ],
            objects=[
                {"cell": o.cell, "name": o.name, "role": o.role, "phrase": o.phrase, "box_px": list(o.box_px)}
                for o in scene_objects(scenes, row)
            ],
        )


class Description(BaseModel):
    """``dataset.json``: how the data set was made, and what it guarantees."""

    model_config = ConfigDict(extra="ignore")

    schema_version: Literal[1] = 1
    made_by: str
    mode: Literal["pure", "spur"]
    n: int
    seed: int
    densities: list[str | int | float]
    buckets: list[str]
    split: Literal["train", "validation", "test"] | None
    recipe: GridRecipe
    answers: list[str]
    vocabulary: list[str]
    guarantees: dict[str, dict[str, dict[str, Any]]]
    """By number of objects and bucket."""

    @field_validator("recipe", mode="before")
    @classmethod
    def _is_complete(cls, value: Any) -> Any:
        """Refuse a recipe with a missing or unknown parameter, since a default could be wrong. Older data had one law."""
        if isinstance(value, dict) and value.get("name") != "sound":
            value = {"law": "theorem", **value}
        wrong = (
            {parameter.name for parameter in fields(GridRecipe)} ^ set(value)
            if isinstance(value, dict)
            else set()
        )
        if wrong:
            raise ValueError(f"missing or unknown: {', '.join(sorted(wrong))}")
        return value

    def plan(self) -> DatasetPlan:
        """Return the plan that made the data set."""
        return DatasetPlan(
            self.mode,
            self.n,
            self.seed,
            self.recipe,
            tuple(self.densities),  # type: ignore[arg-type]
            tuple(self.buckets),
            self.split,
        )


def description_of(plan: DatasetPlan, version: str) -> Description:
    """Return the description of a plan."""
    guarantees: dict[str, dict[str, dict[str, Any]]] = {}
    if plan.mode == "pure":
        for (bucket, objects), guarantee in plan.guarantees().items():
            guarantees.setdefault(str(objects), {})[bucket] = asdict(guarantee)
    return Description(
        made_by=version,
        mode=plan.mode,
        n=plan.n,
        seed=plan.seed,
        densities=list(plan.densities),
        buckets=list(plan.buckets),
        split=plan.split,
        recipe=plan.recipe,
        answers=list(plan.recipe.world.answers),
        vocabulary=list(VOCABULARY),
        guarantees=guarantees,
    )


def write_dataset(
    data: Dataset,
    folder: str | Path,
    *,
    pictures: bool = True,
    table: bool = True,
    drawn: Iterable[bytes] | None = None,
) -> Path:
    """Write a data set into a folder that is empty or new.

    Args:
        data: The scenes.
        folder: Where to write.
        pictures: Draw the scenes.
        drawn: Their pictures as PNG, if they are drawn already.
        table: Also write the Parquet table.

    Returns:
        The folder.

    Raises:
        UsageError: The folder is not empty.
        StorageError: It cannot be written.
    """
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; a data set needs a folder of its own")
    records = list(records_of(data, has_pictures=pictures))
    encoded: list[bytes] = []
    try:
        (folder / PICTURES if pictures else folder).mkdir(parents=True, exist_ok=True)
        for png in (drawn or _drawn(data)) if pictures else ():
            (folder / str(records[len(encoded)].file_name)).write_bytes(png)
            encoded.append(png)
        with (folder / LINES).open("w", encoding="utf-8") as file:
            for record in records:
                left_out = set() if pictures else {"file_name"}
                file.write(json.dumps(record.model_dump(exclude=left_out), ensure_ascii=False) + "\n")
        if table:
            _write_table(records, encoded, folder / TABLE)
        (folder / GROUNDING).write_text(json.dumps(grounding(data, records)), encoding="utf-8")
        description = description_of(data.plan, f"theodolite {__version__}")
        (folder / DESCRIPTION).write_text(description.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write the data set into {folder}: {error.strerror or error}") from error
    return folder


def _drawn(data: Dataset) -> Iterator[bytes]:
    from PIL import Image

    for start in range(0, len(data), _BLOCK):
        for pixels in render(data.scenes.world, data.scenes.cells[start : start + _BLOCK]):
            buffer = io.BytesIO()
            Image.fromarray(pixels).save(buffer, format="PNG", compress_level=3)
            yield buffer.getvalue()


def _write_table(records: list[SceneRecord], encoded: list[bytes], path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.Table.from_pylist([record.model_dump(exclude={"file_name"}) for record in records])
    if encoded:
        kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        images = [
            {"bytes": png, "path": record.file_name} for record, png in zip(records, encoded, strict=True)
        ]
        table = table.append_column("image", pa.array(images, kind))
        features = {"info": {"features": {"image": {"_type": "Image"}}}}
        table = table.replace_schema_metadata({"huggingface": json.dumps(features)})
    parquet.write_table(table, path)


def grounding(data: Dataset, records: list[SceneRecord]) -> dict[str, Any]:
    """Return the data set in MDETR's format: every box of a target or anchor, with the characters of its phrase."""
    width, height = data.scenes.world.size_px
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, record in enumerate(records):
        spans = {phrase["name"]: phrase["characters"] for phrase in record.phrases}
        images.append(
            {
                "id": number,
                "file_name": record.file_name or "",
                "width": width,
                "height": height,
                "caption": record.question,
                "answer": record.answer,
                "question_type": record.bucket,
                "original_id": record.id,
                "tokens_positive_eval": [[spans[name]] for name in spans if not name.startswith("direction")],
            }
        )
        for thing in record.objects:
            if not thing["phrase"]:
                continue
            left, top, right, bottom = thing["box_px"]
            annotations.append(
                {
                    "id": len(annotations),
                    "image_id": number,
                    "bbox": [left, top, right - left, bottom - top],
                    "area": (right - left) * (bottom - top),
                    "iscrowd": 0,
                    "category_id": record.cells[thing["cell"]],
                    "tokens_positive": [spans[thing["phrase"]]],
                }
            )
    categories = [{"id": i, "name": class_name(i)} for i in range(1, 17)]
    return {"images": images, "annotations": annotations, "categories": categories}


@dataclass(frozen=True, slots=True)
class StoredDataset:
    """A data set as read from its files, unchecked; `audit` checks it."""

    folder: Path
    plan: DatasetPlan
    records: list[SceneRecord]
    cells: NDArray[np.uint8]
    """Class ids, (n, cells)."""

    def __len__(self) -> int:
        return len(self.records)

    @property
    def guarantees(self) -> NDArray[np.uint8]:
        """The guarantee of each record; 255 if it is not one of `GUARANTEES`."""
        return np.array(
            [GUARANTEES.index(r.guarantee) if r.guarantee in GUARANTEES else 255 for r in self.records],
            np.uint8,
        )


def read_dataset(folder: str | Path) -> StoredDataset:
    """Read a data set's description and records.

    Raises:
        UsageError: It is not a data set of the grid, or a line is wrong.
    """
    folder = Path(folder)
    try:
        value, lines = read_json(folder / DESCRIPTION), list(lines_of(folder / LINES))
    except UsageError as error:
        raise UsageError(
            f"{folder} is not a data set of the grid (`theodolite grid make` writes one): {error}"
        ) from error
    try:
        plan = check(Description, value).plan()
    except (UsageError, ValueError) as error:
        raise UsageError(f"{folder / DESCRIPTION}: {error}") from None
    records = []
    for where, line in lines:
        try:
            records.append(check(SceneRecord, parse_json(line)))
        except (UsageError, ValueError) as error:
            raise UsageError(f"{folder / where}: {error}") from None
        if len(records[-1].cells) != plan.recipe.world.n_cells:
            raise UsageError(
                f"{folder / where}: {len(records[-1].cells)} cells, not {plan.recipe.world.n_cells}"
            )
    if not records:
        raise UsageError(f"{folder / LINES} holds no scene")
    cells = np.array([record.cells for record in records])
    if cells.min() < 0 or cells.max() > 16:
        raise UsageError(f"{folder / LINES}: class ids go from 0 to 16, got {cells.min()} to {cells.max()}")
    return StoredDataset(folder, plan, records, cells.astype(np.uint8))


def grid_data(folder: str | Path, n: int, *, seed: int = 0, split: Split = "crossed") -> StoredDataset:
    """Make the main data set of a diagnosis: scenes of depth one from the test split, which training never sees.

    Args:
        folder: Where to write it; it must be new or empty.
        n: Scenes of each of nine buckets at each of two densities.
        seed: The seed.
        split: ``aligned`` for spurious scenes, where a bag of words is right; ``crossed`` for pure ones.
    """
    if split == "free":
        raise UsageError("grid scenes are aligned or crossed: the bag of words is right or misled")
    plan = DatasetPlan("spur" if split == "aligned" else "pure", n, seed=seed, buckets=KEYS, split="test")
    return read_dataset(write_dataset(make_dataset(plan), folder))


def write_explained(folder: Path, n: int, *, seed: int, split: str = "aligned") -> None:
    """Make sparse scenes to explain: the relational buckets of depth one, spurious if aligned, pure if crossed.

    Args:
        folder: Where to write; it must be new or empty.
        n: Scenes of each bucket.
        seed: The seed.
        split: ``aligned`` or ``crossed``.
    """
    keys = tuple(bucket.key for bucket in BUCKETS if bucket.depth == 1 and bucket.is_relational)
    write_grids(folder, n, seed=seed, buckets=keys, mode="spur" if split == "aligned" else "pure")


def write_grids(folder: Path, n: int, *, seed: int, buckets: tuple[str, ...], mode: Mode = "pure") -> None:
    """Make `n` sparse scenes of each bucket from the test split, distinct from those of `grid_data`.

    Args:
        folder: Where to write; it must be new or empty.
        n: Scenes of each bucket.
        seed: The seed.
        buckets: Keys such as ``M-F0-D2``.
        mode: ``pure`` or ``spur``.
    """
    # Another seed than that of `grid_data`, since both draw from the test split.
    plan = DatasetPlan(mode, n, seed + 1, densities=("sparse",), buckets=buckets, split="test")
    write_dataset(make_dataset(plan), folder)


# Imports GridVQA-X as published: ``qa_*.jsonl``, ``grounding_*.jsonl`` and pictures.
#
# The published lines name the objects of the answer alone, so every scene is read from its picture. Questions and answers are
# kept as published; roles, phrases and guarantees are computed. `audit` then checks the published answers like any others.


IMPORTED = "imported"
"""The name of an imported data set's recipe."""
_QUESTIONS, _GROUNDING = "qa_", "grounding_"
_PLACE = re.compile(r"g(\d+)_d(\d+)")
"""Size of the grid and share of taken cells, in a picture's path: ``g5_d07``."""


class _Line(BaseModel):
    """One line of ``qa_*.jsonl``. Files without their ``grounding_*.jsonl`` name the picture themselves."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    image_id: int | str | None = None
    file_name: str | None = None
    question: str
    answer: int | str


@dataclass(frozen=True, slots=True)
class _Asked:
    """One question with its scene and the name of its picture."""

    name: str
    line: _Line
    words: Any
    cells: Any
    picture: Picture


@dataclass(frozen=True, slots=True)
class Import:
    """An imported data set, with what could not be read."""

    data: Dataset
    pictures: list[Picture]
    problems: list[Problem]


def import_published(folder: str | Path, *, mode: Mode | None = None) -> Import:
    """Read a folder of the published data, or one of its ``qa_*.jsonl``.

    Args:
        folder: The folder with ``qa_*.jsonl``, ``grounding_*.jsonl`` and the pictures that they name.
        mode: ``pure`` or ``spur``; by default ``spur`` if a bag of words is right about every relation.

    Raises:
        UsageError: There is nothing to import, or pictures differ in size.
    """
    path = Path(folder)
    files = [path] if path.is_file() else sorted(path.glob(f"{_QUESTIONS}*.jsonl"))
    if not files:
        raise UsageError(f"{path} has no {_QUESTIONS}*.jsonl; give the folder of the published data")
    home = path.parent if path.is_file() else path
    problems: list[Problem] = []
    asked: list[_Asked] = []
    world: GridShape | None = None
    for file in files:
        pictures_by_id, broken = _places(file)
        lines, more = read_lines(file, lambda value: check(_Line, value))
        problems += [*broken, *more]
        for where, line in lines:
            try:
                name = _picture_name(line, pictures_by_id)
                picture = Picture.from_path(inside(home, name, "picture"))
                world = world or _world(name, picture)
                asked.append(_read(name, line, picture, world))
            except UsageError as error:
                problems.append(Problem(where, str(error)))
    if world is None or not asked:
        raise UsageError(
            f"nothing of {path} could be read"
            + (f"; the first problem: {problems[0]}" if problems else ": there is no question")
        )
    return _join(asked, world, mode, problems)


def _places(file: Path) -> tuple[dict[str, str], list[Problem]]:
    """Return the picture of each image_id, from the grounding lines of the same split."""
    other = file.with_name(file.name.replace(_QUESTIONS, _GROUNDING, 1))
    if other == file or not other.is_file():
        return {}, []

    def place(value: Any) -> tuple[str, str]:
        image = check(dict[str, Any], value).get("image")
        if not isinstance(image, dict) or not isinstance(image.get("file_name"), str):
            raise UsageError("image: must have an id and a file_name")
        return str(image.get("id")), image["file_name"]

    entries, problems = read_lines(other, place)
    return dict(entry for _, entry in entries), problems


def _picture_name(line: _Line, pictures_by_id: dict[str, str]) -> str:
    name = line.file_name or pictures_by_id.get(str(line.image_id))
    if name is None:
        raise UsageError(f"no picture has the image_id {line.image_id!r}")
    return name


def _world(name: str, picture: Picture) -> GridShape:
    """Return the grid of the data from the path and size of its first picture; 5×5 cells unless the path differs."""
    match = _PLACE.search(name)
    side = int(match.group(1)) if match else GridShape().rows
    width, height = picture.size
    if width != height or side < 1 or width % side:
        raise UsageError(f"a picture of {width}×{height} pixels cannot show {side}×{side} square cells")
    return GridShape(side, side, width // side)


def _read(name: str, line: _Line, picture: Picture, world: GridShape) -> _Asked:
    words = words_of(line.question)
    questions = read_questions(words[None])
    cells = read_cells(world, picture.pixels())
    positions, counts = find_anchors(cells[None], questions)
    is_asked = ANCHOR_SIDE[questions.bucket][:, : positions.shape[1]] > 0
    if (counts[is_asked] != 1).any():
        raise UsageError(f"{line.question!r}: an anchor fits {counts[is_asked].max()} objects of the picture")
    return _Asked(name, line, words, cells, picture)


def _join(asked: list[_Asked], world: GridShape, mode: Mode | None, problems: list[Problem]) -> Import:
    cells = np.stack([question.cells for question in asked])
    questions = read_questions(np.stack([question.words for question in asked]))
    most = int(look_alikes(cells, questions.targets[:, 0]).sum(axis=1).max())
    world = replace(world, max_count=max(world.max_count, most))
    if mode is None:
        mode = _mode(world, cells, questions)
    scenes = complete(world, mode, cells=cells, questions=questions, written=write_questions(questions))
    density = [_density(question.name, row) for question, row in zip(asked, cells, strict=True)]
    keys = [BUCKET_KEYS[i] for i in sorted(set(questions.bucket.tolist()))]
    groups = list(zip(questions.bucket.tolist(), density, strict=True))
    plan = DatasetPlan(
        mode,
        max(groups.count(group) for group in set(groups)),
        seed=0,
        recipe=replace(PAPER, name=IMPORTED, world=world),
        densities=tuple(word for word in ("sparse", "dense") if word in density),
        buckets=tuple(keys),
    )
    text = PublishedText(
        tuple(_names(scenes, density)),
        tuple(question.line.question for question in asked),
        tuple(str(question.line.answer) for question in asked),
    )
    data = Dataset(plan, scenes, np.array(density), text)
    return Import(data, [question.picture for question in asked], problems)


def _mode(world: GridShape, cells: Any, questions: QuestionTable) -> Mode:
    """Return ``spur`` if there are questions with a relation and a bag of words is right about all of them."""
    is_relational = ANCHOR_SIDE[questions.bucket][:, 0] > 0
    is_right = bag_of_words(world, cells, questions) == answer(world, cells, questions)
    return "spur" if is_relational.any() and is_right[is_relational].all() else "pure"


def _density(name: str, cells: Any) -> str:
    """Return the density that the path states; otherwise derive it from the number of objects."""
    match = _PLACE.search(name)
    share = float(f"0.{match.group(2).lstrip('0')}") if match and int(match.group(2)) else (cells > 0).mean()
    return "sparse" if share < (PAPER.sparse + PAPER.dense) / 2 else "dense"


def _names(scenes: SceneBatch, density: list[str]) -> Iterator[str]:
    """Yield names in the form of made data, numbered within bucket and density."""
    seen: dict[tuple[str, str], int] = {}
    for row, word in enumerate(density):
        key = scenes.bucket_key(row), word
        yield f"{key[0]}-{word}-{seen.setdefault(key, 0):05d}"
        seen[key] += 1

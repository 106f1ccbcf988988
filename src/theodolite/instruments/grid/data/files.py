"""Data sets as files: pictures, ``metadata.jsonl``, ``scenes.parquet``, ``grounding.json`` and ``dataset.json``.

Hugging Face `datasets` opens the folder: ``load_dataset("imagefolder", data_dir=FOLDER)`` reads pictures and
``metadata.jsonl``; ``load_dataset("parquet", data_files="FOLDER/scenes.parquet")`` has the pictures inside.
``grounding.json`` is phrase grounding in MDETR's format: COCO with captions, and `tokens_positive` for every box.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, field_validator

from theodolite import __version__
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.files import check, lines_of, parse_json, read_json
from theodolite.core.splits import Split
from theodolite.instruments.grid.data.batch import GUARANTEES, ROLES
from theodolite.instruments.grid.data.dataset import Dataset, DatasetPlan, make_dataset
from theodolite.instruments.grid.data.masks import scene_objects
from theodolite.instruments.grid.data.recipe import Recipe
from theodolite.instruments.grid.data.render import render
from theodolite.instruments.grid.data.words import VOCABULARY, character_spans
from theodolite.instruments.grid.data.world import BUCKETS, Mode, class_name

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
    """The records of all scenes."""
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
    recipe: Recipe
    answers: list[str]
    vocabulary: list[str]
    guarantees: dict[str, dict[str, dict[str, Any]]]
    """By number of objects and bucket."""

    @field_validator("recipe", mode="before")
    @classmethod
    def _is_complete(cls, value: Any) -> Any:
        """Refuses a recipe with a missing or unknown parameter: a default could be wrong. Older data had one law."""
        if isinstance(value, dict) and value.get("name") != "sound":
            value = {"law": "theorem", **value}
        wrong = {each.name for each in fields(Recipe)} ^ set(value) if isinstance(value, dict) else set()
        if wrong:
            raise ValueError(f"missing or unknown: {', '.join(sorted(wrong))}")
        return value

    def plan(self) -> DatasetPlan:
        """The plan that made the data set."""
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
    """The description of a plan."""
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
    """Writes a data set into a folder that is empty or new.

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
    """The data set in MDETR's format: every box of a target or anchor, with the characters of its phrase."""
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
    """Reads a data set's description and records.

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
    """Makes the main data set of a diagnosis: scenes of depth one from the test split, which training never sees.

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
    """Makes sparse scenes to explain: the relational buckets of depth one, spurious if aligned, pure if crossed."""
    keys = tuple(bucket.key for bucket in BUCKETS if bucket.depth == 1 and bucket.is_relational)
    write_grids(folder, n, seed=seed, buckets=keys, mode="spur" if split == "aligned" else "pure")


def write_grids(folder: Path, n: int, *, seed: int, buckets: tuple[str, ...], mode: Mode = "pure") -> None:
    """Makes `n` sparse scenes of each bucket from the test split, other ones than `grid_data`."""
    plan = DatasetPlan(mode, n, seed + 1, densities=("sparse",), buckets=buckets, split="test")
    write_dataset(make_dataset(plan), folder)

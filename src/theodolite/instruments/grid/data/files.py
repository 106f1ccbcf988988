"""Data sets as files: pictures, ``metadata.jsonl``, ``scenes.parquet``, ``grounding.json`` and ``dataset.json``.

The folder opens in Hugging Face `datasets` as it is: ``load_dataset("imagefolder", data_dir=FOLDER)`` reads pictures and
``metadata.jsonl``; ``load_dataset("parquet", data_files="FOLDER/scenes.parquet")`` has the pictures inside.
``grounding.json`` is phrase grounding in MDETR's manner: COCO with a caption, and `tokens_positive` for every box.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from theodolite import __version__
from theodolite.core.errors import StorageError, UsageError
from theodolite.instruments.grid.data.batch import GUARANTEES
from theodolite.instruments.grid.data.dataset import Dataset, DatasetPlan
from theodolite.instruments.grid.data.records import Description, Record, description_of, records_of
from theodolite.instruments.grid.data.render import render
from theodolite.instruments.grid.data.world import class_name

DESCRIPTION, LINES, TABLE, GROUNDING, PICTURES = (
    "dataset.json",
    "metadata.jsonl",
    "scenes.parquet",
    "grounding.json",
    "pictures",
)
_BLOCK = 64
"""Scenes drawn at once."""


def write_dataset(
    data: Dataset,
    folder: str | Path,
    *,
    pictures: bool = True,
    table: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Path:
    """Writes a data set into a folder that is empty or new.

    Args:
        data: The scenes.
        folder: Where to write.
        pictures: Whether to draw them; without, the files name no pictures.
        table: Whether to write the Parquet table beside the lines; nothing here reads it.
        progress: Called with the number of scenes done so far.

    Returns:
        The folder.

    Raises:
        UsageError: the folder already holds something.
        StorageError: it cannot be written.
    """
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; a data set needs a folder of its own")
    records = list(records_of(data, has_pictures=pictures))
    encoded: list[bytes] = []
    try:
        (folder / PICTURES if pictures else folder).mkdir(parents=True, exist_ok=True)
        for png in _drawn(data) if pictures else ():
            (folder / str(records[len(encoded)].file_name)).write_bytes(png)
            encoded.append(png)
            if progress is not None:
                progress(len(encoded))
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


def _write_table(records: list[Record], encoded: list[bytes], path: Path) -> None:
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


def grounding(data: Dataset, records: list[Record]) -> dict[str, Any]:
    """The data set in MDETR's form: every box of a target or anchor with the characters of the phrase that names it."""
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
    """A data set as its files have it; nothing in it is believed yet. `audit` compares it with what it must be."""

    folder: Path
    plan: DatasetPlan
    records: list[Record]
    cells: NDArray[np.uint8]
    """Class ids, (n, cells)."""

    def __len__(self) -> int:
        return len(self.records)

    @property
    def guarantees(self) -> NDArray[np.uint8]:
        """What each record says of its guarantee; 255 for a word that is none."""
        return np.array(
            [GUARANTEES.index(r.guarantee) if r.guarantee in GUARANTEES else 255 for r in self.records],
            np.uint8,
        )


def read_dataset(folder: str | Path) -> StoredDataset:
    """Reads a data set's description and records.

    Raises:
        UsageError: it is not a data set of the grid, or a line is wrong.
    """
    folder = Path(folder)
    try:
        description = Description.model_validate_json((folder / DESCRIPTION).read_text(encoding="utf-8"))
        lines = (folder / LINES).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{folder} is not a data set of the grid (`theodolite grid make` writes one): {error}"
        ) from error
    except ValidationError as error:
        raise UsageError(f"{folder / DESCRIPTION}: {_first(error)}") from None
    plan = description.plan()
    records = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(Record.model_validate_json(line))
        except ValidationError as error:
            raise UsageError(f"{folder / LINES}, line {number}: {_first(error)}") from None
        if len(records[-1].cells) != plan.recipe.world.n_cells:
            raise UsageError(
                f"{folder / LINES}, line {number}: {len(records[-1].cells)} cells, not {plan.recipe.world.n_cells}"
            )
    if not records:
        raise UsageError(f"{folder / LINES} holds no scene")
    cells = np.array([record.cells for record in records])
    if cells.min() < 0 or cells.max() > 16:
        raise UsageError(f"{folder / LINES}: class ids go from 0 to 16, got {cells.min()} to {cells.max()}")
    return StoredDataset(folder, plan, records, cells.astype(np.uint8))


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg']}"

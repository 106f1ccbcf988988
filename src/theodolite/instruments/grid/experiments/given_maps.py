"""Maps that somebody else made, against the truth of their scenes.

``.npz`` files in either of two forms: one file with an array for each scene, named after it; or a folder with one file for each scene, as the
public code of GridVQA-X reads them: `attribution`, and the scene's name as `scene` or as the name of the file. A map has one value for each
cell, or one for each pixel (then a multiple of rows and columns).
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError, reason_of
from theodolite.core.files import Problem, open_plain
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Table
from theodolite.core.unpack import Allowance, open_archive
from theodolite.instruments.grid.data.batch import PARTS, cell_mask
from theodolite.instruments.grid.data.files import StoredDataset
from theodolite.instruments.grid.formulas.maps import MapScore, part_masses, score_map
from theodolite.instruments.grid.questions import scenes_of
from theodolite.stats import Estimate, clustered_mean

_MAP, _SCENE = "attribution", "scene"
_SIDE = 4096
"""The most rows and columns of a map."""


def read_maps(path: Path) -> tuple[dict[str, NDArray[np.float64]], list[Problem]]:
    """Return the maps of a file or folder by the names of their scenes, and what could not be read.

    Raises:
        UsageError: Nothing could be read.
    """
    files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    maps: dict[str, NDArray[np.float64]] = {}
    problems: list[Problem] = []
    for file in files:
        try:
            arrays = dict(_arrays(file))
            if path.is_dir():
                arrays = {str(arrays.get(_SCENE, file.stem)): arrays[_MAP]}
        except KeyError:
            problems.append(Problem(str(file), f"it has no array {_MAP!r}"))
            continue
        except (OSError, ValueError) as error:
            problems.append(Problem(str(file), reason_of(error)))
            continue
        for scene, values in arrays.items():
            if values.ndim == 2 and values.dtype.kind in "biuf" and max(values.shape) <= _SIDE:
                maps[scene] = values.astype(np.float64)
            else:
                problems.append(Problem(f"{file}, {scene}", "a map has rows and columns of numbers"))
    if not maps:
        why = f"; the first problem: {problems[0]}" if problems else ""
        raise UsageError(f"no map of {path} could be read; give an .npz file, or a folder of them{why}")
    return maps, problems


def _arrays(file: Path) -> Iterator[tuple[str, NDArray[np.generic]]]:
    """Yield the arrays of an .npz file. What is pickled is refused."""
    with (
        open_plain(file) as opened,
        open_archive(opened, Allowance(os.fstat(opened.fileno()).st_size)) as archive,
    ):
        for name in archive.members:
            yield name.removesuffix(".npy"), _array(name, archive.read(name))


def _array(name: str, data: bytes) -> NDArray[np.generic]:
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, is_transposed, dtype = read_header(stream)
    except (KeyError, TypeError, SyntaxError, ValueError) as error:
        raise ValueError(f"{name} is no array of NumPy ({type(error).__name__})") from error
    rest = data[stream.tell() :]
    # The header is a stranger's: as much is made of it as there is.
    if dtype.hasobject or not dtype.itemsize or math.prod(shape) * dtype.itemsize != len(rest):
        raise ValueError(f"{name} does not hold the values that it declares")
    return np.frombuffer(rest, dtype).reshape(shape, order="F" if is_transposed else "C")


@dataclass(frozen=True, slots=True)
class _Scored:
    """The scores of one map."""

    bucket: str
    density: str
    cells: MapScore
    pixels: MapScore
    look_alikes: float | None
    """Mass on look-alikes outside the valid region; None if there are none."""


_MEASURES: tuple[tuple[str, str, Callable[[_Scored], float | None]], ...] = (
    ("grid.rma", "RMA", lambda each: each.cells.rma),
    ("grid.normalised_rma", "− area", lambda each: each.cells.normalised_rma),
    ("grid.rra", "RRA", lambda each: each.cells.rra),
    ("grid.map_auc", "AUC", lambda each: each.cells.auc),
    ("grid.iou", "IoU, cells", lambda each: each.cells.iou),
    ("grid.pixel_iou_paper", "IoU, pixels", lambda each: each.pixels.iou_paper),
    ("grid.adversarial_mass", "on look-alikes", lambda each: each.look_alikes),
)


def given_maps_table(path: Path, data: StoredDataset) -> tuple[Table, list[Problem]]:
    """Return the scores of given maps by bucket and over all scenes, and what could not be scored.

    Args:
        path: An .npz file or a folder of them.
        data: The scenes.

    Raises:
        UsageError: No map belongs to a scene of the data.
    """
    maps, problems = read_maps(path)
    scored, more = _score(maps, data)
    problems += more
    if not scored:
        raise UsageError(f"no map of {path} fits a scene of {data.folder}; the first problem: {problems[0]}")
    groups = dict.fromkeys((each.bucket, each.density) for each in scored)
    rows: list[list[Cell]] = [["all", "", *_means(scored)]]
    rows += [
        [*group, *_means([each for each in scored if (each.bucket, each.density) == group])]
        for group in groups
    ]
    columns = [Column("bucket", "bucket"), Column("density", "density"), Column("n", "n", "count")]
    columns += [column(key, key.partition(".")[2], title) for key, title, _ in _MEASURES]
    notes = [
        f"{len(scored)} of {len(data)} scenes have a map. RMA is the paper's; a uniform map has 0 beyond the area of the mask.",
        "IoU by pixels is the paper's, by its own threshold, and measures granularity; a map by cells has it from its cells drawn large.",
    ]
    return Table.of("grid.given_maps", f"Maps of {path.name}", columns, rows, notes), problems


def _means(scored: list[_Scored]) -> list[Cell]:
    cells: list[Cell] = [len(scored)]
    for _, _, read in _MEASURES:
        values = [value for each in scored if (value := read(each)) is not None]
        mean: Estimate | float | None = None
        if values:
            mean = clustered_mean(np.array(values), bounds=None) or float(np.mean(values))
        cells.append(mean)
    return cells


def _score(maps: dict[str, NDArray[np.float64]], data: StoredDataset) -> tuple[list[_Scored], list[Problem]]:
    batch, problems, scored = scenes_of(data), [], []
    rows = {record.id: row for row, record in enumerate(data.records)}
    sides = np.array([batch.world.rows, batch.world.columns])
    for scene, values in maps.items():
        if scene not in rows:
            problems.append(Problem(scene, f"{data.folder.name} has no such scene"))
            continue
        one, record = batch.take(slice(rows[scene], rows[scene] + 1)), data.records[rows[scene]]
        each, left = np.divmod(values.shape, sides)
        if left.any() or not each.all():
            shape = "×".join(map(str, values.shape))
            problems.append(Problem(scene, f"a map of {shape} does not fit {sides[0]}×{sides[1]} cells"))
            continue
        is_whole = bool(np.isfinite(values).all())
        size = np.abs(values) if is_whole else values
        by_cell = size.reshape(sides[0], each[0], sides[1], each[1]).sum(axis=(1, 3))
        masks = {part: cell_mask(one, part)[0].reshape(-1) for part in PARTS}
        truth = cell_mask(one, "truth")[0]
        large = size if each.max() > 1 else size.repeat(2, axis=0).repeat(2, axis=1)
        wide = truth.repeat(large.shape[0] // sides[0], axis=0).repeat(large.shape[1] // sides[1], axis=1)
        try:
            found, pixels = score_map(by_cell, truth), score_map(large, wide)
        except UsageError as error:
            problems.append(Problem(scene, str(error)))
            continue
        if found is None or pixels is None:
            problems.append(Problem(scene, "the map is zero everywhere"))
            continue
        mass = part_masses(by_cell.reshape(-1), masks)["adversarial"] if masks["adversarial"].any() else None
        scored.append(_Scored(record.bucket, record.density, found, pixels, mass))
    return scored, problems

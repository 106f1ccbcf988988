"""Room-to-Room: paths through scanned houses with their instructions, and poses from the connectivity graphs.

``R2R_*.json``: a list of paths with ``scan``, ``path_id``, ``path`` (viewpoints), ``heading`` (radians, clockwise from +y) and
``instructions``. ``connectivity/<scan>_connectivity.json``: a list of viewpoints with ``image_id`` and ``pose`` (4 × 4, row by
row, z up, metres).

Along a path one looks where one goes: at the first viewpoint along ``heading``, at every other along the way to it. Pictures
require signed terms of use, so existing traces on R2R can be judged, but no model can be asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field

from theodolite.core.errors import UsageError
from theodolite.core.files import check, inside, read_each, read_json
from theodolite.core.views import Form, Name, Number
from theodolite.instruments.trace.data.dataset import EpisodeSet
from theodolite.worlds.episodes import Episode, Frame, Pose

_Place = tuple[float, float, float]


class _Path(Form):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    scan: Name
    path_id: str
    path: list[str] = Field(min_length=1)
    heading: Number
    instructions: list[str] = Field(min_length=1)


class _Viewpoint(Form):
    image_id: str
    pose: list[Number] = Field(min_length=16, max_length=16)


def read_r2r(paths: str | Path, *, connectivity: str | Path | None = None) -> EpisodeSet:
    """Read one episode per instruction, with one frame per viewpoint; houses are the independent units.

    Args:
        paths: The file of paths, or a folder with one such file.
        connectivity: The folder of graphs; ``connectivity`` beside the paths if not given.

    Raises:
        UsageError: There is no such file, or no path could be placed.
    """
    file = _paths_file(Path(paths))
    graphs = Path(connectivity) if connectivity is not None else file.parent / "connectivity"
    value = read_json(file)
    if not isinstance(value, list):
        raise UsageError(f"{file} is not a list of R2R paths but a {type(value).__name__}")
    houses: dict[str, dict[str, _Place]] = {}

    def read(raw: Any) -> list[Episode]:
        path = check(_Path, raw)
        if path.scan not in houses:
            houses[path.scan] = _house(inside(graphs, f"{path.scan}_connectivity.json"))
        return list(_episodes(path, houses[path.scan]))

    rows = [(f"{file.name}, path {number}", raw) for number, raw in enumerate(value, 1)]
    read_paths, problems = read_each(rows, read)
    if not read_paths:
        raise UsageError(f"{file} holds no usable path" + (f": {problems[0].reason}" if problems else ""))
    return EpisodeSet(tuple(episode for _, episodes in read_paths for episode in episodes), tuple(problems))


def _paths_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    files = sorted(path.glob("R2R*.json"))
    if len(files) != 1:
        raise UsageError(f"{path} holds {len(files)} files R2R*.json; name one of them")
    return files[0]


def _house(path: Path) -> dict[str, _Place]:
    value = read_json(path)
    try:
        viewpoints = check(list[_Viewpoint], value)
    except UsageError as error:
        raise UsageError(f"{path} is not a connectivity graph: {error}") from error
    return {v.image_id: (v.pose[3], v.pose[7], v.pose[11]) for v in viewpoints}


def _episodes(path: _Path, house: dict[str, _Place]) -> Iterator[Episode]:
    lost = [v for v in path.path if v not in house]
    if lost:
        raise UsageError(f"path {path.path_id}: the viewpoint {lost[0]} is not in the graph of {path.scan}")
    frames = tuple(
        Frame(float(i), pose=pose, state={"viewpoint": viewpoint})
        for i, (pose, viewpoint) in enumerate(
            zip(poses_along([house[v] for v in path.path], path.heading), path.path, strict=True)
        )
    )
    meta: dict[str, Any] = {"path": path.path_id, "scan": path.scan}
    for i, instruction in enumerate(path.instructions):
        yield Episode(
            f"r2r-{path.path_id}-{i}",
            instruction.strip(),
            frames,
            known={"poses": "complete"},
            world="r2r",
            difficulty={"frames": float(len(frames))},
            cluster=path.scan,
            meta=meta,
        )


def poses_along(places: Sequence[_Place], heading_rad: float) -> list[Pose]:
    """Return the poses of an observer who walks along some positions and looks ahead.

    >>> [p.heading_deg for p in poses_along([(0, 0, 0), (0, 1, 0), (1, 1, 0)], 0.0)]
    [0.0, 0.0, 90.0]
    """
    headings = [math.degrees(heading_rad)]
    for a, b in pairwise(places):
        east, north = b[0] - a[0], b[1] - a[1]
        is_level = math.hypot(east, north) > 1e-6  # straight up or down one goes on looking as before
        headings.append(math.degrees(math.atan2(east, north)) if is_level else headings[-1])
    return [Pose(*position, heading_deg=heading) for position, heading in zip(places, headings, strict=True)]

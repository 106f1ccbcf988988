"""What a run of explanations holds, held against the truth: one row for each map. No model is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import SceneBatch
from theodolite.instruments.grid.data.masks import PARTS, cell_mask, word_roles
from theodolite.instruments.grid.data.world import BUCKETS, Bucket
from theodolite.instruments.grid.explainers.game import Floats
from theodolite.instruments.grid.formulas.maps import MapScore, score_map
from theodolite.instruments.grid.questions import ExplainPlan, Prepared, prepare
from theodolite.runs import Result, Run

WORD_ROLES = ("target", "anchor", "direction", "other")
Logic: TypeAlias = Literal["pure", "spur", "unknown"]
_LOGICS: dict[str, Logic] = {
    "grid:pure": "pure",
    "grid:symbolic-pure": "pure",
    "grid:spur": "spur",
    "grid:symbolic-bow": "spur",
}
INSTRUMENT = "grid-explain"


@dataclass(frozen=True, slots=True)
class MapRow:
    """One map of one scene."""

    explainer: str
    scene: str
    bucket: Bucket
    density: str
    gold: str
    is_right: bool
    """Whether the model's answer is the right one."""
    status: Literal["scored", "no relevance", "no truth", "not measured"]
    """``no relevance``: the map is zero everywhere. ``no truth``: nothing in the picture is asked for."""
    reason: str = ""
    truth: MapScore | None = None
    """Against anchors and targets."""
    pixel: MapScore | None = None
    """The same at pixel level, for explainers that go so fine."""
    mass: Mapping[str, float] = field(default_factory=dict)
    """RMA on each part; the parts sum to 1."""
    area: Mapping[str, float] = field(default_factory=dict)
    """Each part's share of the cells."""
    words: Mapping[str, float] = field(default_factory=dict)
    """Share of the words' relevance on target, anchor, direction and other words; empty if they have none."""
    scalars: Mapping[str, float] = field(default_factory=dict)
    calls: int = 0
    is_exact: bool = True


@dataclass(frozen=True, slots=True)
class CrossRow:
    """The cross matrix of one bucket at one density."""

    bucket: Bucket
    density: str
    rows: NDArray[np.int64]
    logits: Floats


@dataclass(frozen=True, slots=True)
class ExplainedRun:
    """A run as rows."""

    name: str
    model: str
    logic: Logic
    mode: str
    """Of the data: pure or spur."""
    data: str
    plan: ExplainPlan
    batch: SceneBatch
    rows: tuple[MapRow, ...]
    crosses: tuple[CrossRow, ...]
    said: Mapping[int, int]
    """The model's answer to each scene, by row."""
    pending: int
    failed: int

    @property
    def scenario(self) -> str:
        """The paper's name for it: pure, spurious or cross; otherwise the model and the data in words."""
        known = {("pure", "pure"): "pure", ("spur", "spur"): "spurious", ("spur", "pure"): "cross"}
        return known.get((self.logic, self.mode), f"{self.model} on {self.mode} data")


def read_explained(run: Run) -> ExplainedRun:
    """Reads a run of ``grid explain`` and the truth of its data.

    Raises:
        UsageError: it is another instrument's run, or its data have changed since.
    """
    if run.info.instrument != INSTRUMENT:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of grid explain")
    plan = ExplainPlan.from_json(cast("dict[str, Any]", dict(run.info.settings)))
    data = prepare(plan)
    rows: list[MapRow] = []
    crosses: list[CrossRow] = []
    said: dict[int, int] = {}
    pending = failed = 0
    for result in run.results(arrays=True):
        if result.record is None:
            pending += 1
        elif not result.record.response.is_answered:
            failed += 1
        else:
            row = _row_of(result, data)
            if result.item.meta["kind"] == "cross":
                crosses.append(_cross(result, data, row))
            else:
                said[row] = cast("int", result.record.values["said"])
                rows += _maps(result, data, row)
    return ExplainedRun(
        run.folder.name,
        run.info.model,
        _LOGICS.get(run.info.model, "unknown"),
        data.batch.mode,
        plan.data,
        plan,
        data.batch,
        tuple(rows),
        tuple(crosses),
        said,
        pending,
        failed,
    )


def _row_of(result: Result, data: Prepared) -> int:
    row = cast("int", result.item.meta["row"])
    if row >= len(data.batch) or data.batch.text(row) != result.item.request.text:
        raise UsageError(
            f"the data have changed since: {result.item.name} asked {result.item.request.text!r}"
        )
    return row


def _cross(result: Result, data: Prepared, row: int) -> CrossRow:
    assert result.record is not None  # noqa: S101 - looked at before
    rows = np.array(result.record.values["rows"], np.int64)
    logits = np.asarray(result.record.arrays["logits"], np.float64)
    return CrossRow(BUCKETS[int(data.batch.bucket[row])], str(data.density[row]), rows, logits)


def _maps(result: Result, data: Prepared, row: int) -> list[MapRow]:
    record = result.record
    assert record is not None  # noqa: S101 - looked at before
    one = data.batch.take(slice(row, row + 1))
    masks = {part: cell_mask(one, part)[0].reshape(-1) for part in PARTS}
    roles = word_roles(one)[0]
    told = cast("dict[str, dict[str, Any]]", record.values["explainers"])
    is_right = int(cast("int", record.values["said"])) == int(one.answer[0])
    found = []
    for name, about in told.items():
        known: dict[str, Any] = {
            "explainer": name,
            "scene": data.names[row],
            "bucket": BUCKETS[int(one.bucket[0])],
            "density": str(data.density[row]),
            "gold": one.answer_text(0),
            "is_right": is_right,
        }
        if about["status"] != "measured":
            found.append(MapRow(**known, status="not measured", reason=about["reason"]))
            continue
        known |= {"scalars": about["scalars"], "calls": about["calls"], "is_exact": about["is_exact"]}
        words = record.arrays.get(f"words@{name}")
        known["words"] = word_shares(words, roles) if words is not None else {}
        cells = np.asarray(record.arrays[f"cells@{name}"], np.float64)
        pixels = record.arrays.get(f"pixels@{name}")
        found.append(
            score_scene(
                cells, pixels, masks, cell_px=one.world.cell_px, columns=one.world.columns, known=known
            )
        )
    return found


def score_scene(
    cells: Floats,
    pixels: NDArray[Any] | None,
    masks: Mapping[Any, NDArray[np.bool_]],
    *,
    cell_px: int,
    columns: int,
    known: dict[str, Any],
) -> MapRow:
    """One map as a row: its mass on every part, and its scores against anchors and targets."""
    truth = masks["anchors"] | masks["targets"]
    area = {part: float(mask.mean()) for part, mask in masks.items()}
    size = np.abs(cells)
    total = size.sum()
    if not total > 0:
        return MapRow(**known, status="no relevance", area=area)
    mass = {part: float(size[mask].sum() / total) for part, mask in masks.items()}
    if not truth.any():
        return MapRow(**known, status="no truth", mass=mass, area=area)
    pixel = None
    if pixels is not None:
        fine = truth.reshape(-1, columns).repeat(cell_px, axis=0).repeat(cell_px, axis=1)
        pixel = score_map(pixels, fine)
    return MapRow(**known, status="scored", truth=score_map(size, truth), pixel=pixel, mass=mass, area=area)


def word_shares(words: NDArray[Any], roles: NDArray[np.str_]) -> dict[str, float]:
    """Share of |relevance| on each role's words; empty where no word has any."""
    size = np.abs(np.asarray(words, np.float64))
    total = size[roles != ""].sum()
    return {role: float(size[roles == role].sum() / total) for role in WORD_ROLES} if total > 0 else {}

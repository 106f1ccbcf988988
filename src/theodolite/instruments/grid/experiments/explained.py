"""A run of explanations, read back: every stored map compared with the truth of its scene. Calls no model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.files import check
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.grid.data.batch import (
    PARTS,
    MaskName,
    SceneBatch,
    cell_mask,
    pixel_mask,
    word_roles,
)
from theodolite.instruments.grid.data.question_types import BUCKETS, Bucket
from theodolite.instruments.grid.data.world import Flags, Integers
from theodolite.instruments.grid.explainers.game import Floats
from theodolite.instruments.grid.explainers.readers import Pool
from theodolite.instruments.grid.formulas.maps import MapScore, part_masses, score_map, word_shares
from theodolite.instruments.grid.questions import EXPLAIN_RUN, ExplainPlan, PreparedData, prepare
from theodolite.runs import Result, Run

Logic: TypeAlias = Literal["pure", "spur", "unknown"]
"""Whether a model is known to evaluate the question, or to count as a bag of words."""
_LOGICS: Mapping[str, Logic] = {
    "grid:pure": "pure",
    "grid:symbolic-pure": "pure",
    "grid:spur": "spur",
    "grid:symbolic-bow": "spur",
}
_SCENARIOS = {("pure", "pure"): "pure", ("spur", "spur"): "spurious", ("spur", "pure"): "cross"}
"""The paper's names, by logic of the model and mode of the data."""


@dataclass(frozen=True, slots=True)
class SceneMap:
    """One explainer's map of one scene, scored."""

    explainer: str
    scene: str
    bucket: Bucket
    density: str
    gold: str
    said: int
    """The model's answer, an index into `World.answers`."""
    is_right: bool
    status: Literal["scored", "no relevance", "no truth", "not measured"]
    """``no relevance``: the map is zero everywhere. ``no truth``: the question asks for nothing in the picture."""
    reason: str = ""
    """Why it was not measured."""
    truth: MapScore | None = None
    """Against anchors and targets, by cell."""
    pixel: MapScore | None = None
    """The same by pixel, for explainers that give pixels."""
    mass: Mapping[MaskName, float] = field(default_factory=dict)
    """The share of the mass on each part; the parts sum to 1."""
    area: Mapping[MaskName, float] = field(default_factory=dict)
    """The share of the cells of each part."""
    words: Mapping[str, float] | None = None
    """The share of the words' relevance by role; empty if no word has any, None if the explainer rates no words."""
    scalars: Mapping[str, float] = field(default_factory=dict)
    calls: int = 0
    is_exact: bool = True

    @property
    def group(self) -> str:
        """Bucket and density."""
        return f"{self.bucket.key} {self.density}"

    @property
    def has_look_alike(self) -> bool:
        """True if the scene has a look-alike of the target outside the valid region."""
        return self.area.get("adversarial", 0.0) > 0


@dataclass(frozen=True, slots=True)
class CrossMatrix:
    """The model's logits for every picture with every question of one bucket at one density."""

    bucket: Bucket
    density: str
    rows: Integers
    logits: Floats

    @property
    def said(self) -> Integers:
        """The model's answer to each scene."""
        n = np.arange(len(self.rows))
        return np.asarray(self.logits[n, n].argmax(axis=-1))


@dataclass(frozen=True, slots=True)
class ExplainedRun:
    """A run of explanations."""

    name: str
    model: str
    logic: Logic
    mode: str
    """Of the data: pure or spur."""
    data: str
    plan: ExplainPlan
    batch: SceneBatch
    maps: tuple[SceneMap, ...]
    crosses: tuple[CrossMatrix, ...]
    said: Mapping[int, int]
    """The model's answer to each scene, by row."""
    unmeasured: Mapping[str, str]
    """Items without a measurement, and why: ``pending`` or ``failed``."""

    @property
    def scenario(self) -> str:
        """The paper's name for it: pure, spurious or cross; otherwise model and data."""
        return _SCENARIOS.get((self.logic, self.mode), f"{self.model} on {self.mode} data")

    def pool(self, cross: CrossMatrix, *, seed: int = 0) -> Pool:
        """Return a pool with the stored cross matrix, as global explainers take it."""
        pool = Pool(None, self.batch, cross.rows, self.plan.convention, seed=seed)
        rows = [int(row) for row in cross.rows]
        pairs = [(i, j) for i in rows for j in rows]
        pool.learn(pairs, cross.logits.reshape(len(pairs), -1))
        return pool


def read_explained(run: Run) -> ExplainedRun:
    """Read a run of ``grid explain`` and the truth of its data.

    Raises:
        UsageError: It is another kind of run, or its data have changed.
    """
    if run.info.instrument != EXPLAIN_RUN:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of grid explain")
    plan = check(ExplainPlan, run.info.settings)
    data = prepare(plan)
    maps: list[SceneMap] = []
    crosses: list[CrossMatrix] = []
    answers: dict[int, int] = {}
    unmeasured: dict[str, str] = {}
    for result in run.results(arrays=True):
        if result.record is None or not result.record.response.is_answered:
            unmeasured[result.item.name] = "pending" if result.record is None else "failed"
        else:
            row = _row_of(result, data)
            if result.item.meta["kind"] == "cross":
                crosses.append(_cross(result, data, row))
            else:
                answers[row] = cast("int", result.record.values["said"])
                maps += _maps(result, data, row)
    return ExplainedRun(
        run.folder.name,
        run.info.model,
        _LOGICS.get(run.info.model, "unknown"),
        data.batch.mode,
        plan.data,
        plan,
        data.batch,
        tuple(maps),
        tuple(crosses),
        answers,
        unmeasured,
    )


def _row_of(result: Result, data: PreparedData) -> int:
    row = cast("int", result.item.meta["row"])
    if row >= len(data.batch) or data.batch.text(row) != result.item.request.text:
        raise UsageError(
            f"the data have changed since the run: {result.item.name} asked {result.item.request.text!r}"
        )
    return row


def _cross(result: Result, data: PreparedData, row: int) -> CrossMatrix:
    assert result.record is not None  # noqa: S101 - checked before
    rows = np.array(result.record.values["rows"], np.int64)
    logits = np.asarray(result.record.arrays["logits"], np.float64)
    return CrossMatrix(BUCKETS[int(data.batch.bucket[row])], str(data.density[row]), rows, logits)


def _maps(result: Result, data: PreparedData, row: int) -> list[SceneMap]:
    record = result.record
    assert record is not None  # noqa: S101 - checked before
    one = data.batch.take(slice(row, row + 1))
    masks = {part: cell_mask(one, part)[0].reshape(-1) for part in PARTS}
    area = {part: float(mask.mean()) for part, mask in masks.items()}
    roles = word_roles(one)[0]
    stored = cast("dict[str, dict[str, Any]]", record.values["explainers"])
    answer = int(cast("int", record.values["said"]))
    maps = []
    for name, about in stored.items():
        known: dict[str, Any] = {
            "explainer": name,
            "scene": data.names[row],
            "bucket": BUCKETS[int(one.bucket[0])],
            "density": str(data.density[row]),
            "gold": one.answer_text(0),
            "said": answer,
            "is_right": answer == int(one.answer[0]),
            "area": area,
        }
        if about["status"] != "measured":
            rates_words = not name.startswith("relevance:")
            known |= {"words": {} if rates_words else None, "reason": about["reason"]}
            maps.append(SceneMap(**known, status="not measured"))
            continue
        known |= {"scalars": about["scalars"], "calls": about["calls"], "is_exact": about["is_exact"]}
        words = record.arrays.get(f"words@{name}")
        known["words"] = word_shares(words, roles) if words is not None else None
        cells = np.asarray(record.arrays[f"cells@{name}"], np.float64)
        maps.append(_scored(cells, record.arrays.get(f"pixels@{name}"), masks, one, known))
    return maps


def _scored(
    cells: Floats,
    pixels: NDArray[Any] | None,
    masks: Mapping[MaskName, Flags],
    one: SceneBatch,
    known: dict[str, Any],
) -> SceneMap:
    truth = masks["anchors"] | masks["targets"]
    mass = part_masses(cells, masks)
    if not mass:
        return SceneMap(**known, status="no relevance")
    if not truth.any():
        return SceneMap(**known, status="no truth", mass=mass)
    pixel = score_map(pixels, pixel_mask(one, "truth")[0]) if pixels is not None else None
    return SceneMap(**known, status="scored", truth=score_map(cells, truth), pixel=pixel, mass=mass)


# Explained runs in short: what was measured, and what it cost in model calls.


def runs_table(runs: Sequence[ExplainedRun]) -> Table:
    """Return one row per run."""
    rows: list[list[Cell]] = []
    for run in runs:
        right = sum(int(run.batch.answer[row]) == answer for row, answer in run.said.items())
        reasons = Counter(run.unmeasured.values())
        counts = (len(run.said), right, reasons["pending"], reasons["failed"])
        rows.append([run.name, run.scenario, run.model, run.mode, *counts])
    columns = [
        Column("run", "run"),
        Column("scenario", "scenario"),
        Column("model", "model"),
        Column("data", "data"),
        *(Column(name, name, "count") for name in ("scenes", "right", "pending", "failed")),
    ]
    return Table.of("grid.runs", "Explained runs", columns, rows)


def cost_table(runs: Sequence[ExplainedRun]) -> Table:
    """Return the model calls of every explainer of every run, and the maps that it could not give."""
    rows: list[list[Cell]] = []
    for run in runs:
        for name in dict.fromkeys(scene_map.explainer for scene_map in run.maps):
            maps = [scene_map for scene_map in run.maps if scene_map.explainer == name]
            measured = [scene_map for scene_map in maps if scene_map.status != "not measured"]
            status = Counter(scene_map.status for scene_map in maps)
            calls = [scene_map.calls for scene_map in measured] or [0]
            reason = next((scene_map.reason for scene_map in maps if scene_map.reason), "")
            rows.append(
                [
                    run.scenario,
                    name,
                    sum(calls) / len(calls),
                    max(calls),
                    len(measured),
                    sum(scene_map.is_exact for scene_map in measured),
                    status["no relevance"],
                    status["no truth"],
                    status["not measured"],
                    reason,
                ]
            )
    columns = [
        Column("scenario", "scenario"),
        Column("explainer", "explainer"),
        Column("calls", "mean calls", "number"),
        *(
            Column(name.replace(" ", "_"), name, "count")
            for name in ("most", "measured", "exact", "no relevance", "no truth", "not measured")
        ),
        Column("reason", "reason"),
    ]
    return Table.of("grid.cost", "Cost: model calls per scene", columns, rows)


# Differences of RMA that section 5.2 of the paper discusses.
#
# Multimodal gain: DIME's interaction map minus its unimodal map, scene by scene. Form gap: counting (form 0) minus existence
# (form 1), over buckets of equal type, depth and density.


FEWEST = 5
"""Maps on each side that a comparison of two groups needs."""


def gains_table(runs: Sequence[ExplainedRun], *, seed: int = 0) -> Table:
    """Return the multimodal gain of every run, and the form gap of every explainer with enough maps."""
    rows: list[list[Cell]] = []
    for run in runs:
        estimates = {("multimodal gain", "dime"): multimodal_gain(run)}
        for name in dict.fromkeys(scene_map.explainer for scene_map in run.maps):
            estimates["form 0 minus form 1", name] = form_gap(run, name, seed=seed)
        rows += [
            [run.scenario, difference, explainer, estimate, estimate.n]
            for (difference, explainer), estimate in estimates.items()
            if estimate is not None
        ]
    columns = [
        Column("scenario", "scenario"),
        Column("difference", "difference"),
        Column("explainer", "explainer"),
        column("grid.multimodal_gain", "value", "points"),
        Column("n", "scenes", "count"),
    ]
    return Table.of("grid.gains", "Differences of RMA", columns, rows)


def multimodal_gain(run: ExplainedRun) -> stats.Estimate | None:
    """Return the mean of RMA(MI map) − RMA(UC map), paired by scene; None without such pairs."""
    rma = {
        (scene_map.explainer, scene_map.scene): scene_map.truth.rma
        for scene_map in run.maps
        if scene_map.truth
    }
    scenes = [scene for name, scene in rma if name == "dime" and ("dime-unimodal", scene) in rma]
    sides = [[rma[name, scene] for scene in scenes] for name in ("dime", "dime-unimodal")]
    return stats.clustered_difference(sides[0], sides[1], scenes or None)


def form_gap(run: ExplainedRun, explainer: str, *, seed: int = 0) -> stats.Estimate | None:
    """Return the mean RMA of counting minus that of existence, with a bootstrap interval; None with too few maps.

    Args:
        run: The run.
        explainer: Name of the explainer.
        seed: Seed of the bootstrap.
    """
    scored = [scene_map for scene_map in run.maps if scene_map.explainer == explainer and scene_map.truth]
    groups = {
        (scene_map.bucket.type, scene_map.bucket.depth, scene_map.density, scene_map.bucket.form)
        for scene_map in scored
    }
    some = [
        scene_map
        for scene_map in scored
        if (scene_map.bucket.type, scene_map.bucket.depth, scene_map.density, 1 - scene_map.bucket.form)
        in groups
    ]
    if min(sum(scene_map.bucket.form == form for scene_map in some) for form in (0, 1)) < FEWEST:
        return None
    values = [scene_map.truth.rma for scene_map in some if scene_map.truth]
    counts = [scene_map.bucket.form == 0 for scene_map in some]
    return stats.bootstrap(
        (values, counts), _difference, bounds=(-1.0, 1.0), interval="percentile", n_resamples=500, seed=seed
    )


def _difference(values: np.ndarray, is_count: np.ndarray) -> float:
    is_count = is_count.astype(bool)
    if is_count.all() or not is_count.any():
        return float("nan")
    return float(values[is_count].mean() - values[~is_count].mean())

"""A run of explanations, read back: every stored map compared with the truth of its scene. Calls no model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import SceneBatch
from theodolite.instruments.grid.data.masks import PARTS, MaskName, cell_mask, pixel_mask, word_roles
from theodolite.instruments.grid.data.world import BUCKETS, Bucket, Flags, Integers
from theodolite.instruments.grid.explainers.game import Floats
from theodolite.instruments.grid.explainers.pool import Pool
from theodolite.instruments.grid.formulas.maps import MapScore, score_map
from theodolite.instruments.grid.formulas.mass import part_masses, word_shares
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
        """A pool with the stored cross matrix, as global explainers take it."""
        pool = Pool(None, self.batch, cross.rows, self.plan.convention, seed=seed)
        rows = [int(row) for row in cross.rows]
        pairs = [(i, j) for i in rows for j in rows]
        pool.learn(pairs, cross.logits.reshape(len(pairs), -1))
        return pool


def read_explained(run: Run) -> ExplainedRun:
    """Reads a run of ``grid explain`` and the truth of its data.

    Raises:
        UsageError: It is another kind of run, or its data have changed.
    """
    if run.info.instrument != EXPLAIN_RUN:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of grid explain")
    plan = ExplainPlan.from_json(cast("dict[str, Any]", dict(run.info.settings)))
    data = prepare(plan)
    maps: list[SceneMap] = []
    crosses: list[CrossMatrix] = []
    said: dict[int, int] = {}
    unmeasured: dict[str, str] = {}
    for result in run.results(arrays=True):
        if result.record is None or not result.record.response.is_answered:
            unmeasured[result.item.name] = "pending" if result.record is None else "failed"
        else:
            row = _row_of(result, data)
            if result.item.meta["kind"] == "cross":
                crosses.append(_cross(result, data, row))
            else:
                said[row] = cast("int", result.record.values["said"])
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
        said,
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
    said = int(cast("int", record.values["said"]))
    found = []
    for name, about in stored.items():
        known: dict[str, Any] = {
            "explainer": name,
            "scene": data.names[row],
            "bucket": BUCKETS[int(one.bucket[0])],
            "density": str(data.density[row]),
            "gold": one.answer_text(0),
            "said": said,
            "is_right": said == int(one.answer[0]),
            "area": area,
        }
        if about["status"] != "measured":
            rates_words = not name.startswith("relevance:")
            known |= {"words": {} if rates_words else None, "reason": about["reason"]}
            found.append(SceneMap(**known, status="not measured"))
            continue
        known |= {"scalars": about["scalars"], "calls": about["calls"], "is_exact": about["is_exact"]}
        words = record.arrays.get(f"words@{name}")
        known["words"] = word_shares(words, roles) if words is not None else None
        cells = np.asarray(record.arrays[f"cells@{name}"], np.float64)
        found.append(_scored(cells, record.arrays.get(f"pixels@{name}"), masks, one, known))
    return found


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

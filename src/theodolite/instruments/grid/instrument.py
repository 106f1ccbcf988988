"""The grid behind the `Instrument` type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.scores import Capability, ItemScore, Metric, covers
from theodolite.core.signatures import Signature
from theodolite.core.splits import OWN_SPLIT
from theodolite.core.types import Item
from theodolite.instruments.instrument import Instrument, Place, RunPlan, Study, UserData, made
from theodolite.instruments.user_files import has_file
from theodolite.models import Answering, ask_factory, ask_measurer
from theodolite.runs import Run

if TYPE_CHECKING:
    from theodolite.core.views import ItemRow

_POOL = 8
"""Pictures that stand in for what an explainer takes away."""


@dataclass(frozen=True, slots=True)
class _Size:
    """How much of the grid a study asks."""

    scenes: int
    """Of each relational bucket at each of two densities, in each split."""
    explained: int
    """Of each of six buckets that are explained; 0 for none."""
    budget: int
    """Model calls for each explained scene, all explainers together."""
    deep: int = 2
    """Of each of eight buckets with several anchors; 0 for none."""

    @classmethod
    def of(cls, size: str | int) -> _Size:
        if isinstance(size, str):
            return _SIZES[size]
        return cls(max(1, round(0.07 * size)), max(2, round(0.04 * size)), 160, deep=0)


_SIZES: Mapping[str, _Size] = {
    "quick": _Size(2, 0, 300),
    "standard": _Size(2, 2, 110),
    "large": _Size(15, 10, 300, deep=12),
}


class Grid(Instrument):
    """Do explainers tell spatial reasoning from a shortcut, where the truth is known?"""

    name = "grid"
    question = "Does it use the relation, or count what the words name?"
    run_kinds = ("grid", "grid-behaviour", "grid-anchors", "grid-explain")
    takes = "grids made by `theodolite grid make`"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Answers under edits, explainers' maps, and questions with several anchors."""
        from theodolite.instruments.grid.experiments.anchors import METRICS as ANCHORS
        from theodolite.instruments.grid.metrics import METRICS

        return (*METRICS, *ANCHORS)

    def plan(self, study: Study, gives: Capability) -> Iterator[RunPlan]:
        """Scenes and their edits, questions with several anchors, explained scenes, and the user's own."""
        from theodolite.instruments.grid.data.drawn import grid_data, write_explained

        size = _Size.of(study.size)
        folders = {
            split: made(
                study.place(f"grid-{split}"),
                partial(grid_data, n=size.scenes, seed=study.seed, split=cast("Any", split)),
            )
            for split in study.splits
        }
        yield _behaviour("grid", folders, gives=gives, seed=study.seed)
        if size.deep:
            yield _anchors(study, size.deep, gives)
        if size.explained and covers(gives, "choices"):
            # Scenes of the first split only: where accuracy sees nothing, maps might.
            split = study.splits[0]
            folder = made(
                study.place(f"grid-explained-{split}"),
                partial(write_explained, n=size.explained, seed=study.seed, split=split),
            )
            yield _explained("grid-explained", folder, gives=gives, budget=size.budget, seed=study.seed)
        if study.data is not None:
            yield _behaviour("grid-own", {OWN_SPLIT: study.data.path}, gives=gives, seed=study.seed)

    def score(self, run: Run) -> list[ItemScore]:
        """Every metric of every scene."""
        from theodolite.instruments.grid.experiments import accuracy, anchors
        from theodolite.instruments.grid.metrics import readings

        if run.info.instrument == anchors.INSTRUMENT:
            return anchors.readings(run)
        if run.info.instrument == self.name:
            return accuracy.item_scores(run)
        return readings(run)

    def rows(self, run: Run, place: Place, scores: Sequence[ItemScore]) -> Iterator[ItemRow]:
        """Cells with what each is to the question, and explainers' maps."""
        from theodolite.instruments.grid.rows import explained_rows, grid_rows, plain_grid_rows
        from theodolite.instruments.rows import values_by_item

        rows = {"grid-explain": explained_rows, "grid": plain_grid_rows}.get(run.info.instrument, grid_rows)
        return rows(run, place, values_by_item(scores))

    def signatures(
        self, folders: Sequence[Path], scores: Sequence[ItemScore], *, seed: int
    ) -> list[Signature]:
        """Semantic shortcut."""
        from theodolite.instruments.grid.signatures import grid_signatures

        return grid_signatures(scores)

    def is_plain(self, item: Item) -> bool:
        """True for a scene as it is, unless it is explained."""
        return item.meta.get("condition") == "plain"

    def describe(self, study: Study) -> str:
        """What a study asks about."""
        own = f"; and {study.data.words}" if study.data else ""
        n = 24 * _Size.of(study.size).scenes
        return f"{n} grids with a relation to use, half of them against the shortcut{own}"

    def find_data(self, path: Path, images: Path | None) -> UserData | None:
        """A data set folder."""
        folder = path.parent if path.name == "dataset.json" else path
        return (
            UserData("grid", "grids", folder)
            if folder.is_dir() and has_file(folder, "dataset.json")
            else None
        )


GRID = Grid()


def _answering(gives: Capability) -> Answering:
    return "choose" if covers(gives, "choices") else "write"


def _behaviour(name: str, folders: Mapping[str, Path], *, gives: Capability, seed: int) -> RunPlan:
    """The relational scenes of grids, as they are and edited, by split."""
    from theodolite.instruments.grid.metrics import INSTRUMENT

    def plan(_: Run) -> Iterator[Item]:
        for split, folder in folders.items():
            yield from _scene_items(folder, split, seed)

    answering = _answering(gives)
    return RunPlan(
        name,
        INSTRUMENT,
        {"data": {split: str(folder.absolute()) for split, folder in folders.items()}, "gives": gives},
        plan,
        partial(ask_measurer, answering=answering),
        partial(ask_factory, answering=answering),
    )


def _scene_items(folder: Path, split: str, seed: int) -> Iterator[Item]:
    from theodolite.instruments.grid.data.world import BUCKETS
    from theodolite.instruments.grid.metrics import plan_readings
    from theodolite.instruments.grid.questions import ExplainPlan, prepare

    data = prepare(ExplainPlan(str(folder), ()))
    rows = [row for row in data.chosen.tolist() if BUCKETS[int(data.batch.bucket[row])].is_relational]
    if not rows:
        raise UsageError(f"{folder} has no scene with a relation; make some of depth one or more")
    names = [f"{split}/{data.names[row]}" for row in rows]
    yield from plan_readings(data.batch.take(np.array(rows)), names, split=split, seed=seed)


def _anchors(study: Study, n: int, gives: Capability) -> RunPlan:
    """Questions with several anchors, to see which are forgotten."""
    from theodolite.instruments.grid.data.drawn import write_grids
    from theodolite.instruments.grid.experiments.anchors import BUCKET_KEYS, INSTRUMENT

    folder = made(
        study.place("grid-anchors"), partial(write_grids, n=n, seed=study.seed, buckets=BUCKET_KEYS)
    )
    answering = _answering(gives)
    return RunPlan(
        "grid-anchors",
        INSTRUMENT,
        {"data": {"free": str(folder.absolute())}, "gives": gives},
        partial(_anchor_items, folder),
        partial(ask_measurer, answering=answering),
        partial(ask_factory, answering=answering),
    )


def _anchor_items(folder: Path, _: Run) -> Iterator[Item]:
    from theodolite.instruments.grid.experiments.anchors import plan_anchors
    from theodolite.instruments.grid.questions import ExplainPlan, prepare

    data = prepare(ExplainPlan(str(folder), ()))
    yield from plan_anchors(data.batch, [f"free/{name}" for name in data.names])


def _explained(name: str, folder: Path, *, gives: Capability, budget: int, seed: int) -> RunPlan:
    """Scenes with every explainer that the model allows; `budget` counts model calls per scene."""
    from theodolite.instruments.grid.explainers.readers import CoreReader
    from theodolite.instruments.grid.measure import ExplainMeasurer, explain_factory
    from theodolite.instruments.grid.metrics import EXPLAINERS, needs_gradients
    from theodolite.instruments.grid.questions import ExplainPlan, plan_explanations
    from theodolite.instruments.grid.stored import INSTRUMENT

    wanted = tuple(each for each in EXPLAINERS if gives == "gradients" or not needs_gradients(each))
    plan = ExplainPlan(str(folder.absolute()), wanted, budget, pool=_POOL, seed=seed)
    return RunPlan(
        name,
        INSTRUMENT,
        plan.as_json(),
        lambda _: plan_explanations(plan),
        lambda model: ExplainMeasurer(CoreReader(cast("Any", model)), plan),
        partial(explain_factory, plan=plan),
    )

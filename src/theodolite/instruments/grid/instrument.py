"""The grid behind the `Instrument` type."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.scores import OWN_SPLIT, Capability, ItemScore, Signature, covers
from theodolite.core.tables import Table
from theodolite.core.types import Item
from theodolite.instruments.grid.verbs import VERBS, GridRun, compare_runs, plan_answers, plan_explained
from theodolite.instruments.instrument import Instrument, RunPlan, Study, UserData, made
from theodolite.instruments.user_files import has_file
from theodolite.instruments.verbs import Verb
from theodolite.models import Answering, ask_factory, ask_measurer
from theodolite.pairs import AnsweredPair
from theodolite.pairs.outcomes import with_repeats
from theodolite.runs import Run

if TYPE_CHECKING:
    from theodolite.instruments.rows import View

_SCENES_OF_SIZE = 0.07
"""Scenes of each bucket, density and split for each item of a size in numbers."""
_PAIRS_OF_SCENE = 57
"""Relevant pairs for each scene of a bucket, density and split: 24 scenes with up to three each."""
_POOL = 8
"""Scenes of the cross matrix that DIME compares with."""


@dataclass(frozen=True, slots=True)
class _StudySize:
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
    def of(cls, size: str | int) -> _StudySize:
        if isinstance(size, str):
            return _SIZES[size]
        return cls(max(1, round(_SCENES_OF_SIZE * size)), max(2, round(0.04 * size)), 160, deep=0)


_SIZES: Mapping[str, _StudySize] = {
    "quick": _StudySize(2, 0, 300),
    "standard": _StudySize(2, 2, 110),
    "large": _StudySize(15, 10, 300, deep=12),
}


class Grid(Instrument):
    """Do explainers tell spatial reasoning from a shortcut, where the truth is known?"""

    name = "grid"
    question = "Does it use the relation, or count what the words name?"
    run_kinds = ("grid", "grid-behaviour", "grid-anchors", "grid-explain")
    run_options = GridRun
    run_help = "Ask models about every scene, or explain their answers (--explainers), and score."
    takes = "grids made by `theodolite grid make`"

    def verbs(self) -> Mapping[str, Verb[Any]]:
        """Make and import scenes, score, audit, figures."""
        return VERBS

    def compare(self, folders: Sequence[Path]) -> list[Table]:
        """Accuracy of several models on the same scenes, and paired tests."""
        return compare_runs(list(folders))

    def plan(self, study: Study, gives: Capability) -> Iterator[RunPlan]:
        """Scenes and their edits, questions with several anchors, explained scenes, and the user's own."""
        from theodolite.instruments.grid.data.files import grid_data, write_explained

        asked = study.options
        if isinstance(asked, GridRun) and asked.data is not None:
            yield (plan_explained if asked.explainers else plan_answers)(study, asked, asked.data)
            return
        size = _StudySize.of(study.size)
        folders = {
            split: made(
                study.place(f"grid-{split}"),
                partial(grid_data, n=size.scenes, seed=study.seed, split=cast("Any", split)),
            )
            for split in study.splits
        }
        yield _edits("grid", folders, gives=gives, seed=study.seed)
        if size.deep and study.splits:
            yield _anchors(study, size.deep, gives)
        if size.explained and covers(gives, "choices"):
            # Scenes of the first split only: where accuracy is the same, maps may differ.
            split = study.splits[0]
            folder = made(
                study.place(f"grid-explained-{split}"),
                partial(write_explained, n=size.explained, seed=study.seed, split=split),
            )
            yield _explained("grid-explained", folder, gives=gives, budget=size.budget, seed=study.seed)
        if study.data is not None:
            yield _edits("grid-own", {OWN_SPLIT: study.data.path}, gives=gives, seed=study.seed)

    def score(self, run: Run) -> list[ItemScore]:
        """Every metric of every scene."""
        from theodolite.instruments.grid.score import item_scores

        return item_scores(run)

    def tables(self, run: Run) -> list[Table]:
        """Accuracy by bucket, the tables of explained runs, or the mean of every metric."""
        from theodolite.instruments.grid.score import run_tables

        return run_tables(run) or super().tables(run)

    def pairs(self, run: Run) -> list[AnsweredPair]:
        """Return the answers before and after edits of the picture, those that change the right answer first."""
        return sorted(super().pairs(run), key=lambda pair: not pair.edit.is_relevant)

    def view(self, run: Run) -> View:
        """Return a function that gives the cells with their roles in the question, and explainers' maps."""
        from theodolite.instruments.grid.rows import grid_view

        return grid_view(run)

    def signatures(
        self, folders: Sequence[Path], scores: Sequence[ItemScore], *, seed: int
    ) -> list[Signature]:
        """Semantic shortcut."""
        from theodolite.instruments.grid.score import grid_signatures

        return grid_signatures(scores)

    def describe(self, study: Study) -> str:
        """What a study asks about."""
        own = f"; and {study.data.words}" if study.data else ""
        n = 24 * _StudySize.of(study.size).scenes
        return f"{n} grids with a relation, half of them against the shortcut{own}"

    def size_for(self, pairs: int) -> int:
        """The smallest size with that many pairs."""
        return math.ceil(math.ceil(pairs / _PAIRS_OF_SCENE) / _SCENES_OF_SIZE)

    def find_data(self, path: Path, images: Path | None) -> UserData | None:
        """A data set folder."""
        folder = path.parent if path.name == "dataset.json" else path
        return (
            UserData("grid", "grids", folder)
            if folder.is_dir() and has_file(folder, "dataset.json")
            else None
        )


GRID = Grid()


def _asked(
    name: str,
    kind: str,
    folders: Mapping[str, Path],
    items: Callable[[Run], Iterator[Item]],
    gives: Capability,
) -> RunPlan:
    """A run of plain questions, answered by log-probabilities if the model gives them."""
    answering: Answering = "choose" if covers(gives, "choices") else "write"
    return RunPlan(
        name,
        kind,
        {"data": {split: str(folder.absolute()) for split, folder in folders.items()}, "gives": gives},
        items,
        partial(ask_measurer, answering=answering),
        partial(ask_factory, answering=answering),
    )


def _edits(name: str, folders: Mapping[str, Path], *, gives: Capability, seed: int) -> RunPlan:
    """The relational scenes of data sets, as they are and edited, by split."""
    from theodolite.instruments.grid.questions import EDITS_RUN

    def edited() -> Iterator[Item]:
        for split, folder in folders.items():
            yield from _edited_items(folder, split, seed)

    def items(run: Run) -> Iterator[Item]:
        return with_repeats(edited(), GRID.is_plain, model=run.info.model)

    return _asked(name, EDITS_RUN, folders, items, gives)


def _edited_items(folder: Path, split: str, seed: int) -> Iterator[Item]:
    from theodolite.instruments.grid.data.question_types import BUCKETS
    from theodolite.instruments.grid.questions import ExplainPlan, plan_edits, prepare

    data = prepare(ExplainPlan(str(folder), ()))
    rows = [row for row in data.chosen.tolist() if BUCKETS[int(data.batch.bucket[row])].is_relational]
    if not rows:
        raise UsageError(f"{folder} has no scene with a relation; make some of depth one or more")
    names = [f"{split}/{data.names[row]}" for row in rows]
    yield from plan_edits(data.batch.take(np.array(rows)), names, split=split, seed=seed)


def _anchors(study: Study, n: int, gives: Capability) -> RunPlan:
    """Questions with several anchors."""
    from theodolite.instruments.grid.data.files import write_grids
    from theodolite.instruments.grid.questions import (
        ANCHOR_BUCKETS,
        ANCHORS_RUN,
        ExplainPlan,
        plan_anchors,
        prepare,
    )

    folder = made(
        study.place("grid-anchors"), partial(write_grids, n=n, seed=study.seed, buckets=ANCHOR_BUCKETS)
    )

    def items(_: Run) -> Iterator[Item]:
        data = prepare(ExplainPlan(str(folder), ()))
        yield from plan_anchors(data.batch, [f"free/{name}" for name in data.names])

    return _asked("grid-anchors", ANCHORS_RUN, {"free": folder}, items, gives)


def _explained(name: str, folder: Path, *, gives: Capability, budget: int, seed: int) -> RunPlan:
    """Scenes with every explainer that the model supports; `budget` is model calls per scene."""
    from theodolite.instruments.grid.experiments.map_quality import EXPLAINERS, needs_gradients
    from theodolite.instruments.grid.explainers.readers import CoreReader
    from theodolite.instruments.grid.measure import ExplainMeasurer, explain_factory
    from theodolite.instruments.grid.questions import EXPLAIN_RUN, ExplainPlan, plan_explanations

    wanted = tuple(each for each in EXPLAINERS if gives == "gradients" or not needs_gradients(each))
    plan = ExplainPlan(str(folder.absolute()), wanted, budget, pool=_POOL, seed=seed)
    return RunPlan(
        name,
        EXPLAIN_RUN,
        plan.settings(),
        lambda _: plan_explanations(plan),
        lambda model: ExplainMeasurer(CoreReader(cast("Any", model)), plan),
        partial(explain_factory, plan=plan),
        calls=budget,
    )

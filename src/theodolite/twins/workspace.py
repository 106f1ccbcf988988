"""Measure any model with all instruments on one split of their built-in data, in runs that resume.

data/<set>                   made once, for all models
runs/<model>/<split>/<run>   one folder per run
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from theodolite.attribution import capability_of
from theodolite.core.errors import UsageError
from theodolite.core.scores import ALIGNED, Capability, ItemScore, Split
from theodolite.instruments.instrument import Instrument, Study, score_runs
from theodolite.models import open_model
from theodolite.runs import EngineOptions, RunSettings, Tally, measure_run, slug

__all__ = ["Workspace", "measured_scores", "model_capability", "stored_scores"]

_MIN_ITEMS = 6


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder of data and runs, with the split, sample size and seed."""

    home: Path
    split: Split = ALIGNED
    size: int = 100
    """Number of pictures. The number of scenes and episodes is chosen to cost about the same."""
    seed: int = 0
    progress: Callable[[str, Tally], None] | None = None
    """Called with the name of a run and its progress."""

    def __post_init__(self) -> None:
        if self.size < _MIN_ITEMS:
            raise UsageError(f"an instrument needs at least {_MIN_ITEMS} items, not {self.size}")

    @property
    def study(self) -> Study:
        """The request to every instrument."""
        return Study(self.home / "data", self.size, self.seed, (self.split,))

    def runs(self, model: str) -> Path:
        """Return the folder of the runs of a model. Options in its name, such as the batch size, are ignored."""
        return self.home / "runs" / slug(model.partition("?")[0]) / self.split


def model_capability(model: str) -> Capability:
    """Open a model and return its capability."""
    with closing(open_model(model)) as opened:
        return capability_of(opened)


def measured_scores(
    model: str, instrument: Instrument, workspace: Workspace, *, gives: Capability
) -> list[ItemScore]:
    """Measure the pending items of one instrument, and score its runs."""
    return _scored(instrument, measured_runs(model, instrument, workspace, gives=gives))


def measured_runs(
    model: str, instrument: Instrument, workspace: Workspace, *, gives: Capability
) -> list[Path]:
    """Measure the pending items of one instrument, and return its run folders."""
    folders = []
    for plan in instrument.plan(workspace.study, gives):
        folder = workspace.runs(model) / plan.name
        progress = workspace.progress
        measure_run(
            folder,
            RunSettings(plan.kind, model, workspace.seed, plan.settings),
            plan.items,
            plan.factory(model),
            options=EngineOptions(cache=workspace.home / "answers"),
            progress=partial(progress, f"{model} {plan.name}") if progress is not None else None,
        )
        folders.append(folder)
    return folders


def stored_scores(model: str, instrument: Instrument, workspace: Workspace) -> list[ItemScore]:
    """Score the stored runs of one instrument. The model is not opened.

    Raises:
        UsageError: If there is no run of the instrument.
    """
    folders = [path for path in sorted(workspace.runs(model).glob(f"{instrument.name}*")) if path.is_dir()]
    if not folders:
        raise UsageError(
            f"{workspace.runs(model)} holds no run of {instrument.name} on the {workspace.split} split; measure it first"
        )
    return _scored(instrument, folders)


def _scored(instrument: Instrument, folders: list[Path]) -> list[ItemScore]:
    return [score for score in score_runs(instrument, folders) if score.value is not None]

"""Where the twins are measured: one split of every instrument's own data, put to any model, in runs that resume.

data/<set>                   made once, for all models
runs/<model>/<split>/<run>   one folder a run
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from theodolite.attribution import capability_of
from theodolite.core.errors import UsageError
from theodolite.core.scores import Capability, ItemScore
from theodolite.core.splits import ALIGNED, Split
from theodolite.instruments.instrument import Instrument, Study
from theodolite.models import open_model
from theodolite.runs import EngineOptions, RunSettings, Tally, measure_run, slug

__all__ = ["Workspace", "kept_scores", "measured_scores", "model_capability"]

_FEWEST = 6


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where data and runs lie, and how much is asked."""

    home: Path
    split: Split = ALIGNED
    size: int = 100
    """Pictures; as many scenes and episodes as cost about the same."""
    seed: int = 0
    progress: Callable[[str, Tally], None] | None = None
    """Called with a run's name and how far it is."""

    def __post_init__(self) -> None:
        if self.size < _FEWEST:
            raise UsageError(f"an instrument needs at least {_FEWEST} items, not {self.size}")

    @property
    def study(self) -> Study:
        """What is asked of every instrument."""
        return Study(self.home / "data", self.size, self.seed, (self.split,))

    def runs(self, model: str) -> Path:
        """Where a model's runs lie; options in its name, such as its batch size, make no other model of it."""
        return self.home / "runs" / slug(model.partition("?")[0]) / self.split


def model_capability(model: str) -> Capability:
    """What a model gives: gradients, log-probabilities of options, or text alone."""
    with closing(open_model(model)) as opened:
        return capability_of(opened)


def measured_scores(
    model: str, instrument: Instrument, workspace: Workspace, *, gives: Capability
) -> list[ItemScore]:
    """Measures what is pending, and scores every run of one instrument."""
    return _scored(instrument, measured_runs(model, instrument, workspace, gives=gives))


def measured_runs(
    model: str, instrument: Instrument, workspace: Workspace, *, gives: Capability
) -> list[Path]:
    """Measures what is pending of one instrument, and returns its run folders."""
    folders = []
    for plan in instrument.plan(workspace.study, gives):
        folder = workspace.runs(model) / plan.name
        tell = workspace.progress
        measure_run(
            folder,
            RunSettings(plan.kind, model, workspace.seed, plan.settings),
            plan.items,
            plan.factory(model),
            options=EngineOptions(cache=workspace.home / "answers"),
            progress=partial(tell, f"{model} {plan.name}") if tell is not None else None,
        )
        folders.append(folder)
    return folders


def kept_scores(model: str, instrument: Instrument, workspace: Workspace) -> list[ItemScore]:
    """Scores the runs that are there already; nothing is asked, and the model is not opened.

    Raises:
        UsageError: There is no run of the instrument.
    """
    folders = [path for path in sorted(workspace.runs(model).glob(f"{instrument.name}*")) if path.is_dir()]
    if not folders:
        raise UsageError(
            f"{workspace.runs(model)} holds no run of {instrument.name} on the {workspace.split} split; ask first"
        )
    return _scored(instrument, folders)


def _scored(instrument: Instrument, folders: list[Path]) -> list[ItemScore]:
    return [score for score in instrument.score_all(folders) if score.value is not None]

"""Samples: the one form in which items are exported, whatever the instrument and the format.

They come from runs. A data set without runs is planned as in a diagnosis, and its samples have no answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from theodolite.answers import Answer
from theodolite.answers.grading import Grade, grader_of, rubric_of_item
from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Json, Picture, Record, Response
from theodolite.core.views import ItemRow
from theodolite.diagnose.api import RunFigure, browse
from theodolite.instruments.instrument import (
    Instrument,
    Study,
    UserData,
    instrument_of_run,
    item_rows,
)
from theodolite.runs import Run, RunInfo, RunSettings, measure_run, slug

__all__ = [
    "PairLink",
    "Sample",
    "SampledRun",
    "plan_runs",
    "read_samples",
    "without_answers",
]


UNANSWERED = "scripted:unanswered"
"""The model of a run that was planned only for its samples."""


@dataclass(frozen=True, slots=True)
class PairLink:
    """A link to the sample before an edit."""

    before: str
    """The id of the sample before the edit."""
    edit: str
    is_relevant: bool

    def to_json(self) -> dict[str, Json]:
        """Return the link as JSON, for other tools."""
        return {"before": self.before, "edit": self.edit, "relevant": self.is_relevant}


@dataclass(frozen=True, slots=True)
class Sample:
    """One item as shown to the model, with its answer and its score."""

    id: str
    """Unique in its run: the id that a replay looks for, else the item's name."""
    item: Item
    row: ItemRow
    record: Record | None
    """None if it was not asked."""
    rubric: Mapping[str, Json]
    grade: Grade | None
    """None if there is no answer."""
    pairs: tuple[PairLink, ...] = ()

    @property
    def task(self) -> str:
        """What is asked for if not an answer, such as ``graph``; else empty."""
        return str(self.rubric.get("task", ""))

    @property
    def gold(self) -> str:
        """The right answer, as text."""
        golds: Any = self.rubric.get("golds")
        if golds is None:
            return str(self.item.request.hint.get("gold", ""))
        return str(golds[0]) if golds else ""


@dataclass(frozen=True)
class SampledRun:
    """The samples of one run."""

    name: str
    info: RunInfo
    instrument: Instrument
    samples: tuple[Sample, ...]
    figures: tuple[RunFigure, ...]
    """The means of all metrics, by split."""
    repeats: int = 0
    """The requests that were made again. They are no samples."""

    @property
    def label(self) -> str:
        """A name that is unique in a diagnosis: the model and the name of the folder."""
        return f"{slug(self.info.model)}-{self.name}"

    @cached_property
    def tasks(self) -> Mapping[str, Sequence[Sample]]:
        """The samples by task."""
        by_task: dict[str, list[Sample]] = {}
        for sample in self.samples:
            by_task.setdefault(sample.task, []).append(sample)
        return by_task


def read_samples(folder: Path, name: str = "") -> SampledRun:
    """Read the samples of a run, in the order of its plan.

    Args:
        folder: The run.
        name: Name of the run in the export. Default: the kind of run.

    Raises:
        UsageError: If the run is of no instrument, or its data are gone.
    """
    with Run.open(folder) as run:
        instrument = instrument_of_run(run.info.instrument)
        if instrument is None:
            raise UsageError(f"{folder} is a run of {run.info.instrument}, which no instrument scores")
        browsed = browse(run, _digest)
        implied = list(instrument.implied(run))
        rows = {
            row.id: row for row in (*browsed.rows, *item_rows(instrument, run, _digest, [], results=implied))
        }
        results = {r.item.name: r for r in (*run.results(), *implied) if r.item.name in rows}
        counts = Counter(r.item.request.ref for r in results.values())
        ids = {
            own: r.item.request.ref if r.item.request.ref and counts[r.item.request.ref] == 1 else own
            for own, r in results.items()
        }
        links: dict[str, list[PairLink]] = {}
        for pair in instrument.pairs(run):
            before, after = pair.shown
            if before in ids and after in ids:
                link = PairLink(ids[before], pair.edit.name, pair.edit.is_relevant)
                links.setdefault(after, []).append(link)
        samples = []
        for own, result in results.items():
            item, rubric = instrument.shown(result.item), rubric_of_item(result.item)
            record = result.record if run.info.model != UNANSWERED else None
            grade = None if record is None else _grade(item, rubric, record.response)
            samples.append(
                Sample(ids[own], item, rows[own], record, rubric, grade, tuple(links.get(own, ())))
            )
        return SampledRun(
            name or run.info.instrument,
            run.info,
            instrument,
            tuple(samples),
            tuple(browsed.figures),
            sum(1 for _ in run.repeats()),
        )


def _digest(picture: Picture) -> str:
    return picture.digest


def _grade(item: Item, rubric: Mapping[str, Json], response: Response) -> Grade | None:
    if response.status == "refused":
        return Grade(Answer("refused", reason=response.reason), None if rubric.get("golds") == [] else 0.0)
    if not response.is_answered:
        return None
    is_cut_off = response.finish == "length"
    grade = grader_of(item.truth.grader)
    return grade(response.text, rubric, is_cut_off=is_cut_off, reasoning=response.reasoning)


@dataclass
class _Unanswered:
    """A measurer that asks nothing."""

    identity = UNANSWERED
    batch_size = 256
    reuse: Literal["never"] = "never"

    def measure(self, items: Sequence[Item]) -> list[Record]:
        return [Record(item.id, Response("answered")) for item in items]

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def without_answers(folder: Path, place: Path) -> Path:
    """Plan the items of a run again without asking, so that items not asked yet are paired too."""
    with Run.open(folder) as run:
        settings = RunSettings(run.info.instrument, UNANSWERED, run.info.seed, run.info.settings)
        items = [result.item for result in run.results()]
    measure_run(place, settings, lambda _: items, _Unanswered())
    return place


def plan_runs(
    instrument: Instrument,
    folder: Path,
    *,
    data: UserData | None = None,
    size: str | int = "large",
    seed: int = 0,
) -> Iterator[Path]:
    """Plan what a diagnosis would ask about a data set, and yield the run folders. No model is called.

    Args:
        instrument: The instrument.
        folder: Where to write.
        data: The data set. Default: the built-in data.
        size: ``quick``, ``standard``, ``large``, or a number of items.
        seed: Seed of the plan.
    """
    splits: Any = {} if data is None else {"splits": ()}
    study = Study(folder / "data", size, seed, data=data, **splits)
    for plan in instrument.plan(study, "text"):
        run_folder = folder / "runs" / plan.name
        settings = RunSettings(plan.kind, UNANSWERED, seed, plan.settings)
        if measure_run(run_folder, settings, plan.items, _Unanswered()).planned:
            yield run_folder

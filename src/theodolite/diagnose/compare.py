"""Compare two diagnoses or two runs item by item. No model is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore
from theodolite.core.tables import Column, Table
from theodolite.diagnose.compare_pairs import FollowedChange, compare_followed
from theodolite.diagnose.comparing import compare_models
from theodolite.diagnose.record import (
    DIAGNOSIS_FILE,
    Comparison,
    InstrumentOfModel,
    MetricForm,
    read_diagnosis,
)
from theodolite.diagnose.table import ScoreTable
from theodolite.instruments.instrument import find_instruments, instrument_of_run, instruments
from theodolite.runs import find_runs, read_info

__all__ = ["Compared", "Side", "Verdicts", "compare", "differences_table", "open_side"]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: the scores of one model, by instrument."""

    label: str
    model: str
    place: str
    scores: dict[str, list[ItemScore]]
    views: dict[str, InstrumentOfModel] = field(default_factory=dict)
    """By instrument, the result of a diagnosis. Empty for runs."""
    runs: dict[str, list[Path]] = field(default_factory=dict)
    """By instrument, the run folders."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The result of one instrument on both sides. None for a side without a diagnosis by it."""

    instrument: str
    first: InstrumentOfModel | None
    second: InstrumentOfModel | None


@dataclass(frozen=True, slots=True)
class Compared:
    """The result of a comparison."""

    first: str
    second: str
    comparisons: tuple[Comparison, ...]
    metrics: tuple[MetricForm, ...]
    notes: tuple[str, ...]
    """What could not be compared, and why."""
    verdicts: tuple[Verdicts, ...] = ()
    """The verdicts on both sides. Empty if neither side is a diagnosis."""
    followed: tuple[FollowedChange, ...] = ()
    """The followed pairs on both sides, by instrument and kind of pictures."""


def differences_table(found: Compared, shown: Sequence[Comparison]) -> Table:
    """Build the table of some differences, first minus second."""
    names = {metric.key: metric.name for metric in found.metrics}
    return Table.of(
        "compare.differences",
        f"{found.first} minus {found.second}",
        [
            Column("instrument", "instrument"),
            Column("metric", "metric"),
            Column("split", "split"),
            Column("difference", "difference", "number", signed=True),
            Column("n", "n", "count"),
            Column("p", "p", "p"),
            Column("p_holm", "p corrected", "p"),
        ],
        [
            [
                each.instrument,
                names[each.metric],
                each.split,
                each.difference.estimate() if each.difference else each.why_not,
                each.difference.n if each.difference else None,
                each.test.p_value if each.test else None,
                each.p_holm,
            ]
            for each in shown
        ],
        found.notes,
    )


def compare(first: str | Path, second: str | Path, *, seed: int = 0) -> Compared:
    """Compute first minus second on every metric that both have, paired by item.

    Args:
        first: A diagnosis, a run, or a folder of runs of one model. ``FOLDER#MODEL`` selects one of several models.
        second: The same.
        seed: Seed of the test.

    Raises:
        UsageError: If they have nothing in common, or if it is not clear which model is meant.
    """
    sides = _labelled([open_side(first), open_side(second)])
    one, other = sides
    shared = [name for name in one.scores if name in other.scores]
    notes = [
        f"{name} was measured on one side only"
        for name in {**one.scores, **other.scores}
        if name not in shared
    ]
    comparisons: list[Comparison] = []
    metrics: list[MetricForm] = []
    for name in shared:
        table = ScoreTable.of(
            {side.label: side.scores[name] for side in sides}, find_instruments([name])[0].metrics
        )
        found = compare_models(table, one.label, other.label, seed=seed)
        comparisons += found
        metrics += _forms(name, {each.metric for each in found})
        alone = len(table.columns) - len(found)
        if alone:
            notes.append(
                f"{name}: {alone} {'metric has' if alone == 1 else 'metrics have'} scores on one side only"
            )
    if not comparisons:
        raise UsageError(
            f"{one.label} and {other.label} have no metric in common; compare runs of one instrument on the same data"
        )
    if all(each.difference is None for each in comparisons):
        raise UsageError(
            f"{one.label} and {other.label} cannot be compared: {comparisons[0].why_not}; measure both on the same "
            "data, in the same words, with the same seed and size, and with enough items"
        )
    verdicts = tuple(
        Verdicts(name, one.views.get(name), other.views.get(name)) for name in {**one.views, **other.views}
    )
    followed = compare_followed(one.runs, other.runs, seed=seed)
    return Compared(
        one.label, other.label, tuple(comparisons), tuple(metrics), tuple(notes), verdicts, followed
    )


def open_side(given: str | Path) -> Side:
    """Read the scores of one model from a diagnosis, a run, or several runs."""
    text, _, model = str(given).partition("#")
    folder = Path(text)
    if not folder.exists():
        raise UsageError(f"{folder} does not exist; compare takes two diagnoses or two runs")
    if (folder / DIAGNOSIS_FILE).is_file():
        return _of_diagnosis(folder, model)
    runs = find_runs(folder)
    if not runs:
        raise UsageError(f"there is neither a diagnosis nor a run in {folder}")
    names = {read_info(run).model for run in runs}
    if len(names) > 1 and model not in names:
        raise UsageError(
            f"{folder} holds runs of several models; write {folder}#MODEL with one of {', '.join(sorted(names))}"
        )
    chosen = model or next(iter(names))
    return _of_runs(folder, chosen, [run for run in runs if read_info(run).model == chosen])


def _of_diagnosis(folder: Path, model: str) -> Side:
    diagnosis = read_diagnosis(folder)
    names = [each.name for each in diagnosis.models]
    if not model and len(names) > 1:
        raise UsageError(
            f"{folder} is a diagnosis of several models; write {folder}#MODEL with one of {', '.join(names)}"
        )
    chosen = diagnosis.model(model or names[0]).name
    views = {
        instrument.name: view
        for instrument in diagnosis.instruments
        for view in instrument.models
        if view.model == chosen
    }
    side = _of_runs(folder, chosen, [folder / run for view in views.values() for run in view.runs])
    return replace(side, views=views)


def _of_runs(folder: Path, model: str, runs: Sequence[Path]) -> Side:
    by_instrument: dict[str, list[Path]] = {}
    for run in runs:
        kind = read_info(run).instrument
        instrument = instrument_of_run(kind)
        if instrument is None:
            known = ", ".join(each.name for each in instruments())
            raise UsageError(f"{run} is a run of {kind}; compare takes runs of {known}")
        by_instrument.setdefault(instrument.name, []).append(run)
    scores = {
        name: [score for score in find_instruments([name])[0].score_all(folders) if score.value is not None]
        for name, folders in by_instrument.items()
    }
    return Side(model, model, str(folder), scores, runs=by_instrument)


def _labelled(sides: list[Side]) -> tuple[Side, Side]:
    """Give the sides different labels: the model names, with the folders if these are the same."""
    one, other = sides
    if one.model != other.model:
        return one, other
    if one.place == other.place:
        raise UsageError(f"both sides are {one.model} in {one.place}; pass two different ones")
    return tuple(replace(s, label=f"{s.model} ({s.place})") for s in sides)  # type: ignore[return-value]


def _forms(name: str, keys: set[str]) -> list[MetricForm]:
    known = {metric.key: metric for metric in find_instruments([name])[0].metrics}
    found = []
    for key in sorted(keys):
        metric = known.get(key)
        found.append(
            MetricForm(
                key=key,
                name=metric.name if metric else "right answers",
                instrument=name,
                higher_is_grounded=metric.higher_is_grounded if metric else True,
                origin=metric.origin if metric else "ours",
                needs=metric.needs if metric else "text",
            )
        )
    return found

"""Compare two models on the same items: the paired difference of every metric that both have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore, column
from theodolite.core.tables import Cell, Column, Estimate, Table
from theodolite.diagnose.pair_verdicts import by_source, claim_of, label_of, matched
from theodolite.diagnose.record import (
    DIAGNOSIS_FILE,
    Comparison,
    Diagnosis,
    InstrumentOfModel,
    LookingResult,
    MetricEntry,
    ModelResult,
    PairsResult,
    TestResult,
    read_diagnosis,
)
from theodolite.diagnose.separation import ScoreColumn
from theodolite.instruments.instrument import (
    find_instruments,
    instrument_of_run,
    instruments,
    pairs_of_runs,
    score_runs,
)
from theodolite.pairs import AnsweredPair
from theodolite.pairs.outcomes import SHARES
from theodolite.runs import find_runs, read_info
from theodolite.stats import Scores

__all__ = [
    "Compared",
    "LookingChange",
    "Side",
    "Verdicts",
    "claim",
    "compare",
    "compare_looking",
    "deciding",
    "differences_table",
    "looking_changes_table",
    "looking_summary",
    "looking_table",
    "lookings",
    "open_side",
    "pairs_table",
]


def compare_models(
    scores: Scores, *, keys: Iterable[str | ScoreColumn] | None = None, seed: int
) -> list[Comparison]:
    """Compare every two models on the metrics that both have, as records. See `Scores.difference`.

    Args:
        scores: The scores of all models.
        keys: Metrics, or metrics on a split, to compare. Default: all.
        seed: Seed of the tests.
    """
    return [
        Comparison(
            first=difference.first,
            second=difference.second,
            instrument=difference.metric.instrument,
            metric=difference.metric.key,
            split=difference.split,
            difference=replace(difference.estimate, p_value=None) if difference.estimate else None,
            test=TestResult.of(difference.test, "paired difference is zero") if difference.test else None,
            p_holm=difference.p_holm,
            why_not=difference.why_not,
        )
        for difference in scores.difference(keys=keys, seed=seed)
    ]


# Whether one model looks less than another: the same pairs, compared one by one.


_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class LookingChange:
    """Looking on both sides, on the relevant pairs that both have."""

    label: str
    """The instrument, or ``your pictures (…)``."""
    n: int
    """Number of pairs."""
    first: float
    second: float
    difference: Estimate
    """First minus second, as for all metrics."""
    p_value: float
    p_holm: float = 1.0
    """Corrected over all labels."""

    @property
    def is_lower(self) -> bool:
        """True if the second significantly looks less."""
        return self.difference.value > 0 and self.p_holm < _LEVEL


def compare_looking(
    first: Mapping[str, Sequence[Path]], second: Mapping[str, Sequence[Path]], *, seed: int
) -> tuple[LookingChange, ...]:
    """Compare looking of two models, by instrument and kind of pictures.

    Args:
        first: The run folders of one model, by instrument.
        second: Those of the other.
        seed: Seed of the test.
    """
    sides: tuple[list[ItemScore], list[ItemScore]] = ([], [])
    for name in (name for name in first if name in second):
        (instrument,) = find_instruments([name])
        for scores, runs in zip(sides, (first, second), strict=True):
            for source, pairs in by_source(pairs_of_runs(instrument, runs[name])):
                label = label_of(name, source, is_natural=bool(pairs[0].group))
                scores.extend(looking_scores(label, pairs))
    changes = Scores({"first": sides[0], "second": sides[1]}).difference(seed=seed)
    return tuple(
        LookingChange(
            change.split,
            change.n_items,
            *change.means,
            change.estimate,
            change.test.p_value,
            change.p_holm or 0.0,
        )
        for change in changes
        if change.estimate is not None and change.test is not None
    )


def looking_scores(label: str, pairs: Iterable[AnsweredPair]) -> Iterator[ItemScore]:
    """Yield 1 for each followed, −1 for each inverted, and 0 for each other relevant pair, as scores.

    An item may be paired with several edits. Of pictures as they are, each takes part once for each question, as in a verdict,
    which is the mean over all such matchings.
    """
    own = matched(pair for pair in pairs if pair.edit.is_relevant)
    relevant = {f"{pair.item} {pair.edit.name} {pair.shown}": pair for pair in own}
    for name, pair in relevant.items():
        yield ItemScore(name, "diagnose.looking", float(pair.sign), pair.cluster, label)


def looking_summary(changes: Sequence[LookingChange], first: str = "", second: str = "") -> str:
    """Return one sentence for the top of a page. Empty if there are no pairs to compare."""
    if not changes:
        return ""
    differ = [change for change in changes if change.p_holm < _LEVEL]
    if not differ:
        return "The models do not surely differ in looking. "
    shares = ", ".join(
        f"{100 * change.first:.0f} and {100 * change.second:.0f} % ({change.label})" for change in differ
    )
    return f"Looking of {first} and {second}: {shares}. "


def looking_changes_table(changes: Sequence[LookingChange], first: str, second: str) -> Table:
    """Build the table of looking on both sides."""
    return Table.of(
        "compare.looking",
        "Looking: followed minus inverted",
        [
            Column("pictures", "measured on"),
            column("diagnose.looking", "first", first),
            column("diagnose.looking", "second", second),
            Column("difference", f"{first} minus {second}", "number", signed=True),
            Column("n", "pairs", "count"),
            Column("p_holm", "p corrected", "p"),
        ],
        [
            [change.label, change.first, change.second, change.difference, change.n, change.p_holm]
            for change in changes
        ],
    )


# Tables of pairs: the verdict by model and instrument, and the outcomes by edit or relation.


_NOTES = (
    "Followed: right about both pictures, for which the correct answers differ. Inverted: each answer is right for the other picture.",
    "Looking: followed minus inverted. A model that does not use what tells the pictures apart inverts as often as it follows.",
    "Kept: the same answer after an edit that leaves the right answer unchanged. All intervals are 99 %.",
)


def lookings(diagnosis: Diagnosis) -> Iterator[tuple[str, InstrumentOfModel, LookingResult]]:
    """Yield every verdict of pairs with its label, those on the user's own data first."""
    for is_own in (True, False):
        for instrument in diagnosis.instruments:
            for view in instrument.models:
                for looking in view.looking:
                    if (looking.source == "own") == is_own:
                        yield (
                            label_of(instrument.name, looking.source, is_natural=looking.is_natural),
                            view,
                            looking,
                        )


def deciding(diagnosis: Diagnosis, model: str) -> list[tuple[str, LookingResult]]:
    """Return the verdicts that decide on a model, with their labels: those on the user's own data, or else all."""
    every = [(label, each) for label, view, each in lookings(diagnosis) if view.model == model]
    return [each for each in every if each[1].source == "own"] or every


def claim(diagnosis: Diagnosis, model: ModelResult) -> str:
    """Say in one sentence what is claimed of a model; without pairs, its verdict."""
    return claim_of(model.verdict.standing, deciding(diagnosis, model.name)) or model.verdict.sentence


def looking_table(diagnosis: Diagnosis) -> Table:
    """Build the table of verdicts: one row for each model and instrument with relevant pairs."""
    rows: list[list[Cell]] = [
        [
            view.model,
            label,
            looking.standing,
            looking.n_relevant,
            looking.looking,
            looking.p_value,
            looking.accuracy,
            *_estimates(looking),
            ", ".join(looking.excluded) or "none",
            ", ".join(looking.not_excluded) or "none",
        ]
        for label, view, looking in lookings(diagnosis)
    ]
    columns = [
        Column("model", "model"),
        Column("instrument", "pictures"),
        column("diagnose.verdict", "verdict", "verdict"),
        Column("pairs", "pairs", "count"),
        column("diagnose.looking"),
        Column("p", "p", "p"),
        column("diagnose.accuracy"),
        *(column(f"diagnose.{name}") for name in SHARES),
        Column("excluded", "strategies excluded"),
        Column("not_excluded", "not excluded"),
    ]
    return Table.of("diagnose.looking", "Does it look?", columns, rows, _NOTES)


def pairs_table(diagnosis: Diagnosis, by: Literal["edits", "relations"] = "edits") -> Table:
    """Build the table with one row for each model, instrument and edit, or relation."""
    rows: list[list[Cell]] = [
        [
            view.model,
            label,
            form.name,
            form.n,
            form.looking,
            form.p_value,
            *_estimates(form),
        ]
        for label, view, looking in lookings(diagnosis)
        for form in getattr(looking, by)
    ]
    columns = [
        Column("model", "model"),
        Column("instrument", "pictures"),
        Column("name", by.removesuffix("s")),
        Column("pairs", "pairs", "count"),
        column("diagnose.looking"),
        Column("p", "p", "p"),
        *(column(f"diagnose.{name}") for name in SHARES),
    ]
    return Table.of(f"diagnose.pairs_by_{by.removesuffix('s')}", f"By {by.removesuffix('s')}", columns, rows)


def _estimates(form: LookingResult | PairsResult) -> list[Estimate | None]:
    return [getattr(form, name) for name in SHARES]


# Compare two diagnoses or two runs item by item. No model is called.


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
    metrics: tuple[MetricEntry, ...]
    notes: tuple[str, ...]
    """What could not be compared, and why."""
    verdicts: tuple[Verdicts, ...] = ()
    """The verdicts on both sides. Empty if neither side is a diagnosis."""
    looking: tuple[LookingChange, ...] = ()
    """Looking on both sides, by instrument and kind of pictures."""


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
                comparison.instrument,
                names[comparison.metric],
                comparison.split,
                comparison.difference or comparison.why_not,
                comparison.difference.n if comparison.difference else None,
                comparison.test.p_value if comparison.test else None,
                comparison.p_holm,
            ]
            for comparison in shown
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
    known = [metric for name in shared for metric in find_instruments([name])[0].metrics]
    scores = Scores(
        {side.label: [score for name in shared for score in side.scores[name]] for side in sides}, known
    )
    comparisons = compare_models(scores, seed=seed)
    metrics: list[MetricEntry] = []
    for name in shared:
        own = [comparison for comparison in comparisons if comparison.instrument == name]
        metrics += _forms(name, {comparison.metric for comparison in own})
        alone = sum(key.partition(".")[0] == name for key, _ in scores.columns) - len(own)
        if alone:
            notes.append(
                f"{name}: {alone} {'metric has' if alone == 1 else 'metrics have'} scores on one side only"
            )
    if not comparisons:
        raise UsageError(
            f"{one.label} and {other.label} have no metric in common; compare runs of one instrument on the same data"
        )
    if all(comparison.difference is None for comparison in comparisons):
        raise UsageError(
            f"{one.label} and {other.label} cannot be compared: {comparisons[0].why_not}; measure both on the same "
            "data, in the same words, with the same seed and size, and with enough items"
        )
    verdicts = tuple(
        Verdicts(name, one.views.get(name), other.views.get(name)) for name in {**one.views, **other.views}
    )
    looking = compare_looking(one.runs, other.runs, seed=seed)
    return Compared(
        one.label, other.label, tuple(comparisons), tuple(metrics), tuple(notes), verdicts, looking
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
        name: [score for score in score_runs(find_instruments([name])[0], folders) if score.value is not None]
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


def _forms(name: str, keys: set[str]) -> list[MetricEntry]:
    known = {metric.key: metric for metric in find_instruments([name])[0].metrics}
    entries = []
    for key in sorted(keys):
        metric = known.get(key)
        entries.append(
            MetricEntry(
                key=key,
                name=metric.name if metric else "right answers",
                instrument=name,
                higher_is_grounded=metric.higher_is_grounded if metric else True,
                origin=metric.origin if metric else "ours",
                needs=metric.needs if metric else "text",
            )
        )
    return entries

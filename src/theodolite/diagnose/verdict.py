"""From readings to statements: what each metric says of the twins, and where every model stands between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import Metric
from theodolite.diagnose.position import LEAST_UNITS, Calibration, Twins, calibrate, median_position, position
from theodolite.diagnose.record import Calibrated, Counts, Figure, MetricResult, Place, Standing, Verdict
from theodolite.diagnose.table import Column, ScoreTable

NEAR = 0.25
"""A position is *like* a twin if its whole interval lies within a quarter of it. A convention, as are all such lines."""
MOST_LOST = 0.5
"""If more than this share of its answers is lost, a model is not placed: what is left is not how it answers."""

_WORDS: Mapping[Standing, str] = {
    "grounded": "reads like the twin that must look",
    "shortcut": "reads like the twin that need not look",
    "between": "stands between the twins",
    "outside": "lies outside the twins' range, so they do not bracket this model",
    "undecided": "cannot be placed with so little data",
}


@dataclass(frozen=True, slots=True)
class Placed:
    """Where one model stands on one instrument."""

    model: str
    position: stats.Estimate | None
    rests_on: tuple[Column, ...]
    why_not: str = ""
    """Why there is no verdict, be there a position or not; empty if there is one."""


def place_of(position: stats.Estimate) -> Place:
    """Whether a position lies within [0, 1]."""
    return "below" if position.value < 0 else "above" if position.value > 1 else "inside"


def is_outside(position: stats.Estimate) -> bool:
    """Whether the whole interval lies outside [0, 1]: then the twins do not bracket the model."""
    return position.low > 1 or position.high < 0


def standing_of(position: stats.Estimate | None) -> Standing:
    """What a position means: above ¾, below ¼, between the two, across a line, or beyond the twins.

    >>> standing_of(stats.Estimate(0.9, 0.8, 1.1, n=40, level=0.95, method="percentile"))
    'grounded'
    """
    if position is None:
        return "no verdict"
    if is_outside(position):
        return "outside"
    if position.low > 1 - NEAR:
        return "grounded"
    if position.high < NEAR:
        return "shortcut"
    return "between" if position.lies_within(NEAR, 1 - NEAR) else "undecided"


def metric_results(
    table: ScoreTable,
    metrics: Sequence[Metric],
    models: Sequence[str],
    *,
    twins: Twins,
    seed: int,
) -> tuple[list[MetricResult], dict[Column, Calibration]]:
    """Every metric on every split that has readings, with both twins and all models."""
    by_key = {metric.key: metric for metric in metrics}
    strange = sorted({key for key, _ in table.columns} - set(by_key))
    if strange:
        raise UsageError(f"there are scores of {strange[0]!r}, which no metric describes")
    order = {metric.key: number for number, metric in enumerate(metrics)}
    columns = sorted(table.columns, key=lambda column: (order[column[0]], column[1]))
    results, found = [], {}
    for column in columns:
        calibration = calibrate(table, column, by_key[column[0]], twins=twins, seed=seed)
        found[column] = calibration
        results.append(
            MetricResult(
                key=column[0],
                split=column[1],
                grounded=_figure(calibration.grounded),
                shortcut=_figure(calibration.shortcut),
                separation=_figure(calibration.separation),
                is_calibrated=calibration.is_calibrated,
                why_not=calibration.why_not,
                models=[_calibrated(table, model, calibration, twins, seed) for model in models],
            )
        )
    return results, found


def _calibrated(
    table: ScoreTable, model: str, calibration: Calibration, twins: Twins, seed: int
) -> Calibrated:
    column = calibration.column
    mean = table.mean(model, column)
    if mean is None:
        why = "its scores come from one picture, scene or episode, or do not vary, so there is no interval"
        if not table.n_clusters(model, column):
            why = "the model has no score of it"
        return Calibrated(model=model, figure=None, position=None, why_not=why)
    x = Figure.of(mean)
    if not calibration.is_calibrated:
        return Calibrated(model=model, figure=x, position=None, why_not=calibration.why_not)
    if x.n < LEAST_UNITS:
        why = f"no verdict: too little data ({x.n} units; at least {LEAST_UNITS} are needed)"
        return Calibrated(model=model, figure=x, position=None, why_not=why)
    where = position(table, model, column, twins=twins, seed=seed)
    return Calibrated(
        model=model,
        figure=x,
        position=Figure.of(where),
        place=place_of(where),
        is_outside=is_outside(where),
    )


def place_model(
    table: ScoreTable, model: str, calibrations: Mapping[Column, Calibration], *, twins: Twins, seed: int
) -> Placed:
    """The median position of a model over the calibrated metrics that it has enough readings of."""
    calibrated = [column for column, found in calibrations.items() if found.is_calibrated]
    if not calibrated:
        why = next((found.why_not for found in calibrations.values() if "too little" in found.why_not), "")
        if all(found.grounded is None and found.shortcut is None for found in calibrations.values()):
            why = "no verdict: the twins were not asked about these items"
        return Placed(model, None, (), why or "no verdict: no metric tells the twins apart here")
    usable = tuple(column for column in calibrated if table.n_clusters(model, column) >= LEAST_UNITS)
    if not usable:
        most = max(table.n_clusters(model, column) for column in calibrated)
        return Placed(
            model,
            None,
            (),
            f"no verdict: too little data ({most} units; at least {LEAST_UNITS} are needed)",
        )
    return Placed(model, median_position(table, model, usable, twins=twins, seed=seed), usable)


def why_lost(counts: Counts | None) -> str:
    """Why a model is not placed that refused most questions, or whose answers could mostly not be read; empty if it is.

    >>> why_lost(Counts(planned=820, answered=820, unreadable=615))
    'no verdict: 615 of 820 answers were refused or could not be read'
    """
    if counts is None or counts.lost <= MOST_LOST * counts.planned:
        return ""
    words = (
        "were refused, failed or could not be read" if counts.failed else "were refused or could not be read"
    )
    return f"no verdict: {counts.lost} of {counts.planned} answers {words}"


def why_guessing(right: stats.Estimate | None, chance: float | None) -> str:
    """Why a model has no verdict that can do neither task: on the aligned split even the shortcut twin is right.

    Args:
        right: how often it is right there.
        chance: how often a blind choice is.
    """
    if right is None or chance is None or right.low > chance:
        return ""
    return (
        f"no verdict: it answers no better than chance even where the shortcut is right "
        f"({right.value:.2f} [{right.low:.2f}, {right.high:.2f}] right, chance {chance:.2f})"
    )


def instrument_verdict(placed: Placed) -> Verdict:
    """One sentence about one instrument's view of a model."""
    where = placed.position
    if where is None or placed.why_not:
        sentence = placed.why_not[:1].upper() + placed.why_not[1:]
        return Verdict(standing="no verdict", sentence=sentence.rstrip(".") + ".")
    standing = standing_of(where)
    n = len(placed.rests_on)
    sentence = (
        f"It {_WORDS[standing]}: position {where.value:.2f} [{where.low:.2f}, {where.high:.2f}] over "
        f"{n} metric{'s' if n != 1 else ''} on {where.n} units"
    )
    return Verdict(standing=standing, sentence=sentence + ".")


def model_verdict(standings: Mapping[str, Standing]) -> Verdict:
    """One sentence over all instruments that were asked for, and the standing that they bear out together.

    A standing is the model's if no instrument contradicts it, and at least two and half of those asked for have it; where
    only one was asked for, its standing. What is undecided, outside or without a verdict contradicts nothing and supports
    nothing. Instruments that contradict each other give *mixed*.

    >>> model_verdict({"grid": "shortcut", "scene": "shortcut", "compass": "no verdict"}).standing
    'shortcut'
    >>> model_verdict({"grid": "grounded", "scene": "undecided", "compass": "no verdict"}).standing
    'undecided'
    """
    placed = {name: standing for name, standing in standings.items() if standing != "no verdict"}
    if not placed:
        return Verdict(standing="no verdict", sentence="No verdict: no instrument could place it.")
    groups: dict[Standing, list[str]] = {}
    for name, standing in placed.items():
        groups.setdefault(standing, []).append(name)
    said = "; ".join(f"{standing} on {_listed(names)}" for standing, names in groups.items())
    left = [name for name in standings if name not in placed]
    if left:
        said += f"; no verdict on {_listed(left)}"
    return Verdict(standing=_overall(groups, len(standings)), sentence=said[:1].upper() + said[1:] + ".")


def _overall(groups: Mapping[Standing, Sequence[str]], n_asked: int) -> Standing:
    """The standing of a model from those of its instruments, as `model_verdict` says."""
    decided = [standing for standing in groups if standing not in {"undecided", "outside"}]
    if len(decided) > 1:
        return "mixed"
    found: Standing = decided[0] if decided else "outside"
    n = len(groups.get(found, ()))
    is_borne_out = n >= 2 and 2 * n >= n_asked
    return found if is_borne_out or n == n_asked else "undecided"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _figure(estimate: stats.Estimate | None) -> Figure | None:
    return None if estimate is None else Figure.of(estimate)

"""Turn item scores into verdicts: the calibration of each metric on the twins, and the position of every model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import Metric
from theodolite.diagnose.position import (
    MIN_CLUSTERS,
    Calibration,
    Twins,
    calibrate,
    median_position,
    position,
)
from theodolite.diagnose.record import Calibrated, Counts, Figure, MetricResult, Place, Standing, Verdict
from theodolite.diagnose.table import Column, ScoreTable

NEAR = 0.25
"""A position is *like* a twin if its whole interval lies within a quarter of it. A convention."""
MAX_LOST = 0.5
"""A model that lost more than this fraction of its answers gets no verdict: the rest is not representative."""

_WORDS: Mapping[Standing, str] = {
    "grounded": "behaves like the twin trained to use the picture",
    "shortcut": "behaves like the twin trained to ignore the picture",
    "between": "lies between the twins",
    "outside": "lies outside the range of the twins, where the scale does not hold",
    "undecided": "cannot be placed with this little data",
}


@dataclass(frozen=True, slots=True)
class Placed:
    """The position of one model on one instrument."""

    model: str
    position: stats.Estimate | None
    rests_on: tuple[Column, ...]
    why_not: str = ""
    """Why there is no verdict, with or without a position. Empty if there is one."""


def place_of(position: stats.Estimate) -> Place:
    """Say whether a position lies inside [0, 1], above or below."""
    return "below" if position.value < 0 else "above" if position.value > 1 else "inside"


def is_outside(position: stats.Estimate) -> bool:
    """Return True if the whole interval of a position lies outside [0, 1]."""
    return position.low > 1 or position.high < 0


def standing_of(position: stats.Estimate | None) -> Standing:
    """Return the verdict for a position: above ¾, below ¼, between these, across one of them, or outside [0, 1].

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
    """Calibrate every metric on every split with scores, and place all models."""
    by_key = {metric.key: metric for metric in metrics}
    unknown = sorted({key for key, _ in table.columns} - set(by_key))
    if unknown:
        raise UsageError(f"there are scores of {unknown[0]!r}, which is not a known metric")
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
            why = "the model has no score for it"
        return Calibrated(model=model, figure=None, position=None, why_not=why)
    x = Figure.of(mean)
    if not calibration.is_calibrated:
        return Calibrated(model=model, figure=x, position=None, why_not=calibration.why_not)
    if x.n < MIN_CLUSTERS:
        why = f"no verdict: too little data ({x.n} clusters; at least {MIN_CLUSTERS} are needed)"
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
    """Compute the median position of a model over the calibrated metrics with enough scores."""
    calibrated = [column for column, found in calibrations.items() if found.is_calibrated]
    if not calibrated:
        why = next((found.why_not for found in calibrations.values() if "too little" in found.why_not), "")
        if all(found.grounded is None and found.shortcut is None for found in calibrations.values()):
            why = "no verdict: the twins were not measured on these items"
        return Placed(model, None, (), why or "no verdict: no metric separates the twins here")
    usable = tuple(column for column in calibrated if table.n_clusters(model, column) >= MIN_CLUSTERS)
    if not usable:
        most = max(table.n_clusters(model, column) for column in calibrated)
        return Placed(
            model,
            None,
            (),
            f"no verdict: too little data ({most} clusters; at least {MIN_CLUSTERS} are needed)",
        )
    return Placed(model, median_position(table, model, usable, twins=twins, seed=seed), usable)


def why_lost(counts: Counts | None) -> str:
    """Say why there is no verdict if most answers were refused, failed or could not be read. Empty if not.

    >>> why_lost(Counts(planned=820, answered=820, unreadable=615))
    'no verdict: 615 of 820 answers were refused or could not be read'
    """
    if counts is None or counts.lost <= MAX_LOST * counts.planned:
        return ""
    words = (
        "were refused, failed or could not be read" if counts.failed else "were refused or could not be read"
    )
    return f"no verdict: {counts.lost} of {counts.planned} answers {words}"


def why_guessing(right: stats.Estimate | None, chance: float | None) -> str:
    """Say why there is no verdict if a model is no better than chance on the aligned split. Empty if it is better.

    Args:
        right: The accuracy of the model on the aligned split, where even the shortcut twin is right.
        chance: The accuracy of a random choice.
    """
    if right is None or chance is None or right.low > chance:
        return ""
    return (
        f"no verdict: it is no better than chance even where the shortcut is right "
        f"({right.value:.2f} [{right.low:.2f}, {right.high:.2f}] right, chance {chance:.2f})"
    )


def instrument_verdict(placed: Placed) -> Verdict:
    """Phrase the verdict of one instrument on a model."""
    where = placed.position
    if where is None or placed.why_not:
        sentence = placed.why_not[:1].upper() + placed.why_not[1:]
        return Verdict(standing="no verdict", sentence=sentence.rstrip(".") + ".")
    standing = standing_of(where)
    n = len(placed.rests_on)
    sentence = (
        f"It {_WORDS[standing]}: position {where.value:.2f} [{where.low:.2f}, {where.high:.2f}] over "
        f"{n} metric{'s' if n != 1 else ''} on {where.n} clusters"
    )
    return Verdict(standing=standing, sentence=sentence + ".")


def model_verdict(standings: Mapping[str, Standing]) -> Verdict:
    """Combine the verdicts of all instruments into one.

    The model gets a verdict if no instrument contradicts it, and if at least two instruments and at least half of those
    requested agree on it; with one instrument, the verdict of that instrument. *Undecided*, *outside* and *no verdict*
    neither contradict nor support. Instruments that contradict each other give *mixed*.

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
    words = "; ".join(f"{standing} on {_listed(names)}" for standing, names in groups.items())
    left = [name for name in standings if name not in placed]
    if left:
        words += f"; no verdict on {_listed(left)}"
    return Verdict(standing=_overall(groups, len(standings)), sentence=words[:1].upper() + words[1:] + ".")


def _overall(groups: Mapping[Standing, Sequence[str]], n_asked: int) -> Standing:
    """Combine the verdicts of the instruments as described in `model_verdict`."""
    decided = [standing for standing in groups if standing not in {"undecided", "outside"}]
    if len(decided) > 1:
        return "mixed"
    found: Standing = decided[0] if decided else "outside"
    n = len(groups.get(found, ()))
    is_supported = n >= 2 and 2 * n >= n_asked
    return found if is_supported or n == n_asked else "undecided"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _figure(estimate: stats.Estimate | None) -> Figure | None:
    return None if estimate is None else Figure.of(estimate)

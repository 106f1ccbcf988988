"""How much of the output depends on picture and question together? EMAP, InterSHAP and PID by bucket (figures 12 to 15).

The numbers are those of the global explainers, computed from the stored cross matrices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import stdtrit

from theodolite.core.errors import UsageError
from theodolite.core.tables import Cell, Column, Table, Unit
from theodolite.instruments.grid.experiments.explained import CrossMatrix, ExplainedRun
from theodolite.instruments.grid.explainers.find import find_explainers
from theodolite.instruments.grid.explainers.pid_explainers import SUMMARIES

PID = ("convex", "gaussian", "batch")
"""The estimators of PID; ``batch`` trains small networks and is slow."""
SHARES: Mapping[str, Callable[[Mapping[str, float]], float]] = {
    "emap": lambda numbers: (
        numbers["interaction_mass"]
        / (numbers["interaction_mass"] + numbers["picture_mass"] + numbers["question_mass"])
    ),
    "intershap": lambda numbers: numbers["local_share"],
}
"""The share that is drawn of an explainer, from its numbers."""
LEAST_SCENES = 4
"""The smallest number of scenes of a matrix whose share has an interval."""


@dataclass(frozen=True, slots=True)
class BucketInteraction:
    """The numbers of the global explainers for one bucket at one density."""

    scenario: str
    bucket: str
    density: str
    n: int
    numbers: Mapping[str, Mapping[str, float]]
    """By explainer and name; those that are defined."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """By explainer: why it gave none."""
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """By explainer: the 95 % interval of its share, from the jackknife over scenes. None below `LEAST_SCENES`."""


def interactions(
    run: ExplainedRun, *, pid: Sequence[str] = ("convex", "gaussian"), seed: int = 0
) -> list[BucketInteraction]:
    """EMAP, InterSHAP, PID and the run's other global explainers for every bucket.

    Args:
        run: The run.
        pid: Estimators of PID, from `PID`.
        seed: Seed of the shuffles of PID.
    """
    own = [each.name for each in find_explainers(run.plan.explainers) if each.scope == "global"]
    names = ["emap", "intershap", *(f"pid-{estimator}" for estimator in pid)]
    names += [name for name in own if not name.startswith("pid-") and name not in names]
    explainers = find_explainers(names)
    found = []
    for cross in run.crosses:
        pool = run.pool(cross, seed=seed)
        numbers, missing = {}, {}
        for explainer in explainers:
            assert explainer.summarise is not None  # noqa: S101 - global
            try:
                numbers[explainer.name] = explainer.summarise(pool)
            except UsageError as error:
                missing[explainer.name] = str(error)
        found.append(
            BucketInteraction(
                run.scenario,
                cross.bucket.key,
                cross.density,
                len(cross.rows),
                numbers,
                missing,
                share_intervals(run, cross),
            )
        )
    return found


def share_intervals(run: ExplainedRun, cross: CrossMatrix) -> dict[str, tuple[float, float]]:
    """The 95 % interval of each share, θ ± t·√((n−1)/n · Σ(θ₋ᵢ − mean θ₋ᵢ)²), where θ₋ᵢ leaves out scene i as picture and question."""
    n = len(cross.rows)
    if n < LEAST_SCENES:
        return {}
    keeps = [np.arange(n), *(np.delete(np.arange(n), i) for i in range(n))]
    parts = [replace(cross, rows=cross.rows[k], logits=cross.logits[np.ix_(k, k)]) for k in keeps]
    found = {}
    for explainer in find_explainers(list(SHARES)):
        assert explainer.summarise is not None  # noqa: S101 - global
        try:
            shares = [SHARES[explainer.name](explainer.summarise(run.pool(part))) for part in parts]
        except (UsageError, KeyError, ZeroDivisionError):  # the same output everywhere
            continue
        whole, left_out = shares[0], np.array(shares[1:])
        half = float(stdtrit(n - 1, 0.975)) * float(
            np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
        )
        if np.isfinite(half):
            found[explainer.name] = max(whole - half, 0.0), min(whole + half, 1.0)
    return found


_PID_NUMBERS: tuple[tuple[str, str, Unit], ...] = (
    ("synergy", "", "bits"),
    ("synergy_above_chance", ", above chance", "bits"),
    ("p_value", ", p", "p"),
)
_COLUMNS: tuple[tuple[str, str, str, Unit, str], ...] = (
    ("emap", "interaction_share", "EMAP", "share", "grid.interaction_share"),
    ("emap", "accuracy_drop", "accuracy drop", "points", "grid.emap_accuracy_drop"),
    ("emap", "picture_mass", "picture", "number", "grid.interaction_share"),
    ("emap", "question_mass", "question", "number", "grid.interaction_share"),
    ("emap", "interaction_mass", "together", "number", "grid.interaction_share"),
    ("intershap", "local_share", "InterSHAP", "share", "grid.intershap"),
    ("intershap", "local_share_counted_once", "counted once", "share", "grid.intershap"),
    ("intershap", "share_of_means", "of means", "share", "grid.intershap"),
    *(
        (f"pid-{estimator}", name, f"PID {estimator}{words}", unit, "grid.pid_synergy")
        for estimator in PID
        for name, words, unit in _PID_NUMBERS
    ),
)


def interaction_table(found: Sequence[BucketInteraction]) -> Table:
    """One row per scenario, bucket and density."""
    shown = [
        column for column in _COLUMNS if any(column[1] in each.numbers.get(column[0], {}) for each in found)
    ]
    rows: list[list[Cell]] = [
        [
            each.scenario,
            f"{each.bucket} {each.density}",
            each.n,
            *(each.numbers.get(explainer, {}).get(name) for explainer, name, _, _, _ in shown),
        ]
        for each in found
    ]
    columns = [
        Column("scenario", "scenario"),
        Column("bucket", "bucket"),
        Column("n", "scenes", "count"),
        *(
            Column(f"{explainer}_{name}".replace("-", "_"), title, unit, key)
            for explainer, name, title, unit, key in shown
        ),
    ]
    reasons = Counter(f"{name}: {why}" for each in found for name, why in each.missing.items())
    notes = [f"{count} of {len(found)} without {reason}." for reason, count in reasons.items()]
    notes.append(f"PID in bits, of these summaries: {SUMMARIES}.")
    title = "Interaction of picture and question, from cross matrices: EMAP, InterSHAP, PID"
    return Table.of("grid.interaction", title, columns, rows, notes)

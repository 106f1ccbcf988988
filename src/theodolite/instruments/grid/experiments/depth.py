"""How much of the output depends on picture and question together, and does that rise with depth?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy.special import stdtrit

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.grid.data.question_types import BUCKETS, Bucket
from theodolite.instruments.grid.experiments.explained import CrossMatrix, ExplainedRun
from theodolite.instruments.grid.explainers.emap import project_pool
from theodolite.instruments.grid.explainers.find import find_explainers
from theodolite.instruments.grid.explainers.pid import SUMMARIES

# How much of the output depends on picture and question together? EMAP, InterSHAP and PID by bucket (figures 12 to 15).
#
# The numbers are those of the global explainers, computed from the stored cross matrices.


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
    """Compute EMAP, InterSHAP, PID and the run's other global explainers for every bucket.

    Args:
        run: The run.
        pid: Estimators of PID, from `PID`.
        seed: Seed of the shuffles of PID.
    """
    own = [
        explainer.name for explainer in find_explainers(run.plan.explainers) if explainer.scope == "global"
    ]
    names = ["emap", "intershap", *(f"pid-{estimator}" for estimator in pid)]
    names += [name for name in own if not name.startswith("pid-") and name not in names]
    explainers = find_explainers(names)
    rows = []
    for cross in run.crosses:
        pool = run.pool(cross, seed=seed)
        numbers, missing = {}, {}
        for explainer in explainers:
            assert explainer.summarise is not None  # noqa: S101 - global
            try:
                numbers[explainer.name] = explainer.summarise(pool)
            except UsageError as error:
                missing[explainer.name] = str(error)
        rows.append(
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
    return rows


def share_intervals(run: ExplainedRun, cross: CrossMatrix) -> dict[str, tuple[float, float]]:
    """Return the 95 % interval of each share, by the jackknife over scenes.

    It is θ ± t·√((n−1)/n · Σ(θ₋ᵢ − mean θ₋ᵢ)²), where θ₋ᵢ leaves out scene i as picture and question.
    """
    n = len(cross.rows)
    if n < LEAST_SCENES:
        return {}
    keeps = [np.arange(n), *(np.delete(np.arange(n), i) for i in range(n))]
    parts = [replace(cross, rows=cross.rows[k], logits=cross.logits[np.ix_(k, k)]) for k in keeps]
    intervals = {}
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
            intervals[explainer.name] = max(whole - half, 0.0), min(whole + half, 1.0)
    return intervals


_PID_NUMBERS = (("synergy", ""), ("synergy_above_chance", ", above chance"), ("p_value", ", p"))
_COLUMNS: tuple[tuple[str, str, str, str], ...] = (
    ("emap", "interaction_share", "EMAP", "grid.interaction_share"),
    ("emap", "accuracy_drop", "accuracy drop", "grid.emap_accuracy_drop"),
    ("emap", "picture_mass", "picture", "grid.interaction_share"),
    ("emap", "question_mass", "question", "grid.interaction_share"),
    ("emap", "interaction_mass", "together", "grid.interaction_share"),
    ("intershap", "local_share", "InterSHAP", "grid.intershap"),
    ("intershap", "local_share_counted_once", "counted once", "grid.intershap"),
    ("intershap", "share_of_means", "of means", "grid.intershap"),
    *(
        (f"pid-{estimator}", name, f"PID {estimator}{words}", "grid.pid_synergy")
        for estimator in PID
        for name, words in _PID_NUMBERS
    ),
)


def interaction_table(found: Sequence[BucketInteraction]) -> Table:
    """Return one row per scenario, bucket and density."""
    shown = [
        shown for shown in _COLUMNS if any(shown[1] in entry.numbers.get(shown[0], {}) for entry in found)
    ]
    rows: list[list[Cell]] = [
        [
            entry.scenario,
            f"{entry.bucket} {entry.density}",
            entry.n,
            *(entry.numbers.get(explainer, {}).get(name) for explainer, name, _, _ in shown),
        ]
        for entry in found
    ]
    columns = [
        Column("scenario", "scenario"),
        Column("bucket", "bucket"),
        Column("n", "scenes", "count"),
        *(
            column(key, f"{explainer}_{name}".replace("-", "_"), title)
            for explainer, name, title, key in shown
        ),
    ]
    reasons = Counter(f"{name}: {why}" for entry in found for name, why in entry.missing.items())
    notes = [f"{count} of {len(found)} without {reason}." for reason, count in reasons.items()]
    notes.append(f"PID in bits, of these summaries: {SUMMARIES}.")
    title = "Interaction of picture and question, from cross matrices: EMAP, InterSHAP, PID"
    return Table.of("grid.interaction", title, columns, rows, notes)


# The additive-fallacy check: does a synergy scalar rise with depth for a model that uses relations, and stay for one that does not?
#
# Only mixed questions of both forms and comparisons have three depths. The trend is Jonckheere and Terpstra's over scenes or matrices; that
# a scalar stays is shown by two one-sided tests on deepest minus shallowest, within a stated band.
#
# Answers vary less the deeper a question is, and a scalar may move for that alone. So each check is made three ways: *plain*;
# *by entropy*, each value divided by the entropy of the model's answers in its bucket (this fits shares, but makes an
# effective number of words rise where only the entropy falls); and with *equal answers*, on scenes chosen so that every answer
# is equally frequent at each depth.
#
# Scalars: ``emap, intershap`` is the mean of |R_ii| / (|a_i| + |b_i| + |R_ii|) over the scenes of a cross matrix, the same for both
# methods; ``intershap, once`` counts the interaction by half, as the later package does. All residuals of a matrix depend on each
# other (in one of 2 × 2 they are equal), so the matrix is the unit, not the scene: the stored matrix is cut along its diagonal into
# matrices of at least `LEAST_POOL` scenes that share no scene, and a smaller one is not used. Answers cannot be made equally frequent
# among matrices. Of each scene: ``dime share`` is |MI|/(|UC|+|MI|);
# ``interacting words``, ``higher-order share`` and ``mean order`` come from the explainer of that name.


Adjustment: TypeAlias = Literal["plain", "by entropy", "equal answers"]
"""What is done about answers that vary less at depth."""

SHARE_BAND, COUNT_BAND = 0.1, 0.5
"""How far a share, or an effective number of words, may move and still count as staying."""
_COUNTS = {"interacting words", "mean order"}
_CROSS_SCALARS = {"emap, intershap": 1.0, "intershap, once": 0.5}
"""Scalars of cross matrices, with the weight of the interaction."""
_MAP_SCALARS = {
    ("interacting-words", "interacting_words"): "interacting words",
    ("interacting-words", "higher_order_share"): "higher-order share",
    ("interacting-words", "mean_order"): "mean order",
    ("dime", "interaction_share"): "dime share",
}
"""Scalars of explainers, by explainer and the name in its record."""
LEAST_POOL = 8
"""Scenes of a cross matrix, at least."""
_DEPTHS = (1, 2, 3)
_DEEP_KINDS = {bucket.kind for bucket in BUCKETS if len(bucket.type.depths) == len(_DEPTHS)}
_NO_ANSWER = -1

Place: TypeAlias = tuple[str, str, str]
"""Scalar, kind of question and density."""


@dataclass(frozen=True, slots=True)
class SynergyValue:
    """One scalar of one scene, or of one cross matrix."""

    scalar: str
    kind: str
    """Question type and form, such as ``M-F0``."""
    depth: int
    density: str
    value: float
    said: int
    """The model's answer; −1 for a matrix, which has many."""
    entropy: float
    """Of the model's answers in that bucket, in bits."""

    @property
    def place(self) -> Place:
        """What it is compared within."""
        return self.scalar, self.kind, self.density


def synergy_values(run: ExplainedRun) -> tuple[list[SynergyValue], Counter[Place]]:
    """Return every scalar of every scene or matrix, and how many are undefined."""
    bits = answer_entropies(run)
    values: list[SynergyValue] = []
    missing: Counter[Place] = Counter()

    def add(scalar: str, bucket: Bucket, density: str, value: float | None, answer: int) -> None:
        kind = bucket.kind
        if value is None or np.isnan(value):
            missing[scalar, kind, density] += 1
        else:
            entropy = bits.get((bucket.key, density), 0.0)
            values.append(SynergyValue(scalar, kind, bucket.depth, density, float(value), answer, entropy))

    for cross in run.crosses:
        for block in matrix_blocks(cross):
            projection = project_pool(run.pool(block)) if len(block.rows) >= LEAST_POOL else None
            for scalar, weight in _CROSS_SCALARS.items():
                shares = (
                    projection.local_shares(weight=weight) if projection is not None else np.array([np.nan])
                )
                is_known = bool(np.isfinite(shares).any())
                add(
                    scalar,
                    cross.bucket,
                    cross.density,
                    float(np.nanmean(shares)) if is_known else None,
                    _NO_ANSWER,
                )
    for scene_map in run.maps:
        for (explainer, name), scalar in _MAP_SCALARS.items():
            if scene_map.explainer == explainer:
                value = scene_map.scalars.get(name)
                is_none = name == "interacting_words" and value == 0
                add(scalar, scene_map.bucket, scene_map.density, None if is_none else value, scene_map.said)
    return values, missing


def matrix_blocks(cross: CrossMatrix) -> list[CrossMatrix]:
    """Split a matrix along its diagonal into blocks of at least `LEAST_POOL` scenes; a smaller matrix is kept whole."""
    n_blocks = max(1, len(cross.rows) // LEAST_POOL)
    return [
        replace(cross, rows=cross.rows[part], logits=cross.logits[np.ix_(part, part)])
        for part in np.array_split(np.arange(len(cross.rows)), n_blocks)
    ]


def answer_entropies(run: ExplainedRun) -> dict[tuple[str, str], float]:
    """Return the entropy in bits of the model's answers, by bucket and density."""
    answers: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    scenes = {scene_map.scene: scene_map for scene_map in run.maps}
    for scene_map in scenes.values():
        answers[scene_map.bucket.key, scene_map.density][scene_map.said] += 1
    for cross in run.crosses:
        if (cross.bucket.key, cross.density) not in answers:
            answers[cross.bucket.key, cross.density].update(cross.said.tolist())
    entropies = {}
    for key, counts in answers.items():
        shares = np.array(list(counts.values())) / counts.total()
        entropies[key] = float(-(shares * np.log2(shares)).sum())
    return entropies


@dataclass(frozen=True, slots=True)
class DepthCheck:
    """One scalar over depths, for one kind of question at one density."""

    scenario: str
    scalar: str
    kind: str
    density: str
    adjustment: Adjustment
    means: Mapping[int, float]
    n: Mapping[int, int]
    intervals: Mapping[int, tuple[float, float]]
    """The 95 % interval of each mean; none for a single value."""
    trend: stats.HypothesisTest
    """Increasing with depth."""
    change: stats.Estimate | None
    """Deepest minus shallowest, with its 90 % interval; None if neither side varies or one has too few scenes."""
    band: float
    """A change within ± this is none."""
    left_out: int
    """Scenes without a value, or left out to equalise answers."""

    @property
    def rises(self) -> bool:
        """True if the means are in order and the trend is significant at 5 %."""
        ordered = [self.means[depth] for depth in sorted(self.means)]
        return self.trend.p_value <= 0.05 and ordered == sorted(ordered)

    @property
    def stays(self) -> bool:
        """True if deepest and shallowest are equivalent within the band."""
        return self.change is not None and self.change.lies_within(-self.band, self.band)

    @property
    def verdict(self) -> str:
        """``rises``, ``stays`` or ``undecided``."""
        return "rises" if self.rises else "stays" if self.stays else "undecided"


def depth_checks(run: ExplainedRun, *, seed: int = 0) -> list[DepthCheck]:
    """Check every scalar with every adjustment."""
    values, missing = synergy_values(run)
    groups: defaultdict[Place, list[SynergyValue]] = defaultdict(list)
    for value in values:
        if value.kind in _DEEP_KINDS:
            groups[value.place].append(value)
    checks = (
        _check(run.scenario, place, rows, adjustment, missing[place], seed)
        for place, rows in groups.items()
        for adjustment in get_args(Adjustment)
        if not (adjustment == "equal answers" and place[0] in _CROSS_SCALARS)
    )
    return [check for check in checks if check is not None]


def equal_answers(rows: Sequence[SynergyValue]) -> list[SynergyValue]:
    """Keep the first scenes of each depth such that each answer is equally frequent at all depths.

    >>> rows = [SynergyValue("", "M-F0", d, "sparse", 0.0, said, 1.0) for d, said in ((1, 2), (1, 2), (1, 3), (2, 2), (2, 4))]
    >>> [(row.depth, row.said) for row in equal_answers(rows)]
    [(1, 2), (2, 2)]
    """
    counts = Counter((row.depth, row.said) for row in rows)
    depths = {row.depth for row in rows}
    room = {(depth, answer): min(counts[d, answer] for d in depths) for depth, answer in counts}
    kept = []
    for row in rows:
        if room[row.depth, row.said] > 0:
            room[row.depth, row.said] -= 1
            kept.append(row)
    return kept


def _adjusted(rows: Sequence[SynergyValue], adjustment: Adjustment) -> list[tuple[int, float]]:
    """Return depth and value of the scenes that an adjustment uses."""
    if adjustment == "by entropy":
        return [(row.depth, row.value / row.entropy) for row in rows if row.entropy > 0]
    kept = equal_answers(rows) if adjustment == "equal answers" else rows
    return [(row.depth, row.value) for row in kept]


def _check(
    scenario: str,
    place: Place,
    rows: Sequence[SynergyValue],
    adjustment: Adjustment,
    missing: int,
    seed: int,
) -> DepthCheck | None:
    """Check one scalar with one adjustment; None if fewer than two depths have values."""
    usable = _adjusted(rows, adjustment)
    by_depth = {
        depth: [value for at, value in usable if at == depth] for depth in sorted({at for at, _ in usable})
    }
    if len(by_depth) < 2:
        return None
    trend = stats.jonckheere_terpstra(
        [value for values in by_depth.values() for value in values],
        [depth for depth, values in by_depth.items() for _ in values],
        alternative="increasing",
        n_permutations=499,
        seed=seed,
    )
    band = COUNT_BAND if place[0] in _COUNTS else SHARE_BAND
    first, *_, last = by_depth.values()
    return DepthCheck(
        scenario,
        *place,
        adjustment,
        {depth: float(np.mean(values)) for depth, values in by_depth.items()},
        {depth: len(values) for depth, values in by_depth.items()},
        _intervals(by_depth),
        trend,
        stats.independent_difference(last, first, level=0.9),
        band,
        missing + len(rows) - len(usable),
    )


def _intervals(by_depth: Mapping[int, Sequence[float]]) -> dict[int, tuple[float, float]]:
    estimates = {
        depth: stats.clustered_mean(values, bounds=None)
        for depth, values in by_depth.items()
        if len(values) > 1
    }
    return {
        depth: (estimate.low, estimate.high) for depth, estimate in estimates.items() if estimate is not None
    }


def depth_table(found: Sequence[DepthCheck]) -> Table:
    """Return one row per scalar, kind of question, density and adjustment."""
    return Table.of(
        "grid.depth",
        "Additive fallacy: synergy by depth",
        [
            Column("scenario", "scenario"),
            Column("scalar", "scalar"),
            Column("adjustment", "adjustment"),
            Column("kind", "kind"),
            Column("density", "density"),
            *(column("grid.depth_trend", f"depth_{depth}", f"depth {depth}") for depth in _DEPTHS),
            Column("p", "trend p", "p", "grid.depth_trend"),
            column("grid.depth_trend", "change", "change", difference=True),
            Column("verdict", "verdict"),
            Column("n", "scenes or matrices", "count"),
            Column("left_out", "left out", "count"),
        ],
        [
            [
                check.scenario,
                check.scalar,
                check.adjustment,
                check.kind,
                check.density,
                *(check.means.get(depth) for depth in _DEPTHS),
                check.trend.p_value,
                check.change,
                check.verdict,
                sum(check.n.values()),
                check.left_out,
            ]
            for check in found
        ],
        [
            "Trend: Jonckheere–Terpstra, increasing. Change: deepest minus shallowest, with its 90 % interval.",
            f"Stays: the change lies within ± {SHARE_BAND} (shares) or ± {COUNT_BAND} (numbers of words).",
        ],
    )

"""The additive-fallacy check: does a synergy scalar rise with depth for a model that reads relations, and stay for one that does not?

Only mixed questions of both forms and comparisons have three depths. The trend is Jonckheere and Terpstra's over scenes; that a
scalar stays is two one-sided tests on the difference of the deepest and the shallowest, within a stated band.

Answers vary less the deeper a question is, and a scalar may move for that alone. So each check is read three ways: *plain*; *by
entropy*, each value divided by the entropy of the model's answers in its bucket, which fits shares, and makes an effective number of
words rise where only the answers' entropy falls; and with *equal answers*, on scenes chosen so that every answer is as frequent at
each depth: of every answer that the model gives at all depths, as many scenes as at the depth where there are fewest.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.grid.formulas.synergy import SynergyValue, synergy_values
from theodolite.instruments.grid.stored import ExplainedRun

Reading: TypeAlias = Literal["plain", "by entropy", "equal answers"]

SHARE_BAND, COUNT_BAND = 0.1, 0.5
"""How far a share may move and still count as staying; and an effective number of words."""


@dataclass(frozen=True, slots=True)
class DepthCheck:
    """One scalar over depths, for one kind of question at one density."""

    scenario: str
    logic: str
    scalar: str
    kind: str
    density: str
    reading: Reading
    """What is done about answers that vary less at depth."""
    means: dict[int, float]
    n: dict[int, int]
    trend: stats.HypothesisTest | None
    """Increasing with depth."""
    likeness: stats.EquivalenceTest | None
    """Deepest less shallowest, within the band; None where a side has no spread or too few scenes."""
    left_out: int
    """Scenes without a value (no variance, or answers without entropy), or that equal answers leave no place for."""

    @property
    def rises(self) -> bool:
        """Means in order, and a trend at 5 %."""
        ordered = [self.means[depth] for depth in sorted(self.means)]
        return self.trend is not None and self.trend.p_value <= 0.05 and ordered == sorted(ordered)

    @property
    def stays(self) -> bool:
        """Deepest and shallowest alike within the band."""
        return self.likeness is not None and self.likeness.equivalent


def depth_checks(run: ExplainedRun, *, seed: int = 0) -> list[DepthCheck]:
    """The additive-fallacy check of every scalar, in every reading."""
    values, missing = synergy_values(run)
    groups: defaultdict[tuple[str, str, str], list[SynergyValue]] = defaultdict(list)
    for each in values:
        if each.kind.partition("-")[0] in {"M", "CMP"}:
            groups[each.scalar, each.kind, each.density].append(each)
    found = []
    for (scalar, kind, density), rows in groups.items():
        for reading in get_args(Reading):
            usable = _usable(rows, reading)
            check = _check(usable, scalar, by_entropy=reading == "by entropy", seed=seed)
            if check is None:
                continue
            means, counts, trend, likeness = check
            lost = missing[scalar, kind, density] + len(rows) - len(usable)
            found.append(
                DepthCheck(
                    run.scenario,
                    run.logic,
                    scalar,
                    kind,
                    density,
                    reading,
                    means,
                    counts,
                    trend,
                    likeness,
                    lost,
                )
            )
    return found


def _usable(rows: Sequence[SynergyValue], reading: Reading) -> list[SynergyValue]:
    """The values that a reading rests on."""
    if reading == "by entropy":
        return [row for row in rows if row.entropy > 0]
    return equal_answers(rows) if reading == "equal answers" else list(rows)


def equal_answers(rows: Sequence[SynergyValue]) -> list[SynergyValue]:
    """The first scenes of each depth such that each answer is as frequent at all of them.

    >>> rows = [SynergyValue("", "M-F0", d, "sparse", 0.0, said, 1.0) for d, said in ((1, 2), (1, 2), (1, 3), (2, 2), (2, 4))]
    >>> [(row.depth, row.said) for row in equal_answers(rows)]
    [(1, 2), (2, 2)]
    """
    counts = Counter((row.depth, row.said) for row in rows)
    depths = {row.depth for row in rows}
    room = {(depth, said): min(counts[d, said] for d in depths) for depth, said in counts}
    found = []
    for row in rows:
        if room[row.depth, row.said] > 0:
            room[row.depth, row.said] -= 1
            found.append(row)
    return found


def _check(
    rows: list[SynergyValue], scalar: str, *, by_entropy: bool, seed: int
) -> (
    tuple[dict[int, float], dict[int, int], stats.HypothesisTest | None, stats.EquivalenceTest | None] | None
):
    by_depth: defaultdict[int, list[float]] = defaultdict(list)
    for row in rows:
        by_depth[row.depth].append(row.value / row.entropy if by_entropy else row.value)
    depths = sorted(by_depth)
    if len(depths) < 2:
        return None
    values = [value for depth in depths for value in by_depth[depth]]
    groups = [depth for depth in depths for _ in by_depth[depth]]
    trend = stats.jonckheere_terpstra(values, groups, alternative="increasing", n_permutations=499, seed=seed)
    band = COUNT_BAND if scalar in {"interacting words", "mean order"} else SHARE_BAND
    last, first = by_depth[depths[-1]], by_depth[depths[0]]
    likeness = None
    if min(len(last), len(first)) > 1:
        with suppress(UsageError):  # all values alike, up to rounding: a t test says nothing
            likeness = stats.equivalence_test(last, first, bounds=(-band, band))
    means = {depth: float(np.mean(by_depth[depth])) for depth in depths}
    return means, {depth: len(by_depth[depth]) for depth in depths}, trend, likeness

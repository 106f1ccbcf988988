"""Scoring faithfulness: pure, on the run that holds the maps and the run that hid sectors.

    COS   = ΔS_opp − ΔS_true                                               (equation 8; paper)
    COS′  = β·a_true − ΔS_true, β the mean cost of hiding as much elsewhere       (sound: `beyond_area`)
    MDF   = mean AUC_own / mean AUC_random                                 (equation 9; paper)
    gain  = AUC_random − AUC_own, pair by pair, over the share hidden      (sound: above 0 if the order is worth something)
    DFS   = MDF · EA                                                       (equation 10; paper)
    DFS′  = mean of gain · 1[DAE ≤ 45°]                                    (sound: per pair, so that it has an interval)

``opposite`` order means the emptiest sector first. On single sectors every method has the same COS; what differs by
method is its peak: attribution-guided masking hides that one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.estimates import mean_figure, share_figure
from theodolite.instruments.compass.experiments.composites import Composite
from theodolite.instruments.compass.experiments.faithfulness.effects import (
    Answers,
    Floats,
    ReadingName,
    beyond_area,
)
from theodolite.instruments.compass.experiments.faithfulness.estimates import (
    Ratio,
    bounded_leak_of,
    leak_of,
    p_of,
    ranked_against,
    ratio_of,
)
from theodolite.instruments.compass.experiments.faithfulness.rows import (
    CurvePoint,
    Effects,
    Row,
    mean_curves,
    read_rows,
)
from theodolite.instruments.compass.experiments.faithfulness.trials import CONTROLS, Trial
from theodolite.instruments.compass.formulas.dae import is_within


@dataclass(frozen=True, slots=True)
class SectorScore:
    """What hiding single sectors does, whatever the method: one fill, one reading."""

    fill: str
    reading: ReadingName
    true: stats.Estimate | None
    """ΔS of the sector that holds the target's direction."""
    opposite: stats.Estimate | None
    adjacent: stats.Estimate | None
    """Mean ΔS of the two sectors beside the true one."""
    cos: stats.Estimate | None
    """Above zero where direction matters."""
    cos_p: float | None
    beyond_adjacent: stats.Estimate | None
    """ΔS_adj − ΔS_true: the adjacent-sector control."""
    leak: Ratio | None
    """|ΔS_opp| / |ΔS_true|."""
    bounded_leak: stats.Estimate | None
    """Sound: of the drop per share hidden, the part of the opposite side; ½ means no direction."""


@dataclass(frozen=True, slots=True)
class MethodScore:
    """How faithful the order of one map's compass is."""

    key: str
    n_pairs: int
    is_control: bool
    dae: stats.Estimate | None
    ea: stats.Estimate | None
    auc: stats.Estimate | None
    """ROC-AUC of −DAE for the answer being right; None if all answers are alike."""
    area_own: stats.Estimate | None
    area_random: stats.Estimate | None
    area_opposite: stats.Estimate | None
    mdf: Ratio | None
    dfs: Ratio | None
    gain: stats.Estimate | None
    """Sound: AUC_random − AUC_own."""
    gain_p: float | None
    gain_over_opposite: stats.Estimate | None
    gain_over_uniform: stats.Estimate | None
    """Beyond the order that the layout alone gives."""
    dfs_per_pair: stats.Estimate | None
    masked: stats.Estimate | None
    """ΔS of hiding the map's own peak sector (Table 13)."""
    masked_size: stats.Estimate | None
    """Mean |ΔS| of the same."""
    masked_beyond_area: stats.Estimate | None
    """Sound: more than hiding as much elsewhere costs."""
    leak: Ratio | None
    """|ΔS| of the sector across from the peak over that of the peak."""
    bounded_leak: stats.Estimate | None
    lost: Mapping[str, int]
    """Pairs that are not in these figures, by reason."""
    curves: Mapping[str, tuple[CurvePoint, ...]]
    """``own``, ``random``, ``opposite``: the paper's reading."""


def score_sectors(
    trials: Sequence[Trial], effects: Sequence[Effects], *, fill: str, reading: ReadingName, seed: int
) -> SectorScore:
    """COS and its controls of one fill.

    Args:
        trials: the pairs.
        effects: of each pair.
        fill: what was put in the sectors' place.
        reading: the paper's or the sound one.
        seed: of bootstrap and permutations.
    """
    rows = [
        (trial, found)
        for trial, each in zip(trials, effects, strict=True)
        if (found := each.singles[fill]) is not None
    ]
    clusters = [trial.cluster for trial, _ in rows]
    true = np.array([found[trial.true] for trial, found in rows])
    opposite = np.array([found[trial.opposite] for trial, found in rows])
    adjacent = np.array([found[list(trial.adjacent)].mean() for trial, found in rows])
    cos = opposite - true
    if reading == "sound":
        cos = np.array([beyond_area(found, trial.shares, trial.true) for trial, found in rows])
    return SectorScore(
        fill,
        reading,
        true=mean_figure(true, clusters, seed=seed),
        opposite=mean_figure(opposite, clusters, seed=seed),
        adjacent=mean_figure(adjacent, clusters, seed=seed),
        cos=mean_figure(cos, clusters, seed=seed),
        cos_p=p_of(cos, clusters, seed=seed),
        beyond_adjacent=mean_figure(adjacent - true, clusters, seed=seed),
        leak=leak_of(opposite, true, clusters, seed=seed),
        bounded_leak=bounded_leak_of(
            (opposite, true),
            (
                np.array([trial.shares[trial.opposite] for trial, _ in rows]),
                np.array([trial.shares[trial.true] for trial, _ in rows]),
            ),
            clusters,
            seed=seed,
        ),
    )


def score_map(
    key: str,
    trials: Sequence[Trial],
    effects: Mapping[ReadingName, Sequence[Effects]],
    *,
    answers: Answers,
    fill: str,
    seed: int,
) -> MethodScore:
    """All figures of one map's order.

    Args:
        key: the map, as ``method@target``, or a control.
        trials: the pairs.
        effects: of each pair, by reading.
        answers: of the run that hid sectors.
        fill: of the deletion curves.
        seed: of bootstrap and permutations.
    """
    rows, lost = read_rows(key, trials, effects, answers, fill)
    clusters = [row.trial.cluster for row in rows]

    def mean(values: Floats) -> stats.Estimate | None:
        return mean_figure(values, clusters, seed=seed)

    def areas(order: str, reading: ReadingName) -> Floats:
        return np.array([row.area(order, reading) for row in rows])

    dae = np.array([row.reading.dae_deg for row in rows])
    hits = np.asarray(is_within(dae), float)
    own, random = areas("own", "paper"), areas("random", "paper")
    gain = areas("random", "sound") - areas("own", "sound")
    peaks = np.array([row.singles["paper"][row.reading.peak] for row in rows])
    across = np.array([row.singles["paper"][row.trial.opposite_of(row.reading.peak)] for row in rows])
    beyond = [beyond_area(row.singles["sound"], row.trial.shares, row.reading.peak) for row in rows]
    return MethodScore(
        key,
        len(rows),
        is_control=key in CONTROLS,
        dae=mean(dae),
        ea=share_figure(hits, clusters, seed=seed),
        auc=_auc(dae, [row.trial.is_correct for row in rows], clusters, seed),
        area_own=mean(own),
        area_random=mean(random),
        area_opposite=mean(areas("opposite", "paper")),
        mdf=ratio_of(own, random, clusters, seed=seed),
        dfs=ratio_of(own, random, clusters, seed=seed, times=hits),
        gain=mean(gain),
        gain_p=p_of(gain, clusters, seed=seed),
        gain_over_opposite=mean(areas("opposite", "sound") - areas("own", "sound")),
        gain_over_uniform=mean(areas("uniform", "sound") - areas("own", "sound")),
        dfs_per_pair=mean(gain * hits),
        masked=mean(peaks),
        masked_size=mean(np.abs(peaks)),
        masked_beyond_area=mean(np.array(beyond)),
        leak=leak_of(across, peaks, clusters, seed=seed),
        bounded_leak=_own_leak(rows, clusters, seed),
        lost=lost,
        curves=mean_curves(rows, clusters, seed),
    )


def _own_leak(rows: Sequence[Row], clusters: Sequence[str], seed: int) -> stats.Estimate | None:
    """The bounded leak of a map's own peak against the sector across from it, in the sound reading."""
    sectors = [(row.trial.opposite_of(row.reading.peak), row.reading.peak) for row in rows]
    drops = [
        np.array([row.singles["sound"][pair[i]] for row, pair in zip(rows, sectors, strict=True)])
        for i in (0, 1)
    ]
    shares = [
        np.array([row.trial.shares[pair[i]] for row, pair in zip(rows, sectors, strict=True)]) for i in (0, 1)
    ]
    return bounded_leak_of((drops[0], drops[1]), (shares[0], shares[1]), clusters, seed=seed)


def _auc(dae: Floats, correct: Sequence[bool], clusters: Sequence[str], seed: int) -> stats.Estimate | None:
    if len(set(correct)) < 2 or len(set(clusters)) < 2:
        return None
    try:
        return stats.roc_auc(-dae, list(correct), clusters=clusters, seed=seed)
    except UsageError:  # too few pictures hold both right and wrong answers for an interval
        return None


def score_composites(methods: Sequence[MethodScore], *, seed: int) -> tuple[Composite, ...]:
    """The paper's composites and the sound summaries against the AUC for correctness, over maps that are no controls."""
    real = [method for method in methods if not method.is_control]
    auc = {method.key: method.auc.value for method in real if method.auc is not None}
    mdf = {method.key: method.mdf.estimate.value for method in real if method.mdf is not None}
    ea = {method.key: method.ea.value for method in real if method.ea is not None}
    gain = {method.key: method.gain.value for method in real if method.gain is not None}
    per_pair = {method.key: method.dfs_per_pair.value for method in real if method.dfs_per_pair is not None}
    summaries = {"EA": ea, "MDF": mdf, "gain over random (sound)": gain, "DFS per pair (sound)": per_pair}
    return ranked_against(auc, summaries, seed=seed)

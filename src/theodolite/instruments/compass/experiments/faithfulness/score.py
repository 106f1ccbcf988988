"""Composites of faithfulness and alignment, and how well they rank methods (Table 4 and A.1).

    DFS = MDF · EA      harmonic = 2 · MDF · EA / (MDF + EA)      geometric = √(MDF · EA)      (equation 10 and A.1)

MDF is a ratio of two areas of any sign (a random order can raise confidence). If it is not above zero, the harmonic and the
geometric mean are undefined; such methods are left out and counted. With four methods, as in the paper, ρ = 1 happens by chance in
1 of 24 orders: read ρ with its p.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from theodolite import stats
from theodolite.core.definitions import column
from theodolite.core.errors import UsageError
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.compass.experiments.faithfulness.effects import (
    DOUBTFUL,
    PAIRS,
    VARIANTS,
    CurvePoint,
    Floats,
    HiddenAnswers,
    MapScore,
    PairEffects,
    Variant,
    bounded_leak_of,
    cos_of,
    curves_table,
    leak_of,
    map_on_pairs,
    masking_table,
    nats,
    p_of,
    pair_effects,
    paper_table,
    ratio_cells,
    sound_table,
)
from theodolite.instruments.compass.experiments.faithfulness.plan import (
    RUN_KIND,
    FaithfulnessOptions,
    Trial,
    Trials,
    is_same_model,
    make_trials,
    source_of,
)
from theodolite.instruments.compass.formulas.baselines import is_baseline
from theodolite.instruments.compass.formulas.resampling import paper_key
from theodolite.instruments.compass.measure import read_samples
from theodolite.instruments.compass.published import published_correlations
from theodolite.runs import Run

_MOST_COLUMNS = 6
"""The table shows the values of at most this many maps."""


def _harmonic(mdf: float, edge: float) -> float | None:
    return 2 * mdf * edge / (mdf + edge) if mdf > 0 else None


def _geometric(mdf: float, edge: float) -> float | None:
    return math.sqrt(mdf * edge) if mdf > 0 else None


COMPOSITES: Mapping[str, Callable[[float, float], float | None]] = {
    "EA": lambda _, edge: edge,
    "harmonic": _harmonic,
    "DFS": lambda mdf, edge: mdf * edge,
    "geometric": _geometric,
    "MDF": lambda mdf, _: mdf,
}
"""Name to function of MDF and EA; None if it is undefined."""


@dataclass(frozen=True, slots=True)
class Composite:
    """One composite over all methods."""

    name: str
    values: Mapping[str, float | None]
    """By method; None if it is undefined."""
    correlation: stats.Estimate | None
    """Spearman's ρ with the AUC, over the methods that have a value; None for fewer than three, or without variation.
    Its p is that of the permutation test."""
    undefined: int
    """Methods without a value."""


def composite_scores(
    methods: Sequence[str], *, edge_accuracy: ArrayLike, mdf: ArrayLike, auc: ArrayLike, seed: int = 0
) -> tuple[Composite, ...]:
    """Which composite ranks methods as their diagnostic AUC does.

    Args:
        methods: Their names.
        edge_accuracy: EA of each.
        mdf: MDF of each.
        auc: AUC for correctness of each.
        seed: Seed of the permutation test, if not all orders are tried.

    >>> names = ["chefer", "contrastive", "rollout", "gradcam"]
    >>> found = composite_scores(names, edge_accuracy=[.633, .553, .367, .310], mdf=[1.54, 2.50, 1.45, 3.85],
    ...                          auc=[.620, .575, .541, .476])
    >>> {each.name: round(each.correlation.value, 1) for each in found}
    {'EA': 1.0, 'harmonic': 0.8, 'DFS': 0.0, 'geometric': 0.0, 'MDF': -0.4}
    """
    columns = [np.asarray(values, np.float64) for values in (edge_accuracy, mdf, auc)]
    if any(column.shape != (len(methods),) for column in columns) or not methods:
        raise UsageError(
            f"{len(methods)} methods need one EA, MDF and AUC each, got "
            f"{', '.join(str(column.shape) for column in columns)}"
        )
    if len(set(methods)) < len(methods) or not all(np.isfinite(column).all() for column in columns):
        raise UsageError("composites need different methods, and finite EA, MDF and AUC of each")
    edges, ratios, areas = columns
    if ((edges < 0) | (edges > 1)).any():
        raise UsageError(f"EA is a share between 0 and 1, got {edges.min():g} to {edges.max():g}")
    found = []
    for name, function in COMPOSITES.items():
        values = [function(float(ratio), float(edge)) for ratio, edge in zip(ratios, edges, strict=True)]
        where = [i for i, value in enumerate(values) if value is not None]
        rho = _spearman([values[i] for i in where], areas[where], seed)
        found.append(Composite(name, dict(zip(methods, values, strict=True)), rho, len(methods) - len(where)))
    return tuple(found)


def _spearman(values: Sequence[float | None], areas: ArrayLike, seed: int) -> stats.Estimate | None:
    x, y = np.array(values, np.float64), np.asarray(areas)
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    test = stats.correlation_permutation_test(x, y, kind="spearman", seed=seed)
    estimate = stats.spearman(x, y)
    return replace(estimate, method=f"{estimate.method}; p {test.method}", p_value=test.p_value)


def ranked_against(
    auc: Mapping[str, float], summaries: Mapping[str, Mapping[str, float]], *, seed: int
) -> tuple[Composite, ...]:
    """Spearman's ρ over maps between summaries of them and their AUC for correctness.

    Args:
        auc: ROC-AUC of −DAE for the answer being right, by map.
        summaries: ``EA`` and ``MDF``, which give the paper's five composites, and others by name; each by map.
        seed: Seed of the permutations.

    Returns:
        The paper's composites, over the maps that have AUC, EA and MDF; then every other summary alone.
    """
    edges = summaries["EA"]
    found: list[Composite] = []
    for name, values in summaries.items():
        keys = [key for key in values if key in auc and key in edges]
        if name == "EA" or not keys:
            continue
        composites = composite_scores(
            keys,
            edge_accuracy=[edges[key] for key in keys],
            mdf=[values[key] for key in keys],
            auc=[auc[key] for key in keys],
            seed=seed,
        )
        if name == "MDF":
            found = [*composites, *found]
        else:
            found += [replace(each, name=name) for each in composites if each.name == "MDF"]
    return tuple(found)


def composites_table(
    *, auc: Mapping[str, float], summaries: Mapping[str, Mapping[str, float]], model: str, seed: int
) -> Table:
    """Whether the summaries rank maps as their AUC for correctness does; arguments as for `ranked_against`."""
    found = ranked_against(auc, summaries, seed=seed)
    published = published_correlations(model)
    maps = list(found[0].values) if found else []
    named = maps if len(maps) <= _MOST_COLUMNS else []
    columns = [
        Column("composite", "composite"),
        *(Column(name, name, "number") for name in named),
        column("compass.composite_correlation", "correlation"),
        Column("p", "p", "p"),
        Column("maps", "maps", "count"),
        Column("undefined", "without a value", "count"),
        *([Column("reported", "CREG, A.1 (4 methods)", "correlation")] if published else []),
    ]
    rows: list[list[Cell]] = [
        [
            each.name,
            *(each.values.get(name) for name in named),
            each.correlation,
            None if each.correlation is None else each.correlation.p_value,
            len(each.values) - each.undefined,
            each.undefined,
            *([published.get(each.name)] if published else []),
        ]
        for each in found
    ]
    notes = [] if found else ["No map has both an MDF and an AUC for correctness."]
    return Table.of(
        "compass.composites",
        "Do the summaries rank maps as their AUC for correctness does?",
        columns,
        rows,
        notes,
    )


# Faithfulness: does hiding what the compass points at change the answer? COS, deletion curves, MDF, DFS, masking, leakage.
#
# A second run hides sectors of the pictures of a compass run (`plan_faithfulness`), and `score_faithfulness` reads both. Each
# number of the paper stands beside a sound one:
#
#     COS   = ΔS_opp − ΔS_true                          (equation 8)   β·a_true − ΔS_true: beyond what as much elsewhere costs
#     MDF   = mean AUC_own / mean AUC_random            (equation 9)   gain = AUC_random − AUC_own, pair by pair, by share hidden
#     DFS   = MDF · EA                                  (equation 10)  mean of gain · 1[DAE ≤ 45°]
#     leak  = |mean ΔS_opp| / |mean ΔS_true|            (Table 8)      bounded leak
#
# ``opposite`` order means the emptiest sector first. COS is the same for every map, since it uses single sectors only; what differs
# by map is its peak, which attribution-guided masking hides (Table 13).


PAPER_MAPS = ("gradcam@gt", "contrastive-grad-act@pred", "chefer@gt", "attention-rollout@")
"""The methods of Table 3, with the target that the paper gives each."""


def paper_maps(run: Run) -> tuple[str, ...]:
    """The paper's maps that a run holds.

    Raises:
        UsageError: It holds none of them.
    """
    held = {key for sample in read_samples(run) for key in sample.maps}
    named = {paper_key(key, held): key for key in sorted(held)}
    found = tuple(named[key] for key in PAPER_MAPS if key in named)
    if not found:
        raise UsageError(
            f"{run.folder} holds none of the paper's maps ({', '.join(PAPER_MAPS)}); it holds: "
            f"{', '.join(sorted(held)) or 'nothing'}; name some, or say all"
        )
    return found


@dataclass(frozen=True, slots=True)
class FaithfulnessScore:
    """The tables of faithfulness, and the deletion curves behind them."""

    tables: tuple[Table, ...]
    curves: Mapping[str, Mapping[str, tuple[CurvePoint, ...]]]
    """Map to order (``own``, ``random``, ``opposite``) to the mean deletion curve, in the paper's variant."""

    def table(self, name: str) -> Table:
        """A table by its name without ``compass.``."""
        return next(table for table in self.tables if table.name == f"compass.{name}")


def score_faithfulness(
    maps: Run, hidden: Run, *, seed: int = 0, with_curves: bool = False
) -> FaithfulnessScore:
    """Scores a run that hid sectors, with the run that holds the maps. Stores the tables in the first.

    Args:
        maps: The compass run.
        hidden: The run that hid sectors of its pictures.
        seed: Seed of bootstraps and permutations.
        with_curves: Add a table with every step of the deletion curves.

    Raises:
        UsageError: The runs do not belong together.
    """
    if hidden.info.instrument != RUN_KIND:
        raise UsageError(f"{hidden.folder} is a run of {hidden.info.instrument}, not of {RUN_KIND}")
    if hidden.info.settings.get("source") != source_of(maps):
        raise UsageError(
            f"{hidden.folder} hid sectors for the maps of another run than {maps.folder}; name that run, or measure again"
        )
    options = FaithfulnessOptions.from_settings(hidden.info.settings)
    found = make_trials(read_samples(maps), options)
    answers = HiddenAnswers.read(hidden.results())
    effects: dict[Variant, list[PairEffects]] = {
        variant: [pair_effects(answers, trial, options.fills, variant) for trial in found.trials]
        for variant in VARIANTS
    }
    scored = [
        MapScore(key, *map_on_pairs(key, found.trials, effects, answers, options.fills[0]), seed)
        for key in found.keys
    ]
    tables = [
        _sectors_table(found.trials, effects, options, seed, _counts(maps, hidden, found, answers)),
        paper_table(scored),
        sound_table(scored),
        masking_table(scored),
        _composites(scored, hidden.info.model, seed),
    ]
    curves = {each.key: each.curves() for each in scored if each.rows}
    if with_curves:
        tables.append(curves_table(scored))
    hidden.write_tables(tables)
    return FaithfulnessScore(tuple(tables), curves)


def _counts(maps: Run, hidden: Run, found: Trials, answers: HiddenAnswers) -> list[str]:
    """What was measured, and what to keep in mind."""
    tally = hidden.tally()
    counts = {
        "planned": tally.planned,
        "answered": tally.answered,
        "refused": tally.refused,
        "failed": tally.failed,
        "pending": tally.planned - tally.finished - tally.failed,
        "reused": tally.reused,
    }
    notes = ["Requests: " + ", ".join(f"{count} {word}" for word, count in counts.items() if count) + "."]
    notes += [f"Left out: {count} pairs: {reason}." for reason, count in found.excluded.items()]
    empty = sum(bool(trial.shares[trial.opposite] == 0) for trial in found.trials)
    if empty:
        notes.append(f"{empty} pairs have nothing to hide in the opposite sector, so its ΔS is 0 there.")
    if found.trials:
        shares = {
            "true": np.mean([trial.shares[trial.true] for trial in found.trials]),
            "opposite": np.mean([trial.shares[trial.opposite] for trial in found.trials]),
            "adjacent": np.mean([trial.shares[list(trial.adjacent)].mean() for trial in found.trials]),
        }
        words = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares.items())
        notes.append(f"Mean share of what the model sees, by sector: {words}.")
    is_same = is_same_model(maps, hidden)
    if not is_same:
        notes.append(f"Orders come from maps of {maps.info.model}, answers from {hidden.info.model}.")
    gaps = [
        float(abs(values - trial.log_probabilities).max())
        for trial in found.trials
        if (values := answers.found.get((trial.item_id, "", frozenset()))) is not None
    ]
    if is_same and max(gaps, default=0.0) > 0.01:
        notes.append(f"On whole pictures the two runs differ by up to {max(gaps):.3f} in log p.")
    return notes


def _sectors_table(
    trials: Sequence[Trial],
    effects: Mapping[Variant, Sequence[PairEffects]],
    options: FaithfulnessOptions,
    seed: int,
    notes: Sequence[str],
) -> Table:
    """COS and its controls, with every fill."""
    rows = [
        _sectors_row(
            [
                (trial, single)
                for trial, each in zip(trials, effects[variant], strict=True)
                if (single := each.singles[fill]) is not None
            ],
            (fill, variant),
            seed,
        )
        for fill in options.fills
        for variant in VARIANTS
    ]
    pictures = len({trial.cluster for trial in trials})
    delta = [column("compass.delta_s", name, f"ΔS {name}") for name in ("true", "opposite", "adjacent")]
    return Table.of(
        "compass.hidden_sectors",
        f"Single sectors hidden, {len(trials)} pairs on {pictures} pictures",
        [
            Column("fill", "hidden with"),
            Column("variant", "variant"),
            *delta,
            column("compass.cos"),
            Column("p", "p", "p"),
            column("compass.beyond_adjacent"),
            column("compass.leak"),
            DOUBTFUL,
            column("compass.bounded_leak"),
            PAIRS,
        ],
        rows,
        [
            *notes,
            "Sound COS: beyond what hiding as much elsewhere costs. Sound leak: 50 % means no direction.",
            "?: the denominator is not below 0 for certain.",
        ],
    )


def _sectors_row(found: Sequence[tuple[Trial, Floats]], labels: tuple[str, Variant], seed: int) -> list[Cell]:
    fill, variant = labels
    clusters = [trial.cluster for trial, _ in found]
    true = np.array([effects[trial.true] for trial, effects in found])
    opposite = np.array([effects[trial.opposite] for trial, effects in found])
    adjacent = np.array([effects[list(trial.adjacent)].mean() for trial, effects in found])
    cos = np.array([cos_of(effects, trial, variant) for trial, effects in found])
    shares = (
        np.array([trial.shares[trial.opposite] for trial, _ in found]),
        np.array([trial.shares[trial.true] for trial, _ in found]),
    )
    return [
        fill,
        variant,
        nats(true, clusters),
        nats(opposite, clusters),
        nats(adjacent, clusters),
        nats(cos, clusters),
        p_of(cos, clusters, seed),
        nats(adjacent - true, clusters),
        *ratio_cells(leak_of(opposite, true, clusters, seed=seed) if found else None),
        bounded_leak_of((opposite, true), shares, clusters, seed=seed),
        len(found),
    ]


def _composites(scored: Sequence[MapScore], model: str, seed: int) -> Table:
    """The paper's composites and the sound summaries against the AUC for correctness, without baselines."""
    real = {each.name: each for each in scored if not is_baseline(each.key) and each.rows}
    ratios = {name: each.mdf() for name, each in real.items()}
    areas = {name: each.auc() for name, each in real.items()}
    return composites_table(
        auc={name: found.value for name, found in areas.items() if found is not None},
        summaries={
            "EA": {name: float(each.hits.mean()) for name, each in real.items()},
            "MDF": {name: found.estimate.value for name, found in ratios.items() if found is not None},
            "gain over random (sound)": {name: float(each.gain.mean()) for name, each in real.items()},
            "DFS per pair (sound)": {
                name: float((each.gain * each.hits).mean()) for name, each in real.items()
            },
        },
        model=model,
        seed=seed,
    )

"""Faithfulness: does hiding what the compass points at change the answer? COS, deletion curves, MDF, DFS, masking, leakage.

A second run hides sectors of the pictures of a compass run (`plan_faithfulness`), and `score_faithfulness` reads both. Each
number of the paper stands beside a sound one:

    COS   = ΔS_opp − ΔS_true                          (equation 8)   β·a_true − ΔS_true: beyond what as much elsewhere costs
    MDF   = mean AUC_own / mean AUC_random            (equation 9)   gain = AUC_random − AUC_own, pair by pair, by share hidden
    DFS   = MDF · EA                                  (equation 10)  mean of gain · 1[DAE ≤ 45°]
    leak  = |mean ΔS_opp| / |mean ΔS_true|            (Table 8)      bounded leak

``opposite`` order means the emptiest sector first. COS is the same for every map, since it uses single sectors only; what differs
by map is its peak, which attribution-guided masking hides (Table 13).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.compass.experiments.composites import composites_table
from theodolite.instruments.compass.experiments.faithfulness.deletion import (
    DOUBTFUL,
    PAIRS,
    CurvePoint,
    MapScore,
    curves_table,
    masking_table,
    nats,
    p_of,
    paper_table,
    ratio_cells,
    sound_table,
)
from theodolite.instruments.compass.experiments.faithfulness.effects import (
    VARIANTS,
    Floats,
    HiddenAnswers,
    PairEffects,
    Variant,
    cos_of,
    map_on_pairs,
    pair_effects,
)
from theodolite.instruments.compass.experiments.faithfulness.measure import (
    RUN_KIND,
    is_same_model,
    source_of,
)
from theodolite.instruments.compass.experiments.faithfulness.ratios import bounded_leak_of, leak_of
from theodolite.instruments.compass.experiments.faithfulness.trials import (
    FaithfulnessOptions,
    Trial,
    Trials,
    make_trials,
)
from theodolite.instruments.compass.formulas.baselines import is_baseline
from theodolite.instruments.compass.formulas.resampling import paper_key
from theodolite.instruments.compass.measure import read_samples
from theodolite.runs import Run

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
    delta = [
        Column(name, f"ΔS {name}", "nats", "compass.delta_s", signed=True)
        for name in ("true", "opposite", "adjacent")
    ]
    return Table.of(
        "compass.hidden_sectors",
        f"Single sectors hidden, {len(trials)} pairs on {pictures} pictures",
        [
            Column("fill", "hidden with"),
            Column("variant", "variant"),
            *delta,
            Column("cos", "COS", "nats", "compass.cos", signed=True),
            Column("p", "p", "p"),
            Column("beyond_adjacent", "beyond adjacent", "nats", "compass.beyond_adjacent", signed=True),
            Column("leak", "leak", "ratio", "compass.leak"),
            DOUBTFUL,
            Column("bounded_leak", "leak, sound", "share", "compass.bounded_leak"),
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

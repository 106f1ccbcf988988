"""The framework comparison (Tables 1 and 2) and what stands beside it: targets, octants, prompts, followed edits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite import stats
from theodolite.attribution import find_methods
from theodolite.core.registry import registry
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Estimate, Table, format_cell
from theodolite.geometry.directions import is_diagonal
from theodolite.instruments.compass.formulas.baselines import BOX_ONLY, RANDOM_MAP, UNIFORM_MAP, is_baseline
from theodolite.instruments.compass.formulas.dae import THRESHOLDS, Label, dae, edge_hit, octant_hit
from theodolite.instruments.compass.formulas.projected import DEGREES, MapAngles, MapShares, ProjectedRun
from theodolite.instruments.compass.formulas.projection import ProjectionOptions, sector_centres_deg
from theodolite.instruments.compass.formulas.resampling import paper_key
from theodolite.instruments.compass.measure import map_key, shown_key, split_key
from theodolite.instruments.compass.published import published_directions, published_notes
from theodolite.pairs import AnsweredPair, balance_of, pair_shares
from theodolite.pairs.outcomes import SHARES
from theodolite.stats import clustered_difference, clustered_mean

__all__ = [
    "FollowedRun",
    "followed_table",
    "has_diagonals",
    "octant_guess",
    "octants_table",
    "pairs_table",
]


# The framework comparison (Tables 1 and 2): one row per method and target, and per baseline, under one projection.
#
#     DAE      mean angle between peak and truth          EA      share of samples with DAE ≤ 45°
#     excess   DAE − DAE of the uniform map, sample by sample; below zero if a method knows more than the layout
#     share    relevance on the image, on A, on B and on the rest, over all relevance, before anything is normalised
#
# Excess and shares are ours, and stand beside every published number.


Means: TypeAlias = Callable[[str, str], Estimate | None]
"""The mean of a kind of metric, such as ``dae_paper``, for a map or baseline: from item scores."""

METHOD = Column("method", "method")
TARGET = Column("target", "for")
GRID = Column("grid", "cells")
DAE = column("compass.dae")
EXCESS = column("compass.excess_dae")
EA = column("compass.ea", "edge_accuracy")
N = Column("n", "n", "count")


def framework_table(projected: ProjectedRun, projection: str, means: Means, *, model: str) -> Table:
    """Build the main table of one projection: baselines first, then methods in the order of the registry.

    Args:
        projected: The samples to report on.
        projection: One of its projections.
        means: From item scores.
        model: Its name, to find the paper's numbers.
    """
    rows = []
    keys = (*projected.baselines, *projected.keys)
    for key in keys:
        kept = projected.angles[projection][key].kept
        is_uniform = split_key(key)[0] == UNIFORM_MAP
        excess = None if is_uniform else means(f"excess_{projection}", key)
        rows.append(
            [
                *map_names(projected, key),
                "†" if caveat_of(split_key(key)[0])[0] else "",
                means(f"dae_{projection}", key),
                None if excess is None else negated(excess),
                means(f"ea_{projection}", key),
                None
                if is_uniform
                else clustered_difference(
                    kept.edge_hits,
                    edge_hit(kept.uniform_error_deg).astype(float),
                    kept.clusters,
                ),
                clustered_mean(kept.octant_hits, kept.clusters),
                len(kept),
                reported(projected, key, model),
            ]
        )
    columns = [
        METHOD,
        TARGET,
        GRID,
        Column("caveat", "†"),
        DAE,
        EXCESS,
        EA,
        column("compass.excess_ea", "excess_edge_accuracy"),
        column("compass.octant", "octant_accuracy"),
        N,
        Column("reported", "reported"),
    ]
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return Table.of(
        f"compass.framework_{projection}",
        f"Direction of relevance, {projection} projection",
        columns,
        rows,
        _notes(projected, projection, dict(zip(keys, [row[5] for row in rows], strict=True))),
    )


def _notes(projected: ProjectedRun, projection: str, excess: Mapping[str, Cell]) -> list[str]:
    better = [
        shown_key(key)
        for key in projected.keys
        if isinstance(cell := excess[key], Estimate) and cell.high < 0
    ]
    notes = [
        "− uniform: minus the uniform map of the same grid on the same pairs; below 0° the map knows more than the layout.",
        f"{len(better)} of {len(projected.keys)} maps point better than the uniform map: {', '.join(better) or 'none'}.",
    ]
    if any(caveat_of(split_key(key)[0])[0] for key in projected.keys):
        notes.append("†: computed as published, but degenerate; `theodolite list methods` explains why.")
    if any(angles.exclusions() for angles in projected.angles[projection].values()):
        notes.append("Rows leave out pairs without a direction: `--tables exclusions` counts them.")
    for key in projected.baselines:
        noise = excess[key]
        if split_key(key)[0] == RANDOM_MAP and isinstance(noise, Estimate) and noise.high < 0:
            notes.append(
                f"Caution: on {projected.grid_of(key)} cells random maps beat the uniform one by {-noise.value:.1f}° "
                f"[{-noise.high:.1f}, {-noise.low:.1f}]; compare methods with the random map's row, since that much of "
                "their excess may be noise of a coarse grid."
            )
    return notes


def evidence_table(projected: ProjectedRun, means: Means) -> Table:
    """Build the table of where relevance lies, before anything is normalised."""
    rows: list[list[Cell]] = []
    silent = []
    for key in (*projected.baselines, *projected.keys):
        if key not in projected.shares:
            continue
        shares = projected.shares[key]
        has_text = bool(shares.has_text[shares.is_kept].all()) and bool(shares.is_kept.any())
        if not has_text and not is_baseline(key):
            silent.append(split_key(key)[0])
        rows.append(
            [
                *map_names(projected, key),
                means("image_share", key) if has_text else None,
                *_object_shares(shares),
                "image and text" if has_text else "image alone",
                int((~shares.is_kept).sum()),
            ]
        )
    return Table.of(
        "compass.evidence",
        "Where relevance lies",
        [
            METHOD,
            TARGET,
            GRID,
            column("compass.image_share", "image"),
            column("compass.reference_share", "reference"),
            column("compass.target_share", "target_object"),
            column("compass.evidence_rest", "rest"),
            Column("of", "share of"),
            Column("excluded", "without relevance", "count"),
        ],
        rows,
        [
            f"{', '.join(dict.fromkeys(silent))}: relevance on the text is not known, so shares are of the image alone."
        ]
        if silent
        else [],
    )


def _object_shares(shares: MapShares) -> list[Estimate | None]:
    kept = shares[shares.is_kept]
    return [clustered_mean(part, kept.clusters) for part in (kept.reference, kept.target, kept.rest)]


def labels_table(projected: ProjectedRun, projection: str) -> Table:
    """Build the table of how the pairs fall into the paper's three labels, with the underlying concentration."""
    rows = []
    for key in (*projected.baselines, *projected.keys):
        kept = projected.angles[projection][key].kept
        numbers = [*(kept.labels == label for label in get_args(Label)), kept.concentration]
        means = [clustered_mean(kept.over_draws(values), kept.clusters) for values in numbers]
        rows.append([*map_names(projected, key), *means])
    return Table.of(
        f"compass.labels_{projection}",
        f"Labels of the pairs, {projection} projection",
        [
            METHOD,
            TARGET,
            GRID,
            *(column("compass.labels", label, label) for label in get_args(Label)),
            column("compass.concentration"),
        ],
        rows,
        [THRESHOLDS],
    )


def exclusions_table(projected: ProjectedRun, projection: str) -> Table:
    """Build the table of what every row leaves out, and why, with caveats of the methods."""
    rows: list[list[Cell]] = []
    for key in (*projected.baselines, *projected.keys):
        angles = projected.angles[projection][key]
        lost = "; ".join(f"{count} × {reason}" for reason, count in angles.exclusions().items())
        kept = angles.kept
        rows.append(
            [
                *map_names(projected, key),
                len(kept),
                int(kept.is_tied.sum()),
                int((~kept.has_mean).sum()),
                lost or "none",
            ]
        )
    methods = dict.fromkeys(split_key(key)[0] for key in projected.keys)
    caveats = {method: caveat_of(method) for method in methods}
    return Table.of(
        f"compass.exclusions_{projection}",
        f"What was left out, {projection} projection",
        [
            METHOD,
            TARGET,
            GRID,
            N,
            Column("tied", "tied peaks", "count"),
            Column("without_mean", "no mean", "count"),
            Column("excluded", "left out"),
        ],
        rows,
        [
            f"{method}: {caveat}" + (f" ({variant} is without that)" if variant else "")
            for method, (caveat, variant) in caveats.items()
            if caveat
        ],
    )


@cache
def caveat_of(method: str) -> tuple[str, str]:
    """Return a registered method's caveat and its sound variant; empty for other maps."""
    if method not in {entry.name for entry in registry().entries("method")}:
        return "", ""
    (loaded,) = find_methods([method])
    return loaded.caveat, loaded.sound_variant


def negated(estimate: Estimate) -> Estimate:
    """Return the estimate with its sign flipped."""
    return replace(estimate, value=-estimate.value, low=-estimate.high, high=-estimate.low)


def map_names(projected: ProjectedRun, key: str) -> tuple[str, str, str]:
    """Return method, target and grid of a map; a baseline has no target."""
    method, target = split_key(key)
    return method, "" if is_baseline(key) else target, projected.grid_of(key)


def reported(projected: ProjectedRun, key: str, model: str) -> str:
    """Return the paper's numbers for the same model, data, method and target.

    Args:
        projected: The samples to report on.
        key: ``method@target``.
        model: Our name of the model.
    """
    method, target = split_key(paper_key(key, projected.keys))
    published = [
        direction
        for source in projected.sources
        for direction in published_directions(model, source, method=method, target=target)
    ]
    return "; ".join(map(str, published))


# Comparisons beside the main table: whose logit is explained, which direction, right and wrong answers, peak and mean.


def targets_table(projected: ProjectedRun, projection: str) -> Table:
    """Compare maps of the true answer's logit with maps of the given answer's, on the same samples (section 4.2)."""
    angles = projected.angles[projection]
    rows = []
    for method in dict.fromkeys(split_key(key)[0] for key in projected.keys):
        pair = [angles.get(map_key(method, target)) for target in ("gt", "pred")]
        if pair[0] is None or pair[1] is None:
            continue
        both = pair[0].is_kept & pair[1].is_kept
        gt, pred = pair[0][both], pair[1][both]
        same = (gt.peak_deg == pred.peak_deg).astype(float)
        rows.append(
            [
                method,
                *(f() for side in (gt, pred) for f in (side.mean_error, side.excess, side.edge_accuracy)),
                gt.difference(pred),
                stats.clustered_mean(same, gt.clusters),
                len(gt),
            ]
        )
    return Table.of(
        f"compass.targets_{projection}",
        f"Whose logit is explained, {projection} projection",
        [
            METHOD,
            *_prefixed("gt"),
            *_prefixed("pred"),
            column("compass.target_difference", "difference"),
            column("compass.same_peak"),
            N,
        ],
        rows,
    )


def directions_tables(projected: ProjectedRun, projection: str) -> list[Table]:
    """Build tables by true direction: how often the answer is right, and how well each method points (Figure 5)."""
    directions = np.array([sample.direction for sample in projected.samples])
    offered = dict.fromkeys(name for sample in projected.samples for name in sample.directions)
    answers: list[list[Cell]] = []
    maps: list[list[Cell]] = []
    for direction in (name for name in offered if (directions == name).any()):
        own = directions == direction
        right = projected.is_correct[own].astype(float)
        answers.append([direction, int(own.sum()), stats.clustered_mean(right, projected.clusters[own])])
        for key in projected.keys:
            kept = projected.angles[projection][key][own].kept
            maps.append(
                [
                    direction,
                    *split_key(key),
                    kept.mean_error(),
                    kept.excess(),
                    stats.clustered_mean(kept.uniform_error_deg, kept.clusters, bounds=DEGREES),
                    kept.edge_accuracy(),
                    len(kept),
                ]
            )
    direction_column = Column("direction", "direction")
    return [
        Table.of(
            f"compass.directions_{projection}",
            f"Answers by true direction, {projection} projection",
            [
                direction_column,
                N,
                column("compass.right", "accuracy"),
            ],
            answers,
        ),
        Table.of(
            f"compass.direction_maps_{projection}",
            f"Maps by true direction, {projection} projection",
            [
                direction_column,
                METHOD,
                TARGET,
                DAE,
                EXCESS,
                column("compass.dae", "uniform_dae", "uniform map: DAE"),
                EA,
                N,
            ],
            maps,
        ),
    ]


def answers_table(projected: ProjectedRun, projection: str, *, seed: int) -> Table:
    """Compare each map on samples with a right and with a wrong answer (Table 5)."""
    rows = []
    for key in projected.keys:
        angles = projected.angles[projection][key]
        kept, right = angles.kept, projected.is_correct[angles.is_kept]
        sides = kept[right], kept[~right]
        rows.append(
            [
                *split_key(key),
                *(f() for side in sides for f in (side.mean_error, side.excess, side.edge_accuracy)),
                answer_gap(kept.error_deg, right, kept.clusters, seed=seed),
                answer_gap(kept.uniform_error_deg, right, kept.clusters, seed=seed),
                len(sides[0]),
                len(sides[1]),
            ]
        )
    return Table.of(
        f"compass.answers_{projection}",
        f"Right and wrong answers, {projection} projection",
        [
            METHOD,
            TARGET,
            *_prefixed("correct", "right"),
            *_prefixed("incorrect", "wrong"),
            column("compass.answer_gap", "gap"),
            column("compass.uniform_gap", title="of the uniform map"),
            Column("n_correct", "n right", "count"),
            Column("n_incorrect", "n wrong", "count"),
        ],
        rows,
    )


def readouts_table(projected: ProjectedRun, projection: str, *, seed: int) -> Table:
    """Compare peak and circular mean, on samples that have both (A.1)."""
    rows = []
    for key in projected.keys:
        angles = projected.angles[projection][key]
        both = angles[angles.has_mean]
        peak, mean, clusters = both.error_deg, both.mean_error_deg, both.clusters
        rows.append(
            [
                *split_key(key),
                both.mean_error(),
                both.excess(),
                both.edge_accuracy(),
                stats.clustered_mean(mean, clusters, bounds=DEGREES),
                stats.clustered_mean(edge_hit(mean).astype(float), clusters),
                stats.clustered_difference(mean, peak, clusters, bounds=DEGREES),
                _correlation(peak, mean, clusters, seed),
                len(both),
            ]
        )
    return Table.of(
        f"compass.readouts_{projection}",
        f"Peak against circular mean, {projection} projection",
        [
            METHOD,
            TARGET,
            *_prefixed("peak"),
            column("compass.mean_dae"),
            column("compass.ea", "mean_edge_accuracy"),
            column("compass.readout_difference", "difference"),
            column("compass.readout_correlation", "correlation"),
            N,
        ],
        rows,
    )


def answer_gap(
    values: ArrayLike, is_right: NDArray[np.bool_], clusters: ArrayLike, *, seed: int
) -> Estimate | None:
    """Estimate the mean where answers are wrong − the mean where they are right, by bootstrap over clusters.

    The two groups share clusters, so this is neither a paired difference nor a difference of independent means. None if
    all answers are right or all are wrong, or if too many resamples lack one group.

    Args:
        values: One per sample.
        is_right: Whether the answer to each sample is right.
        clusters: The picture of each sample.
        seed: Seed of the bootstrap.

    >>> right = np.array([False, False, True, False, True, True, False, True])
    >>> print(answer_gap([9.0, 7.0, 2.0, 6.0, 4.0, 3.0, 8.0, 1.0], right, list("aabbccdd"), seed=1))
    5.000 [3.000, 7.000] (n=4, 8 items)
    """
    x, is_wrong, names = np.asarray(values, np.float64), (~is_right).astype(float), np.asarray(clusters)
    if len(np.unique(names)) < 2 or not 0 < is_wrong.sum() < is_wrong.size:
        return None
    distribution = stats.bootstrap_distribution(
        (x, is_wrong), stats.BatchStatistic(_gap, form="weights"), clusters=names, seed=seed
    )
    reach = float(np.ptp(x))
    return distribution.percentile(bounds=(-reach, reach)) if reach else None


def _gap(
    values: NDArray[np.float64], is_first: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    first, second = weights * is_first, weights * (1 - is_first)
    return np.asarray(first @ values / first.sum(axis=1) - second @ values / second.sum(axis=1))


def _correlation(
    first: NDArray[np.float64], second: NDArray[np.float64], clusters: NDArray[np.str_], seed: int
) -> Estimate | None:
    """Return Pearson's r; None if one of the two is constant, or for fewer than three pictures."""
    if len(np.unique(clusters)) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return stats.pearson(first, second, clusters=clusters, seed=seed)


def _prefixed(name: str, title: str = "") -> list[Column]:
    return [
        column("compass.dae", f"{name}_dae", f"{title or name}: DAE"),
        column("compass.excess_dae", f"{name}_excess_dae"),
        column("compass.ea", f"{name}_edge_accuracy"),
    ]


# Octant accuracy (A.4): how often the peak is within 22.5° of the truth, for diagonal truths and for the four directions.
#
# The paper expects 1/8 of a guess. That holds for truths at any angle. Sectors from 0° have their centres at 22.5°, 67.5° and so
# on, so a truth that is exactly one of the eight directions lies between two of them and both count: a guess has 1/4, and octant
# and edge accuracy are the same. Sectors centred on 0° (``--bins centre``) stand on the directions themselves. The guess is
# therefore computed for the samples at hand.


def has_diagonals(projected: ProjectedRun) -> bool:
    """Return True if the right answer to any sample is a diagonal."""
    return any(is_diagonal(sample.direction) for sample in projected.samples)


def octants_table(projected: ProjectedRun, projection: str, options: ProjectionOptions) -> Table:
    """Build a table with one row per map: octant accuracy on all samples, on diagonal truths, and on the four directions.

    Args:
        projected: The samples to report on.
        projection: One of its projections.
        options: The options of that projection.
    """
    diagonal = np.array([is_diagonal(sample.direction) for sample in projected.samples])
    rows = []
    for key in (*projected.on_grids(BOX_ONLY), *projected.on_grids(UNIFORM_MAP), *projected.keys):
        angles = projected.angles[projection][key]
        rows.append(
            [
                *map_names(projected, key),
                _accuracy(angles.kept),
                None if split_key(key)[0] == UNIFORM_MAP else _excess(angles.kept),
                octant_guess(angles.kept.true_deg, options) if len(angles.kept) else None,
                _accuracy(angles[diagonal].kept),
                _accuracy(angles[~diagonal].kept),
                int((diagonal & angles.is_kept).sum()),
                len(angles.kept),
            ]
        )
    notes = [
        "octant: peaks within 22.5° of the truth (A.4). guess: what a sector drawn at random has on these pairs."
    ]
    if options.bins == "edge" and options.sectors == 8:
        notes.append(
            "Sectors from 0° have two centres within 22.5° of each of the eight directions; `--bins centre` has one."
        )
    return Table.of(
        f"compass.octants_{projection}",
        f"Octant accuracy, {projection} projection",
        [
            METHOD,
            TARGET,
            GRID,
            column("compass.octant"),
            column("compass.excess_octant", title="− uniform"),
            column("compass.octant_guess", "guess"),
            column("compass.octant", "diagonal", "diagonal"),
            column("compass.octant", "cardinal", "left, right, above, below"),
            Column("n_diagonal", "n diagonal", "count"),
            N,
        ],
        rows,
        notes,
    )


def octant_guess(true_deg: NDArray[np.float64], options: ProjectionOptions) -> float:
    """Return the octant accuracy of a sector drawn at random: the mean share of sector centres within 22.5° of the truth.

    >>> octant_guess(np.array([45.0]), ProjectionOptions()), octant_guess(np.array([45.0]), ProjectionOptions(bins="centre"))
    (0.25, 0.125)
    """
    return float(octant_hit(dae(sector_centres_deg(options), true_deg[:, None])).mean())


def _accuracy(kept: MapAngles) -> Estimate | None:
    return clustered_mean(kept.octant_hits, kept.clusters)


def _excess(kept: MapAngles) -> Estimate | None:
    uniform = octant_hit(kept.uniform_error_deg).astype(float)
    return clustered_difference(kept.octant_hits, uniform, kept.clusters)


# The prompt sweep (Table 9): accuracy and direction for each prompt, on the pairs that were asked with all of them.


def prompts_of(projected: ProjectedRun) -> tuple[str, ...]:
    """Return the prompts of a run, in order."""
    return tuple(dict.fromkeys(sample.prompt for sample in projected.samples))


def prompts_table(projected: ProjectedRun, projection: str, *, model: str, on: str = "all pairs") -> Table:
    """Build a table with one row per prompt and map.

    Args:
        projected: Asked with several prompts.
        projection: One of its projections.
        model: Its name, to find the paper's numbers.
        on: Which pairs these are, for the title.
    """
    prompts = prompts_of(projected)
    asked = [{s.id for s in projected.samples if s.prompt == name} for name in prompts]
    common = set.intersection(*asked)
    rows = []
    for prompt in prompts if common else ():
        own = np.array([s.prompt == prompt and s.id in common for s in projected.samples])
        accuracy = clustered_mean(projected.is_correct[own].astype(float), projected.clusters[own])
        for key in projected.keys:
            kept = projected.angles[projection][key][own].kept
            rows.append(
                [
                    prompt,
                    accuracy,
                    *split_key(key),
                    kept.mean_error(),
                    kept.excess(),
                    kept.edge_accuracy(),
                    len(kept),
                ]
            )
    return Table.of(
        "compass.prompts",
        f"Prompts, on {on} asked with each of them, {projection} projection",
        [
            Column("prompt", "prompt"),
            column("compass.right", "accuracy"),
            METHOD,
            TARGET,
            DAE,
            EXCESS,
            EA,
            N,
        ],
        rows,
        published_notes(model, projected.sources, "prompts", prompts),
    )


def best_prompt(projected: ProjectedRun) -> str:
    """Return the most accurate prompt on the pairs asked with all of them; the first in case of a tie."""
    prompts = prompts_of(projected)
    common = set.intersection(*({s.id for s in projected.samples if s.prompt == name} for name in prompts))
    if not common:
        return prompts[0]
    right = {
        name: np.mean([s.is_correct for s in projected.samples if s.prompt == name and s.id in common])
        for name in prompts
    }
    return max(prompts, key=lambda name: right[name])


# Answers that follow edits, beside compasses that point, on the same pictures.
#
# A pair is followed if the answer is right before and after an edit that changes the right answer (`theodolite.pairs`): proof
# that the answer depends on what was edited. DAE says where a map puts relevance. The tables ask whether the two go together: a
# model that follows most pairs although no map points better than the uniform one uses the picture in a way that the maps do
# not show, and a map that points no better on followed pairs does not say which answers rest on the picture.
#
# The uniform map's gap stands beside each gap: followed pairs may merely have an easier layout.


_LEAST_PICTURES = 5
"""On each side of a gap: a bootstrap over fewer is not to be trusted."""
_MODEL = Column("model", "model")
_FOLLOWED = column("diagnose.followed")


@dataclass(frozen=True, slots=True)
class FollowedRun:
    """One model's answers before and after edits, and its maps of the pictures before them."""

    model: str
    projected: ProjectedRun
    pairs: tuple[AnsweredPair, ...]
    """Those about the samples of `projected`."""

    @classmethod
    def of(cls, model: str, projected: ProjectedRun, pairs: Sequence[AnsweredPair]) -> FollowedRun:
        """Create the comparison, without pairs that lack a map of the picture before the edit.

        Args:
            model: The model's name.
            projected: The samples with maps.
            pairs: The answers before and after edits.
        """
        known = {sample.name for sample in projected.samples}
        return cls(model, projected, tuple(pair for pair in pairs if pair.item in known))

    @property
    def relevant(self) -> tuple[AnsweredPair, ...]:
        """The pairs whose right answer changes."""
        return tuple(pair for pair in self.pairs if pair.edit.is_relevant)


def pairs_table(runs: Sequence[FollowedRun]) -> Table:
    """Tabulate outcomes of the pairs by edit, for each model."""
    rows: list[list[Cell]] = []
    for run in runs:
        edits = sorted(dict.fromkeys(pair.edit for pair in run.pairs), key=lambda edit: not edit.is_relevant)
        parts = [(edit.name, [pair for pair in run.pairs if pair.edit == edit]) for edit in edits]
        for name, some in [("all that change the answer", run.relevant), *parts]:
            shares = pair_shares(some)
            balance = balance_of(some) if some and some[0].edit.is_relevant else None
            looking = (balance.looking, balance.p_value) if balance is not None else (None, None)
            rows.append([run.model, name, len(some), *looking, *(getattr(shares, name) for name in SHARES)])
    return Table.of(
        "compass.pairs",
        "Answers before and after edits",
        [
            _MODEL,
            Column("edit", "edit"),
            Column("pairs", "pairs", "count"),
            column("diagnose.looking"),
            Column("p", "p", "p"),
            *(column(f"diagnose.{share}") for share in SHARES),
        ],
        rows,
        [
            "Looking: followed minus inverted. A model that does not use what was edited inverts as often as it follows."
        ],
    )


def followed_table(runs: Sequence[FollowedRun], projection: str, *, seed: int) -> Table:
    """Tabulate followed pairs beside DAE, for each model and map.

    Args:
        runs: One per model.
        projection: One of their projections.
        seed: Seed of the bootstrap of gaps.
    """
    rows: list[list[Cell]] = []
    notes: list[str] = []
    for run in runs:
        followed = pair_shares(run.relevant).followed
        own = {shown_key(key): _row(run, key, projection, seed) for key in run.projected.keys}
        rows += [[run.model, followed, name, *row] for name, row in own.items()]
        maps = {name: row[0] for name, row in own.items()}
        better = [name for name, excess in maps.items() if isinstance(excess, Estimate) and excess.high < 0]
        notes.append(
            f"{run.model}: {format_cell(followed, _FOLLOWED)} of {len(run.relevant)} pairs are followed; "
            f"{len(better)} of {len(maps)} maps point better than the uniform map on the same pictures"
            f"{': ' if better else ''}{', '.join(better)}."
        )
    return Table.of(
        f"compass.followed_{projection}",
        f"Followed pairs beside DAE, {projection} projection",
        [
            _MODEL,
            _FOLLOWED,
            Column("map", "map"),
            EXCESS,
            column("compass.dae", "followed_dae", "followed: DAE"),
            column("compass.dae", "other_dae", "not followed: DAE"),
            column("compass.followed_gap", "gap"),
            column("compass.followed_uniform_gap", "uniform_gap", "uniform's"),
            Column("n_followed", "n followed", "count"),
            Column("n_other", "n not", "count"),
        ],
        rows,
        [
            *notes,
            "DAE: of the map of the picture before the edit. Pairs whose answers cannot be read have no side.",
            f"Gaps need {_LEAST_PICTURES} pictures on each side; one that the uniform map has too is the layout's.",
        ],
    )


def _row(run: FollowedRun, key: str, projection: str, seed: int) -> list[Cell]:
    """Return the cells of one map: on the pictures with a relevant pair, and on followed and other pairs."""
    angles = run.projected.angles[projection][key]
    indices = {sample.name: index for index, sample in enumerate(run.projected.samples)}
    asked = angles[sorted({indices[pair.item] for pair in run.relevant})]
    readable = [pair for pair in run.relevant if pair.outcome != "lost"]
    by_pair = angles[np.array([indices[pair.item] for pair in readable], int)]
    is_followed = np.array([pair.outcome == "followed" for pair in readable], bool)[by_pair.is_kept]
    kept = by_pair.kept
    sides = kept[is_followed], kept[~is_followed]
    has_gap = min(len(np.unique(side.clusters)) for side in sides) >= _LEAST_PICTURES
    errors = (kept.error_deg, kept.uniform_error_deg)
    gaps = [answer_gap(x, is_followed, kept.clusters, seed=seed) if has_gap else None for x in errors]
    return [asked.kept.excess(), *(side.mean_error() for side in sides), *gaps, *map(len, sides)]

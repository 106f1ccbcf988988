"""Does grounding predict robustness? Correlations of SGR with retention, over models.

Rows are models on benchmarks. The same model on three benchmarks is not three models: tests permute whole models, and
intervals resample whole models. The paper does not say which kind of retention it means, so all three are given. Source: step
grounding, section 5.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.tables import Column, Table

Retention: TypeAlias = Literal["ratio", "drop", "ood accuracy"]
"""``ratio``: OOD accuracy ÷ in-distribution accuracy. ``drop``: OOD − in-distribution accuracy; higher means less is lost.
``ood accuracy``: OOD accuracy itself."""

RETENTIONS: tuple[Retention, ...] = get_args(Retention)


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model on one benchmark; shares in [0, 1]."""

    model: str
    benchmark: str
    accuracy: float
    ood_accuracy: float
    predictors: dict[str, float]
    """``sgr`` and others: ``tcs``, ``vrs``, ``attention``, ``gradient`` …"""
    parameters_b: float | None = None
    """Billions of parameters; None if unknown."""
    cluster: str = ""
    """The capacity cluster, such as ``7B``; empty for none."""

    def __post_init__(self) -> None:
        if self.parameters_b is not None and self.parameters_b <= 0:
            raise UsageError(
                f"{self.model} on {self.benchmark}: billions of parameters are above zero, got {self.parameters_b}"
            )
        if not (0 < self.accuracy <= 1 and 0 <= self.ood_accuracy <= 1):
            raise UsageError(
                f"{self.model} on {self.benchmark}: accuracies are shares with the in-distribution one above zero, "
                f"got {self.accuracy} and {self.ood_accuracy}"
            )

    def retention(self, kind: Retention) -> float:
        """How much of its accuracy the model keeps."""
        if kind == "ratio":
            return self.ood_accuracy / self.accuracy
        return self.ood_accuracy - (self.accuracy if kind == "drop" else 0.0)


@dataclass(frozen=True, slots=True)
class Association:
    """The correlation of one predictor with one kind of retention, over some rows."""

    predictor: str
    retention: Retention
    scope: str
    """``pooled``, a benchmark's name, or a capacity cluster's."""
    r: stats.Estimate | None
    """Pearson's r; the interval resamples models."""
    rho: stats.Estimate | None
    """Spearman's ρ of the models' means over benchmarks."""
    p_exact: float | None
    """Permutation of whole models; exact for up to eight."""
    n_models: int
    n_rows: int
    note: str = ""
    """Why a number is missing."""


@dataclass(frozen=True, slots=True)
class MatchedPair:
    """Two models of nearly the same accuracy on one benchmark, the better grounded one first."""

    benchmark: str
    better: str
    other: str
    accuracy_gap: float
    sgr_gap: float
    saved: float
    """How much less accuracy the better grounded one loses out of distribution."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """All results on predicting robustness."""

    associations: tuple[Association, ...]
    partial: tuple[Association, ...]
    """SGR and retention, controlled for accuracy, or for accuracy and scale."""
    pairs: tuple[MatchedPair, ...]
    n_sgr_above_accuracy: dict[str, int]
    """Per benchmark, the number of models whose SGR is above their accuracy."""
    combinations: tuple[Association, ...] = field(default=())
    """Predictors alone, in pairs and all together: the mean of their standardised values, pooled."""


def predict_robustness(
    rows: Sequence[ModelRow], *, matched_within: float = 0.01, seed: int = 0
) -> Prediction:
    """Correlates predictors with retention: per benchmark, pooled, and within capacity clusters.

    Args:
        rows: At least three models. Tests need every model on the same benchmarks.
        matched_within: The largest difference of accuracies that count as the same.
        seed: Seed of the bootstrap.
    """
    models = {row.model for row in rows}
    if len(models) < 3:
        raise UsageError(f"predicting needs at least three models, got {len(models)}")
    twice = [k for k, n in Counter((row.model, row.benchmark) for row in rows).items() if n > 1]
    if twice:
        raise UsageError(f"{twice[0][0]} on {twice[0][1]} occurs twice; a model counts once per benchmark")
    names = sorted({name for row in rows for name in row.predictors}, key=lambda name: (name != "sgr", name))
    associations = [
        associate(part, predictor, kind, scope, seed=seed)
        for predictor in (*names, "accuracy")
        for kind in RETENTIONS
        for scope, part in _scopes(rows)
    ]
    return Prediction(
        tuple(associations),
        tuple(
            _partial(rows, kind, held, seed)
            for kind in RETENTIONS
            for held in ("accuracy", "accuracy and scale")
        ),
        tuple(matched_pairs(rows, within=matched_within)),
        {
            b: sum(r.predictors.get("sgr", -1.0) > r.accuracy for r in rows if r.benchmark == b)
            for b in _benchmarks(rows)
        },
        tuple(_combined(rows, names, seed)),
    )


def _benchmarks(rows: Sequence[ModelRow]) -> list[str]:
    return list(dict.fromkeys(row.benchmark for row in rows))


def _scopes(rows: Sequence[ModelRow]) -> list[tuple[str, list[ModelRow]]]:
    scopes = [("pooled", list(rows))] if len(_benchmarks(rows)) > 1 else []
    scopes += [(b, [row for row in rows if row.benchmark == b]) for b in _benchmarks(rows)]
    clusters = list(dict.fromkeys(row.cluster for row in rows if row.cluster))
    return scopes + [(f"within {c}", [row for row in rows if row.cluster == c]) for c in clusters]


def _value(row: ModelRow, predictor: str) -> float | None:
    return row.accuracy if predictor == "accuracy" else row.predictors.get(predictor)


def associate(
    rows: Sequence[ModelRow], predictor: str, kind: Retention, scope: str, *, seed: int
) -> Association:
    """One correlation with its interval and its exact test."""
    known = [(row, value) for row in rows if (value := _value(row, predictor)) is not None]
    models = [row.model for row, _ in known]
    n_models = len(set(models))
    x, y = np.array([value for _, value in known]), np.array([row.retention(kind) for row, _ in known])
    if n_models < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        why = f"{n_models} models" if n_models < 3 else "no variation"
        return Association(predictor, kind, scope, None, None, None, n_models, len(known), why)
    is_single = n_models == len(known)
    clusters = None if is_single else models
    r = stats.pearson(x, y, clusters=clusters, seed=seed)
    rho = _rank_correlation(models, x, y)
    whole = _is_whole([row for row, _ in known])
    p = _exact_p(known, kind, seed=seed) if whole else None
    return Association(
        predictor,
        kind,
        scope,
        r,
        rho,
        p,
        n_models,
        len(known),
        "" if whole else "models on different benchmarks: no test",
    )


def _is_whole(rows: Sequence[ModelRow]) -> bool:
    """True if every model is on the same benchmarks, so that blocks can be permuted."""
    on: dict[str, set[str]] = {}
    for row in rows:
        on.setdefault(row.model, set()).add(row.benchmark)
    return len({frozenset(benchmarks) for benchmarks in on.values()}) == 1


def _rank_correlation(
    models: Sequence[str], x: NDArray[np.float64], y: NDArray[np.float64]
) -> stats.Estimate | None:
    names = sorted(set(models))
    means = [[float(side[[m == name for m in models]].mean()) for name in names] for side in (x, y)]
    return stats.spearman(*means) if np.ptp(means[0]) and np.ptp(means[1]) else None


def _exact_p(known: Sequence[tuple[ModelRow, float]], kind: Retention, *, seed: int) -> float:
    """Permutes the blocks of models, which must be in the same order."""
    order = sorted(known, key=lambda pair: (pair[0].model, pair[0].benchmark))
    return stats.correlation_permutation_test(
        [value for _, value in order],
        [row.retention(kind) for row, _ in order],
        clusters=[row.model for row, _ in order],
        seed=seed,
    ).p_value


def _partial(rows: Sequence[ModelRow], kind: Retention, held: str, seed: int) -> Association:
    """The partial correlation given covariates; scale is the logarithm of the number of parameters, where known."""
    use = [
        row
        for row in rows
        if "sgr" in row.predictors and (held == "accuracy" or row.parameters_b is not None)
    ]
    models = [row.model for row in use]
    scope = f"given {held}"
    covariates = [
        [row.accuracy, *([np.log(row.parameters_b)] if held != "accuracy" and row.parameters_b else [])]
        for row in use
    ]
    n = len(set(models))
    if n < 3:
        why = f"{n} models" if held == "accuracy" else f"{n} models of known size"
        return Association("sgr", kind, scope, None, None, None, n, len(use), why)
    try:
        clusters = models if n < len(use) else None
        r = stats.partial_correlation(
            [row.predictors["sgr"] for row in use],
            [row.retention(kind) for row in use],
            covariates=np.array(covariates),
            clusters=clusters,
            seed=seed,
        )
    except UsageError as error:
        return Association("sgr", kind, scope, None, None, None, n, len(use), str(error))
    return Association("sgr", kind, scope, r, None, None, n, len(use))


def matched_pairs(rows: Sequence[ModelRow], *, within: float) -> list[MatchedPair]:
    """All pairs of models on a benchmark whose accuracies differ by at most `within`."""
    found = []
    for first, second in combinations([row for row in rows if "sgr" in row.predictors], 2):
        if first.benchmark != second.benchmark or abs(first.accuracy - second.accuracy) > within + 1e-9:
            continue
        a, b = sorted((first, second), key=lambda row: -row.predictors["sgr"])
        found.append(
            MatchedPair(
                a.benchmark,
                a.model,
                b.model,
                accuracy_gap=a.accuracy - b.accuracy,
                sgr_gap=a.predictors["sgr"] - b.predictors["sgr"],
                saved=a.retention("drop") - b.retention("drop"),
            )
        )
    return found


def _combined(rows: Sequence[ModelRow], names: Sequence[str], seed: int) -> list[Association]:
    """Each predictor alone, each pair, and all of them, as means of values standardised per benchmark.

    The sign of ``hr``, which is better when lower, is flipped.
    """
    parts = [name for name in names if all(name in row.predictors for row in rows)]
    sets = [chosen for size in {1, 2, len(parts)} for chosen in combinations(parts, size)] if parts else []
    found = []
    for chosen in sets:
        scores = [0.0] * len(rows)
        for name in chosen:
            for place, value in enumerate(_standardised(rows, name)):
                scores[place] += value / len(chosen)
        label = " + ".join(chosen)
        combined = [
            ModelRow(row.model, row.benchmark, row.accuracy, row.ood_accuracy, {label: score})
            for row, score in zip(rows, scores, strict=True)
        ]
        found.append(associate(combined, label, "ratio", "pooled", seed=seed))
    return found


def _standardised(rows: Sequence[ModelRow], name: str) -> list[float]:
    values = np.array([row.predictors[name] for row in rows])
    done = np.zeros(len(rows))
    for benchmark in _benchmarks(rows):
        here = np.array([row.benchmark == benchmark for row in rows])
        spread = values[here].std()
        done[here] = (values[here] - values[here].mean()) / spread if spread > 0 else 0.0
    return (-done if name == "hr" else done).tolist()


def prediction_tables(found: Prediction) -> list[Table]:
    """Correlations with retention, accuracy-matched pairs, and combined predictors."""
    columns = [
        Column("predictor", "predictor"),
        Column("retention", "retention as"),
        Column("scope", "over"),
        Column("r", "r", "correlation", "trace.retention"),
        Column("rho", "ρ of models", "correlation", "trace.retention"),
        Column("p", "p by model", "p"),
        Column("models", "models", "count"),
        Column("rows", "rows", "count"),
        Column("note", "note"),
    ]
    rows = [
        [
            a.predictor,
            a.retention,
            a.scope,
            a.r,
            a.rho,
            a.p_exact,
            a.n_models,
            a.n_rows,
            a.note,
        ]
        for a in (*found.associations, *found.partial)
    ]
    above = [
        f"{benchmark}: {count} models have an SGR above their accuracy"
        for benchmark, count in found.n_sgr_above_accuracy.items()
    ]
    tables = [
        Table.of("trace.prediction", "Predicting robustness", columns, rows),
        Table.of(
            "trace.matched_pairs",
            "Accuracy-matched pairs",
            [
                Column("better", "better grounded"),
                Column("other", "other"),
                Column("benchmark", "on"),
                Column("accuracy_gap", "accuracy gap", "points"),
                Column("sgr_gap", "SGR gap", "points"),
                Column("saved", "degradation saved", "points"),
            ],
            [[p.better, p.other, p.benchmark, p.accuracy_gap, p.sgr_gap, p.saved] for p in found.pairs],
            above,
        ),
    ]
    if found.combinations:
        heads = [
            Column("components", "predictors"),
            Column("r", "r with retention (ratio), pooled", "correlation", "trace.retention"),
        ]
        cells = [[a.predictor, a.r] for a in found.combinations]
        tables.append(Table.of("trace.combinations", "Combined predictors", heads, cells))
    return tables

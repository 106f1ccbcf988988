"""Does grounding predict robustness? Correlations of SGR with retention over models, measured here or as printed in the paper."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.files import read_text
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Estimate, Table
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.experiments.relevance import INSTRUMENT as RELEVANCE
from theodolite.instruments.trace.experiments.relevance import relevance_table
from theodolite.instruments.trace.experiments.robustness import MeasuringCondition
from theodolite.instruments.trace.formulas.vrs import vrs_paper
from theodolite.runs import Run

# Does grounding predict robustness? Correlations of SGR with retention, over models.
#
# Rows are models on benchmarks. The same model on three benchmarks is not three models: tests permute whole models, and
# intervals resample whole models. The paper does not say which kind of retention it means, so all three are given. Source: step
# grounding, section 5.2.


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
        """Return the share of its accuracy that the model keeps."""
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
    """Correlate predictors with retention: per benchmark, pooled, and within capacity clusters.

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
    """Compute one correlation with its interval and its exact test.

    Args:
        rows: Models on benchmarks. Models without the predictor are left out.
        predictor: Name of the predictor.
        kind: Kind of retention.
        scope: Name of the rows, for tables.
        seed: Seed of the bootstrap and of the permutations.
    """
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
    """Return True if every model is on the same benchmarks, so that blocks can be permuted."""
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
    """Permute the blocks of models, which must be in the same order, and return the exact p-value."""
    order = sorted(known, key=lambda pair: (pair[0].model, pair[0].benchmark))
    return stats.correlation_permutation_test(
        [value for _, value in order],
        [row.retention(kind) for row, _ in order],
        clusters=[row.model for row, _ in order],
        seed=seed,
    ).p_value


def _partial(rows: Sequence[ModelRow], kind: Retention, held: str, seed: int) -> Association:
    """Return the partial correlation given covariates; scale is the logarithm of the number of parameters, where known."""
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
    """Return all pairs of models on a benchmark whose accuracies differ by at most `within`."""
    pairs = []
    for first, second in combinations([row for row in rows if "sgr" in row.predictors], 2):
        if first.benchmark != second.benchmark or abs(first.accuracy - second.accuracy) > within + 1e-9:
            continue
        a, b = sorted((first, second), key=lambda row: -row.predictors["sgr"])
        pairs.append(
            MatchedPair(
                a.benchmark,
                a.model,
                b.model,
                accuracy_gap=a.accuracy - b.accuracy,
                sgr_gap=a.predictors["sgr"] - b.predictors["sgr"],
                saved=a.retention("drop") - b.retention("drop"),
            )
        )
    return pairs


def _combined(rows: Sequence[ModelRow], names: Sequence[str], seed: int) -> list[Association]:
    """Correlate each predictor alone, each pair, and all of them, as means of values standardised per benchmark.

    The sign of ``hr``, which is better when lower, is flipped.
    """
    parts = [name for name in names if all(name in row.predictors for row in rows)]
    sets = [chosen for size in {1, 2, len(parts)} for chosen in combinations(parts, size)] if parts else []
    associations = []
    for chosen in sets:
        scores = [0.0] * len(rows)
        for name in chosen:
            for index, value in enumerate(_standardised(rows, name)):
                scores[index] += value / len(chosen)
        label = " + ".join(chosen)
        combined = [
            ModelRow(row.model, row.benchmark, row.accuracy, row.ood_accuracy, {label: score})
            for row, score in zip(rows, scores, strict=True)
        ]
        associations.append(associate(combined, label, "ratio", "pooled", seed=seed))
    return associations


def _standardised(rows: Sequence[ModelRow], name: str) -> list[float]:
    values = np.array([row.predictors[name] for row in rows])
    done = np.zeros(len(rows))
    for benchmark in _benchmarks(rows):
        here = np.array([row.benchmark == benchmark for row in rows])
        spread = values[here].std()
        done[here] = (values[here] - values[here].mean()) / spread if spread > 0 else 0.0
    return (-done if name == "hr" else done).tolist()


def prediction_tables(found: Prediction) -> list[Table]:
    """Return tables of correlations with retention, accuracy-matched pairs, and combined predictors."""
    columns = [
        Column("predictor", "predictor"),
        Column("retention", "retention as"),
        Column("scope", "over"),
        column("trace.retention", "r", "r"),
        column("trace.retention", "rho", "ρ of models"),
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
            column("trace.retention", "r", "r with retention (ratio), pooled"),
        ]
        cells = [[a.predictor, a.r] for a in found.combinations]
        tables.append(Table.of("trace.combinations", "Combined predictors", heads, cells))
    return tables


# The rows for predicting robustness: from scored runs, or from a table of the user's own.


_SHARES = ("sgr", "hr", "accuracy", "ood_accuracy")
_FIXED = ("model", "benchmark", "accuracy", "ood_accuracy", "parameters_b", "cluster")


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """The stored tables of a run."""

    model: str
    benchmark: str
    folder: str
    kind: str
    tables: Sequence[Table]

    def rows(self, name: str) -> list[dict[str, Cell]]:
        """Return the rows of a table by column name; none if the run does not have it."""
        table = next((table for table in self.tables if table.name == name), None)
        if table is None:
            return []
        return [dict(zip((c.name for c in table.columns), row, strict=True)) for row in table.rows]

    @property
    def has_edits(self) -> bool:
        """True if it has visual reliance."""
        return bool(self.rows("trace.reliance"))

    @property
    def groups(self) -> dict[tuple[str, str], dict[str, Cell]]:
        """The rows of the grounding table by style and split."""
        return {(str(row["style"]), str(row["split"])): row for row in self.rows("trace.grounding")}


def read_scored_run(folder: Path) -> ScoredRun:
    """Read the stored tables of a run of ``trace run`` or ``trace relevance``. The world of its data is the benchmark.

    Raises:
        UsageError: The run is of another instrument, or was not scored.
    """
    with Run.open(folder) as run:
        tables = run.tables()
        if not tables and run.info.instrument == RELEVANCE:
            tables = [relevance_table(run)]
        if run.info.instrument not in {"trace", RELEVANCE}:
            raise UsageError(f"{folder} is a run of {run.info.instrument}, not of trace")
        if not tables:
            raise UsageError(
                f"{folder} was not scored by this version; `theodolite trace score {folder}` scores it"
            )
        data = Path(str(run.info.settings["data"]))
        world = read_episodes(data).episodes[0].world if data.exists() else ""
        return ScoredRun(run.info.model, world or data.name, str(folder), run.info.instrument, tables)


def rows_from_runs(runs: Sequence[ScoredRun]) -> tuple[list[ModelRow], list[MeasuringCondition], list[str]]:
    """Make rows from scored runs, one per model and benchmark: in-distribution SGR and accuracy, OOD accuracy.

    If a model has two runs on a benchmark, one on plain episodes and one on edits, the first gives SGR, consistency and
    accuracy, and the second VRS and the falls. Runs of ``trace run --relevance`` add the attention and gradient baselines.

    Returns:
        The rows; SGR by model for every prompt style and every other way of measuring, the reference first; and why a run
        gave no row, or an incomplete one.

    Raises:
        UsageError: Two runs of one model on one benchmark cannot be combined.
    """
    pairs, why = _combined_rows([run for run in runs if run.kind != RELEVANCE])
    rows = []
    for plain, edited in pairs:
        row = _row_of(plain, edited)
        if isinstance(row, str):
            why.append(row)
        else:
            rows.append(row)
    rows, lonely = with_relevance(rows, [run for run in runs if run.kind == RELEVANCE])
    plain_runs = [plain for plain, _ in pairs]
    bare = [run.folder for run in plain_runs if not run.rows("trace.conditions")]
    if bare:
        why.append(
            f"{len(bare)} of {len(plain_runs)} runs were not measured in other ways, for the robustness of the finding; "
            f"`theodolite trace score {bare[0]} --tables conditions` adds that"
        )
    return rows, _conditions(plain_runs), [*why, *lonely]


def _combined_rows(runs: Sequence[ScoredRun]) -> tuple[list[tuple[ScoredRun, ScoredRun | None]], list[str]]:
    """Return, for each model and benchmark, its run and, if there is one, its run on edits; and which rows combine two runs."""
    by_model: dict[tuple[str, str], list[ScoredRun]] = {}
    for run in runs:
        by_model.setdefault((run.model, run.benchmark), []).append(run)
    pairs: list[tuple[ScoredRun, ScoredRun | None]] = []
    notes: list[str] = []
    for (model, benchmark), both in by_model.items():
        edited = [run for run in both if run.has_edits]
        plain = [run for run in both if not run.has_edits]
        if len(plain) > 1 or len(edited) > 1:
            named = " and ".join(run.folder for run in (plain if len(plain) > 1 else edited))
            raise UsageError(
                f"{model} on {benchmark} occurs twice, in {named}; a model counts once per benchmark, so give one of them"
            )
        if plain and edited:
            notes.append(
                f"{model} on {benchmark}: SGR, TCS and accuracy are from {plain[0].folder}, VRS and falls from {edited[0].folder}"
            )
        pairs.append(((plain or edited)[0], edited[0] if edited else None))
    return pairs, notes


def _row_of(run: ScoredRun, edited: ScoredRun | None) -> ModelRow | str:
    """Return the row of a model on a benchmark, or why there is none."""
    where = f"{run.model} on {run.benchmark}"
    style = next((style for style, _ in run.groups), "")
    own, other = run.groups.get((style, "in-distribution")), run.groups.get((style, "ood"))
    if own is None or other is None:
        return f"{where}: needs traces both in distribution and out of distribution"
    sgr, accuracy, ood = _row_value(own["sgr"]), _row_value(own["right"]), _row_value(other["right"])
    if sgr is None or not accuracy or ood is None:
        return f"{where}: SGR, or an accuracy above zero, is missing"
    beliefs = next(
        (
            row
            for row in run.rows("trace.consistency")
            if (row["style"], row["split"]) == (style, "in-distribution")
        ),
        {},
    )
    pooled = (edited.rows("trace.reliance") if edited is not None else []) or [{}]
    values = {
        "sgr": sgr,
        "hr": _row_value(own["hr"]),
        "tcs": _row_value(beliefs.get("tcs")),
        "tcs aware": _row_value(beliefs.get("tcs_aware")),
        "vrs": _row_value(pooled[0].get("vrs")),
        "vrs sound": _row_value(pooled[0].get("vrs_sound")),
    }
    falls = [
        fall
        for cell in (edited.rows("trace.sensitivity") if edited is not None else ())
        if "paper" in str(cell["truth"]) and cell["family"] != "irrelevant"
        if (fall := _row_value(cell["delta_accuracy"])) is not None
    ]
    if falls:  # the perturbation-only baseline: the fall of accuracy under relevant edits
        values["perturbation"] = -sum(falls) / len(falls)
    predictors = {name: value for name, value in values.items() if value is not None}
    return ModelRow(run.model, run.benchmark, accuracy, ood, predictors)


def _conditions(runs: Sequence[ScoredRun]) -> list[MeasuringCondition]:
    """Return SGR by model for every prompt style and every other way of measuring, with the cost of a sample."""
    sgr: dict[str, dict[str, list[float]]] = {}
    times: dict[str, list[float]] = {}
    for run in runs:
        styles = [(style, row) for (style, split), row in run.groups.items() if split == "in-distribution"]
        for name, row in [*styles, *((str(r["condition"]), r) for r in run.rows("trace.conditions"))]:
            value = _row_value(row["sgr"])
            if value is not None:
                sgr.setdefault(name, {}).setdefault(run.model, []).append(value)
                times.setdefault(name, []).append(float(str(row["seconds"] or 0.0)))
    return [
        MeasuringCondition(
            name, {m: sum(v) / len(v) for m, v in by.items()}, sum(times[name]) / len(times[name])
        )
        for name, by in sgr.items()
    ]


def with_relevance(rows: Sequence[ModelRow], runs: Sequence[ScoredRun]) -> tuple[list[ModelRow], list[str]]:
    """Return the rows with the attention and gradient baselines of runs of ``trace relevance``, and why a run matches no row."""
    known = _by_name(rows)
    why = []
    measured: set[tuple[str, str]] = set()
    for run in runs:
        key = (run.model, run.benchmark)
        if key in measured:
            raise UsageError(
                f"the relevance of {key[0]} on {key[1]} was measured twice; give one of the runs"
            )
        measured.add(key)
        if key not in known:
            why.append(f"{key[0]} on {key[1]}: there is relevance, but no run to compare it with")
            continue
        baselines = {str(row["baseline"]): _row_value(row["share"]) for row in run.rows("trace.relevance")}
        shares = {name: value for name, value in baselines.items() if value is not None}
        known[key] = replace(known[key], predictors=known[key].predictors | shares)
    return list(known.values()), why


def _row_value(cell: Cell) -> float | None:
    return cell.value if isinstance(cell, Estimate) else None


def read_model_rows(path: str | Path) -> list[ModelRow]:
    """Read a CSV file with the columns model, benchmark, accuracy, ood_accuracy and sgr, as shares.

    ``parameters_b`` and ``cluster`` are optional. Every further column is a predictor (``tcs``, ``vrs``, ``attention`` …),
    empty if unknown.
    """
    path = Path(path)
    table = _table(path, ("model", "benchmark", "accuracy", "ood_accuracy", "sgr"))
    return [_row(line, f"{path.name}, line {number}") for number, line in enumerate(table, 2)]


def add_predictors(rows: Sequence[ModelRow], path: str | Path) -> list[ModelRow]:
    """Return the rows with further predictors, such as ``attention`` and ``gradient``.

    Args:
        rows: Rows of scored runs.
        path: A CSV file with the columns model and benchmark, and one column per predictor, empty if unknown.
            ``parameters_b`` and ``cluster`` are optional. Every line must match one of the rows.
    """
    path = Path(path)
    known = _by_name(rows)
    for number, line in enumerate(_table(path, ("model", "benchmark")), 2):
        where, key = f"{path.name}, line {number}", (line["model"] or "", line["benchmark"] or "")
        if key not in known:
            available = "; ".join(f"{model} on {benchmark}" for model, benchmark in known)
            raise UsageError(f"{where}: there is no run of {key[0]} on {key[1]}; there are: {available}")
        row = known[key]
        values = {k: _number(line, k, where) for k in line if k not in _FIXED and (line[k] or "").strip()}
        parameters = (line.get("parameters_b") or "").strip()
        known[key] = replace(
            row,
            predictors=row.predictors | values,
            parameters_b=_number(line, "parameters_b", where) if parameters else row.parameters_b,
            cluster=line.get("cluster") or row.cluster,
        )
    return list(known.values())


def _by_name(rows: Sequence[ModelRow]) -> dict[tuple[str, str], ModelRow]:
    known: dict[tuple[str, str], ModelRow] = {}
    for row in rows:
        key = (row.model, row.benchmark)
        if key in known:
            raise UsageError(f"{key[0]} on {key[1]} occurs twice; a model counts once per benchmark")
        known[key] = row
    return known


def _table(path: Path, needed: Sequence[str]) -> list[dict[str, str | None]]:
    try:
        table = list(csv.DictReader(io.StringIO(read_text(path), newline="")))
    except csv.Error as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    missing = [name for name in needed if not table or name not in table[0]]
    if missing:
        raise UsageError(f"{path} has no column {missing[0]!r}, or no row")
    for number, line in enumerate(table, 2):
        where = f"{path.name}, line {number}"
        if None in line:
            raise UsageError(f"{where}: has more cells than the {len(line) - 1} columns that line 1 names")
        empty = [name for name in ("model", "benchmark") if not (line[name] or "").strip()]
        if empty:
            raise UsageError(f"{where}: {empty[0]} is empty")
    return list(table)


def _row(line: Mapping[str, str | None], where: str) -> ModelRow:
    def number(name: str) -> float:
        return _number(line, name, where)

    predictors = {name: number(name) for name in line if name not in _FIXED and (line[name] or "").strip()}
    return ModelRow(
        model=line["model"] or "",
        benchmark=line["benchmark"] or "",
        accuracy=number("accuracy"),
        ood_accuracy=number("ood_accuracy"),
        predictors=predictors,
        parameters_b=number("parameters_b") if (line.get("parameters_b") or "").strip() else None,
        cluster=line.get("cluster") or "",
    )


def _number(line: Mapping[str, str | None], name: str, where: str) -> float:
    try:
        value = float(line[name] or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{where}: {name} is {line[name]!r}, not a number")
    if name in _SHARES and not 0 <= value <= 1:
        raise UsageError(f"{where}: {name} is {value:g}; it is a share between 0 and 1, not a percentage")
    if name == "parameters_b" and value <= 0:
        raise UsageError(
            f"{where}: parameters_b is {value:g}; it is billions of parameters, above zero, or empty"
        )
    return value


def rows_table(rows: Sequence[ModelRow]) -> Table:
    """Return the rows themselves, with all their predictors."""
    names = list(dict.fromkeys(name for row in rows for name in row.predictors))
    columns = [
        Column("model", "model"),
        Column("benchmark", "benchmark"),
        column("trace.right", "accuracy", "accuracy"),
        column("trace.right", "ood_accuracy", "OOD accuracy"),
        *(Column(name.replace(" ", "_"), name, "number") for name in names),
    ]
    cells = [
        [r.model, r.benchmark, r.accuracy, r.ood_accuracy, *(r.predictors.get(name) for name in names)]
        for r in rows
    ]
    return Table.of("trace.model_rows", "Models", columns, cells)


# The paper's printed tables, as input for the same code as new measurements.


_FILE = Path(__file__).parent / "paper_tables.json"


@cache
def paper_tables() -> dict[str, Any]:
    """Return Tables 1 to 3 as printed, and the statistics that the text reports."""
    tables: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return tables


def paper_rows() -> list[ModelRow]:
    """Return Tables 1 and 2 as rows, shares in [0, 1], with equation 4 of Table 3 as the predictor ``vrs`` on STAR.

    ``perturbation`` is the fall of accuracy alone under relevant edits (Table 3), the perturbation-only baseline.
    """
    tables = paper_tables()
    rows = []
    for model, entry in tables["models"].items():
        for benchmark in ("STAR", "R2R", "TEACh"):
            accuracy, sgr, tcs, hr, ood = (value / 100 for value in entry[benchmark])
            predictors = {"sgr": sgr, "tcs": tcs, "hr": hr}
            if benchmark == "STAR":
                predictors |= {"vrs": paper_vrs(model), "perturbation": _accuracy_falls(model)}
            rows.append(
                ModelRow(model, benchmark, accuracy, ood, predictors, entry["parameters_b"], entry["cluster"])
            )
    return rows


def paper_vrs(model: str, *, epsilon: float = 0.01, clip: float = 10.0, in_points: bool = False) -> float:
    """Compute equation 4 from a model's row of Table 3, all magnitudes equal.

    Args:
        model: As in Table 3.
        epsilon: ε.
        clip: The largest value.
        in_points: Take Δ in percentage points instead of fractions; then ε has almost no effect.

    >>> round(paper_vrs("GPT-4o"), 2), round(paper_vrs("GPT-4o", in_points=True), 2)
    (6.48, 8.77)
    """
    falls = paper_tables()["sensitivity"][model]
    drops = np.array([-falls[family][1] / (1 if in_points else 100) for family in falls])
    relevant = np.array([float(family != "irrelevant") for family in falls])
    return vrs_paper(drops, np.ones(len(drops)), relevant, epsilon=epsilon, clip=clip)


def _accuracy_falls(model: str) -> float:
    falls = paper_tables()["sensitivity"][model]
    return float(np.mean([-falls[family][0] / 100 for family in falls if family != "irrelevant"]))

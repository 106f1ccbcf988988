"""The rows for predicting robustness: from scored runs, or from a table of the user's own."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.core.estimates import Estimate
from theodolite.core.files import read_text
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.experiments.predict import ModelRow
from theodolite.instruments.trace.experiments.relevance import INSTRUMENT as RELEVANCE
from theodolite.instruments.trace.experiments.relevance import relevance_table
from theodolite.instruments.trace.experiments.robustness import Condition
from theodolite.runs import Run

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
        """The rows of a table by column name; none if the run does not have it."""
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
    """Reads the stored tables of a run of ``trace run`` or ``trace relevance``. The world of its data is the benchmark.

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


def rows_from_runs(runs: Sequence[ScoredRun]) -> tuple[list[ModelRow], list[Condition], list[str]]:
    """Rows from scored runs, one per model and benchmark: in-distribution SGR and accuracy, OOD accuracy.

    If a model has two runs on a benchmark, one on plain episodes and one on edits, the first gives SGR, consistency and
    accuracy, and the second VRS and the falls. Runs of ``trace relevance`` add the attention and gradient baselines.

    Returns:
        The rows; SGR by model for every prompt style and every other way of measuring, the reference first; and why a run
        gave no row, or only part of one.

    Raises:
        UsageError: Two runs of one model on one benchmark cannot be combined.
    """
    pairs, why = _combined([run for run in runs if run.kind != RELEVANCE])
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


def _combined(runs: Sequence[ScoredRun]) -> tuple[list[tuple[ScoredRun, ScoredRun | None]], list[str]]:
    """For each model and benchmark, its run and, if there is one, its run on edits; and which rows combine two runs."""
    found: dict[tuple[str, str], list[ScoredRun]] = {}
    for run in runs:
        found.setdefault((run.model, run.benchmark), []).append(run)
    pairs: list[tuple[ScoredRun, ScoredRun | None]] = []
    told: list[str] = []
    for (model, benchmark), both in found.items():
        edited = [run for run in both if run.has_edits]
        plain = [run for run in both if not run.has_edits]
        if len(plain) > 1 or len(edited) > 1:
            named = " and ".join(run.folder for run in (plain if len(plain) > 1 else edited))
            raise UsageError(
                f"{model} on {benchmark} occurs twice, in {named}; a model counts once per benchmark, so give one of them"
            )
        if plain and edited:
            told.append(
                f"{model} on {benchmark}: SGR, TCS and accuracy are from {plain[0].folder}, VRS and falls from {edited[0].folder}"
            )
        pairs.append(((plain or edited)[0], edited[0] if edited else None))
    return pairs, told


def _row_of(run: ScoredRun, edited: ScoredRun | None) -> ModelRow | str:
    """The row of a model on a benchmark, or why there is none."""
    where = f"{run.model} on {run.benchmark}"
    style = next((style for style, _ in run.groups), "")
    own, other = run.groups.get((style, "in-distribution")), run.groups.get((style, "ood"))
    if own is None or other is None:
        return f"{where}: needs traces both in distribution and out of distribution"
    sgr, accuracy, ood = _value(own["sgr"]), _value(own["right"]), _value(other["right"])
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
    found = {
        "sgr": sgr,
        "hr": _value(own["hr"]),
        "tcs": _value(beliefs.get("tcs")),
        "tcs aware": _value(beliefs.get("tcs_aware")),
        "vrs": _value(pooled[0].get("vrs")),
        "vrs sound": _value(pooled[0].get("vrs_sound")),
    }
    falls = [
        fall
        for cell in (edited.rows("trace.sensitivity") if edited is not None else ())
        if "paper" in str(cell["truth"]) and cell["family"] != "irrelevant"
        if (fall := _value(cell["delta_accuracy"])) is not None
    ]
    if falls:  # the perturbation-only baseline: the fall of accuracy under relevant edits
        found["perturbation"] = -sum(falls) / len(falls)
    predictors = {name: value for name, value in found.items() if value is not None}
    return ModelRow(run.model, run.benchmark, accuracy, ood, predictors)


def _conditions(runs: Sequence[ScoredRun]) -> list[Condition]:
    """SGR by model for every prompt style and every other way of measuring, with the cost of a sample."""
    sgr: dict[str, dict[str, list[float]]] = {}
    times: dict[str, list[float]] = {}
    for run in runs:
        styles = [(style, row) for (style, split), row in run.groups.items() if split == "in-distribution"]
        for name, row in [*styles, *((str(r["condition"]), r) for r in run.rows("trace.conditions"))]:
            value = _value(row["sgr"])
            if value is not None:
                sgr.setdefault(name, {}).setdefault(run.model, []).append(value)
                times.setdefault(name, []).append(float(str(row["seconds"] or 0.0)))
    return [
        Condition(name, {m: sum(v) / len(v) for m, v in by.items()}, sum(times[name]) / len(times[name]))
        for name, by in sgr.items()
    ]


def with_relevance(rows: Sequence[ModelRow], runs: Sequence[ScoredRun]) -> tuple[list[ModelRow], list[str]]:
    """The rows with the attention and gradient baselines of runs of ``trace relevance``, and why one fits no row."""
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
        found = {str(row["baseline"]): _value(row["share"]) for row in run.rows("trace.relevance")}
        shares = {name: value for name, value in found.items() if value is not None}
        known[key] = replace(known[key], predictors=known[key].predictors | shares)
    return list(known.values()), why


def _value(cell: Cell) -> float | None:
    return cell.value if isinstance(cell, Estimate) else None


def read_model_rows(path: str | Path) -> list[ModelRow]:
    """Reads a CSV file with the columns model, benchmark, accuracy, ood_accuracy and sgr, as shares.

    ``parameters_b`` and ``cluster`` are optional. Every further column is a predictor (``tcs``, ``vrs``, ``attention`` …),
    empty if unknown.
    """
    path = Path(path)
    table = _table(path, ("model", "benchmark", "accuracy", "ood_accuracy", "sgr"))
    return [_row(line, f"{path.name}, line {number}") for number, line in enumerate(table, 2)]


def add_predictors(rows: Sequence[ModelRow], path: str | Path) -> list[ModelRow]:
    """The rows with further predictors, such as ``attention`` and ``gradient``.

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
            there = "; ".join(f"{model} on {benchmark}" for model, benchmark in known)
            raise UsageError(f"{where}: there is no run of {key[0]} on {key[1]}; there are: {there}")
        row = known[key]
        given = {k: _number(line, k, where) for k in line if k not in _FIXED and (line[k] or "").strip()}
        parameters = (line.get("parameters_b") or "").strip()
        known[key] = replace(
            row,
            predictors=row.predictors | given,
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
    """The rows themselves, with all their predictors."""
    names = list(dict.fromkeys(name for row in rows for name in row.predictors))
    columns = [
        Column("model", "model"),
        Column("benchmark", "benchmark"),
        Column("accuracy", "accuracy", "share", "trace.right"),
        Column("ood_accuracy", "OOD accuracy", "share", "trace.right"),
        *(Column(name.replace(" ", "_"), name, "number") for name in names),
    ]
    cells = [
        [r.model, r.benchmark, r.accuracy, r.ood_accuracy, *(r.predictors.get(name) for name in names)]
        for r in rows
    ]
    return Table.of("trace.model_rows", "Models", columns, cells)

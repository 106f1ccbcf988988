"""Where the rows for predicting come from: scored runs, or a table of one's own."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.experiments.predict import ModelRow
from theodolite.instruments.trace.experiments.robustness import Condition

_SHARES = ("sgr", "hr", "accuracy", "ood_accuracy")
_FIXED = ("model", "benchmark", "accuracy", "ood_accuracy", "parameters_b", "cluster")


def read_model_rows(path: str | Path) -> list[ModelRow]:
    """Reads a CSV file with the columns model, benchmark, accuracy, ood_accuracy and sgr, as shares.

    ``parameters_b`` and ``cluster`` may be added; every further column is a predictor (``tcs``, ``vrs``, ``attention``,
    ``gradient``, …), empty where it is not known.
    """
    path = Path(path)
    table = _table(path, ("model", "benchmark", "accuracy", "ood_accuracy", "sgr"))
    return [_row(line, f"{path.name}, line {number}") for number, line in enumerate(table, 2)]


def add_predictors(rows: Sequence[ModelRow], path: str | Path) -> list[ModelRow]:
    """The rows with what else is known of each model: baselines such as ``attention`` and ``gradient``.

    Args:
        rows: of scored runs, say.
        path: a CSV file with the columns model and benchmark, and one column per predictor, empty where it is not known.
            ``parameters_b`` and ``cluster`` may be among them. Every line must be about one of the rows.
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


def with_relevance(
    rows: Sequence[ModelRow], relevance: Sequence[Mapping[str, Any]]
) -> tuple[list[ModelRow], list[str]]:
    """The rows with the attention and gradient baselines of white boxes.

    Args:
        rows: of scored runs.
        relevance: what ``trace relevance`` wrote.

    Returns:
        The rows, and why a baseline fits none of them.
    """
    known = _by_name(rows)
    why = []
    measured: set[tuple[str, str]] = set()
    for score in relevance:
        key = (str(score["model"]), str(score["benchmark"]))
        if key in measured:
            raise UsageError(
                f"the relevance of {key[0]} on {key[1]} was measured twice; give one of the two runs"
            )
        measured.add(key)
        if key not in known:
            why.append(f"{key[0]} on {key[1]}: relevance was measured, but there is no run to set it beside")
            continue
        shares = {name: found["value"] for name, found in score["shares"].items() if found}
        known[key] = replace(known[key], predictors=known[key].predictors | shares)
    return list(known.values()), why


def _by_name(rows: Sequence[ModelRow]) -> dict[tuple[str, str], ModelRow]:
    known: dict[tuple[str, str], ModelRow] = {}
    for row in rows:
        key = (row.model, row.benchmark)
        if key in known:
            raise UsageError(f"{key[0]} on {key[1]} is there twice; a model counts once per benchmark")
        known[key] = row
    return known


def _table(path: Path, needed: Sequence[str]) -> list[dict[str, str | None]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:  # spreadsheets write a byte order mark
            table = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
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


def rows_from_scores(
    scores: Sequence[Mapping[str, Any]], benchmarks: Sequence[str], *, folders: Sequence[str | Path] = ()
) -> tuple[list[ModelRow], dict[str, Condition], list[str]]:
    """Rows out of scored runs, one per model and benchmark: in-distribution SGR and accuracy, OOD accuracy.

    Of two runs of a model on a benchmark, one on plain episodes and one on edits, the first gives SGR, consistency and
    accuracy, and the second what edits do: VRS and the falls.

    Args:
        scores: what ``trace score`` wrote.
        benchmarks: the world of each run.
        folders: where the runs lie, to name them by.

    Returns:
        The rows; for every prompt style and every other way of measuring its SGR by model, for the robustness table, the
        reference first; and why a run gave no row, or only part of one.

    Raises:
        UsageError: two runs of one model on one benchmark cannot be put together so.
    """
    places = [str(folder) for folder in folders] or [f"run {i}" for i in range(1, len(scores) + 1)]
    scores, benchmarks, why = _put_together(scores, benchmarks, places)
    rows = []
    styles: dict[str, dict[str, list[float]]] = {}
    times: dict[str, list[float]] = {}
    for score, benchmark in zip(scores, benchmarks, strict=True):
        model = str(score["model"])
        groups = {(g["style"], g["split"]): g for g in score["groups"]}
        for (style, split), group in groups.items():
            if split == "in-distribution" and group["grounding"]["sgr"]:
                styles.setdefault(style, {}).setdefault(model, []).append(group["grounding"]["sgr"]["value"])
                times.setdefault(style, []).append(group["seconds"] or 0.0)
        for other in score.get("conditions", ()):
            if other["sgr"]:
                styles.setdefault(other["name"], {}).setdefault(model, []).append(other["sgr"]["value"])
                times.setdefault(other["name"], []).append(other["seconds"] or 0.0)
        row = _from_score(score, groups, model, benchmark)
        if isinstance(row, str):
            why.append(row)
        else:
            rows.append(row)
    conditions = {
        style: Condition(
            style, {m: sum(v) / len(v) for m, v in by.items()}, sum(times[style]) / len(times[style])
        )
        for style, by in styles.items()
    }
    return rows, conditions, why


def _put_together(
    scores: Sequence[Mapping[str, Any]], benchmarks: Sequence[str], places: Sequence[str]
) -> tuple[list[Mapping[str, Any]], list[str], list[str]]:
    """One score per model and benchmark, and which of them are made of two runs."""
    found: dict[tuple[str, str], list[tuple[Mapping[str, Any], str]]] = {}
    for score, benchmark, place in zip(scores, benchmarks, places, strict=True):
        found.setdefault((str(score["model"]), benchmark), []).append((score, place))
    whole: list[Mapping[str, Any]] = []
    told: list[str] = []
    for (model, benchmark), runs in found.items():
        edited = [run for run in runs if run[0].get("reliance")]
        plain = [run for run in runs if not run[0].get("reliance")]
        if len(plain) > 1 or len(edited) > 1:
            named = " and ".join(place for _, place in (plain if len(plain) > 1 else edited))
            raise UsageError(
                f"{model} on {benchmark} is there twice, in {named}; a model counts once per benchmark, so give one of them"
            )
        score = dict((plain or edited)[0][0])
        if plain and edited:
            score |= {key: edited[0][0].get(key) for key in ("reliance", "sensitivity")}
            told.append(
                f"{model} on {benchmark}: SGR, TCS and accuracy are those of {plain[0][1]}, VRS and falls those of {edited[0][1]}"
            )
        whole.append(score)
    return whole, [benchmark for _, benchmark in found], told


def _from_score(
    score: Mapping[str, Any], groups: Mapping[tuple[str, str], Any], model: str, benchmark: str
) -> ModelRow | str:
    style = next((style for style, _ in groups), "")
    own, other = groups.get((style, "in-distribution")), groups.get((style, "ood"))
    if own is None or other is None:
        return f"{model} on {benchmark}: needs traces both in distribution and out of it"
    accuracy, ood = own["grounding"]["accuracy"], other["grounding"]["accuracy"]
    sgr = own["grounding"]["sgr"]
    if not (accuracy and ood and sgr) or accuracy["value"] <= 0:
        return f"{model} on {benchmark}: SGR, or an accuracy above zero, is missing"
    predictors = {"sgr": sgr["value"]}
    found = {
        "hr": own["grounding"]["hr"],
        "tcs": (own["consistency"] or {}).get("tcs"),
        "tcs aware": (own["consistency"] or {}).get("tcs_aware"),
        "vrs": (score.get("reliance") or {}).get("vrs_paper"),
        "vrs sound": (score.get("reliance") or {}).get("vrs_sound"),
    }
    predictors |= {name: estimate["value"] for name, estimate in found.items() if estimate}
    falls = [c["delta_accuracy"]["value"] for c in score.get("sensitivity", ()) if _is_relevant(c)]
    if falls:
        predictors["perturbation"] = -sum(falls) / len(falls)
    return ModelRow(model, benchmark, accuracy["value"], ood["value"], predictors)


def _is_relevant(cell: Mapping[str, Any]) -> bool:
    """A cell of the perturbation-only baseline: what relevant edits do to accuracy, as the paper judges it."""
    return bool(cell["reading"] == "paper" and cell["family"] != "irrelevant" and cell["delta_accuracy"])

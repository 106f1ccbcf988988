"""Which explainers separate the paired models of the grid, and how interacting words change with depth."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from _rows import KEEP, table

_MADE = Path(__file__).parents[1] / "assets" / "grid_explainers.json"
_OURS = ("alike-removal", "interacting-words")
_ANCHORS = ("all-objects", "bow-oracle", "oracle", "random", "uniform")
"""Maps that do not depend on the model: .50 by construction."""
_MODELS = {"pure": "`grid:pure`", "cross": "`grid:spur`"}


@lru_cache(maxsize=1)
def _runs() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_MADE.read_text(encoding="utf-8"))["runs"]
    return found


def _short(value: float) -> str:
    return f"{value:.2f}".replace("0.", ".", 1)


def _interval(value: list[float] | None) -> str:
    if value is None:
        return ""
    return f"{_short(value[0])}{KEEP}[{_short(value[1])},{KEEP}{_short(value[2])}]"


def grid_pair_separation() -> str:
    """AUC of each explainer, by the pair's training scenes and the explained scenes."""
    found = {
        (row["explainer"], row["measure"], place): row["auc"]
        for place, run in enumerate(_runs())
        for row in run["separation"]
    }
    measures = tuple(dict.fromkeys(measure for _, measure, _ in found))
    last = len(_runs()) - 1
    names = sorted(
        {name for name, _, _ in found} - set(_ANCHORS), key=lambda name: -found[name, measures[0], last][0]
    )
    heads = [f"pair trained on {run['trained_on']}, scenes of {run['preset']}" for run in _runs()]
    tables = []
    for measure in measures:
        rows = [
            [
                f"`{name}`" + (" (ours)" if name in _OURS else ""),
                *(_interval(found.get((name, measure, place))) for place in range(last + 1)),
            ]
            for name in names
        ]
        tables.append(f"*{measure.capitalize()}*\n\n{table(['explainer', *heads], rows)}")
    return "\n\n".join(tables)


def grid_depth() -> str:
    """Interacting words of mixed counting questions by depth, with the current pair."""
    rows = []
    for run in _runs():
        if run["trained_on"] == "all presets":
            equal = {
                (r["scenario"], r["density"]): r for r in run["depth"] if r["adjustment"] == "equal answers"
            }
            for row in run["depth"]:
                if row["adjustment"] == "plain":
                    same = equal.get((row["scenario"], row["density"]))
                    rows.append(
                        [
                            _MODELS[row["scenario"]],
                            f"{run['preset']}, {row['density']}, {row['n'] // 3} per depth",
                            " → ".join(f"{mean:.2f}" for mean in row["by_depth"]),
                            _change(row),
                            _change(same) if same else "",
                        ]
                    )
    return table(["model", "scenes", "by depth", "change", "equal answers: change"], rows)


def _change(row: dict[str, Any]) -> str:
    value, low, high = (f"{each:.2f}".replace("-", "−") for each in row["change"])
    return f"{value}{KEEP}[{low},{KEEP}{high}], {row['verdict']}"

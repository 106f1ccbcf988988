"""Which method of `theodolite explain` is best, as `theodolite explain bench` has measured it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from _rows import KEEP, table

_MADE = Path(__file__).parents[1] / "assets" / "explain_bench.json"
_HEADS = (
    "model",
    "method",
    "pointing",
    "RMA beyond uniform",
    "holds",
    "deletion gain",
    "insertion gain",
    "separation",
)


def explain_bench() -> str:
    """Return the table, with the sentences below it."""
    (made,) = json.loads(_MADE.read_text(encoding="utf-8"))["tables"]
    wanted = ("model", "method", "pointing", "rma", "holds", "deletion", "insertion", "separation")
    rows = [[_cell(row[name], name) for name in wanted] for row in made["rows"]]
    return "\n\n".join([table(_HEADS, rows), *made["notes"]])


def _cell(value: Any, name: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"`{value}`"
    if isinstance(value, dict):
        low, high = (f"{100 * value[end]:.0f}" for end in ("low", "high"))
        return f"{100 * value['value']:.0f}{KEEP}% [{low},{KEEP}{high}]"
    return f"{value:.2f}".replace("-", "−") if name != "separation" else f"{value:.2f}".replace("0.", ".", 1)

"""The presets of the grid: promises, and what learners find."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from _rows import KEEP, table

from theodolite.instruments.grid.data.audit import promise_table
from theodolite.instruments.grid.data.files import DatasetPlan
from theodolite.instruments.grid.data.ignorance import FAMILIES, chance_above, ignorances
from theodolite.instruments.grid.data.question_types import BUCKET_KEYS, BUCKETS
from theodolite.instruments.grid.data.recipe import PRESETS, SOUND

_MADE = Path(__file__).parents[1] / "assets" / "grid_presets.json"
_FOOT = "*Italic*: not promised. Both densities, sparse / dense. In brackets: the line that the law itself allows, where it is above the baseline."


@lru_cache(maxsize=1)
def _made() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_MADE.read_text(encoding="utf-8"))
    return found


def grid_promises() -> str:
    """Every promise of the preset sound."""
    rows = promise_table(DatasetPlan("pure", 1, 0, SOUND)).rows
    return table(["promise", "buckets"], [[str(cell) for cell in row] for row in rows])


def grid_audit() -> str:
    """Return what learners get out of scenes with one thing left out, by preset and bucket."""
    made = _made()
    told = (
        f"Points above the best constant answer (in comparisons with one group known: above the best map from its count), the strongest of each family; "
        f"cross-validated. Made by `{made['command']}`."
    )
    parts = [told]
    for preset in dict.fromkeys(row["preset"] for row in made["learned"]):
        mine = [row for row in made["learned"] if row["preset"] == preset]
        rows = []
        for bucket in dict.fromkeys(row["bucket"] for row in mine):
            both = [row for row in mine if row["bucket"] == bucket]
            constant = f" /{KEEP}".join(f"{100 * row['constant']:.0f}" for row in both)
            rows.append([f"`{bucket}`", f"{constant}{KEEP}%", *(_gains(both, family) for family in FAMILIES)])
        scenes = f"{min(row['scenes'] for row in mine):,} scenes of each bucket and density"
        parts += [f"#### {preset}, {scenes}", table(["bucket", "constant", *FAMILIES], rows)]
    return "\n\n".join([*parts, _FOOT])


def _gains(rows: list[dict[str, Any]], family: str) -> str:
    found = [row["families"].get(family) for row in rows]
    if not all(found):
        return "–"
    text = _points([each["gain"][0] for each in found])
    lines = [_line(row, family) for row in rows]
    if rows[0]["preset"] == "sound" and None in lines:
        return f"*{text}*"
    known = [line or 0.0 for line in lines]
    return f"{text} ({_points(known)})" if max(known) > 0 else text


def _line(row: dict[str, Any], family: str) -> float | None:
    """Return how far above the baseline a family may be, at most; None where nothing is promised."""
    bucket, recipe = BUCKETS[BUCKET_KEYS.index(row["bucket"])], PRESETS[row["preset"]]
    above = [
        chance_above(each, bucket, recipe.objects(row["density"]), recipe)
        for each in ignorances(bucket)
        if each.family == family
    ]
    known = [each for each in above if each is not None]
    return max(known) if len(known) == len(above) else None


def _points(gains: list[float]) -> str:
    return f" /{KEEP}".join(f"{100 * gain:+.0f}" for gain in gains)

"""The presets of the grid: promises and learned shortcuts."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from _rows import KEEP, table

from theodolite.instruments.grid.data.audit import ALLOWED, FAMILIES, promise_table
from theodolite.instruments.grid.data.files import DatasetPlan
from theodolite.instruments.grid.data.recipe import SOUND

_MADE = Path(__file__).parents[1] / "assets" / "grid_presets.json"
_FOOT = (
    "*Italic*: not promised. Both densities, sparse / dense. In brackets: above the best constant answer, where the baseline is another: "
    "the best map from the right count of a comparison's other group."
)


@lru_cache(maxsize=1)
def _made() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_MADE.read_text(encoding="utf-8"))
    return found


def grid_promises() -> str:
    """Every promise of the preset sound."""
    rows = promise_table(DatasetPlan("pure", 1, 0, SOUND)).rows
    return table(["promise", "buckets"], [[str(cell) for cell in row] for row in rows])


def grid_audit() -> str:
    """Return what learned shortcuts pay, by preset and bucket."""
    made = _made()
    told = (
        f"Points above the baseline, the strongest clue of each family; {made['scenes']:,} scenes of each bucket, half of "
        f"them held out. Made by `{made['command']}`."
    )
    parts = [told]
    for preset in dict.fromkeys(row["preset"] for row in made["learned"]):
        mine = [row for row in made["learned"] if row["preset"] == preset]
        rows = []
        for bucket in dict.fromkeys(row["bucket"] for row in mine):
            both = [row for row in mine if row["bucket"] == bucket]
            constant = f" /{KEEP}".join(f"{100 * row['constant']:.0f}" for row in both)
            rows.append([f"`{bucket}`", f"{constant}{KEEP}%", *(_gains(both, family) for family in FAMILIES)])
        parts += [f"#### {preset}", table(["bucket", "constant", *FAMILIES], rows)]
    return "\n\n".join([*parts, _FOOT])


def _gains(rows: list[dict[str, Any]], family: str) -> str:
    found = [row["families"].get(family) for row in rows]
    if not all(found):
        return "–"
    gains, above = [each["gain"][0] for each in found], [each["above_constant"] for each in found]
    text = _points(gains)
    if any(b - a > ALLOWED for a, b in zip(gains, above, strict=True)):
        text += f" ({_points(above)})"
    is_promised = all(each["is_promised"] for each in found) or rows[0]["preset"] != "sound"
    return text if is_promised else f"*{text}*"


def _points(gains: list[float]) -> str:
    return f" /{KEEP}".join(f"{100 * gain:+.0f}" for gain in gains)

"""The paper's printed tables, as input for the same code as new measurements."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.instruments.trace.experiments.predict import ModelRow
from theodolite.instruments.trace.formulas.vrs import vrs_paper

_FILE = Path(__file__).parent / "paper_tables.json"


@cache
def paper_tables() -> dict[str, Any]:
    """Tables 1 to 3 as printed, and the statistics that the text reports."""
    tables: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return tables


def paper_rows() -> list[ModelRow]:
    """Tables 1 and 2 as rows, shares in [0, 1], with equation 4 of Table 3 as the predictor ``vrs`` on STAR.

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
    """Equation 4 of a model's row of Table 3, all magnitudes equal.

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

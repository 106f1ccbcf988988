"""Puts a scored evaluation of explainers into the file that the documentation shows.

``python -m bench.grid_record FOLDER [--trained-on "all presets"] [--out docs/assets/grid_explainers.json]``. FOLDER is the
``--out`` of ``bench.grid_explain_gpu``. The entry of the same pair and preset is replaced.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

DEPTH_KIND, DEPTH_SCALAR = "M-F0", "interacting words"


def entry(scores: dict[str, Any], trained_on: str) -> dict[str, Any]:
    """Return the documentation's entry for one evaluation.

    Args:
        scores: The content of ``scores.json``.
        trained_on: The scenes that the explained pair was trained on.
    """
    tables = {table["name"]: table["rows"] for table in scores["tables"]}
    return {
        "trained_on": trained_on,
        "preset": scores["preset"],
        "command": scores["command"],
        "separation": [_separation(row) for row in tables["grid.separation"] if row["auc"]],
        "depth": [
            _depth(row)
            for row in tables["grid.depth"]
            if (row["kind"], row["scalar"]) == (DEPTH_KIND, DEPTH_SCALAR)
            and row["adjustment"] in {"plain", "equal answers"}
            and row["scenario"] in {"pure", "cross"}
        ],
    }


def _separation(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "explainer": row["explainer"],
        "measure": row["measure"],
        "pure": round(row["pure"], 4),
        "spur": round(row["spur"], 4),
        "auc": _interval(row["auc"]),
        "n": row["n_pure"],
    }


def _depth(row: dict[str, Any]) -> dict[str, Any]:
    means = [row[name] for name in ("depth_1", "depth_2", "depth_3") if row[name] is not None]
    return {
        "scenario": row["scenario"],
        "adjustment": row["adjustment"],
        "density": row["density"],
        "by_depth": [round(mean, 3) for mean in means],
        "p": round(row["p"], 3),
        "change": _interval(row["change"]),
        "verdict": row["verdict"],
        "n": row["n"],
    }


def _interval(value: dict[str, float]) -> list[float]:
    return [round(value[name], 4) for name in ("value", "low", "high")]


def main() -> int:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trained-on", default="all presets")
    parser.add_argument("--out", type=Path, default=Path("docs/assets/grid_explainers.json"))
    options = parser.parse_args()
    evaluation = entry(
        json.loads((options.folder / "scores.json").read_text(encoding="utf-8")), options.trained_on
    )
    runs = json.loads(options.out.read_text(encoding="utf-8"))["runs"] if options.out.exists() else []
    positions = {(run["trained_on"], run["preset"]): index for index, run in enumerate(runs)}
    index = positions.get((evaluation["trained_on"], evaluation["preset"]), len(runs))
    runs[index : index + 1] = [evaluation]
    options.out.write_text(json.dumps({"runs": runs}, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"wrote {options.out}: {len(runs)} evaluations")
    return 0


if __name__ == "__main__":
    sys.exit(main())

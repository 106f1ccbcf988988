"""What the presets of the grid leak.

``python -m bench.grid_presets [--scenes 2000] [--presets paper,sound] [--out docs/assets/grid_presets.json]``. Not part of ``make bench``. The
documentation shows the file: what learners get out of pure scenes with one thing left out, by preset, bucket and density. Presets that are
not named keep their rows. About seven minutes of one core for each preset.
"""

import argparse
import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.ignorance import FAMILIES, LEARNERS, learned_shortcuts, strongest
from theodolite.instruments.grid.data.question_types import BUCKETS, Bucket
from theodolite.instruments.grid.data.recipe import PRESETS, Density

SEED = 41


def learned_row(preset: str, bucket: Bucket, density: Density, n: int) -> dict[str, Any]:
    """Return the strongest ignorance of each family."""
    found = learned_shortcuts(generate(bucket.key, n, density=density, preset=preset, seed=SEED))
    families = {}
    for family in FAMILIES:
        best = strongest(found, family)
        if best is not None:
            above = max(each.above_constant.value for each in found if each.family == family)
            families[family] = {
                "ignorance": best.name,
                "learner": best.learner,
                "right": round(best.accuracy.value, 4),
                "gain": [round(each, 4) for each in (best.gain.value, best.gain.low, best.gain.high)],
                "above_constant": round(above, 4),
            }
    constant = found[0].accuracy.value - found[0].above_constant.value
    return {
        "preset": preset,
        "bucket": bucket.key,
        "density": density,
        "scenes": n,
        "constant": round(constant, 4),
        "n_tests": len(found),
        "families": families,
    }


def main() -> int:
    """Write the file, a row at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=2000, help="scenes of each bucket")
    parser.add_argument("--presets", default=",".join(PRESETS), help="which presets to measure again")
    parser.add_argument("--out", type=Path, default=Path("docs/assets/grid_presets.json"))
    options = parser.parse_args()
    wanted = options.presets.split(",")
    kept = json.loads(options.out.read_text(encoding="utf-8"))["learned"] if options.out.exists() else []
    rows = [row for row in kept if row["preset"] not in wanted]
    densities: tuple[Density, ...] = ("sparse", "dense")
    for preset, bucket, density in product(wanted, BUCKETS, densities):
        rows.append(learned_row(preset, bucket, density, options.scenes))
        rows.sort(key=lambda row: list(PRESETS).index(row["preset"]))
        made = {"command": "python -m bench.grid_presets", "learners": LEARNERS, "learned": rows}
        options.out.write_text(json.dumps(made, separators=(",", ":")) + "\n", encoding="utf-8")
        print(f"{preset} {bucket.key} {density}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

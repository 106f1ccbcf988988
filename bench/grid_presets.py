"""What the presets of the grid leak.

``python -m bench.grid_presets [--scenes 2000] [--presets paper,sound] [--out docs/assets/grid_presets.json]``. Not part of ``make bench``. The
documentation shows the file: what learners get out of pure scenes with one thing left out, by preset, bucket and density. Presets that are
not named keep their rows. About seven minutes of one core for each preset.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.ignorance import FAMILIES, LEARNERS, learned_shortcuts, strongest
from theodolite.instruments.grid.data.question_types import BUCKETS
from theodolite.instruments.grid.data.recipe import PRESETS

SEED = 41


def learned_rows(preset: str, n: int) -> list[dict[str, Any]]:
    """Return the strongest ignorance of each family, by bucket and density."""
    rows = []
    for density in ("sparse", "dense"):
        for bucket in BUCKETS:
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
            rows.append(
                {
                    "preset": preset,
                    "bucket": bucket.key,
                    "density": density,
                    "constant": round(constant, 4),
                    "n_tests": len(found),
                    "families": families,
                }
            )
            print(f"{preset} {density} {bucket.key}", flush=True)
    return rows


def main() -> int:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=2000, help="scenes of each bucket")
    parser.add_argument("--presets", default=",".join(PRESETS), help="which presets to measure again")
    parser.add_argument("--out", type=Path, default=Path("docs/assets/grid_presets.json"))
    options = parser.parse_args()
    wanted = options.presets.split(",")
    kept = json.loads(options.out.read_text(encoding="utf-8"))["learned"] if options.out.exists() else []
    rows = {preset: [row for row in kept if row["preset"] == preset] for preset in PRESETS}
    rows |= {preset: learned_rows(preset, options.scenes) for preset in wanted}
    made = {
        "command": f"python -m bench.grid_presets --scenes {options.scenes}",
        "scenes": options.scenes,
        "learners": LEARNERS,
        "learned": [row for mine in rows.values() for row in mine],
    }
    options.out.write_text(json.dumps(made, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"wrote {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

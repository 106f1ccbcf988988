"""What the presets of the grid promise and keep.

``python -m bench.grid_presets [--scenes 4000] [--out docs/assets/grid_presets.json]``. Not part of ``make bench``. The documentation shows
the file: learned shortcuts of pure scenes of every preset, bucket and density.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from theodolite.instruments.grid.data.audit import FAMILIES, learned_shortcuts, promise_of, strongest
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import BUCKETS
from theodolite.instruments.grid.data.recipe import PRESETS

SEED = 41


def learned_rows(n: int) -> list[dict[str, Any]]:
    """Return the strongest clue of each family, by preset, bucket and density."""
    rows = []
    for preset, recipe in PRESETS.items():
        for density in ("sparse", "dense"):
            for bucket in BUCKETS:
                scenes = generate(bucket.key, n, density=density, preset=preset, seed=SEED)
                shortcuts = learned_shortcuts(scenes)
                covers = promise_of(bucket, recipe.objects(density), recipe, "pure").covers
                families = {}
                for family in FAMILIES:
                    best = strongest(shortcuts, family)
                    if best is not None:
                        gain, bits = best.gain, best.bits
                        above = max(each.above_constant.value for each in shortcuts if each.family == family)
                        families[family] = {
                            "clue": best.name,
                            "right": round(best.accuracy.value, 4),
                            "gain": [round(each, 4) for each in (gain.value, gain.low, gain.high)],
                            "above_constant": round(above, 4),
                            "bits": [round(each, 3) for each in (bits.value, bits.low, bits.high)],
                            "is_promised": family in covers,
                        }
                constant = next(each.base.value for each in shortcuts if each.name == "objects")
                rows.append(
                    {
                        "preset": preset,
                        "bucket": bucket.key,
                        "density": density,
                        "constant": round(constant, 4),
                        "families": families,
                    }
                )
        print(f"learned shortcuts of {preset}", flush=True)
    return rows


def main() -> int:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--scenes", type=int, default=4000, help="scenes of each bucket for learned shortcuts"
    )
    parser.add_argument("--out", type=Path, default=Path("docs/assets/grid_presets.json"))
    options = parser.parse_args()
    made = {
        "command": f"python -m bench.grid_presets --scenes {options.scenes}",
        "scenes": options.scenes,
        "learned": learned_rows(options.scenes),
    }
    options.out.write_text(json.dumps(made, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"wrote {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

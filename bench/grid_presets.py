"""What the presets of the grid promise and keep, and what the paired models do on them.

``python -m bench.grid_presets [--scenes 4000] [--asked 24] [--out docs/assets/grid_presets.json]``. Not part of ``make bench``. The
documentation shows the file. Learned shortcuts of pure scenes of every preset, bucket and density; accuracy of ``grid:pure`` and
``grid:spur`` on the same kinds of scenes, of the test split; and the pairs that they follow when two objects exchange their cells or an
anchor moves.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.instruments.grid.data.batch import SceneBatch
from theodolite.instruments.grid.data.edits import ANCHOR_MOVED, EXCHANGED, TARGET_MOVED, edited_scenes
from theodolite.instruments.grid.data.evaluate import look
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.learned import FAMILIES, learned_shortcuts, strongest
from theodolite.instruments.grid.data.promise import promise_of
from theodolite.instruments.grid.data.recipe import PRESETS
from theodolite.instruments.grid.data.world import BUCKETS
from theodolite.instruments.grid.models.paired.reader import PairedReader
from theodolite.instruments.grid.models.paired.weights import open_network, released
from theodolite.stats import wilson_interval

SEED = 41
KINDS = ("pure", "spur")


def learned_rows(n: int) -> list[dict[str, Any]]:
    """The strongest clue of each family, by preset, bucket and density."""
    rows = []
    for preset, recipe in PRESETS.items():
        for density in ("sparse", "dense"):
            for bucket in BUCKETS:
                scenes = generate(bucket.key, n, density=density, preset=preset, seed=SEED)
                found = learned_shortcuts(scenes)
                covers = promise_of(bucket, recipe.objects(density), recipe, "pure").covers
                families = {}
                for family in FAMILIES:
                    best = strongest(found, family)
                    if best is not None:
                        gain, bits = best.gain, best.bits
                        above = max(each.above_constant.value for each in found if each.family == family)
                        families[family] = {
                            "clue": best.name,
                            "right": round(best.accuracy.value, 4),
                            "gain": [round(each, 4) for each in (gain.value, gain.low, gain.high)],
                            "above_constant": round(above, 4),
                            "bits": [round(each, 3) for each in (bits.value, bits.low, bits.high)],
                            "is_promised": family in covers,
                        }
                constant = next(each.base.value for each in found if each.name == "objects")
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


def model_rows(n: int) -> list[dict[str, Any]]:
    """Accuracy and followed pairs of the paired models, by preset and bucket, over both densities."""
    readers = {kind: PairedReader(open_network(released(kind), "cpu")[0]) for kind in KINDS}
    rows = []
    for preset in PRESETS:
        for bucket in BUCKETS:
            parts = [
                generate(bucket.key, n, density=d, preset=preset, seed=SEED + 1, split="test")
                for d in ("sparse", "dense")
            ]
            scenes = SceneBatch.concatenate(parts)
            row: dict[str, Any] = {"preset": preset, "bucket": bucket.key}
            edited = edited_scenes(scenes, seed=SEED) if bucket.is_relational else []
            for kind, reader in readers.items():
                said = _said(reader, scenes)
                row[kind] = _share(said == scenes.answer)
                for edit in edited:
                    if edit.kind in {EXCHANGED, TARGET_MOVED, ANCHOR_MOVED}:
                        before = (said == scenes.answer)[edit.rows]
                        followed = before & (_said(reader, edit.scenes) == edit.scenes.answer)
                        row[f"{kind}, {edit.kind}"] = _share(followed)
                        row[f"{kind}, {edit.kind}, known"] = _share(followed[_is_known(edit.scenes)])
            rows.append(row)
        print(f"models on {preset}", flush=True)
    return rows


def _is_known(scenes: SceneBatch) -> np.ndarray:
    """Where the valid regions have cells, and a count is not 0: what the preset paper, on which the models were trained, has."""
    sight = look(scenes.world, scenes.cells, scenes.questions)
    is_open = np.logical_and.reduce([sight.region(side).any(axis=1) for side in range(sight.alike.shape[1])])
    return np.asarray(is_open & (scenes.answer > 0))


def _said(reader: PairedReader, scenes: SceneBatch) -> np.ndarray:
    return np.asarray(reader.logits(scenes.cells, scenes.words).argmax(axis=1))


def _share(is_right: np.ndarray) -> list[float]:
    """A share, the ends of its interval, and n."""
    if not len(is_right):
        return []
    found = wilson_interval(int(is_right.sum()), len(is_right))
    return [round(each, 4) for each in (found.value, found.low, found.high)] + [len(is_right)]


def main() -> int:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--scenes", type=int, default=4000, help="scenes of each bucket for learned shortcuts"
    )
    parser.add_argument("--asked", type=int, default=24, help="scenes of each bucket and density for models")
    parser.add_argument("--out", type=Path, default=Path("docs/assets/grid_presets.json"))
    options = parser.parse_args()
    made = {
        "command": f"python -m bench.grid_presets --scenes {options.scenes} --asked {options.asked}",
        "scenes": options.scenes,
        "asked": options.asked,
        "learned": learned_rows(options.scenes),
        "models": model_rows(options.asked),
    }
    options.out.write_text(json.dumps(made, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"wrote {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Answers of scenes of the grid, read from their sentences by the plain reader of the tests.

``python -m bench.grid_check [--scenes 88]``: so many of each preset, variant, bucket and density. Not part of ``make bench``. The reader takes
sentences apart as text and looks at one object after the other; it shares no code with the generator. By default 20,064 scenes.
"""

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests" / "instruments" / "grid"))

import grid_plain

from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import BUCKET_KEYS
from theodolite.instruments.grid.data.recipe import PRESETS

SEED = 35


def main() -> int:
    """Print how many answers are wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=88, help="of each preset, variant, bucket and density")
    n = parser.parse_args().scenes
    wrong = read = 0
    for preset in PRESETS:
        for mode in ("pure", "spur"):
            for density in ("sparse", "dense"):
                scenes = generate(BUCKET_KEYS, n, mode=mode, density=density, preset=preset, seed=SEED)  # type: ignore[arg-type]
                for row in range(len(scenes)):
                    told = grid_plain.answer(grid_plain.objects_of(scenes, row), scenes.text(row))
                    read, wrong = read + 1, wrong + (told != scenes.answer_text(row))
        print(f"{preset}: {read:,} scenes read, {wrong} wrong", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

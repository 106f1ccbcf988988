"""Runs the parts of the fuzz job and prints what each found. The exit status is 1 if anything was found."""

import argparse
import sys
import time
from collections.abc import Callable
from importlib import import_module

from fuzz.tally import Tally

COUNTS = {
    "parsers": 1_000_000,
    "files": 100_000,
    "page": 20_000,
    "bombs": 200,
    "models": 1000,
    "flips": 10_000,
}
"""The parts, and how many inputs the long job gives to each."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"what to run: {', '.join(COUNTS)} (all)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the inputs (0)")
    parser.add_argument(
        "--count", type=int, help="how many inputs for each part (as many as the long job has)"
    )
    parser.add_argument("--seconds", type=float, help="time limit of each part, in seconds")
    given = parser.parse_args()
    unknown = [name for name in given.parts if name not in COUNTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; there are: {', '.join(COUNTS)}")
    total = Tally()
    for name in given.parts or COUNTS:
        run: Callable[[int, int, float | None], Tally] = import_module(f"fuzz.{name}").run
        begun = time.monotonic()
        tally = run(given.seed, given.count or COUNTS[name], given.seconds)
        print(f"{name}, seed {given.seed}, {time.monotonic() - begun:.0f} s: {tally}", flush=True)
        for example in tally.examples:
            print(f"  {example!r}")
        total += tally
    return 1 if total.faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs benchmarks and prints each figure beside its bar; the exit status is 1 if one is missed."""

import sys
from collections.abc import Callable, Iterator

from bench import (
    client,
    compass_projection,
    grid_explain,
    grid_make,
    memory,
    pocket,
    scene_make,
    scene_score,
    store,
    trace_claims,
)
from bench.figure import Figure

BENCHMARKS: dict[str, Callable[[], Iterator[Figure]]] = {
    "store": store.run,
    "memory": memory.run,
    "pocket": pocket.run,
    "client": client.run,
    "compass": compass_projection.run,
    "grid": grid_make.run,
    "grid-explain": grid_explain.run,
    "scene": scene_make.run,
    "scene-score": scene_score.run,
    "trace": trace_claims.run,
}


def main() -> int:
    wanted = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in wanted if name not in BENCHMARKS]
    if unknown:
        print(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")
        return 2
    missed = 0
    for name in wanted:
        for figure in BENCHMARKS[name]():
            print(f"{name:8} {figure}", flush=True)
            missed += not figure.is_met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

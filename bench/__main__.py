"""Runs benchmarks and prints each result with its limit. The exit status is 1 if a limit is missed."""

import sys
from collections.abc import Callable, Iterator

from bench import (
    balance,
    client,
    compass_projection,
    grid_explain,
    grid_make,
    memory,
    photo_edits,
    pocket,
    scene_make,
    scene_score,
    shared_prefixes,
    start,
    store,
    trace_claims,
)
from bench.result import Result

BENCHMARKS: dict[str, Callable[[], Iterator[Result]]] = {
    "start": start.run,
    "store": store.run,
    "memory": memory.run,
    "pocket": pocket.run,
    "client": client.run,
    "prefixes": shared_prefixes.run,
    "compass": compass_projection.run,
    "photo-edits": photo_edits.run,
    "grid": grid_make.run,
    "grid-explain": grid_explain.run,
    "scene": scene_make.run,
    "scene-score": scene_score.run,
    "trace": trace_claims.run,
    "balance": balance.run,
}


def main() -> int:
    wanted = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in wanted if name not in BENCHMARKS]
    if unknown:
        print(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")
        return 2
    missed = 0
    for name in wanted:
        for result in BENCHMARKS[name]():
            print(f"{name:8} {result}", flush=True)
            missed += not result.is_met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

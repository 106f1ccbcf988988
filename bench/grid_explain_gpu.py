"""The whole evaluation of explainers on one GPU: all explainers, all buckets and scenarios, 50 samples a bucket, budgets printed.

``python -m bench.grid_explain_gpu [--samples 50] [--calls 2000] [--workers 12] [--device cuda]``; not part of ``make bench``, since it
needs a GPU. Worker processes share it: each explains the scenes of a bucket side by side, so that the network answers them in
batches of thousands. Needs torch, numpy, scipy and pydantic; neither shapiq nor captum.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure
from bench.grid_evaluation import Size, budget_lines, evaluate
from theodolite.grid import BUCKET_KEYS

MINUTES = 10


def run(size: Size, out: Path | None) -> Iterator[Figure]:
    """Runs it, prints budgets and separations, and tells how long it took."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        score, spent = evaluate(size, Path(folder), out)
    whole = time.perf_counter() - started
    for line in budget_lines(score):
        print(line)
    for each in score.separations:
        if each.auc is not None:
            told = f"{each.auc.value:.3f} [{each.auc.low:.3f}, {each.auc.high:.3f}]"
            print(f"{each.explainer:22} {each.figure:18} AUC {told}  n {each.n_pure}+{each.n_spur}")
    for depth in score.depths:
        if depth.scalar == "interacting words" and not depth.is_normalised:
            means = " → ".join(f"{depth.means[d]:.2f}" for d in sorted(depth.means))
            verdict = "rises" if depth.rises else "stays" if depth.stays else "neither shown"
            p = f"{depth.trend.p_value:.4f}" if depth.trend else "–"
            print(
                f"{depth.scenario:10} {depth.kind:7} {depth.density:7} interacting words {means}  p {p}  {verdict}"
            )
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "scores.json").write_text(json.dumps(score.as_json()))
    yield Figure("scenes explained", float(len(spent.calls)), "")
    yield Figure("model calls a scene, mean", sum(spent.calls) / len(spent.calls), "")
    yield Figure("model calls a scene, at most", float(max(spent.calls)), "", at_most=size.calls)
    yield Figure("model calls in all", float(sum(spent.calls)) / 1e6, "million")
    for stage, seconds in spent.seconds.items():
        yield Figure(stage, seconds, "s")
    yield Figure("processor time of all workers", spent.worker_cpu, "s")
    yield Figure("the whole evaluation", whole / 60, "min", at_most=MINUTES)


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--buckets", default=",".join(BUCKET_KEYS))
    parser.add_argument("--explainers", default="all")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    size = Size(
        asked.samples,
        asked.calls,
        32,
        asked.workers,
        asked.device,
        at_once=64,
        buckets=tuple(asked.buckets.split(",")),
        explainers=tuple(asked.explainers.split(",")),
    )
    missed = 0
    for figure in run(size, asked.out):
        print(figure, flush=True)
        missed += not figure.is_met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

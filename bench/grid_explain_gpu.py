"""The whole evaluation of explainers on one GPU: all explainers, all buckets and scenarios, 50 samples a bucket, budgets printed.

``python -m bench.grid_explain_gpu [--samples 50] [--calls 2000] [--workers 14] [--device cuda] [--seconds S] [--out DIR]``; not part
of ``make bench``, since it needs a GPU. Worker processes share it: each explains the scenes of a bucket side by side, so that the
network answers them in batches of thousands. Then one question more: does the number of interacting words rise with depth for the
pure model, and stay for the spurious one? ``scores.json`` is written anew whenever a scenario is scored, and after ``--seconds``
nothing more is explained. Needs torch, numpy, scipy, pillow and pydantic (matplotlib for figures); neither shapiq nor captum.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.figure import Figure
from bench.grid_evaluation import SCENARIOS, Hands, Size, Spent, budget_lines, evaluate, hands, name_device
from theodolite.instruments.grid.data.world import BUCKET_KEYS
from theodolite.instruments.grid.explainers.contract import find_explainers
from theodolite.instruments.grid.score import ExplainScore

MINUTES = 10
DEPTH_BUCKETS = ("M-F0-D1", "M-F0-D2", "M-F0-D3")
DENSITIES = 2


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says."""

    samples: int
    calls: int
    workers: int
    device: str
    buckets: tuple[str, ...]
    explainers: tuple[str, ...]
    depth_samples: int
    depth_calls: int
    seconds: float | None
    out: Path | None

    def left(self, started: float) -> float | None:
        """Seconds in which more may be explained."""
        return None if self.seconds is None else max(0.0, self.seconds - (time.perf_counter() - started))


def run(asked: Asked) -> Iterator[Figure]:
    """Runs it, prints budgets and separations, and tells how long it took."""
    started = time.perf_counter()
    local = [each for each in find_explainers(asked.explainers) if each.explain is not None]
    whole = [each for each in find_explainers(asked.explainers) if each.explain is None]
    with tempfile.TemporaryDirectory() as folder, hands(asked.workers, asked.device) as help_:
        device = help_.workers.submit(name_device, asked.device).result()
        print(
            f"{device}, {asked.workers} workers: {len(local)} local and {len(whole)} global explainers, {len(SCENARIOS)} scenarios × "
            f"{len(asked.buckets)} buckets × {DENSITIES} densities × {asked.samples} scenes, at most {asked.calls} model calls a scene"
        )
        yield Figure("the first worker is ready", time.perf_counter() - started, "s")
        size = Size(
            asked.samples,
            asked.calls,
            32,
            buckets=asked.buckets,
            explainers=asked.explainers,
            seconds=asked.left(started),
        )
        score, spent = evaluate(
            size, Path(folder) / "whole", help_, lambda found: _keep(found, asked.out, "scores.json")
        )
        minutes = (time.perf_counter() - started) / 60
        _print_score(score)
        yield from _figures(asked, spent, minutes)
        if asked.depth_samples:
            yield from _depth(asked, Path(folder) / "depth", help_, started)
    if asked.out is not None:
        from theodolite.instruments.grid.figures.explained import explainer_figures

        for name, drawing in explainer_figures([], score).items():
            drawing.save(asked.out / f"{name}.png")


def _figures(asked: Asked, spent: Spent, minutes: float) -> Iterator[Figure]:
    expected = len(SCENARIOS) * len(asked.buckets) * DENSITIES * asked.samples
    yield Figure("scenes explained", float(len(spent.calls)), "", at_least=expected)
    yield Figure("buckets missing", float(spent.missing), "", at_most=0)
    yield Figure("model calls a scene, mean", sum(spent.calls) / max(1, len(spent.calls)), "")
    yield Figure("model calls a scene, at most", float(max(spent.calls, default=0)), "", at_most=asked.calls)
    yield Figure("model calls in all", float(sum(spent.calls)) / 1e6, "million")
    for stage, seconds in spent.seconds.items():
        yield Figure(f"until {stage}", seconds, "s")
    yield Figure("processor time of all workers", spent.worker_cpu, "s")
    yield Figure("the whole evaluation, start and scoring with it", minutes, "min", at_most=MINUTES)


def _depth(asked: Asked, folder: Path, help_: Hands, started: float) -> Iterator[Figure]:
    """Interacting words over depth, on scenes of their own."""
    size = Size(
        asked.depth_samples,
        asked.depth_calls,
        32,
        seed=1,
        buckets=DEPTH_BUCKETS,
        explainers=("interacting-words",),
        scenarios=("cross", "pure"),
        seconds=asked.left(started),
    )
    before = time.perf_counter()
    score, spent = evaluate(size, folder, help_, lambda found: _keep(found, asked.out, "depth.json"))
    print(f"interacting words: {asked.depth_samples} scenes a bucket, at most {asked.depth_calls} calls each")
    _print_depths(score)
    yield Figure("scenes for interacting words", float(len(spent.calls)), "")
    yield Figure("interacting words over depth", time.perf_counter() - before, "s")


def _keep(score: ExplainScore, out: Path | None, name: str) -> None:
    """What is known so far, in a file."""
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(json.dumps(score.as_json()))
    print(f"scored: {', '.join(str(run['scenario']) for run in score.runs)}", flush=True)


def _print_score(score: ExplainScore) -> None:
    for line in budget_lines(score):
        print(line)
    for each in score.separations:
        if each.auc is not None:
            told = f"{each.auc.value:.3f} [{each.auc.low:.3f}, {each.auc.high:.3f}]"
            print(f"{each.explainer:22} {each.figure:18} AUC {told}  n {each.n_pure}+{each.n_spur}")
    _print_depths(score)


def _print_depths(score: ExplainScore) -> None:
    for depth in score.depths:
        if depth.scalar != "interacting words":
            continue
        means = " → ".join(f"{depth.means[d]:.2f}" for d in sorted(depth.means))
        verdict = "rises" if depth.rises else "stays" if depth.stays else "neither shown"
        p = f"{depth.trend.p_value:.4f}" if depth.trend else "–"
        change = f"{depth.likeness.estimate}" if depth.likeness else "–"
        print(
            f"{depth.scenario:10} {depth.kind:7} {depth.density:7} interacting words, {depth.reading}: {means}  trend p {p}  "
            f"change {change}  {verdict}"
        )


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--buckets", type=_listed, default=BUCKET_KEYS)
    parser.add_argument("--explainers", type=_listed, default=("all",))
    parser.add_argument("--depth-samples", type=int, default=60, help="0: no second stage")
    parser.add_argument("--depth-calls", type=int, default=2000)
    parser.add_argument("--seconds", type=float, help="explain nothing more after so long")
    parser.add_argument("--out", type=Path, help="for scores.json, depth.json and figures")
    missed = 0
    for figure in run(Asked(**vars(parser.parse_args()))):
        print(figure, flush=True)
        missed += not figure.is_met
    return 1 if missed else 0


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


if __name__ == "__main__":
    sys.exit(main())

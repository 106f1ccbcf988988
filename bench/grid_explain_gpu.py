"""The whole evaluation of explainers on one GPU: all explainers, buckets and scenarios, 50 samples per bucket.

``python -m bench.grid_explain_gpu [--samples 50] [--calls 2000] [--workers 14] [--device cuda] [--preset paper]
[--seconds S] [--out DIR]``.
Not part of ``make bench``, since it needs a GPU. Worker processes share the GPU. Each explains the scenes of a bucket
together, so that the network answers them in batches of thousands. A second stage tests whether the number of interacting
words increases with depth for the pure model and stays constant for the spurious one. ``scores.json`` is rewritten whenever
a scenario is scored; ``bench.grid_record`` puts it into the documentation. After ``--seconds`` no further bucket is explained. Needs torch, numpy, scipy, pillow and pydantic
(matplotlib for figures), but not captum.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.grid_evaluation import (
    SCENARIOS,
    Size,
    Usage,
    budget_lines,
    evaluate,
    name_device,
    open_workers,
)
from bench.result import Result
from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.question_types import BUCKET_KEYS
from theodolite.instruments.grid.explainers.find import find_explainers
from theodolite.instruments.grid.score import TABLE_NAMES, ExplainScore, explain_tables

MINUTES = 10
DEPTH_BUCKETS = ("M-F0-D1", "M-F0-D2", "M-F0-D3")
DENSITIES = 2


@dataclass(frozen=True, slots=True)
class Options:
    """The command-line options."""

    samples: int
    calls: int
    workers: int
    device: str
    buckets: tuple[str, ...]
    explainers: tuple[str, ...]
    depth_samples: int
    depth_calls: int
    preset: str
    seconds: float | None
    out: Path | None

    def left(self, started: float) -> float | None:
        """Return the seconds left for explaining; None without a limit."""
        return None if self.seconds is None else max(0.0, self.seconds - (time.perf_counter() - started))


def run(options: Options) -> Iterator[Result]:
    """Run the evaluation, print budgets and separations, and yield the times."""
    started = time.perf_counter()
    local = [explainer for explainer in find_explainers(options.explainers) if explainer.explain is not None]
    whole = [explainer for explainer in find_explainers(options.explainers) if explainer.explain is None]
    with tempfile.TemporaryDirectory() as folder, open_workers(options.workers, options.device) as workers:
        device = workers.submit(name_device, options.device).result()
        print(
            f"{device}, {options.workers} workers: {len(local)} local and {len(whole)} global explainers, {len(SCENARIOS)} scenarios × "
            f"{len(options.buckets)} buckets × {DENSITIES} densities × {options.samples} scenes, at most {options.calls} model calls per scene"
        )
        yield Result("start of the first worker", time.perf_counter() - started, "s")
        size = Size(
            options.samples,
            options.calls,
            32,
            buckets=options.buckets,
            explainers=options.explainers,
            preset=options.preset,
            seconds=options.left(started),
        )
        score, usage = evaluate(
            size, Path(folder) / "whole", workers, lambda current: _save(current, options, "scores.json")
        )
        minutes = (time.perf_counter() - started) / 60
        _print_score(score)
        yield from _results(options, usage, minutes)
        if options.depth_samples and options.left(started) != 0:
            yield from _depth(options, Path(folder) / "depth", workers, started)
    if options.out is not None:
        from theodolite.instruments.grid.figures.scores import explainer_figures

        for name, drawing in explainer_figures([], score).items():
            drawing.save(options.out / f"{name}.png")


def _results(options: Options, usage: Usage, minutes: float) -> Iterator[Result]:
    expected = len(SCENARIOS) * len(options.buckets) * DENSITIES * options.samples
    yield Result("scenes explained", float(len(usage.calls)), "", at_least=expected)
    yield Result("missing buckets", float(usage.missing), "", at_most=0)
    yield Result("model calls per scene, mean", sum(usage.calls) / max(1, len(usage.calls)), "")
    yield Result(
        "model calls per scene, maximum", float(max(usage.calls, default=0)), "", at_most=options.calls
    )
    yield Result("model calls, total", float(sum(usage.calls)) / 1e6, "million")
    for stage, seconds in usage.seconds.items():
        yield Result(f"until {stage}", seconds, "s")
    yield Result("CPU time of all workers", usage.worker_cpu, "s")
    yield Result("the whole evaluation, including start and scoring", minutes, "min", at_most=MINUTES)


def _depth(options: Options, folder: Path, workers: ProcessPoolExecutor, started: float) -> Iterator[Result]:
    """Measure interacting words by depth, on separate scenes."""
    size = Size(
        options.depth_samples,
        options.depth_calls,
        32,
        seed=1,
        buckets=DEPTH_BUCKETS,
        explainers=("interacting-words",),
        scenarios=("cross", "pure"),
        preset=options.preset,
        seconds=options.left(started),
    )
    before = time.perf_counter()
    try:
        score, usage = evaluate(size, folder, workers, lambda current: _save(current, options, "depth.json"))
    except UsageError as error:
        print(f"interacting words by depth are left out: {error}")
        return
    print(
        f"interacting words: {options.depth_samples} scenes per bucket, at most {options.depth_calls} calls each"
    )
    _print_depths(score)
    yield Result("scenes for interacting words", float(len(usage.calls)), "")
    yield Result("interacting words by depth", time.perf_counter() - before, "s")


def _save(score: ExplainScore, options: Options, name: str) -> None:
    """Write the scores so far."""
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        command = (
            f"python -m bench.grid_explain_gpu --samples {options.samples} --calls {options.calls} "
            f"--preset {options.preset}"
        )
        tables = [table.as_json() for table in explain_tables(score, TABLE_NAMES)]
        record = {"command": command, "preset": options.preset, "tables": tables}
        (options.out / name).write_text(json.dumps(record))
    print(f"scored: {', '.join(run.scenario for run in score.runs)}", flush=True)


def _print_score(score: ExplainScore) -> None:
    for line in budget_lines(score):
        print(line)
    for separation in score.separations:
        if separation.auc is not None:
            auc = f"{separation.auc.value:.3f} [{separation.auc.low:.3f}, {separation.auc.high:.3f}]"
            print(
                f"{separation.explainer:22} {separation.kind:18} AUC {auc}  n {separation.n_pure}+{separation.n_spur}"
            )
    _print_depths(score)


def _print_depths(score: ExplainScore) -> None:
    for depth in score.depths:
        if depth.scalar != "interacting words":
            continue
        means = " → ".join(f"{depth.means[d]:.2f}" for d in sorted(depth.means))
        p = f"{depth.trend.p_value:.4f}"
        change = f"{depth.change}" if depth.change else "–"
        print(
            f"{depth.scenario:10} {depth.kind:7} {depth.density:7} interacting words, {depth.adjustment}: {means}  trend p {p}  "
            f"change {change}  {depth.verdict}"
        )


def main() -> int:
    """Print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--buckets", type=_listed, default=BUCKET_KEYS)
    parser.add_argument("--explainers", type=_listed, default=("all",))
    parser.add_argument("--depth-samples", type=int, default=60, help="0: skip the second stage")
    parser.add_argument("--depth-calls", type=int, default=2000)
    parser.add_argument("--preset", default="paper", help="paper, sound or released")
    parser.add_argument("--seconds", type=float, help="stop explaining after this many seconds")
    parser.add_argument("--out", type=Path, help="folder for scores.json, depth.json and figures")
    missed = 0
    for result in run(Options(**vars(parser.parse_args()))):
        print(result, flush=True)
        missed += not result.is_met
    return 1 if missed else 0


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


if __name__ == "__main__":
    sys.exit(main())

"""The whole evaluation of explainers, as ``grid explain`` and ``grid score`` do it, over several worker processes.

Three scenarios (the pure model on pure data, the spurious one on spurious data and on pure data), every bucket at both densities,
every explainer. Workers take buckets; what they find goes into real runs, and the runs are scored.
"""

import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from theodolite import __version__
from theodolite.grid import BUCKET_KEYS
from theodolite.grid.data import DatasetPlan, make_dataset, write_dataset
from theodolite.grid.explainers import find_explainers
from theodolite.grid.explaining import (
    INSTRUMENT,
    ExplainMeasurer,
    ExplainPlan,
    ExplainScore,
    explain_factory,
    plan_explanations,
    score_explanations,
)
from theodolite.runs import MeasureOptions, Run, RunInfo, measure
from theodolite.types import Item, Record

SCENARIOS = {"pure": ("grid:pure", "pure"), "spurious": ("grid:spur", "spur"), "cross": ("grid:spur", "pure")}

_measurers: dict[str, ExplainMeasurer] = {}
"""Of this worker process, by scenario."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is evaluated, and on what."""

    samples: int
    calls: int
    pool: int
    workers: int
    device: str = "cpu"
    at_once: int = 8
    """Scenes that a worker explains side by side."""
    seed: int = 0
    buckets: tuple[str, ...] = BUCKET_KEYS
    explainers: tuple[str, ...] = ("all",)


@dataclass(slots=True)
class Spent:
    """What it took."""

    seconds: dict[str, float] = field(default_factory=dict)
    """By stage, on the clock."""
    worker_cpu: float = 0.0
    """Processor seconds of all workers."""
    calls: list[int] = field(default_factory=list)
    """Of every scene, all explainers together."""


class ProcessEngine:
    """Hands whole buckets to worker processes, so that each cross matrix is asked for once."""

    name = "local"
    reuse = "never"

    def __init__(
        self, pool: ProcessPoolExecutor, scenario: str, identity: str, spent: Spent, size: Size
    ) -> None:
        self.identity, self.workers = identity, size.workers
        self._pool, self._scenario, self._spent, self._size = pool, scenario, spent, size

    def work(self, tasks, sink) -> None:  # noqa: ANN001 - as the engine's contract has it
        """Runs until the tasks are used up."""
        place = lambda task: (task.item.meta["bucket"], task.item.meta["density"])  # noqa: E731
        waiting: dict[Future[tuple[list[Record], float]], list] = {}
        for _, group in groupby(sorted(tasks, key=place), place):
            some = list(group)
            sent = self._pool.submit(
                _explain, self._scenario, [task.item for task in some], self._size.at_once
            )
            waiting[sent] = some
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for each in done:
                records, cpu = each.result()
                self._spent.worker_cpu += cpu
                self._spent.calls += [r.values["calls"] for r in records if "explainers" in r.values]
                sink(list(zip(waiting.pop(each), records, strict=True)))

    def close(self) -> None:
        """The workers belong to the caller."""


def _start(plans: dict[str, ExplainPlan], device: str) -> None:
    """What each worker does first: one thread, and both models."""
    import torch

    torch.set_num_threads(1)
    for scenario, plan in plans.items():
        _measurers[scenario] = explain_factory(SCENARIOS[scenario][0], plan, device=device)()


def _explain(scenario: str, items: Sequence[Item], at_once: int) -> tuple[list[Record], float]:
    """Explains one bucket; with the processor seconds that it took."""
    started = time.process_time()
    found: list[Record] = []
    for start in range(0, len(items), at_once):
        found += _measurers[scenario].measure(items[start : start + at_once])
    return found, time.process_time() - started


def evaluate(size: Size, folder: Path, figures: Path | None = None) -> tuple[ExplainScore, Spent]:
    """Makes the data, explains all scenarios, scores all runs, and draws what `grid score --figures` draws if asked to."""
    spent = Spent()
    os.environ["OMP_NUM_THREADS"] = "1"
    with _timed(spent, "data"):
        for mode in ("pure", "spur"):
            data = make_dataset(DatasetPlan(mode, size.samples, size.seed, buckets=size.buckets))
            write_dataset(data, folder / mode, pictures=False, table=False)
    names = tuple(each.name for each in find_explainers(size.explainers))
    plans = {
        scenario: ExplainPlan(str(folder / mode), names, size.calls, pool=size.pool, seed=size.seed)
        for scenario, (_, mode) in SCENARIOS.items()
    }
    with (
        _timed(spent, "explain"),
        ProcessPoolExecutor(
            size.workers,
            multiprocessing.get_context("spawn"),
            initializer=_start,
            initargs=(plans, size.device),
        ) as workers,
        ThreadPoolExecutor(len(plans)) as threads,
    ):
        for each in [threads.submit(_fill, s, p, folder, (workers, spent, size)) for s, p in plans.items()]:
            each.result()
    with _timed(spent, "score"), ExitStack() as opened:
        runs = [opened.enter_context(Run.open(folder / f"run-{scenario}")) for scenario in plans]
        score = score_explanations(runs, seed=size.seed)
        if figures is not None:
            from theodolite.report.grid_explainers import explainer_figures

            figures.mkdir(parents=True, exist_ok=True)
            for name, drawing in explainer_figures(runs, score).items():
                drawing.save(figures / f"{name}.png")
    return score, spent


def _fill(
    scenario: str, plan: ExplainPlan, folder: Path, work: tuple[ProcessPoolExecutor, Spent, Size]
) -> None:
    """Measures one run to its end, in a thread of its own."""
    workers, spent, size = work
    model = SCENARIOS[scenario][0]
    settings = plan.as_json()
    info = RunInfo(
        instrument=INSTRUMENT,
        model=model,
        identity=model,
        settings=settings,
        seed=plan.seed,
        theodolite=__version__,
    )
    with Run.start(folder / f"run-{scenario}", info) as run:
        run.plan(plan_explanations(plan), whole=True)
        tally = measure(run, ProcessEngine(workers, scenario, model, spent, size), MeasureOptions())
    if tally.failed or tally.finished < tally.planned:
        raise RuntimeError(f"{scenario}: {tally.failed} of {tally.planned} items failed")


class _timed:  # noqa: N801 - reads as a verb
    """Adds the seconds of a block to a stage."""

    def __init__(self, spent: Spent, stage: str) -> None:
        self.spent, self.stage = spent, stage

    def __enter__(self) -> None:
        self.started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.spent.seconds[self.stage] = time.perf_counter() - self.started


def budget_lines(score: ExplainScore) -> Iterator[str]:
    """What each explainer was given and spent, a line each."""
    yield f"{'explainer':22} {'scenario':10} {'calls':>8} {'most':>6} {'exact':>7} {'maps':>6} not measured"
    for cost in score.costs:
        reasons = "; ".join(cost.reasons)[:60]
        told = f"{cost.not_measured} {reasons}" if cost.not_measured else "0"
        yield (
            f"{cost.explainer:22} {cost.scenario:10} {cost.calls_mean:8.1f} {cost.calls_most:6d} {cost.exact:7d} "
            f"{cost.measured:6d} {told}"
        )

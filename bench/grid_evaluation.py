"""The whole evaluation of explainers, as done by ``grid explain`` and ``grid score``, in several worker processes.

There are three scenarios (the pure model on pure data, the spurious one on pure and on spurious data), all buckets at
both densities, and all explainers. A worker processes one bucket of one scenario at one density: it explains its scenes
into a run, reads the run, and computes EMAP, InterSHAP and PID of the bucket. All else is scored when a scenario is
complete. A second stage measures one scalar by depth: `interacting-words` alone, on more scenes and with more calls.
"""

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from theodolite import __version__
from theodolite.instruments.grid.data.files import DatasetPlan, make_dataset, write_dataset
from theodolite.instruments.grid.data.question_types import BUCKET_KEYS
from theodolite.instruments.grid.data.recipe import find_recipe
from theodolite.instruments.grid.experiments.depth import BucketInteraction, interactions
from theodolite.instruments.grid.experiments.explained import ExplainedRun, cost_table, read_explained
from theodolite.instruments.grid.explainers.find import find_explainers
from theodolite.instruments.grid.explainers.readers import Reader, open_reader
from theodolite.instruments.grid.measure import ExplainMeasurer
from theodolite.instruments.grid.questions import EXPLAIN_RUN, ExplainPlan, plan_explanations, prepare
from theodolite.instruments.grid.score import ExplainScore, score_explanations
from theodolite.runs import LocalEngine, MeasureOptions, Run, RunInfo, measure

SCENARIOS = {"pure": ("grid:pure", "pure"), "cross": ("grid:spur", "pure"), "spurious": ("grid:spur", "spur")}
"""In this order, so that the two models can be compared as soon as two scenarios are complete."""

_readers: dict[str, Reader] = {}
"""The readers of this worker process, by model."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the evaluation."""

    samples: int
    calls: int
    pool: int
    seed: int = 0
    buckets: tuple[str, ...] = BUCKET_KEYS
    explainers: tuple[str, ...] = ("all",)
    scenarios: tuple[str, ...] = tuple(SCENARIOS)
    preset: str = "paper"
    seconds: float | None = None
    """After this many seconds no further bucket is explained, and the existing results are scored."""


@dataclass(slots=True)
class Usage:
    """Time and calls used."""

    started: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)
    """Wall-clock seconds from the start to the end of each stage."""
    worker_cpu: float = 0.0
    """CPU seconds of all workers."""
    calls: list[int] = field(default_factory=list)
    """Model calls of every scene, all explainers together."""
    missing: int = 0
    """Number of buckets that failed or were not reached in time."""

    def reach(self, stage: str) -> None:
        """Record the end of a stage."""
        self.seconds[stage] = time.perf_counter() - self.started


@dataclass(frozen=True, slots=True)
class Part:
    """One bucket of one scenario at one density."""

    scenario: str
    explained: ExplainedRun
    interactions: tuple[BucketInteraction, ...]
    calls: tuple[int, ...]
    cpu: float


def _start(models: tuple[str, ...], device: str) -> None:
    """Initialise a worker: one thread, and the models."""
    import torch

    torch.set_num_threads(1)
    for model in models:
        _readers[model] = open_reader(model, device=device)


def name_device(device: str) -> str:
    """Return the name of a worker's device."""
    import torch

    return torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else device


def _explain(scenario: str, plan: ExplainPlan, folder: Path) -> Part:
    """Explain one bucket into a separate run, and compute its scores."""
    started = time.process_time()
    model = SCENARIOS[scenario][0]
    info = RunInfo(
        instrument=EXPLAIN_RUN,
        model=model,
        identity=_readers[model].identity,
        settings=plan.settings(),
        seed=plan.seed,
        theodolite=__version__,
    )
    with Run.start(folder, info) as run:
        run.plan(plan_explanations(plan), whole=True)
        tally = measure(run, LocalEngine(ExplainMeasurer(_readers[model], plan)), MeasureOptions())
        if tally.failed or tally.finished < tally.planned:
            raise RuntimeError(f"{folder}: {tally.failed} of {tally.planned} items failed")
        explained = read_explained(run)
        calls = tuple(
            int(result.record.values["calls"])
            for result in run.results()
            if result.record and "explainers" in result.record.values
        )
    crossed = interactions(explained, pid=("convex", "gaussian", "batch"), seed=plan.seed)
    return Part(scenario, explained, tuple(crossed), calls, time.process_time() - started)


@contextmanager
def open_workers(n: int, device: str = "cpu") -> Iterator[ProcessPoolExecutor]:
    """Start `n` workers, each with both models on the device."""
    os.environ["OMP_NUM_THREADS"] = "1"
    spawn = multiprocessing.get_context("spawn")
    models = tuple(dict.fromkeys(model for model, _ in SCENARIOS.values()))
    with ProcessPoolExecutor(n, spawn, initializer=_start, initargs=(models, device)) as workers:
        yield workers


class _Scenario:
    """The finished buckets of one scenario."""

    def __init__(self, name: str, plan: ExplainPlan) -> None:
        self.name, self.plan = name, plan
        self.parts: list[Part] = []
        self.failed = 0
        data = prepare(plan)
        self.places = [(data.batch.bucket_key(int(data.members(*g)[0])), g[1]) for g in data.groups]
        """Every bucket with every density."""
        self.names = [data.names[int(row)] for row in data.chosen]

    @property
    def is_complete(self) -> bool:
        """True if every bucket is explained or has failed."""
        return len(self.parts) + self.failed == len(self.places)

    def merged(self) -> ExplainedRun:
        """Merge the buckets."""
        runs = [part.explained for part in self.parts]
        measured = {each.scene for run in runs for each in run.maps}
        return replace(
            runs[0],
            plan=self.plan,
            maps=tuple(each for run in runs for each in run.maps),
            crosses=tuple(cross for run in runs for cross in run.crosses),
            said={row: answer for run in runs for row, answer in run.said.items()},
            unmeasured={name: "pending" for name in self.names if name not in measured},
        )


class _Evaluation:
    """Distributes buckets to workers, collects them, and scores when a scenario is complete."""

    def __init__(
        self, size: Size, scenarios: list[_Scenario], usage: Usage, progress: Callable[[ExplainScore], None]
    ) -> None:
        self.size, self.scenarios, self.progress = size, scenarios, progress
        self.usage = usage
        self.explaining: dict[Future[Part], _Scenario] = {}

    def run(self, workers: ProcessPoolExecutor, folder: Path) -> None:
        """Run until everything is explained, or until the time limit."""
        for scenario in self.scenarios:
            for combination in scenario.places:
                plan = replace(scenario.plan, buckets=combination[:1], densities=combination[1:])
                target = folder / f"run-{scenario.name}-{'-'.join(combination)}"
                self.explaining[workers.submit(_explain, scenario.name, plan, target)] = scenario
        while self.explaining:
            done, _ = wait(self.explaining, timeout=self._left(), return_when=FIRST_COMPLETED)
            if not done:
                self._stop_explaining()
            for future in done:
                self._take(future)

    def score(self) -> ExplainScore:
        """Score all scenarios that have a bucket."""
        started = [scenario for scenario in self.scenarios if scenario.parts]
        crossed = [
            interaction
            for scenario in started
            for part in scenario.parts
            for interaction in part.interactions
        ]
        return score_explanations([scenario.merged() for scenario in started], crossed, seed=self.size.seed)

    def _left(self) -> float | None:
        if self.size.seconds is None:
            return None
        return max(0.0, self.usage.started + self.size.seconds - time.perf_counter())

    def _take(self, done: Future[Part]) -> None:
        scenario, error = self.explaining.pop(done), done.exception()
        if error is not None:
            print(f"{scenario.name}: a bucket is missing, {error!r}", flush=True)
            self.usage.missing += 1
            scenario.failed += 1
        else:
            part = done.result()
            scenario.parts.append(part)
            self.usage.worker_cpu += part.cpu
            self.usage.calls += part.calls
        if scenario.is_complete:
            self.usage.reach(f"{scenario.name} explained")
            if self.explaining and scenario.parts:
                self.progress(self.score())

    def _stop_explaining(self) -> None:
        """Cancel the buckets that are not explained within the time limit."""
        for future in self.explaining:
            future.cancel()
        self.usage.missing += len(self.explaining)
        self.explaining = {}


def evaluate(
    size: Size,
    folder: Path,
    workers: ProcessPoolExecutor,
    progress: Callable[[ExplainScore], None] = lambda _: None,
) -> tuple[ExplainScore, Usage]:
    """Generate the data, explain all scenarios, and score them.

    Args:
        size: Size of the evaluation.
        folder: Folder for data and runs.
        workers: The worker processes.
        progress: Called with the scores so far whenever a scenario is scored.
    """
    usage = Usage()
    folder.mkdir(parents=True, exist_ok=True)
    names = tuple(each.name for each in find_explainers(size.explainers))
    recipe = find_recipe(size.preset)
    for mode in sorted({SCENARIOS[scenario][1] for scenario in size.scenarios}):
        data = make_dataset(DatasetPlan(mode, size.samples, size.seed, recipe, buckets=size.buckets))
        write_dataset(data, folder / mode, pictures=False, table=False)
    plans = {
        name: ExplainPlan(str(folder / SCENARIOS[name][1]), names, size.calls, pool=size.pool, seed=size.seed)
        for name in size.scenarios
    }
    usage.reach("data made")
    evaluation = _Evaluation(size, [_Scenario(*each) for each in plans.items()], usage, progress)
    evaluation.run(workers, folder)
    score = evaluation.score()
    progress(score)
    usage.reach("scored")
    return score, usage


def budget_lines(score: ExplainScore) -> Iterator[str]:
    """Format the budget and use of each explainer, one line each."""
    yield f"{'explainer':22} {'scenario':10} {'calls':>8} {'most':>6} {'exact':>7} {'maps':>6} not measured"
    table = cost_table(score.runs)
    names = [column.name for column in table.columns]
    for row in table.rows:
        cost = dict(zip(names, row, strict=True))
        missing = f"{cost['not_measured']} {cost['reason'][:60]}" if cost["not_measured"] else "0"
        yield (
            f"{cost['explainer']:22} {cost['scenario']:10} {cost['calls']:8.1f} {cost['most']:6d} {cost['exact']:7d} "
            f"{cost['measured']:6d} {missing}"
        )

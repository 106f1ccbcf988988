"""The whole evaluation of explainers, as ``grid explain`` and ``grid score`` do it, over several worker processes.

Three scenarios (the pure model on pure data, the spurious one on pure and on spurious data), every bucket at both densities, every
explainer. A worker takes one bucket of one scenario at one density: it explains its scenes into a run, reads the run, and scores what
the bucket says by itself. What takes scenes of several buckets is scored beside, scenario by scenario, as each is complete. The other
stage asks one scalar about depth: `interacting-words` alone, on more scenes and with more calls.
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
from theodolite.instruments.grid.data.dataset import DatasetPlan, make_dataset
from theodolite.instruments.grid.data.files import write_dataset
from theodolite.instruments.grid.data.world import BUCKET_KEYS
from theodolite.instruments.grid.experiments.separation import Separation
from theodolite.instruments.grid.explainers.contract import find_explainers
from theodolite.instruments.grid.explainers.readers import Reader, open_reader
from theodolite.instruments.grid.measure import ExplainMeasurer
from theodolite.instruments.grid.questions import ExplainPlan, plan_explanations, prepare
from theodolite.instruments.grid.score import (
    BucketScore,
    ExplainScore,
    join_scores,
    score_buckets,
    score_run,
    separate_all,
)
from theodolite.instruments.grid.stored import INSTRUMENT, ExplainedRun, read_explained
from theodolite.runs import LocalEngine, MeasureOptions, Run, RunInfo, measure

SCENARIOS = {"pure": ("grid:pure", "pure"), "cross": ("grid:spur", "pure"), "spurious": ("grid:spur", "spur")}
"""In this order, so that the two models are held against each other as soon as two are done."""

_readers: dict[str, Reader] = {}
"""Of this worker process, by model."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is evaluated, and on what."""

    samples: int
    calls: int
    pool: int
    seed: int = 0
    buckets: tuple[str, ...] = BUCKET_KEYS
    explainers: tuple[str, ...] = ("all",)
    scenarios: tuple[str, ...] = tuple(SCENARIOS)
    seconds: float | None = None
    """After so many seconds from the start no more is explained, and what is there is scored."""


@dataclass(slots=True)
class Spent:
    """What it took."""

    started: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)
    """By stage, on the clock, from the start."""
    worker_cpu: float = 0.0
    """Processor seconds of all workers."""
    calls: list[int] = field(default_factory=list)
    """Of every scene, all explainers together."""
    missing: int = 0
    """Buckets that failed, or that there was no time for."""

    def reach(self, stage: str) -> None:
        """Notes when a stage was done."""
        self.seconds[stage] = time.perf_counter() - self.started


@dataclass(frozen=True, slots=True)
class Part:
    """One bucket of one scenario at one density."""

    scenario: str
    explained: ExplainedRun
    buckets: BucketScore
    calls: tuple[int, ...]
    cpu: float


def _start(models: tuple[str, ...], device: str) -> None:
    """What each worker does first: one thread, and the models."""
    import torch

    torch.set_num_threads(1)
    for model in models:
        _readers[model] = open_reader(model, device=device)


def name_device(device: str) -> str:
    """What a worker runs on."""
    import torch

    return torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else device


def _explain(scenario: str, plan: ExplainPlan, folder: Path) -> Part:
    """Explains one bucket into a run of its own, and scores what it says by itself."""
    started = time.process_time()
    model = SCENARIOS[scenario][0]
    info = RunInfo(
        instrument=INSTRUMENT,
        model=model,
        identity=_readers[model].identity,
        settings=plan.as_json(),
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
    buckets = score_buckets(explained, pid=("convex", "gaussian", "batch"), seed=plan.seed)
    return Part(scenario, explained, buckets, calls, time.process_time() - started)


@dataclass(frozen=True, slots=True)
class Hands:
    """Worker processes that hold the models, and some that only score."""

    workers: ProcessPoolExecutor
    scorers: ProcessPoolExecutor


@contextmanager
def hands(n: int, device: str = "cpu") -> Iterator[Hands]:
    """Opens `n` workers, each with both models on the device."""
    os.environ["OMP_NUM_THREADS"] = "1"
    spawn = multiprocessing.get_context("spawn")
    models = tuple(dict.fromkeys(model for model, _ in SCENARIOS.values()))
    with (
        ProcessPoolExecutor(n, spawn, initializer=_start, initargs=(models, device)) as workers,
        ProcessPoolExecutor(min(n, len(SCENARIOS)), spawn) as scorers,
    ):
        yield Hands(workers, scorers)


class _Scenario:
    """The buckets of one scenario, as they come in."""

    def __init__(self, name: str, plan: ExplainPlan) -> None:
        self.name, self.plan = name, plan
        self.parts: list[Part] = []
        self.failed = 0
        self.whole: ExplainedRun | None = None
        self.score: ExplainScore | None = None
        data = prepare(plan)
        self.places = [(data.batch.bucket_key(int(data.members(*g)[0])), g[1]) for g in data.groups]
        """Every bucket with every density."""
        self.expected = len(data.chosen)

    def close(self) -> BucketScore:
        """Puts together what came in."""
        runs = [part.explained for part in self.parts]
        self.whole = replace(
            runs[0],
            plan=self.plan,
            rows=tuple(row for run in runs for row in run.rows),
            crosses=tuple(cross for run in runs for cross in run.crosses),
            said={row: said for run in runs for row, said in run.said.items()},
            pending=self.expected - sum(len(run.said) for run in runs),
        )
        return sum((part.buckets for part in self.parts), BucketScore())


class _Evaluation:
    """Sends buckets out, takes them in, and has scenarios scored as soon as they are complete."""

    def __init__(
        self, size: Size, scenarios: list[_Scenario], spent: Spent, tell: Callable[[ExplainScore], None]
    ) -> None:
        self.size, self.scenarios, self.tell = size, scenarios, tell
        self.spent = spent
        self.explaining: dict[Future[Part], _Scenario] = {}
        self.scoring: dict[Future[ExplainScore], _Scenario] = {}
        self.apart: dict[tuple[str, ...], tuple[Separation, ...]] = {}
        """How the models come apart, by the scenarios on pure data that are scored; only these hold both."""

    def run(self, help_: Hands, folder: Path) -> None:
        """Until everything is scored that there was time for."""
        for scenario in self.scenarios:
            for place in scenario.places:
                plan = replace(scenario.plan, buckets=place[:1], densities=place[1:])
                target = folder / f"run-{scenario.name}-{'-'.join(place)}"
                self.explaining[help_.workers.submit(_explain, scenario.name, plan, target)] = scenario
        while self.explaining or self.scoring:
            left = self._left()
            done, _ = wait([*self.explaining, *self.scoring], timeout=left, return_when=FIRST_COMPLETED)
            if not done:
                self._give_up(help_.scorers)
            for each in done:
                if each in self.explaining:
                    self._take(each, help_.scorers)
                else:
                    self.scoring.pop(each).score = each.result()
                    self.tell(self.score())

    def score(self) -> ExplainScore:
        """All scenarios that are scored, together."""
        known = [each for each in self.scenarios if each.score is not None and each.whole is not None]
        on_pure = tuple(each.name for each in known if SCENARIOS[each.name][1] == "pure")
        if on_pure not in self.apart:
            self.apart[on_pure] = separate_all([e.whole for e in known if e.whole], seed=self.size.seed)
        return join_scores([e.score for e in known if e.score], self.apart[on_pure], seed=self.size.seed)

    def _left(self) -> float | None:
        if self.size.seconds is None or not self.explaining:
            return None
        return max(0.0, self.spent.started + self.size.seconds - time.perf_counter())

    def _take(self, done: Future[Part], scorers: ProcessPoolExecutor) -> None:
        scenario, error = self.explaining.pop(done), done.exception()
        if error is not None:
            print(f"{scenario.name}: a bucket is missing, {error!r}", flush=True)
            self.spent.missing += 1
            scenario.failed += 1
        else:
            part = done.result()
            scenario.parts.append(part)
            self.spent.worker_cpu += part.cpu
            self.spent.calls += part.calls
        if len(scenario.parts) + scenario.failed == len(scenario.places) and scenario.parts:
            self.spent.reach(f"{scenario.name} explained")
            self._close(scenario, scorers)

    def _close(self, scenario: _Scenario, scorers: ProcessPoolExecutor) -> None:
        buckets = scenario.close()
        sent = scorers.submit(score_run, scenario.whole, buckets, seed=self.size.seed)
        self.scoring[sent] = scenario

    def _give_up(self, scorers: ProcessPoolExecutor) -> None:
        """There is no time for what is not explained yet."""
        for each in self.explaining:
            each.cancel()
        self.spent.missing += len(self.explaining)
        self.explaining = {}
        for scenario in self.scenarios:
            if scenario.whole is None and scenario.parts:
                self._close(scenario, scorers)


def evaluate(
    size: Size, folder: Path, help_: Hands, tell: Callable[[ExplainScore], None] = lambda _: None
) -> tuple[ExplainScore, Spent]:
    """Makes the data, explains all scenarios, and scores them.

    Args:
        size: How much.
        folder: For data and runs.
        help_: Who does the work.
        tell: Called with the score so far, whenever a scenario is scored.
    """
    spent = Spent()
    folder.mkdir(parents=True, exist_ok=True)
    names = tuple(each.name for each in find_explainers(size.explainers))
    for mode in sorted({SCENARIOS[scenario][1] for scenario in size.scenarios}):
        data = make_dataset(DatasetPlan(mode, size.samples, size.seed, buckets=size.buckets))
        write_dataset(data, folder / mode, pictures=False, table=False)
    plans = {
        name: ExplainPlan(str(folder / SCENARIOS[name][1]), names, size.calls, pool=size.pool, seed=size.seed)
        for name in size.scenarios
    }
    spent.reach("data made")
    evaluation = _Evaluation(size, [_Scenario(*each) for each in plans.items()], spent, tell)
    evaluation.run(help_, folder)
    spent.reach("scored")
    return evaluation.score(), spent


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

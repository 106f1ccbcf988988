"""The cost of explainers: model calls at equal error, and CPU time of the whole evaluation.

MultiSHAP's interactions by regression are compared with pairwise sampling on games with known interactions: sums of
unanimity games of up to three players, where regression on complements is exact, and of up to five, where it is not. They
are also compared on games of a symbolic and of a trained model, with all coalitions enumerated. The limits, 10 times
fewer calls with 15 players and 5 times with 35, apply to both sums.
"""

import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bench.grid_evaluation import Size, budget_lines, evaluate, open_workers
from bench.result import Result
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.explainers.contract import make_case
from theodolite.instruments.grid.explainers.game import Game, cross_interactions, sampled_interactions
from theodolite.instruments.grid.explainers.readers import open_reader

BUDGETS = tuple(round(40 * 1.25**step) for step in range(28))
CALLS, SAMPLES, MINUTES = 200, 5, 10


def run() -> Iterator[Result]:
    for most in (3, 5):
        for n_cells, n_words, draws, bar in ((10, 5, 32, 10), (25, 10, 8, 5)):
            make, truth = _known_game(n_cells, n_words, most)
            what = (
                f"ratio of calls, pairwise to regression, {n_cells + n_words} players, terms of up to {most}"
            )
            yield Result(what, _ratio(make, truth, draws), "×", at_least=bar)
    for model, bucket, objects in (("grid:symbolic-pure", "M-F0-D2", 7), ("grid:pure", "M-F0-D1", 7)):
        case = make_case(open_reader(model), generate(bucket, 1, density=objects, seed=5), 0)
        truth = cross_interactions(case.game.with_budget(None), seed=0).values
        what = f"the same in a game of {model}, {case.game.n} players"
        yield Result(what, _ratio(case.game.with_budget, truth, 16), "×")
    yield from _evaluation()


def _known_game(n_cells: int, n_words: int, most: int) -> tuple[Callable[[int | None], Game], np.ndarray]:
    """Return a sum of unanimity games and its Shapley interactions: c/(t−1) for each pair within a game of t players."""
    rng, n = np.random.default_rng(0), n_cells + n_words
    sets = [rng.choice(n, size=rng.integers(1, most + 1), replace=False) for _ in range(4 * n)]
    weights = rng.normal(size=len(sets))
    truth, members = np.zeros((n, n)), np.zeros((len(sets), n))
    for row, (inside, weight) in enumerate(zip(sets, weights, strict=True)):
        members[row, inside] = 1
        if len(inside) > 1:
            truth[np.ix_(inside, inside)] += weight / (len(inside) - 1)

    def value(cells: np.ndarray, words: np.ndarray) -> np.ndarray:
        shown = np.concatenate([cells, words], axis=1) * 1.0
        return np.asarray((shown @ members.T >= members.sum(axis=1)) @ weights)

    def make(budget: int | None) -> Game:
        players = {"cells": list(range(n_cells)), "words": list(range(n_words))}
        return Game(value, **players, shape=(n_cells, n_words), budget=budget)

    return make, truth[:n_cells, n_cells:]


def _ratio(make: Callable[[int | None], Game], truth: np.ndarray, draws: int) -> float:
    """Return the ratio of the pairwise sampler's calls to the regression's at equal error, averaged over three seeds."""

    def error(estimate: np.ndarray) -> float:
        return float(((estimate - truth) ** 2).mean())

    wanted = np.mean([error(sampled_interactions(make(None), seed=s, draws=draws).values) for s in range(3)])
    for budget in (candidate for candidate in BUDGETS if candidate >= make(None).n + 2):
        if np.mean([error(cross_interactions(make(budget), seed=s).values) for s in range(3)]) <= wanted:
            return 4 * draws * truth.size / budget
    return 0.0


def _evaluation() -> Iterator[Result]:
    """Time all explainers, buckets and scenarios, with 5 samples per bucket and two single-threaded workers.

    Both wall-clock time and CPU time of all processes divided by two cores are reported. If other processes use the
    machine, only the second is meaningful.
    """
    before = time.process_time(), _children()
    with tempfile.TemporaryDirectory() as folder, open_workers(2) as workers:
        score, usage = evaluate(Size(SAMPLES, CALLS, SAMPLES), Path(folder), workers)
    own, all_workers = time.process_time() - before[0], _children() - before[1]
    for line in budget_lines(score):
        print(line)
    yield Result("scenes explained", float(len(usage.calls)), "")
    yield Result("model calls per scene, all explainers, maximum", float(max(usage.calls)), "", at_most=CALLS)
    for stage, seconds in usage.seconds.items():
        yield Result(f"{stage}, wall-clock time", seconds / 60, "min")
    yield Result("CPU time of all workers and scorers", all_workers / 60, "min")
    whole = (all_workers / 2 + own) / 60
    yield Result("the whole evaluation on two cores, CPU time", whole, "min", at_most=MINUTES)


def _children() -> float:
    """Return the CPU seconds of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

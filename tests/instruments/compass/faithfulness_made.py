"""Runs with planted maps, and a model whose answer depends on known pixels alone."""

import math

import numpy as np

from theodolite.attribution import Attribution, RelevanceMap
from theodolite.core.types import Choice
from theodolite.geometry import TokenGrid, direction_deg
from theodolite.instruments.compass.data.drawn import SquaresPlan, coloured_squares
from theodolite.instruments.compass.experiments.faithfulness.plan import (
    RUN_KIND,
    HidingMeasurer,
    faithfulness_settings,
    plan_faithfulness,
)
from theodolite.instruments.compass.measure import _record
from theodolite.instruments.compass.questions import PROMPTS, plan_pairs
from theodolite.runs import LocalEngine, MeasureOptions, Run, RunInfo, measure
from theodolite.stats import circular_distance

SIZE = 160


def made_pairs(n=16, seed=0):
    plan = SquaresPlan(size_px=(SIZE, SIZE), side_px=24, n_angles=16, min_distance_px=44, max_distance_px=110)
    return list(coloured_squares(n, seed=seed, plan=plan).pairs)


def at_box(grid, box):
    """A map with all relevance on a box, and a little everywhere."""
    return box.covers(grid.rects_px) + 1e-3


def at_target(pair, grid):
    return at_box(grid, pair.target.box)


def across(pair, grid):
    """A map that turns its back to the target: the further from its direction, the more relevance."""
    angles = direction_deg(pair.reference.box.centre_px, grid.centres_px)
    return (circular_distance(angles, pair.true_deg) / 180) ** 8


def nothing(pair, grid):
    return np.zeros(grid.n_tokens)


class PlantedMeasurer:
    """What attribution would store, with maps of one's own."""

    reuse = "never"
    batch_size = 8
    identity = "red-seer|attribution|planted"

    def __init__(self, pairs, maps, region):
        self.pairs = {pair.id: pair for pair in pairs}
        self.maps = maps
        self.region = region

    def measure(self, items):
        return [self._one(item) for item in items]

    def _one(self, item):
        pair = self.pairs[item.meta["pair"]]
        grid = TokenGrid.regular((SIZE, SIZE), (16, 16), self.region)
        maps = tuple(
            RelevanceMap(*key.split("@"), grid, np.asarray(make(pair, grid), np.float32), 1.0)
            for key, make in self.maps.items()
        )
        values = np.log(RedSeer.probabilities(item.options, item.request.hint["gold"], 1.0))
        return _record(item, Attribution(item.options, values, values, maps))

    def close(self):
        pass


class RedSeer:
    """p(gold) is ¼ and grows with the share of the red square that is to be seen; it knows nothing else."""

    name = identity = "red-seer"
    lacks = {}  # noqa: RUF012
    batch_size = 8
    takes_hints = True
    whole = 24 * 24

    def __init__(self, fails=lambda _: False):
        self.calls = 0
        self.fails = fails

    @staticmethod
    def probabilities(options, gold, seen):
        right = 0.25 + 0.7 * seen
        return np.array(
            [right if option == gold else (0.99 - right) / (len(options) - 1) for option in options]
        )

    def generate(self, requests):
        raise NotImplementedError

    def choose(self, requests, options):
        found = []
        for request, each in zip(requests, options, strict=True):
            self.calls += 1
            if self.fails(request):
                raise RuntimeError("no answer")
            seen = red_share(request.pictures[0].pixels(), self.whole)
            values = np.log(self.probabilities(each, request.hint["gold"], seen))
            found.append(Choice(tuple(each), tuple(values.tolist())))
        return found

    def close(self):
        pass


def red_share(pixels, whole=24 * 24):
    return float((pixels == (255, 0, 0)).all(axis=2).sum()) / whole


def planted_run(folder, pairs, maps, region=None, *, prompt="A", more=(), settings=None, limit=None):
    engine = LocalEngine(PlantedMeasurer(pairs, maps, region))
    info = RunInfo(
        instrument="compass",
        model="red-seer",
        identity=engine.identity,
        settings=settings or {},
        theodolite="0",
    )
    run = Run.start(folder, info)
    run.plan([*plan_pairs(pairs, [PROMPTS[prompt]]), *more])
    assert measure(run, engine, MeasureOptions(limit=limit)).failed == 0
    return run


def hide(run, folder, options, *, model=None, **how):
    """Measures what the options ask for; returns the run that hid, open."""
    plan = plan_faithfulness(run, options)
    model = model or RedSeer()
    engine = LocalEngine(HidingMeasurer(model))
    info = RunInfo(
        instrument=RUN_KIND,
        model=model.name,
        identity=engine.identity,
        settings=faithfulness_settings(run, options),
        theodolite="0",
    )
    hidden = Run.start(folder, info)
    hidden.plan(plan.items)
    measure(hidden, engine, MeasureOptions(**how))
    return hidden


def log_p(seen):
    return math.log(0.25 + 0.7 * seen)

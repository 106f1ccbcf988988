"""The cost of projecting relevance into compasses: the re-centring control of 300 samples, 4 maps each, 100 centres."""

import time
from collections.abc import Callable, Iterator

import numpy as np

from bench.result import Result
from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.formulas.dae import DirectionMass
from theodolite.instruments.compass.formulas.projection import (
    PAPER,
    SOUND,
    ProjectionOptions,
    TokenMap,
    project_batch,
)

SAMPLES, CONDITIONS, CENTRES = 300, 4, 100
SIZE_PX, SHAPE = (644, 476), (17, 23)


def run() -> Iterator[Result]:
    """Yield the times of four maps per sample with shared centres (target logits), and with centres of each map."""
    shared = _seconds(lambda: _project(SAMPLES, CONDITIONS, PAPER))
    yield Result("120,000 projections, 4 maps share their centres", shared, "s", at_most=2.0)
    apart = _seconds(lambda: _project(SAMPLES * CONDITIONS, 1, PAPER))
    yield Result("120,000 projections, each map its own centres", apart, "s", at_most=2.0)
    sound = _seconds(lambda: _project(SAMPLES, CONDITIONS, SOUND))
    yield Result("120,000 sound projections, 4 maps share centres", sound, "s")


def _project(samples: int, maps: int, options: ProjectionOptions) -> DirectionMass:
    rng = np.random.default_rng(0)
    grid = TokenGrid.regular(SIZE_PX, SHAPE)
    values = rng.random((samples, maps, grid.n_tokens))
    return project_batch(
        [TokenMap(row, grid) for row in values],
        references=[Box(100, 100, 200, 200)] * samples,
        targets=[Box(400, 250, 500, 350)] * samples,
        centres_px=rng.random((samples, CENTRES, 2)) * SIZE_PX,
        options=options,
    )


def _seconds(work: Callable[[], DirectionMass]) -> float:
    """Time the projections and the metrics that a control needs."""
    started = time.perf_counter()
    compass = work()
    compass.error_deg()
    compass.error_deg("mean")
    assert compass.is_kept.sum() == SAMPLES * CONDITIONS * CENTRES
    return time.perf_counter() - started

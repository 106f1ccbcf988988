"""Check that an explainer fulfils its contract."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.explainers.contract import Case, Explainer, Explanation, make_case
from theodolite.instruments.grid.explainers.find import find_explainers
from theodolite.instruments.grid.explainers.game import Convention
from theodolite.instruments.grid.explainers.readers import Pool, open_reader
from theodolite.testing.findings import Findings, examine, not_a

_BUDGET = 400


def check_explainer(explainer: str | Explainer) -> Findings:
    """Check an explainer against its contract, on the symbolic models of the grid.

    Args:
        explainer: The explainer, or its name.

    Raises:
        BrokenContractError: If a check fails. The message lists all failures.

    >>> check_explainer("removal").remarks
    ()
    """
    tested = find_explainers([explainer])[0] if isinstance(explainer, str) else explainer
    if not isinstance(tested, Explainer):
        raise not_a(
            "explainer", tested, "it is not a theodolite.instruments.grid.explainers.contract.Explainer"
        )
    tries = _explains_a_case if tested.scope == "local" else _summarises_a_pool
    return examine("explainer", tested.name, tested, (_is_described, tries))


def _is_described(explainer: Explainer) -> Iterator[str]:
    if not (explainer.name and explainer.summary):
        yield "it has no name, or no summary"


def _cases(explainer: Explainer, budget: int | None) -> Iterator[Case]:
    for bucket in ("M-F0-D2", "M-F1-D1", "CMP-F0-D1"):
        batch = generate(bucket, 4, density="sparse", seed=0)
        reader = open_reader(_model_for(explainer))
        pool = Pool(reader, batch, np.arange(4), Convention())
        yield make_case(reader, batch, 1, pool=pool, seed=7).with_budget(budget)


def _model_for(explainer: Explainer) -> str:
    if explainer.name.startswith("relevance:"):
        return "pocket:grounded"
    return "grid:pure" if explainer.needs_gradients else "grid:symbolic-pure"


def _explains_a_case(explainer: Explainer) -> Iterator[str]:
    budget = _BUDGET if explainer.samples else None
    for first, second in zip(_cases(explainer, budget), _cases(explainer, budget), strict=True):
        where = f"on {first.batch.bucket_key(first.row)}"
        yield from (f"{where}, {fault}" for fault in _case_faults(explainer, first, second, budget))


def _case_faults(explainer: Explainer, case: Case, twin: Case, budget: int | None) -> Iterator[str]:
    assert explainer.explain is not None  # noqa: S101 - local
    least: object = explainer.least(case)
    before = case.batch.cells.copy(), case.batch.words.copy()
    explanation, again = explainer.explain(case), explainer.explain(twin)
    if not isinstance(explanation, Explanation):
        yield f"it returned a {type(explanation).__name__} instead of an Explanation"
        return
    yield from _faults(explanation, case)
    if not (np.array_equal(explanation.cells, again.cells) and explanation.scalars == again.scalars):
        yield "the same seed gives a different map"
    calls = max(explanation.calls, case.game.calls)
    if budget is not None and calls > budget:
        yield f"it made {calls} model calls with a budget of {budget}"
    if explanation.calls < case.game.calls:
        yield f"it reports {explanation.calls} model calls but made {case.game.calls}"
    if not isinstance(least, int | np.integer) or least < 0:
        yield f"least(case) is {least!r}, not a number of model calls"
    elif budget is None and calls > least:
        yield f"least(case) says {least} model calls, but it made {calls}"
    if not (np.array_equal(before[0], case.batch.cells) and np.array_equal(before[1], case.batch.words)):
        yield "it changed its input scene"


def _faults(explanation: Explanation, case: Case) -> Iterator[str]:
    if explanation.cells.shape != (case.game.shape[0],):
        yield f"its map has shape {explanation.cells.shape}, not ({case.game.shape[0]},)"
    if explanation.words is not None and explanation.words.shape != (case.game.shape[1],):
        yield f"its words have shape {explanation.words.shape}, not ({case.game.shape[1]},)"
    width, height = case.batch.world.size_px
    if explanation.pixels is not None and explanation.pixels.shape != (height, width):
        yield f"its pixels have shape {explanation.pixels.shape}, not ({height}, {width})"
    if not all(np.isfinite(value) for value in explanation.scalars.values()):
        yield "a scalar is not finite"


def _summarises_a_pool(explainer: Explainer) -> Iterator[str]:
    assert explainer.summarise is not None  # noqa: S101 - global
    batch = generate("M-F1-D1", 40, density="sparse", seed=0)
    pools = [Pool(open_reader("grid:symbolic-pure"), batch, np.arange(40), Convention()) for _ in range(2)]
    scalars, again = (explainer.summarise(pool) for pool in pools)
    if dict(scalars) != dict(again):
        yield "the same pool gives different values"
    for name, value in scalars.items():
        if not np.isfinite(value):
            yield f"{name} is {value}"

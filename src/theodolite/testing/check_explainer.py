"""Checks that an explainer fulfils its contract."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from theodolite.core.errors import ContractError
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.explainers.contract import Case, Explainer, Explanation, make_case
from theodolite.instruments.grid.explainers.conventions import Convention
from theodolite.instruments.grid.explainers.find import find_explainers
from theodolite.instruments.grid.explainers.pool import Pool
from theodolite.instruments.grid.explainers.readers import open_reader
from theodolite.runs import describe

_BUDGET = 400


def check_explainer(explainer: str | Explainer) -> None:
    """Check an explainer against its contract, on the symbolic models of the grid.

    Args:
        explainer: The explainer, or its name.

    Raises:
        ContractError: If a check fails. The message lists all failures.

    >>> check_explainer("removal")
    """
    tested = find_explainers([explainer])[0] if isinstance(explainer, str) else explainer
    if not isinstance(tested, Explainer):
        raise ContractError(
            f"{type(tested).__name__} is not a theodolite.instruments.grid.explainers.contract.Explainer"
        )
    try:
        broken = list(_local(tested) if tested.scope == "local" else _global(tested))
    except Exception as error:  # noqa: BLE001 - any exception is reported
        broken = [f"it raised {describe(error)}"]
    if broken:
        raise ContractError(
            f"{tested.name} does not fulfil the explainer contract:\n  " + "\n  ".join(broken)
        )


def _cases(budget: int | None) -> Iterator[Case]:
    for bucket in ("M-F0-D2", "M-F1-D1", "CMP-F0-D1"):
        batch = generate(bucket, 4, density="sparse", seed=0)
        reader = open_reader("grid:symbolic-pure")
        pool = Pool(reader, batch, np.arange(4), Convention())
        yield make_case(reader, batch, 1, pool=pool, seed=7).with_budget(budget)


def _local(explainer: Explainer) -> Iterator[str]:
    assert explainer.explain is not None  # noqa: S101 - local
    if explainer.needs_gradients:
        yield "it needs gradients, which the symbolic models do not provide: check it on your own paired network"
        return
    budget = _BUDGET if explainer.samples else None
    for first, second in zip(_cases(budget), _cases(budget), strict=True):
        where = f"on {first.batch.bucket_key(first.row)}"
        before = first.batch.cells.copy(), first.batch.words.copy()
        found, again = explainer.explain(first), explainer.explain(second)
        yield from (f"{where}, {fault}" for fault in _faults(found, first))
        if not np.array_equal(found.cells, again.cells):
            yield f"{where}, the same seed gives a different map"
        if budget is not None and max(found.calls, first.game.calls) > budget:
            yield f"{where}, it made {max(found.calls, first.game.calls)} model calls with a budget of {budget}"
        if found.calls < first.game.calls:
            yield f"{where}, it reports {found.calls} model calls but made {first.game.calls}"
        if not (
            np.array_equal(before[0], first.batch.cells) and np.array_equal(before[1], first.batch.words)
        ):
            yield f"{where}, it changed its input scene"


def _faults(found: object, case: Case) -> Iterator[str]:
    if not isinstance(found, Explanation):
        yield f"it returned a {type(found).__name__} instead of an Explanation"
        return
    if found.cells.shape != (case.game.shape[0],):
        yield f"its map has shape {found.cells.shape}, not ({case.game.shape[0]},)"
    if found.words is not None and found.words.shape != (case.game.shape[1],):
        yield f"its words have shape {found.words.shape}, not ({case.game.shape[1]},)"
    width, height = case.batch.world.size_px
    if found.pixels is not None and found.pixels.shape != (height, width):
        yield f"its pixels have shape {found.pixels.shape}, not ({height}, {width})"
    if not all(np.isfinite(value) for value in found.scalars.values()):
        yield "a scalar is not finite"


def _global(explainer: Explainer) -> Iterator[str]:
    assert explainer.summarise is not None  # noqa: S101 - global
    batch = generate("M-F1-D1", 40, density="sparse", seed=0)
    pools = [Pool(open_reader("grid:symbolic-pure"), batch, np.arange(40), Convention()) for _ in range(2)]
    found, again = (explainer.summarise(pool) for pool in pools)
    if dict(found) != dict(again):
        yield "the same pool gives different values"
    for name, value in found.items():
        if not np.isfinite(value):
            yield f"{name} is {value}"

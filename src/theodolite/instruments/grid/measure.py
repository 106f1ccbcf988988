"""Measuring explanations: each scene with all local explainers, and each cross matrix.

Plain questions are measured by `theodolite.models.ask_measurer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UnsupportedError, UsageError
from theodolite.core.types import Item, Json, Record, Response
from theodolite.instruments.grid.explainers.batching import run_together
from theodolite.instruments.grid.explainers.contract import Case, Explainer, Share, make_case, share_budget
from theodolite.instruments.grid.explainers.find import find_explainers
from theodolite.instruments.grid.explainers.readers import (
    NetworkReader,
    Pool,
    Reader,
    fill_matrices,
    open_reader,
)
from theodolite.instruments.grid.questions import ExplainPlan, prepare
from theodolite.runs import MeasurerFactory, Reuse


def explain_factory(model: str, plan: ExplainPlan, *, device: str = "cpu") -> MeasurerFactory:
    """Return a factory that opens the model in the measuring process and explains with it."""
    return partial(_open, model, plan, device)


def _open(model: str, plan: ExplainPlan, device: str) -> ExplainMeasurer:
    return ExplainMeasurer(open_reader(model, device=device), plan)


class ExplainMeasurer:
    """Measures scenes (a map from every local explainer) and cross matrices."""

    reuse: Reuse = "never"

    def __init__(self, reader: Reader, plan: ExplainPlan) -> None:
        self.reader, self.plan = reader, plan
        self.batch_size = _scenes_at_once(reader)
        self.explainers = find_explainers(plan.explainers)
        self.identity = (
            f"{reader.identity}|grid explain|{'+'.join(explainer.name for explainer in self.explainers)}"
        )
        self.data = prepare(plan)
        if isinstance(reader, NetworkReader):
            reader.check(self.data.batch.world)
        self._pools: dict[tuple[int, str], Pool] = {}

    def measure(self, items: Sequence[Item]) -> list[Record]:
        """Return one record for each item. Scenes run concurrently, so that a paired network gets large batches."""
        rows = [cast("int", item.meta["row"]) for item in items]
        pools = [self._pool(row) for row in rows]
        if any(explainer.scope == "global" for explainer in self.explainers):
            fill_matrices(self.reader, pools)
        jobs = [
            partial(self._scene if item.meta["kind"] == "scene" else self._cross, item, pool)
            for item, pool in zip(items, pools, strict=True)
        ]
        return run_together(self.reader, jobs)

    def close(self) -> None:
        """Do nothing: only memory is held."""

    def _matrix_calls(self, row: int, pool: Pool) -> int:
        """Return the calls of a scene's part of the cross matrix: its row, and its column if it is not in the pool."""
        if not any(
            explainer.scope == "global" or explainer.family == "dime" for explainer in self.explainers
        ):
            return 0
        return len(pool.rows) * (1 if row in pool.rows else 2)

    def _pool(self, row: int) -> Pool:
        key = int(self.data.batch.bucket[row]), str(self.data.density[row])
        if key not in self._pools:
            rows = self.data.members(*key)[: self.plan.pool]
            self._pools[key] = Pool(self.reader, self.data.batch, rows, self.plan.convention)
        return self._pools[key]

    def _cross(self, item: Item, pool: Pool, _: Reader) -> Record:
        logits = pool.logits(pool.rows, pool.rows)
        values: dict[str, Json] = {"rows": pool.rows.tolist(), "calls": len(pool.rows) ** 2}
        return Record(
            item.id,
            Response("answered", text="", finish="measured"),
            None,
            values,
            {"logits": logits.astype(np.float32)},
        )

    def _scene(self, item: Item, pool: Pool, reader: Reader) -> Record:
        row = cast("int", item.meta["row"])
        case = make_case(
            reader,
            self.data.batch,
            row,
            convention=self.plan.convention,
            pool=pool.seen_by(reader),
            seed=self.plan.seed + row,
        )
        arrays: dict[str, NDArray[Any]] = {}
        local = [explainer for explainer in self.explainers if explainer.explain is not None]
        taken = 1 + self._matrix_calls(row, pool)
        shares = share_budget(local, case, self.plan.budget, taken=taken)
        results: dict[str, Json] = {}
        spent: dict[str, int] = {}
        for explainer in local:
            results[explainer.name], calls = self._explain(explainer, case, shares[explainer.name], arrays)
            spent[explainer.family] = max(spent.get(explainer.family, 0), calls)
        values: dict[str, Json] = {
            "said": case.said,
            "answer": case.answer,
            "explainers": results,
            "calls": taken + sum(spent.values()),
        }
        text = self.data.batch.world.answers[case.said]
        return Record(item.id, Response("answered", text=text, finish="measured"), None, values, arrays)

    def _explain(
        self, explainer: Explainer, case: Case, share: Share, arrays: dict[str, NDArray[Any]]
    ) -> tuple[dict[str, Json], int]:
        """Run one explainer, and return its results and calls; its maps go into `arrays`.

        If it cannot be measured, the reason is stored instead.
        """
        assert explainer.explain is not None  # noqa: S101 - only local ones come here
        if share.calls is None:
            return {"status": "not measured", "reason": share.reason}, 0
        try:
            explanation = explainer.explain(case.with_budget(share.calls if explainer.samples else None))
        except (UsageError, UnsupportedError) as error:
            return {"status": "not measured", "reason": str(error)}, 0
        arrays[f"cells@{explainer.name}"] = explanation.cells.astype(np.float32)
        if explanation.words is not None:
            arrays[f"words@{explainer.name}"] = explanation.words.astype(np.float32)
        if explanation.pixels is not None:
            peak = float(np.abs(explanation.pixels).max())
            scaled = explanation.pixels / peak if peak > 0 else explanation.pixels
            arrays[f"pixels@{explainer.name}"] = scaled.astype(np.float16)
        about: dict[str, Json] = {
            "status": "measured",
            "calls": explanation.calls,
            "is_exact": explanation.is_exact,
            "method": explanation.method,
            "scalars": dict(explanation.scalars),
        }
        return about, explanation.calls


def _scenes_at_once(reader: Reader) -> int:
    """Return the scenes per batch: many for a paired network, one for other models."""
    device = getattr(reader, "device", "")
    return {"": 1, "cpu": 8}.get(device, 128)

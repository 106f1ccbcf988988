"""How many scenes each signature needs, estimated before a run.

A clear case is simulated on the questions that will be asked: each number of the signature lies `CLEAR` beyond its threshold, and
a tenth of the answers change back and forth besides. The number of scenes is the smallest at which the signature is raised in
four of five simulations, by the intervals that judge it later. A weaker case needs more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite import stats
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.scene.data.files import SceneQuestion
from theodolite.instruments.scene.experiments.blind import MARGIN
from theodolite.instruments.scene.signatures import HALF, MATTERS, SHARE

CLEAR = 0.25
"""How far beyond its threshold a number lies in a clear case."""
_CHURN = 0.1
"""Share of answers that change either way without a reason."""
_GRAPH_SPREAD = 0.15
"""Standard deviation of SGC between scenes."""
_SIMULATIONS, _ENOUGH = 20, 0.8
_SIZES = (3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500)


@dataclass(frozen=True, slots=True, eq=False)
class _Draw:
    """One simulated run over the questions of some scenes."""

    rng: np.random.Generator
    scenes: list[str]
    """Of every question."""
    groups: list[str]
    is_compositional: np.ndarray

    @property
    def _n_scenes(self) -> int:
        return len(set(self.scenes))

    def changes(self, net: float, *, is_compositional: bool = False, churn: float = _CHURN) -> stats.Estimate:
        """Return the difference of two settings: a net share goes from right to wrong, and some answers go either way."""
        keep = np.flatnonzero(self.is_compositional) if is_compositional else np.arange(len(self.scenes))
        drawn = self.rng.random(keep.size)
        first = (drawn < net + churn / 2).astype(float)
        second = ((drawn >= net + churn / 2) & (drawn < net + churn)).astype(float)
        scenes, groups = ([values[i] for i in keep] for values in (self.scenes, self.groups))
        return _there(stats.clustered_difference(first, second, scenes, groups=groups))

    def is_same(self) -> bool:
        """Return whether unchanged answers are judged equivalent."""
        same = (self.rng.random(len(self.scenes)) < HALF).astype(float)
        test = stats.equivalent(same, same, self.scenes, margin=MARGIN, groups=self.groups)
        return test is not None and test.is_equivalent

    def share(self, share: float) -> stats.Estimate:
        """Return the mean of right and wrong answers."""
        values = (self.rng.random(len(self.scenes)) < share).astype(float)
        return _there(stats.clustered_mean(values, self.scenes, groups=self.groups))

    def graphs(self, mean: float) -> stats.Estimate:
        """Return the mean of a number that each scene's graph has once."""
        values = np.clip(self.rng.normal(mean, _GRAPH_SPREAD, self._n_scenes), -1, 1)
        names = [str(i) for i in range(self._n_scenes)]
        return _there(stats.clustered_mean(values, names, bounds=(-1.0, 1.0)))


def _there(estimate: stats.Estimate | None) -> stats.Estimate:
    return (
        estimate if estimate is not None else stats.Estimate(0.0, -1.0, 1.0, n=0, level=0.95, method="none")
    )


@dataclass(frozen=True, slots=True)
class _Need:
    """What a signature needs: the settings, and whether a simulated clear case is raised."""

    settings: tuple[str, ...]
    is_raised: Callable[[_Draw], bool]


_BEYOND = MATTERS + CLEAR
_NEEDS: Mapping[str, _Need] = {
    "structural alignment": _Need(
        ("base", "graphs", "blind", "predicted graph"),
        lambda d: (
            d.share(HALF + CLEAR).low > HALF
            and d.graphs(HALF + CLEAR).low > HALF
            and d.changes(_BEYOND).low > MATTERS
        ),
    ),
    "semantic shortcut": _Need(
        ("base", "graphs"),
        lambda d: d.share(HALF - CLEAR).high < HALF and d.changes(_BEYOND).low > MATTERS,
    ),
    "perception–reasoning disconnect": _Need(
        ("base", "graphs"), lambda d: d.graphs(_BEYOND).low > MATTERS and d.changes(_BEYOND).low > MATTERS
    ),
    "modality trust bias": _Need(
        ("base", "graphs", "predicted graph"), lambda d: d.changes(_BEYOND).low > MATTERS
    ),
    "cognitive scaffold": _Need(
        ("base", "graphs", "predicted graph"),
        lambda d: d.changes(_BEYOND, is_compositional=True).low > MATTERS,
    ),
    "semantic–geometric gap": _Need(
        ("base", "graphs", "blind"),
        lambda d: d.changes(_BEYOND).low > MATTERS and d.graphs(0.0).high < MATTERS,
    ),
    "language prior": _Need(("base", "blind"), lambda d: d.is_same() and d.share(1.0).low > HALF),
    "refusal": _Need(("base",), lambda d: d.share(SHARE + CLEAR).low > SHARE),
    "format failure": _Need(("base",), lambda d: d.share(SHARE + CLEAR).low > SHARE),
}


def scenes_needed(questions: Sequence[SceneQuestion], name: str, *, seed: int = 0) -> int | None:
    """Return the number of scenes at which a clear case of a signature is raised; None if more than the largest size tried.

    Args:
        questions: Of the plan. If it has fewer scenes than are needed, its scenes are repeated.
        name: Of the signature.
        seed: Of the simulations.
    """
    by_scene: dict[str, list[SceneQuestion]] = {}
    for question in questions:
        by_scene.setdefault(question.scene, []).append(question)
    scenes = list(by_scene.values())

    def is_enough(n: int) -> bool:
        rng = np.random.default_rng([seed, n])
        order = [int(i) for i in rng.permutation(len(scenes))]
        asked = [(str(i), q) for i in range(n) for q in scenes[order[i % len(order)]]]
        names, groups = [scene for scene, _ in asked], [q.group_name for _, q in asked]
        layers = np.array([q.layer == "compositional" for _, q in asked])
        raised = [_NEEDS[name].is_raised(_Draw(rng, names, groups, layers)) for _ in range(_SIMULATIONS)]
        return float(np.mean(raised)) >= _ENOUGH

    low, high = 0, len(_SIZES)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(_SIZES[middle]) else (middle + 1, high)
    return _SIZES[low] if low < len(_SIZES) else None


def needs_table(questions: Sequence[SceneQuestion], asked: Collection[str], *, seed: int = 0) -> Table:
    """Return for each signature the settings and the scenes that it needs, and whether the plan has them.

    Args:
        questions: Of the plan.
        asked: The settings of the plan, with ``graphs`` if the model is asked for its graphs.
        seed: Of the simulations.
    """
    n = len({question.scene for question in questions})
    rows: list[list[Cell]] = []
    for name, need in _NEEDS.items():
        missing = [setting for setting in need.settings if setting not in asked]
        needed = scenes_needed(questions, name, seed=seed) if questions else None
        if missing:
            here = f"not measured: without {', '.join(missing)}"
        elif needed is None or n < needed:
            here = f"too few: {n}"
        else:
            here = f"enough: {n}"
        rows.append([name, ", ".join(need.settings), needed if needed is not None else _SIZES[-1], here])
    return Table.of(
        "scene.needs",
        "Scenes that each signature needs",
        [
            Column("signature", "signature"),
            Column("settings", "settings"),
            Column("scenes", "scenes", "count"),
            Column("here", "this plan"),
        ],
        rows,
        (
            f"Enough to raise a clear case, {CLEAR * 100:.0f} points beyond each threshold, in four of five runs.",
            "A weaker case needs more.",
        ),
    )

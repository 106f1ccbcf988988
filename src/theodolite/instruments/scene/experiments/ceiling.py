"""What a solver reaches on true graphs: the ceiling of everything that is derived with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from theodolite import stats
from theodolite.instruments.scene.data.graph import Domain, SceneGraph
from theodolite.instruments.scene.data.questions import GROUPS, Question
from theodolite.instruments.scene.estimates import Drawn
from theodolite.instruments.scene.formulas.derived import group_codes, scores_of
from theodolite.instruments.scene.formulas.layout import triangles
from theodolite.instruments.scene.formulas.sgc import Comparison
from theodolite.instruments.scene.formulas.solver import Derived, Solver, Solving


@dataclass(frozen=True, slots=True)
class Ceiling:
    """One solver on the true graphs of one domain."""

    solver: Solving
    domain: Domain | None
    """None: all."""
    n_questions: int
    macro: stats.Estimate | None
    groups: Mapping[str, stats.Estimate]
    """By form and competency."""
    failed: Mapping[str, int]
    """Questions without an answer, by reason."""
    triangles: int
    """Triangles camera–centre–object in the true graphs."""
    broken_triangles: int
    """Of those, such as cannot exist: 0 unless the data set is wrong."""

    def as_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return asdict(self)


def solver_ceilings(
    scenes: Mapping[str, SceneGraph],
    questions: Iterable[Question],
    *,
    solvers: Iterable[Solving] = ("geometric", "upstream"),
    comparison: Comparison = "<",
    seed: int = 0,
) -> tuple[Ceiling, ...]:
    """Answers every question from its scene's true graph, with each solver.

    Args:
        scenes: by id.
        questions: about them.
        solvers: which readings.
        comparison: of MRA.
        seed: of the intervals.
    """
    asked, drawn = list(questions), Drawn(seed)
    found = []
    for reading in solvers:
        ready = {name: Solver(scene.star(), reading) for name, scene in scenes.items()}
        derived = [ready[question.scene].solve(question) for question in asked]
        values = scores_of(asked, [answer.value for answer in derived], comparison=comparison)
        domains: tuple[Domain | None, ...] = (None, "indoor", "outdoor")
        for domain in domains:
            keep = np.array([domain is None or question.domain == domain for question in asked], bool)
            if keep.any():
                found.append(_ceiling(reading, domain, ready, asked, (derived, values, keep), drawn))
    return tuple(found)


def _ceiling(
    reading: Solving,
    domain: Domain | None,
    ready: Mapping[str, Solver],
    asked: list[Question],
    answers: tuple[list[Derived], np.ndarray, np.ndarray],
    drawn: Drawn,
) -> Ceiling:
    derived, values, keep = answers
    places = np.flatnonzero(keep)
    scenes = [asked[i].scene for i in places]
    codes = group_codes([asked[i] for i in places])
    groups = {}
    for code, (form, competency) in enumerate(GROUPS):
        inside = np.flatnonzero(codes == code)
        estimate = drawn.mean(values[places[inside]], [scenes[i] for i in inside])
        if estimate is not None:
            groups[f"{competency} ({form})"] = estimate
    checks = [triangles(ready[scene].graph) for scene in dict.fromkeys(scenes)]
    return Ceiling(
        reading,
        domain,
        n_questions=len(places),
        macro=drawn.macro(values[places], codes, scenes),
        groups=groups,
        failed=dict(Counter(derived[i].reason for i in places if derived[i].reason).most_common()),
        triangles=sum(n for n, _ in checks),
        broken_triangles=sum(n_broken for _, n_broken in checks),
    )

"""The figures that the signatures are read from, gathered from a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.instruments.scene.estimates import Drawn
from theodolite.instruments.scene.experiments.baselines import graph_floor, qa_floor
from theodolite.instruments.scene.experiments.blind import BlindTest
from theodolite.instruments.scene.experiments.paired_settings import paired, share_of
from theodolite.instruments.scene.experiments.signatures import Evidence
from theodolite.instruments.scene.formulas.derived import Cases
from theodolite.instruments.scene.formulas.graph_estimates import graph_scores
from theodolite.instruments.scene.formulas.sgc import Comparison
from theodolite.instruments.scene.results import SceneRows


def gather(
    rows: SceneRows,
    cases: Cases,
    blind: BlindTest | None,
    floors: Floors,
    drawn: Drawn,
    *,
    comparison: Comparison,
) -> Evidence:
    """Everything that `read_signatures` asks for, as far as it was measured."""
    with_graphs = _with_own_graph(rows, cases)
    sure = with_graphs.where(with_graphs.is_derivable)
    floor = floors.qa
    ones = np.ones(len(cases.cases))
    base = rows.of("base")
    own, true = (paired(base, rows.of(s), comparison=comparison) for s in ("predicted graph", "true graph"))
    dark = paired(base, rows.of("blind"), comparison=comparison)
    sgc_level, sgc_over = _graph_levels(rows, floors, drawn)
    return Evidence(
        qa_level=drawn.level_of(cases.base, floor, ones, cases.groups, cases.scenes),
        sgc_level=sgc_level,
        consistency_level=drawn.level_of(
            sure.agreement, sure.chance, np.ones(len(sure.cases)), sure.groups, sure.scenes
        ),
        qa_over_prior=drawn.difference(cases.base, floor, cases.groups, cases.scenes),
        sgc_over_prior=sgc_over,
        base_over_derived=drawn.difference(sure.base, sure.derived, sure.groups, sure.scenes),
        base_over_derived_test=drawn.test(sure.base, sure.derived, sure.scenes, groups=sure.groups),
        derived_over_base_test=drawn.test(sure.derived, sure.base, sure.scenes, groups=sure.groups),
        consistency_test=drawn.test(sure.agreement, sure.chance, sure.scenes, groups=sure.groups),
        predicted_gain=own.gain(drawn),
        predicted_drop_test=own.test(drawn, alternative="less"),
        compositional_gain=own.gain(drawn, "compositional"),
        compositional_test=own.test(drawn, "compositional", alternative="greater"),
        atomic_gain=own.gain(drawn, "atomic"),
        true_gain=true.gain(drawn),
        qa_drop=blind.qa_drop if blind is not None else None,
        qa_drop_test=dark.test(drawn, alternative="less"),
        sgc_drop=blind.sgc_drop if blind is not None else None,
        gap=blind.gap if blind is not None else None,
        same_blind_level=blind.same_answer_level if blind is not None else None,
        refused=_refused(rows, drawn),
        unreadable=_unreadable(rows, drawn),
    )


def _with_own_graph(rows: SceneRows, cases: Cases) -> Cases:
    """Questions of scenes whose graph was asked for."""
    graphs = rows.graphs.get("base", {})
    keep = [scene in graphs and graphs[scene].is_measured for scene in cases.scenes]
    return cases.where(np.array(keep, bool))


@dataclass(frozen=True, slots=True, eq=False)
class Floors:
    """What can be had without looking."""

    qa: NDArray[np.float64]
    """Of each case: the score of the prior answer."""
    sgc: Mapping[str, float]
    """Of each scene whose graph was asked for: SGC of the prior graph."""

    @classmethod
    def of(cls, rows: SceneRows, cases: Cases, comparison: Comparison) -> Floors:
        """Fitted to the questions and the true graphs of a run."""
        graphs = rows.graphs.get("base", {})
        found = graph_floor({s: r.true for s, r in graphs.items()}, {s: r.domain for s, r in graphs.items()})
        questions = [case.question for case in cases.cases]
        return cls(
            qa_floor(questions, comparison=comparison), {scene: score.sgc for scene, score in found.items()}
        )


def _graph_levels(
    rows: SceneRows, floors: Floors, drawn: Drawn
) -> tuple[stats.Estimate | None, stats.Estimate | None]:
    """The level of SGC between the prior graph and 1, and SGC minus the prior graph's."""
    graphs = rows.graphs.get("base", {})
    scores = graph_scores(graphs)
    scenes = list(scores)
    values = np.array([scores[scene].sgc for scene in scenes])
    floor = np.array([floors.sgc[scene] for scene in scenes])
    one = np.zeros(len(scenes), np.int64)
    return (
        drawn.level_of(values, floor, np.ones(len(scenes)), one, scenes),
        drawn.difference(values, floor, one, scenes),
    )


def _refused(rows: SceneRows, drawn: Drawn) -> dict[str, stats.Estimate]:
    found: dict[str, stats.Estimate | None] = {}
    for (setting, noise), given in rows.qa.items():
        found[_label("QA", setting, noise)] = share_of(given, ("refused",), drawn)
    for graph_setting, graphs in rows.graphs.items():
        measured = [row for row in graphs.values() if row.is_measured]
        flags = [row.reading.status == "refused" for row in measured]
        found[_label("graphs", graph_setting, None)] = drawn.mean(flags, [row.scene for row in measured])
    return {label: share for label, share in found.items() if share is not None}


def _unreadable(rows: SceneRows, drawn: Drawn) -> dict[str, stats.Estimate]:
    found: dict[str, stats.Estimate | None] = {}
    for (setting, noise), given in rows.qa.items():
        found[_label("QA", setting, noise)] = share_of(given, ("unparsed", "ambiguous"), drawn)
    for graph_setting, graphs in rows.graphs.items():
        measured = [row for row in graphs.values() if row.is_measured]
        flags = [
            row.reading.status != "refused"
            and not (row.reading.status == "parsed" and row.reading.is_complete)
            for row in measured
        ]
        found[_label("graphs", graph_setting, None)] = drawn.mean(flags, [row.scene for row in measured])
    return {label: share for label, share in found.items() if share is not None}


def _label(task: str, setting: str, noise: float | None) -> str:
    return f"{task}, {setting}" + (f" {noise:g}" if noise is not None else "")

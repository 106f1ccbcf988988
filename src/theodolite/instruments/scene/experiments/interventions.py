"""The dual intervention (CRISP, section 5): QA without a graph, with the model's own, with the true one, and with only that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theodolite import stats
from theodolite.core.tables import Column, Table
from theodolite.instruments.scene.data.questions import Layer
from theodolite.instruments.scene.experiments.paired import paired_scores, question_scores
from theodolite.instruments.scene.formulas.derived_qa import ScoreOptions
from theodolite.instruments.scene.questions import QaSetting
from theodolite.instruments.scene.reading.results import SceneResults

INTERVENTIONS: tuple[QaSetting, ...] = ("base", "predicted graph", "true graph", "true graph alone")
LAYERS: tuple[Layer | None, ...] = (None, "atomic", "compositional")


@dataclass(frozen=True, slots=True)
class Intervention:
    """QA in one setting, and against the base setting."""

    setting: QaSetting
    layer: Layer | None
    """None: all questions."""
    qa: stats.Estimate | None
    """Macro mean; questions that could not be asked because there was no graph score 0."""
    qa_of_asked: stats.Estimate | None
    """Without those."""
    gain: stats.Estimate | None
    """Over the base setting, paired, on questions measured in both."""
    test: stats.HypothesisTest | None
    """Whether the two differ."""
    without_graph: int


def interventions(results: SceneResults, options: ScoreOptions) -> tuple[Intervention, ...]:
    """Every setting that was measured, overall and by layer."""
    base, missing = results.answers("base"), results.without_graph
    found: list[Intervention] = []
    for setting in INTERVENTIONS:
        given = results.answers(setting)
        lost = missing if setting == "predicted graph" else []
        if not given and not lost:
            continue
        whole = question_scores(given, comparison=options.comparison, without_graph=lost)
        asked = question_scores(given, comparison=options.comparison)
        pair = paired_scores(base, given, comparison=options.comparison)
        for layer in LAYERS:
            is_base = setting == "base"
            part = pair.layer(layer)
            found.append(
                Intervention(
                    setting,
                    layer,
                    qa=whole.layer(layer).mean(),
                    qa_of_asked=asked.layer(layer).mean(),
                    gain=None if is_base else part.gain(),
                    test=None if is_base else part.test(options.seed),
                    without_graph=sum(layer is None or question.layer == layer for question in lost),
                )
            )
    return tuple(found)


def interventions_table(found: Sequence[Intervention]) -> Table:
    """A row for each setting and layer."""
    return Table.of(
        "scene.interventions",
        "Interventions: a graph in the prompt",
        [
            Column("setting", "setting"),
            Column("questions", "questions"),
            Column("qa", "QA", "share", "scene.accuracy"),
            Column("qa_of_asked", "QA of asked", "share", "scene.qa_of_asked"),
            Column("gain", "gain over base", "points", "scene.graph_gain"),
            Column("p", "p", "p"),
            Column("without_graph", "failed: no graph", "count"),
        ],
        [
            [
                each.setting,
                each.layer or "all",
                each.qa,
                each.qa_of_asked,
                each.gain,
                each.test.p_value if each.test is not None else None,
                each.without_graph,
            ]
            for each in found
        ],
    )

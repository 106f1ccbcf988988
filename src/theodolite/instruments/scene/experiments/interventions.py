"""The dual intervention: QA with no graph, with the model's own, with the true one, and with the true one and no picture."""

from __future__ import annotations

from dataclasses import dataclass

from theodolite import stats
from theodolite.instruments.scene.data.questions import Layer, Question
from theodolite.instruments.scene.estimates import Drawn
from theodolite.instruments.scene.experiments.paired_settings import paired, qa_scores
from theodolite.instruments.scene.formulas.sgc import Comparison
from theodolite.instruments.scene.results import SceneRows
from theodolite.instruments.scene.settings import QaSetting


@dataclass(frozen=True, slots=True)
class SettingFigures:
    """QA in one setting, as it was asked and against the base setting."""

    setting: QaSetting
    layer: Layer | None
    """None: all questions."""
    qa: stats.Estimate | None
    """Macro mean; questions that could not be asked for want of a graph score 0."""
    qa_of_asked: stats.Estimate | None
    """Without those."""
    gain: stats.Estimate | None
    """Over the base setting, paired, over questions asked in both."""
    test: stats.HypothesisTest | None
    """Whether the two differ: signs flipped scene by scene."""
    without_graph: int


INTERVENTIONS: tuple[QaSetting, ...] = ("base", "predicted graph", "true graph", "true graph alone")
LAYERS: tuple[Layer | None, ...] = (None, "atomic", "compositional")


def without_graph(rows: SceneRows) -> list[Question]:
    """Questions of the base setting that were not asked with a predicted graph, because the model gave none."""
    given = rows.of("predicted graph")
    if not given and "predicted graph" not in rows.asked_for:
        return []
    graphs = rows.graphs.get("base", {})
    return [
        row.question
        for key, row in rows.of("base").items()
        if key not in given
        and row.question.scene in graphs
        and graphs[row.question.scene].is_measured
        and not graphs[row.question.scene].reading.is_read
    ]


def interventions(rows: SceneRows, drawn: Drawn, comparison: Comparison) -> tuple[SettingFigures, ...]:
    """Every setting that was measured, overall and by layer."""
    base = rows.of("base")
    missing = without_graph(rows)
    found: list[SettingFigures] = []
    for setting in INTERVENTIONS:
        given = rows.of(setting)
        lost = missing if setting == "predicted graph" else []
        if not given and not lost:
            continue
        whole = qa_scores(given, comparison=comparison, without_graph=lost)
        asked = qa_scores(given, comparison=comparison)
        pair = paired(base, given, comparison=comparison)
        for layer in LAYERS:
            qa = whole.layer(layer).macro(drawn)
            found.append(
                SettingFigures(
                    setting,
                    layer,
                    qa=qa,
                    qa_of_asked=asked.layer(layer).macro(drawn) if lost else qa,
                    gain=pair.gain(drawn, layer) if setting != "base" else None,
                    test=pair.test(drawn, layer) if setting != "base" else None,
                    without_graph=sum(layer is None or question.layer == layer for question in lost),
                )
            )
    return tuple(found)

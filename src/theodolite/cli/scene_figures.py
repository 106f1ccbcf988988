"""The pictures of ``theodolite scene score --figures``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from theodolite.cli.console import note
from theodolite.core.drawing import Drawing
from theodolite.core.errors import UsageError
from theodolite.instruments.scene.data.files import SceneData, read_data
from theodolite.instruments.scene.figures.maps import GraphView, graphs_from_above
from theodolite.instruments.scene.figures.scores import intervention_bars, qa_against, radar, threshold_curve
from theodolite.instruments.scene.results import SceneRows, read_rows
from theodolite.instruments.scene.score import SceneScore
from theodolite.runs import Run


def draw_scores(scores: Mapping[str, SceneScore], folder: Path) -> list[Path]:
    """The figures that several runs share, and the threshold of each that has one.

    Args:
        scores: by the name to show; the first is the run that was asked for.
        folder: to write into.
    """
    drawings: dict[str, Drawing] = {}
    if any(score.table[0].qa is not None for score in scores.values()):
        drawings["radar"] = radar(scores, title="QA by group")
    if any(score.table[0].graphs is not None and score.table[0].qa is not None for score in scores.values()):
        drawings["qa_sgc"] = qa_against(scores, "sgc", title="Answers against graphs")
        drawings["qa_consistency"] = qa_against(
            scores, "consistency", title="Answers against their own graph"
        )
    if any(figures.setting != "base" for score in scores.values() for figures in score.interventions):
        drawings["interventions"] = intervention_bars(scores, title="What a graph in the prompt changes")
    for i, (name, score) in enumerate(scores.items()):
        if score.threshold is not None:
            title = f"How good must a graph be to help?\n{name}"
            drawings[f"threshold_{i + 1}"] = threshold_curve(score.threshold, score.table[0].qa, title=title)
    return [drawing.save(folder / f"{name}.png") for name, drawing in drawings.items()]


def draw_cases(run: Run, score: SceneScore, folder: Path) -> list[Path]:
    """The first case of each quadrant: the picture, the true map and the model's, if the data set is still there."""
    data = _data_of(run)
    if data is None:
        note("no maps are drawn: the data set of the run is not where it was")
        return []
    rows: SceneRows = read_rows(run, mode=score.mode)
    found, seen = [], set()
    for case in score.cases:
        row = rows.graphs.get("base", {}).get(case.scene)
        if case.cell in seen or case.scene not in data.scenes or row is None or row.reading.graph is None:
            continue
        seen.add(case.cell)
        picture = data.picture(case.scene)
        view = GraphView(
            data.scenes[case.scene], row.reading.graph, picture.pixels() if picture is not None else None
        )
        asked = case.text.partition("\n")[0]
        title = f"{case.cell}: {asked}\ngold {case.gold}, said {case.direct}, its graph says {case.derived}"
        name = f"case_{case.cell.replace(' ', '_')}.png"
        found.append(graphs_from_above(view, title=title).save(folder / name))
    return found


def _data_of(run: Run) -> SceneData | None:
    place = run.info.settings.get("data")
    try:
        return read_data(place) if place else None
    except UsageError:
        return None

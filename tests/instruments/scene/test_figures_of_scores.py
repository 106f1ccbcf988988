"""Figures of scene scores: what is drawn is what was scored."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from scene_worlds import asked, box_world, rows_of, scored

from theodolite.core.errors import UsageError
from theodolite.instruments.scene import scripts
from theodolite.instruments.scene.experiments.noise import noisy_graph
from theodolite.instruments.scene.experiments.relations import relation_confusions, relations_table
from theodolite.instruments.scene.figures.scores import (
    GraphView,
    derived_against_sgc,
    graphs_from_above,
    intervention_bars,
    qa_against,
    radar,
    relation_figure,
    solver_figure,
    threshold_curve,
)
from theodolite.instruments.scene.formulas.solver import SOLVERS
from theodolite.instruments.scene.kinds import GROUPS, group_name
from theodolite.worlds.scene_graph import StarGraph

BOXES = box_world(2, seed=9)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return box_world(6, seed=5, folder=tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def scores(world):
    return {
        "one": scored(asked(world, scripts.trusting, noise=(0.0, 0.3))),
        "two": scored(asked(world, scripts.shortcut)),
    }


def test_each_model_has_a_radar_of_nine_axes(scores, tmp_path):
    drawing = radar(scores, title="t")
    assert len(drawing.figure.axes) == len(scores)
    axes = drawing.figure.axes[1]
    assert len(axes.get_xticks()) == 9
    line = next(line for line in axes.lines if line.get_label() == "two")
    expected = [scores["two"].mean("qa", group=group_name(*group)).value for group in GROUPS]
    assert line.get_ydata()[:-1] == pytest.approx(expected)
    assert drawing.save(tmp_path / "radar.png").stat().st_size > 5000


@pytest.mark.parametrize("what", ["sgc", "consistency"])
def test_each_model_is_a_point(scores, what):
    axes = qa_against(scores, what).figure.axes[0]
    points = {(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines if line.get_marker() == "o"}
    for score in scores.values():
        assert (score.mean(what).value, score.mean("qa").value) in points


def test_stacks_add_up_to_the_whole(scores):
    tops = {}
    for i, axes in enumerate(intervention_bars(scores).figure.axes):
        for bar in axes.patches:
            x = i, round(bar.get_x(), 6)
            tops[x] = max(tops.get(x, 0), bar.get_y() + bar.get_height())
    heights = sorted(top for top in tops.values() if top > 0)
    expected = sorted(f.qa.value for score in scores.values() for f in score.interventions if f.layer is None)
    assert heights == pytest.approx(expected)


def test_the_threshold_is_drawn_with_or_without_a_crossing(scores):
    found = scores["one"].threshold
    axes = threshold_curve(found, scores["one"].mean("qa")).figure.axes[0]
    curve = next(line for line in axes.lines if line.get_label() == "with the graph")
    assert curve.get_ydata() == pytest.approx([level.qa.value for level in found.levels])


def test_a_map_shows_every_object_where_the_graph_has_it(world):
    scene = max(world.scenes.values(), key=lambda s: len(s.objects))
    predicted = noisy_graph(scene.star(), 0.1, np.random.default_rng(0))
    pixels = np.full((60, 90, 3), 120, np.uint8)
    figure = graphs_from_above(GraphView(scene, predicted, pixels)).figure
    assert len(figure.axes) == 3
    for axes in figure.axes[1:]:
        marks = {text.get_text() for text in axes.texts if text.get_text().isdigit()}
        assert marks == {str(thing.id) for thing in scene.objects}
    assert len(graphs_from_above(GraphView(scene, predicted)).figure.axes) == 2


def test_the_map_of_a_perfect_graph_lies_on_the_true_one_but_for_the_solvers_own_error(world):
    """A star graph fixes no bearings, so both maps are turned until the centre is ahead."""
    for scene in world.scenes.values():
        true, found = graphs_from_above(GraphView(scene, scene.star())).figure.axes
        places = [
            {text.get_text(): text.xy for text in axes.texts if text.get_text().isdigit()}
            for axes in (true, found)
        ]
        far = max(y for _, y in places[0].values())
        assert places[0][str(scene.centre)][0] == pytest.approx(0, abs=1e-9)
        own = [line for line in found.lines if line.get_markerfacecolor() == "none"]
        moved = [m for m in places[0] if np.hypot(*np.subtract(places[0][m], places[1][m])) > 0.03 * far]
        assert len(moved) <= len(own)
        assert any("own error" in text.get_text() for text in found.texts)


def test_the_words_of_graphs_are_drawn_as_shares_of_what_is_true(scores):
    matrices = scores["two"].relations
    figure = relation_figure(matrices, title="t").figure
    assert len(figure.axes) == len(matrices) == 3
    for axes, matrix in zip(figure.axes, matrices, strict=True):
        shown = [text.get_text() for text in axes.texts]
        assert shown == [f"{100 * matrix.share(t, s):.0f} %" for t in matrix.true for s in matrix.said]
        for true in matrix.true:
            assert sum(matrix.share(true, said) for said in matrix.said) == pytest.approx(1)
    table = rows_of(relations_table(matrices))
    assert all(sum(row[name] for name in list(row)[2:]) == pytest.approx(1) for row in table.values())
    true = relation_confusions([(graph, graph) for graph in (s.star() for s in BOXES.scenes.values())])
    assert all(matrix.share(word, word) == 1 for matrix in true for word in matrix.true)
    (lost, *_) = relation_confusions([(s.star(), None) for s in BOXES.scenes.values()])
    assert lost.share("left", "no edge") == 1


def extents(figure, artists):
    renderer = figure.canvas.get_renderer()
    return [artist.get_window_extent(renderer) for artist in artists]


def cut_off(drawing):
    """The words that do not lie wholly within the picture."""
    figure = drawing.figure
    FigureCanvasAgg(figure).draw()
    unseen = {
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        for label in (tick.label1, tick.label2)
        if axis.axes.name != "polar"
        and (
            not axis.axes.axison
            or not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
        )
    }
    words = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip() and t not in unseen]
    inside = figure.bbox.padded(1)
    return [
        word.get_text()
        for word, box in zip(words, extents(figure, words), strict=True)
        if not (inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 and box.y1 <= inside.y1)
    ]


LONG = "openai:Qwen2.5-VL-72B-Instruct"


def test_no_word_is_cut_off_however_long_a_models_name_is(scores, world):
    long = {f"{LONG}-{i}": score for i, score in enumerate([*scores.values(), *scores.values()])}
    threshold = scores["one"].threshold
    scene = max(world.scenes.values(), key=lambda s: len(s.objects))
    predicted = noisy_graph(scene.star(), 0.6, np.random.default_rng(0))
    pixels = np.full((675, 1200, 3), 120, np.uint8)
    drawings = {
        "radar": radar(long, title="QA by group"),
        "sgc": qa_against(long, "sgc", title="t"),
        "consistency": qa_against(long, "consistency", title="t"),
        "bars": intervention_bars(long, title="t"),
        "relations": relation_figure(scores["one"].relations, title=f"Words of its graphs\n{LONG}"),
        "threshold": threshold_curve(threshold, title=f"How good must a graph be to help?\n{LONG}"),
        "map": graphs_from_above(GraphView(scene, predicted, pixels), title="one line\nand another"),
    }
    assert {name: cut_off(drawing) for name, drawing in drawings.items()} == {name: [] for name in drawings}


@pytest.mark.parametrize("what", ["sgc", "consistency"])
def test_no_name_stands_on_another(scores, what):
    alike = {f"scripted:scene-{i}": scores["one"] for i in range(4)}
    figure = qa_against(alike, what, title="t").figure
    FigureCanvasAgg(figure).draw()
    boxes = extents(figure, [t for t in figure.axes[0].texts if t.get_text().startswith("scripted")])
    assert len(boxes) == 4
    assert not [(a, b) for a, b in combinations(boxes, 2) if a.overlaps(b)]
    assert all(box.y1 <= figure.axes[0].bbox.y1 for box in boxes)


def test_models_stand_beside_the_curves_of_the_solvers(scores):
    (axes,) = derived_against_sgc(scores).figure.axes
    assert {text.get_text() for text in axes.texts} == set(scores)
    assert [text.get_text().split(":")[0] for text in axes.get_legend().get_texts()] == list(SOLVERS)
    assert "fused" in axes.get_ylabel()
    with pytest.raises(UsageError, match="nothing to draw"):
        solver_figure([])


def test_nothing_to_draw_is_refused(world):
    with pytest.raises(UsageError, match="at least one"):
        radar({})
    scene = next(iter(world.scenes.values()))
    with pytest.raises(UsageError, match="holds no object"):
        graphs_from_above(GraphView(scene, StarGraph(1, (), ())))

"""Figures of scene scores: what is drawn is what was scored."""

import numpy as np
import pytest
from scene_worlds import asked, box_world

from theodolite.errors import UsageError
from theodolite.report.scene_maps import GraphView, graphs_from_above
from theodolite.report.scene_scores import intervention_bars, qa_against, radar, threshold_curve
from theodolite.scene import StarGraph, scripts
from theodolite.scene.scoring import ScoreOptions, noisy_graph, score_rows


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return box_world(6, seed=5, folder=tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def scores(world):
    options = ScoreOptions(n_resamples=100)
    return {
        "one": score_rows(asked(world, scripts.trusting, noise=(0.0, 0.3)), options),
        "two": score_rows(asked(world, scripts.shortcut), options),
    }


def test_the_radar_has_nine_axes_and_a_line_a_model(scores, tmp_path):
    drawing = radar(scores, title="t")
    axes = drawing.figure.axes[0]
    assert len(axes.get_xticks()) == 9
    line = next(line for line in axes.lines if line.get_label() == "two")
    assert line.get_ydata()[:-1] == pytest.approx([group.qa.value for group in scores["two"].groups])
    assert drawing.save(tmp_path / "radar.png").stat().st_size > 5000


@pytest.mark.parametrize("what", ["sgc", "consistency"])
def test_each_model_is_a_point(scores, what):
    axes = qa_against(scores, what).figure.axes[0]
    points = {(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines if line.get_marker() == "o"}
    for score in scores.values():
        row = score.table[0]
        across = row.graphs.sgc if what == "sgc" else row.consistency
        assert (across.value, row.qa.value) in points


def test_stacks_add_up_to_the_whole(scores):
    axes = intervention_bars(scores).figure.axes[0]
    tops = {}
    for bar in axes.patches:
        x = round(bar.get_x(), 6)
        tops[x] = max(tops.get(x, 0), bar.get_y() + bar.get_height())
    heights = sorted(top for top in tops.values() if top > 0)
    expected = sorted(f.qa.value for score in scores.values() for f in score.interventions if f.layer is None)
    assert heights == pytest.approx(expected)


def test_the_threshold_is_drawn_with_or_without_a_crossing(scores):
    found = scores["one"].threshold
    axes = threshold_curve(found, scores["one"].table[0].qa).figure.axes[0]
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


def test_nothing_to_draw_is_refused(world):
    with pytest.raises(UsageError, match="at least one"):
        radar({})
    scene = next(iter(world.scenes.values()))
    with pytest.raises(UsageError, match="holds no object"):
        graphs_from_above(GraphView(scene, StarGraph(1, (), ())))

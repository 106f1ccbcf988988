"""What curves and dot plots show, read back from the drawing."""

import numpy as np
import pytest

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.experiments.faithfulness.score import DeletionPoint
from theodolite.instruments.compass.figures.plots import (
    DirectionScore,
    class_accuracy_and_error,
    deletion_curves,
    method_comparison,
    risk_coverage_curves,
)


def estimate(value, width=0.1, n=12):
    return stats.Estimate(value, value - width, value + width, n, 0.95, "made", n_items=2 * n)


def lines(axes):
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}


def test_risk_coverage_curves_are_the_curves_with_their_areas():
    correct = np.array([1, 1, 0, 1, 0, 0, 1, 0])
    curves = {
        "sure": stats.risk_coverage(correct, correct),
        "unsure": stats.risk_coverage(-correct, correct),
    }
    axes = risk_coverage_curves(curves, title="t").figure.axes[0]
    drawn = lines(axes)
    assert list(drawn) == [f"sure ({curves['sure'].area:.3f})", f"unsure ({curves['unsure'].area:.3f})"]
    for line, curve in zip(drawn.values(), curves.values(), strict=True):
        assert line.get_xdata() == pytest.approx(curve.coverage)
        assert line.get_ydata() == pytest.approx(curve.risk)
    assert "all answers:\n50 % wrong" in [text.get_text() for text in axes.texts]
    assert axes.get_title(loc="left") == "t"
    assert len({line.get_color() for line in drawn.values()}) == 2


def test_deletion_curves_show_means_intervals_and_areas():
    own = [DeletionPoint(k, k / 8, estimate(-0.1 * k) if k else 0.0) for k in range(9)]
    random = [DeletionPoint(k, k / 8, estimate(-0.05 * k, 0.02)) for k in range(9)]
    axes = deletion_curves({"own": own, "random": random, "mine": random[::-1]}).figure.axes[0]
    drawn = lines(axes)
    assert list(drawn) == ["own order, area −0.40", "random order, area −0.20", "mine order, area −0.20"]
    assert drawn["own order, area −0.40"].get_ydata() == pytest.approx([-0.1 * k for k in range(9)])
    assert len({line.get_color() for line in drawn.values()}) == 3
    spans = np.array([path.vertices[:, 1] for path in axes.collections[0].get_paths()])
    assert (spans.min(), spans.max()) == pytest.approx((-0.9, 0.0))
    assert "24 pairs on 12 pictures; 95 % intervals" in [text.get_text() for text in axes.texts]
    assert list(axes.get_xticks()) == list(range(9))


def test_classes_stand_in_order_with_accuracy_beside_error():
    classes = {
        "left": DirectionScore(estimate(0.7), estimate(91.0, 8)),
        "below": DirectionScore(estimate(0.3), estimate(50.0, 8)),
    }
    left, right = class_accuracy_and_error(classes, chance=0.25).figure.axes
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["left", "below"]
    places = list(left.get_yticks())
    assert places == [1, 0]  # from top to bottom
    dots = [axes.get_lines()[2] for axes in (left, right)]
    assert dots[0].get_xdata() == pytest.approx([0.7, 0.3])
    assert dots[1].get_xdata() == pytest.approx([91.0, 50.0])
    assert dots[0].get_ydata() == pytest.approx(places)
    assert left.get_lines()[0].get_xdata() == pytest.approx([0.6, 0.8])
    assert left.get_lines()[3].get_xdata() == [0.25, 0.25]
    assert right.get_lines()[3].get_xdata() == [90.0, 90.0]


def test_each_direction_shows_what_its_layout_alone_gives():
    classes = {
        "left": DirectionScore(estimate(0.7), estimate(91.0, 8), estimate(49.0, 4)),
        "below": DirectionScore(estimate(0.3), estimate(50.0, 8)),  # unknown on these pairs
    }
    figure = class_accuracy_and_error(classes).figure
    layout = lines(figure.axes[1])["uniform map"]
    assert (list(layout.get_xdata()), list(layout.get_ydata())) == ([49.0], [1])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["uniform map"]


def test_methods_are_sorted_and_stand_against_the_uniform_map():
    methods = {"far": estimate(80.0, 5), "near": estimate(40.0, 5), "middle": estimate(60.0, 5)}
    one = dict.fromkeys(methods, estimate(42.0, 3))
    figure = method_comparison(
        methods, layout=one, published={"near": 47.9}, source="their Table 1", title="t"
    ).figure
    axes = figure.axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["near", "middle", "far"]
    dots = next(line for line in axes.get_lines() if len(line.get_xdata()) == 3)
    assert dots.get_xdata() == pytest.approx([40.0, 60.0, 80.0])
    assert dots.get_ydata() == pytest.approx([2, 1, 0])
    assert [text.get_text() for text in axes.texts] == ["uniform map"]
    line = next(line for line in axes.get_lines() if list(line.get_xdata()) == [42.0, 42.0])
    assert line.get_linestyle() != "-"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["their Table 1"]
    hollow = lines(axes)["their Table 1"]
    assert (list(hollow.get_xdata()), list(hollow.get_ydata())) == ([47.9], [2])


def test_methods_of_several_grids_stand_each_beside_the_uniform_map_of_its_own():
    methods = {"far": estimate(80.0, 5), "near": estimate(40.0, 5)}
    figure = method_comparison(methods, layout={"far": estimate(50.0, 3), "near": estimate(42.0, 3)}).figure
    marks = lines(figure.axes[0])["uniform map"]
    assert (list(marks.get_xdata()), list(marks.get_ydata())) == ([42.0, 50.0], [1, 0])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["uniform map"]


def test_empty_and_unfit_input_is_refused():
    curve = stats.risk_coverage([1, 2], [0, 1])
    with pytest.raises(UsageError, match="8 lines in one figure"):
        risk_coverage_curves({str(i): curve for i in range(8)})
    for draw in (risk_coverage_curves, deletion_curves, class_accuracy_and_error, method_comparison):
        with pytest.raises(UsageError, match="nothing to draw"):
            draw({})
    with pytest.raises(UsageError, match="'own' has no points"):
        deletion_curves({"own": []})
    with pytest.raises(UsageError, match="with their source"):
        method_comparison({"a": estimate(1.0)}, published={"a": 2.0})

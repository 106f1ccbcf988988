"""What compass figures show: wedges, arrows, boxes and heat where they belong, read back from the drawing and its pixels."""

import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch, Rectangle, Wedge
from PIL import Image

from theodolite.core.drawing import PEAK, REFERENCE, TARGET, TRUE
from theodolite.core.errors import StorageError, UsageError
from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.data.pairs import Region
from theodolite.instruments.compass.figures.overlay import (
    CompassView,
    compass_overlay,
    compass_rows,
    heat_map,
    polar_plot,
)
from theodolite.instruments.compass.formulas.baselines import uniform_map
from theodolite.instruments.compass.formulas.dae import DirectionMass
from theodolite.instruments.compass.formulas.projection import TokenMap, project

WIDTH, HEIGHT = 200, 120
A = Region("cup", Box(80, 50, 100, 70))


def view(target=(150, 10), region=None, hot=None, **more):
    """A picture of middle grey, relevance on one place, A in the middle and B somewhere."""
    b = Box(target[0] - 10, target[1] - 10, target[0] + 10, target[1] + 10)
    grid = TokenGrid.regular((WIDTH, HEIGHT), (6, 10), region)
    x, y = hot or target
    values = Box(x - 10, y - 10, x + 10, y + 10).covers(grid.rects_px) + 0.001
    relevance = TokenMap(values, grid)
    return CompassView(
        np.full((HEIGHT, WIDTH, 3), 120, np.uint8),
        A,
        Region("pen", b),
        relevance,
        project(relevance, reference=A.box, target=b),
        project(uniform_map(grid), reference=A.box, target=b),
        **more,
    )


def arrows(axes):
    """The arrows' angles by name, 0° to the right and 90° upward."""
    found = {}
    for patch in axes.patches:
        if isinstance(patch, FancyArrowPatch):
            (x0, y0), (x1, y1) = patch._posA_posB
            found[patch.get_gid()] = np.degrees(np.arctan2(y0 - y1, x1 - x0)) % 360
            assert (x0, y0) == A.box.centre_px
    return found


@pytest.mark.parametrize("target", [(150, 10), (30, 20), (40, 110), (90, 15), (170, 100)])
def test_arrows_point_at_the_truth_and_at_the_peak(target):
    shown = view(target)
    axes = compass_overlay(shown).figure.axes[0]
    assert arrows(axes) == {
        "true direction": pytest.approx(float(shown.compass.true_deg)),
        "compass peak": pytest.approx(float(shown.compass.peak_deg())),
    }
    # On these axes y counts downward: the arrow of a target further down must end further down.
    true = next(patch for patch in axes.patches if patch.get_gid() == "true direction")
    end = true._posA_posB[1]
    assert np.sign(end[1] - 60) == np.sign(target[1] - 60)
    assert np.sign(end[0] - 90) == np.sign(target[0] - 90)
    assert 0 <= end[0] <= WIDTH
    assert 0 <= end[1] <= HEIGHT


def test_an_arrow_that_would_leave_the_picture_is_shortened_but_stays_visible():
    shown = view((90, 15))
    patch = next(p for p in compass_overlay(shown).figure.axes[0].patches if p.get_gid() == "true direction")
    assert 0 < patch._posA_posB[1][1] < 15


def test_wedges_are_as_long_as_their_share_and_lie_where_their_sector_lies():
    shown = view((150, 10))
    axes = compass_overlay(shown).figure.axes[0]
    wedges = {patch.get_gid(): patch for patch in axes.patches if isinstance(patch, Wedge)}
    assert len(wedges) == 8
    radii = np.array([wedges[f"wedge {middle:g}"].r for middle in shown.compass.centres_deg])
    shares = shown.compass.distribution
    assert radii / radii.max() == pytest.approx(shares / shares.max())
    peak = wedges[f"wedge {float(shown.compass.peak_deg()):g}"]
    assert peak.r == radii.max()
    place = axes.transData.transform
    assert peak.contains_point(place((120, 40)))  # between A and B, up and to the right
    assert not peak.contains_point(place((60, 40)))
    assert not peak.contains_point(place((120, 80)))


def rendered(drawing, tmp_path, point):
    """The colour at a point of the picture, in the saved file."""
    path = drawing.save(tmp_path / "figure.png")
    pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
    axes = drawing.figure.axes[0]
    x, y = axes.transData.transform(point)
    scale = pixels.shape[1] / drawing.figure.bbox.width
    return pixels[round(pixels.shape[0] - y * scale), round(x * scale)]


def rgb(colour):
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])


def test_the_boxes_are_drawn_in_their_colours_and_named(tmp_path):
    drawing = compass_overlay(view((150, 90), hot=(20, 20)))
    assert np.abs(rendered(drawing, tmp_path, (140, 97)) - rgb(TARGET)).max() < 30
    assert np.abs(rendered(drawing, tmp_path, (100, 53)) - rgb(REFERENCE)).max() < 30
    texts = [text.get_text() for text in drawing.figure.axes[0].texts]
    assert {"A cup", "B pen"} <= set(texts)


def test_the_pixels_under_the_arrows_are_theirs(tmp_path):
    shown = view((170, 60), hot=(90, 10))  # true to the right, peak above
    drawing = compass_overlay(shown)
    assert np.abs(rendered(drawing, tmp_path, (115, 60)) - rgb(TRUE)).max() < 30
    angle = np.deg2rad(float(shown.compass.peak_deg()))
    on_peak = 90 + 30 * np.cos(angle), 60 - 30 * np.sin(angle)
    assert np.abs(rendered(drawing, tmp_path, on_peak) - rgb(PEAK)).max() < 30


def test_heat_lies_on_the_exact_token_and_what_is_unseen_is_hatched(tmp_path):
    shown = view((150, 90), region=(40.0, 0.0, 160.0, 120.0), hot=(100, 30))
    drawing = heat_map(shown)
    axes = drawing.figure.axes[0]
    heat = axes.images[1].get_array()
    assert heat.shape == (HEIGHT, WIDTH)
    expected = shown.relevance.grid.paint(shown.relevance.values)
    np.testing.assert_allclose(heat, expected / expected.max())
    hatches = [p.get_bbox().bounds for p in axes.patches if p.get_gid() == "unseen"]
    assert hatches == [(0, 0, 40, 120), (160, 0, 40, 120)]
    hot, cold = rendered(drawing, tmp_path, (100, 30)), rendered(drawing, tmp_path, (50, 100))
    assert hot.sum() > cold.sum() + 200


def test_the_polar_plot_has_a_bar_per_sector_and_both_directions():
    shown = view((150, 10))
    drawing = polar_plot(shown)
    axes = drawing.figure.axes[0]
    bars = {patch.get_gid(): patch for patch in axes.patches if str(patch.get_gid()).startswith("bar")}
    heights = [bars[f"bar {middle:g}"].get_height() for middle in shown.compass.centres_deg]
    assert heights == pytest.approx(shown.compass.distribution)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["uniform map", "true", "peak"]
    ends = {text.get_gid(): text.xy[0] for text in axes.texts if text.get_gid()}
    assert np.rad2deg(ends["true"]) == pytest.approx(float(shown.compass.true_deg))
    assert np.rad2deg(ends["peak"]) == pytest.approx(float(shown.compass.peak_deg()))
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["right", "above", "left", "below"]
    assert "aligned · DAE" in drawing.figure.get_suptitle()


@pytest.mark.parametrize("size", [(200, 120), (120, 200), (40, 220)])
@pytest.mark.parametrize("draw", [compass_overlay, heat_map, lambda shown: compass_rows([shown, shown])])
def test_nothing_is_cut_off_however_narrow_the_picture(draw, size):
    width, height = size
    a, b = Box(0.6 * width, 60, 0.9 * width, 80), Box(0.7 * width, 10, 0.95 * width, 30)
    grid = TokenGrid.regular(size, (10, 4))
    relevance = TokenMap(b.covers(grid.rects_px) + 0.01, grid)
    shown = CompassView(
        np.full((height, width, 3), 120, np.uint8),
        Region("traffic light", a),
        Region("fire hydrant", b),
        relevance,
        project(relevance, reference=a, target=b),
        method="contrastive-grad-act-sound@pred",
        projection="paper projection",
        note="B is above right of A; answer: below left ×",
    )
    figure = draw(shown).figure
    figure.draw_without_rendering()
    whole = figure.bbox.padded(1.5)
    panels = figure.axes
    for number, axes in enumerate(panels):
        box = axes.get_tightbbox()
        assert whole.contains(box.x0, box.y0), axes
        assert whole.contains(box.x1, box.y1), axes
        title, beside = axes._left_title.get_window_extent(), panels[number + 1 : number + 2]
        if axes._left_title.get_text() and beside and number % 4 < 2:
            assert title.x1 <= beside[0]._left_title.get_window_extent().x0, (
                "a title ends before the next begins"
            )
    for text in figure.texts:
        box = text.get_window_extent()
        assert whole.contains(box.x0, box.y0), text
        assert whole.contains(box.x1, box.y1), text
    if len(panels) == 1:
        image = panels[0].images[0].get_window_extent()
        assert image.height / image.width == pytest.approx(height / width, rel=0.02)
        assert max(image.size) / figure.dpi == pytest.approx(6.6, rel=0.02), "as large as any picture"


def test_a_row_has_four_panels_and_says_what_it_shows():
    views = [
        view((150, 10), method="chefer@gt", note="answer: right ✓"),
        view((30, 20), hot=(170, 100), method="gradcam@gt", note="answer: right ×"),
    ]
    figure = compass_rows(views).figure
    assert len(figure.axes) == 8
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:3] == ["answer: right ✓", "chefer@gt", views[0].headline]
    assert titles[4:7] == ["answer: right ×", "gradcam@gt", views[1].headline]
    assert views[0].headline.startswith("aligned")
    assert views[1].headline.startswith("layout-dominated")
    assert [sum(isinstance(p, Rectangle) for p in axes.patches) for axes in figure.axes[:3]] == [2, 2, 2]


def test_views_that_make_no_sense_are_refused():
    shown = view()
    with pytest.raises(UsageError, match="one compass with its truth"):
        CompassView(
            shown.pixels,
            A,
            shown.target,
            shown.relevance,
            project(shown.relevance, reference=A.box, options=_free()),
        )
    many = DirectionMass(
        *(np.stack([np.asarray(x)] * 2) if i != 1 else x for i, x in enumerate(_parts(shown.compass)))
    )
    with pytest.raises(UsageError, match=r"got the shape \(2,\)"):
        CompassView(shown.pixels, A, shown.target, shown.relevance, many)
    with pytest.raises(UsageError, match="belongs to a picture of 200×120, not of 50×40"):
        heat_map(
            CompassView(np.zeros((40, 50, 3), np.uint8), A, shown.target, shown.relevance, shown.compass)
        )
    with pytest.raises(UsageError, match="nothing to draw"):
        compass_rows([])


def _free():
    from theodolite.instruments.compass.formulas.projection import ProjectionOptions

    return ProjectionOptions(weight="none")


def _parts(compass):
    return (compass.distribution, compass.centres_deg, compass.true_deg, compass.used_share, compass.codes)


def test_saving_knows_its_formats_and_its_limits(tmp_path):
    drawing = polar_plot(view())
    for name in ("a.png", "deep/b.svg", "c.pdf"):
        assert drawing.save(tmp_path / name).stat().st_size > 2000
    assert drawing.save(tmp_path / "d.svg").read_bytes() != b""
    with pytest.raises(UsageError, match="cannot write a figure as"):
        drawing.save(tmp_path / "a.txt")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        drawing.save(tmp_path / "file" / "a.png")


def test_drawing_leaves_matplotlib_as_it_was():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    compass_overlay(view())
    assert dict(mpl.rcParams) == before

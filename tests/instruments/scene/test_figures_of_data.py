"""The picture of the question distribution: what it counts, read back from what is drawn."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from scene_made import strewn_scenes

from theodolite.core.errors import UsageError
from theodolite.instruments.scene.data.make import make_questions
from theodolite.instruments.scene.figures.data import question_distribution
from theodolite.instruments.scene.kinds import GROUPS

QUESTIONS = make_questions(strewn_scenes(60)).questions


def test_every_count_stands_in_the_picture(tmp_path):
    drawing = question_distribution(QUESTIONS, title="What is asked")
    rings, groups, letters = drawing.figure.axes
    said = [text.get_text() for text in rings.texts]
    assert f"{len(QUESTIONS):,}\nquestions" in said
    for competency in {q.competency for q in QUESTIONS}:
        n = sum(q.competency == competency for q in QUESTIONS)
        assert f"{competency}\n{n:,}" in said
    widths = [bar.get_width() for bar in groups.patches]
    assert sum(widths) == len(QUESTIONS)
    for place, group in enumerate(GROUPS):
        assert widths[place] + widths[place + 9] == sum(q.group == group for q in QUESTIONS)
    heights = [bar.get_height() for bar in letters.patches]
    assert sum(heights[:2]) == pytest.approx(1)
    assert sum(heights[2:]) == pytest.approx(1)
    assert (tmp_path / "a.png") == drawing.save(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 20_000


@pytest.mark.parametrize("few", ["counting", "transformation", "deduction"])
def test_a_label_keeps_to_its_ring(few):
    """Also that of a competency that is seldom asked about."""
    some = [q for q in QUESTIONS if q.competency == few]
    asked = [q for q in QUESTIONS if q.competency != few] + some[: len(QUESTIONS) // 12]
    figure = question_distribution(asked).figure
    FigureCanvasAgg(figure).draw()
    rings = figure.axes[0]
    label = next(text for text in rings.texts if text.get_text().startswith(f"{few}\n"))
    turn = label.get_rotation()
    label.set_rotation(0)
    box = label.get_window_extent(figure.canvas.get_renderer()).transformed(rings.transData.inverted())
    x, y = label.get_position()
    across = np.array([np.cos(np.radians(turn)), np.sin(np.radians(turn))])
    corners = [
        np.array([x, y]) + i * box.width / 2 * across + j * box.height / 2 * np.array([-across[1], across[0]])
        for i in (-1, 1)
        for j in (-1, 1)
    ]
    wedge = next(w for w in rings.patches if w.r < 0.8 and w.theta1 <= np.degrees(np.arctan2(y, x)) % 360 - 1e-9
                 + 360 * np.ceil((w.theta1 - np.degrees(np.arctan2(y, x)) % 360) / 360) <= w.theta2)  # fmt: skip
    middle = (wedge.theta1 + wedge.theta2) / 2
    half = (wedge.theta2 - wedge.theta1) / 2
    for corner in corners:
        assert 0.37 <= np.hypot(*corner) <= 0.735
        away = (np.degrees(np.arctan2(corner[1], corner[0])) - middle + 180) % 360 - 180
        assert abs(away) <= half + 1


def test_no_questions_no_picture():
    with pytest.raises(UsageError, match="no questions"):
        question_distribution([])

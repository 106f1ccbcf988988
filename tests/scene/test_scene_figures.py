"""The picture of the question distribution: what it counts, read back from what is drawn."""

import pytest
from scene_made import strewn_scenes

from theodolite.errors import UsageError
from theodolite.report.scene_figures import question_distribution
from theodolite.scene import GROUPS, make_questions

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


def test_no_questions_no_picture():
    with pytest.raises(UsageError, match="no questions"):
        question_distribution([])

"""The grid's figures show what is there: every phrase in its colour, every object framed by its role."""

import numpy as np
import pytest

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import BUCKET_KEYS
from theodolite.instruments.grid.figures.data import (
    COLOURS,
    LINE_LETTERS,
    _lines,
    answer_distributions,
    generation_steps,
    scene_sheet,
)


def frames(axes):
    """How many frames of each colour stand in a picture."""
    from matplotlib.colors import to_hex

    found = [to_hex(patch.get_edgecolor()) for patch in axes.patches]
    return {what: found.count(colour) for what, colour in COLOURS.items()}


def test_frames_count_the_roles():
    scenes = generate(["M-F0-D2", "CMP-F0-D3"], 1, seed=4)
    axes = scene_sheet(scenes, columns=2).figure.axes
    for row, each in enumerate(axes):
        roles = scenes.roles[row]
        assert frames(each)["target"] == np.isin(roles, [5, 6]).sum()
        assert frames(each)["anchor"] == np.isin(roles, [1, 2, 3, 4]).sum()
        assert frames(each)["adversarial"] == (roles == 7).sum()
    assert sum(frames(scene_sheet(scenes, columns=2, marks=False).figure.axes[0]).values()) == 0


@pytest.mark.parametrize("key", BUCKET_KEYS)
def test_lines_are_the_question_and_colours_its_phrases(key):
    scenes = generate(key, 3, seed=1)
    for row in range(3):
        lines = _lines(scenes, row, LINE_LETTERS)
        said = " ".join(word for line in lines for word, _ in line).replace("\N{NO-BREAK SPACE}", " ")
        assert said == scenes.text(row)
        assert all(len(" ".join(word for word, _ in line)) <= LINE_LETTERS for line in lines)
        violet = [word for line in lines for word, colour in line if colour == COLOURS["direction"]]
        assert len(violet) == (scenes.questions.directions[row] > 0).sum()


def test_both_data_sets_of_one_layout_are_shown(tmp_path):
    pure, spur = (generate("M-F0-D2", 3, mode=mode, seed=2) for mode in ("pure", "spur"))
    figure = generation_steps(pure, spur, row=1, title="x").figure
    assert len(figure.axes) == 3
    targets = {frames(axes)["target"] for axes in figure.axes}
    assert targets == {int(pure.answer[1])}
    assert [frames(axes)["adversarial"] > 0 for axes in figure.axes] == [False, True, False]
    words = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert any("the shortcut fails" in text for text in words)
    assert any("the shortcut is right" in text for text in words)
    with pytest.raises(UsageError, match="same seed"):
        generation_steps(pure, generate("M-F0-D2", 3, mode="spur", seed=3))


def test_bars_are_the_shares_of_answers():
    scenes = generate(["M-F0-D2", "SO-F1-D1"], 100, seed=0)
    counts, yes_no = answer_distributions({"Pure": scenes}).figure.axes
    counted = scenes.answer[scenes.answer < scenes.world.yes]
    heights = [bar.get_height() for bar in counts.patches]
    assert heights == pytest.approx(np.bincount(counted, minlength=18) / 100)
    existing = scenes.answer[scenes.answer >= scenes.world.yes]
    assert yes_no.patches[0].get_height() == pytest.approx((existing == scenes.world.yes).mean())


def test_nothing_to_show_is_told():
    with pytest.raises(UsageError, match="no scenes"):
        answer_distributions({})
    with pytest.raises(UsageError, match="at least one"):
        scene_sheet(generate("A-F0-D1", 1, seed=0), columns=0)


@pytest.mark.slow
def test_the_command_draws_all_figures(tmp_path, capsys):
    assert main(["grid", "figures", "--out", str(tmp_path), "--preset", "sound", "--seed", "1"]) == 0
    names = sorted(path.name for path in tmp_path.iterdir())
    numbers = [int(name.split("-")[1]) for name in names]
    assert numbers == [2, 3, 7, 8, 9, 10, 11]
    assert all(path.stat().st_size > 20_000 for path in tmp_path.iterdir())

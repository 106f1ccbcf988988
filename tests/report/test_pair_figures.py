"""The figures of pairs: every bar and every example is drawn, in both formats."""

import pytest
from diagnosis_sample import GROUNDED, SERVER, sample_diagnosis, write_sample

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.diagnose.api import open_diagnosis
from theodolite.diagnose.pair_verdicts import OUTCOME_COLOURS as COLOURS
from theodolite.report.slide import exhibit_figure, looking_figure


def test_every_share_is_a_bar_of_its_width():
    figure = looking_figure(sample_diagnosis()).figure
    axes = figure.axes[0]
    bars = [patch for patch in axes.patches if patch.get_height() > 0.5]
    shares = [
        getattr(looking, name).value
        for instrument in sample_diagnosis().instruments
        for view in instrument.models
        for looking in view.looking
        for name in COLOURS
        if getattr(looking, name).value > 0
    ]
    assert sorted(bar.get_width() for bar in bars) == pytest.approx(sorted(shares))
    assert {text.get_text() for text in axes.texts} >= {
        "compass",
        "grid",
        "scene",
        "trace",
        "sometimes looks",
    }


def test_examples_show_both_pictures(tmp_path):
    found = open_diagnosis(write_sample(tmp_path, n=8))
    drawing = exhibit_figure(found, GROUNDED, "grid")
    axes = [axes for part in drawing.figure.subfigs for axes in part.axes]
    assert len(axes) == 2
    assert all(panel.images for panel in axes)
    assert [panel.get_xlabel() for panel in axes] == ["before: left", "after: right"]
    assert drawing._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match="no examples"):
        exhibit_figure(found, SERVER, "compass")


def test_the_command_writes_png_and_svg(tmp_path, capsys):
    folder = write_sample(tmp_path / "d", n=8)
    assert main(["report", str(folder), "--figures", str(tmp_path / "f")]) == 0
    capsys.readouterr()
    names = sorted(path.name for path in (tmp_path / "f").iterdir())
    assert {"looking.png", "looking.svg", "slide.png", "slide.pdf", "metrics-grid.svg"} <= set(names)
    assert len(names) == 2 * (
        1 + 11 + 4 + 1
    )  # the bars, examples (the server has no compass), metrics, the slide
    assert main(["report", str(tmp_path / "nothing"), "--figures", str(tmp_path / "f")]) == 2

"""The curve of a training, and logs that are none."""

import json

import pytest
from PIL import Image

from theodolite.core.errors import StorageError, UsageError
from train.__main__ import main
from train.twins.curve import read_log, training_curve


def row(step, **twins):
    return {"step": step, **{twin: {"held out": told} for twin, told in twins.items()}}


def test_the_curve_of_the_shipped_twins_is_drawn(tmp_path, capsys):
    assert main(["curve", "--out", str(tmp_path / "curve.png")]) == 0
    with Image.open(tmp_path / "curve.png") as drawn:
        assert drawn.width > 1000
    assert "curve.png" in capsys.readouterr().out


def test_steps_count_on_where_a_training_began_with_checkpoints():
    rows = [
        row(499, grounded={"grid": 0.5}, mixed={"grid g": 0.5, "grid s": 1.0}),
        {"step": 0, "event": "begun with checkpoints"},
        row(499, grounded={"grid": 0.9}),
        {"step": 500, "grounded": {"losses": [[0.1]]}},
    ]
    axes = training_curve(rows).figure.axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["grounded"].get_xdata() == pytest.approx([499, 998])
    assert lines["grounded"].get_ydata() == pytest.approx([0.5, 0.9])
    assert lines["mixed"].get_ydata() == pytest.approx([0.75])


def test_what_is_no_log_is_refused(tmp_path):
    with pytest.raises(StorageError, match="cannot read"):
        read_log(tmp_path / "none.jsonl")
    for text in ("no json", "[1]", json.dumps({"steps": 3})):
        (tmp_path / "log.jsonl").write_text(text)
        with pytest.raises(UsageError, match="not a training log"):
            read_log(tmp_path / "log.jsonl")
    with pytest.raises(UsageError, match="500 steps"):
        training_curve([{"step": 0, "event": "lessons are ready"}])

"""Figures of traces: they show what they were given."""

import numpy as np
import pytest
from trace_world import group_of, make_episode

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.experiments.edits import Reliance, SensitivityCell
from theodolite.instruments.trace.experiments.grounding import sgr_by_stage
from theodolite.instruments.trace.experiments.predict import Association, ModelRow
from theodolite.instruments.trace.figures import (
    grounding_against_retention,
    progress_profile,
    reliance_bars,
    sensitivity_chart,
    trace_row,
)
from theodolite.instruments.trace.verifiers.judging import judge, open_verifier
from theodolite.stats import Estimate

VERIFIER = open_verifier("annotation")


def texts(drawing):
    found = [t.get_text() for axes in drawing.figure.axes for t in (*axes.texts, axes.title)]
    found += [axes.get_title(loc="left") for axes in drawing.figure.axes]
    return " | ".join(found)


@pytest.fixture(scope="module")
def judged():
    episodes = [make_episode(seed) for seed in range(4)]
    wrong = (
        str(episodes[0].meta["oracle"])
        .replace(" left ", " RIGHT ")
        .replace(" right ", " left ")
        .replace(" RIGHT ", " right ")
    )
    said = [wrong, *(str(e.meta["oracle"]) for e in episodes[1:])]
    traces = with_claims([read_trace(text, e) for text, e in zip(said, episodes, strict=True)])
    return judge(traces, {e.id: e for e in episodes}, VERIFIER), episodes


def estimate(value, reach=0.1):
    return Estimate(value, value - reach, value + reach, 8, 0.95, "test")


def test_a_trace_step_by_step(judged, tmp_path):
    traces, episodes = judged
    drawing = trace_row(traces[0], episodes[0])
    shown = texts(drawing)
    assert "in truth" in shown
    assert "✗" in shown
    assert "grounded 0%" in shown
    boxes = [p.get_edgecolor() for axes in drawing.figure.axes for p in axes.patches]
    assert len(boxes) == 8  # two things in four frames
    assert "✗" not in texts(trace_row(traces[1], episodes[1], steps=[0, 1]))
    assert drawing.save(tmp_path / "row.png").stat().st_size > 10_000
    with pytest.raises(UsageError, match="4 steps"):
        trace_row(traces[0], episodes[0], steps=[9])


def test_what_there_is_no_room_for_is_told(judged):
    _, episodes = judged
    things = ("dog", "cat", "cup", "car", "chair", "table", "bed", "book", "door")
    text = "Step 1 (frame 1): " + " ".join(f"There is a {thing} here." for thing in things)
    text += "\nStep 2 (frame 2): There is a dog.\nFinal answer: left"
    traces = with_claims([read_trace(text, episodes[0])])
    found = judge(traces, {episodes[0].id: episodes[0]}, VERIFIER)[0]
    n = len(found.steps[0].counted())
    assert n > 6
    shown = texts(trace_row(found, episodes[0]))
    assert f"… and {n - 6} more: " in shown
    assert " … |" in shown


def test_progress(judged):
    traces, _ = judged
    by_stage, _ = sgr_by_stage(group_of(traces))
    drawing = progress_profile({"toy": by_stage})
    line = drawing.figure.axes[0].lines[0]
    assert np.allclose(line.get_ydata(), [by_stage[stage].value for stage in ("early", "middle", "late")])
    with pytest.raises(UsageError):
        progress_profile({})


def test_the_law():
    rows = [ModelRow(f"m{i}", b, 0.8, 0.4 + 0.1 * i, {"sgr": 0.2 * i}) for i in range(4) for b in ("x", "y")]
    drawing = grounding_against_retention(
        rows, Association("sgr", "ratio", "pooled", estimate(0.9), None, None, 4, 8)
    )
    assert "r = 0.90 [0.80, 1.00], 8 models" in texts(drawing)
    shown = texts(drawing)
    key = [text.get_text() for text in drawing.figure.axes[0].get_legend().get_texts()]
    assert key == ["x", "y", " 1  m3", " 2  m2", " 3  m1", " 4  m0"]
    assert all(shown.count(f"| {number} |") >= 1 for number in range(1, 5))
    dots = [line for line in drawing.figure.axes[0].lines if line.get_marker() == "o"]
    assert np.allclose(dots[0].get_ydata(), [row.retention("ratio") for row in rows if row.benchmark == "x"])


def test_reliance_and_sensitivity():
    found = Reliance(estimate(6.5), {}, estimate(20.0), None, None, None, 8, 4, 4)
    bars = reliance_bars(
        {"looker": found, "guesser": Reliance(None, {}, estimate(0.0, 0.0), None, None, None, 8, 4, 4)}
    )
    assert [p.get_width() for p in bars.figure.axes[0].patches] == [6.5]
    assert "no value" in texts(bars)
    assert all("dashed: 1" in axes.get_xlabel() for axes in bars.figure.axes)
    cells = [
        SensitivityCell("position", r, estimate(-v), estimate(-v / 2), 0.01, 0.02, 0.03, 8, 8, 7)
        for r, v in (("paper", 0.5), ("sound", 0.1))
    ]
    chart = sensitivity_chart(cells)
    first = [line.get_xdata()[0] for line in chart.figure.axes[0].lines if line.get_marker() == "o"]
    assert first == [-50.0, -25.0]
    with pytest.raises(UsageError, match="no family"):
        sensitivity_chart([SensitivityCell("position", "paper", None, None, None, None, None, 0, 0, 0)])

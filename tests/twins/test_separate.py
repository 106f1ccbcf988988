"""Telling twins apart: areas against plain counting, positions by hand, and symbolic twins through runs on disk."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from theodolite.cli.main import main
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.scores import ItemScore, Metric
from theodolite.instruments.instrument import find_instruments, instruments
from theodolite.report.slide import separation_figure
from theodolite.stats import score_mean
from theodolite.twins.separate import (
    PASSES,
    Sides,
    both_right,
    read_table,
    released_table,
    separate,
    separate_scores,
    separation_tables,
    write_table,
)
from theodolite.twins.workspace import Workspace

UP = Metric("grid.up", "more is grounded", True, "ours", "text", bounds=None)
DOWN = Metric("grid.down", "less is grounded", False, "paper", "text", bounds=None)
OTHER = Metric("trace.other", "nobody has it", True, "paper", "text", bounds=None)
SIDES = Sides("g", "s", "m")


def read(key, values, split="aligned"):
    return [ItemScore(f"i{i}", key, float(value), f"i{i}", split) for i, value in enumerate(values)]


def plain_auc(grounded, shortcut):
    pairs = [(a > b) + 0.5 * (a == b) for a in grounded for b in shortcut]
    return sum(pairs) / len(pairs)


@pytest.fixture
def drawn():
    rng = np.random.default_rng(3)
    return {
        "g": rng.normal(1, 1, 40).round(1),
        "s": rng.normal(0, 1, 40).round(1),
        "m": rng.normal(0.5, 1, 40),
    }


def test_the_area_is_the_share_of_pairs_in_the_right_order_either_way_round(drawn):
    readings = {
        name: [*read("grid.up", values), *read("grid.down", -values)] for name, values in drawn.items()
    }
    table = separate_scores(readings, (UP, DOWN), sides=SIDES)
    expected = plain_auc(drawn["g"], drawn["s"])
    assert [row.auc.value for row in table.rows] == [pytest.approx(expected)] * 2
    assert all(row.auc.low < expected < row.auc.high for row in table.rows)
    turned = separate_scores(
        {name: read("grid.up", -values) for name, values in drawn.items()}, (UP,), sides=SIDES
    )
    assert turned.rows[0].auc.value == pytest.approx(1 - expected), "below a half is shown, not turned round"


def test_the_mixed_model_stands_where_its_mean_lies_between_the_twins(drawn):
    readings = {name: read("grid.up", values) for name, values in drawn.items()}
    row = separate_scores(readings, (UP,), sides=SIDES).rows[0]
    means = {name: values.mean() for name, values in drawn.items()}
    expected = (means["m"] - means["s"]) / (means["g"] - means["s"])
    assert row.position.value == pytest.approx(expected)
    assert row.is_between
    alike = {**readings, "g": read("grid.up", drawn["s"][::-1] + 0.01)}
    assert separate_scores(alike, (UP,), sides=SIDES).rows[0].position is None, (
        "the twins' means may be the same"
    )
    assert [row.grounded.value, row.shortcut.value, row.mixed.value] == pytest.approx(
        [means["g"], means["s"], means["m"]]
    )


def test_a_passing_metric_that_the_mixed_model_overshoots_is_named():
    readings = {
        "g": read("grid.up", np.linspace(0.9, 1, 20)),
        "s": read("grid.up", np.linspace(0, 0.1, 20)),
        "m": read("grid.up", np.linspace(1.2, 1.3, 20)),
    }
    table = separate_scores(readings, (UP,), sides=SIDES)
    assert table.rows[0].auc.value == 1
    assert table.rows[0].passes
    assert table.not_between == ("grid.up",)
    readings["m"] = read("grid.up", np.linspace(0.4, 0.6, 20))
    assert separate_scores(readings, (UP,), sides=SIDES).not_between == ()


def test_metrics_that_fail_or_are_missing_stand_in_the_table_and_instruments_that_fail_are_named(drawn):
    readings = {name: read("grid.up", values) for name, values in drawn.items()}
    table = separate_scores(readings, (UP, OTHER), sides=SIDES)
    assert [row.metric.key for row in table.rows] == ["grid.up", "trace.other"]
    assert table.rows[0].auc.value < PASSES
    assert table.rows[1].auc is None
    assert "no scores" in table.rows[1].why
    few = {"g": [*readings["g"], *read("trace.other", [1, 2, 3])], "s": readings["s"], "m": readings["m"]}
    assert "3 and 0 clusters" in separate_scores(few, (OTHER,), sides=SIDES).rows[0].why
    assert table.failing == ("grid", "trace")


def test_only_the_split_asked_for_counts(drawn):
    readings = {
        name: [*read("grid.up", values), *read("grid.up", -9 * values, "crossed")]
        for name, values in drawn.items()
    }
    row = separate_scores(readings, (UP,), sides=SIDES).rows[0]
    assert row.n == (40, 40)
    assert row.auc.value == pytest.approx(plain_auc(drawn["g"], drawn["s"]))
    with pytest.raises(UsageError, match="free"):
        separate_scores(readings, (UP,), sides=SIDES, split="free")


def test_items_that_a_twin_gets_wrong_can_be_left_out():
    def of(right, values):
        return [*read("grid.right", right), *read("grid.up", values), *read("scene.qa", values)]

    readings = {"g": of([1, 1, 0, 1], [5, 6, 7, 8]), "s": of([1, 0, 1, 1], [1, 2, 3, 4])}
    kept = both_right(readings, Sides("g", "s"))
    assert [(each.item, each.value) for each in kept["g"] if each.metric == "grid.up"] == [
        ("i0", 5),
        ("i3", 8),
    ]
    assert [each.item for each in kept["s"] if each.metric == "grid.up"] == ["i0", "i3"]
    assert len([each for each in kept["g"] if each.metric == "scene.qa"]) == 4, "scenes hold many questions"


def test_rows_are_sorted_by_area_within_each_instrument(drawn):
    keys = [f"grid.r{i}" for i in range(4)]
    metrics = [Metric(k, k, True, "ours", "text", bounds=None) for k in keys]
    gaps = [0.0, 2.0, 0.7, 1.2]
    readings = {
        name: [
            each
            for key, gap in zip(keys, gaps, strict=True)
            for each in read(key, drawn["s"] + gap * (name == "g"))
        ]
        for name in ("g", "s")
    }
    table = separate_scores(readings, metrics, sides=Sides("g", "s"))
    assert [row.metric.key for row in table.rows] == [keys[i] for i in np.argsort(gaps)[::-1]]
    assert all(row.mixed is None and row.is_between is None for row in table.rows)


def test_the_symbolic_twins_of_the_grid_are_told_apart_by_behaviour_alone(tmp_path):
    """Through data sets, runs and readings on disk; where a bag of words is right, accuracy and maps see no difference."""
    workspace, chosen = Workspace(tmp_path, size=12), find_instruments(["grid"])
    sides = Sides("grid:symbolic-pure", "grid:symbolic-bow")
    table = separate(workspace, sides=sides, chosen=chosen)
    by_key = {row.metric.key: row for row in table.rows}
    assert table.failing == ()
    for key in ("grid.swap_follows", "grid.decoy_keeps", "grid.swap_shift", "grid.decoy_shift"):
        assert by_key[key].auc.value == 1, key
    assert by_key["grid.right"].auc.value == 0.5
    assert by_key["grid.right"].grounded.value == 1
    assert not any("relevance:" in key for key in by_key), "a black box has no gradients to read"
    measured = sorted(path.name for path in (tmp_path / "runs" / "grid-symbolic-pure" / "aligned").iterdir())
    assert measured == ["grid", "grid-explained"]
    again = separate(workspace, sides=sides, chosen=chosen)
    assert again == table, "a second time nothing is asked, and the same comes out"
    kept = separate(workspace, sides=sides, chosen=chosen, asks=False)
    by_kept = {row.metric.key: row for row in kept.rows}
    assert all(by_kept[row.metric.key] == row for row in table.rows)
    with pytest.raises(UsageError, match="no run of scene"):
        separate(workspace, sides=sides, chosen=find_instruments(["scene"]), asks=False)
    written = json.loads(write_table(table, tmp_path / "out").read_text())
    assert len(written["rows"]) == len(table.rows)
    assert written["failing"] == []


def test_a_checkpoint_goes_through_the_compass_set(tmp_path, tiny_llava):
    """Twins of random weights: every metric of the compass has its row, and no instrument is said to pass unmeasured."""
    name, chosen = f"hf:{tiny_llava}", find_instruments(["compass"])
    table = separate(Workspace(tmp_path, size=6), sides=Sides(name, name), chosen=chosen)
    assert {row.metric.key for row in table.rows} == {metric.key for metric in chosen[0].metrics}
    measured = [row for row in table.rows if row.auc is not None]
    assert len(measured) > 80
    assert all(row.auc.value == 0.5 for row in measured), "a model is not told from itself"
    assert table.failing == ("compass",)


def test_the_means_are_those_of_a_diagnosis():
    """Clusters of unlike size: the mean over items, and a macro mean where the metric says so."""
    plain = Metric("scene.a", "a", True, "ours", "text")
    macro = Metric("scene.b", "b", True, "ours", "text", average="groups")
    scores = [
        ItemScore(f"i{i}", key, float(i % 3 == 0), f"room{min(i, 6)}", "aligned", "near" if i < 8 else "far")
        for i in range(20)
        for key in ("scene.a", "scene.b")
    ]
    rows = separate_scores({"g": scores, "s": scores}, (plain, macro), sides=Sides("g", "s")).rows
    assert {row.metric.key: row.grounded for row in rows} == {
        metric.key: score_mean(metric, scores) for metric in (plain, macro)
    }
    assert rows[0].n == (7, 7)


def test_the_figure_draws_all_published_metrics_and_the_best_others(drawn, tmp_path):
    rng = np.random.default_rng(0)
    metrics = [
        replace(metric, bounds=None)
        for instrument in instruments()
        if not instrument.needs_data
        for metric in instrument.metrics
    ]
    readings = {
        name: [
            each
            for i, metric in enumerate(metrics)
            for each in read(
                metric.key,
                rng.normal((1 if metric.higher_is_grounded else -1) * (i % 4) * (name == "g"), 1, 12),
            )
        ]
        for name in ("g", "s")
    }
    table = separate_scores(readings, metrics, sides=Sides("g", "s"))
    drawing = separation_figure(table, title="twins")
    kinds = {metric.key.partition(":")[0] for metric in metrics}
    published = {metric.name for metric in metrics if metric.origin == "paper" and ":" not in metric.key}
    panels = [[label.get_text() for label in axes.get_yticklabels()] for axes in drawing.figure.axes]
    labels = {label for panel in panels for label in panel}
    assert published <= labels
    assert max(map(len, panels)) <= 12
    (legend,) = drawing.figure.legends
    hidden = len(kinds) - sum(map(len, panels))
    assert f"{hidden} more rows in the table" in [text.get_text() for text in legend.get_texts()]
    marks = [
        line
        for axes in drawing.figure.axes
        for line in axes.lines
        if line.get_marker() in {"o", "s", "D"} and len(line.get_xdata()) == 1
    ]
    assert sum(map(len, panels)) <= len(marks) <= len(metrics)
    assert drawing.save(tmp_path / "twins.png").stat().st_size > 10_000


def test_a_table_without_any_area_cannot_be_drawn(drawn):
    readings = {name: read("grid.up", values) for name, values in drawn.items()}
    table = separate_scores(readings, (OTHER,), sides=SIDES)
    with pytest.raises(UsageError, match="enough items"):
        separation_figure(table)


def test_the_page_says_what_the_table_that_ships_says():
    table = released_table()
    assert not table.failing
    root = Path(__file__).parents[2]
    page = (root / "docs" / "instruments" / "twins.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(compass|grid|scene|trace)` (\|.*\.\d\d \[.*)$", page, re.MULTILINE))
    assert len(told) == 4
    best: list[float] = []
    for instrument, words in told.items():
        rows = [row for row in table.of(instrument) if row.auc is not None]
        published = max((row for row in rows if row.metric.origin == "paper"), key=lambda row: row.auc.value)
        assert _brief(published.auc) in words.split("|")[1]
        best.append(published.auc.value)
        assert any(
            _brief(row.auc) in words.split("|")[2]
            for row in rows
            if row.metric.origin == "ours" and row.passes
        )
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert f"[{min(best):.2f} to {max(best):.2f}]".replace("[0", "[") in readme


def _brief(area):
    value, low, high = (f"{x:.2f}".removeprefix("0") for x in (area.value, area.low, area.high))
    return f"{value} [{low}, {'1' if high == '1.00' else high}]"


def test_a_table_comes_back_from_its_file(tmp_path):
    table = released_table()
    assert read_table(write_table(table, tmp_path)) == table
    (tmp_path / "other.json").write_text('{"rows": [{}]}')
    with pytest.raises(UsageError, match="not a table of metrics"):
        read_table(tmp_path / "other.json")
    with pytest.raises(StorageError, match="cannot read"):
        read_table(tmp_path / "none.json")


def test_the_table_that_ships_is_shown_without_measuring(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["twins", "separate", "--released", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["failing"], value["not_between"]) == ([], list(released_table().not_between))
    assert sum(len(table["rows"]) for table in value["tables"]) == len(released_table().rows)
    assert not list(tmp_path.iterdir())


def test_a_table_is_shown_by_instrument_the_best_first(drawn):
    scores = {name: [*read("grid.up", values), *read("grid.down", values)] for name, values in drawn.items()}
    table = separate_scores(scores, (DOWN, UP, OTHER), sides=SIDES)
    grid, trace = separation_tables(table)
    assert (grid.name, trace.name) == ("twins.separation.grid", "twins.separation.trace")
    assert [row[0] for row in grid.rows] == ["more is grounded", "less is grounded"]
    assert grid.rows[0][2] == table.rows[0].auc
    assert "No metric of grid reaches" in grid.notes[0]
    assert "no scores" in trace.rows[0][-1]


@pytest.mark.slow
def test_the_program_separates_and_draws(tmp_path, capsys):
    out, figures = tmp_path / "out", tmp_path / "figures"
    words = ["twins", "separate", "--grounded", "grid:symbolic-pure", "--shortcut", "grid:symbolic-bow"]
    words += ["--instruments", "grid", "--size", "14", "--out", str(out), "--figures", str(figures)]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "grid, aligned split" in shown
    assert "1.00 [" in shown
    assert [path.stat().st_size > 5_000 for path in figures.iterdir()] == [True]
    assert main([*words, "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert table["failing"] == []
    kept = json.loads((out / "separation.json").read_text())["rows"]
    assert [row["metric"].removesuffix(" *") for row in table["tables"][0]["rows"]] == [
        row["metric"]["name"] for row in kept
    ]
    same = [*words[:2], "--grounded", "grid:symbolic-bow", *words[4:]]
    same[same.index(str(out))] = str(tmp_path / "same")
    assert main(same) == 1, "a model is not told from itself, and the status says so"

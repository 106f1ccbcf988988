"""Item scores: values worked out by hand, reasons for missing ones, and a run of a real checkpoint."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from drawn_squares import squares
from table_rows import row_of, rows_of

from theodolite.answers.grading import format_to_json
from theodolite.attribution import find_methods
from theodolite.core.errors import UsageError
from theodolite.core.scores import by_metric, metrics_of
from theodolite.core.types import Choice, Record, Response, Truth
from theodolite.instruments.compass.data.drawn import blank, hidden, mirrored, part_box
from theodolite.instruments.compass.experiments.framework import negated
from theodolite.instruments.compass.instrument import COMPASS
from theodolite.instruments.compass.measure import METHODS, ConditionsMeasurer
from theodolite.instruments.compass.questions import (
    PROMPTS,
    directions_of,
    gold_index,
    plan_conditions,
    shown_item,
    with_truth,
)
from theodolite.instruments.compass.score import item_scores
from theodolite.instruments.compass.tables import score_run
from theodolite.models import open_model
from theodolite.runs import LocalEngine, MeasureOptions, Run, RunInfo, measure
from theodolite.stats import score_mean


class Scripted:
    """Answers by condition, with known log-probabilities."""

    reuse, batch_size, identity = "never", 8, "scripted"

    def __init__(self, log_probabilities):
        self.of = log_probabilities

    def measure(self, items):
        found = []
        for item in items:
            values = self.of(item)
            if isinstance(values, str):
                found.append(Record(item.id, Response("answered", text=values)))
            else:
                choice = Choice(item.options, tuple(values))
                found.append(Record(item.id, Response("answered", text=choice.best), choice))
        return found

    def close(self):
        pass


def run_of(folder, measurer, items, instrument="compass"):
    info = RunInfo(
        instrument=instrument, model="m", identity=measurer.identity, settings={}, seed=0, theodolite="0"
    )
    run = Run.start(folder, info)
    run.plan(items, whole=True)
    measure(run, LocalEngine(measurer), MeasureOptions())
    return run


def values_of(run):
    scored = [score for score in item_scores(run) if score.is_scored]
    return {key: [each.value for each in rows] for key, rows in by_metric(scored).items()}


def reasons_of(run):
    return {
        score.metric.removeprefix("compass."): score.reason
        for score in item_scores(run)
        if not score.is_scored
    }


def test_scores_of_answers_have_the_values_of_their_formulas(tmp_path):
    """Left is right with margin log 4; the mirror image says right; one part takes half of the margin away."""
    sure, split, even = math.log(0.4), math.log(0.1), math.log(0.25)

    def answers(item):
        condition = item.truth.condition
        if condition == "mirrored":
            return [split, sure, split, split]
        if condition == "blank":
            return [even] * 4
        if condition == "part hidden 5":
            return [math.log(0.2), split, split, split]
        if condition == "target hidden":
            return [split, sure, split, split]
        return [sure, split, split, split]

    with run_of(
        tmp_path / "run", Scripted(answers), plan_conditions([squares()], gives="choices", split="aligned")
    ) as run:
        found = values_of(run)
        assert {each.split for each in item_scores(run)} == {"aligned"}
    assert found["compass.right"] == [1.0]
    assert found["compass.mirror_follows"] == found["compass.mirror_changes"] == [1.0]
    assert found["compass.blank_changes"] == [0.0]
    p, q = np.array([4, 1, 1, 1]) / 7, np.array([1, 4, 1, 1]) / 7
    assert found["compass.mirror_shift"] == [pytest.approx(np.abs(p - q).sum() / 2)]
    assert found["compass.blank_shift"] == [pytest.approx(np.abs(p - 0.25).sum() / 2)]
    assert found["compass.occlusion"] == [pytest.approx(0.5)]
    assert found["compass.target_effect"] == [pytest.approx(2.0)], "the margin turns from log 4 to −log 4"
    assert found["compass.reference_effect"] == [pytest.approx(0.0)]


def test_what_is_shown_is_what_the_condition_says():
    pair = squares()
    shown = {item.truth.condition: shown_item(item) for item in plan_conditions([pair])}
    assert len(shown) == 5 + 16 + 2

    def pixels(condition):
        return shown[condition].request.pictures[0].pixels()

    assert np.array_equal(pixels("plain"), pair.picture.pixels())
    assert np.array_equal(pixels("mirrored"), mirrored(pair).picture.pixels())
    assert np.array_equal(pixels("blank"), blank(pair).picture.pixels())
    assert np.array_equal(pixels("target hidden"), hidden(pair, pair.target.box).picture.pixels())
    assert np.array_equal(pixels("reference hidden"), hidden(pair, pair.reference.box).picture.pixels())
    for part in (0, 7, 15):
        expected = hidden(pair, part_box(pair.size_px, part)).picture.pixels()
        assert np.array_equal(pixels(f"part hidden {part}"), expected)
    gold = {name: item.options[gold_index(item)] for name, item in shown.items()}
    assert [gold.pop(name) for name in ("mirrored", "roles exchanged")] == ["2", "2"]
    assert set(gold.values()) == {"1"}
    assert len({item.request.text for item in shown.values()}) == 2, "with roles as they are, and exchanged"


def test_a_model_is_shown_the_changed_picture_and_the_record_belongs_to_the_item():
    seen = []

    class Model:
        name = identity = "watcher"
        lacks, batch_size = {}, 4

        def generate(self, requests):
            seen.extend(request.pictures[0].digest for request in requests)
            return [Response("answered", text="1") for _ in requests]

        def close(self):
            pass

    items = list(plan_conditions([squares()], gives="text"))
    records = ConditionsMeasurer(Model(), "text").measure(items)
    assert [record.item_id for record in records] == [item.id for item in items]
    assert sorted(seen) == sorted(
        shown_item(item).request.pictures[0].digest for item in items
    )  # batches are shuffled
    assert len(set(seen)) == 3


def test_black_boxes_are_read_by_their_words(tmp_path):
    said = {"plain": "1) to the left", "mirrored": "To the right.", "blank": "I cannot tell: 1 or 2"}
    with run_of(
        tmp_path / "run",
        Scripted(lambda item: said[item.truth.condition]),
        plan_conditions([squares()], gives="text"),
    ) as run:
        found = values_of(run)
        assert reasons_of(run) == {"blank_changes": "blank: ambiguous"}
    assert found == {"compass.right": [1.0], "compass.mirror_follows": [1.0], "compass.mirror_changes": [1.0]}


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (Response("answered", text="I cannot see any picture."), "refused"),
        (Response("refused", reason="content filter"), "refused"),
        (Response("answered", text="Let me think about where the red", finish="length"), "cut off"),
        (Response("answered", text="1 or 2"), "ambiguous"),
        (Response("answered", text="7"), "none of these"),
        (Response("answered", text="Hm."), "unreadable"),
        (Response.failed("no answer came"), "failed"),
    ],
)
def test_an_answer_that_is_none_is_not_right_and_has_a_reason(tmp_path, response, reason):
    class Saying(Scripted):
        def measure(self, items):
            return [Record(item.id, response) for item in items]

    with run_of(tmp_path / "run", Saying(None), plan_conditions([squares()], gives="text")) as run:
        assert values_of(run) == ({} if reason == "failed" else {"compass.right": [0.0]})
        names = ("mirror_follows", "mirror_changes", "blank_changes")
        assert reasons_of(run) == dict.fromkeys(("right", *names) if reason == "failed" else names, reason)
        (table,) = score_run(run).tables
        (row,) = rows_of(table)
        assert (row["items"], row.without) == (1, f"1 {reason}")
        assert row.right is None if reason == "failed" else row.right.value == 0


def test_items_that_were_not_asked_yet_are_pending(tmp_path):
    measurer = Scripted(lambda _: [-0.1, -3.0, -3.0, -3.0])
    info = RunInfo(instrument="compass", model="m", identity="scripted", settings={}, seed=0, theodolite="0")
    with Run.start(tmp_path / "run", info) as run:
        run.plan(plan_conditions([squares()], gives="choices"), whole=True)
        measure(run, LocalEngine(measurer), MeasureOptions(limit=4))
        found = values_of(run)
        assert set(found) == {
            f"compass.{key}"
            for key in (
                *("right", "mirror_follows", "mirror_changes", "blank_changes"),
                *("mirror_shift", "blank_shift", "target_effect"),
            )
        }
        assert reasons_of(run) == {
            "reference_effect": "reference hidden: pending",
            "occlusion": "part hidden 0: pending",
        }


@pytest.mark.parametrize("has_format", [True, False])
def test_items_of_older_versions_hold_their_truth_in_their_meta(has_format):
    for item in plan_conditions([squares("left"), squares("above")], split="aligned"):
        truth = item.truth
        older = {
            "condition": truth.condition,
            "directions": list(directions_of(item)),
            "gold": gold_index(item),
            "cluster": truth.cluster,
            "group": truth.group,
            "split": truth.split,
            **({"format": format_to_json(truth.format)} if has_format else {}),
        }
        assert with_truth(replace(item, meta={**item.meta, **older}, truth=Truth()), {}) == item
        completed = with_truth(replace(item, meta={**item.meta, **older}, truth=Truth()), {})
        assert (completed.truth, completed.meta) == (truth, item.meta)


def test_mirrored_pictures_are_pairs_with_a_known_answer(tmp_path):
    pairs = [squares("left"), squares("above")]

    def answers(item):
        if item.meta["pair"] == "pair-left":
            return item.truth.golds[0]
        return "above"

    with run_of(tmp_path / "run", Scripted(answers), plan_conditions(pairs, gives="text")) as run:
        found = Counter((pair.item, pair.outcome) for pair in COMPASS.pairs(run))
    assert found == {("pair-left/A", "followed"): 2, ("pair-above/A", "unmoved"): 2}, "with both roles"


def test_a_shortcut_follows_no_mirror_image(tmp_path):
    pairs = [squares("left"), squares("above")]
    always = {"left": 0, "above": 2}

    def answers(item):
        said = [-3.0] * 4
        said[always[item.meta["pair"].removeprefix("pair-")]] = -0.1
        return said

    with run_of(tmp_path / "run", Scripted(answers), plan_conditions(pairs, gives="choices")) as run:
        found = values_of(run)
    assert found["compass.right"] == [1.0, 1.0]
    for key in ("mirror_follows", "mirror_changes", "mirror_shift", "blank_shift", "occlusion"):
        assert found[f"compass.{key}"] == [0.0, 0.0], key


def test_maps_and_answers_of_a_checkpoint_are_read_from_the_stored_run(tmp_path, tiny_llava):
    from theodolite.instruments.compass.data.drawn import coloured_squares

    pairs = coloured_squares(4).pairs
    measurer = ConditionsMeasurer(open_model(f"hf:{tiny_llava}"), "gradients")
    with run_of(tmp_path / "run", measurer, plan_conditions(pairs, PROMPTS["B"])) as run:
        found = values_of(run)
        items = {each.item for each in item_scores(run)}
        scores, tables = COMPASS.score(run), {table.name: table for table in COMPASS.tables(run)}
    measurer.close()
    assert_tables_show_the_scores(scores, tables)
    assert items == {f"{pair.id}/B" for pair in pairs}
    known = {metric.key for metric in metrics_of("compass")}
    assert set(found) <= known
    missing = known - set(found)
    assert all("_share:gradcam" in key for key in missing), "every other metric is there for every pair"
    assert all(len(values) == len(pairs) for values in found.values())
    for method in METHODS:
        angles = np.array(found[f"compass.dae_paper:{method}"])
        assert ((angles >= 0) & (angles <= 180)).all()
        hits = np.array(found[f"compass.ea_paper:{method}"])
        assert ((angles <= 45 + 1e-6) == (hits == 1)).all()
    assert all(0 <= value <= 1 for value in found["compass.image_share:chefer"])


def assert_tables_show_the_scores(scores, tables):
    """Every metric has one number: that of the tables is the mean of the item scores."""
    checked = set()
    for metric in metrics_of("compass"):
        kind, _, method = metric.key.removeprefix("compass.").partition(":")
        wanted = score_mean(metric, scores)
        if not method:
            table = tables["compass.answers" if metric.needs == "text" else "compass.shifts"]
            (row,) = rows_of(table)
            shown = row[kind]
        else:
            target = "" if method == "attention-rollout" else "gt"
            name, _, projection = kind.rpartition("_")
            if projection == "share":
                column = {"image": "image", "target": "target_object", "reference": "reference"}[name]
                row = row_of(tables["compass.evidence"], method=method, target=target)
                shown = row[column] if row.of == "image and text" else None
            else:
                column = {"dae": "dae", "ea": "edge_accuracy", "excess": "excess_dae"}[name]
                shown = row_of(tables[f"compass.framework_{projection}"], method=method, target=target)[
                    column
                ]
        if wanted is None:
            assert shown is None, metric.key
            continue
        if kind.startswith("excess"):
            wanted = negated(wanted)
        assert (shown.value, shown.low, shown.high, shown.n) == pytest.approx(
            (wanted.value, wanted.low, wanted.high, wanted.n)
        ), metric.key
        checked.add(kind)
    assert checked == {
        metric.key.removeprefix("compass.").partition(":")[0] for metric in metrics_of("compass")
    }


def test_metrics_name_registered_methods_and_each_key_once():
    names = {method.name for method in find_methods(["all"])}
    assert set(METHODS) <= names
    left_out = ("integrated", "layers", "single", "attnlrp")  # further passes, or variants
    assert all(any(part in name for part in left_out) for name in names - set(METHODS))
    keys = [metric.key for metric in metrics_of("compass")]
    assert len(set(keys)) == len(keys)
    assert not next(
        r for r in metrics_of("compass") if r.key == "compass.dae_paper:chefer"
    ).higher_is_grounded


def test_another_instruments_run_is_refused(tmp_path):
    with (
        run_of(tmp_path / "run", Scripted(lambda _: "1"), (), instrument="scene") as run,
        pytest.raises(UsageError, match="scene"),
    ):
        item_scores(run)

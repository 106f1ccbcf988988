"""Plain questions: planning, reading answers, scores by bucket, reasons, and runs of older versions."""

import json
import shutil
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from theodolite.cli.main import app
from theodolite.core.errors import UsageError
from theodolite.core.scores import metric_of
from theodolite.core.types import Response, Truth
from theodolite.instruments.grid.data.files import DatasetPlan, make_dataset, read_dataset, write_dataset
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import COUNT, EXISTENCE
from theodolite.instruments.grid.data.recipe import PAPER, RELEASED, SOUND
from theodolite.instruments.grid.experiments.accuracy import accuracy_scores, model_tables
from theodolite.instruments.grid.instrument import GRID
from theodolite.instruments.grid.questions import (
    PLAIN_RUN,
    ExplainPlan,
    plan_accuracy,
    plan_anchors,
    plan_edits,
    plan_explanations,
    read_text,
    with_truth,
)
from theodolite.models import ask_measurer
from theodolite.models.scripted import ScriptedModel
from theodolite.runs import LocalEngine, Run, RunInfo, measure
from theodolite.stats import score_mean


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    plan = DatasetPlan("pure", 4, 0, buckets=("A-F0-D1", "M-F0-D1", "M-F1-D1"), densities=("dense",))
    return write_dataset(make_dataset(plan), tmp_path_factory.mktemp("grid") / "data")


def command(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments), "--json"])


def rows_of(result):
    (table,) = json.loads(result.stdout)["tables"]
    return {row["bucket"]: row for row in table["rows"]}


@pytest.mark.parametrize(
    ("text", "is_count", "value"),
    [
        ("3", True, "3"),
        ("There are three.", True, "3"),
        ("**Yes**", False, "yes"),
        ("No.", False, "no"),
        ("The answer is 07", True, "7"),
        ("3 or 4", True, None),
        ("", True, None),
        ("3.5", True, None),
        ("-2", True, None),
        ("none", True, "0"),
        ("yes and no", False, None),
        ("<think>5? no, 6</think>Six", True, "6"),
        ("seventeen", True, "17"),
        ("3, exactly 3", True, "3"),
        ("There is no picture, so I cannot answer.", False, None),
    ],
)
def test_answers_are_read_as_a_person_would(text, is_count, value):
    assert read_text(text, COUNT if is_count else EXISTENCE) == value


def test_each_scene_is_asked_once_with_its_own_options(folder):
    items = list(plan_accuracy(read_dataset(folder)))
    assert len({item.id for item in items}) == len(items) == 12
    for item in items:
        is_count = "How many" in item.request.text
        assert (item.options == ("yes", "no")) != is_count
        assert item.truth.golds[0] in item.options
        assert item.truth.format.kind == ("count" if is_count else "yes-no")


@pytest.mark.parametrize("answer", ["write", "choose"])
@pytest.mark.parametrize(("model", "is_right"), [("grid:symbolic-pure", True), ("grid:symbolic-bow", False)])
def test_the_symbolic_models_score_as_their_logic(folder, tmp_path, model, is_right, answer):
    asked = ["--model", model, "--data", folder, "--out", tmp_path / "run", "--answer", answer]
    result = command("grid", "run", *asked)
    assert result.exit_code == 0, result.output
    rows = rows_of(result)
    assert rows["A-F0-D1"]["accuracy_dense"]["value"] == 1.0
    assert rows["M-F0-D1"]["accuracy_dense"]["value"] == float(is_right)
    assert rows["M-F0-D1"]["bow_agreement_dense"]["value"] == float(not is_right)
    assert rows["M-F0-D1"]["accuracy_dense"]["n"] == 4
    assert rows_of(command("grid", "score", tmp_path / "run")) == rows


def test_a_model_that_refuses_is_never_right(folder, tmp_path):
    asked = ["--model", "scripted:refuser", "--data", folder, "--out", tmp_path / "run"]
    result = command("grid", "run", *asked)
    assert all(row["accuracy_dense"]["value"] == 0 for row in rows_of(result).values())
    (table,) = json.loads(result.stdout)["tables"]
    assert table["notes"] == ["12 of 12 answers: refused."]


def run_of(folder, items, responses):
    """A run in which the i-th item gets the i-th response; None leaves it pending."""
    texts = dict(zip((item.request.ref for item in items), responses, strict=True))
    model = ScriptedModel("scripted:texts", lambda request, _: texts[request.ref])
    engine = LocalEngine(ask_measurer(model))
    info = RunInfo(instrument=PLAIN_RUN, model=model.name, identity=engine.identity, theodolite="0")
    run = Run.start(folder, info)
    run.plan(items, whole=True)
    measure(run, engine)
    return run


def test_every_answer_that_was_not_read_has_its_reason(folder, tmp_path):
    items = list(plan_accuracy(read_dataset(folder)))[4:8]
    (gold,) = items[0].truth.golds
    cut = Response("answered", text="I count 2 red and", finish="length")
    said = [f"It is {gold}.", "I'm sorry, I cannot see any picture.", "What a lovely day.", cut]
    with run_of(tmp_path / "run", items, said) as run:
        scores = [score for score in accuracy_scores(run) if score.metric == "grid.accuracy"]
    assert [(score.value, score.reason) for score in scores] == [
        (1.0, ""),
        (0.0, "refused"),
        (0.0, "unreadable"),
        (0.0, "cut off"),
    ]


def stored_before(item):
    """An item as runs stored it before items carried their truth; the form of the answer was stored for a while, or not at all."""
    truth = item.truth
    fields = {"scene": truth.subject, "split": truth.split, "relation": truth.relation}
    fields |= {} if item.meta.get("kind") else {"condition": truth.condition}
    meta = {**item.meta, **{name: value for name, value in fields.items() if value}, "bucket": truth.group}
    return replace(item, truth=Truth(), meta={**meta, "gold": item.request.hint.get("gold", *truth.golds)})


def test_items_of_older_versions_get_their_truth(folder):
    data = read_dataset(folder)
    scenes = generate(("M-F0-D2", "CO-F1-D2"), 2, seed=0)
    names = [f"aligned/{i}" for i in range(len(scenes))]
    items = [
        *plan_accuracy(data),
        *plan_edits(scenes, names, split="aligned"),
        *plan_anchors(scenes, names),
        *(
            replace(item, truth=replace(item.truth, split=""))  # what no item of a run says, its scores do
            for item in plan_explanations(ExplainPlan(str(folder), ("removal",)))
        ),
    ]
    older = [item for item in items if not item.truth.condition.startswith("turned")]  # these are newer
    assert len(older) > 0.5 * len(items)
    for item in older:
        completed = with_truth(stored_before(item), {})
        assert (completed.truth, completed.meta) == (item.truth, item.meta)


def test_tables_and_scores_give_the_same_number(folder, tmp_path):
    items = list(plan_accuracy(read_dataset(folder)))
    said = [item.truth.golds[0] if i % 3 else "7" for i, item in enumerate(items)]
    with run_of(tmp_path / "run", items, said) as run:
        scores = GRID.score(run)
        (table,) = GRID.tables(run)
    for place, metric in enumerate((metric_of("grid.accuracy"), metric_of("grid.bow_agreement"))):
        for row in table.rows:
            some = [score for score in scores if score.group == f"{row[0]} dense"]
            assert row[1 + place] == score_mean(metric, some)


def test_a_plan_says_what_would_be_asked_and_asks_nothing(folder, tmp_path):
    asked = ["--model", "grid:symbolic-pure", "--data", folder, "--out", tmp_path / "run"]
    result = command("grid", "run", *asked, "--plan", "--limit", 5)
    assert json.loads(result.stdout)["plan"]["requests"] == 5
    assert not (tmp_path / "run").exists()


def test_a_missing_picture_costs_its_item(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "pictures" / "M-F0-D1-dense-00001.png").unlink()
    done = command("grid", "run", "--data", copy, "--model", "grid:symbolic-pure", "--out", tmp_path / "run")
    assert done.exit_code == 1
    assert "1 of 12 items failed" in done.stderr
    assert rows_of(done)["A-F0-D1"]["accuracy_dense"]["n"] == 4
    with Run.open(tmp_path / "run") as run:
        scores = [each for each in accuracy_scores(run) if each.metric == "grid.accuracy"]
    lost = [each for each in scores if each.value is None]
    assert [each.item for each in lost] == ["M-F0-D1-dense-00001"]
    assert lost[0].reason == "failed"


def test_a_data_set_without_pictures_cannot_be_shown(tmp_path):
    plan = DatasetPlan("pure", 1, 0, buckets=("A-F0-D1",), densities=("dense",))
    bare = write_dataset(make_dataset(plan), tmp_path / "bare", pictures=False)
    with pytest.raises(UsageError, match="has no pictures"):
        list(plan_accuracy(read_dataset(bare)))


def test_what_is_not_a_data_set_is_refused(tmp_path):
    asked = ["--model", "grid:pure", "--data", tmp_path, "--out", tmp_path / "run"]
    assert command("grid", "run", *asked).exit_code != 0


def test_several_models_are_compared_on_the_same_scenes(folder, tmp_path):
    models = ("grid:symbolic-pure", "grid:symbolic-bow", "scripted:oracle")
    asked = [word for model in models for word in ("--model", model)]
    result = command("grid", "run", *asked, "--data", folder, "--out", tmp_path / "runs")
    told = json.loads(result.stdout)
    assert len(told["runs"]) == 3
    tables = {table["name"]: table["rows"] for table in told["tables"]}
    *rows, mean = tables["grid.accuracy_models"]
    assert mean["model_1"]["value"] == mean["model_3"]["value"] == 1
    assert mean["model_2"]["value"] < 1
    by_bucket = {row["bucket"]: row for row in rows}
    assert by_bucket["M-F0-D1 dense"]["paper_spur"] == 0.06
    assert mean["paper_pure"] == pytest.approx(np.mean([row["paper_pure"] for row in rows]))
    pairs = {(row["first"], row["second"]): row for row in tables["grid.accuracy_differences"]}
    assert len(pairs) == 3
    assert pairs[models[0], models[2]]["difference"]["value"] == 0
    assert pairs[models[0], models[2]]["p_difference"] == 1
    worse = pairs[models[0], models[1]]
    assert worse["difference"]["value"] == pytest.approx(1 - mean["model_2"]["value"])
    again = command("grid", "score", *told["runs"])
    stored = {table["name"]: table["rows"] for table in json.loads(again.stdout)["tables"]}
    assert stored["grid.accuracy_differences"] == tables["grid.accuracy_differences"]
    compared = json.loads(command("compare", *told["runs"][:2]).stdout)["comparisons"]
    (same,) = [each for each in compared if each["metric"] == "grid.accuracy"]
    said = {**same["difference"], "p_value": same["test"]["p_value"]}
    assert said == worse["difference"], "one pair of runs has one difference, interval and p"


def test_a_model_named_twice_is_refused(folder, tmp_path):
    asked = ["--model", "grid:symbolic-pure"] * 2
    result = command("grid", "run", *asked, "--data", folder, "--out", tmp_path / "runs")
    assert result.exit_code != 0


def test_pairs_of_models_without_common_scenes_are_not_tested(tmp_path):
    """Of three runs, two share their scenes: one test, which nothing adjusts."""
    plan = DatasetPlan("pure", 6, 0, buckets=("A-F0-D1", "M-F0-D1", "M-F1-D1"), densities=("dense",))
    items = list(plan_accuracy(read_dataset(write_dataset(make_dataset(plan), tmp_path / "data"))))
    golds = [item.truth.golds[0] for item in items]
    asked = (
        ("a", items[:12], golds[:12]),
        ("b", items[:12], ["I wonder."] * 12),
        ("c", items[12:], golds[12:]),
    )
    with ExitStack() as stack:
        runs = [stack.enter_context(run_of(tmp_path / name, some, said)) for name, some, said in asked]
        table = model_tables(runs)[1]
        alone = model_tables(runs[:2])[1]
        apart = model_tables(runs[1:])[1]
    assert [row[-1] for row in table.rows] == [12, 0, 0]
    assert [row[3] for row in table.rows] == [alone.rows[0][3], None, None]
    assert alone.rows[0][3] == 2 * 0.5**12
    assert apart.rows[0][2:] == (None, None, 0)


@pytest.mark.parametrize(
    ("mode", "preset", "is_shown"),
    [("pure", PAPER, True), ("pure", RELEASED, True), ("pure", SOUND, False), ("spur", PAPER, False)],
)
def test_the_papers_numbers_stand_only_beside_scenes_like_its_own(mode, preset, is_shown, tmp_path):
    plan = DatasetPlan(mode, 2, 0, preset, buckets=("A-F0-D1", "M-F0-D1"), densities=("dense", 15))
    items = list(plan_accuracy(read_dataset(write_dataset(make_dataset(plan), tmp_path / "data"))))
    says = [item.truth.golds[0] if item.meta["density"] == "dense" else "I wonder." for item in items]
    with run_of(tmp_path / "a", items, says) as first, run_of(tmp_path / "b", items, says) as second:
        table = model_tables([first, second])[0]
    assert any(column.name == "paper_pure" for column in table.columns) == is_shown
    *rows, mean = table.rows
    assert len(rows) == 4
    shown = [row for row in rows if len(row) > 3 and row[3] is not None]
    assert len(shown) == 2 * is_shown  # the paper has no scenes with 15 objects
    assert mean[1].value == (1.0 if is_shown else 0.5)  # over the buckets that both have

"""Any model sits the test: planning, reading answers, scores per bucket, and the command."""

import json

import pytest
from typer.testing import CliRunner

from theodolite.cli.main import app
from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.dataset import DatasetPlan, make_dataset
from theodolite.instruments.grid.data.files import read_dataset, write_dataset
from theodolite.instruments.grid.experiments.accuracy import plan_accuracy, read_answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    plan = DatasetPlan("pure", 4, 0, buckets=("A-F0-D1", "M-F0-D1", "M-F1-D1"), densities=("dense",))
    return write_dataset(make_dataset(plan), tmp_path_factory.mktemp("grid") / "data")


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments), "--json"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", "3"),
        ("There are three.", "3"),
        ("**Yes**", "yes"),
        ("No.", "no"),
        ("The answer is 07", "7"),
        ("3 or 4", None),
        ("", None),
        ("3.5", None),
        ("-2", None),
        ("none", None),
        ("yes and no", None),
        ("<think>5? no, 6</think>Six", "6"),
        ("seventeen", "17"),
        ("3, exactly 3", "3"),
    ],
)
def test_answers_are_read_as_a_person_would(text, value):
    assert read_answer(text) == value


def test_each_scene_is_asked_once_with_its_own_options(folder):
    items = list(plan_accuracy(read_dataset(folder)))
    assert len({item.id for item in items}) == len(items) == 12
    for item in items:
        is_count = "How many" in item.request.text
        assert (item.options == ("yes", "no")) != is_count
        assert item.meta["gold"] in item.options


@pytest.mark.parametrize("answer", ["write", "choose"])
@pytest.mark.parametrize(("model", "is_right"), [("grid:symbolic-pure", True), ("grid:symbolic-bow", False)])
def test_the_symbolic_twins_score_as_their_logic(folder, tmp_path, model, is_right, answer):
    result = run(
        "grid", "accuracy", "--model", model, "--data", folder, "--out", tmp_path / "run", "--answer", answer
    )
    assert result.exit_code == 0, result.output
    rows = {row["bucket"]: row for row in json.loads(result.stdout)["rows"]}
    assert rows["A-F0-D1"]["accuracy"]["value"] == 1.0
    assert rows["M-F0-D1"]["accuracy"]["value"] == float(is_right)
    assert rows["M-F0-D1"]["bag_of_words"]["value"] == float(not is_right)
    assert rows["M-F0-D1"]["accuracy"]["n"] == 4


def test_what_is_not_an_answer_is_counted_apart(folder, tmp_path):
    result = run(
        "grid", "accuracy", "--model", "scripted:refuser", "--data", folder, "--out", tmp_path / "run"
    )
    rows = json.loads(result.stdout)["rows"]
    assert all(row["accuracy"] is None and row["refused"] == 4 for row in rows)


def test_a_data_set_without_pictures_cannot_be_shown(tmp_path):
    plan = DatasetPlan("pure", 1, 0, buckets=("A-F0-D1",), densities=("dense",))
    bare = write_dataset(make_dataset(plan), tmp_path / "bare", pictures=False)
    with pytest.raises(UsageError, match="has no pictures"):
        list(plan_accuracy(read_dataset(bare)))


def test_bad_words_on_the_command_line(folder, tmp_path):
    wrong = CliRunner().invoke(app, ["grid", "certify", "best"])
    assert wrong.exit_code != 0
    absent = CliRunner().invoke(
        app,
        ["grid", "accuracy", "--model", "grid:pure", "--data", str(tmp_path), "--out", str(tmp_path / "r")],
    )
    assert absent.exit_code != 0


def test_the_certify_command_prints_one_line_for_each_figure(tmp_path):
    result = run("grid", "certify", "spur", "--n", "2", "--out", tmp_path / "c.json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert json.loads((tmp_path / "c.json").read_text()) == found
    assert {line["what"] for line in found["lines"]} == {
        "accuracy",
        "agrees with the bag of words",
        "follows swapped directions",
        "same answer with directions swapped",
        "same answer without distractors",
    }

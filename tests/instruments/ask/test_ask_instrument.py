"""Ask as an instrument: the same numbers in its scores, its tables and its rows."""

import pytest

from theodolite.core.scores import OWN_SPLIT
from theodolite.diagnose.export.samples import read_samples
from theodolite.diagnose.export.shares import Graded, by_condition
from theodolite.instruments.ask.data.questions import write_questions
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.instruments.ask.instrument import ASK
from theodolite.instruments.ask.score import score_ask
from theodolite.instruments.instrument import Study, UserData, item_rows
from theodolite.runs import Run, RunSettings, measure_run
from theodolite.stats import score_mean


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A run of a study, of a model that guesses; every seventh request fails."""
    folder = tmp_path_factory.mktemp("asked")
    own = ASK.find_data(write_questions(make_squares(40), folder / "squares"), None)
    (plan,) = ASK.plan(Study(folder / "data", data=own), "text")
    model = "scripted:flaky"
    measure_run(
        folder / plan.name, RunSettings(plan.kind, model, 0, plan.settings), plan.items, plan.factory(model)
    )
    return folder / plan.name


def test_it_asks_nothing_without_data(tmp_path):
    assert ASK.needs_data
    assert list(ASK.plan(Study(tmp_path), "text")) == []


def test_every_metric_is_scored_and_has_its_mean_in_a_table(asked):
    with Run.open(asked) as run:
        scores = ASK.score(run)
        score = score_ask(run)
        settings, comparisons, pairs = ASK.tables(run)
    assert {each.metric for each in scores} == {metric.key for metric in ASK.metrics} - {
        "ask.accuracy:remove",
        "ask.accuracy:remove-other",
    }
    assert {each.split for each in scores} == {OWN_SPLIT}
    means = {metric.key: score_mean(metric, scores) for metric in ASK.metrics}
    for each in score.settings:
        assert each.accuracy == means[f"ask.accuracy:{each.setting}"]
    for each in score.comparisons:
        assert each.drop.value == pytest.approx(means[f"ask.drop:{each.against}"].value)
        assert each.same_answer == means[f"ask.same_answer:{each.against}"]
    assert [row[1] for row in settings.rows] == [each.accuracy for each in score.settings]
    assert [row[1] for row in comparisons.rows] == [each.drop for each in score.comparisons]
    assert pairs.notes[0] == f"{score.verdict}: {score.because}"


def test_what_failed_has_no_value_and_says_so(asked):
    with Run.open(asked) as run:
        scores = ASK.score(run)
        failed = sum(r.record is None or r.record.response.status == "failed" for r in run.results())
    lost = [each for each in scores if each.value is None]
    own = [each for each in lost if each.metric != "ask.accuracy:swapped"]  # these are other plain answers
    assert len(own) == failed > 0
    assert {each.reason for each in lost} == {"failed"}
    assert {each.metric.partition(":")[0] for each in lost} == {"ask.accuracy"}


def test_rows_show_each_question_in_each_setting(asked):
    with Run.open(asked) as run:
        scores = ASK.score(run)
        rows = list(item_rows(ASK, run, lambda picture: picture.digest, scores))
        names = [result.item.name for result in run.results()]
    assert [row.id for row in rows] == names
    assert {row.condition for row in rows} == {
        "plain",
        "blind",
        "mirror",
        "light",
        "exchanged",
        "exchanged-mirror",
    }
    assert {row.split for row in rows} == {OWN_SPLIT}
    plain = [row for row in rows if row.condition == "plain"]
    values = {each.item: each.value for each in scores if each.metric == "ask.accuracy:picture"}
    for row in plain:
        value = values[row.id.removesuffix("/picture")]
        assert row.values.get("ask.accuracy:picture") == value
        assert row.correct == (None if row.status == "failed" else bool(value))
    assert all(row.correct is None for row in rows if row.condition == "blind")
    assert not any(row.values for row in rows if row.condition != "plain")


def test_reading_a_run_writes_nothing(asked):
    def times():
        return {path: path.stat().st_mtime_ns for path in asked.rglob("*") if "sqlite-" not in path.name}

    before = times()
    with Run.open(asked) as run:
        ASK.tables(run)
    assert times() == before


@pytest.mark.parametrize(
    ("name", "line", "is_found"),
    [
        ("questions.jsonl", '{"id": "q", "question": "?", "answer": "a", "picture": "1.png"}', True),
        ("mine.jsonl", '{"id": "q", "question": "?", "answer": "a", "image": "1.png"}', True),
        ("mine.json", '{"id": "q", "question": "?", "label": "a", "image": "1.png"}', True),
        ("mine.csv", "image,question,answer\n1.png,?,a", True),
        ("mine.txt", '{"id": "q", "question": "?", "answer": "a", "image": "1.png"}', False),
        ("mine.jsonl", '{"id": "q", "question": "?", "answer": "a"}', False),
        ("mine.jsonl", '{"id": "q", "question": "?"}', False),
        ("mine.jsonl", "[1, 2]", False),
        ("mine.jsonl", "", False),
    ],
)
def test_questions_are_recognised_by_their_fields(tmp_path, name, line, is_found):
    path = tmp_path / name
    path.write_text(f"\n{line}\n")
    expected = UserData("ask", "questions", path) if is_found else None
    assert ASK.find_data(path, None) == ASK.find_data(tmp_path, None) == expected
    pictures = UserData("ask", "questions", path, tmp_path) if is_found else None
    assert ASK.find_data(path, tmp_path) == pictures


def test_the_questions_of_scenes_are_not_its_own(tmp_path):
    (tmp_path / "questions.jsonl").write_text('{"question": "?", "answer": "a"}\n')
    (tmp_path / "scenes.jsonl").write_text("{}\n")
    assert ASK.find_data(tmp_path, None) is None


def test_every_condition_is_exported_whole_and_with_our_accuracy(asked):
    run = read_samples(asked)
    graded = [Graded.of(sample) for sample in run.samples]
    means = by_condition(graded)
    with Run.open(asked) as opened:
        settings = score_ask(opened).settings
    for each in settings:
        condition = "plain" if each.setting == "picture" else each.setting
        assert sum(sample.row.condition == condition for sample in run.samples) == each.asked
        assert means[condition] == pytest.approx(each.accuracy.value, rel=1e-12)
    assert {"plain", "swapped"} < set(means)
    assert len({sample.id for sample in run.samples}) == len(run.samples)

"""Two runs of known models against each other: the plain mean difference, both orders, and what has nothing in common."""

import json

import known_models
import pytest

from theodolite.answers import Answer
from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.diagnose.compare import Verdicts, compare, looking_scores
from theodolite.diagnose.record import read_diagnosis
from theodolite.diagnose.request import DiagnosisRequest
from theodolite.diagnose.running import read_items, run_diagnosis
from theodolite.diagnose.separation import Twins
from theodolite.pairs import AnsweredPair, Edit
from theodolite.pairs.outcomes import MIRROR
from theodolite.stats import Scores
from toy_instrument import TOY, registered

FEW = 13
LOOKS, READS = "scripted:looks", "scripted:reads"


@pytest.fixture(scope="module")
def diagnosis(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    with pytest.MonkeyPatch.context() as patch:
        known_models.put_in(patch)
        run_diagnosis(DiagnosisRequest((LOOKS, READS), folder, (TOY,), FEW, twins=Twins(LOOKS, READS)))
    with registered(TOY):
        yield folder


def plain_accuracy(folder, model, split):
    rows = [
        row for row in read_items(folder) if (row.model, row.split, row.condition) == (model, split, "plain")
    ]
    return sum(bool(row.correct) for row in rows) / len(rows)


def test_a_difference_is_the_plain_one(diagnosis):
    found = compare(f"{diagnosis}#{LOOKS}", f"{diagnosis}#{READS}")
    right = {c.split: c for c in found.comparisons if c.metric == "toy.right"}
    for split in ("aligned", "crossed"):
        gap = plain_accuracy(diagnosis, LOOKS, split) - plain_accuracy(diagnosis, READS, split)
        assert right[split].difference.value == pytest.approx(gap)
        assert right[split].p_holm >= right[split].test.p_value
    assert {metric.key for metric in found.metrics} >= {"toy.right"}


def test_turned_round_the_signs_turn(diagnosis):
    there = compare(f"{diagnosis}#{LOOKS}", f"{diagnosis}#{READS}")
    back = compare(f"{diagnosis}#{READS}", f"{diagnosis}#{LOOKS}")
    for one, other in zip(there.comparisons, back.comparisons, strict=True):
        if one.difference is not None:
            assert one.difference.value == pytest.approx(-other.difference.value)


def test_runs_compare_like_diagnoses(diagnosis):
    runs = [diagnosis / "runs" / name for name in ("scripted-looks", "scripted-reads")]
    found = compare(*runs)
    whole = compare(f"{diagnosis}#{LOOKS}", f"{diagnosis}#{READS}")
    assert found.comparisons == whole.comparisons


def test_verdicts_are_those_of_the_diagnosis(diagnosis):
    views = {view.model: view for view in read_diagnosis(diagnosis).instrument("toy").models}
    found = compare(f"{diagnosis}#{READS}", f"{diagnosis}#{LOOKS}")
    assert found.verdicts == (Verdicts("toy", views[READS], views[LOOKS]),)
    assert views[LOOKS].verdict != views[READS].verdict
    mixed = compare(f"{diagnosis}#{READS}", diagnosis / "runs" / "scripted-looks")
    assert mixed.verdicts == (Verdicts("toy", views[READS], None),)


def test_which_model_is_meant_must_be_said(diagnosis):
    with pytest.raises(UsageError, match="several models"):
        compare(diagnosis, diagnosis)
    with pytest.raises(UsageError, match="pass two different ones"):
        compare(f"{diagnosis}#{LOOKS}", f"{diagnosis}#{LOOKS}")
    with pytest.raises(UsageError, match="no model 'nobody'"):
        compare(f"{diagnosis}#nobody", diagnosis)
    with pytest.raises(UsageError, match="does not exist"):
        compare("/no/such/folder", diagnosis)


def test_the_command_shows_a_table_and_writes_a_page(diagnosis, tmp_path, capsys):
    sides = [f"{diagnosis}#{LOOKS}", f"{diagnosis}#{READS}"]
    assert main(["compare", *sides, "--out", str(tmp_path / "page")]) == 0
    assert "the count is right" in capsys.readouterr().out
    assert (
        "toy.right" in (tmp_path / "page" / "index.html").read_text()
        or "right" in (tmp_path / "page" / "index.html").read_text()
    )
    assert main(["compare", *sides, "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["first"] == LOOKS
    assert main(["compare", str(tmp_path / "nothing"), str(diagnosis)]) == 2
    assert "two diagnoses or two runs" in " ".join(capsys.readouterr().err.split())


def test_a_picture_may_be_paired_with_several_others():
    another = Edit("another picture", is_relevant=True)
    said = Answer("value", "left"), Answer("value", "right")
    pairs = [
        AnsweredPair("q1", another, "p1", *said, gold="left", edited_gold="right", shown=("q1", other))
        for other in ("q2", "q3")
    ]
    assert len({score.item for score in looking_scores("toy", pairs)}) == 2


def test_pairs_that_one_model_inverts_count_against_it():
    left, right = Answer("value", "left"), Answer("value", "right")

    def answered(turned):
        said = [(right, left) if i in turned else (left, right) for i in range(40)]
        return [
            AnsweredPair(f"q{i}", MIRROR, f"p{i}", *each, gold="left", edited_gold="right")
            for i, each in enumerate(said)
        ]

    sides = {
        name: list(looking_scores("toy", answered(turned))) for name, turned in (("a", ()), ("b", range(20)))
    }
    (change,) = Scores(sides).difference()
    assert change.means == (1.0, 0.0)
    assert change.estimate.low > 0.5


def test_looking_is_compared_pair_by_pair(diagnosis, capsys):
    looks, reads = (f"{diagnosis}#{model}" for model in (LOOKS, READS))
    (change,) = compare(looks, reads).looking
    views = {model: diagnosed_view(diagnosis, model) for model in (LOOKS, READS)}
    assert change.first == pytest.approx(views[LOOKS].looking.value)
    assert change.second == pytest.approx(views[READS].looking.value)
    assert change.difference.value == pytest.approx(change.first - change.second)
    assert change.n == views[LOOKS].n_relevant
    assert change.is_lower
    assert not compare(reads, looks).looking[0].is_lower
    assert main(["compare", looks, reads, "--fail-if-lower"]) == 1
    told = capsys.readouterr()
    assert "Looking" in told.out
    assert f"lower: looking of {READS}" in told.err
    assert main(["compare", reads, looks, "--fail-if-lower"]) == 0
    assert "no instrument shows less looking" in capsys.readouterr().err
    assert main(["compare", looks, reads, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["looking"]
    assert (told["label"], told["is_lower"]) == ("toy", True)


def test_without_pairs_there_is_nothing_to_pass(diagnosis, monkeypatch, capsys):
    monkeypatch.setattr(type(TOY), "pairs", lambda *_: ())
    looks, reads = (f"{diagnosis}#{model}" for model in (LOOKS, READS))
    assert main(["compare", looks, reads, "--fail-if-lower"]) == 1
    assert "no pairs to compare" in capsys.readouterr().err


def diagnosed_view(folder, model):
    (view,) = [v for v in read_diagnosis(folder).instrument("toy").models if v.model == model]
    return view.looking[0]

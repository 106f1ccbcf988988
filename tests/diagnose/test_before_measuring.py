"""What is found out before anything is measured: a second model that is not there, and a report that would be lost."""

import json
from functools import partial

import known_models
import pytest

from theodolite.cli.main import main
from theodolite.core.errors import ModelError, UsageError
from theodolite.diagnose import running
from theodolite.diagnose.api import diagnose
from theodolite.diagnose.request import DiagnosisRequest
from theodolite.diagnose.separation import Twins
from theodolite.instruments.ask.data.questions import write_questions
from theodolite.instruments.ask.data.squares import make_squares
from toy_instrument import TOY, registered

LOOKS, READS = "scripted:looks", "scripted:reads"


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """The toy instrument, and two scripted models for twins."""
    known_models.put_in(monkeypatch)
    asked = partial(DiagnosisRequest, twins=Twins(LOOKS, READS))
    monkeypatch.setattr("theodolite.diagnose.api.DiagnosisRequest", asked)
    with registered(TOY):
        yield


@pytest.fixture
def unmeasured(monkeypatch):
    """Whoever comes to measure has come too far."""

    def too_far(*_):
        raise AssertionError("something was measured")

    monkeypatch.setattr(running, "measure_model", too_far)


@pytest.mark.parametrize(
    ("second", "error", "said"),
    [
        ("hf:/nowhere/typo", ModelError, "there is no checkpoint folder /nowhere/typo"),
        ("pocket:nobody", UsageError, "there is no pocket model 'nobody'"),
        ("openai:any@http://127.0.0.1:9/v1", ModelError, "127.0.0.1:9"),
    ],
)
def test_the_second_model_is_looked_for_before_the_first_is_measured(
    tmp_path, unmeasured, second, error, said
):
    with pytest.raises(error, match=said):
        diagnose(["scripted:refuser", second], out=tmp_path, instruments=["toy"], size="quick")


def test_a_diagnosis_that_says_more_is_not_written_over(tmp_path):
    made = diagnose("scripted:refuser", out=tmp_path, instruments=["toy"], size="quick")
    before = (tmp_path / "diagnosis.json").read_text()
    for models, rest, lost in (
        (["scripted:looker"], {}, "scripted:refuser"),
        (["scripted:refuser"], {"instruments": ["compass"]}, "toy"),
        (["scripted:refuser"], {"seed": 5}, "seed 0"),
        (["scripted:refuser"], {"size": "standard"}, "size quick"),
    ):
        with pytest.raises(UsageError, match=f"holds a diagnosis with {lost}, which would be lost; .*--out"):
            diagnose(models, **{"out": tmp_path, "instruments": ["toy"], "size": "quick", **rest})
    assert (tmp_path / "diagnosis.json").read_text() == before
    again = diagnose("scripted:refuser", out=tmp_path, instruments=["toy"], size="quick")
    assert again.diagnosis.instruments == made.diagnosis.instruments


@pytest.mark.parametrize("wrong", ["huge", "5", 5, "-6", "6.5", 0])
def test_a_size_that_there_is_not_is_refused(tmp_path, unmeasured, wrong):
    with pytest.raises(UsageError, match="quick, standard, large, or a whole number of pairs, at least 6"):
        diagnose(LOOKS, out=tmp_path, instruments=["toy"], size=wrong)


@pytest.mark.parametrize("size", [14, "14"])
def test_a_size_may_be_a_number_of_items(tmp_path, size):
    made = diagnose(LOOKS, out=tmp_path, instruments=["toy"], size=size).diagnosis
    assert made.size == "14"
    assert made.instrument("toy").models[0].counts.planned == 2 * 3 * 14
    with pytest.raises(UsageError, match="size 14, which would be lost"):
        diagnose(LOOKS, out=tmp_path, instruments=["toy"], size=15)
    assert diagnose(LOOKS, out=tmp_path, instruments=["toy"], size=14).diagnosis.models == made.models


def test_data_and_instruments_must_fit(tmp_path, unmeasured):
    questions = write_questions(make_squares(2), tmp_path / "squares")
    with pytest.raises(UsageError, match=r"is for ask, which is not in --instruments"):
        diagnose(LOOKS, out=tmp_path / "r", instruments=["toy"], data=[questions])
    with pytest.raises(UsageError, match=r"ask has no built-in data; pass your own with --data: a JSONL"):
        diagnose(LOOKS, out=tmp_path / "r", instruments=["ask", "toy"])


def test_a_plan_writes_nothing_and_asks_few(tmp_path, capsys):
    words = [
        "diagnose",
        "--instruments",
        "toy",
        "--size",
        "40",
        "--out",
        str(tmp_path / "r"),
        "--plan",
        "--json",
    ]
    assert main([*words, "--model", "scripted:looker", "--model", "openai:x@http://127.0.0.1:9/v1"]) == 0
    told = json.loads(capsys.readouterr().out)
    known, unknown = told["parts"]
    assert (known["model"], known["instrument"]) == ("scripted:looker", "toy")
    assert known["requests"] == unknown["requests"] > known["timed"] > 0
    assert known["seconds"] > 0
    assert unknown["seconds"] is None
    assert "127.0.0.1:9" in unknown["why_not"]
    assert told["plan"]["requests"] == 2 * known["requests"]
    assert not (tmp_path / "r").exists()
    assert main([*words[:-2], "--price", "3"]) == 2
    assert "--price is for --plan" in capsys.readouterr().err

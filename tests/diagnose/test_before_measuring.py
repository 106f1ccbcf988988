"""What is found out before anything is measured: a second model that is not there, and a report that would be lost."""

import pytest

from theodolite.core.errors import ModelError, UsageError
from theodolite.diagnose import running
from theodolite.diagnose.api import diagnose


@pytest.fixture
def unmeasured(monkeypatch):
    """Whoever comes to measure has come too far."""

    def too_far(*_):
        raise AssertionError("something was measured")

    monkeypatch.setattr(running, "_diagnose_model", too_far)


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
        diagnose("scripted:refuser", second, out=tmp_path, instruments=["grid"], size="quick")


def test_a_diagnosis_that_says_more_is_not_written_over(tmp_path, monkeypatch):
    made = diagnose("scripted:refuser", out=tmp_path, instruments=["grid"], size="quick")
    before = (tmp_path / "diagnosis.json").read_text()
    for models, rest, lost in (
        (["scripted:looker"], {}, "scripted:refuser"),
        (["scripted:refuser"], {"instruments": ["compass"]}, "grid"),
        (["scripted:refuser"], {"seed": 5}, "seed 0"),
        (["scripted:refuser"], {"size": "standard"}, "size quick"),
    ):
        with pytest.raises(UsageError, match=f"holds a diagnosis with {lost}, which would be lost; .*--out"):
            diagnose(*models, **{"out": tmp_path, "instruments": ["grid"], "size": "quick", **rest})
    assert (tmp_path / "diagnosis.json").read_text() == before
    again = diagnose("scripted:refuser", out=tmp_path, instruments=["grid"], size="quick")
    assert again.diagnosis.instruments == made.diagnosis.instruments

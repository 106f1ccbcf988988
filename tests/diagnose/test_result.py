"""A diagnosis shows itself, and hostile text stays text."""

import pytest
from diagnosis_sample import GROUNDED, HOSTILE, sample_diagnosis, write_sample

from theodolite.core.errors import UsageError
from theodolite.diagnose.api import open_diagnosis
from theodolite.diagnose.result import Diagnosed, followed_words, verdict_rows


@pytest.fixture
def shown(tmp_path):
    return open_diagnosis(write_sample(tmp_path, n=8))


def test_text_holds_the_verdict_and_fits_a_screen(shown):
    text = repr(shown)
    assert "pocket:grounded: looks." in text
    assert "100 % [96, 104] followed" in text
    assert "raised: semantic shortcut (scene)" in text
    assert "left out of compass" in text
    assert len(text.splitlines()) <= 40


def test_html_is_a_table_of_models_and_instruments(shown):
    html = shown._repr_html_()
    assert html.count("<tr>") == 6  # head, four instruments, verdict
    assert "62 % [58, 66] followed" in html
    assert "behaviour, not cause" in html


def test_names_that_are_mark_up_are_escaped(tmp_path):
    diagnosis = sample_diagnosis()
    renamed = diagnosis.models[0].model_copy(update={"name": HOSTILE})
    html = Diagnosed(diagnosis.model_copy(update={"models": [renamed]}), tmp_path)._repr_html_()
    assert "<script" not in html
    assert 'onerror="' not in html
    assert "&lt;script&gt;" in html


def test_one_view_and_the_items_are_at_hand(shown):
    assert shown.view(GROUNDED, "trace").verdict.standing == "looks"
    assert len(list(shown.items())) == 8
    with pytest.raises(UsageError, match="no model 'nobody'"):
        shown.view("nobody", "trace")
    with pytest.raises(UsageError, match="no instrument 'sextant'"):
        shown.view(GROUNDED, "sextant")


def test_every_model_has_a_cell_in_every_row(shown):
    rows = dict(verdict_rows(shown.diagnosis))
    assert list(rows) == ["compass", "grid", "scene", "trace"]
    words, standing, why = rows["compass"][2]
    assert (words, standing) == ("left out", "not measured")
    assert "it needs gradients" in why
    assert followed_words(shown.view(GROUNDED, "grid").looking[0]) == rows["grid"][0][0]


def test_own_data_stand_first(shown):
    diagnosis = shown.diagnosis
    trace = diagnosis.instrument("trace")
    own = trace.models[0].looking[0].model_copy(update={"source": "own"})
    view = trace.models[0].model_copy(update={"looking": [own, *trace.models[0].looking]})
    changed = trace.model_copy(update={"models": [view, *trace.models[1:]]})
    found = diagnosis.model_copy(update={"instruments": [*diagnosis.instruments[:3], changed]})
    rows = verdict_rows(found)
    assert rows[0][0] == "your data (trace)"
    assert rows[0][1][1][1] == "not measured"


def test_the_package_can_be_called():
    import theodolite
    from theodolite.diagnose import api as _api

    assert callable(theodolite.diagnose)
    with pytest.raises(UsageError, match="no size 'tiny'"):
        theodolite.diagnose("scripted:echo", size="tiny")
    with pytest.raises(UsageError, match="the instruments are"):
        theodolite.diagnose("scripted:echo", instruments=["sextant"])
    with pytest.raises(UsageError, match="given twice"):
        theodolite.diagnose("scripted:echo", "scripted:echo")
    assert theodolite.diagnose.api.diagnose is _api.diagnose

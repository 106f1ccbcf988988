"""A diagnosis shows itself, and hostile text stays text."""

import inspect
import sys
from dataclasses import replace

import pytest
from diagnosis_sample import GROUNDED, HOSTILE, sample_diagnosis, write_sample

from theodolite.core.errors import MissingExtraError, UsageError
from theodolite.core.views import PairRow
from theodolite.diagnose.api import Diagnosed, looking_words, open_diagnosis, verdict_rows
from theodolite.diagnose.compare import lookings
from theodolite.diagnose.running import write_pairs


@pytest.fixture
def shown(tmp_path):
    return open_diagnosis(write_sample(tmp_path, n=8))


def test_text_holds_the_verdict_and_fits_a_screen(shown):
    text = repr(shown)
    assert "pocket:grounded: looks." in text
    assert "100 % [94, 106], accuracy 100 %" in text
    assert "raised: semantic shortcut (scene)" in text
    assert "left out of compass" in text
    assert len(text.splitlines()) <= 40


def test_html_is_a_table_of_models_and_instruments(shown):
    html = shown._repr_html_()
    assert html.count("<tr>") == 6  # head, four instruments, verdict
    assert "62 % [56, 68], accuracy 81 %" in html
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
    assert looking_words(shown.view(GROUNDED, "grid").looking[0]) == rows["grid"][0][0]


def test_own_data_stand_first(shown):
    diagnosis = shown.diagnosis
    trace = diagnosis.instrument("trace")
    own = replace(trace.models[0].looking[0], source="own")
    view = trace.models[0].model_copy(update={"looking": [own, *trace.models[0].looking]})
    changed = trace.model_copy(update={"models": [view, *trace.models[1:]]})
    found = diagnosis.model_copy(update={"instruments": [*diagnosis.instruments[:3], changed]})
    rows = verdict_rows(found)
    assert rows[0][0] == "your pictures, edited (trace)"
    assert rows[0][1][1][1] == "not measured"


def test_the_package_can_be_called():
    import theodolite
    from theodolite.diagnose import api as _api

    assert callable(theodolite.diagnose)
    signature = inspect.signature(theodolite.diagnose)
    assert signature == inspect.signature(_api.diagnose)
    assert list(signature.parameters)[:5] == ["model", "processor", "data", "size", "instruments"]
    assert "Args:" in theodolite.diagnose.__call__.__doc__
    with pytest.raises(UsageError, match="no size 'tiny'"):
        theodolite.diagnose("scripted:echo", size="tiny")
    with pytest.raises(UsageError, match="the instruments are"):
        theodolite.diagnose("scripted:echo", instruments=["sextant"])
    with pytest.raises(UsageError, match="given twice"):
        theodolite.diagnose(["scripted:echo", "scripted:echo"])
    assert theodolite.diagnose.api.diagnose is _api.diagnose


def test_frames_hold_the_numbers_of_the_record(shown):
    frame = shown.to_pandas()
    looking = shown.view(GROUNDED, "grid").looking[0]
    row = frame[(frame.model == GROUNDED) & (frame.pictures == "grid")].iloc[0]
    assert (row.verdict, row.pairs, row.followed) == (
        looking.standing,
        looking.n_relevant,
        looking.followed.value,
    )
    assert (row.looking, row.looking_low) == (looking.looking.value, looking.looking.low)
    assert len(shown.to_pandas("edits")) == sum(len(each.edits) for _, _, each in lookings(shown.diagnosis))
    metrics = shown.to_pandas("metrics")
    assert len(metrics) == sum(len(m.models) for each in shown.diagnosis.instruments for m in each.metrics)
    items = shown.to_pandas("items")
    assert list(items["item"]) == [row.id for row in shown.items()]
    one = items["item"][0]
    pair = PairRow(
        instrument=items["instrument"][0], model=items["model"][0], pictures="grid", edit="mirror", is_relevant=True,
        outcome="followed", before=one, after=one,
    )  # fmt: skip
    write_pairs([pair], shown.folder)
    pairs = shown.to_pandas("pairs")
    assert (pairs["outcome"][0], pairs["item_before"][0], pairs["gold_after"][0]) == (
        "followed",
        one,
        items["gold"][0],
    )
    with pytest.raises(UsageError, match="no frame 'pages'; there are verdicts"):
        shown.to_pandas("pages")


def test_without_pandas_a_sentence_says_so(shown, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"to_pandas\(\) needs pandas: pip install 'pandas>=2.2'"):
        shown.to_pandas()


def test_the_plot_is_that_of_the_report(shown):
    drawing = shown.plot(title="All")
    assert drawing._repr_png_().startswith(b"\x89PNG")


def test_exhibits_show_both_pictures_and_escape_what_models_say(tmp_path):
    found = open_diagnosis(write_sample(tmp_path, n=8))
    shown = found.exhibits(GROUNDED, "grid")
    assert len(shown) == len(found.view(GROUNDED, "grid").looking[0].exhibits) > 0
    assert {each.model for each in shown} == {GROUNDED}
    assert len(found.exhibits()) > len(shown)
    assert isinstance(found.exhibits()[:1], type(shown))
    first = shown[0]
    assert first.form.outcome in repr(first)
    html = shown._repr_html_()
    assert html.count("<img") == 2 * len(shown) if all(all(each.pictures()) for each in shown) else True
    side = first.form.before.model_copy(update={"read_as": HOSTILE, "pictures": ["../../etc/passwd"]})
    hostile = replace(first, form=first.form.model_copy(update={"before": side, "question": HOSTILE}))
    assert "<script" not in hostile._repr_html_()
    assert hostile.pictures()[0] is None
    with pytest.raises(UsageError, match="no model 'nobody'"):
        found.exhibits("nobody")

"""The twins' scores that ship fit what a quick diagnosis asks today, so that nobody's diagnosis asks the twins again."""

import pytest

from theodolite.diagnose.api import make_request
from theodolite.diagnose.separation import Twins, items_hash, read_calibration, shipped_path
from theodolite.instruments.instrument import score_runs
from theodolite.models import open_model
from theodolite.runs import RunSettings, measure_run

FEW = 24
"""Items of each run that a twin is asked again."""
CUT = 0.02
"""Scores that may differ: the mean over the edits of an item, of which the limit cuts some off."""

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["compass", "grid", "scene", "trace"])
def test_shipped_scores_fit_the_items_and_come_out_again(name, tmp_path):
    twin = Twins().grounded
    request = make_request((twin,), size="quick", instruments=name, out=tmp_path)
    (instrument,) = request.instruments
    model = open_model(twin)
    folders = []
    for plan in instrument.plan(request.study(instrument), "gradients"):
        folder = request.run_folder(twin, plan.name)
        settings = RunSettings(plan.kind, twin, request.seed, plan.settings)
        measure_run(folder, settings, plan.items, plan.measurer(model), limit=FEW)
        folders.append(folder)
    shipped = read_calibration(
        shipped_path(name, "quick", 0),
        items=items_hash(folders),
        identities={twin: open_model(twin).identity for twin in Twins()},
    )
    assert shipped is not None, (
        "make the files again: theodolite diagnose with both twins, python -m train calibration"
    )
    wanted = {(s.item, s.metric, s.split, s.group): s.value for s in shipped[twin]}
    found = {
        (s.item, s.metric, s.split, s.group): s.value
        for s in score_runs(instrument, folders)
        if s.value is not None
    }
    both = wanted.keys() & found.keys()
    assert both
    other = {key: (found[key], wanted[key]) for key in both if abs(found[key] - wanted[key]) > 1e-4}
    assert len(other) <= CUT * len(both), other

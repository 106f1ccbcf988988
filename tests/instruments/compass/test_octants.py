"""Octant accuracy (A.4) on targets exactly in the eight directions."""

from dataclasses import replace

import numpy as np
import pytest
from compass_samples import box_at, make_sample, planted

from theodolite.geometry.directions import CARDINAL, EIGHT
from theodolite.instruments.compass.experiments.framework import octant_guess
from theodolite.instruments.compass.formulas.projection import PAPER
from theodolite.instruments.compass.tables import ScoreSettings, score_samples


def octant_samples():
    """Targets exactly in the eight directions; one map on the target, one opposite to it."""
    for number, (name, angle) in enumerate(EIGHT.angles_deg.items()):
        turn = np.deg2rad(angle)
        a = box_at(80, 60)
        b, away = (box_at(80 + way * 40 * np.cos(turn), 60 - way * 40 * np.sin(turn)) for way in (1, -1))
        maps = [planted(box, method=method, target="gt") for method, box in (("there", b), ("away", away))]
        made = make_sample(number, maps=maps, reference=a, target=b)
        yield replace(made, directions=EIGHT.names, gold=EIGHT.names.index(name), logits=np.eye(8)[0])


def test_octant_accuracy_on_diagonal_truths_beside_what_a_guess_has():
    def rows(**changes):
        settings = ScoreSettings(projections=("paper",), **changes)
        found = score_samples(list(octant_samples()), settings).table("octants_paper")
        return found, {row["method"]: row for row in found.as_json()["rows"]}

    table, found = rows()
    assert (found["there"]["n_diagonal"], found["there"]["n"]) == (4, 8)
    assert [found["there"][key]["value"] for key in ("octant", "diagonal", "cardinal")] == [1, 1, 1]
    assert [found["away"][key]["value"] for key in ("octant", "diagonal", "cardinal")] == [0, 0, 0]
    assert found["there"]["guess"] == 0.25, "sectors from 0° have two centres beside each direction"
    assert any("--bins centre" in note for note in table.notes)
    table, found = rows(bins="centre")
    assert found["there"]["guess"] == 0.125, "as A.4 has it"
    assert found["there"]["octant"]["value"] == 1
    assert "sectors centred on 0°" in table.title
    anywhere = np.linspace(0, 360, 720, endpoint=False) + 0.25
    assert octant_guess(anywhere, PAPER) == pytest.approx(0.125)


def test_octants_are_shown_for_diagonal_truths_or_if_asked_for():
    four = [sample for sample in octant_samples() if sample.direction in CARDINAL.names]
    with pytest.raises(KeyError):
        score_samples(four).table("octants_paper")
    assert score_samples(four, ScoreSettings(tables=("octants",))).table("octants_sound")

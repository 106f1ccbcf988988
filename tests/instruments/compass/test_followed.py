"""Followed pairs beside DAE: the tables against what was planted, and a run that holds both."""

import json

import numpy as np
import pytest
from compass_samples import box_at, make_sample, planted

from theodolite.answers import Answer
from theodolite.cli.main import main
from theodolite.geometry.directions import EIGHT
from theodolite.instruments.compass.data.drawn import SquaresPlan, coloured_squares
from theodolite.instruments.compass.data.pairs import write_pairs
from theodolite.instruments.compass.experiments.framework import FollowedRun, followed_table, pairs_table
from theodolite.instruments.compass.formulas.projected import project_samples
from theodolite.instruments.compass.formulas.projection import PROJECTIONS
from theodolite.instruments.compass.instrument import COMPASS
from theodolite.instruments.compass.tables import score_run
from theodolite.pairs import AnsweredPair
from theodolite.pairs.outcomes import LIGHT, MIRROR, MOVE_TARGET
from theodolite.runs import Run

N = 12


def followed_run(model="m"):
    """Right of A in the middle. The first half of the pairs is followed, and only there the map is on the target."""
    samples, pairs = [], []
    rng = np.random.default_rng(1)
    for number in range(N):
        a, b = box_at(80, 60), box_at(130, 60 + float(rng.uniform(-9, 9)))
        follows = number < N // 2
        on = b if follows else box_at(30, 60)
        samples.append(make_sample(number, maps=[planted(on, elsewhere=0.001)], reference=a, target=b))
        for edit in (MIRROR, MOVE_TARGET, LIGHT):
            after = "1" if follows and edit.is_relevant else "2"
            gold = "1" if edit.is_relevant else "2"
            said = Answer("value", after) if number or edit != MOVE_TARGET else Answer("unreadable")
            name = f"pair-{number}/A"
            pairs.append(AnsweredPair(name, edit, str(number), Answer("value", "2"), said, "2", gold))
    pairs.append(AnsweredPair("unknown/A", MIRROR, "x", Answer("value", "2"), Answer("value", "2"), "2", "1"))
    return FollowedRun.of(model, project_samples(samples, PROJECTIONS, seed=0), pairs)


def test_a_map_that_points_where_answers_follow_shows_it():
    table = followed_table([followed_run("one"), followed_run("two")], "paper", seed=0)
    assert [row["model"] for row in table.as_json()["rows"]] == ["one", "two"]
    row = table.as_json()["rows"][0]
    assert row["map"] == "planted@pred"
    assert row["followed"]["value"] == pytest.approx((N - 1) / (2 * N)), "one of the followed pairs is lost"
    assert (row["n_followed"], row["n_other"]) == (N - 1, N)
    assert row["followed_dae"]["value"] < 45
    assert row["other_dae"]["value"] > 135
    assert row["gap"]["value"] == pytest.approx(row["other_dae"]["value"] - row["followed_dae"]["value"])
    assert row["gap"]["low"] > 90
    assert abs(row["uniform_gap"]["value"]) < 46, "the layout explains at most a sector"
    assert table.notes[0].startswith("one: 45.8 %")
    better = int(row["excess_dae"]["high"] < 0)
    assert f"of 24 pairs are followed; {better} of 1 maps point better" in table.notes[0]


def test_outcomes_by_edit_with_those_that_change_the_answer_first():
    rows = pairs_table([followed_run()]).as_json()["rows"]
    assert [row["edit"] for row in rows] == [
        "all that change the answer",
        "mirror",
        "move the target",
        "light",
    ]
    assert [row["pairs"] for row in rows] == [2 * N, N, N, N]
    assert (rows[1]["followed"]["value"], rows[1]["unmoved"]["value"]) == pytest.approx((0.5, 0.5))
    assert rows[2]["lost"]["value"] == pytest.approx(1 / N)
    assert rows[3]["kept"]["value"] == 1
    assert rows[3]["followed"] is None


@pytest.fixture(scope="module")
def measured(tmp_path_factory, tiny):
    """Four drawn pairs, two of them diagonal, asked as they are and after edits, from the command line."""
    folder = tmp_path_factory.mktemp("eight")
    plan = SquaresPlan((160, 160), 20, 8, 40, 100)
    write_pairs(coloured_squares(4, seed=2, plan=plan, vocabulary=EIGHT).pairs, folder / "pairs")
    words = ["compass", "run", "--data", folder / "pairs", "--model", f"hf:{tiny('qwen2_vl')}?batch_size=8"]
    words += ["--methods", "chefer", "--pairs", "--out", folder / "run"]
    assert main([str(word) for word in words]) == 0
    return folder / "run"


def test_a_run_with_edits_has_maps_of_the_pictures_before_them(measured):
    with Run.open(measured) as run:
        assert run.info.settings["pairs"] is True
        assert run.info.settings["prompt"] == "A8"
        pairs = list(COMPASS.pairs(run))
        found = score_run(run)
        maps = {result.item.truth.condition for result in run.results() if "logits" in result.record.values}
    assert maps == {"plain"}
    assert {pair.edit.name for pair in pairs} >= {"mirror", "upside down", "move the target", "light"}
    assert all((pair.gold != pair.edited_gold) == pair.edit.is_relevant for pair in pairs)
    by_edit = {row["edit"]: row["pairs"] for row in found.table("pairs").as_json()["rows"]}
    assert by_edit["mirror"] + by_edit["upside down"] == 8, "four, and with roles exchanged"
    (first, _) = found.table("followed_sound").as_json()["rows"]
    assert first["map"] == "chefer@gt"
    assert first["n_followed"] + first["n_other"] == by_edit["all that change the answer"]
    assert found.table("octants_paper").as_json()["rows"][0]["n_diagonal"] == 2


def test_another_projection_needs_no_model(measured, capsys, tmp_path):
    def table(*words, name="framework_paper"):
        capsys.readouterr()
        assert main(["compass", "score", str(measured), "--json", *words]) == 0
        tables = json.loads(capsys.readouterr().out)["tables"]
        return next(each for each in tables if each["name"] == f"compass.{name}")

    plain = table()
    paper = ["--sectors", "8", "--bins", "edge", "--sigma", "1.2", "--reference", "count"]
    same = table("--projection", "paper", *paper)
    assert (same["rows"], same["title"]) == (plain["rows"], plain["title"]), "the paper's own choices"
    four = table("--sectors", "4")
    assert four["title"].endswith("(K = 4)")
    assert four["rows"] != plain["rows"]
    box = next(row for row in table("--bins", "centre")["rows"] if row["method"] == "box-only")
    assert box["dae"]["value"] < 1, "sectors that stand on the eight directions"
    sound = table(name="framework_sound")
    like = table("--sigma", "35%", "--reference", "leave-out")
    assert "σ = 0.35 of the diagonal, A's own tokens left out" in like["title"]
    assert sound["rows"] != like["rows"], "tokens still count where their centres are"
    assert main(["compass", "score", str(measured), "--sigma", "far"]) == 2
    assert main(["compass", "score", str(measured), "--bins", "odd"]) == 2
    assert main(["compass", "score", str(measured), "--reference", "B"]) == 2
    assert main(["compass", "score", str(measured), "--sectors", "2"]) == 2

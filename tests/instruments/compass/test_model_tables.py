"""Several runs in one table: means as in each run's own, differences over what they share."""

import json
from dataclasses import replace

import numpy as np
import pytest
from faithfulness_made import across, at_target, made_pairs, planted_run
from table_rows import row_of, rows_of

from theodolite import stats
from theodolite.cli.main import main
from theodolite.instruments.compass.experiments.controls.interventions import score_family
from theodolite.instruments.compass.experiments.controls.plan import RELOCATION
from theodolite.instruments.compass.measure import read_samples
from theodolite.instruments.compass.questions import PROMPTS, plan_pairs
from theodolite.instruments.compass.tables import (
    ModelRun,
    ScoreSettings,
    model_tables,
    read_model_run,
    score_run,
)
from theodolite.runs import Run

MAPS = {"chefer@gt": at_target, "contrastive-grad-act@pred": across}
PAPER = ScoreSettings(projections=("paper",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run that sees the target, one that turns its back to it on most of the same pairs, and one on other pairs."""
    root = tmp_path_factory.mktemp("models")
    pairs = made_pairs(14)
    planted_run(root / "seer", pairs, MAPS)
    planted_run(root / "turned", pairs[2:], {"chefer@gt": across, "contrastive-grad-act@pred": across})
    planted_run(root / "elsewhere", made_pairs(6, seed=9), MAPS)
    return root


def read(folder, name, model, settings=PAPER):
    with Run.open(folder / name) as run:
        return read_model_run(run, model, settings)


def test_rows_are_those_of_each_run(folder):
    table = model_tables([read(folder, "seer", "a"), read(folder, "turned", "b")], PAPER)[0]
    assert (table.name, [row.model for row in rows_of(table)]) == (
        "compass.models_paper",
        ["a", "a", "b", "b"],
    )
    assert [column.title for column in table.columns[4:]] == [
        "squares: DAE",
        "squares: − uniform",
        "squares: EA",
        "n",
    ]
    for model, name in (("a", "seer"), ("b", "turned")):
        with Run.open(folder / name) as run:
            alone = score_run(run).table("framework_paper")
        for row in rows_of(table):
            if row.model == model:
                own = row_of(alone, method=row.method, target=row.target)
                assert (row.dae_0, row.excess_0) == (own.dae, own.excess_dae)
                assert (row.ea_0, row.n_0) == (own.edge_accuracy, own.n)


def test_differences_are_paired_over_shared_pairs_and_corrected_together(folder):
    runs = [read(folder, "seer", "a"), read(folder, "turned", "b"), read(folder, "elsewhere", "c")]
    table = model_tables(runs, PAPER)[1]
    assert [(row.model, row.minus, row.method) for row in rows_of(table)] == [
        ("a", "b", "chefer"),
        ("a", "b", "contrastive-grad-act"),
    ]
    row, same = rows_of(table)
    assert (row.n, same.n) == (12, 12)
    first, second = (each.plain.angles["paper"]["chefer@gt"] for each in runs[:2])
    wanted = stats.clustered_difference(
        first.error_deg[2:], second.error_deg, second.clusters, bounds=(0, 180)
    )
    assert (row.dae.value, row.dae.low) == (wanted.value, wanted.low)
    assert row.dae.high < 0
    assert row.excess.value == pytest.approx(row.dae.value), "both runs have the same grid"
    assert same.dae.value == 0
    kinds = ("dae", "excess", "ea")
    raw = [getattr(each, kind).p_value for each in (row, same) for kind in kinds]
    corrected = [each[f"p_{kind}"] for each in (row, same) for kind in kinds]
    np.testing.assert_allclose(corrected, stats.holm(raw))
    assert (
        row.dae.p_value
        == stats.sign_flip_test(
            first.error_deg[2:], second.error_deg, clusters=second.clusters, seed=0
        ).p_value
    )
    told = [note for note in table.notes if "share no pair" in note]
    assert [note.partition(" share")[0] for note in told] == ["a and c", "b and c"]


def test_another_data_set_stands_beside_the_first(folder):
    both = ScoreSettings()
    seer, other = read(folder, "seer", "a", both), read(folder, "elsewhere", "a", both)
    samples = [replace(each, meta={**each.meta, "source": "vsr"}) for each in other.plain.samples]
    other = replace(other, plain=replace(other.plain, samples=tuple(samples)))
    tables = model_tables([seer, other], ScoreSettings(projections=("sound",)))
    row = row_of(tables[0], model="a", method="chefer")
    assert (row.n_0, row.n_1) == (14, 6)
    assert "squares: DAE" in [column.title for column in tables[0].columns]
    assert "vsr: DAE" in [column.title for column in tables[0].columns]
    assert tables[1].rows == ()
    assert "Only one model has squares, vsr" in " ".join(tables[1].notes)


def test_relocated_targets_make_table_15(folder):
    runs = []
    for name in ("seer", "turned"):
        with Run.open(folder / name) as run:
            probes = [
                replace(each, condition=f"{RELOCATION}/1", meta={**each.meta, "control": RELOCATION})
                for each in read_samples(run)
            ]
            plain = read_model_run(run, name, ScoreSettings())
        control = score_family(RELOCATION, probes, (), seed=0)
        runs.append(ModelRun(name, name, plain.plain, plain.plain, control))
    tables = {table.name: table for table in model_tables(runs, PAPER)}
    seer, turned = rows_of(tables["compass.models_relocation_paper"])
    assert seer.map == "contrastive-grad-act@pred"
    assert (seer.n, turned.n) == (14, 12)
    assert seer.dae == runs[0].relocation.row("contrastive-grad-act@pred", "probes").estimates["dae"]
    assert seer.box_dae.value < 23
    assert seer.false_reference_dae is not None
    assert "compass.model_differences_relocated_paper" in tables


def test_other_prompts_are_shown_and_not_compared(folder, tmp_path, capsys):
    planted_run(tmp_path / "asked-c", made_pairs(12), MAPS, prompt="C")
    models, differences = model_tables([read(folder, "seer", "a"), read(tmp_path, "asked-c", "b")], PAPER)
    assert {(row.model, row.prompt) for row in rows_of(models)} == {("a", "A"), ("b", "C")}
    assert differences.rows == ()
    assert "a was asked about squares with prompt A and b with C" in " ".join(differences.notes)
    assert main(["compass", "score", str(folder / "seer"), str(tmp_path / "asked-c"), "--prompt", "C"]) == 2
    assert "has no prompt 'C'; it has A" in " ".join(capsys.readouterr().err.split())


def test_changed_projections_are_named_and_relocated_targets_keep_their_own(tmp_path):
    pairs = made_pairs(6)
    moved = plan_pairs(pairs, [PROMPTS["A"]], condition=f"{RELOCATION}/1", meta={"control": RELOCATION})
    planted_run(tmp_path / "run", pairs, MAPS, more=moved)
    changed = replace(PAPER, sectors=4, sigma="none")
    alone = read(tmp_path, "run", "a")
    run = read(tmp_path, "run", "a", changed)
    assert (alone.name, run.name) == ("red-seer", ""), "the paper's numbers are not comparable"
    tables = {table.name: table for table in model_tables([run, replace(run, model="b")], changed)}
    for name in ("compass.models_paper", "compass.model_differences_paper"):
        assert tables[name].title.endswith("(K = 4, no distance weight)")
    relocated = [
        tables[f"compass.{name}_paper"] for name in ("models_relocation", "model_differences_relocated")
    ]
    assert not any("K = 4" in table.title for table in relocated)
    told = "Projections with K = 4, no distance weight; relocated targets (Table 15) keep their own."
    assert told in tables["compass.models_paper"].notes
    key = "contrastive-grad-act@pred"
    assert run.moved.angles["paper"][key].mean_error().value == pytest.approx(
        rows_of(relocated[0])[0].dae.value
    )
    assert (
        run.moved.angles["paper"][key].peak_deg.tolist() == alone.moved.angles["paper"][key].peak_deg.tolist()
    )
    assert (
        run.plain.angles["paper"][key].peak_deg.tolist() != alone.plain.angles["paper"][key].peak_deg.tolist()
    )


def test_what_a_single_run_tells_is_told_of_each(folder, tmp_path):
    planted_run(tmp_path / "part", made_pairs(4), MAPS, settings={"mask_sinks": 20.0}, limit=3)
    notes = model_tables([read(folder, "seer", "a"), read(tmp_path, "part", "b")], PAPER)[0].notes
    assert [note.partition(" (")[0] for note in notes if note.startswith(("a on", "b on"))] == [
        "b on squares: Attention sinks",
        "b on squares: Left out: 1 × not measured yet.",
    ]


def test_the_command_takes_several_runs(folder, capsys):
    runs = [str(folder / name) for name in ("seer", "turned")]
    assert main(["compass", "score", *runs, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["runs"] == runs
    models = said["tables"][0]
    assert {row["model"] for row in models["rows"]} == {"red-seer", "red-seer (turned)"}
    assert "Table 15 needs" in models["notes"][-1]
    assert main(["compass", "score", *runs, "--tables", "labels"]) == 2
    assert "give a single one" in capsys.readouterr().err
    assert main(["compass", "score", runs[0], runs[0]]) == 2
    assert "given twice" in capsys.readouterr().err

"""``theodolite compass faithfulness`` and ``overlay`` through tiny checkpoints, from pairs to figures."""

import json

import numpy as np
import pytest
from PIL import Image

from theodolite.cli.main import main
from theodolite.instruments.compass.data.coco import coco_pairs
from theodolite.instruments.compass.data.drawn import coloured_squares
from theodolite.instruments.compass.data.pairs import write_pairs
from theodolite.instruments.compass.experiments.faithfulness.plan import shown_request
from theodolite.instruments.compass.measure import read_samples
from theodolite.models import open_model
from theodolite.runs import Run

METHODS = "chefer,gradcam,attention-rollout,contrastive-grad-act"


@pytest.fixture(scope="module", params=["llava", pytest.param("qwen2_vl", marks=pytest.mark.slow)])
def measured(request, tiny, tmp_path_factory):
    """A compass run of squares through a tiny checkpoint: model and folder."""
    folder = tmp_path_factory.mktemp(request.param)
    write_pairs(coloured_squares(6, seed=2).pairs, folder / "pairs")
    model = f"hf:{tiny(request.param)}"
    run = ["compass", "run", "--data", str(folder / "pairs"), "--model", model, "--methods", METHODS]
    assert main([*run, "--out", str(folder / "run")]) == 0
    return model, folder / "run"


@pytest.fixture(scope="module")
def hidden(measured, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hidden")
    small = ["--random-orders", "1", "--maps", "chefer@gt,gradcam@gt,attention-rollout@", "--seed", "4"]
    command = ["compass", "faithfulness", str(measured[1]), "--out", str(folder / "hidden"), *small]
    assert main([*command, "--figures", str(folder / "figures")]) == 0
    return command, folder


def test_the_score_is_the_same_without_the_model(measured, hidden, capsys):
    command, folder = hidden
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert main([*command[:5], "--seed", "4", "--score-only", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"] == said["tables"]
    assert (said["instrument"], said["model"]) == ("compass-faithfulness", measured[0])
    assert said["tally"]["answered"] == said["tally"]["planned"] > 6 * 20
    tables = {table["name"]: table for table in said["tables"]}
    sectors = tables["compass.hidden_sectors"]
    assert not [note for note in sectors["notes"] if note.startswith(("Orders come", "On whole pictures"))]
    shown = [row["map"] for row in tables["compass.deletion_paper"]["rows"]]
    assert shown[:3] == ["chefer@gt", "gradcam@gt", "attention-rollout"]
    grids = 1 if "llava" in measured[0] else 2
    assert [name.partition("@")[0] for name in shown[3:]] == ["uniform-map"] * grids + ["box-only"] * grids
    assert {(row["fill"], row["variant"]) for row in sectors["rows"]} == {
        (fill, variant) for fill in ("grey", "blur") for variant in ("paper", "sound")
    }
    assert json.loads((folder / "hidden" / "scores.json").read_text())["tables"] == said["tables"]
    assert sorted(path.name for path in (folder / "figures").iterdir()) == [
        "deletion-attention-rollout.png",
        "deletion-chefer-gt.png",
        "deletion-gradcam-gt.png",
    ]


def test_what_is_stored_is_what_the_model_says_of_the_hidden_picture(measured, hidden):
    model = open_model(measured[0])
    with Run.open(hidden[1] / "hidden") as run:
        results = [result for i, result in enumerate(run.results()) if i % 17 == 3]
    requests = [shown_request(result.item.request) for result in results]
    chosen = model.choose(requests, [result.item.options for result in results])
    whole = model.choose([result.item.request for result in results], [r.item.options for r in results])
    changed = 0
    for result, choice, other in zip(results, chosen, whole, strict=True):
        np.testing.assert_allclose(
            result.record.choice.log_probabilities, choice.log_probabilities, atol=1e-3
        )
        changed += not np.allclose(choice.log_probabilities, other.log_probabilities, atol=1e-3)
    assert changed > len(results) / 2


def test_the_tables_show_both_variants(hidden, capsys):
    capsys.readouterr()
    assert main([*hidden[0][:5], "--score-only"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for words in (
        "Single sectors hidden",
        "Deletion as published",
        "Deletion, sound",
        "Attribution-guided masking",
    ):
        assert words in out
    for words in ("over uniform-map", "Mean share of what the model sees", "box-only"):
        assert words in out
    # Six pairs leave the AUC for correctness without an interval, so there is nothing to rank against.
    assert "No map has both an MDF and an AUC for correctness." in out


def test_other_options_and_other_runs_are_refused(measured, hidden, tmp_path, capsys):
    command, folder = hidden
    assert main([*command, "--spare-reference"]) == 2
    assert "spare_reference" in capsys.readouterr().err
    assert main([*command[:5], "--maps", "nobody@gt"]) == 2
    assert "holds no map 'nobody@gt'" in " ".join(capsys.readouterr().err.split())
    other = ["compass", "faithfulness", str(measured[1]), "--out", str(tmp_path / "x")]
    assert main([*other, "--score-only"]) == 2
    assert main([*other, "--fills", "pink"]) == 2
    assert main(["compass", "faithfulness", str(folder / "hidden"), "--out", str(tmp_path / "y")]) == 2
    assert "a run of compass-faithfulness, not of compass" in " ".join(capsys.readouterr().err.split())


def test_a_model_without_log_probabilities_is_refused(measured, tmp_path, capsys):
    command = ["compass", "faithfulness", str(measured[1]), "--out", str(tmp_path / "x")]
    assert main([*command, "--model", "openai:none@http://127.0.0.1:9/v1"]) == 2
    assert "log-probabilities" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("figure", ["overlay", "heat", "polar", "row"])
def test_an_item_becomes_a_picture(measured, tmp_path, capsys, figure):
    with Run.open(measured[1]) as run:
        samples = list(read_samples(run))
    facts = []
    names = ("3", samples[2].id, samples[2].item_id)
    for item in names if figure == "overlay" else names[:1]:
        out = tmp_path / f"{item}.png"
        command = ["compass", "figures", str(measured[1]), item, "--out", str(out), "--figure", figure]
        assert main([*command, "--json"]) == 0
        facts.append(json.loads(capsys.readouterr().out))
        with Image.open(out) as image:
            assert min(image.size) > 500
    (pair,) = facts[0]["pairs"]
    assert all(each["pairs"] == [pair] for each in facts)
    assert pair["pair"] == samples[2].id
    assert sum(pair["distribution"]) == pytest.approx(1, abs=1e-4)
    assert pair["peak_deg"] == 22.5 + 45 * int(np.argmax(pair["distribution"]))


def test_what_cannot_be_drawn_is_said(measured, tmp_path, capsys):
    run, out = str(measured[1]), str(tmp_path / "x.png")

    def complaint(*more):
        assert main(["compass", "figures", run, *more]) == 2
        return " ".join(capsys.readouterr().err.split())

    assert "it holds 6, by place 1 to 6, by id such as squares-00000" in complaint("7", "--out", out)
    assert "holds no map guess@gt; it holds:" in complaint("1", "--out", out, "--method", "guess")
    assert "--projection takes paper or sound" in complaint("1", "--out", out, "--projection", "x")
    assert "--figure takes overlay, heat, polar or row" in complaint("1", "--out", out, "--figure", "x")
    assert "got 2 items" in complaint("1", "2", "--out", out)
    assert "cannot write a figure as" in complaint("1", "--out", str(tmp_path / "x.docx"))
    assert not list(tmp_path.iterdir())


def test_methods_targets_and_projections_differ(measured, tmp_path, capsys):
    found = {}
    for how in (["--method", "gradcam"], ["--target", "pred"], ["--projection", "sound"], []):
        command = ["compass", "figures", str(measured[1]), "2", "--out", str(tmp_path / "x.svg"), "--json"]
        assert main([*command, *how]) == 0
        pair = json.loads(capsys.readouterr().out)["pairs"][0]
        found[pair["map"], pair["projection"]] = tuple(pair["distribution"])
    assert len(found) == 4
    assert found["chefer@gt", "paper projection"] != found["chefer@gt", "sound projection"]
    assert found["chefer@gt", "paper projection"] != found["gradcam@gt", "paper projection"]
    rollout = ["compass", "figures", str(measured[1]), "2", "--out", str(tmp_path / "y.png")]
    assert main([*rollout, "--method", "attention-rollout"]) == 0  # it has no target


def test_rows_of_real_pictures(shared_data, tiny, tmp_path):
    folder = shared_data / "coco_tiny_val"
    pairs = coco_pairs(folder / "instances.json", images=folder / "images", n=4, seed=1).pairs
    write_pairs(pairs, tmp_path / "pairs")
    run = ["compass", "run", "--data", str(tmp_path / "pairs"), "--model", f"hf:{tiny('qwen2_vl')}"]
    assert main([*run, "--methods", "chefer", "--out", str(tmp_path / "run")]) == 0
    out = tmp_path / "rows.png"
    items = ["1", "2", "3"]
    assert (
        main(["compass", "figures", str(tmp_path / "run"), *items, "--out", str(out), "--figure", "row"]) == 0
    )
    with Image.open(out) as image:
        assert image.size[1] > 1500

"""From pairs through a tiny checkpoint to the printed tables."""

import json

import pytest

from theodolite.attribution import find_methods
from theodolite.cli.main import main
from theodolite.instruments.compass.data.pair_files import write_pairs
from theodolite.instruments.compass.data.squares import coloured_squares
from theodolite.instruments.compass.formulas.projected import CONTROLS
from theodolite.runs import Run

METHODS = "chefer,gradcam,contrastive-grad-act,attention-rollout"


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny):
    """Twelve pairs, asked with all three prompts."""
    folder = tmp_path_factory.mktemp("compass")
    write_pairs(coloured_squares(12, seed=2).pairs, folder / "pairs")
    words = ["compass", "run", "--data", folder / "pairs", "--model", f"hf:{tiny('qwen2_vl')}?batch_size=4"]
    words += ["--methods", METHODS, "--prompt", "all", "--out", folder / "run"]
    assert main([str(word) for word in words]) == 0
    return str(folder / "run")


def shown(capsys, *words):
    capsys.readouterr()
    assert main([str(word) for word in words]) == 0
    return capsys.readouterr().out


def test_the_main_table_names_both_projections_and_every_control(run, capsys):
    table = shown(capsys, "compass", "score", run)
    assert "paper: DAE" in table
    assert "sound: DAE" in table
    assert all(control in table for control in CONTROLS)
    assert "contrastive-grad-act †" in table
    assert "point better than the uniform map" in table
    assert len(table.splitlines()) < 40  # one screen


def test_json_holds_what_is_shown_and_is_kept_in_the_run(run, capsys):
    score = json.loads(shown(capsys, "compass", "score", run, "--json", "--show", "all"))
    assert (score["n"], score["prompt"], score["left_out"]) == (12, "A", {"another prompt": 24})
    rows = {(row["method"], row["target"]): row for row in score["tables"]["paper"]}
    assert rows.keys() == {
        *((control, "") for control in CONTROLS),
        *(
            (name, target)
            for name in ("chefer", "gradcam", "contrastive-grad-act")
            for target in ("gt", "pred")
        ),
        ("attention-rollout", ""),
    }
    assert rows["geometry-oracle", ""]["dae"]["value"] == 0
    assert all(row["excess_dae"] and (row["evidence"] or row["kind"] == "control") for row in rows.values())
    assert rows["gradcam", "gt"]["evidence"]["image"] is None  # on features: the text's part is not known
    assert 0 < rows["chefer", "gt"]["evidence"]["image"]["value"] < 1
    assert [row["name"] for row in score["ablations"]][:2] == ["default", "K = 4"]
    assert {row["prompt"] for row in score["prompts"]} == {"A", "B", "C"}
    utility = json.loads(shown(capsys, "compass", "utility", run, "--json"))
    with Run.open(run) as opened:
        kept = opened.scores()
    assert kept["score"] == score
    assert kept["utility"] == utility


def test_scoring_again_gives_the_same(run, capsys):
    words = ("compass", "score", run, "--json", "--seed", "4")
    assert shown(capsys, *words) == shown(capsys, *words)


def test_every_further_table_is_printed(run, capsys):
    table = shown(capsys, "compass", "score", run, "--projection", "sound", "--show", "all")
    for title in (
        "sound projection",
        "whose logit is explained · sound",
        "by true direction",
        "right and wrong answers",
        "peak against circular mean",
        "ablations of contrastive-grad-act@pred",
        "what each pair's compass shows",
        "concentration ≥ 0.75",
        "prompts, on all pairs",
        "what was left out",
        "relevance on the text is not known",
    ):
        assert title in " ".join(table.split()), title
    assert "paper: DAE" not in table


def test_settings_are_chosen_on_development_pairs(run, capsys):
    words = ("compass", "score", run, "--development", "4", "--methods", "contrastive-grad-act", "--json")
    score = json.loads(shown(capsys, *words))
    found = score["development"]
    assert found["n_development"] == 4
    assert score["n"] == found["n_reported"] == 8
    assert score["left_out"]["a development picture"] == 4
    assert "chosen on 4 development pairs by excess" in " ".join(
        shown(capsys, *words[:-1]).replace("\n", " ").split()
    )


def test_utility_shows_what_knows_the_truth_and_what_does_not(run, capsys):
    words = ("compass", "utility", run, "--coverage", "0.5,0.7", "--methods", "chefer,attention-rollout")
    table = shown(capsys, *words)
    assert "right at 50%" in table
    assert "chefer@pred agreement" in table
    assert "chefer@gt agreement" not in table
    assert "knows the truth" in table
    assert "upper bound" in table
    assert "max probability" in table


def test_figures_are_drawn_where_they_are_asked_for(run, tmp_path, capsys):
    shown(capsys, "compass", "score", run, "--figures", tmp_path / "drawn", "--methods", "chefer,gradcam")
    shown(capsys, "compass", "utility", run, "--figures", tmp_path / "drawn", "--methods", "chefer,gradcam")
    names = {path.name: path.read_bytes() for path in (tmp_path / "drawn").iterdir()}
    assert names.keys() == {
        *(f"{what}-{name}.png" for what in ("methods", "classes") for name in ("paper", "sound")),
        "risk-coverage.png",
    }
    assert all(data.startswith(b"\x89PNG") for data in names.values())
    assert names["methods-paper.png"] != names["methods-sound.png"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["score", "--projection", "mine"], "--projection takes paper or sound or both"),
        (["score", "--show", "plots"], "--show takes targets"),
        (["score", "--methods", "chafer"], "no maps of chafer"),
        (["score", "--choose-by", "luck"], "--choose-by takes excess or dae"),
        (["score", "--development", "12"], "cannot be split"),
        (["utility", "--coverage", "most"], "--coverage takes numbers"),
        (["utility", "--readout", "mode"], "--readout takes peak or mean"),
    ],
)
def test_wrong_words_get_one_sentence(run, capsys, words, said):
    command, *rest = words
    assert main(["compass", command, run, *rest]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_methods_are_listed_with_their_caveats(capsys):
    methods = json.loads(shown(capsys, "methods", "list", "--json"))
    assert [each["name"] for each in methods] == [method.name for method in find_methods(["all"])]
    by_name = {each["name"]: each for each in methods}
    assert by_name["gradcam"]["needs"] == "gradients to the vision features"
    assert by_name["attention-rollout"]["has_target"] is False
    assert by_name["grad-act"]["caveat"]
    assert by_name["grad-act"]["sound_variant"] == "grad-act-absolute"
    assert all(each["needs"] != "nothing" and each["summary"] for each in methods)
    table = shown(capsys, "methods", "list")
    assert "grad-act †" in table
    assert "zero but for rounding" in " ".join(table.split())

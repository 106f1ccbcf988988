"""From pairs through a tiny checkpoint to the printed tables."""

import json
import re

import pytest

from theodolite.attribution import find_methods
from theodolite.cli.main import main
from theodolite.instruments.compass.data.drawn import coloured_squares
from theodolite.instruments.compass.data.pairs import write_pairs
from theodolite.instruments.compass.formulas.baselines import BASELINES
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


def tables_of(capsys, *words):
    found = json.loads(shown(capsys, *words, "--json"))["tables"]
    return {table["name"].removeprefix("compass."): table for table in found}


def test_the_main_tables_name_both_projections_and_every_baseline(run, capsys):
    table = shown(capsys, "compass", "score", run)
    assert "Direction of relevance, paper projection" in table
    assert "Direction of relevance, sound projection" in table
    assert "Where relevance lies" in table
    assert all(baseline in table for baseline in BASELINES)
    assert re.search(r"contrastive-grad-act +gt +\d+(–\d+)? +†", table)
    assert "point better than the uniform map" in table


def test_json_holds_what_is_shown_and_is_kept_in_the_run(run, capsys):
    score = tables_of(capsys, "compass", "score", run, "--tables", "all")
    assert score["answers"]["rows"][0]["items"] == 12
    assert "Left out: 24 × another prompt." in score["answers"]["notes"]
    shown = score["framework_paper"]["rows"]
    grids = {row["grid"] for row in shown if row["method"] in BASELINES}
    assert len(grids) == 2, "GradCAM's features have a grid of their own"
    assert [row["grid"] for row in shown if row["method"] == "uniform-map"] == [
        next(row["grid"] for row in shown if row["method"] == name) for name in ("chefer", "gradcam")
    ]
    rows = {(row["method"], row["target"]): row for row in shown}
    assert rows.keys() == {
        *((baseline, "") for baseline in BASELINES),
        *(
            (name, target)
            for name in ("chefer", "gradcam", "gradcam-tokens", "contrastive-grad-act")
            for target in ("gt", "pred")
        ),
        ("attention-rollout", ""),
    }
    assert rows["gradcam-tokens", "gt"]["grid"] == rows["chefer", "gt"]["grid"]
    assert rows["geometry-oracle", ""]["dae"]["value"] == 0
    assert all(row["excess_dae"] or row["method"] == "uniform-map" for row in rows.values())
    evidence = {(row["method"], row["target"]): row for row in score["evidence"]["rows"]}
    assert evidence["gradcam", "gt"]["image"] is None  # on features: the text's part is not known
    assert 0 < evidence["chefer", "gt"]["image"]["value"] < 1
    assert [row["configuration"] for row in score["ablations"]["rows"]][:2] == ["default", "K = 4"]
    assert {row["prompt"] for row in score["prompts"]["rows"]} == {"A", "B", "C"}
    with Run.open(run) as opened:
        assert [table.name for table in opened.tables()] == [f"compass.{name}" for name in score]


def test_scoring_again_gives_the_same(run, capsys):
    words = ("compass", "score", run, "--json", "--seed", "4")
    assert shown(capsys, *words) == shown(capsys, *words)


def test_every_further_table_is_printed(run, capsys):
    table = shown(capsys, "compass", "score", run, "--projection", "sound", "--tables", "all")
    for title in (
        "Whose logit is explained, sound projection",
        "Answers by true direction",
        "Maps by true direction",
        "Right and wrong answers",
        "Peak against circular mean",
        "Ablations of contrastive-grad-act@pred",
        "Labels of the pairs",
        "concentration ≥ 0.75",
        "Prompts, on all pairs",
        "What was left out",
        "relevance on the text is not known",
        "Does a small error go with a right answer?",
        "centres, sound projection",
        "Controls that could not be scored",
    ):
        assert title in " ".join(table.split()), title
    assert "paper projection" not in table


def test_settings_are_chosen_on_development_pairs(run, capsys):
    words = ("compass", "score", run, "--development", "4", "--methods", "contrastive-grad-act")
    score = tables_of(capsys, *words)
    chosen, reported, _ = score["development"]["notes"]
    assert chosen.startswith("Chosen on 4 development pairs by excess")
    assert reported.startswith("On 8 others")
    assert score["answers"]["rows"][0]["items"] == 8
    assert "Left out: 4 × a development picture." in score["answers"]["notes"]


def test_utility_shows_what_knows_the_truth_and_what_does_not(run, capsys):
    words = (
        "compass",
        "score",
        run,
        "--tables",
        "utility",
        "--coverage",
        "0.5,0.7",
        "--methods",
        "chefer,attention-rollout",
    )
    table = shown(capsys, *words)
    assert "right at 50%" in table
    assert "chefer@pred agreement" in table
    assert "chefer@gt agreement" not in table
    assert "knows the truth" in table
    assert "upper bound" in table
    assert "max probability" in table


def test_figures_are_drawn_where_they_are_asked_for(run, tmp_path, capsys):
    words = ("compass", "score", run, "--figures", tmp_path / "drawn", "--methods", "chefer,gradcam")
    shown(capsys, *words, "--tables", "utility")
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
        (["score", "--projection", "mine"], "--projection takes some of paper, sound, or all"),
        (["score", "--tables", "plots"], "--tables takes some of targets"),
        (["score", "--methods", "chafer"], "no maps of chafer"),
        (["score", "--choose-by", "luck"], "--choose-by takes excess or dae"),
        (["score", "--development", "12"], "cannot be split"),
        (["score", "--coverage", "most"], "--coverage takes numbers"),
        (["score", "--readout", "mode"], "--readout takes peak or mean"),
    ],
)
def test_wrong_words_get_one_sentence(run, capsys, words, said):
    command, *rest = words
    assert main(["compass", command, run, *rest]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_methods_are_listed_with_their_caveats(capsys):
    methods = json.loads(shown(capsys, "list", "methods", "--json"))
    names = [method.name for method in find_methods(["all"])]
    assert [each["name"] for each in methods[: len(names)]] == names  # others are asked for by name
    by_name = {each["name"]: each for each in methods}
    assert by_name["gradcam"]["needs"] == "gradients to the vision features"
    assert by_name["grad-act"]["sound_variant"] == "grad-act-absolute"
    assert all(each["needs"] != "nothing" and each["summary"] for each in methods)
    assert "zero up to rounding" in " ".join(shown(capsys, "list", "methods").split())

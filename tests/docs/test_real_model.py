"""The page *A real model* has the numbers that the recorded answers give."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "real_model.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def computed(shared_data):
    spec = importlib.util.spec_from_file_location("real_model", DOCS / "site" / "real_model.py")
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    folder = shared_data / "whatsup_llava15"
    tables, scores = module.tables(folder)
    return module, folder, tables, scores


def on_page(name):
    """The rows of a table of the page, without spaces."""
    return re.search(rf"<!-- {name} -->\n((?:\|.*\n)+)", PAGE)[1].strip()


@pytest.mark.parametrize("name", ["accuracy", "verdicts", "graphs", "prose"])
def test_every_table_of_the_page_is_computed(computed, name):
    assert on_page(name) == computed[2][name]


def test_the_numbers_in_its_sentences_are_those_of_its_tables(computed):
    module, folder, _, scores = computed
    assert module.graphs_read(folder) == (208, 208, 0)
    assert "All 208 contain JSON" in PAGE
    rounded = [round(100 * score.settings[0].accuracy.value) for score in scores.values()]
    assert f"Accuracy says {rounded[0]}, {rounded[1]} and {rounded[2]} %" in PAGE
    assert {len(score.pairs) for score in scores.values()} == {312}
    (under,) = [line for line in on_page("graphs").splitlines() if line.startswith("| Under")]
    assert under.count("26 of 26") == 1
    assert "in 26 of 26 graphs, and the answer is right in 10 of them" in PAGE
    assert "| 10 of 26 |" in under
    (all_claims,) = [line for line in on_page("prose").splitlines() if line.startswith("| all")]
    assert "83 of 87 claims agree" in PAGE
    assert "83 of 87" in all_claims


def test_the_readme_has_the_figures_of_the_page():
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    names = {
        "multiple choice": "multiple choice",
        "describe first": "describe, then answer",
        "scene graph first": "scene graph, then answer",
    }
    for short, prompt in names.items():
        (cells,) = re.findall(rf"^\| {short} \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", readme, re.MULTILINE)
        for pairs, accuracy, looking in (("left / right", *cells[:2]), ("with *under*", *cells[2:])):
            (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {prompt} | {pairs} | ")]
            assert row.startswith(f"| {prompt} | {pairs} | {accuracy} |")
            assert f" | {looking} | " in row


def test_pairs_are_counted_as_by_hand(computed):
    """From the file alone, without any reader of ours."""
    import json
    from collections import defaultdict

    _, folder, _, scores = computed
    letters = {"A": "Left", "B": "Right", "C": "On top", "D": "Under"}
    for label, score in scores.items():
        said = defaultdict(dict)
        for row in json.loads((folder / "results.json").read_text()):
            if row["prompt_label"] == label:
                said[row["prompt"]][row["ground_truth"]] = letters.get(row["answer"], row["answer"])
        for couple, (first, second) in {
            "left / right": ("Left", "Right"),
            "right / under": ("Right", "Under"),
        }.items():
            own = [pair.outcome for pair in score.pairs if pair.relation == couple]
            both = [(answers[first], answers[second]) for answers in said.values()]
            assert own.count("followed") == sum(each == (first, second) for each in both)
            assert own.count("unmoved") == sum(a == b for a, b in both)


def test_the_figure_is_drawn(computed, tmp_path):
    module, _, _, scores = computed
    module.figure(scores).save(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text().count("<path") > 100
    assert (DOCS / "assets" / "real_model.svg").stat().st_size > 10_000


def test_the_command_of_the_page_diagnoses_the_recording(shared_data, tmp_path, capsys):
    """Questions, right answers and recorded answers in one file; each prompt is a model of its own."""
    from theodolite.cli.main import main

    folder = shared_data / "whatsup_llava15"
    models = [
        f"replay:{folder / 'results.json'}?prompt_label={label}"
        for label in ("Multiple Choice", "Scene Graph CoT")
    ]
    named = [word for model in models for word in ("--model", model)]
    data = [
        "--data",
        str(folder / "results.json"),
        "--images",
        str(folder / "images"),
        "--instruments",
        "ask",
    ]
    assert main(["diagnose", *named, *data, "--out", str(tmp_path / "report")]) == 0
    capsys.readouterr()
    record = (tmp_path / "report" / "diagnosis.json").read_text(encoding="utf-8")
    import json

    (ask,) = json.loads(record)["instruments"]
    views = {view["model"]: view for view in ask["models"]}
    assert set(views) == set(models)
    for model, followed in zip(models, (90, 157), strict=True):
        (looking,) = views[model]["looking"]
        assert (looking["source"], looking["n_relevant"]) == ("own", 104)
        assert (
            round(312 * looking["followed"]["value"]) == followed
        )  # of all six pairs of each four photographs

"""Numerical stability: the table from one command, its measures, and its verdicts."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from theodolite.attribution import RelevanceMap, find_methods
from theodolite.cli.main import main
from theodolite.geometry.directions import EIGHT
from theodolite.instruments.compass.data.drawn import coloured_squares
from theodolite.instruments.compass.data.pairs import write_pairs
from theodolite.instruments.compass.experiments.stability import COMPARISONS, correlation, verdict

PAGE = Path(__file__).resolve().parents[3] / "docs" / "instruments" / "compass.md"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    write_pairs(coloured_squares(16, seed=0).pairs, folder)
    return folder


def table(capsys, *words):
    assert main(["compass", "audit", *map(str, words), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["tables"]
    return {(row["method"], row["layer"]): row for row in found["rows"]}


METHODS = "chefer,attnlrp,grad-act,gradient-norm,contrastive-grad-act-sound"


def test_rounding_noise_is_told_from_what_is_stable_on_a_twin(pairs, capsys):
    words = [pairs, "--model", "pocket:grounded", "--limit", 4, "--methods", METHODS]
    rows = table(capsys, *words)
    assert set(rows) == {
        ("chefer", "all"),
        ("attnlrp", "all"),
        ("contrastive-grad-act-sound", "−3 to −5"),
        *((name, f"−{layer}") for name in ("grad-act", "gradient-norm") for layer in range(2, 6)),
    }
    noise = rows["grad-act", "−2"]
    assert noise["verdict"].startswith("rounding noise")
    assert noise["size"] > 100  # in bfloat16 it is far larger than it should be
    for key in (("chefer", "all"), ("attnlrp", "all"), ("gradient-norm", "−2"), ("grad-act", "−4")):
        assert min(rows[key][f"rho_{each.name}"] for each in COMPARISONS) > 0.98, key
        assert rows[key]["size"] == pytest.approx(1, abs=0.1)
    assert rows["chefer", "all"]["verdict"] == "stable"


@pytest.mark.parametrize("family", ["qwen3_vl", "phi4_multimodal"])
def test_any_checkpoint_of_a_family_is_compared(family, tiny, pairs, capsys):
    model = f"hf:{tiny(family)}?batch_size=2"
    words = [pairs, "--model", model, "--limit", 2, "--methods", "chefer,grad-act,gradcam"]
    rows = table(capsys, *words)
    assert rows["gradcam", "vision features"]["rho_float32"] > 0.999
    assert rows["chefer", "all"]["rho_eager"] > 0.999
    assert rows["chefer", "all"]["rho_batch"] > 0.999
    assert rows["grad-act", "−2"]["rho_bfloat16"] < rows["grad-act", "−3"]["rho_bfloat16"]


def test_eight_directions_are_asked_with_the_prompt_that_offers_them(tiny, tmp_path, capsys):
    write_pairs(coloured_squares(4, seed=0, vocabulary=EIGHT).pairs, tmp_path)
    words = [tmp_path, "--model", f"hf:{tiny('llava')}", "--limit", 2, "--methods", "chefer"]
    assert ("chefer", "all") in table(capsys, *words)
    assert main(["compass", "audit", *map(str, words), "--prompt", "A"]) == 2
    assert "--prompt A8" in " ".join(capsys.readouterr().err.split())


def test_what_cannot_be_compared_is_said(pairs, tiny, capsys):
    words = ["compass", "audit", str(pairs)]
    assert main([*words, "--model", f"hf:{tiny('llava')}", "--limit", "1"]) != 0
    assert "needs at least two pairs, not 1" in capsys.readouterr().err
    assert main([*words, "--model", "scripted:looker"]) != 0
    assert "scripted:looker" in capsys.readouterr().err


def relevance(*values):
    return RelevanceMap.from_array([values], (40, 10), method="mine")


def test_correlation_is_of_the_shape_not_of_the_size():
    assert correlation(relevance(1, 2, 3), relevance(2, 4, 6)) == 1.0
    assert correlation(relevance(1, 2, 3), relevance(3, 2, 1)) == pytest.approx(-1)
    assert correlation(relevance(1, 1, 1), relevance(5, 5, 5)) == 1.0
    assert correlation(relevance(1, 1, 1), relevance(1, 2, 3)) == 0.0
    rng = np.random.default_rng(0)
    one, other = rng.random(50), rng.random(50)
    expected = np.corrcoef(np.float32(one), np.float32(other))[0, 1]
    assert correlation(relevance(*one), relevance(*other)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("changed", "dae", "word"),
    [
        ({}, {}, "stable"),
        ({"bfloat16": 0.98}, {}, "needs float32"),
        ({}, {"bfloat16": 8.0}, "needs float32"),
        ({"bfloat16": 0.2}, {}, "rounding noise in bfloat16"),
        ({"eager": 0.98}, {}, "unsteady"),
        ({}, {"batch": 8.0}, "unsteady"),
        ({"float32": 0.5}, {}, "rounding noise"),
        ({"batch": 0.5, "bfloat16": 0.2}, {}, "rounding noise"),
    ],
)
def test_verdicts(changed, dae, word):
    names = [each.name for each in COMPARISONS]
    assert verdict({**dict.fromkeys(names, 1.0), **changed}, {**dict.fromkeys(names, 0.0), **dae}) == word


def test_a_map_of_another_size_is_noise():
    ones, zeros = (dict.fromkeys([each.name for each in COMPARISONS], value) for value in (1.0, 0.0))
    assert [verdict(ones, zeros, size) for size in (0.5, 20.0, 0.01)] == [
        "stable",
        "rounding noise in bfloat16",
        "rounding noise in bfloat16",
    ]


def test_single_layer_methods_exist_at_every_layer():
    for method in find_methods(["all"]):
        others = method.at_layers([-3, -4])
        assert [each.layers for each in others] in ([], [(-3,), (-4,)])
        assert bool(others) == (method.layers == (-2,) and not method.name.startswith("integrated"))
        assert not any(each.caveat for each in others)


@pytest.mark.slow
def test_the_documented_table_is_what_the_command_gives(pairs, capsys):
    lines = re.findall(r"^\| `([\w-]+)` \| ([^|]+) \|.*\| ([^|]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    documented = {(method, layer.strip()): word.strip() for method, layer, word in lines}
    cheap = ",".join(m.name for m in find_methods(["all"]) if not m.name.startswith("integrated"))
    rows = table(capsys, pairs, "--model", "pocket:grounded", "--methods", cheap)
    assert len(rows) > 20
    assert set(rows) <= set(documented)
    for (
        key,
        row,
    ) in rows.items():  # how noise falls out, and single peaks in bfloat16, may differ between processors
        is_noise = row["verdict"].startswith("rounding noise")
        assert is_noise == documented[key].startswith("rounding noise"), key
        assert is_noise or row["verdict"] in {"stable", "needs float32"}, key

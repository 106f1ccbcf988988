"""Scripted models of known grounding, and the commands that make, edit, audit and run the worlds."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from made_worlds import VERIFIER, edits, made, read, scored

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.instruments.trace import scripts
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.experiments.edits import reliance
from theodolite.instruments.trace.experiments.predict import ModelRow, predict_robustness
from theodolite.instruments.trace.formulas.vrs import edited_pair
from theodolite.instruments.trace.questions import plan_traces
from theodolite.models import open_model
from theodolite.worlds.stories import WORLDS


def told(script, episodes):
    items = list(plan_traces(episodes))
    return read([script(item.request) for item in items], episodes)


@pytest.mark.parametrize("world", tuple(WORLDS))
def test_reliance_tells_lookers_from_guessers(world):
    base = {e.id: e for e in made(world)}
    new = edits(world)
    values = {}
    for name in ("looker", "noise", "fixed"):
        script = getattr(scripts, name)
        before = {t.episode: t for t in told(script, list(base.values()))}
        after = {t.episode: t for t in told(script, new)}
        pairs = [edited_pair(before[e.edit.base], after[e.id], (base[e.edit.base], e), VERIFIER) for e in new]
        values[name] = reliance(pairs)
    assert values["looker"].vrs_sound.value > 3
    assert 0.4 < values["noise"].vrs_sound.value < 2
    assert values["fixed"].vrs_sound.value == 0


@pytest.mark.parametrize("world", tuple(WORLDS))
def test_the_dial_updates_what_it_looks_at_and_nothing_else(world):
    base = {e.id: e for e in made(world)}
    new = edits(world)
    found = {}
    for p in (0, 50, 100):
        script = getattr(scripts, f"dial_{p}")
        before = {t.episode: t for t in told(script, list(base.values()))}
        after = {t.episode: t for t in told(script, new)}
        if p == 0:
            assert all(
                [s.text for s in after[e.id].steps] == [s.text for s in before[e.edit.base].steps]
                for e in new
                if len(e.frames) == len(base[e.edit.base].frames)
            )
        pairs = [edited_pair(before[e.edit.base], after[e.id], (base[e.edit.base], e), VERIFIER) for e in new]
        found[p] = reliance(pairs)
    assert found[0].vrs_sound.value == found[0].updated.value == 0
    assert 0.3 < found[50].updated.value < 0.9 * found[100].updated.value
    assert found[50].correctly_updated.value < found[100].correctly_updated.value


def test_the_law_is_measured_on_the_dial():
    """Nine models from no grounding to all of it: SGR in distribution against what is kept out of it."""
    episodes = {world: made(world) for world in WORLDS}
    rows = []
    for p in scripts.DIAL:
        for world, own in episodes.items():
            traces = told(getattr(scripts, f"dial_{p}"), own)
            split = {s: [e for e in own if e.split == s] for s in ("in-distribution", "ood")}
            by_split = {s: [t for t in traces if t.episode in {e.id for e in es}] for s, es in split.items()}
            found = {s: scored(by_split[s], split[s]) for s in split}
            accuracy = [found[s].mean("right").value for s in ("in-distribution", "ood")]
            rows.append(
                ModelRow(f"dial {p}", world, *accuracy, {"sgr": found["in-distribution"].mean("sgr").value})
            )
    mean = [np.mean([r.predictors["sgr"] for r in rows if r.model == f"dial {p}"]) for p in scripts.DIAL]
    assert len(mean) >= 8
    assert mean == sorted(mean)
    assert mean[0] < 0.3
    assert mean[-1] >= 0.98
    last = [r for r in rows if r.model == "dial 100"]
    assert {(r.accuracy, r.ood_accuracy) for r in last} == {(1.0, 1.0)}
    first = [r for r in rows if r.model == "dial 0"]
    assert np.mean([r.retention("drop") for r in first]) < -0.2
    found = predict_robustness(rows)
    assert found.partial[1].note == "0 models of known size"
    for kind in ("ratio", "drop", "ood accuracy"):
        law = next(a for a in found.associations if (a.predictor, a.retention) == ("sgr", kind))
        assert (law.scope, law.n_models) == ("pooled", 9)
        assert 0 < law.r.low < law.r.value < law.r.high < 1
        assert law.r.value > 0.6
        assert law.p_exact < 0.01


def test_scripts_are_models_and_say_what_they_need():
    model = open_model("scripted:trace-dial-50")
    item = next(iter(plan_traces(made("instruction"))))
    response = model.generate([item.request])[0]
    assert response.text.startswith("Step 1 (frame 1): ")
    bare = SimpleNamespace(hint={}, text="?", pictures=())
    with pytest.raises(UsageError, match="true trace"):
        scripts.looker(bare)
    with pytest.raises(AttributeError):
        _ = scripts.dial_13


def test_make_perturb_audit_and_run(tmp_path, capsys):
    """Through the program, from nothing to a score."""
    data, edited, run = tmp_path / "data", tmp_path / "edited", tmp_path / "run"
    assert (
        main(
            [
                "trace",
                "make",
                "--world",
                "instruction",
                "--size",
                "2",
                "--seed",
                "4",
                "--out",
                str(data),
                "--json",
            ]
        )
        == 0
    )
    made_told = json.loads(capsys.readouterr().out)
    assert made_told["is_sound"]
    assert made_told["tables"][0]["name"] == "trace.audit"
    assert main(["trace", "make", "--world", "instruction", "--size", "2", "--out", str(data)]) == 2
    assert main(["trace", "audit", str(data)]) == 0
    capsys.readouterr()
    assert (
        main(
            [
                "trace",
                "make",
                "--of",
                str(data),
                "--out",
                str(edited),
                "--families",
                "irrelevant,temporal",
                "--json",
            ]
        )
        == 0
    )
    told_edits = json.loads(capsys.readouterr().out)
    assert told_edits["tables"][0]["rows"] == [
        {"family": "temporal", "made": 4, "impossible": 0},
        {"family": "irrelevant", "made": 4, "impossible": 0},
    ]
    episodes = read_episodes(edited)
    assert not episodes.problems
    assert len(episodes.episodes) == 12
    assert (
        main(
            [
                "trace",
                "run",
                "--data",
                str(edited),
                "--model",
                "scripted:trace-looker",
                "--out",
                str(run),
                "--json",
            ]
        )
        == 0
    )
    score = json.loads(capsys.readouterr().out)
    assert score["tally"]["answered"] == 12
    assert {"trace.grounding", "trace.edits", "trace.reliance"} <= {t["name"] for t in score["tables"]}
    assert (
        main(["trace", "make", "--of", str(data), "--out", str(tmp_path / "x"), "--families", "colour"]) == 2
    )
    assert main(["trace", "make", "--of", str(data), "--out", str(tmp_path / "x"), "--magnitudes", "2"]) == 2


def test_an_unsound_set_fails_the_audit(tmp_path, capsys):
    folder = tmp_path / "spoilt"
    assert main(["trace", "make", "--world", "instruction", "--size", "2", "--out", str(folder)]) == 0
    lines = (folder / "episodes.jsonl").read_text().splitlines()
    first = json.loads(lines[0]) | {"id": "again", "split": "ood"}
    (folder / "episodes.jsonl").write_text("\n".join([*lines, json.dumps(first)]) + "\n")
    capsys.readouterr()
    assert main(["trace", "audit", str(folder), "--json"]) == 1
    told_audit = json.loads(capsys.readouterr().out)
    assert not told_audit["is_sound"]

"""The CLIP that ships: small, told truly by its card, and a verifier of the embedded worlds like any other."""

import json
from collections import Counter
from itertools import product

import numpy as np
import pytest
from made_worlds import made

from theodolite.cli.main import main
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.types import Claim, Mention
from theodolite.instruments.trace.data.dataset import write_episodes
from theodolite.instruments.trace.verifiers.judging import open_verifier
from theodolite.instruments.trace.verifiers.similarity import CALIBRATION
from theodolite.instruments.trace.verifiers.similarity import SHIPPED as SHIPPED_CLIP
from theodolite.instruments.trace.verifiers.similarity_calibration import calibrate_similarity
from theodolite.worlds.episodes import Episode
from theodolite.worlds.facts import falsified, sentences_of

WORLDS = ("video", "navigation", "instruction")
LEAST_AUC = 0.75
LEAST_MEASURED = {"entity": 0.88, "attribute": 0.97}


@pytest.fixture(scope="module")
def verifier():
    return open_verifier("similarity")


@pytest.fixture(scope="module")
def measured(verifier):
    """On episodes that neither training nor the shipped calibration has seen."""
    return calibrate_similarity(verifier.likeness, [e for w in WORLDS for e in made(w)], seed=7)


def test_it_is_small_and_its_card_tells_what_its_files_say():
    assert (SHIPPED_CLIP / "model.safetensors").stat().st_size <= 3 * 2**20
    told = json.loads((SHIPPED_CLIP / CALIBRATION).read_text())
    card = (SHIPPED_CLIP / "README.md").read_text()
    for world, forms in told["by_world"].items():
        for form, figures in forms.items():
            assert f"| {world} | {form} | {figures['auc']['value']:.3f}" in card
            is_told = figures["auc"]["low"] > LEAST_AUC
            assert (figures["high"] is not None) is is_told
            assert (f"{world}: {form}" in told["left_out"]) is not is_told
    training = json.loads((SHIPPED_CLIP / "training.json").read_text())
    assert f"{training['n_parameters']:,} parameters" in card
    assert f"{100 * training['sides_and_states']:.1f} %" in card
    assert set(told["by_world"]) == set(WORLDS)


def test_it_loads_as_any_checkpoint_does():
    from transformers import AutoProcessor, CLIPModel

    model = CLIPModel.from_pretrained(SHIPPED_CLIP)
    assert sum(w.numel() for w in model.parameters()) * 2 <= 3 * 2**20
    assert AutoProcessor.from_pretrained(SHIPPED_CLIP, backend="pil") is not None


def test_it_tells_true_claims_from_false_ones(measured):
    """The card's figures were measured on other episodes; these must not be far from them."""
    told = json.loads((SHIPPED_CLIP / CALIBRATION).read_text())["by_world"]
    for world in WORLDS:
        assert set(measured.by_world[world]) == set(told[world])
        for form, least in LEAST_MEASURED.items():
            auc = measured.by_world[world][form].auc.value
            assert auc >= least, (world, form)
            assert abs(auc - told[world][form]["auc"]["value"]) <= 0.06, (world, form)


def half_false(episode, first):
    """What an oracle tells of an episode, with every other step, from the first or the second on, made false."""
    rng = np.random.default_rng(0)
    lines = str(episode.meta["oracle"]).splitlines()
    steps = [i for i, line in enumerate(lines) if line.startswith("Step") and "before" not in line]
    for i in steps[first::2]:
        heading, sentences = sentences_of(lines[i])
        lines[i] = heading + " ".join(falsified(sentence, rng) for sentence in sentences)
    return with_claims([read_trace("\n".join(lines), episode)])[0]


@pytest.mark.parametrize("world", WORLDS)
def test_its_verdicts_agree_with_the_annotations(verifier, world):
    """On true claims and on false ones: who supports everything, or refutes everything, fails."""
    truth = open_verifier("annotation")
    right, judged = Counter(), Counter()
    for episode, first in product(made(world), (0, 1)):
        claims = [c for step in half_false(episode, first).steps for c in step.claims]
        for a, b in zip(truth.verify(claims, episode), verifier.verify(claims, episode), strict=True):
            if "unverifiable" not in {a.label, b.label}:
                judged[a.label] += 1
                right[a.label] += a.label == b.label
    for label in ("supported", "unsupported"):
        assert judged[label] >= 50, (label, judged)
        assert right[label] / judged[label] > 0.9, (label, right, judged)


def test_bounds_of_ones_own_leave_its_guards_as_they_are():
    given = open_verifier("similarity:?high=0.9&low=0.1")
    assert (given.high, given.low) == (0.9, 0.1)
    episode = made("video")[0]
    elsewhere = Episode("e", "?", episode.frames, world="street")
    claim = Claim("entity", Mention("ball", ("red",)))
    assert given.verify([Claim("entity", Mention("zebra"))], episode)[0].reason == "out of vocabulary"
    assert given.verify([claim], elsewhere)[0].reason == "out of vocabulary"


def test_calibrating_it_anew_writes_only_where_it_is_told_to(tmp_path, capsys):
    """Never into the installed package by the way."""
    data = write_episodes(made("instruction")[:2], tmp_path / "data")
    files = [SHIPPED_CLIP / CALIBRATION, SHIPPED_CLIP / "README.md"]
    before = [(file.read_bytes(), file.stat().st_mtime_ns) for file in files]
    line = ["trace", "calibrate", "--data", str(data)]
    assert main(line) == 0
    assert "--out PATH" in "".join(capsys.readouterr())
    out = tmp_path / "out"
    out.mkdir()
    assert main([*line, "--out", str(out), "--json"]) == 0
    assert json.loads((out / CALIBRATION).read_text())["by_world"].keys() == {"instruction"}
    assert [file.name for file in out.iterdir()] == [CALIBRATION]
    assert [(file.read_bytes(), file.stat().st_mtime_ns) for file in files] == before


def test_it_says_nothing_of_what_it_does_not_know(verifier):
    episode = made("video")[0]
    verdict = verifier.verify([Claim("entity", Mention("zebra"))], episode)[0]
    assert (verdict.reason, "zebra" in verdict.evidence) == ("out of vocabulary", True)
    elsewhere = Episode("e", "?", episode.frames, world="street")
    claim = Claim("entity", Mention("ball", ("red",)))
    assert verifier.verify([claim], elsewhere)[0].reason == "out of vocabulary"


def test_traces_are_judged_by_it_with_no_more_than_its_name(tmp_path, capsys):
    episodes = made("video")[:2]
    data = write_episodes(episodes, tmp_path / "data")
    file = tmp_path / "t.jsonl"
    file.write_text("".join(json.dumps({"episode": e.id, "text": e.meta["oracle"]}) + "\n" for e in episodes))
    line = [
        "trace",
        "verify",
        "--data",
        str(data),
        "--traces",
        str(file),
        "--verifier",
        "similarity",
        "--tables",
        "claims",
        "--json",
    ]
    assert main(line) == 0
    found = {t["name"]: t["rows"][0] for t in json.loads(capsys.readouterr().out)["tables"]}
    assert found["trace.grounding"]["verifier"] == "similarity"
    assert found["trace.claims"]["supported"] > found["trace.claims"]["unsupported"]

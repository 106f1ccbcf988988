"""The CLIP that ships: small, told truly by its card, and a verifier of the embedded worlds like any other."""

import json

import pytest
from made_worlds import made

from theodolite import trace
from theodolite.cli import main
from theodolite.trace import Claim, Mention
from theodolite.trace.metrics import verifier_agreement
from theodolite.trace.verifiers import CALIBRATION, SHIPPED_CLIP, calibrate_similarity

WORLDS = ("video", "navigation", "instruction")
LEAST_AUC = {"entity": 0.9, "attribute": 0.97}


@pytest.fixture(scope="module")
def verifier():
    return trace.open_verifier("similarity")


@pytest.fixture(scope="module")
def measured(verifier):
    """On episodes that neither training nor the shipped calibration has seen."""
    return calibrate_similarity(verifier.likeness, [e for w in WORLDS for e in made(w)], seed=7)


def test_it_is_small_and_its_card_tells_what_its_files_say():
    assert (SHIPPED_CLIP / "model.safetensors").stat().st_size <= 3 * 2**20
    told = json.loads((SHIPPED_CLIP / CALIBRATION).read_text())
    card = (SHIPPED_CLIP / "README.md").read_text()
    for kind, figures in told["kinds"].items():
        assert f"| {kind} | {figures['auc']['value']:.3f}" in card
    training = json.loads((SHIPPED_CLIP / "training.json").read_text())
    assert f"{training['n_parameters']:,} parameters" in card
    assert set(told["worlds"]) == set(WORLDS)


def test_it_loads_as_any_checkpoint_does():
    from transformers import AutoProcessor, CLIPModel

    model = CLIPModel.from_pretrained(SHIPPED_CLIP)
    assert sum(w.numel() for w in model.parameters()) * 2 <= 3 * 2**20
    assert AutoProcessor.from_pretrained(SHIPPED_CLIP, backend="pil") is not None


def test_it_tells_true_claims_from_false_ones(measured):
    """The card's figures were measured on other episodes; these must not be far below them."""
    told = json.loads((SHIPPED_CLIP / CALIBRATION).read_text())["kinds"]
    for kind in ("entity", "attribute"):
        assert measured.kinds[kind].auc.value >= LEAST_AUC[kind], kind
        assert measured.kinds[kind].auc.value == pytest.approx(told[kind]["auc"]["value"], abs=0.06)
    assert set(measured.kinds) == set(told)


def test_its_verdicts_agree_with_the_annotations(verifier):
    """Of claims that both judge, in traces of which every other step is false."""
    episodes = {e.id: e for w in WORLDS for e in made(w)}
    texts = [str(e.meta["oracle"]) for e in episodes.values()]
    claimed = trace.with_claims(
        [trace.read_trace(t, e) for t, e in zip(texts, episodes.values(), strict=True)]
    )
    found = verifier_agreement(claimed, episodes, [trace.open_verifier("annotation"), verifier])[0]
    assert found.n_both_judged > 100
    right = wrong = 0
    truth = trace.open_verifier("annotation")
    for one in claimed:
        episode = episodes[one.episode]
        claims = [c for step in one.steps for c in step.claims]
        for a, b in zip(truth.verify(claims, episode), verifier.verify(claims, episode), strict=True):
            if "unverifiable" not in {a.label, b.label}:
                right, wrong = right + (a.label == b.label), wrong + (a.label != b.label)
    assert right / (right + wrong) > 0.9


def test_it_says_nothing_of_what_it_does_not_know(verifier):
    episode = made("video")[0]
    verdict = verifier.verify([Claim("entity", Mention("zebra"))], episode)[0]
    assert (verdict.reason, "zebra" in verdict.evidence) == ("out of vocabulary", True)
    elsewhere = trace.Episode("e", "?", episode.frames, world="street")
    claim = Claim("entity", Mention("ball", ("red",)))
    assert verifier.verify([claim], elsewhere)[0].reason == "out of vocabulary"


def test_traces_are_judged_by_it_with_no_more_than_its_name(tmp_path, capsys):
    episodes = made("video")[:2]
    data = trace.write_episodes(episodes, tmp_path / "data")
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
        "--json",
    ]
    assert main(line) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verifier"] == "similarity"
    assert found["grounding"]["verdicts"]["supported"] > found["grounding"]["verdicts"]["unsupported"]

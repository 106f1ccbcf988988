"""The pipeline without its parts, alignment of told frames, and the share of ego-motion: constructed cases with known answers."""

import json

import numpy as np
import pytest
from made_worlds import made
from trace_world import KNOWN, SIZE, group_of, make_episode, thing

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.types import Claim, Mention, Step, Trace, Verdict
from theodolite.instruments.trace.data.dataset import write_episodes
from theodolite.instruments.trace.experiments.ablation import COMPONENTS, ablate, across_models
from theodolite.instruments.trace.experiments.alignment import CUES, score_alignment, synthetic_trace
from theodolite.instruments.trace.experiments.grounding import ego_motion
from theodolite.instruments.trace.verifiers.judging import (
    JudgedStep,
    JudgedTrace,
    NoisyVerifier,
    judge,
    open_verifier,
)
from theodolite.worlds.episodes import Action, Episode, Frame, FrameObject

S, U, X = Verdict("supported"), Verdict("unsupported"), Verdict("unverifiable", "occluded")
ANNOTATION = open_verifier("annotation")


def scene(name="e"):
    """A ball in the first frame, a cube in the second; a person throughout."""
    person = FrameObject("p", "person", thing("x", "red", "cube", 70).box)
    frames = (
        Frame(0.0, None, SIZE, (thing("a", "red", "ball", 10), person)),
        Frame(1.0, None, SIZE, (thing("b", "blue", "cube", 30), person)),
    )
    return Episode(name, "?", frames, known=KNOWN, vocabulary={"objects": ("ball", "cube", "person")})


def run(text, verifier=ANNOTATION, episode=None):
    episode = episode or scene()
    claimed = with_claims([read_trace(text, episode)])
    rows, problems = ablate(claimed, {episode.id: episode}, verifier)
    assert not problems
    return {row.without: row for row in rows}


@pytest.mark.parametrize(
    ("part", "text", "whole", "without"),
    [
        ("alignment", "Step 1 (frame 1): There is a blue cube.", 0.0, 1.0),
        ("coreference", "Step 1 (frame 1): There is a ball. It is blue.", 0.5, 1.0),
        ("negation", "Step 1 (frame 1): There is no red ball.", 0.0, 1.0),
        ("synonyms", "Step 1 (frame 1): There is a red sphere. There is a blue ball.", 0.5, 0.0),
        ("guesses", "Step 1 (frame 1): There is a red ball. There might be a cube.", 1.0, 0.5),
        ("third verdict", "Step 1 (frame 1): There is a red ball. There might be a cube.", 1.0, 0.5),
        ("whole claims", "Step 1 (frame 1): The red ball is blue.", 0.0, 2 / 3),
    ],
)
def test_each_part_does_what_it_is_for(part, text, whole, without):
    rows = run(text + "\nStep 2 (frame 2): There is a blue cube.")
    # the second step is supported either way, so that the mean is of two steps
    assert rows[()].sgr.value == pytest.approx((whole + 1) / 2)
    assert rows[part,].sgr.value == pytest.approx((without + 1) / 2)
    assert rows[part,].n_changed == (whole != without)
    others = set(COMPONENTS) - {part, "guesses", "third verdict", "whole claims"}
    assert all(rows[other,].n_changed == 0 for other in others)


def test_what_a_finder_of_low_recall_missed_is_refuted_without_recall():
    class Misses:
        name = "misses"

        def verify(self, claims, episode):
            return [S if c.subject.head == "ball" else Verdict("unverifiable", "low recall") for c in claims]

    rows = run("Step 1: There is a red ball. There is a blue cube.\nStep 2: There is a red ball.", Misses())
    assert rows[()].sgr.value == 1.0
    assert rows["recall",].sgr.value == 0.75
    assert rows["third verdict",].sgr.value == 0.75
    denied = run(
        "Step 1: There is no blue cube. There is a red ball.\nStep 2: There is a red ball.", Misses()
    )
    assert denied["recall",].sgr.value == 1.0


def test_all_singles_and_pairs_are_there_once():
    rows = run("Step 1: There is a red ball.\nStep 2: There is a cube.")
    n = len(COMPONENTS)
    assert len(rows) == 1 + n + n * (n - 1) // 2
    assert all(len(without) <= 2 for without in rows)
    episode = scene()
    claimed = with_claims([read_trace("Step 1: There is a red ball.", episode)])
    assert len(ablate(claimed, {"e": episode}, ANNOTATION, pairs=False)[0]) == 1 + n


def test_traces_that_cannot_be_judged_are_listed():
    class Fragile:
        name = "fragile"

        def verify(self, claims, episode):
            if episode.id == "f":
                raise UsageError("the picture is broken")
            return ANNOTATION.verify(claims, episode)

    episodes = {name: scene(name) for name in ("e", "f")}
    traces = with_claims([read_trace("Step 1: There is a red ball.", e) for e in episodes.values()])
    rows, problems = ablate(traces, episodes, Fragile(), pairs=False)
    assert [(each.where, each.reason) for each in problems] == [("f", "fragile: the picture is broken")]
    assert rows[0].n_traces == 1


def test_a_pair_is_both_parts_at_once():
    rows = run("Step 1 (frame 1): There is no blue cube.\nStep 2 (frame 2): There is a blue cube.")
    assert [rows[w].sgr.value for w in ((), ("alignment",), ("negation",), ("alignment", "negation"))] == [
        1.0, 0.5, 0.5, 1.0,
    ]  # fmt: skip


def test_correlations_are_those_of_the_traces():
    """A noisy judge stands for a model that varies; r and ρ against numpy's and a plain ranking."""
    episodes = {f"e{i}": scene(f"e{i}") for i in range(12)}
    text = "Step 1 (frame 1): There is a red ball. There is no man.\nStep 2 (frame 2): There is a blue cube. It might be a cube."
    claimed = with_claims([read_trace(text, e) for e in episodes.values()])
    rows = {r.without: r for r in ablate(claimed, episodes, NoisyVerifier(ANNOTATION, 0.4, 1))[0]}
    row = rows["third verdict",]
    full = [_plain_rates(t, NoisyVerifier(ANNOTATION, 0.4, 1), episodes, third=True) for t in claimed]
    part = [_plain_rates(t, NoisyVerifier(ANNOTATION, 0.4, 1), episodes, third=False) for t in claimed]
    assert np.ptp(full) > 0
    assert row.r.value == pytest.approx(np.corrcoef(full, part)[0, 1])
    assert row.shift.value == pytest.approx(np.mean(part) - np.mean(full))
    assert row.n_traces == 12
    ranks = [[sorted(x).index(v) + (x.count(v) - 1) / 2 for v in x] for x in (full, part)]
    assert row.rho.value == pytest.approx(np.corrcoef(*ranks)[0, 1])


def _plain_rates(claimed, verifier, episodes, *, third):
    rates = []
    for step in claimed.steps:
        pairs = list(zip(step.claims, verifier.verify(step.claims, episodes[claimed.episode]), strict=True))
        labels = ["unverifiable" if c.hedge else v.label for c, v in pairs if not c.is_part]
        counted = [x for x in labels if x != "unverifiable"] if third else labels
        if counted:
            rates.append(counted.count("supported") / len(counted))
    return sum(rates) / len(rates)


def test_over_models_the_means_are_compared():
    episode = scene()
    last = "\nStep 2 (frame 2): There is a blue cube."
    texts = (
        f"Step 1 (frame 1): There is a red ball.{last}",
        f"Step 1 (frame 1): There is a red ball. There is a blue cube.{last}",
        f"Step 1 (frame 1): There is a blue cube.{last}",
    )
    runs = [ablate(with_claims([read_trace(t, episode)]), {"e": episode}, ANNOTATION)[0] for t in texts]
    over = dict(zip((row.without for row in runs[0]), across_models(runs), strict=True))
    assert over["negation",][0].value == pytest.approx(1.0)
    assert over["alignment",] == (None, None)  # all are supported at some frame, so nothing varies


def test_there_may_be_a_thing_is_a_guess():
    from theodolite.instruments.trace.claims.reading import extract_claims

    for text, hedge in (
        ("There might be a cube.", "might"),
        ("There is probably a cube.", "probably"),
        ("It may be a cube.", "may"),
        ("There seems to be a cube.", "seem"),
        ("There is a cube.", ""),
        ("There is a cube that might fall.", ""),
    ):
        cube = next(c for c in extract_claims(text) if c.kind == "entity")
        assert (cube.subject.head, cube.hedge) == ("cube", hedge), text
    count = next(c for c in extract_claims("There could be two chairs.") if c.kind == "count")
    assert count.hedge == "could"


def test_the_scene_is_the_picture_that_things_come_into():
    frames = tuple(Frame(float(t), None, SIZE, (thing("a", "red", "ball", 10),)) for t in range(2))
    enters = (Action("enter", "a", (), 0.5, 0.5),)
    episode = Episode("e", "?", frames, known=KNOWN, actions=enters)
    for place in ("scene", "view", "frame", "picture"):
        text = f"Step 1: The red ball enters the {place}.\nStep 2: The red ball leaves the {place}."
        judged = judge(with_claims([read_trace(text, episode)]), {"e": episode}, ANNOTATION)[0]
        labels = [v.label for step in judged.steps for c, v in step.counted() if c.kind == "action"]
        assert labels == ["supported", "unsupported"], place


def test_nothing_to_judge_is_refused():
    with pytest.raises(UsageError, match="nothing to compare"):
        run("Step 1: I think so.\nStep 2: Perhaps.")


def test_the_share_of_ego_motion_and_how_much_of_it_is_judged():
    def step(*pairs):
        claims = tuple(
            Claim(kind, Mention("i" if kind == "ego-motion" else "cup"), "turn left") for kind, _ in pairs
        )
        return JudgedStep(Step("…", (0,), claims=claims), tuple(v for _, v in pairs))

    def judged(unit, *steps):
        return JudgedTrace(Trace(unit, tuple(s.step for s in steps)), tuple(steps), unit, "t")

    traces = [
        judged("a", step(("ego-motion", S), ("entity", S)), step(("entity", U)), step(("ego-motion", X))),
        judged("b", step(("entity", S)), step(("ego-motion", U), ("ego-motion", X))),
        JudgedTrace(Trace("c", ()), (), "c", "t", failure="broken"),
    ]
    of_steps, of_claims, verifiable = ego_motion(group_of(traces))
    assert of_steps.value == pytest.approx(3 / 5)
    assert of_claims.value == pytest.approx(4 / 7)
    assert (verifiable.value, verifiable.n_items) == (pytest.approx(2 / 4), 4)
    of_steps, _, verifiable = ego_motion(group_of([judged("a", step(("entity", S)))]))
    assert (verifiable, of_steps.value) == (None, 0.0)


def test_navigation_speaks_of_ego_motion_and_all_of_it_is_judged():
    episodes = made("navigation")
    claimed = with_claims([read_trace(str(e.meta["oracle"]), e) for e in episodes])
    of_steps, _, verifiable = ego_motion(group_of(judge(claimed, {e.id: e for e in episodes}, ANNOTATION)))
    assert of_steps.value > 0.5
    assert verifiable.value == 1.0


@pytest.mark.parametrize("world", ["video", "navigation", "instruction"])
def test_numbers_times_and_words_of_order_find_their_frames(world):
    scores = score_alignment(made(world), seed=1)
    assert set(scores) == set(CUES)
    for cue in ("frame number", "time", "words of order", "place, every frame"):
        assert scores[cue].exact.value >= 0.95, cue
    guessed = scores["place, some frames"]
    assert guessed.exact.value < guessed.covers.value < 1.0


def test_told_frames_are_those_of_the_text():
    episode = made("video")[0]
    read, truth = synthetic_trace(episode, "frame number", rng=np.random.default_rng(5))
    assert 0 < len(truth) < len(episode.frames)
    for step, (frame,) in zip(read.steps, truth, strict=True):
        assert f"Frame {frame + 1}:" in step.text


def test_alignment_of_episodes_without_facts_is_refused():
    bare = Episode("e", "?", (Frame(0.0),))
    with pytest.raises(UsageError, match="known facts"):
        score_alignment([bare])


def test_alignment_and_ablation_by_command(tmp_path, capsys):
    data = write_episodes(made("navigation"), tmp_path / "data")
    assert main(["trace", "audit", str(data), "--tables", "alignment", "--json"]) == 0
    tables = {t["name"]: t for t in json.loads(capsys.readouterr().out)["tables"]}
    assert [row["cue"] for row in tables["trace.alignment"]["rows"]] == list(CUES)
    file = tmp_path / "t.jsonl"
    episodes = made("navigation")[:3]
    file.write_text("".join(json.dumps({"episode": e.id, "text": e.meta["oracle"]}) + "\n" for e in episodes))
    line = ["trace", "verify", "--ablate", str(file), "--data", str(data)]
    assert main([*line, "--no-pairs", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"][0]["rows"]
    assert len(rows) == 1 + len(COMPONENTS)
    assert rows[0]["sgr"]["value"] == 1.0
    assert main([*line, "--no-pairs"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "No trace changes without" in shown
    assert "does not vary" in shown
    assert main(["trace", "verify", "--ablate", str(file)]) == 2
    assert "--data" in capsys.readouterr().err
    assert main(["trace", "verify", "--ablate"]) == 2
    words = ["trace", "verify", str(file), "--data", str(data), "--tables", "pooled"]
    assert main(words) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "ego-motion claims" in shown


def test_runs_of_several_models(tmp_path, capsys):
    data = write_episodes([make_episode(i) for i in range(4)], tmp_path / "data")
    runs = []
    for setting in (25, 50, 75):
        out = tmp_path / f"run{setting}"
        model = f"scripted:trace-dial-{setting}"
        assert main(["trace", "run", "--model", model, "--data", str(data), "--out", str(out), "--json"]) == 0
        runs.append(str(out))
    capsys.readouterr()
    assert main(["trace", "verify", "--ablate", *runs, "--no-pairs", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"][0]["rows"]
    assert rows[0]["traces"] == 12
    assert rows[0]["models_rho"]["value"] == pytest.approx(1.0)
    assert main(["trace", "verify", "--ablate", runs[0], runs[0]]) == 2
    assert "given twice" in capsys.readouterr().err

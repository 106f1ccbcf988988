"""From a model to figures, through the program: runs, existing traces, people's labels; and bad input of every kind."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from trace_world import drawn, make_episode

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.steps import read_steps
from theodolite.instruments.trace.data.dataset import read_episodes, write_episodes
from theodolite.instruments.trace.data.episode import Edit, Episode, Frame
from theodolite.instruments.trace.experiments.annotate import score_labels
from theodolite.instruments.trace.questions import plan_traces
from theodolite.instruments.trace.verifiers.judging import open_verifier
from theodolite.runs import Run


def edited(base, family):
    """The same episode with the first thing on the other side, or with nothing changed that matters."""
    frames = []
    for frame in base.frames:
        first, *rest = frame.objects
        if family == "position":
            first = replace(first, box=first.box.moved(100 - first.box.x0 - first.box.x1, 0))
        objects = (first, *rest)
        frames.append(replace(frame, objects=objects, picture=drawn(objects)))
    sides = ["left" if f.objects[0].box.x0 < 45 else "right" for f in frames]
    lines = str(base.meta["oracle"]).splitlines()
    said = [
        line.replace(" left ", f" {s} ").replace(" right ", f" {s} ")
        for line, s in zip(lines, sides, strict=False)
    ]
    oracle = "\n".join([*said, f"Final answer: {sides[-1]}"])
    return replace(
        base,
        id=f"{base.id}-{family}",
        frames=tuple(frames),
        answer=sides[-1],
        edit=Edit(base.id, family, 0.5, ("a",)),
        cluster=base.id,
        meta={"oracle": oracle},
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    own = [make_episode(seed) for seed in range(8)]
    other = [make_episode(seed, split="ood", prefix="o") for seed in range(20, 26)]
    edits = [edited(episode, family) for episode in own for family in ("position", "irrelevant")]
    return write_episodes([*own, *other, *edits], tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def traces(data, tmp_path_factory):
    file = tmp_path_factory.mktemp("traces") / "traces.jsonl"
    episodes = read_episodes(data).episodes
    rows = [
        {"episode": e.id, "text": str(e.meta["oracle"]), "model": "oracle"}
        for e in episodes
        if e.edit is None
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def run_json(capsys, *words):
    capsys.readouterr()
    status = main([*map(str, words), "--json"])
    shown = capsys.readouterr()
    assert status in {0, 1}, shown.err
    return json.loads(shown.out)


def test_a_run_of_the_oracle(data, tmp_path, capsys):
    out = tmp_path / "run"
    found = run_json(
        capsys,
        "trace",
        "run",
        "--model",
        "scripted:oracle",
        "--data",
        data,
        "--out",
        out,
        "--styles",
        "structured,lite",
        "--paraphrase",
    )
    groups = {(g["style"], g["split"]): g for g in found["groups"]}
    assert set(groups) == {(s, d) for s in ("structured", "lite") for d in ("in-distribution", "ood")}
    first = groups["structured", "in-distribution"]
    assert first["grounding"]["sgr"]["value"] >= 0.98
    assert first["grounding"]["hr"]["value"] <= 0.02
    assert first["grounding"]["accuracy"]["value"] == 1.0
    assert first["consistency"]["tcs_aware"]["value"] == 1.0
    falls = {c["name"]: c["fall"]["value"] for c in found["controls"]}
    assert min(falls[name] for name in ("spatial", "entity", "temporal")) > 0.26
    assert {c["name"]: c["sgr"]["value"] for c in found["controls"]}["random"] < 0.25
    assert found["reliance"]["vrs_sound"]["value"] > 3
    assert found["reliance"]["n_pairs"] == 16
    assert found["counter_causal"]["language_sgr"]["value"] == 0.0
    assert found["counter_causal"]["visual_sgr"]["value"] < -0.5
    assert (found["failed"], found["refused"], found["pending"]) == (0, 0, 0)
    ways = {c["name"]: c["sgr"]["value"] for c in found["conditions"]}
    assert ways["unverifiable neutral"] == ways["at most 2 steps"] == 1.0
    assert ways["judged by annotation with 10% errors"] < 1.0
    again = run_json(capsys, "trace", "score", out, "--also-by", "annotation")
    assert again["groups"] == found["groups"]
    assert {c["name"]: c["sgr"]["value"] for c in again["conditions"]}["judged by annotation"] == 1.0
    with Run.open(out) as run:
        assert run.scores()["groups"] == json.loads(json.dumps(found["groups"]))
        assert {result.item.meta["wording"] for result in run.results()} == {"original", "paraphrased"}


def test_a_guesser_and_a_model_without_steps(data, tmp_path, capsys):
    found = run_json(
        capsys, "trace", "run", "--model", "scripted:guesser", "--data", data, "--out", tmp_path / "g"
    )
    assert all(g["grounding"]["is_lower_bound"] for g in found["groups"])
    assert found["reliance"]["vrs_sound"] is None or found["reliance"]["vrs_sound"]["value"] == 0.0
    refused = run_json(
        capsys, "trace", "run", "--model", "scripted:refuser", "--data", data, "--out", tmp_path / "r"
    )
    assert refused["refused"] == 30
    assert refused["groups"] == []


def test_a_real_model_end_to_end(data, tmp_path, capsys, tiny_llava):
    words = (
        "trace",
        "run",
        "--model",
        f"hf:{tiny_llava}",
        "--data",
        data,
        "--out",
        tmp_path / "t",
        "--max-frames",
        "2",
    )
    found = run_json(capsys, *words, "--max-tokens", "8", "--limit", "2")
    assert found["pending"] == 28
    assert found["failed"] == 0


def test_predicting_from_runs(data, tmp_path, capsys):
    """Four runs that differ in their scores alone: grounding and retention rise together."""
    first = tmp_path / "first"
    run_json(capsys, "trace", "run", "--model", "scripted:oracle", "--data", data, "--out", first)
    runs = []
    for i in range(4):
        folder = shutil.copytree(first, tmp_path / f"run{i}")
        score = json.loads((folder / "scores.json").read_text())
        score["model"] = f"model-{i}"
        for group in score["groups"]:
            value = 0.5 + 0.1 * i
            group["grounding"]["sgr"]["value"] = value
            group["grounding"]["accuracy"]["value"] = (
                0.8 if group["split"] == "in-distribution" else 0.8 * value
            )
        (folder / "scores.json").write_text(json.dumps(score))
        runs.append(folder)
    found = run_json(capsys, "trace", "predict", *runs)
    law = [
        a for a in found["prediction"]["associations"] if (a["predictor"], a["retention"]) == ("sgr", "ratio")
    ]
    assert law[0]["r"]["value"] == pytest.approx(1.0)
    assert (law[0]["scope"], law[0]["n_models"]) == ("toy", 4)
    rows = {row["condition"]: row for row in found["robustness"]}
    assert next(iter(rows)) == "structured"
    assert {"unverifiable penalised", "every claim counted", "guesses as stated", "at most 2 steps"} <= set(
        rows
    )
    assert sum("errors" in name for name in rows) == 4
    assert rows["structured"]["r"]["value"] == pytest.approx(1.0)
    assert rows["at most 2 steps"]["n_models"] == 4
    (runs[0] / "scores.json").unlink()
    assert main(["trace", "predict", *map(str, runs)]) == 2
    assert "trace score" in capsys.readouterr().err
    assert main(["trace", "predict", *map(str, runs[2:])]) == 2
    assert "three models" in capsys.readouterr().err


def test_the_page_of_figures(data, tmp_path, capsys):
    """One command draws a run, one the law."""
    runs = []
    for name in ("oracle", "guesser"):
        words = ["trace", "run", "--model", f"scripted:{name}", "--data", data, "--out", tmp_path / name]
        assert main([*map(str, words)]) == 0
        runs.append(tmp_path / name)
    drawn = tmp_path / "drawn"
    found = run_json(capsys, "trace", "score", runs[0], "--figures", drawn, "--beside", runs[1])
    assert found["model"] == "scripted:oracle"
    names = {path.name for path in drawn.iterdir()}
    assert {"progress.png", "reliance.png", "sensitivity_1.png", "steps_1.png"} <= names
    assert main(["trace", "score", str(runs[0]), "--beside", str(runs[1])]) == 2
    assert "--figures" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["trace", "score", str(runs[0]), "--figures", str(tmp_path / "file" / "x")]) == 2
    law = run_json(capsys, "trace", "predict", "--paper", "--figures", drawn)
    assert len(law["rows"]) == 24
    assert {path.name for path in drawn.iterdir()} - names == {"sgr_retention.png", "sgr_ood_accuracy.png"}


def test_verify_needs_no_model(data, traces, capsys):
    found = run_json(capsys, "trace", "verify", "--data", data, "--traces", traces, "--show", 1)
    assert found["grounding"]["sgr"]["value"] >= 0.98
    assert found["grounding"]["n_traces"] == 14
    assert found["traces"][0]["steps"][0]["verdicts"][0]["label"] == "supported"
    noisy = run_json(capsys, "trace", "verify", "--data", data, "--traces", traces, "--noise", 0.3)
    assert noisy["grounding"]["sgr"]["value"] < 0.9
    assert main(["trace", "verify", "--data", str(data), "--traces", str(traces), "--show", "1"]) == 0
    shown = capsys.readouterr().out
    assert "supported: spatial" in shown
    assert "TCS, contradiction-aware" in shown


def test_bad_traces_are_told_one_by_one(data, traces, tmp_path, capsys):
    file = tmp_path / "bad.jsonl"
    rows = [
        {"episode": "e0", "text": "Step 1 (frame 77): A ball.\nStep 2: A cube."},
        {"episode": "e1", "text": "\n".join(f"Step {i}: A ball." for i in range(10_000))},
        {"episode": "e2", "text": "   "},
        {"episode": "gone", "text": "A ball."},
        {"episode": "e2", "text": ""},
        {"episode": "e2"},
    ]
    file.write_text("\n".join([*map(json.dumps, rows), "{", traces.read_text().splitlines()[0]]))
    found = run_json(capsys, "trace", "verify", "--data", data, "--traces", file)
    reasons = " | ".join(problem["reason"] for problem in found["problems"])
    for told in (
        "frame 77",
        "10000 steps",
        "no episode 'gone'",
        "has no steps",
        "the text of the trace of 'e2' is empty",
        "the trace of 'e2' has neither 'text' nor 'steps'",
    ):
        assert told in reasons
    assert found["grounding"]["n_traces"] == 4


def test_answers_that_cannot_be_read_are_counted_apart(data, traces, tmp_path, capsys):
    rows = [json.loads(line) for line in traces.read_text().splitlines()][:4]
    rows[0]["text"] = rows[0]["text"].rpartition("\n")[0]  # no answer
    other = {"left": "right", "right": "left"}
    said, _, answer = rows[1]["text"].rpartition(" ")
    rows[1]["text"] = f"{said} {other[answer]}"
    file = tmp_path / "traces.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    found = run_json(capsys, "trace", "verify", "--data", data, "--traces", file)["grounding"]
    assert (found["accuracy"]["value"], found["n_unread"], found["n_traces"]) == (0.5, 1, 4)
    assert main(["trace", "verify", "--data", str(data), "--traces", str(file)]) == 0
    assert "1 of 4 traces have no answer that could be read" in " ".join(capsys.readouterr().err.split())


def test_a_broken_picture_fails_alone(tmp_path, capsys):
    folder = write_episodes([make_episode(seed) for seed in range(3)], tmp_path / "data")
    lines = (folder / "episodes.jsonl").read_text().splitlines()
    name = json.loads(lines[1])["frames"][0]["picture"]
    (folder / name).write_bytes(b"no picture")
    status = main(
        [
            "trace",
            "run",
            "--model",
            "scripted:looker",
            "--data",
            str(folder),
            "--out",
            str(tmp_path / "r"),
            "--json",
        ]
    )
    found = json.loads(capsys.readouterr().out)
    assert status == 0
    assert found["groups"][0]["grounding"]["n_traces"] == 2
    broken = [problem for problem in found["problems"] if "is broken" in problem["reason"]]
    assert [problem["where"] for problem in broken] == ["episodes.jsonl, line 2"]
    assert name in broken[0]["reason"]


class Fragile:
    """Judges by annotation, but cannot judge one episode."""

    name = "fragile"

    def verify(self, claims, episode):
        if episode.id == "e1":
            raise UsageError("the picture is broken")
        return open_verifier("annotation").verify(claims, episode)


def test_an_episode_that_the_verifier_cannot_judge_fails_alone(data, traces, tmp_path, capsys, monkeypatch):
    run = tmp_path / "r"
    run_json(capsys, "trace", "run", "--model", "scripted:oracle", "--data", data, "--out", run)
    monkeypatch.setattr("theodolite.instruments.trace.score.open_verifier", lambda _: Fragile())
    found = run_json(capsys, "trace", "score", run)
    own = next(g for g in found["groups"] if g["split"] == "in-distribution")["grounding"]
    assert (own["n_traces"], own["n_failed"]) == (8, 1)
    assert (found["reliance"]["n_pairs"], found["reliance"]["n_failed"]) == (14, 2)
    assert [(p["where"], p["reason"]) for p in found["problems"]] == [
        (where, "the picture is broken") for where in ("e1", "e1-position", "e1-irrelevant")
    ]
    monkeypatch.setattr("theodolite.cli.trace_loading.open_verifier", lambda _: Fragile())
    found = run_json(capsys, "trace", "verify", "--data", data, "--traces", traces)
    assert [(p["where"], p["reason"]) for p in found["problems"]] == [("e1", "the picture is broken")]
    assert found["grounding"]["n_failed"] == 1


def test_traces_that_a_verifier_cannot_judge_are_told_by_agree_and_noise(data, traces, capsys, monkeypatch):
    opened = {"annotation": open_verifier("annotation"), "fragile": Fragile()}
    monkeypatch.setattr("theodolite.cli.trace_labels.open_verifier", opened.get)
    where = ("--data", data, "--traces", traces)
    agree = ("trace", "agree", *where, "--verifiers", "annotation,fragile")
    found = run_json(capsys, *agree)
    assert found["problems"] == [{"where": "e1", "reason": "fragile: the picture is broken"}]
    both = found["agreements"][0]
    assert both["same"]["value"] == 1.0  # and κ knows nothing, since all is true
    assert both["kappa"] is None
    assert both["same"]["low"] < 1
    swept = run_json(capsys, "trace", "noise", *where, "--verifier", "fragile", "--rates", "0,0.1")
    assert swept["problems"] == [{"where": "e1", "reason": "the picture is broken"}]
    assert main([*map(str, agree)]) == 0
    shown = capsys.readouterr()
    assert "same label" in shown.out
    assert "the picture is broken" in shown.err


def test_labels_by_two_people(data, traces, tmp_path, capsys):
    file = tmp_path / "labels.jsonl"
    run_json(
        capsys, "trace", "annotate", "export", "--data", data, "--traces", traces, "--out", file, "--n", 30
    )
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(rows) == 30
    assert {row["label"] for row in rows} == {""}
    assert "verdict" not in rows[0]
    rng = np.random.default_rng(0)
    people = []
    for name, errors in (("anna", 0.0), ("ben", 0.2)):
        labels = ["unsupported" if rng.random() < errors else "supported" for _ in rows]
        person = tmp_path / f"{name}.jsonl"
        person.write_text(
            "\n".join(json.dumps(row | {"label": label}) for row, label in zip(rows, labels, strict=True))
        )
        people.append((person, labels))
    found = run_json(
        capsys, "trace", "annotate", "score", *(p for p, _ in people), "--data", data, "--traces", traces
    )
    share = people[1][1].count("supported") / 30
    assert found["people"][0]["sgr"]["value"] == 1.0
    assert found["people"][1]["sgr"]["value"] == pytest.approx(share)
    assert found["people"][1]["hr"]["value"] == pytest.approx(1 - share)
    assert found["agreement"]["value"] == pytest.approx(share)
    assert found["kappa"]["value"] == pytest.approx(0.0)
    assert found["people"][0]["agreement"]["value"] == 1.0
    people[0][0].write_text(json.dumps(rows[0] | {"label": "perhaps"}))
    with pytest.raises(UsageError, match="no label"):
        score_labels([people[0][0]])


def test_labels_of_two_models_on_one_episode_stay_apart(data, traces, tmp_path, capsys):
    rows = [json.loads(line) for line in traces.read_text().splitlines()]
    wrong = [row | {"model": "mirror", "text": swapped(row["text"])} for row in rows]
    both = tmp_path / "both.jsonl"
    both.write_text("\n".join(map(json.dumps, [*rows, *wrong])))
    words = ["trace", "annotate", "export", "--data", str(data), "--traces", str(both), "--n", "500"]
    file = tmp_path / "labels.jsonl"
    assert main([*words, "--out", str(file)]) == 0
    asked = [json.loads(line) for line in file.read_text().splitlines()]
    assert len({row["id"] for row in asked}) == len(asked) == 2 * 14 * 4  # two models, a claim for each frame
    assert not any("mirror" in json.dumps(row) for row in asked)  # who labels does not know whom
    told = {(row["episode"], s) for row in rows for s in read_steps(row["text"]).steps}
    filled = [
        row | {"label": "supported" if (row["episode"], row["sentence"]) in told else "unsupported"}
        for row in asked
    ]
    person = tmp_path / "anna.jsonl"
    person.write_text("\n".join(map(json.dumps, filled)))
    found = run_json(capsys, "trace", "annotate", "score", person, "--data", data, "--traces", both)
    assert found["people"][0]["n_labels"] == len(asked)
    assert found["people"][0]["agreement"]["value"] == 1.0
    assert found["people"][0]["sgr"]["value"] == pytest.approx(0.5)
    assert found["people"][0]["hr"]["value"] == pytest.approx(0.5)
    assert main([*words, "--out", str(person)]) == 2  # it would be written over
    assert "exists already" in capsys.readouterr().err
    assert json.loads(person.read_text().splitlines()[0])["label"]
    old = [row | {"id": f"{row['episode']}/{row['step']}/1"} for row in filled]  # as ids were before
    person.write_text("\n".join(map(json.dumps, [*old, filled[0] | {"id": "alone/1/1"}])))
    scored = score_labels([person])
    assert scored.people[0].n_labels == 1
    assert "stands 2 times" in scored.problems[0].reason


def swapped(text):
    return text.replace(" left ", " LEFT ").replace(" right ", " left ").replace(" LEFT ", " right ")


def test_scoring_labels_against_a_verifier_needs_both_and_tells_problems(data, traces, tmp_path, capsys):
    file, broken = tmp_path / "labels.jsonl", tmp_path / "broken.jsonl"
    words = ["trace", "annotate", "export", "--data", str(data), "--traces", str(traces), "--n", "4"]
    assert main([*words, "--out", str(file)]) == 0
    rows = [json.loads(line) | {"label": "supported"} for line in file.read_text().splitlines()]
    file.write_text("\n".join(map(json.dumps, [*rows, rows[0] | {"id": "gone/1/1"}])))
    for half in (["--data", str(data)], ["--traces", str(traces)]):
        assert main(["trace", "annotate", "score", str(file), *half]) == 2
        assert "go together" in capsys.readouterr().err
    broken.write_text(traces.read_text() + "\n{broken")
    found = run_json(capsys, "trace", "annotate", "score", file, "--data", data, "--traces", broken)
    reasons = " ".join(f"{p['where']}: {p['reason']}" for p in found["problems"])
    assert "broken.jsonl, line 15" in reasons
    assert "1 of 5 labels are of claims that are not among these traces" in reasons


def test_audit_and_perturb_tell_what_was_wrong_with_the_data(tmp_path, capsys):
    assert main(["trace", "make", "--n", "2", "--out", str(tmp_path / "w")]) == 0
    assert "too few episodes to say that one must look" in " ".join(capsys.readouterr().out.split())
    file = tmp_path / "w" / "episodes.jsonl"
    file.write_text(file.read_text() + "{broken\n")
    found = run_json(capsys, "trace", "audit", "--data", tmp_path / "w")
    assert [p["where"] for p in found["problems"]] == ["episodes.jsonl, line 5"]
    words = ("--families", "irrelevant", "--magnitudes", "0.5,0.5", "--limit", "1")
    found = run_json(capsys, "trace", "perturb", "--data", tmp_path / "w", "--out", tmp_path / "e", *words)
    assert "episodes.jsonl, line 5" in [p["where"] for p in found["problems"]]
    assert found["edits"]["irrelevant"]["made"] == 1
    assert read_episodes(tmp_path / "e").problems == ()


def test_tau_noise_and_agreement_are_commands(data, traces, tmp_path, capsys):
    pairs = tmp_path / "pairs.jsonl"
    rows = [("A red cup.", "There is a red cup.", True), ("A red cup.", "A dog runs.", False)] * 3
    pairs.write_text("\n".join(json.dumps({"first": a, "second": b, "same": s}) for a, b, s in rows))
    assert run_json(capsys, "trace", "calibrate", pairs)["n_same"] == 3
    rates = run_json(capsys, "trace", "noise", "--data", data, "--traces", traces, "--rates", "0,0.4")
    assert rates["rates"][0]["sgr"]["value"] > rates["rates"][1]["sgr"]["value"]
    assert rates["problems"] == []
    for names in ("annotation", "annotation,annotation"):
        words = ["trace", "agree", "--data", data, "--traces", traces, "--verifiers", names]
        assert main([*map(str, words)]) == 2
        assert "verifiers" in capsys.readouterr().err
    agreed = run_json(
        capsys,
        "trace",
        "agree",
        "--data",
        data,
        "--traces",
        traces,
        "--verifiers",
        "annotation,ego-motion",
    )
    assert (agreed["agreements"][0]["first"], agreed["agreements"][0]["second"]) == (
        "annotation",
        "ego-motion",
    )
    assert run_json(capsys, "trace", "claims", "--traces", traces)["claims"] > 50


def test_what_was_wrong_is_in_the_json_of_every_command(data, traces, tmp_path, capsys):
    file = tmp_path / "bad.jsonl"
    odd = {"episode": "e0", "steps": [{"text": "A ball.", "frames": [77]}]}
    file.write_text("\n".join([json.dumps(odd), "{", traces.read_text().splitlines()[1]]))
    where = ("--data", data, "--traces", file)
    for words in (
        ("verify", *where),
        ("noise", *where, "--rates", "0.1"),
        ("agree", *where, "--verifiers", "annotation,ego-motion"),
        ("annotate", "export", *where, "--out", tmp_path / "labels.jsonl"),
    ):
        found = run_json(capsys, "trace", *words)
        reasons = [problem["reason"] for problem in found["problems"]]
        assert len(reasons) == 2, words
        assert any("frame 77" in reason for reason in reasons), words


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "cannot read"),
        ("[1]", "line 1"),
        ('{"first": "a", "second": "b", "same": "no"}', "true or false"),
    ],
)
def test_bad_pairs_for_tau_are_refused(text, told, tmp_path, capsys):
    file = tmp_path / "pairs.jsonl"
    if text is not None:
        file.write_text(text)
    assert main(["trace", "calibrate", str(file)]) == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_the_two_way_control_and_the_sweep_are_shown(data, tmp_path, capsys):
    words = ["trace", "run", "--model", "scripted:oracle", "--data", data, "--out", tmp_path / "o"]
    assert main([*map(str, words), "--paraphrase"]) == 0
    shown = capsys.readouterr()
    assert "pictures, words kept" in shown.out
    assert "words, pictures kept" in shown.out
    assert "over 9 choices" in " ".join(shown.err.split())


def test_only_the_very_request_answers_for_an_edited_episode():
    """Edited pictures are asked about in the same words: a replay must not answer for them."""
    base = make_episode(0)
    recalls = {item.name: item.request.recall for item in plan_traces([base, edited(base, "position")])}
    assert recalls == {f"{base.id}/structured": "id", f"{base.id}-position/structured": "content"}
    assert next(iter(plan_traces([base]))).request.recall == "words"
    assert next(iter(plan_traces([base], max_frames=2))).request.recall == "content"


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--model", "scripted:oracle", "--data", "DATA", "--out", "OUT", "--styles", "poetic"),
        ("run", "--model", "scripted:oracle", "--data", "DATA", "--out", "OUT", "--verifier", "nobody"),
        ("verify", "--data", "DATA", "--traces", "DATA/gone.jsonl"),
        ("verify", "--data", "DATA", "--traces", "TRACES", "--unverifiable", "ignore"),
        ("predict",),
        ("predict", "--paper", "--table", "x.csv"),
    ],
)
def test_wrong_words_are_refused_in_a_sentence(words, data, traces, tmp_path, capsys):
    table = {"DATA": str(data), "OUT": str(tmp_path / "o"), "TRACES": str(traces)}
    assert main(["trace", *(table.get(w, w.replace("DATA", str(data))) for w in words)]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_episodes_without_pictures_cannot_be_asked_about():
    bare = Episode("e", "?", (Frame(0.0),))
    with pytest.raises(UsageError, match="trace verify"):
        list(plan_traces([bare]))


def test_frames_that_are_left_out_keep_their_numbers():
    episode = make_episode(1, n_frames=9)
    items = list(plan_traces([episode], max_frames=3))
    labels = [
        part
        for part in items[0].request.messages[0].content
        if isinstance(part, str) and part.startswith("Frame")
    ]
    assert labels == ["Frame 1 (0 s):", "Frame 5 (4 s):", "Frame 9 (8 s):"]


def test_the_two_way_control_keeps_to_one_style(data, tmp_path, capsys):
    words = ("trace", "run", "--model", "scripted:oracle", "--data", data, "--paraphrase", "--styles")
    one = run_json(capsys, *words, "structured", "--out", tmp_path / "one")
    two = run_json(capsys, *words, "structured,lite", "--out", tmp_path / "two")
    assert one["counter_causal"]["n_language"] == two["counter_causal"]["n_language"] == 14


def test_edits_without_their_original_are_counted(data, tmp_path, capsys):
    """One base episode is in the data, but was not answered; its edits have nothing to stand beside."""
    run_json(capsys, "trace", "run", "--model", "scripted:oracle", "--data", data, "--out", tmp_path / "r")
    episodes = read_episodes(data).episodes
    fewer = write_episodes([e for e in episodes if e.id != "e0"], tmp_path / "fewer")
    found = run_json(capsys, "trace", "score", tmp_path / "r", "--data", fewer)
    assert (found["reliance"]["n_pairs"], found["reliance"]["n_without_base"]) == (14, 2)
    told = {
        p["where"] for p in found["problems"] if "an edit of e0, of which there is no answer" in p["reason"]
    }
    assert told == {"e0-position", "e0-irrelevant"}
    assert main(["trace", "score", str(tmp_path / "r"), "--data", str(fewer)]) == 0
    assert "2 without original" in " ".join(capsys.readouterr().out.split())


def test_episodes_without_pictures_are_told(tmp_path, capsys):
    whole = make_episode(0)
    bare = replace(whole, id="bare", frames=tuple(replace(f, picture=None) for f in whole.frames))
    folder = write_episodes([whole, bare], tmp_path / "data")
    words = [
        "trace",
        "run",
        "--model",
        "scripted:oracle",
        "--data",
        str(folder),
        "--out",
        str(tmp_path / "r"),
    ]
    assert main([*words, "--json"]) == 0
    shown = capsys.readouterr()
    assert "1 of 2 episodes have no picture and are not asked about: bare" in shown.err
    assert [p["where"] for p in json.loads(shown.out)["problems"] if "no picture" in p["reason"]] == ["bare"]


def test_tau_can_be_given(data, traces, tmp_path, capsys):
    run_json(capsys, "trace", "run", "--model", "scripted:oracle", "--data", data, "--out", tmp_path / "r")
    words = (("score", tmp_path / "r"), ("verify", "--data", data, "--traces", traces))
    for word in words:
        low, high = (run_json(capsys, "trace", *word, "--tau", tau) for tau in ("0.1", "1"))
        beliefs = [(f.get("groups") or [f])[0]["consistency"] for f in (low, high)]
        assert [b["tau"] for b in beliefs] == [0.1, 1.0]
        assert beliefs[0]["tcs"]["value"] != beliefs[1]["tcs"]["value"]

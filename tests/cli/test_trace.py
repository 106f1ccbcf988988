"""The commands of trace: runs, existing traces, people's labels; and bad input of every kind."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from trace_world import drawn, make_episode

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.core.options import declared
from theodolite.instruments.trace import instrument
from theodolite.instruments.trace.claims.steps import read_steps
from theodolite.instruments.trace.data.dataset import read_episodes, write_episodes
from theodolite.instruments.trace.experiments.agreement import score_labels
from theodolite.instruments.trace.experiments.grounding import EXTRA_TABLES
from theodolite.instruments.trace.experiments.verify import VERIFY_TABLES
from theodolite.instruments.trace.questions import plan_traces
from theodolite.instruments.trace.verifiers.judging import open_verifier
from theodolite.runs import Run
from theodolite.runs.run import sealed
from theodolite.worlds.episodes import Episode, EpisodeEdit, Frame
from theodolite.worlds.stories import EXTRA_WORLD, WORLDS


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
        edit=EpisodeEdit(base.id, family, 0.5, ("a",)),
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


def tables_of(found):
    """The rows of every table by name."""
    return {table["name"]: table["rows"] for table in found["tables"]}


def notes_of(found, name):
    return " ".join(note for table in found["tables"] if table["name"] == name for note in table["notes"])


def problems_of(found):
    return [(row["where"], row["reason"]) for row in tables_of(found).get("trace.problems", [])]


def groups_of(found):
    return {(row["style"], row["split"]): row for row in tables_of(found)["trace.grounding"]}


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
    groups = groups_of(found)
    assert set(groups) == {(s, d) for s in ("structured", "lite") for d in ("in-distribution", "ood")}
    first = groups["structured", "in-distribution"]
    assert first["sgr"]["value"] >= 0.98
    assert first["hr"]["value"] <= 0.02
    assert first["right"]["value"] == 1.0
    assert found["tally"]["answered"] == found["tally"]["planned"] == 120
    tables = tables_of(found)
    assert tables["trace.consistency"][0]["tcs_aware"]["value"] == 1.0
    assert tables["trace.reliance"][0]["vrs_sound"]["value"] > 3
    assert tables["trace.reliance"][0]["edits"] == 16
    pictures, words = tables["trace.wording"]
    assert words["delta_sgr"]["value"] == 0.0
    assert pictures["delta_sgr"]["value"] < -0.5
    again = run_json(capsys, "trace", "score", out, "--tables", "all", "--also-by", "annotation")
    assert tables_of(again)["trace.grounding"] == tables["trace.grounding"]
    controls = {row["control"]: row for row in tables_of(again)["trace.controls"]}
    assert min(controls[name]["fall"]["value"] for name in ("spatial", "entity", "temporal")) > 0.26
    assert controls["random"]["sgr"]["value"] < 0.25
    ways = {row["condition"]: row["sgr"]["value"] for row in tables_of(again)["trace.conditions"]}
    assert ways["unverifiable neutral"] == ways["at most 2 steps"] == ways["judged by annotation"] == 1.0
    assert ways["judged by annotation with 10% errors"] < 1.0
    with Run.open(out) as run:
        assert [table.as_json() for table in run.tables()] == again["tables"]
        results = list(run.results())
    assert {result.item.meta["wording"] for result in results} == {"original", "paraphrased"}
    assert {parsed.status for result in results for parsed in result.parsed} == {"value"}


def test_a_guesser_and_a_model_without_steps(data, tmp_path, capsys):
    found = run_json(
        capsys, "trace", "run", "--model", "scripted:guesser", "--data", data, "--out", tmp_path / "g"
    )
    assert notes_of(found, "trace.grounding").count("SGR is a lower bound") == 2
    reliance = tables_of(found)["trace.reliance"][0]
    assert reliance["vrs_sound"] is None or reliance["vrs_sound"]["value"] == 0.0
    refused = run_json(
        capsys, "trace", "run", "--model", "scripted:refuser", "--data", data, "--out", tmp_path / "r"
    )
    assert refused["tally"]["refused"] == 30
    assert "8 without a trace: refused" in notes_of(refused, "trace.grounding")
    assert {row["sgr"] for row in tables_of(refused)["trace.grounding"]} == {None}
    assert {row["right"]["value"] for row in tables_of(refused)["trace.grounding"]} == {0.0}


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
    assert found["tally"]["planned"] - found["tally"]["answered"] == 28
    assert found["tally"]["failed"] == 0


def test_predicting_from_runs(data, tmp_path, capsys):
    """Four runs that differ in their scores alone: grounding and retention rise together."""
    first = tmp_path / "first"
    run_json(capsys, "trace", "run", "--model", "scripted:oracle", "--data", data, "--out", first)
    run_json(capsys, "trace", "score", first, "--tables", "conditions")
    runs = []
    for i in range(4):
        folder = shutil.copytree(first, tmp_path / f"run{i}")
        info = json.loads((folder / "run.json").read_text())
        (folder / "run.json").write_text(sealed(info | {"model": f"model-{i}"}))
        score = json.loads((folder / "scores.json").read_text())
        table = next(t for t in score["tables"] if t["name"] == "trace.grounding")
        for group in table["rows"]:
            value = 0.5 + 0.1 * i
            group["sgr"]["value"] = value
            group["right"]["value"] = 0.8 if group["split"] == "in-distribution" else 0.8 * value
        (folder / "scores.json").write_text(sealed(score))
        runs.append(folder)
    found = run_json(capsys, "trace", "predict", *runs)
    law = [
        row
        for row in tables_of(found)["trace.prediction"]
        if (row["predictor"], row["retention"]) == ("sgr", "ratio")
    ]
    assert law[0]["r"]["value"] == pytest.approx(1.0)
    assert (law[0]["scope"], law[0]["models"]) == ("toy", 4)
    rows = {row["condition"]: row for row in tables_of(found)["trace.robustness"]}
    assert next(iter(rows)) == "structured"
    assert {"unverifiable penalised", "every claim counted", "guesses as stated", "at most 2 steps"} <= set(
        rows
    )
    assert sum("errors" in name for name in rows) == 4
    assert rows["structured"]["r"]["value"] == pytest.approx(1.0)
    assert rows["at most 2 steps"]["models"] == 4
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
    assert len(tables_of(law)["trace.model_rows"]) == 24
    assert {path.name for path in drawn.iterdir()} - names == {"sgr_retention.png", "sgr_ood_accuracy.png"}


def test_verify_needs_no_model(data, traces, capsys):
    where = ("trace", "verify", traces, "--data", data)
    found = tables_of(run_json(capsys, *where, "--flip", 0.3))
    assert found["trace.grounding"][0]["sgr"]["value"] >= 0.98
    assert found["trace.grounding"][0]["traces"] == 14
    assert found["trace.noise"][0]["sgr"]["value"] < 0.9
    steps = tables_of(run_json(capsys, *where, "--tables", "steps", "--limit", 1))["trace.steps"]
    assert (steps[0]["verdict"], steps[0]["episode"]) == ("supported", "e0")
    assert len({row["episode"] for row in steps} - {""}) == 1
    assert main([*map(str, where), "--tables", "steps", "--limit", "1"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "spatial:" in shown
    assert "TCS, contradiction-aware" in shown


def test_verify_annotate_and_ablate_take_a_run(data, traces, tmp_path, capsys):
    """A run in the place of a file of traces, and of its episodes."""
    run = tmp_path / "run"
    run_json(capsys, "trace", "run", "--model", "scripted:oracle", "--data", data, "--out", run)
    judged = tables_of(run_json(capsys, "trace", "verify", run))
    file = tables_of(run_json(capsys, "trace", "verify", traces, "--data", data))
    assert judged["trace.grounding"] == file["trace.grounding"]
    labels = tmp_path / "labels.jsonl"
    told = run_json(capsys, "trace", "annotate", "--traces", run, "--out", labels, "--size", 4)
    assert told["claims"] == len(labels.read_text().splitlines()) == 4
    rows = tables_of(run_json(capsys, "trace", "verify", "--ablate", run, "--no-pairs"))["trace.ablation"]
    assert rows[0]["sgr"] == judged["trace.grounding"][0]["sgr"]
    assert main(["trace", "verify", str(traces)]) == 2
    assert "--data" in capsys.readouterr().err


def test_bad_traces_are_told_one_by_one(data, traces, tmp_path, capsys):
    file = tmp_path / "bad.jsonl"
    rows = [
        {"episode": "e0", "text": "Step 1 (frame 77): A ball.\nStep 2: A cube."},
        {"episode": "e1", "text": "\n".join(f"Step {i}: A ball." for i in range(3_000))},
        {"episode": "e2", "text": "   "},
        {"episode": "gone", "text": "A ball."},
        {"episode": "e2", "text": ""},
        {"episode": "e2"},
    ]
    file.write_text("\n".join([*map(json.dumps, rows), "{", traces.read_text().splitlines()[0]]))
    found = run_json(capsys, "trace", "verify", file, "--data", data)
    reasons = " | ".join(reason for _, reason in problems_of(found))
    for told in (
        "frame 77",
        "3000 steps",
        "no episode 'gone'",
        "no trace: empty",
        "the trace of 'e2' has neither 'text' nor 'steps'",
    ):
        assert told in reasons
    assert sum(row["traces"] for row in tables_of(found)["trace.grounding"]) == 5


NO_TRACES = {
    "": "empty",
    " \n": "empty",
    '```json\n{"answer": "left"}\n```': "JSON without steps",
    "As an AI language model, I cannot see images.": "refused",
    "Der rote Ball liegt links neben dem Würfel und bewegt sich nicht.": "not English",
    "红色的球在蓝色立方体的左边。": "not English",
    "ball " * 400: "repeats itself",
}


def test_no_text_ends_verify_and_what_is_no_trace_is_counted(data, tmp_path, capsys):
    """One by one, since a single one may be all that a file holds."""
    for number, (text, reason) in enumerate(NO_TRACES.items()):
        file = tmp_path / f"{number}.jsonl"
        file.write_text(json.dumps({"episode": "e0", "text": text}))
        found = run_json(capsys, "trace", "verify", file, "--data", data)
        row = tables_of(found)["trace.grounding"][0]
        assert (row["traces"], row["claims"], row["sgr"]) == (1, 0, None)
        assert f"1 of 1 texts are no trace (1 {reason})" in notes_of(found, "trace.grounding")
        assert [why for _, why in problems_of(found)] == [f"no trace: {reason}"]
    odd = [
        "① dogs",
        "There is a \ud800 ball.",
        "²³ balls are ½ red ٣ cubes",
        "\x00\x1b[31m ball",
        "There is a ball.",
    ]
    file = tmp_path / "odd.jsonl"
    file.write_text("\n".join(json.dumps({"episode": "e0", "text": text}) for text in odd))
    found = run_json(capsys, "trace", "verify", file, "--data", data)
    assert tables_of(found)["trace.grounding"][0]["traces"] == len(odd)
    assert main(["trace", "verify", str(file), "--data", str(data), "--tables", "steps"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_traces_of_several_styles_are_told_apart(data, tmp_path, capsys):
    """In a run, and in the file that is written from it: no episode is listed several times under one label."""
    run, file, styles = tmp_path / "run", tmp_path / "traces.jsonl", ["structured", "natural", "lite"]
    line = ["trace", "run", "--model", "scripted:oracle", "--data", data, "--out", run]
    run_json(capsys, *line, "--styles", ",".join(styles))
    assert main(["trace", "verify", str(run)]) == 0
    assert "only the first prompt style" in capsys.readouterr().err
    first = tables_of(run_json(capsys, "trace", "verify", run))["trace.grounding"]
    assert main(["trace", "export", str(run), "--out", str(file)]) == 0
    capsys.readouterr()
    found = tables_of(run_json(capsys, "trace", "verify", file, "--data", data, "--tables", "steps"))
    for name in ("trace.grounding", "trace.bounds", "trace.progress", "trace.consistency"):
        assert [row["style"] for row in found[name]] == styles
    assert {row["traces"] for row in found["trace.grounding"]} == {first[0]["traces"]}
    heads = [(row["episode"], row["style"], row["step"]) for row in found["trace.steps"] if row["episode"]]
    assert len(heads) == len(set(heads))


def test_the_page_for_labelling_holds_the_claims_and_their_pictures(data, traces, tmp_path, capsys):
    file, page = tmp_path / "labels.jsonl", tmp_path / "labels.html"
    line = ["trace", "annotate", "--traces", traces, "--data", data, "--size", 4, "--out"]
    told = run_json(capsys, *line, file)
    assert run_json(capsys, *line, page)["claims"] == told["claims"]
    block = re.search(
        r'<script type="application/json" id="labels">(.*?)</script>', page.read_text(), re.DOTALL
    )
    task = json.loads(block[1])
    assert task["rows"] == [json.loads(each) for each in file.read_text().splitlines()]
    assert [step["last"] for step in task["steps"]][-1] == len(task["rows"])
    assert {name for step in task["steps"] for name in step["pictures"]} == set(task["inside"]) != set()
    assert "supported" not in block[1]  # no verdict
    assert main([*map(str, line), str(page)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_answers_that_cannot_be_read_are_counted(data, traces, tmp_path, capsys):
    rows = [json.loads(line) for line in traces.read_text().splitlines()][:4]
    rows[0]["text"] = rows[0]["text"].rpartition("\n")[0]  # no answer
    other = {"left": "right", "right": "left"}
    said, _, answer = rows[1]["text"].rpartition(" ")
    rows[1]["text"] = f"{said} {other[answer]}"
    file = tmp_path / "traces.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    found = run_json(capsys, "trace", "verify", file, "--data", data)
    row = tables_of(found)["trace.grounding"][0]
    assert (row["right"]["value"], row["traces"]) == (0.5, 4)
    assert "1 of 4 traces have no answer that could be read (1 unreadable)" in notes_of(
        found, "trace.grounding"
    )


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
    assert tables_of(found)["trace.grounding"][0]["traces"] == 2
    broken = [problem for problem in problems_of(found) if "it is not a picture" in problem[1]]
    assert [where for where, _ in broken] == ["episodes.jsonl, line 2"]
    assert name in broken[0][1]


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
    monkeypatch.setattr(
        "theodolite.instruments.trace.experiments.grounding.open_verifier", lambda _: Fragile()
    )
    found = run_json(capsys, "trace", "score", run)
    assert groups_of(found)["structured", "in-distribution"]["traces"] == 8
    assert "in-distribution: the verifier failed on 1 of 8 traces" in notes_of(found, "trace.grounding")
    reliance = tables_of(found)["trace.reliance"][0]
    assert (reliance["edits"], reliance["failed"]) == (14, 2)
    assert problems_of(found) == [
        (where, "the picture is broken") for where in ("e1", "e1-position", "e1-irrelevant")
    ]


def test_traces_that_a_verifier_cannot_judge_are_reported(data, traces, capsys, monkeypatch):
    opened = {"annotation": open_verifier("annotation"), "fragile": Fragile()}
    monkeypatch.setattr("theodolite.instruments.trace.verifiers.judging.open_verifier", opened.get)
    where = ("trace", "verify", traces, "--data", data)
    both = ("--verifier", "annotation", "--verifier", "fragile")
    found = run_json(capsys, *where, *both)
    assert problems_of(found) == [("e1", "fragile: the picture is broken")]
    row = tables_of(found)["trace.agreement"][0]
    assert row["same"]["value"] == 1.0  # and κ is undefined, since all is true
    assert row["kappa"] is None
    assert row["same"]["low"] < 1
    swept = run_json(capsys, *where, "--verifier", "fragile", "--flip", "0,0.1")
    assert problems_of(swept) == [("e1", "fragile: the picture is broken")]
    assert {row["failed"] for row in tables_of(swept)["trace.noise"]} == {1}
    assert main([*map(str, (*where, *both))]) == 0
    shown = capsys.readouterr()
    assert "same label" in shown.out
    assert "the picture is broken" in shown.out


def test_labels_by_two_people(data, traces, tmp_path, capsys):
    file = tmp_path / "labels.jsonl"
    where = ("--data", data, "--traces", traces)
    run_json(capsys, "trace", "annotate", *where, "--out", file, "--size", 30)
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
    found = tables_of(run_json(capsys, "trace", "annotate", *(p for p, _ in people), *where))
    share = people[1][1].count("supported") / 30
    first, second = found["trace.labels"]
    assert first["sgr"]["value"] == 1.0
    assert second["sgr"]["value"] == pytest.approx(share)
    assert second["hr"]["value"] == pytest.approx(1 - share)
    between = found["trace.people"][0]
    assert between["agreement"]["value"] == pytest.approx(share)
    assert between["kappa"]["value"] == pytest.approx(0.0)
    assert first["agreement"]["value"] == 1.0
    people[0][0].write_text(json.dumps(rows[0] | {"label": "perhaps"}))
    with pytest.raises(UsageError, match="no label"):
        score_labels([people[0][0]])


def test_labels_of_two_models_on_one_episode_stay_apart(data, traces, tmp_path, capsys):
    rows = [json.loads(line) for line in traces.read_text().splitlines()]
    wrong = [row | {"model": "mirror", "text": swapped(row["text"])} for row in rows]
    both = tmp_path / "both.jsonl"
    both.write_text("\n".join(map(json.dumps, [*rows, *wrong])))
    words = ["trace", "annotate", "--data", str(data), "--traces", str(both), "--size", "500"]
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
    found = run_json(capsys, "trace", "annotate", person, "--data", data, "--traces", both)
    row = tables_of(found)["trace.labels"][0]
    assert row["labels"] == len(asked)
    assert row["agreement"]["value"] == 1.0
    assert row["sgr"]["value"] == pytest.approx(0.5)
    assert row["hr"]["value"] == pytest.approx(0.5)
    assert main([*words, "--out", str(person)]) == 2  # it would be written over
    assert "exists already" in capsys.readouterr().err
    assert json.loads(person.read_text().splitlines()[0])["label"]
    old = [row | {"id": f"{row['episode']}/{row['step']}/1"} for row in filled]  # as ids were before
    person.write_text("\n".join(map(json.dumps, [*old, filled[0] | {"id": "alone/1/1"}])))
    scored = score_labels([person])
    assert scored.people[0].n_labels == 1
    assert "occurs 2 times" in scored.problems[0].reason


def swapped(text):
    return text.replace(" left ", " LEFT ").replace(" right ", " left ").replace(" LEFT ", " right ")


def test_scoring_labels_against_a_verifier_reports_problems(data, traces, tmp_path, capsys):
    file, broken = tmp_path / "labels.jsonl", tmp_path / "broken.jsonl"
    words = ["trace", "annotate", "--data", str(data), "--traces", str(traces), "--size", "4"]
    assert main([*words, "--out", str(file)]) == 0
    rows = [json.loads(line) | {"label": "supported"} for line in file.read_text().splitlines()]
    file.write_text("\n".join(map(json.dumps, [*rows, rows[0] | {"id": "gone/1/1"}])))
    for half, told in ((["--data", str(data)], "--traces"), (["--traces", str(traces)], "--data")):
        assert main(["trace", "annotate", str(file), *half]) == 2
        assert told in capsys.readouterr().err
    assert main(["trace", "annotate"]) == 2
    assert "--out" in capsys.readouterr().err
    broken.write_text(traces.read_text() + "\n{broken")
    found = run_json(capsys, "trace", "annotate", file, "--data", data, "--traces", broken)
    reasons = " ".join(f"{where}: {reason}" for where, reason in problems_of(found))
    assert "broken.jsonl, line 15" in reasons
    assert "1 of 5 labels are of claims that are not among these traces" in reasons


def test_audit_and_perturb_tell_what_was_wrong_with_the_data(tmp_path, capsys):
    assert main(["trace", "make", "--size", "2", "--out", str(tmp_path / "w")]) == 0
    assert "too few episodes to show that always the same option" in " ".join(capsys.readouterr().out.split())
    file = tmp_path / "w" / "episodes.jsonl"
    file.write_text(file.read_text() + "{broken\n")
    found = run_json(capsys, "trace", "audit", tmp_path / "w")
    assert [where for where, _ in problems_of(found)] == ["episodes.jsonl, line 5"]
    words = ("--families", "irrelevant", "--magnitudes", "0.5,0.5", "--limit", "1")
    found = run_json(capsys, "trace", "make", "--of", tmp_path / "w", "--out", tmp_path / "e", *words)
    assert "episodes.jsonl, line 5" in [where for where, _ in problems_of(found)]
    assert tables_of(found)["trace.made_edits"] == [{"family": "irrelevant", "made": 1, "impossible": 0}]
    assert read_episodes(tmp_path / "e").problems == ()


def test_tau_agreement_and_claims_by_command(data, traces, tmp_path, capsys):
    pairs = tmp_path / "pairs.jsonl"
    rows = [("A red cup.", "There is a red cup.", True), ("A red cup.", "A dog runs.", False)] * 3
    pairs.write_text("\n".join(json.dumps({"first": a, "second": b, "same": s}) for a, b, s in rows))
    assert tables_of(run_json(capsys, "trace", "calibrate", pairs))["trace.tau"][0]["same"] == 3
    where = ("trace", "verify", traces, "--data", data)
    twice = ("--verifier", "annotation", "--verifier", "annotation")
    assert main([*map(str, (*where, *twice))]) == 2
    assert "different verifiers" in capsys.readouterr().err
    agreed = tables_of(run_json(capsys, *where, "--verifier", "annotation", "--verifier", "ego-motion"))
    row = agreed["trace.agreement"][0]
    assert (row["first"], row["second"]) == ("annotation", "ego-motion")
    assert [row["verifier"] for row in agreed["trace.grounding"]] == ["annotation", "ego-motion"]
    found = tables_of(run_json(capsys, "trace", "verify", traces, "--claims", "--tables", "steps"))
    assert found["trace.claim_counts"][0]["claims"] == len(found["trace.claim_list"]) > 50
    assert main(["trace", "calibrate"]) == 2
    assert "--data" in capsys.readouterr().err


def test_problems_are_in_the_json_of_every_command(data, traces, tmp_path, capsys):
    file = tmp_path / "bad.jsonl"
    odd = {"episode": "e0", "steps": [{"text": "A ball.", "frames": [77]}]}
    file.write_text("\n".join([json.dumps(odd), "{", traces.read_text().splitlines()[1]]))
    where = ("--data", data, "--traces", file)
    for words in (
        ("verify", *where),
        ("verify", *where, "--flip", "0.1"),
        ("verify", *where, "--verifier", "annotation", "--verifier", "ego-motion"),
        ("annotate", *where, "--out", tmp_path / "labels.jsonl"),
        ("verify", "--ablate", file, "--data", data, "--no-pairs"),
    ):
        reasons = [reason for _, reason in problems_of(run_json(capsys, "trace", *words))]
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
    assert "ε=0.001, clip=5:" in " ".join(shown.out.split())


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
        ("verify", "DATA/gone.jsonl", "--data", "DATA"),
        ("verify", "TRACES", "--data", "DATA", "--unverifiable", "ignore"),
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
    assert [tables_of(found)["trace.wording"][1]["traces"] for found in (one, two)] == [14, 14]


def test_edits_without_their_original_are_counted(data, tmp_path, capsys):
    """One base episode is in the data, but was not answered; its edits have nothing to stand beside."""
    run_json(capsys, "trace", "run", "--model", "scripted:oracle", "--data", data, "--out", tmp_path / "r")
    episodes = read_episodes(data).episodes
    fewer = write_episodes([e for e in episodes if e.id != "e0"], tmp_path / "fewer")
    found = run_json(capsys, "trace", "score", tmp_path / "r", "--data", fewer)
    reliance = tables_of(found)["trace.reliance"][0]
    assert (reliance["edits"], reliance["without_original"]) == (14, 2)
    told = {where for where, reason in problems_of(found) if "an edit of e0, which has no answer" in reason}
    assert told == {"e0-position", "e0-irrelevant"}


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
    told = problems_of(json.loads(shown.out))
    assert [where for where, reason in told if "no picture" in reason] == ["bare"]


def test_a_plan_asks_nothing(data, tmp_path, capsys):
    words = ("trace", "run", "--model", "scripted:oracle", "--data", data, "--out", tmp_path / "r")
    found = run_json(capsys, *words, "--limit", 3, "--plan")
    assert (found["plan"]["requests"], found["plan"]["pictures"]) == (3, 12)
    assert not (tmp_path / "r").exists()


def test_help_lists_the_tables_that_there_are():
    assert instrument.RUN_TABLES == EXTRA_TABLES
    assert instrument.VERIFY_TABLES == VERIFY_TABLES
    (worlds,) = (each.known for each in declared(instrument.MakeEpisodes) if each.field == "world")
    assert (*WORLDS, EXTRA_WORLD, "stories") == worlds


def test_tau_can_be_given(data, traces, tmp_path, capsys):
    run_json(capsys, "trace", "run", "--model", "scripted:oracle", "--data", data, "--out", tmp_path / "r")
    words = (("score", tmp_path / "r"), ("verify", traces, "--data", data))
    for word in words:
        low, high = (run_json(capsys, "trace", *word, "--tau", tau) for tau in ("0.1", "1"))
        beliefs = [tables_of(f)["trace.consistency"][0]["tcs"]["value"] for f in (low, high)]
        assert beliefs[0] != beliefs[1]

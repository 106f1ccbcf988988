"""Several models in one table, runs as files of traces, what the data can refute, and what the shipped twins know."""

import json
import shutil

import pytest
from trace_world import make_episode

from theodolite.cli.main import main
from theodolite.instruments.trace.data.dataset import read_episodes, write_episodes
from theodolite.instruments.trace.data.stories import is_story


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    own = [make_episode(seed) for seed in range(12)]
    return write_episodes(own, tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def runs(data, tmp_path_factory):
    """A run of the oracle, and one of a model that always says the same."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("oracle", "trace-fixed"):
        line = [
            "trace",
            "run",
            "--model",
            f"scripted:{name}",
            "--data",
            str(data),
            "--out",
            str(folder / name),
        ]
        assert main([*line, "--json"]) == 0
    return [folder / "oracle", folder / "trace-fixed"]


def found_by(capsys, *words):
    capsys.readouterr()
    assert main([*map(str, words), "--json"]) == 0
    return {table["name"]: table["rows"] for table in json.loads(capsys.readouterr().out)["tables"]}


def _own(found):
    return found["trace.grounding"][0] | found["trace.bounds"][0]


def test_several_runs_are_one_table_with_paired_differences(runs, capsys):
    alone = [_own(found_by(capsys, "trace", "score", run)) for run in runs]
    found = found_by(capsys, "trace", "score", *runs)
    for row, own in zip(found["trace.models"], alone, strict=True):
        keys = ("sgr", "sgr_low", "sgr_high", "hr", "right", "refutable", "unverifiable", "not_understood")
        assert {key: row[key] for key in keys} == {key: own[key] for key in keys}
    (difference,) = found["trace.model_differences"]
    assert (difference["model"], difference["minus"]) == ("scripted:trace-fixed", "scripted:oracle")
    assert difference["n"] == 12
    expected = found["trace.models"][1]["right"]["value"] - found["trace.models"][0]["right"]["value"]
    assert difference["right"]["value"] == pytest.approx(expected)
    assert difference["right"]["low"] <= expected <= difference["right"]["high"]
    capsys.readouterr()
    assert main(["trace", "score", str(runs[0]), str(runs[0])]) == 2
    assert "given twice" in capsys.readouterr().err


def test_table_1_says_first_that_most_claims_cannot_be_judged(runs, capsys):
    capsys.readouterr()
    assert main(["trace", "score", *map(str, runs), "--verifier", "tracks:annotation"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Most claims cannot be judged")
    assert shown.index("Models (Table 1)") > 0
    assert "scripted:oracle, in-distribution: unverifiable because" in shown


def test_a_run_is_written_as_a_file_of_traces(runs, data, tmp_path, capsys):
    file = tmp_path / "traces.jsonl"
    line = ["trace", "export", str(runs[0]), "--out", str(file)]
    assert main(line) == 0
    assert f"theodolite trace verify {file} --data" in capsys.readouterr().err
    from_file = found_by(capsys, "trace", "verify", file, "--data", data)
    from_run = found_by(capsys, "trace", "verify", runs[0])
    assert from_file["trace.grounding"] == from_run["trace.grounding"]
    assert found_by(capsys, "trace", "verify", file, "--claims")["trace.claim_counts"][0]["claims"] > 10
    capsys.readouterr()
    assert main(line) == 2
    assert "exists already" in capsys.readouterr().err


def test_an_audit_of_one_split_tells_what_can_be_refuted(data, capsys):
    rows = found_by(capsys, "trace", "audit", data)["trace.calibration"]
    assert rows[-1]["kind"] == "any of these"
    assert rows[-1]["specificity"]["value"] > 0.9
    assert rows[-1]["judged_false"]["value"] > 0.9
    capsys.readouterr()
    assert main(["trace", "audit", str(data)]) == 0
    assert "one split" in capsys.readouterr().err


JUDGE = "judge:scripted:trace-judge"


def test_a_judge_is_planned_paid_once_and_kept_in_the_run(runs, tmp_path, capsys):
    run = tmp_path / "run"
    shutil.copytree(runs[0], run)
    score = ["trace", "score", run, "--verifier", JUDGE]
    capsys.readouterr()
    assert main([*map(str, score), "--plan", "--price", "1", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert plan["requests"] > 50
    assert not (run / "answers.sqlite").exists()
    assert main([*map(str, score), "--budget", "20"]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "asked 20 times" in told
    assert f"{plan['requests'] - 20} requests were not sent" in told
    found = found_by(capsys, *score)
    assert found["trace.grounding"][0]["unverifiable"]["value"] == 0
    assert found["trace.grounding"][0]["sgr_corrected"] is not None
    assert main(list(map(str, score))) == 0
    assert "were asked" not in capsys.readouterr().err  # all answers are in the run


def test_verifiers_are_tried_together_and_make_a_panel(data, tmp_path, capsys):
    panel = tmp_path / "panel.json"
    line = [
        "trace",
        "calibrate",
        "--data",
        data,
        "--verifier",
        "annotation",
        "--verifier",
        JUDGE,
        "--out",
        panel,
    ]
    rows = found_by(capsys, *line)["trace.calibration"]
    totals = {row["verifier"]: row for row in rows if row["kind"] == "any of these"}
    assert set(totals) == {"annotation", JUDGE}
    assert all(row["informedness"]["value"] > 0.9 for row in totals.values())
    rows = found_by(capsys, "trace", "audit", data, "--verifier", f"panel:{panel}")["trace.calibration"]
    assert rows[-1]["informedness"]["value"] > 0.9


def test_an_extractor_is_named_in_the_tables(runs, capsys):
    named = ["trace", "score", str(runs[0]), "--extractor", "model:scripted:trace-extractor"]
    capsys.readouterr()
    assert main(named) == 0
    assert "claims by model:scripted:trace-extractor" in " ".join(capsys.readouterr().out.split())
    assert main([*named[:3], "--extractor", "spacy:en_core_web_nowhere"]) == 2
    assert "no spaCy pipeline" in capsys.readouterr().err


def test_twins_say_what_they_never_learnt(data, tmp_path, capsys):
    line = ["trace", "run", "--model", "pocket:grounded", "--out", str(tmp_path / "run"), "--plan"]
    assert main([*line, "--data", str(data)]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "pocket:grounded never learnt 12 of these 12 episodes" in told
    assert "trace make --world stories" in told
    stories = tmp_path / "stories"
    assert main(["trace", "make", "--world", "stories", "--size", "1", "--out", str(stories)]) == 0
    capsys.readouterr()
    made = read_episodes(stories)
    assert not made.problems
    assert {e.world for e in made.episodes} == {"video", "navigation", "instruction"}
    assert all(map(is_story, made.episodes))
    assert main([*line, "--data", str(stories)]) == 0
    assert "never learnt" not in capsys.readouterr().err

"""Several models in one table, runs as files of traces, what the data can refute, and what the shipped twins know."""

import json

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
    rows = found_by(capsys, "trace", "audit", data)["trace.refutation"]
    assert rows[-1]["swap"] == "any of these"
    assert rows[-1]["refuted"]["value"] > 0.9
    capsys.readouterr()
    assert main(["trace", "audit", str(data)]) == 0
    assert "one split" in capsys.readouterr().err


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

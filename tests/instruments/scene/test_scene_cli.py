"""``scene make``, ``build``, ``ask`` and ``run``, as a user types them."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from theodolite.cli.main import main
from theodolite.core.errors import TheodoliteError, UsageError
from theodolite.instruments.scene.data.files import read_data
from theodolite.instruments.scene.questions import Settings
from theodolite.runs import Run


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "scenes"
    assert (
        main(["scene", "make", "--indoor", "2", "--outdoor", "1", "--seed", "3", "--out", str(folder)]) == 0
    )
    return folder


def said(capsys):
    return json.loads(capsys.readouterr().out)


def test_make_tells_what_it_made(tmp_path, capsys):
    words = ["scene", "make", "--indoor", "1", "--outdoor", "2", "--no-render", "--questions", "12", "--json"]
    assert main([*words, "--out", str(tmp_path / "a")]) == 0
    told = said(capsys)
    assert (told["n_scenes"], told["n_questions"]) == (3, 12)
    assert told["made"]["seed"] == 0
    assert not (tmp_path / "a" / "pictures").exists()
    assert main([*words, "--out", str(tmp_path / "a")]) == 2
    assert "new folder for the data set" in capsys.readouterr().err


def test_build_reads_a_source_by_name(shared_data, tmp_path, capsys):
    root = shared_data / "nuscenes_demo"
    words = ["scene", "build", "--root", str(root), "--no-balance", "--json"]
    assert main([*words, "--source", "camera-boxes", "--out", str(tmp_path / "a")]) == 0
    told = said(capsys)
    assert told["n_scenes"] == len(read_data(tmp_path / "a").scenes) >= 3
    assert main([*words, "--source", "camera-boxs", "--out", str(tmp_path / "b")]) == 2
    assert "did you mean" in capsys.readouterr().err
    assert main([*words, "--source", "kitti", "--out", str(tmp_path / "b")]) == 2
    assert "label_2" in capsys.readouterr().err


def test_ask_shows_questions_and_prompts(data_folder, capsys):
    assert main(["scene", "ask", str(data_folder), "--limit", "3"]) == 0
    shown = capsys.readouterr().out
    questions = read_data(data_folder).questions
    assert questions[0].id in shown
    assert questions[3].id not in shown
    assert (
        main(
            [
                "scene",
                "ask",
                str(data_folder),
                "--settings",
                "graphs,true-graph-alone",
                "--json",
                "--limit",
                "5",
            ]
        )
        == 0
    )
    items = said(capsys)["items"]
    assert len(items) == 5
    assert "3D scene graph in JSON" in items[0]["prompt"]
    assert items[1]["picture"] == "no picture"
    assert main(["scene", "ask", str(data_folder), "--scene", "nowhere"]) == 2
    assert "no scene 'nowhere'" in capsys.readouterr().err
    assert main(["scene", "ask", str(data_folder), "--mode", "thinking", "--budget", "77", "--prompts"]) == 0
    assert "77 tokens" in capsys.readouterr().out


def settings_of(folder):
    with Run.open(folder) as run:
        return Counter(
            (r.item.meta["task"], r.item.meta["setting"]) for r in run.results() if r.record is not None
        )


def test_run_asks_in_every_setting_and_goes_on_where_it_stopped(data_folder, tmp_path, capsys):
    words = ["scene", "run", "--data", str(data_folder), "--out", str(tmp_path / "run"), "--model"]
    assert main([*words, "scripted:oracle", "--json"]) == 0
    told = said(capsys)
    data = read_data(data_folder)
    n, scenes = len(data.questions), len(data.scenes)
    assert told["planned"] == told["answered"] == 5 * n + 2 * scenes
    counts = settings_of(tmp_path / "run")
    assert counts == {("graph", "base"): scenes, ("graph", "blind"): scenes} | {
        ("qa", setting): n
        for setting in ("base", "blind", "predicted graph", "true graph", "true graph alone")
    }
    assert main([*words, "scripted:oracle", "--json"]) == 0  # all done: nothing new
    assert said(capsys)["planned"] == told["planned"]
    assert main([*words, "scripted:guesser"]) == 2
    with Run.open(tmp_path / "run") as run:
        by_setting = {r.item.meta["setting"]: r.item for r in run.results() if r.item.meta["task"] == "qa"}
    own = by_setting["predicted graph"]
    assert (
        own.meta["graph"] == data.scenes[own.meta["scene"]].star().as_json()
    )  # the oracle's own graph is the true one
    assert len(own.request.pictures) == 1


def test_a_graph_that_was_not_given_is_never_replaced_by_a_base_question(data_folder, tmp_path, capsys):
    folder = tmp_path / "run"
    words = [
        "scene",
        "run",
        "--data",
        str(data_folder),
        "--out",
        str(folder),
        "--model",
        "scripted:constant?text=A",
    ]
    assert main([*words, "--settings", "base,predicted-graph,graphs", "--json"]) == 0
    counts = settings_of(folder)
    assert counts["qa", "base"] == len(read_data(data_folder).questions)
    assert ("qa", "predicted graph") not in counts
    with Run.open(folder) as run:
        assert run.info.settings["settings"] == ["base", "predicted graph"]


def test_killed_half_way_it_loses_nothing_and_asks_nothing_twice(data_folder, tmp_path):
    """Killed while it asks, then again while it asks about its own graphs; a third start finishes."""
    folder = tmp_path / "run"
    words = ["scene", "run", "--data", str(data_folder), "--out", str(folder), "--limit", "2"]
    command = [
        sys.executable,
        "-m",
        "theodolite",
        *words,
        "--model",
        "scripted:oracle?delay=0.05&batch_size=2",
        "--json",
    ]
    done = []
    for least in (10, 60):
        started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1200):
            time.sleep(0.1)
            if started.poll() is not None or finished(folder) >= least:
                break
        started.send_signal(signal.SIGKILL)
        started.wait()
        done.append(finished(folder))
    assert 0 < done[0] <= done[1]
    last = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(last.stdout)
    data = read_data(data_folder)
    scenes = list(data.scenes)[:2]
    n = sum(q.scene in scenes for q in data.questions)
    assert told["planned"] == told["answered"] == 5 * n + 4
    with Run.open(folder) as run:
        names = [result.item.name for result in run.results()]
    assert len(names) == len(set(names)) == told["planned"]


def finished(folder):
    try:
        with Run.open(folder) as run:
            return run.tally().finished
    except TheodoliteError:
        return 0


def test_noise_is_asked_on_request(data_folder, tmp_path, capsys):
    words = [
        "scene",
        "run",
        "--data",
        str(data_folder),
        "--out",
        str(tmp_path / "run"),
        "--model",
        "scripted:oracle",
    ]
    assert main([*words, "--settings", "noisy-graph", "--limit", "1"]) == 0
    with Run.open(tmp_path / "run") as run:
        levels = Counter(r.item.meta["noise"] for r in run.results())
    asked = [
        q for q in read_data(data_folder).questions if q.scene == read_data(data_folder).questions[0].scene
    ]
    assert len(levels) >= 4
    assert set(levels.values()) == {len(asked)}


def test_wrong_words_are_told_apart(data_folder, tmp_path, capsys):
    words = [
        "scene",
        "run",
        "--data",
        str(data_folder),
        "--model",
        "scripted:oracle",
        "--out",
        str(tmp_path / "r"),
    ]
    assert main([*words, "--settings", "base,sideways"]) == 2
    assert "predicted-graph" in capsys.readouterr().err
    assert main([*words, "--mode", "loud"]) == 2
    assert "no mode 'loud'" in capsys.readouterr().err


def test_a_tiny_checkpoint_answers_end_to_end(data_folder, tmp_path, tiny_llava, capsys):
    words = [
        "scene",
        "run",
        "--data",
        str(data_folder),
        "--model",
        f"hf:{tiny_llava}",
        "--out",
        str(tmp_path / "r"),
    ]
    assert (
        main([*words, "--settings", "base", "--limit", "1", "--json", "--mode", "thinking", "--budget", "4"])
        == 0
    )
    assert said(capsys)["answered"] > 0


def test_asked_alone_the_own_graph_is_still_counted_where_it_is_missing(data_folder, tmp_path, capsys):
    run = tmp_path / "run"
    words = ["scene", "run", "--data", str(data_folder), "--model", "scripted:scene-rambler"]
    assert main([*words, "--settings", "predicted-graph", "--out", str(run), "--json"]) == 0
    capsys.readouterr()
    assert main(["scene", "score", str(run), "--json"]) == 0
    counts = {row["setting"]: row for row in said(capsys)["counts"]}
    assert counts["predicted graph"]["without_graph"] == len(read_data(data_folder).questions)
    with pytest.raises(UsageError, match="needs the setting 'base'"):
        Settings(qa=("predicted graph",))


def test_ask_reads_its_settings_even_where_no_prompt_is_shown(data_folder, capsys):
    assert main(["scene", "ask", str(data_folder), "--settings", "foo"]) == 2
    assert "--settings takes all" in capsys.readouterr().err
    assert (
        main(["scene", "ask", str(data_folder), "--settings", "noisy-graph", "--limit", "2", "--json"]) == 0
    )
    items = said(capsys)["items"]
    assert len(items) == 2
    assert all("/noisy graph/" in item["name"] and '"edges"' in item["prompt"] for item in items)
    assert (
        main(["scene", "ask", str(data_folder), "--settings", "predicted-graph", "--limit", "1", "--prompts"])
        == 0
    )
    assert "no model has given one yet" in capsys.readouterr().err


def test_the_solvers_figures_have_intervals(data_folder, tmp_path, capsys):
    assert main(["scene", "solver", str(data_folder)]) == 0
    shown = capsys.readouterr().out
    macros = [line for line in shown.splitlines() if line.startswith("macro")]
    assert "solver geometric" in shown
    assert "solver upstream" in shown
    assert [line.count("[") for line in macros] == [3, 3]
    empty = tmp_path / "empty"
    shutil.copytree(data_folder, empty)
    (empty / "questions.jsonl").write_text("")
    assert main(["scene", "solver", str(empty)]) == 2
    assert "no question" in capsys.readouterr().err


def test_runs_beside_need_figures_and_nothing_is_a_table_without_rows(data_folder, tmp_path, capsys):
    run = str(tmp_path / "run")
    words = ["scene", "run", "--data", str(data_folder), "--model", "scripted:scene-oracle", "--out", run]
    assert main([*words, "--settings", "base,graphs"]) == 0
    assert main(["scene", "score", run, "--beside", run]) == 2
    assert "--figures" in capsys.readouterr().err
    assert main(["scene", "score", run, "--details"]) == 0
    shown = capsys.readouterr().out
    assert "in the graphs" not in shown
    assert "pending" in shown


@pytest.mark.parametrize("verb", ["make", "build", "export"])
def test_only_a_run_is_said_to_go_on(verb, capsys):
    assert main(["scene", verb, "--help"]) == 0
    assert "goes on" not in " ".join(capsys.readouterr().out.replace("│", " ").split())

"""``scene make``, ``build`` and ``run``, as a user types them."""

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
from theodolite.instruments.scene.formulas.solver import SOLVERS
from theodolite.instruments.scene.questions import Settings, is_graph, setting_of
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
    manifest = told["manifest"]
    assert (manifest["n_scenes"], manifest["n_questions"]) == (3, 12)
    assert manifest["made"]["seed"] == 0
    assert [table["name"] for table in told["tables"]] == [
        "scene.scenes",
        "scene.questions",
        "scene.left_out",
    ]
    assert not (tmp_path / "a" / "pictures").exists()
    assert main([*words, "--out", str(tmp_path / "a")]) == 2
    assert "new folder for the data set" in capsys.readouterr().err


def test_build_reads_a_source_by_name(shared_data, tmp_path, capsys):
    root = shared_data / "nuscenes_demo"
    words = ["scene", "import", "--data", str(root), "--no-balance", "--json"]
    assert main([*words, "--format", "camera-boxes", "--out", str(tmp_path / "a")]) == 0
    told = said(capsys)["manifest"]
    assert told["n_scenes"] == len(read_data(tmp_path / "a").scenes) >= 3
    assert main([*words, "--format", "camera-boxs", "--out", str(tmp_path / "b")]) == 2
    assert "camera-boxes or crisp, not 'camera-boxs'" in capsys.readouterr().err
    assert main([*words, "--format", "kitti", "--out", str(tmp_path / "b")]) == 2
    assert "label_2" in capsys.readouterr().err


def test_a_plan_counts_and_prints_prompts(data_folder, tmp_path, capsys):
    words = ["scene", "run", "--data", str(data_folder), "--plan"]
    assert main([*words, "--settings", "base,graphs", "--json"]) == 0
    data = read_data(data_folder)
    assert said(capsys)["plan"]["requests"] == len(data.questions) + 2 * len(data.scenes)
    picked = [*words, "--settings", "graphs,true-graph-alone", "--prompts", "--limit", "5"]
    assert main([*picked, "--json"]) == 0
    items = said(capsys)["items"]
    assert len(items) == 5
    assert "3D scene graph in JSON" in items[0]["prompt"]
    assert items[1]["picture"] == "no picture"
    assert main([*words, "--scene", "nowhere"]) == 2
    assert "no scene 'nowhere'" in capsys.readouterr().err
    scene = next(iter(data.scenes))
    only = ["--scene", scene, "--mode", "thinking", "--budget", "77", "--prompts", "--settings", "base"]
    assert main([*words, *only, "--figures", str(tmp_path / "f")]) == 0
    shown = capsys.readouterr().out
    assert shown.count("77 tokens") == sum(question.scene == scene for question in data.questions)
    assert (tmp_path / "f" / "questions.png").stat().st_size > 5000
    assert main([*words[:-1], "--model", "scripted:oracle"]) == 2
    assert "--model and --out are needed" in capsys.readouterr().err


def settings_of(folder):
    with Run.open(folder) as run:
        return Counter(
            ("graph" if is_graph(r.item) else "qa", setting_of(r.item))
            for r in run.results()
            if r.record is not None
        )


def test_run_asks_in_every_setting_and_goes_on_where_it_stopped(data_folder, tmp_path, capsys):
    words = ["scene", "run", "--data", str(data_folder), "--out", str(tmp_path / "run"), "--model"]
    assert main([*words, "scripted:oracle", "--json"]) == 0
    told = said(capsys)
    data = read_data(data_folder)
    n, scenes = len(data.questions), len(data.scenes)
    assert told["tally"]["planned"] == told["tally"]["answered"] == 5 * n + 2 * scenes
    assert (told["instrument"], told["model"]) == ("scene", "scripted:oracle")
    assert told["tables"][0]["name"] == "scene.qa"
    counts = settings_of(tmp_path / "run")
    assert counts == {("graph", "base"): scenes, ("graph", "blind"): scenes} | {
        ("qa", setting): n
        for setting in ("base", "blind", "predicted graph", "true graph", "true graph alone")
    }
    assert main([*words, "scripted:oracle", "--json"]) == 0  # all done: nothing new
    assert said(capsys)["tally"]["planned"] == told["tally"]["planned"]
    assert main([*words, "scripted:guesser"]) == 2
    with Run.open(tmp_path / "run") as run:
        by_setting = {setting_of(r.item): r.item for r in run.results() if not is_graph(r.item)}
    own = by_setting["predicted graph"]
    assert (
        own.meta["graph"] == data.scenes[own.cluster].star().as_json()
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
    words = ["scene", "run", "--data", str(data_folder), "--out", str(folder)]
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
    told = json.loads(last.stdout)["tally"]
    data = read_data(data_folder)
    assert told["planned"] == told["answered"] == 5 * len(data.questions) + 2 * len(data.scenes)
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
    data = read_data(data_folder)
    scene = data.questions[0].scene
    assert main([*words, "--settings", "noisy-graph", "--scene", scene]) == 0
    with Run.open(tmp_path / "run") as run:
        levels = Counter(r.item.meta["noise"] for r in run.results())
    asked = [question for question in data.questions if question.scene == scene]
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
    assert "not 'loud'" in capsys.readouterr().err


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
    few = ["--settings", "base", "--limit", "3", "--json", "--mode", "thinking", "--budget", "4"]
    assert main([*words, *few]) == 0
    assert said(capsys)["tally"]["answered"] == 3


def test_asked_alone_the_own_graph_is_still_counted_where_it_is_missing(data_folder, tmp_path, capsys):
    run = tmp_path / "run"
    words = ["scene", "run", "--data", str(data_folder), "--model", "scripted:scene-rambler"]
    assert main([*words, "--settings", "predicted-graph", "--out", str(run), "--json"]) == 0
    capsys.readouterr()
    assert main(["scene", "score", str(run), "--json"]) == 0
    tables = {table["name"]: table for table in said(capsys)["tables"]}
    counts = {row["setting"]: row for row in tables["scene.counts"]["rows"]}
    assert counts["predicted graph"]["without_graph"] == len(read_data(data_folder).questions)
    with pytest.raises(UsageError, match="needs the setting 'base'"):
        Settings(qa=("predicted graph",))


def test_a_plan_holds_noisy_graphs_and_says_that_own_ones_come_later(data_folder, capsys):
    words = ["scene", "run", "--data", str(data_folder), "--plan", "--prompts"]
    assert main([*words, "--settings", "foo"]) == 2
    assert "--settings takes all" in capsys.readouterr().err
    assert main([*words, "--settings", "noisy-graph", "--limit", "2", "--json"]) == 0
    items = said(capsys)["items"]
    assert len(items) == 2
    assert all("/noisy graph/" in item["name"] and '"edges"' in item["prompt"] for item in items)
    assert main([*words, "--settings", "predicted-graph", "--limit", "1"]) == 0
    assert "which the model has not given yet" in capsys.readouterr().err


def test_the_solvers_figures_have_intervals(data_folder, tmp_path, capsys):
    assert main(["scene", "audit", str(data_folder), "--figures", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    macros = [line for line in shown.splitlines() if line.startswith("macro")]
    assert all(f"{name} solver" in shown for name in SOLVERS)
    assert [line.count("[") for line in macros[:3]] == [3, 3, 3]
    assert "noise on words and lengths" in shown
    assert (tmp_path / "solver.png").stat().st_size > 10_000
    empty = tmp_path / "empty"
    shutil.copytree(data_folder, empty)
    (empty / "questions.jsonl").write_text("")
    assert main(["scene", "audit", str(empty)]) == 2
    assert "no question" in capsys.readouterr().err


def test_runs_beside_need_figures_and_nothing_is_a_table_without_rows(data_folder, tmp_path, capsys):
    run = str(tmp_path / "run")
    words = ["scene", "run", "--data", str(data_folder), "--model", "scripted:scene-oracle", "--out", run]
    assert main([*words, "--settings", "base,graphs"]) == 0
    assert main(["scene", "score", run, "--beside", run]) == 2
    assert "--figures" in capsys.readouterr().err
    assert main(["scene", "score", run, "--tables", "all"]) == 0
    shown = capsys.readouterr().out
    assert "Problems in the graphs" not in shown
    assert "pending" in shown


@pytest.mark.parametrize("verb", ["make", "build"])
def test_only_a_run_is_said_to_be_resumed(verb, capsys):
    assert main(["scene", verb, "--help"]) == 0
    assert "resume" not in " ".join(capsys.readouterr().out.replace("│", " ").split())

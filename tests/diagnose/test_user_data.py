"""The user's own data: recognised by what lies there, measured beside the drawn sets, and refused with one sentence."""

import json
import shutil
from collections import Counter

import known_models
import pytest

from theodolite.core.errors import UsageError
from theodolite.core.scores import OWN_SPLIT
from theodolite.core.types import Picture
from theodolite.diagnose.request import DiagnosisRequest, find_user_data
from theodolite.diagnose.running import read_items, run_diagnosis
from theodolite.diagnose.separation import Twins
from theodolite.instruments.ask.data.questions import write_questions as write_own_questions
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.instruments.compass.data.coco import load_pairs
from theodolite.instruments.instrument import UserData, find_instruments
from theodolite.instruments.scene.data.files import read_data
from theodolite.instruments.scene.data.make import MakeOptions, make_data
from theodolite.instruments.scene.instrument import _write_questions as write_questions
from theodolite.instruments.trace.data.dataset import EpisodeManifest, read_episodes, write_episodes
from theodolite.runs import find_runs
from theodolite.worlds.stories import make_world

FEW = 6
LOOKS, READS = "scripted:looks", "scripted:reads"


@pytest.fixture(autouse=True, scope="module")
def known():
    """Two scripted models that give text alone, under names of their own."""
    with pytest.MonkeyPatch.context() as patch:
        known_models.put_in(patch)
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory, put_stories):
    """Where the drawn sets go, made once."""
    folder = tmp_path_factory.mktemp("data")
    for size in (
        FEW,
        FEW + FEW // 2,
    ):  # as many stories; a study of user data and drawn ones is larger by half
        put_stories(folder, size)
    return folder


@pytest.fixture(scope="module")
def episodes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own") / "missions"
    manifest = EpisodeManifest(world="instruction", n_episodes=0, licence="CC0-1.0", source="tests")
    write_episodes(make_world("instruction", 2), folder, manifest=manifest)
    return folder


@pytest.fixture(scope="module")
def rooms(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own") / "rooms"
    make_data(folder, MakeOptions(2, 0), version="tests")
    return folder


def request(folder, home, instruments, own, *models):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data").symlink_to(home)
    return DiagnosisRequest(
        models or (LOOKS,),
        folder,
        find_instruments(instruments),
        FEW,
        data=(own,),
        twins=Twins(LOOKS, READS),
    )


def diagnosed(folder, home, instrument, own, *models):
    return run_diagnosis(request(folder, home, [instrument], own, *models))


def own_figures(found, instrument, key):
    """By model: the figure of a metric on one's own data."""
    rows = [r for r in found.instrument(instrument).metrics if (r.key, r.split) == (key, OWN_SPLIT)]
    assert len(rows) == 1, [(r.key, r.split) for r in found.instrument(instrument).metrics]
    return {m.model: m.figure for m in rows[0].models if m.figure is not None}


def picture(path, size=(160, 120)):
    import numpy as np

    pixels = np.random.default_rng(list(path.name.encode())).integers(0, 255, (size[1], size[0], 3), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(Picture.from_array(pixels).data)


def coco(folder, images="val", names=("1.png", "2.png")):
    """Two pictures with a cup left of, and above, a bottle, in COCO's own layout."""
    boxes = ([10, 50, 30, 30], [110, 50, 30, 30]), ([60, 5, 30, 30], [60, 80, 30, 30])
    value = {
        "images": [{"id": i, "file_name": n, "width": 160, "height": 120} for i, n in enumerate(names)],
        "annotations": [
            {"id": 2 * i + k, "image_id": i, "category_id": k, "bbox": box, "area": 900.0, "iscrowd": 0}
            for i, pair in enumerate(boxes)
            for k, box in enumerate(pair)
        ],
        "categories": [{"id": 0, "name": "cup"}, {"id": 1, "name": "bottle"}],
    }
    path = folder / "annotations" / "instances_val.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    for name in names:
        picture(folder / images / name)
    return path


def test_coco_instances_are_found_with_their_pictures_by_file_and_by_folder(tmp_path):
    path = coco(tmp_path)
    expected = tuple(UserData(name, "coco", path, tmp_path / "val") for name in ("ask", "compass"))
    assert find_user_data([path]) == find_user_data([tmp_path]) == expected
    assert find_user_data([f"compass={path}"]) == expected[1:]
    (path.parent / "captions_val.json").write_text('{"images": [], "annotations": []}')
    assert find_user_data([tmp_path]) == expected
    moved = tmp_path / "elsewhere" / "deep" / "pictures"
    moved.parent.mkdir(parents=True)
    (tmp_path / "val").rename(moved)
    with pytest.raises(
        UsageError, match=r"the pictures of .* are not beside it; .*@FOLDER, with the folder that holds 1.png"
    ):
        find_user_data([path])
    assert find_user_data([f"compass={path}@{moved}"]) == (UserData("compass", "coco", path, moved),)


def test_coco_pairs_are_asked_about(tmp_path, home):
    own = find_user_data([f"compass={coco(tmp_path / 'coco')}"])[0]
    pairs = load_pairs(own, 100, 0).pairs
    assert len(load_pairs(own, 2, 0).pairs) == 2
    assert {pair.direction for pair in pairs} == {"left", "right", "above", "below"}
    found = diagnosed(tmp_path / "report", home, "compass", own)
    assert own_figures(found, "compass", "compass.right")[LOOKS].n_items == 4
    asked = {
        model: find_runs(tmp_path / "report" / "runs" / model)
        for model in ("scripted-looks", "scripted-reads")
    }
    assert [path.name for path in asked["scripted-looks"]] == ["compass", "compass-own"]
    assert [path.name for path in asked["scripted-reads"]] == ["compass"], (
        "a twin beside it has its own sets alone"
    )
    rows = [row for row in read_items(tmp_path / "report") if row.split == OWN_SPLIT]
    assert {row.gold for row in rows if row.condition == "plain"} == {"left", "right", "above", "below"}
    assert all((tmp_path / "report" / name).is_file() for row in rows for name in row.pictures)


def test_coco_without_a_pair_says_what_became_of_the_candidates(tmp_path):
    path = coco(tmp_path)
    value = json.loads(path.read_text())
    for row in value["annotations"]:
        row["category_id"] = 0
    path.write_text(json.dumps(value))
    with pytest.raises(UsageError, match=r"none of 4 candidates is left.* 4 .*a name that occurs twice"):
        load_pairs(find_user_data([path])[0], 10, 0)


def test_real_coco_annotations_are_taken_as_they_are(shared_data):
    own = find_user_data([f"compass={shared_data / 'coco_tiny_val'}"])[0]
    pairs = load_pairs(own, 8, 0).pairs
    assert len(pairs) == 8
    assert all(pair.picture.path.is_relative_to(shared_data / "coco_tiny_val") for pair in pairs)


def test_scenes_and_bare_graphs_are_told_apart_and_both_are_asked_about(tmp_path, home, rooms):
    assert find_user_data([rooms]) == (UserData("scene", "scenes", rooms),)
    bare = tmp_path / "bare"
    shutil.copytree(rooms, bare)
    (bare / "questions.jsonl").unlink()
    own = find_user_data([bare])[0]
    assert own == UserData("scene", "graphs", bare)
    found = diagnosed(tmp_path / "report", home, "scene", own)
    assert own_figures(found, "scene", "scene.sgc")[LOOKS].value == pytest.approx(1)
    assert own_figures(found, "scene", "scene.qa")[LOOKS].n == 2
    assert not (bare / "questions.jsonl").exists()


def test_questions_are_made_of_scenes_without_touching_them(tmp_path, rooms):
    before = (rooms / "questions.jsonl").read_bytes()
    write_questions(rooms, tmp_path / "made", n=7, seed=1)
    made = read_data(tmp_path / "made")
    assert len(made.questions) == 7
    assert set(made.scenes) == set(read_data(rooms).scenes)
    assert (rooms / "questions.jsonl").read_bytes() == before


def test_graphs_without_pictures_are_refused(tmp_path):
    folder = tmp_path / "bare"
    make_data(folder, MakeOptions(1, 0, is_rendered=False), version="tests")
    with pytest.raises(UsageError, match="without marked pictures"):
        write_questions(folder, tmp_path / "made", n=7, seed=1)


def test_what_is_drawn_of_many_pairs_is_even_and_follows_from_the_seed(shared_data):
    own = find_user_data([f"compass={shared_data / 'coco_tiny_val'}"])[0]
    drawn = load_pairs(own, 40, 0).pairs
    assert Counter(pair.direction for pair in drawn) == dict.fromkeys(("left", "right", "above", "below"), 10)
    assert [pair.id for pair in drawn] == [pair.id for pair in load_pairs(own, 40, 0).pairs]
    assert {pair.id for pair in drawn} != {pair.id for pair in load_pairs(own, 40, 1).pairs}


def write_log(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_episodes_are_asked_about_and_logs_beside_them_are_judged(tmp_path, home, episodes):
    folder = tmp_path / "missions"
    shutil.copytree(episodes, folder)
    told = read_episodes(folder).episodes
    true = [{"episode": e.id, "text": e.meta["oracle"], "model": "Elsewhere 7B"} for e in told]
    write_log(folder / "answers.jsonl", true)
    steps = [
        {
            "episode": e.id,
            "steps": [{"text": "There is a purple rabbit.", "frames": [1]}],
            "answer": e.options[0],
        }
        for e in told[:2]
    ]
    write_log(folder / "made_up.jsonl", steps)
    own = find_user_data([folder])[0]
    assert own == UserData(
        "trace", "episodes", folder, logs=(folder / "answers.jsonl", folder / "made_up.jsonl")
    )
    found = diagnosed(tmp_path / "report", home, "trace", own, LOOKS)
    figures = own_figures(found, "trace", "trace.sgr")
    assert {name: f.n for name, f in figures.items()} == {
        LOOKS: len(told),
        "log:Elsewhere 7B": len(told),
        "log:made_up": 2,
    }
    assert figures["log:Elsewhere 7B"].value == pytest.approx(figures[LOOKS].value)
    assert figures["log:Elsewhere 7B"].value > 0.99
    assert figures["log:made_up"].value == 0
    assert [model.name for model in found.models] == [LOOKS, "log:Elsewhere 7B", "log:made_up"]
    rows = [row for row in read_items(tmp_path / "report") if row.model == "log:made_up"]
    assert [row.steps.steps[0].frames for row in rows] == [[0], [0]]
    assert [row.read_as for row in rows] == [e.options[0] for e in told[:2]]


def test_a_log_alone_is_judged_and_its_episodes_are_not_asked_about(tmp_path, home, episodes):
    folder = tmp_path / "missions"
    shutil.copytree(episodes, folder)
    told = read_episodes(folder).episodes
    path = write_log(folder / "log.jsonl", [{"episode": e.id, "text": e.meta["oracle"]} for e in told[:2]])
    own = find_user_data([path])[0]
    assert own == UserData("trace", "traces", folder, logs=(path,))
    found = diagnosed(tmp_path / "report", home, "trace", own, LOOKS)
    assert own_figures(found, "trace", "trace.right").keys() == {"log:log"}
    assert sum("own" in folder.name for folder in find_runs(tmp_path / "report")) == 1


def test_other_instruments_say_that_a_log_tells_nothing_of_them(tmp_path, home, episodes):
    folder = tmp_path / "missions"
    shutil.copytree(episodes, folder)
    first = read_episodes(folder).episodes[0]
    path = write_log(folder / "log.jsonl", [{"episode": first.id, "text": first.meta["oracle"]}])
    found = run_diagnosis(request(tmp_path / "report", home, ["grid", "trace"], *find_user_data([path])))
    rows = [r for r in found.instrument("trace").metrics if (r.key, r.split) == ("trace.sgr", OWN_SPLIT)]
    logged = next(m for m in rows[0].models if m.model == "log:log")
    assert logged.figure.n == 1
    assert logged.figure.high - logged.figure.low > 0.5, "one episode leaves much open"
    view = next(v for v in found.instrument("grid").models if v.model == "log:log")
    assert (view.status, view.verdict.standing) == ("left out", "not measured")
    assert view.because == "only answers for trace were recorded"


def test_two_traces_of_one_model_about_one_episode_are_refused(tmp_path, home, episodes):
    folder = tmp_path / "missions"
    shutil.copytree(episodes, folder)
    first = read_episodes(folder).episodes[0]
    write_log(folder / "log.jsonl", [{"episode": first.id, "text": "Step 1: There is a ball."}] * 2)
    with pytest.raises(UsageError, match="two traces of log"):
        diagnosed(tmp_path / "report", home, "trace", find_user_data([folder / "log.jsonl"])[0])


def test_what_is_no_data_set_gets_one_sentence(tmp_path, episodes):
    (tmp_path / "notes.txt").write_text("hello")
    for wrong in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(
            UsageError,
            match=r"no instrument can read the data set .*; --data takes a JSONL, JSON or CSV file of questions",
        ):
            find_user_data([wrong])
    with pytest.raises(UsageError, match="does not exist"):
        find_user_data([tmp_path / "gone"])
    with pytest.raises(UsageError, match=r"is for trace, not for scene; remove scene="):
        find_user_data([f"scene={episodes}"])
    with pytest.raises(UsageError, match="two data sets for trace"):
        find_user_data([episodes, episodes / "episodes.jsonl"])
    log = write_log(tmp_path / "log.jsonl", [{"episode": "e", "text": "Step 1: There is a ball."}])
    with pytest.raises(UsageError, match=r"has no episodes.jsonl"):
        find_user_data([log])
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    with pytest.raises(UsageError, match=r"is a run, not a data set; .* --model replay:"):
        find_user_data([tmp_path / "run"])
    (tmp_path / "run" / "run.json").unlink()
    for name in ("a", "b"):
        coco(tmp_path / "run", names=("1.png", "2.png")).rename(tmp_path / "run" / f"instances_{name}.json")
    with pytest.raises(
        UsageError, match=r"several files of COCO instances \(instances_a.json, instances_b.json\)"
    ):
        find_user_data([tmp_path / "run"])


def test_questions_are_recognised_by_file_and_by_folder(tmp_path, rooms):
    path = write_own_questions(make_squares(2), tmp_path / "squares")
    expected = (UserData("ask", "questions", path),)
    assert (
        find_user_data([path]) == find_user_data([path.parent]) == find_user_data([f"ask={path}"]) == expected
    )
    assert [own.instrument for own in find_user_data([rooms / "questions.jsonl"])] == ["scene"]
    assert [own.instrument for own in find_user_data([path, rooms])] == ["ask", "scene"]


def test_files_are_told_by_their_first_line(tmp_path):
    pair = {"id": "1", "picture": "1.png", "reference": {}, "target": {}}
    assert find_user_data([write_log(tmp_path / "mine.jsonl", [pair])])[0].form == "pairs"
    episode = {"id": "1", "task": "What?", "frames": ["1.png"]}
    assert find_user_data([write_log(tmp_path / "mine.jsonl", [episode])])[0].form == "episodes"

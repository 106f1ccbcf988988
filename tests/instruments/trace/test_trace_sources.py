"""STAR, R2R and TEACh as they are published."""

import json
import math
import pickle
from pathlib import Path

import pytest

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.types import Step, Trace
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.data.sources.r2r import read_r2r
from theodolite.instruments.trace.data.sources.star import frame_rates, read_star
from theodolite.instruments.trace.data.sources.teach import read_teach
from theodolite.instruments.trace.verifiers.judging import judge, open_verifier
from theodolite.worlds.episodes import EGO

VERIFIER = open_verifier("annotation")


def turn_verdicts(episodes, *, inverted):
    """The verdicts on turns that are written from the poses, by plain trigonometry."""
    labels = []
    for episode in episodes:
        steps = []
        for i, frame in enumerate(episode.frames[:-1]):
            after = episode.frames[i + 1].pose
            if frame.pose is None or after is None:
                continue
            turn = math.degrees(math.atan2(*_sin_cos(after.heading_deg - frame.pose.heading_deg)))
            if 20 <= abs(turn) <= 160:
                side = "right" if (turn > 0) != inverted else "left"
                steps.append(Step(f"I turn {side}.", (i,), "index"))
        judged = judge(with_claims([Trace(episode.id, tuple(steps))]), {episode.id: episode}, VERIFIER)
        labels += [v.label for t in judged for s in t.steps for v in s.verdicts]
    return labels


def _sin_cos(degrees):
    return math.sin(math.radians(degrees)), math.cos(math.radians(degrees))


@pytest.mark.parametrize(("read", "folder", "n"), [(read_r2r, "r2r", 200), (read_teach, "teach_edh", 24)])
def test_turns_from_poses_are_supported_and_inverted_ones_are_not(shared_data, read, folder, n):
    found = read(shared_data / folder)
    assert not found.problems
    assert len(found.episodes) >= n
    right = turn_verdicts(found.episodes, inverted=False)
    wrong = turn_verdicts(found.episodes, inverted=True)
    assert len(right) > 250
    assert right.count("supported") / len(right) >= 0.98
    assert wrong.count("supported") / len(wrong) <= 0.05


def test_teach_poses_agree_with_the_logged_movements(shared_data):
    """Forward is along the heading, a pan is to the side: else headings would be mirrored and turns still agree."""
    agree = total = 0
    for episode in read_teach(shared_data / "teach_edh").episodes:
        places = {f.time_s: f.pose for f in episode.frames}
        ends = {f.time_s: g.pose for f, g in zip(episode.frames, episode.frames[1:], strict=False)}
        for action in episode.actions:
            if action.verb in {"move forward", "move right"} and action.start_s in ends:
                a, b = places[action.start_s], ends[action.start_s]
                course = math.degrees(math.atan2(b.x_m - a.x_m, b.y_m - a.y_m))
                wanted = a.heading_deg + (90 if action.verb == "move right" else 0)
                total += 1
                agree += abs((course - wanted + 180) % 360 - 180) < 1
    assert total > 500
    assert agree / total > 0.98


@pytest.mark.parametrize("verb", ["strafe", "pan", "step"])
def test_steps_to_the_side_are_told_as_strafing_panning_or_stepping(shared_data, verb):
    labels = {True: [], False: []}
    for episode in read_teach(shared_data / "teach_edh").episodes[:10]:
        for is_true in (True, False):
            steps = []
            for place, frame in enumerate(episode.frames[:-1]):
                logged = [a.verb for a in episode.actions if a.start_s == frame.time_s]
                sides = [name.split()[1] for name in logged if name in {"move left", "move right"}]
                for side in sides:
                    said = side if is_true else {"left": "right", "right": "left"}[side]
                    steps.append(Step(f"I {verb} {said}.", (place,), "index"))
            judged = judge(with_claims([Trace(episode.id, tuple(steps))]), {episode.id: episode}, VERIFIER)
            labels[is_true] += [v.label for t in judged for s in t.steps for _, v in s.counted()]
    assert len(labels[True]) > 20
    assert set(labels[True]) == {"supported"}
    assert set(labels[False]) == {"unsupported"}


def test_teach_tells_what_is_held(shared_data):
    episodes = read_teach(shared_data / "teach_edh").episodes
    held = [r for e in episodes for f in e.frames for r in f.relations if r.predicate == "holding"]
    assert len(held) > 50
    assert {r.subject for r in held} == {EGO}
    picked = [a for e in episodes for a in e.actions if a.verb == "pick up"]
    assert all(a.objects for a in picked)


def test_star_old_format(shared_data):
    found = read_star(shared_data / "star", video_fps=30)
    raw = json.loads((shared_data / "star" / "questions.json").read_text())
    assert all("action label" in problem.reason for problem in found.problems)  # it has no names for them
    told = {named[0] for q in raw if len(named := q["answer_action"]) == 1 and len(q["answer_keyword"]) == 2}
    bare = [
        {code for code, *_ in q["anno_actions"]}
        | {c for s in q["situations"].values() for c in s.get("actions", [])}
        for q in raw
    ]
    nameless = [f"questions.json, question {i}" for i, codes in enumerate(bare, 1) if codes - told]
    assert [problem.where for problem in found.problems] == nameless
    assert 0 < len(nameless) < len(raw)
    assert len(found.episodes) == len(raw)
    names = json.loads((shared_data / "star" / "classes.json").read_text())["object"]
    nulls = 0
    for episode, question in zip(found.episodes, raw, strict=True):
        assert episode.answer in episode.options
        for frame in episode.frames:
            situation = question["situations"][f"{frame.number:06d}"]
            listed = {
                names[str(label)]: box
                for label, box in zip(situation["bbox_labels"], situation["bbox"], strict=True)
            }
            for category, box in listed.items():
                thing = frame.find(category)
                nulls += box is None
                assert (thing.box is None) == (box is None)
                if box is not None:
                    assert thing.box.x0 == box[0]
                    assert thing.box.y1 == box[3]
            assert len(frame.relations) == len(
                {
                    (*map(str, p), str(r))
                    for p, r in zip(situation["rel_pairs"], situation["rel_labels"], strict=True)
                }
            )
            assert frame.picture is not None
            assert frame.size_px[0] > 100
    assert nulls > 0


STAR_FPS = {"0TXYV": 29.452, "EK19H": 29.97, "G2AMK": 15.025, "M6ERH": 30.0}
"""From STAR's own file of frame rates."""


def test_star_frames_are_timed_by_the_rate_of_each_video(shared_data, tmp_path):
    file = tmp_path / "fps.json"
    file.write_text(json.dumps(STAR_FPS))
    found = {e.id: e for e in read_star(shared_data / "star", video_fps=file).episodes}
    assert found["Interaction_T1_2132"].frames[0].time_s == pytest.approx(341 / 15.025)
    asked = [e for e in found.values() if e.id.startswith(("Interaction", "Sequence")) and e.unit == "G2AMK"]
    assert len(asked) == 2
    for episode in asked:  # at 30 frames per second they would end before the clip begins
        start, end = episode.meta["start_s"], episode.meta["end_s"]
        assert all(start <= frame.time_s <= end for frame in episode.frames)
    for given, message in (
        (None, "frame rate is not known; give --video-fps"),
        (0, "above 0"),
        (tmp_path / "none", "cannot read"),
    ):
        with pytest.raises(UsageError, match=message):
            read_star(shared_data / "star", video_fps=given)
    file.write_text(json.dumps({"0TXYV": 29.452}))
    some = read_star(shared_data / "star", video_fps=file)
    assert {e.unit for e in some.episodes} == {"0TXYV"}
    assert sum("frame rate is not known" in p.reason for p in some.problems) == len(found) - len(
        some.episodes
    )


def test_frame_rates_as_published_are_read_without_unpickling(tmp_path):
    file = tmp_path / "video_fps"
    file.write_bytes(pickle.dumps({f"{name}.mp4": rate for name, rate in STAR_FPS.items()}, protocol=2))
    assert frame_rates(file).by_video == STAR_FPS
    file.write_bytes(pickle.dumps({"a.mp4": Path("b")}))
    with pytest.raises(UsageError, match="more than names and numbers"):
        frame_rates(file)
    for text, message in (
        ("[]", "was expected|were expected"),
        ('{"a": "fast"}', "not a number"),
        ("{", "not a file"),
    ):
        file.write_text(text)
        with pytest.raises(UsageError, match=message):
            frame_rates(file)


def test_relations_of_star_tell_where_the_other_thing_is(shared_data):
    episodes = read_star(shared_data / "star", video_fps=30).episodes
    below = [
        (frame.find(r.subject), frame.find(r.object))
        for e in episodes
        for frame in e.frames
        for r in frame.relations
        if r.predicate == "beneath" and r.subject == "floor"
    ]
    boxed = [(a.box, b.box) for a, b in below if a.box and b.box]
    assert boxed
    assert all(floor.centre_px[1] > person.centre_px[1] for floor, person in boxed)
    places = {r.predicate: r.object for e in episodes for f in e.frames for r in f.relations}
    assert {places[name] for name in ("in front of", "behind", "above", "beneath")} == {"person"}
    assert {
        r.subject for e in episodes for f in e.frames for r in f.relations if r.predicate == "holding"
    } == {"person"}


def test_star_questions_with_one_id_stay_apart(shared_data, tmp_path):
    raw = json.loads((shared_data / "star" / "questions.json").read_text())
    (tmp_path / "q.json").write_text(json.dumps([raw[0], raw[1], raw[0]]))
    found = read_star(tmp_path / "q.json", classes=shared_data / "star" / "classes.json", video_fps=30)
    name = raw[0]["question_id"]
    assert [e.id for e in found.episodes] == [name, raw[1]["question_id"], f"{name}#2"]


def test_star_claims_are_judged_by_the_annotations(shared_data):
    episode = next(
        e
        for e in read_star(shared_data / "star", video_fps=30).episodes
        if any(r.predicate == "holding" for f in e.frames for r in f.relations)
    )
    place, held = next(
        (i, r) for i, f in enumerate(episode.frames) for r in f.relations if r.predicate == "holding"
    )
    text = f"Step 1 (frame {place + 1}): The person is holding the {held.object.split('/')[0]}."
    judged = judge(with_claims([read_trace(text, episode)]), {episode.id: episode}, VERIFIER)
    verdicts = [
        v.label
        for s in judged[0].steps
        for c, v in zip(s.step.claims, s.verdicts, strict=True)
        if c.kind == "action"
    ]
    assert verdicts == ["supported"]


def test_star_released_format(shared_data, tmp_path):
    file = shared_data / "star" / "released_format_sample.json"
    found = read_star(file, video_fps=30)
    assert len(found.episodes) == 1
    assert [problem.reason.split()[1] for problem in found.problems] == ["object", "relation", "action"]
    assert all("STAR_classes" in problem.reason for problem in found.problems)
    labels = {t.category for f in found.episodes[0].frames for t in f.objects}
    folder = tmp_path / "STAR_classes"
    folder.mkdir()
    (folder / "object_classes.txt").write_text(
        "".join(f"{label} thing{i}\n" for i, label in enumerate(sorted(labels)))
    )
    named = read_star(file, classes=folder, video_fps=30)
    assert [problem.reason.split()[1] for problem in named.problems] == ["relation", "action"]
    codes = {r.predicate for f in found.episodes[0].frames for r in f.relations}
    (folder / "relationship_classes.txt").write_text(
        "".join(f"{code} near_{code}\n" for code in sorted(codes)[1:])
    )
    codes_of_actions = {action.label for action in found.episodes[0].actions}
    (folder / "action_classes.txt").write_text("".join(f"{code} hold cup\n" for code in codes_of_actions))
    assert [problem.reason for problem in read_star(file, classes=folder, video_fps=30).problems] == [
        f"1 relation label has no name ({min(codes)}): the classes do not name them"
    ]
    with (folder / "relationship_classes.txt").open("a") as opened:
        opened.write(f"{min(codes)} on\n")
    named = read_star(file, classes=folder, video_fps=30)
    assert not named.problems
    assert {t.category for f in named.episodes[0].frames for t in f.objects} == {
        f"thing{i}" for i in range(len(labels))
    }


def test_the_command_writes_what_can_be_read_again(shared_data, tmp_path, capsys):
    for form, folder in (("star", "star"), ("r2r", "r2r"), ("teach", "teach_edh")):
        out = tmp_path / form
        assert (
            main(
                [
                    "trace",
                    "import",
                    "--format",
                    form,
                    "--data",
                    str(shared_data / folder),
                    "--out",
                    str(out),
                    "--json",
                    *(["--video-fps", "30"] if form == "star" else []),
                ]
            )
            == 0
        )
        told = json.loads(capsys.readouterr().out)
        again = read_episodes(out)
        assert len(again.episodes) == told["tables"][0]["rows"][0]["episodes"]
        assert not again.problems
    assert (
        main(["trace", "import", "--format", "coco", "--data", str(tmp_path), "--out", str(tmp_path / "x")])
        == 2
    )


GRAPH = [
    {"image_id": name, "pose": [1, 0, 0, x, 0, 1, 0, y, 0, 0, 1, 1.5, 0, 0, 0, 1]}
    for name, x, y in (("a", 0, 0), ("b", 0, 2), ("c", 3, 2))
]


def test_r2r_poses_and_bad_paths(tmp_path):
    (tmp_path / "connectivity").mkdir()
    (tmp_path / "connectivity" / "s_connectivity.json").write_text(json.dumps(GRAPH))
    path = {
        "scan": "s",
        "path_id": 1,
        "path": ["a", "b", "c"],
        "heading": -math.pi / 2,
        "instructions": ["Go.", "Walk."],
    }
    bad = [path | {"path": ["a", "z"]}, path | {"scan": "t"}, {"scan": "s"}, 7]
    (tmp_path / "R2R_x.json").write_text(json.dumps([path, *bad]))
    found = read_r2r(tmp_path)
    assert [p.where for p in found.problems] == [f"R2R_x.json, path {i}" for i in (2, 3, 4, 5)]
    assert [e.task for e in found.episodes] == ["Go.", "Walk."]
    poses = [f.pose for f in found.episodes[0].frames]
    assert [p.heading_deg for p in poses] == pytest.approx([-90, 0, 90])
    assert [(p.x_m, p.y_m, p.z_m) for p in poses] == [(0, 0, 1.5), (0, 2, 1.5), (3, 2, 1.5)]
    (tmp_path / "R2R_x.json").write_text("[]")
    with pytest.raises(UsageError, match="no usable path"):
        read_r2r(tmp_path)
    with pytest.raises(UsageError, match="cannot read"):
        read_r2r(tmp_path / "none.json")


def test_labels_of_star_that_nothing_names_are_told_by_question(tmp_path):
    classes = {
        "object": {"0": "person", "1": "cup"},
        "relationships": {"4": "holding"},
        "action": {"c030": "take cup"},
    }
    (tmp_path / "classes.json").write_text(json.dumps(classes))
    frame = {
        "rel_pairs": [[0, 1]],
        "rel_labels": [4],
        "actions": ["c030"],
        "bbox": [None],
        "bbox_labels": [1],
    }

    def question(name, **more):
        return {"question_id": name, "question": "?", "video_id": "v", "situations": {"000030": frame | more}}

    timed = question("timed") | {"anno_actions": [["c998", "1.0", "2.0"]]}
    asked = [
        question("good"),
        question("object", bbox_labels=[55]),
        question("relation", rel_labels=[777]),
        question("action", actions=["c999", "c030"]),
        timed,
    ]
    file = tmp_path / "questions.json"
    file.write_text(json.dumps(asked))
    found = read_star(file, video_fps=30)
    assert len(found.episodes) == 5
    assert [
        (problem.where.rpartition(" ")[2], problem.reason.partition(":")[0]) for problem in found.problems
    ] == [
        ("2", "1 object label has no name (55)"),
        ("3", "1 relation label has no name (777)"),
        ("4", "1 action label has no name (c999)"),
        ("5", "1 action label has no name (c998)"),
    ]


def test_bad_star_and_teach_files_are_told(tmp_path):
    file = tmp_path / "q.json"
    good = {
        "question_id": "q1",
        "question": "?",
        "video_id": "v",
        "situations": {"000030": {"bbox": [None], "bbox_labels": [1], "actions": []}},
    }
    uneven = good | {"question_id": "q2", "situations": {"000030": {"bbox": [], "bbox_labels": [1]}}}
    file.write_text(json.dumps([good, uneven, {"question": "?"}]))
    found = read_star(file, video_fps=30)
    assert len(found.episodes) == 1
    assert found.episodes[0].frames[0].time_s == pytest.approx(1.0)
    assert [p.where for p in found.problems] == [
        "q.json, question 1",
        "q.json, question 2",
        "q.json, question 3",
    ]
    (tmp_path / "game.json").write_text("{")
    with pytest.raises(UsageError, match="no usable EDH"):
        read_teach(tmp_path / "game.json")


def test_a_folder_of_pictures_that_is_not_there_or_holds_none_is_said_so(shared_data, tmp_path, capsys):
    with pytest.raises(UsageError, match="no folder of pictures"):
        read_star(shared_data / "star", frames=tmp_path / "gone", video_fps=30)
    with pytest.raises(UsageError, match="no folder of pictures"):
        read_teach(shared_data / "teach_edh", images=tmp_path / "gone")
    assert "<game>/driver.frame" in read_teach(shared_data / "teach_edh", images=tmp_path).problems[-1].reason
    line = ["trace", "import", "--format", "star", "--data", str(shared_data / "star"), "--video-fps", "30"]
    assert main([*line, "--images", str(shared_data / "star"), "--out", str(tmp_path / "out"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    contents, problems = told["tables"]
    assert contents["rows"][0]["frames_with_a_picture"] == 0
    assert "no frame has its picture there" in problems["rows"][-1]["reason"]
    for named in ({}, {"frames": shared_data / "star" / "frames"}):
        found = read_star(shared_data / "star", video_fps=30, **named)
        assert not any("picture" in problem.reason for problem in found.problems)

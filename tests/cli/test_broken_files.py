"""From the command line: a broken file is one sentence at exit code 2, and a broken record is left out, counted and told."""

import json

import pytest

from fuzz.formats import formats
from theodolite.cli.main import main


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """The valid samples of all formats, by name."""
    return {form.name: form.files for form in formats(tmp_path_factory.mktemp("made"))}


@pytest.fixture
def folder(tmp_path, samples):
    """A function that writes the files of a format, some of them with other contents."""

    def write(name, **others):
        for file, content in {**samples[name], **others}.items():
            path = tmp_path / "data" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return tmp_path / "data"

    return write


BUILD = ("scene", "import", "--format")
IMPORT = ("trace", "import", "--format")
LINES = {
    "nuscenes": ("v1.0/sample_data.json", [*BUILD, "nuscenes", "--data", "{data}", "--out", "{out}"]),
    "camera-boxes": ("boxes.json", [*BUILD, "camera-boxes", "--data", "{data}", "--out", "{out}"]),
    "scannetpp": ("s/scans/segments_anno.json", [*BUILD, "scannetpp", "--data", "{data}", "--out", "{out}"]),
    "kitti": ("calib/0.txt", [*BUILD, "kitti", "--data", "{data}", "--out", "{out}"]),
    "sunrgbd": ("calib/0.txt", [*BUILD, "sunrgbd", "--data", "{data}", "--out", "{out}"]),
    "scene data": ("manifest.json", ["scene", "audit", "{data}"]),
    "coco": ("instances.json", ["compass", "import", "--format", "coco", "--data", "{data}/instances.json", "--images", "{data}", "--out", "{out}"]),
    "vsr": ("test.jsonl", ["compass", "import", "--format", "vsr", "--data", "{data}/test.jsonl"]),
    "whatsup": ("captions.json", ["compass", "import", "--format", "whatsup", "--data", "{data}/captions.json", "--images", "{data}", "--annotations", "{data}/boxes.json", "--out", "{out}"]),
    "pairs": ("pairs.jsonl", ["compass", "audit", "{data}/pairs.jsonl"]),
    "star": ("questions.json", [*IMPORT, "star", "--data", "{data}", "--out", "{out}", "--video-fps", "30"]),
    "teach": ("valid_seen__g.edh0.json", [*IMPORT, "teach", "--data", "{data}", "--out", "{out}"]),
    "r2r": ("R2R_x.json", [*IMPORT, "r2r", "--data", "{data}", "--out", "{out}"]),
    "videos": ("list.jsonl", [*IMPORT, "videos", "--data", "{data}/list.jsonl", "--out", "{out}"]),
    "episodes": ("episodes.jsonl", ["trace", "make", "--of", "{data}", "--out", "{out}"]),
    "labels": ("labels.jsonl", ["trace", "annotate", "{data}/labels.jsonl"]),
    "questions": ("questions.jsonl", ["ask", "run", "--model", "scripted:looker", "--data", "{data}/questions.jsonl", "--out", "{out}", "--plan"]),
    "diagnosis": ("diagnosis.json", ["report", "{data}"]),
    "run": ("run.json", ["runs", "show", "{data}"]),
    "inspect eval": ("log.eval", ["check", "replay:{data}/log.eval"]),
    "lmms-eval": ("x_samples_y.jsonl", ["check", "replay:{data}/x_samples_y.jsonl"]),
}  # fmt: skip
"""By format: the file that is broken, and the command that reads it."""


CONTENTS = (b"", b'{"a": [1, 2', "[]".encode("utf-16"), b"[" * 5000)


@pytest.mark.parametrize("name", LINES)
def test_a_broken_file_is_one_sentence_at_exit_code_2(folder, tmp_path, capsys, name):
    file, line = LINES[name]
    for content in CONTENTS:
        data = folder(name, **{file: content})
        assert main([word.format(data=data, out=tmp_path / "out") for word in line]) == 2
        told = capsys.readouterr().err.strip()
        assert "Traceback" not in told
        assert len(told.splitlines()) == 1
        assert file.rpartition("/")[2] in told or str(data) in told


def broken(content, change):
    """A JSON file with a change."""
    value = json.loads(content)
    change(value)
    return json.dumps(value).encode()


RECORDS = {
    "nuscenes": ("v1.0/sample_annotation.json", lambda v: v[1].pop("size"), "sample_annotation.json[1]: size: Field required"),
    "camera-boxes": ("boxes.json", lambda v: v["cameras"]["B"].update(cam2img=7), "boxes.json, cameras.B: cam2img"),
    "scannetpp": ("s/scans/segments_anno.json", lambda v: v["segGroups"].append({"label": 5}), "segments_anno.json, segGroups[3]: label"),
    "coco": ("instances.json", lambda v: v["annotations"][2].pop("bbox"), "instances.json: annotations[2]: bbox: Field required"),
    "whatsup": ("captions.json", lambda v: v.append([3]), "captions.json[2]: captions"),
    "star": ("questions.json", lambda v: v[1].pop("video_id"), "questions.json, question 2 video_id: Field required"),
    "r2r": ("R2R_x.json", lambda v: v[1].update(heading="x"), "R2R_x.json, path 2 heading"),
}  # fmt: skip
"""By format: the file, how one of its records is broken, and what is told."""


@pytest.mark.parametrize("name", RECORDS)
def test_a_broken_record_is_left_out_and_told(folder, tmp_path, capsys, samples, name):
    file, change, told = RECORDS[name]
    data = folder(name, **{file: broken(samples[name][file], change)})
    options = (
        ["--least-visibility", "0", "--unknown-visibility", "keep"]
        if LINES[name][1][:2] == ["scene", "import"]
        else []
    )
    assert main([word.format(data=data, out=tmp_path / "out") for word in LINES[name][1]] + options) == 0
    shown = capsys.readouterr()
    assert told in " ".join((shown.out + shown.err).split())


LINE_RECORDS = {
    "vsr": ("test.jsonl", 0, "test.jsonl, line 3: it is"),
    "pairs": ("pairs.jsonl", 1, "pairs.jsonl, line 2: "),
    "episodes": ("episodes.jsonl", 0, "episodes.jsonl, line 2"),
    "videos": ("list.jsonl", 0, "list.jsonl, line 2"),
    "scene data": ("questions.jsonl", 0, "questions.jsonl, line 2"),
    "questions": ("questions.jsonl", 0, "questions.jsonl, line 2"),
}


@pytest.mark.parametrize("name", LINE_RECORDS)
def test_a_broken_line_is_left_out_and_told(folder, tmp_path, capsys, samples, name):
    file, status, told = LINE_RECORDS[name]
    lines = samples[name][file].splitlines()
    number = int("".join(filter(str.isdigit, told.partition("line")[2])))
    data = folder(name, **{file: b"\n".join([*lines[: number - 1], b"{broken", *lines[number - 1 :]])})
    assert main([word.format(data=data, out=tmp_path / "out") for word in LINES[name][1]]) == status
    shown = capsys.readouterr()
    assert told.removesuffix(": it is") in " ".join((shown.out + shown.err).split())

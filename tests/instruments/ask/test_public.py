"""Public data sets, fetched from a server on this machine that answers as the hub does."""

import hashlib
import io
import json
import tomllib
import zipfile
from dataclasses import replace
from importlib.resources import files as resources

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from file_server import Files, serving
from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.core.types import fields_of
from theodolite.instruments.ask.data import public
from theodolite.instruments.ask.data.public import PublicData, find_public, get_public, public_data
from theodolite.instruments.ask.data.questions import load_questions, natural_groups

NAMES = {data.name for data in public_data()}


def png(seed):
    picture = np.random.default_rng(seed).integers(0, 255, (24, 32, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(picture).save(out, "PNG")
    return out.getvalue()


def image(seed):
    return {"bytes": png(seed), "path": f"{seed}.png"}


def table(rows):
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


POPE = [
    {"id": str(i), "question_id": str(i), "question": f"Is there a {thing} in the image?", "answer": answer,
     "image_source": f"COCO_{i // 2}", "image": image(i // 2), "category": "adversarial"}
    for i, (thing, answer) in enumerate([("dog", "yes"), ("cup", "no"), ("dog", "no"), ("cup", "yes")])
]  # fmt: skip
NATURALBENCH = [
    {"Index": i, "Image_0": image(2 * i), "Image_1": image(2 * i + 1), "Source": "Flickr",
     "Question_0": "Is the man running?", "Question_1": "What is red?\nOption: A:The car; B:The house;",
     "Image_0_Question_0": "Yes", "Image_1_Question_0": "No", "Image_0_Question_1": "B", "Image_1_Question_1": "A",
     "Question_Type": "yes_no"}
    for i in range(3)
]  # fmt: skip
BLINK = [
    {"idx": f"val_Jigsaw_{i}", "question": "Which one fits?", "sub_task": "Jigsaw", "image_1": image(9 * i),
     "image_2": image(9 * i + 1), "image_3": image(9 * i + 2) if i else None, "image_4": None,
     "choices": ["the second image", "the third image"], "answer": f"({'AB'[i]})",
     "prompt": "Which one fits?\nSelect from the following choices.\n(A) the second image\n(B) the third image"}
    for i in range(2)
]  # fmt: skip
HALLUSION = [
    {"category": "VD", "subcategory": "chart", "visual_input": "1", "set_id": "0", "figure_id": str(i), "sample_note": "",
     "question_id": "0", "question": "Is A above B?", "gt_answer_details": "", "gt_answer": answer,
     "filename": f"./hallusion_bench/VD/chart/0_{i}.png", "image": image(i)}
    for i, answer in enumerate("01")
]  # fmt: skip
WINOGROUND = [
    {"id": 0, "image_0": image(1), "image_1": image(2), "caption_0": "a cat on a {mat}", "caption_1": "a mat on a cat",
     "tag": "Noun", "secondary_tag": "", "num_main_preds": 1, "collapsed_tag": "Object"}
]  # fmt: skip
MMVP = (
    "Index,Question,Options,Correct Answer\n"
    "1,Are the wings open?,(a) Open (b) Closed,(a)\n2,Are the wings open?,(a) Open (b) Closed,(b)\n"
    "3,Is it day?,(a) Yes (b) No,(a)\n"
)
HUB = {
    "pope": ({"data/test-00000-of-00001.parquet": table(POPE), "README.md": b"..."}, 4, 2),
    "naturalbench": ({"data/train-00000-of-00001.parquet": table(NATURALBENCH)}, 12, 6),
    "blink": (
        {"Jigsaw/val-00000-of-00001.parquet": table(BLINK), "Jigsaw/test-00000-of-00001.parquet": b"no"},
        2,
        1,
    ),
    "hallusionbench": ({"data/image-00000-of-00001.parquet": table(HALLUSION)}, 2, 1),
    "winoground": ({"data/test-00000-of-00001.parquet": table(WINOGROUND)}, 4, 2),
    "mmvp": (
        {"Questions.csv": MMVP.encode(), "MMVP Images/1.jpg": png(1), "MMVP Images/2.jpg": png(2)},
        2,
        1,
    ),
}
"""The files of a data set on the hub in small, how many questions they make, and how many groups have a pair."""


@pytest.fixture
def hub(monkeypatch):
    with serving(Files()) as files:
        monkeypatch.setenv("HF_ENDPOINT", files.address)
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
        yield files


def test_the_registry_says_nothing_that_is_not_read():
    declared = tomllib.loads(
        resources(public.__package__).joinpath("public.toml").read_text(encoding="utf-8")
    )
    known = set(PublicData.__dataclass_fields__)
    for name, entry in declared.items():
        assert set(entry) <= known - {"name"}, name
        for each in entry.get("fetch", ()):
            assert set(each) <= set(public.Address.__dataclass_fields__), name
    assert {
        "pope",
        "vsr",
        "whatsup",
        "naturalbench",
        "mmvp",
        "blink",
        "hallusionbench",
        "winoground",
        "coco",
    } == NAMES


@pytest.mark.parametrize("data", public_data(), ids=lambda data: data.name)
def test_every_data_set_says_where_it_is_from(data):
    assert data.licence
    assert data.cite
    assert data.page.startswith("https://")
    assert bool(data.hub) + bool(data.fetch) + bool(data.by_hand) == 1
    assert bool(data.files) == bool(data.hub)
    for each in data.fetch:
        assert len(each.sha256) == 64
        assert int(each.sha256, 16)
        assert each.size > 0
    assert "{" not in data.commands("folder")


@pytest.mark.parametrize("name", HUB)
def test_a_data_set_of_the_hub_becomes_questions(hub, tmp_path, capsys, name):
    data, (files, n, pairs) = find_public(name), HUB[name]
    hub.hub(data.hub, files)
    folder = tmp_path / name
    assert main(["data", "get", name, "--out", str(folder), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["questions"], said["commit"]) == (n, "c0ffee")
    assert said["command"] == f"theodolite diagnose --model MODEL --data {folder}"
    loaded = load_questions(folder)
    assert (len(loaded.questions), loaded.unused) == (n, {})
    assert sum(len(group) > 1 for group in natural_groups(loaded.questions)) == pairs
    assert all(path.is_file() and not path.is_symlink() for path in folder.rglob("*") if not path.is_dir())
    assert not list(folder.rglob("*.parquet"))
    assert "README.md" not in said["files"]
    assert (
        main(
            ["ask", "run", "--model", "scripted:guesser", "--data", str(folder), "--out", str(tmp_path / "r")]
        )
        == 0
    )


def test_questions_are_what_the_rows_say(hub, tmp_path):
    for name in ("pope", "blink", "mmvp", "hallusionbench", "winoground", "naturalbench"):
        hub.hub(find_public(name).hub, HUB[name][0])
        get_public(find_public(name), tmp_path / name)
    asked = {name: load_questions(tmp_path / name).questions for name in ("pope", "blink", "mmvp")}
    assert [each.answer for each in asked["pope"]] == ["yes", "no", "no", "yes"]
    assert asked["pope"][0].pictures == asked["pope"][1].pictures
    assert len(list((tmp_path / "pope/pictures").iterdir())) == 2
    assert [len(each.pictures) for each in asked["blink"]] == [2, 3]
    assert [each.answer for each in asked["blink"]] == ["the second image", "the third image"]
    assert [(each.options, each.answer) for each in asked["mmvp"]] == [
        (("Open", "Closed"), "Open"),
        (("Open", "Closed"), "Closed"),
    ]
    assert [each.answer for each in load_questions(tmp_path / "hallusionbench").questions] == ["no", "yes"]
    four = load_questions(tmp_path / "winoground").questions
    assert [each.answer for each in four] == ["yes", "no", "no", "yes"]
    assert four[0].question.startswith("Is this sentence true of the picture? a cat on a {mat}\n")
    many = load_questions(tmp_path / "naturalbench").questions
    assert {each.answer for each in many} == {"Yes", "No", "The car", "The house"}


def test_rows_without_a_picture_are_counted(hub, tmp_path, capsys):
    hub.hub("MMVP/MMVP", HUB["mmvp"][0])
    assert main(["data", "get", "MMVP", "--out", str(tmp_path / "m")]) == 0
    told = capsys.readouterr()
    assert "left out: 1 × picture not found" in told.err
    assert told.out.strip() == f"theodolite diagnose --model MODEL --data {tmp_path / 'm'}"
    assert "issue 30" in told.err
    asked = len(hub.asked)
    assert main(["data", "get", "mmvp", "--out", str(tmp_path / "m")]) == 0
    assert len(hub.asked) == asked
    assert main(["data", "get", "pope", "--out", str(tmp_path / "m")]) == 2
    assert "has MMVP; choose another --out" in capsys.readouterr().err


def test_terms_that_need_a_login(hub, tmp_path, capsys, monkeypatch):
    hub.token = "secret"
    hub.hub("facebook/winoground", HUB["winoground"][0])
    words = ["data", "get", "winoground", "--out", str(tmp_path / "w")]
    assert main(words) == 2
    told = capsys.readouterr().err
    assert "accept the terms of Winoground on https://huggingface.co/datasets/facebook/winoground" in told
    assert "hf auth login" in told
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "secret")
    assert main(words) == 0
    assert "secret" not in "".join(path.read_text() for path in (tmp_path / "w").glob("*.json*"))


def test_without_a_network_the_lines_to_type_and_what_was_brought(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    words = ["data", "get", "mmvp", "--out", str(tmp_path / "m")]
    assert main(words) == 2
    told = capsys.readouterr().err
    assert (
        "hf download --repo-type dataset MMVP/MMVP --include Questions.csv 'MMVP Images/*.jpg' --local-dir"
        in told
    )
    for name, data in HUB["mmvp"][0].items():
        path = tmp_path / "m" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert main(words) == 0
    assert len(load_questions(tmp_path / "m").questions) == 2


def test_a_hub_that_lists_evil_names(hub, tmp_path):
    data = replace(find_public("mmvp"), files=("*/*/*", "*"))
    hub.hub("MMVP/MMVP", {"../../evil": b"x"})
    with pytest.raises(UsageError, match="lies outside"):
        get_public(data, tmp_path / "m")
    assert not (tmp_path.parent / "evil").exists()


@pytest.mark.parametrize(
    "listing", [b"[]", b'{"sha": "a"}', b'{"sha": "a", "siblings": [{"rfilename": "Questions.csv"}]}']
)
def test_a_hub_that_lists_something_else(hub, tmp_path, listing):
    hub.content["/api/datasets/MMVP/MMVP"] = listing
    with pytest.raises(UsageError, match="does not list files as the hub does"):
        get_public(find_public("mmvp"), tmp_path / "m")


def test_a_hub_without_the_files_or_with_other_columns(hub, tmp_path):
    hub.hub("lmms-lab-encoder/POPE", {"README.md": b"moved"})
    with pytest.raises(UsageError, match="has no files data/test-"):
        get_public(find_public("pope"), tmp_path / "p")
    hub.hub("lmms-lab-encoder/POPE", {"data/test-0.parquet": table([{"image": image(1), "asked": "?"}])})
    with pytest.raises(UsageError, match="no row of POPE makes a question: no question"):
        get_public(find_public("pope"), tmp_path / "p")
    assert not (tmp_path / "p" / "questions.jsonl").exists()


@pytest.fixture
def authors():
    """A data set of two files at an address: one plain, one an archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("val2017/1.jpg", png(1))
        archive.writestr("val2017/deep/2.jpg", png(2))
        archive.writestr("train2017/3.jpg", png(3))
    content = {"val2017.zip": packed.getvalue(), "test.jsonl": b'{"a": 1}\n'}
    with serving(Files({f"/{name}": data for name, data in content.items()})) as files:
        fetch = tuple(
            public.Address(
                name=name,
                address=f"{files.address}/{name}",
                size=len(data),
                sha256=hashlib.sha256(data).hexdigest(),
                unpack=("val2017/*.jpg",) if name.endswith("zip") else (),
            )
            for name, data in content.items()
        )
        entry = {**fields_of(find_public("coco")), "fetch": fetch, "note": ""}
        yield files, PublicData(**entry)


def test_files_of_the_authors_and_members_of_archives(authors, tmp_path):
    _, data = authors
    get_public(data, tmp_path / "c")
    there = sorted(path.relative_to(tmp_path / "c").as_posix() for path in (tmp_path / "c").rglob("*"))
    assert there == ["source.json", "test.jsonl", "val2017", "val2017/1.jpg"]


def test_an_archive_that_was_brought(authors, tmp_path):
    files, data = authors
    content, files.content = files.content, {}
    with pytest.raises(UsageError, match=r"curl --location --create-dirs --output .*val2017.zip http"):
        get_public(data, tmp_path / "c")
    (tmp_path / "c").mkdir(exist_ok=True)
    for name, packed in content.items():
        (tmp_path / "c" / name[1:]).write_bytes(packed)
    get_public(data, tmp_path / "c")
    assert (tmp_path / "c/val2017/1.jpg").read_bytes() == png(1)
    (tmp_path / "c" / "source.json").unlink()
    (tmp_path / "c" / "test.jsonl").write_text("another")
    with pytest.raises(UsageError, match="is another file than that of"):
        get_public(data, tmp_path / "c")


def test_an_archive_that_is_a_bomb_or_none(tmp_path):
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("val2017/1.jpg", b"\0" * (200 << 20))
    for data, message in ((bomb.getvalue(), "unpacks to more than 128 MiB"), (b"PK no", "not a zip")):
        path = tmp_path / "a.zip"
        path.write_bytes(data)
        with pytest.raises(UsageError, match=message):
            public._unpack(path, ("val2017/*.jpg",), tmp_path)
    assert not (tmp_path / "val2017").exists()


def test_members_cannot_lead_out_of_the_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("../evil.jpg", b"x")
    with pytest.raises(UsageError, match="lies outside"):
        public._unpack(tmp_path / "a.zip", ("*/*.jpg",), tmp_path / "c")


def test_what_is_fetched_by_hand(tmp_path, capsys):
    words = ["data", "get", "What'sUp", "--out", str(tmp_path / "w")]
    assert main(words) == 2
    told = capsys.readouterr().err
    assert (
        f"gdown 1ap8mmmpQjLIjPGuplkpBgc1hoEHCj4hm -O {tmp_path / 'w'}/controlled_images_dataset.json" in told
    )
    (tmp_path / "w" / "controlled_images").mkdir(parents=True)
    rows = []
    for number, place in enumerate(("left", "right")):
        path = tmp_path / "w" / "controlled_images" / f"cup_{place}_of_box.jpeg"
        path.write_bytes(png(number))
        captions = [
            f"A cup to the {side} of a box" for side in (place, "right" if place == "left" else "left")
        ]
        rows.append({"image_path": f"data/controlled_images/{path.name}", "caption_options": captions})
    (tmp_path / "w" / "controlled_images_dataset.json").write_text(json.dumps(rows))
    assert main([*words, "--json"]) == 0
    command = json.loads(capsys.readouterr().out)["command"].split()
    assert (
        len(load_questions(tmp_path / "w" / "controlled_images_dataset.json", tmp_path / "w").questions) == 2
    )
    assert command[-3:-1] == [f"{tmp_path / 'w'}/controlled_images_dataset.json", "--images"]


def test_the_list_and_unknown_names(capsys):
    assert main(["data", "list"]) == 0
    told = capsys.readouterr().out
    for data in public_data():
        assert data.name in told
        assert data.licence in told
    assert "needs a login" in told
    assert main(["data", "list", "--json"]) == 0
    assert {each["name"] for each in json.loads(capsys.readouterr().out)} == NAMES
    assert main(["data", "get", "popes"]) == 2
    assert "did you mean 'pope'?" in capsys.readouterr().err

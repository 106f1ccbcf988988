"""Each source on hand-made files in its documented format; COCO and VSR on real ones too."""

import io
import json
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from PIL import Image

from theodolite.core.errors import UsageError
from theodolite.core.files import dump
from theodolite.core.registry import registry
from theodolite.core.types import Picture
from theodolite.geometry.directions import CARDINAL, EIGHT
from theodolite.instruments.compass.data.coco import MatchPolicy, coco_pairs
from theodolite.instruments.compass.data.drawn import SquaresPlan, coloured_squares
from theodolite.instruments.compass.data.gqa import gqa_pairs
from theodolite.instruments.compass.data.pairs import PairFilters, SelectionReport
from theodolite.instruments.compass.data.vsr import vsr_audit, vsr_pairs
from theodolite.instruments.compass.data.whatsup import whatsup_pairs

WIDTH, HEIGHT = 200, 100


@pytest.fixture
def images(tmp_path):
    """Four pictures of 200 × 100."""
    (tmp_path / "images").mkdir()
    for number in range(1, 5):
        made = Picture.from_array(np.full((HEIGHT, WIDTH, 3), 40 * number, np.uint8))
        for name in (f"{number:012d}.jpg", f"{number}.jpg"):
            (tmp_path / "images" / name).write_bytes(made.read())
    return tmp_path / "images"


def written(tmp_path, value, name="file.json"):
    path = tmp_path / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def coco(*annotations, pictures=(1, 2, 3, 4), size=(WIDTH, HEIGHT)):
    """A COCO file: annotations are (picture, name, x, y, width, height[, is crowd])."""
    names = ["dog", "cat", "car", "dining table", "hot dog"]
    return {
        "images": [
            {"id": i, "file_name": f"{i:012d}.jpg", "width": size[0], "height": size[1], "license": 1}
            for i in pictures
        ],
        "annotations": [
            {
                "id": k, "image_id": each[0], "category_id": 10 + names.index(each[1]), "bbox": list(each[2:6]),
                "area": each[4] * each[5] / 2, "iscrowd": int(len(each) > 6), "segmentation": [],
            }
            for k, each in enumerate(annotations)
        ],
        "categories": [{"id": 10 + i, "name": name, "supercategory": "x"} for i, name in enumerate(names)],
    }  # fmt: skip


DOG, CAT, CAR = (1, "dog", 10, 30, 40, 40), (1, "cat", 120, 35, 40, 30), (1, "car", 15, 2, 20, 20)


# COCO


def test_every_ordered_pair_of_named_objects(tmp_path, images):
    pairs, report = taken(coco_pairs(written(tmp_path, coco(DOG, CAT, CAR)), images))
    assert [(p.reference.name, p.target.name, p.direction) for p in pairs] == [
        ("dog", "cat", "right"),
        ("dog", "car", "above"),
        ("cat", "dog", "left"),
        ("cat", "car", "left"),
        ("car", "dog", "below"),
        ("car", "cat", "right"),
    ]
    first = pairs[0]
    assert first.id == "000000000001-dog-to-cat"
    assert (first.size_px, first.source) == ((WIDTH, HEIGHT), "coco-pairs")
    assert [box.centre_px for box in first.others] == [(25, 12)]
    assert first.picture.path == images / "000000000001.jpg"
    assert report.candidates == report.kept == 6
    assert report.pictures == 1


def taken(selection):
    report = selection.report
    assert report.kept == len(selection.pairs)
    assert report.candidates == report.kept + sum(report.excluded.values())
    assert sum(report.directions.values()) == report.kept
    json.dumps(dump(report), allow_nan=False)
    return selection.pairs, report


def test_every_filter_counts_what_falls_to_it(tmp_path, images):
    others = [
        (2, "dog", 10, 30, 40, 40),
        (2, "cat", 120, 35, 40, 30),
        (2, "car", 0, 0, 50, 20, "crowd"),
        (2, "dining table", 100, 10, 0, 20),
        (2, "hot dog", 100, 10, 5, 10),
        (3, "dog", 10, 30, 40, 40),
        (3, "dog", 90, 30, 40, 40),
        (3, "cat", 120, 35, 40, 30),
        (3, "car", 0, 0, 200, 60),
        (4, "dog", 10, 30, 40, 40),
        (4, "cat", 20, 35, 40, 40),
    ]
    _, report = taken(coco_pairs(written(tmp_path, coco(DOG, CAT, *others)), images))
    assert report.candidates == 2 + 20 + 12 + 2
    assert report.excluded == {
        "a crowd": 20 - 12,
        "an empty box": 12 - 6,
        "a name that occurs twice": 12 - 2,
        "an object too small": 6 - 2,
        "an object too large": 2,
        "too near each other": 2,
    }
    assert report.kept == 4
    assert report.parameters["min_distance"] == 0.15


def test_every_picture_that_cannot_be_used_costs_its_own_pairs(tmp_path, images):
    """All sources find their pictures in the same way; here COCO, whose pictures 2 to 9 are spoiled one by one."""
    names = [f"{i:012d}.jpg" for i in range(1, 10)]
    whole = Picture.from_array(np.random.default_rng(0).integers(0, 255, (HEIGHT, WIDTH, 3), np.uint8)).read()
    jpeg = io.BytesIO()
    Image.fromarray(Picture.from_bytes(whole).pixels()).save(jpeg, "JPEG")
    contents = [
        whole,  # a PNG by another name is a picture
        jpeg.getvalue()[: len(jpeg.getvalue()) // 2],
        whole[: len(whole) // 2],
        b"",
        b"<html>not found</html>",
        whole[:20],
        Picture.from_array(np.zeros((HEIGHT, WIDTH + 1, 3), np.uint8)).read(),
        jpeg.getvalue(),
    ]
    for name, content in zip(names, contents, strict=False):
        (images / name).write_bytes(content)
    (images / names[8]).mkdir()
    rows = [(i, *each[1:]) for i in range(1, 10) for each in (DOG, CAT)]
    pairs, report = taken(coco_pairs(written(tmp_path, coco(*rows, pictures=range(1, 10))), images))
    assert {pair.picture.path.name for pair in pairs} == {names[0], names[7]}
    assert report.excluded == {
        "picture not found": 2,
        "picture file that is empty": 2,
        "file that is not a picture": 2,
        "picture that is damaged, cut short or too large": 6,
        "picture of another size than annotated": 2,
    }
    assert report.notes[0].endswith(f"the first not found is {names[8]}")
    assert report.notes[1].startswith("5 pictures cannot be used; the first: cannot decode the picture")
    assert "BytesIO" not in str(report.notes)


def test_a_crowd_makes_a_name_ambiguous(tmp_path, images):
    path = written(
        tmp_path, coco(DOG, CAT, (1, "dog", 100, 5, 40, 20, "crowd"), (2, *DOG[1:]), (2, *CAT[1:]))
    )
    pairs, report = taken(coco_pairs(path, images))
    assert report.excluded == {"a crowd": 4, "a name that occurs twice": 2}
    assert {pair.picture.path.name for pair in pairs} == {"000000000002.jpg"}


def test_filters_are_parameters(tmp_path, images):
    path = written(tmp_path, coco(DOG, CAT, CAR, (2, *DOG[1:]), (2, "cat", 50, 75, 20, 20)))
    assert taken(coco_pairs(path, images))[1].kept == 8
    assert taken(coco_pairs(path, images, filters=PairFilters(area_of="mask")))[1].excluded == {}
    tight = PairFilters(min_area=0.04, max_area=0.07)
    assert taken(
        coco_pairs(written(tmp_path, coco((1, "dog", 10, 30, 40, 30), CAT, CAR)), images, filters=tight)
    )[1].excluded == {"an object too small": 4}
    path = written(tmp_path, coco(DOG, CAT, CAR, (2, *DOG[1:]), (2, "cat", 50, 75, 20, 20)))
    far = taken(coco_pairs(path, images, filters=PairFilters(min_distance=0.4)))[1]
    assert far.excluded == {"too near each other": 4}
    clear = taken(coco_pairs(path, images, filters=PairFilters(min_margin_deg=30)))[1]
    assert clear.excluded == {"too near a border between directions": 2}
    assert {p.direction for p in coco_pairs(path, images, vocabulary=EIGHT).pairs} >= {
        "below right",
        "above left",
    }


@pytest.mark.parametrize(
    "change",
    [{"min_area": 0.6}, {"min_area": -1}, {"min_distance": -1}, {"min_margin_deg": -1}, {"area_of": "hull"}],
)
def test_impossible_filters_are_refused(change):
    with pytest.raises(UsageError):
        PairFilters(**change)


def test_pictures_that_are_not_there_or_not_the_same_are_counted(tmp_path, images):
    (images / "000000000002.jpg").unlink()
    Path3 = images / "000000000003.jpg"  # noqa: N806 - a constant of this test
    Path3.write_bytes(Picture.from_array(np.zeros((90, 200, 3), np.uint8)).read())
    both = [(i, *each[1:]) for i in (1, 2, 3) for each in (DOG, CAT)]
    pairs, report = taken(coco_pairs(written(tmp_path, coco(*both)), images))
    assert report.excluded == {"picture not found": 2, "picture of another size than annotated": 2}
    assert "000000000002.jpg" in report.notes[0]
    assert len(pairs) == 2
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        UsageError, match=r"none of 6 candidates is left.*6 × picture not found.*looked for in"
    ):
        coco_pairs(written(tmp_path, coco(*both)), tmp_path / "empty")
    with pytest.raises(UsageError, match="no folder of pictures"):
        coco_pairs(written(tmp_path, coco(*both)), tmp_path / "nowhere")


def test_a_file_name_may_not_leave_the_folder(tmp_path, images):
    file = coco(DOG, CAT)
    file["images"][0]["file_name"] = "../file.json"
    with pytest.raises(UsageError, match="2 × picture outside the folder of pictures"):
        coco_pairs(written(tmp_path, file), images)


def broken(change):
    file = coco(DOG, CAT)
    change(file)
    return file


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("{no json", "is not JSON: key must be a string at line 1 column 2"),
        ([], "does not have COCO's instances: Input should be"),
        ({"images": []}, "annotations: Field required"),
        (broken(lambda f: f.update(images={})), "images: Input should be a valid list"),
    ],
)
def test_a_broken_coco_file_is_one_sentence(tmp_path, images, file, message):
    with pytest.raises(UsageError, match=message) as caught:
        coco_pairs(written(tmp_path, file), images)
    assert "file.json" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "place", "reason"),
    [
        (lambda f: f["annotations"][2].pop("bbox"), "annotations[2]", "bbox: Field required"),
        (lambda f: f["annotations"][2].update(bbox=[1, 2, 3]), "annotations[2]", "bbox.3: Field required"),
        (
            lambda f: f["annotations"][2].update(bbox=[1, 2, 3, 1e300]),
            "annotations[2]",
            "bbox.3: Input should be less",
        ),
        (lambda f: f["annotations"][2].update(image_id=9), "annotations[2]", "names the picture 9"),
        (lambda f: f["annotations"].append(5), "annotations[4]", "Input should be"),
        (lambda f: f["images"][1].update(width=0), "images[1]", "width: Input should be greater"),
        (lambda f: f["images"].append(f["images"][0]), "images[4]", "the id 1 occurs twice"),
        (
            lambda f: f["categories"].append({"id": "x"}),
            "categories[5]",
            "id: Input should be a valid integer",
        ),
    ],
)
def test_a_broken_coco_record_costs_itself(tmp_path, images, change, place, reason):
    file = coco(DOG, CAT, (2, *DOG[1:]), (2, *CAT[1:]))
    change(file)
    pairs, report = taken(coco_pairs(written(tmp_path, file), images))
    assert {pair.id[:12] for pair in pairs} >= {"000000000001"}
    assert sum(report.broken.values()) >= 1
    (told,) = [note for note in report.notes if "broken" in note]
    assert f"file.json: {place}: {reason}" in told


def test_beside_a_broken_annotation_no_name_is_unique(tmp_path, images):
    file = coco(DOG, CAT, (1, "dog", 10, 10, 20, 20), (2, *DOG[1:]), (2, *CAT[1:]))
    del file["annotations"][2]["bbox"]
    pairs, report = taken(coco_pairs(written(tmp_path, file), images))
    assert {pair.id[:12] for pair in pairs} == {"000000000002"}
    assert report.excluded["a name that occurs twice"] > 0


def test_no_file_and_no_stated_area_are_told(tmp_path, images):
    with pytest.raises(UsageError, match=r"cannot read the annotations .*nowhere\.json"):
        coco_pairs(tmp_path / "nowhere.json", images)
    file = broken(lambda f: f["annotations"][0].pop("area"))
    assert coco_pairs(written(tmp_path, file), images).report.kept == 2
    with pytest.raises(UsageError, match="no stated area"):
        coco_pairs(written(tmp_path, file), images, filters=PairFilters(area_of="mask"))


@pytest.fixture(scope="module")
def real_coco(shared_data):
    return shared_data / "coco_tiny_val" / "instances.json", shared_data / "coco_tiny_val" / "images"


def test_the_real_pictures_give_178_pairs(real_coco):
    pairs, report = taken(coco_pairs(*real_coco))
    assert report.kept == 178
    assert report.directions == {"left": 66, "right": 66, "above": 23, "below": 23}
    assert report.pictures == 35
    assert len({pair.id for pair in pairs}) == 178
    assert coco_pairs(*real_coco, filters=PairFilters(area_of="mask")).report.kept == 134


def test_the_real_pairs_equal_a_plain_count(real_coco):
    """Counted again from the raw file, filter by filter."""
    file = json.loads(real_coco[0].read_text())
    lost = Counter()
    for image in file["images"]:
        mine = [a for a in file["annotations"] if a["image_id"] == image["id"]]
        names = Counter(a["category_id"] for a in mine)
        whole, diagonal = image["width"] * image["height"], np.hypot(image["width"], image["height"])
        for a, b in permutations(mine, 2):
            areas = [each["bbox"][2] * each["bbox"][3] / whole for each in (a, b)]
            ca, cb = (np.array(each["bbox"][:2]) + np.array(each["bbox"][2:]) / 2 for each in (a, b))
            if a["iscrowd"] or b["iscrowd"]:
                lost["a crowd"] += 1
            elif names[a["category_id"]] > 1 or names[b["category_id"]] > 1:
                lost["a name that occurs twice"] += 1
            elif min(areas) < 0.01:
                lost["an object too small"] += 1
            elif max(areas) > 0.5:
                lost["an object too large"] += 1
            elif np.hypot(*(cb - ca)) <= 0.15 * diagonal:
                lost["too near each other"] += 1
            else:
                lost["kept"] += 1
    report = coco_pairs(*real_coco).report
    assert {**report.excluded, "kept": report.kept} == dict(lost)


def test_a_sample_is_balanced_and_comes_from_its_seed(real_coco):
    one, same, other = (coco_pairs(*real_coco, n=82, seed=seed) for seed in (1, 1, 2))
    _, report = taken(one)
    assert report.directions == {"left": 20, "right": 20, "above": 21, "below": 21}
    assert report.excluded["not drawn"] == 96
    assert one.pairs == same.pairs != other.pairs
    with pytest.raises(
        UsageError, match=r"300 balanced pairs need 75 'above', and there are 23; take --size 92"
    ):
        coco_pairs(*real_coco, n=300)
    assert coco_pairs(*real_coco, n=92).report.directions == dict.fromkeys(CARDINAL.names, 23)
    with pytest.raises(UsageError, match="at least 1"):
        coco_pairs(*real_coco, n=0)


def test_a_report_must_add_up():
    with pytest.raises(UsageError, match="7 candidates are not 3 kept and 2 excluded"):
        SelectionReport("x", {}, 7, {"a": 2}, 3, {}, 1)


# GQA


def scene(**objects):
    """Objects by id: (name, x, y, w, h, [(relation, id), …])."""
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "location": "indoors",
        "objects": {
            key: {
                "name": name, "x": x, "y": y, "w": w, "h": h, "attributes": [],
                "relations": [{"name": relation, "object": other} for relation, other in relations],
            }
            for key, (name, x, y, w, h, relations) in objects.items()
        },
    }  # fmt: skip


def test_scene_graphs_give_the_relations_that_agree_with_their_boxes(tmp_path, images):
    graphs = {
        "1": scene(
            a=("cup", 20, 30, 30, 40, [("to the left of", "b"), ("holding", "b"), ("to the left of", "b")]),
            b=("lamp", 140, 30, 30, 40, [("to the right of", "a"), ("above", "a")]),
            c=("tiny", 100, 5, 2, 2, [("to the left of", "b")]),
        ),
        "2": scene(
            a=("cup", 20, 30, 30, 40, [("to the left of", "b")]),
            b=("cup", 140, 30, 30, 40, []),
            c=("cat", 20, 35, 34, 40, []),
            d=("dog", 22, 30, 30, 40, [("above", "c")]),
        ),
        "9": scene(a=("cup", 20, 5, 40, 30, [("above", "b")]), b=("mat", 20, 60, 40, 30, [])),
    }
    pairs, report = taken(gqa_pairs(written(tmp_path, graphs), images))
    assert [(p.target.name, p.direction, p.reference.name) for p in pairs] == [
        ("cup", "left", "lamp"),
        ("lamp", "right", "cup"),
    ]
    assert [box.centre_px for box in pairs[0].others] == [(101, 6)]
    assert report.candidates == 8
    assert report.excluded == {
        "a name that occurs twice": 1,
        "an object too small": 1,
        "too near each other": 1,
        "words that do not agree with the boxes": 1,
        "written twice": 1,
        "picture not found": 1,
    }


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ({"1": {"width": 5, "height": 5}}, r"scenes\.1: objects: Field required"),
        (
            {"1": scene(a=("cup", 1, 1, 5, 5, [("above", "z")]))},
            r"scenes\.1\.objects\.a: is above 'z', which is not there",
        ),
        ({"1": scene(a=("", 1, 1, 5, 5, []))}, r"scenes\.1: objects\.a\.name"),
        ([], "must be an object"),
    ],
)
def test_a_wrong_scene_graph_is_told_by_record(tmp_path, images, graphs, message):
    with pytest.raises(UsageError, match=message) as caught:
        gqa_pairs(written(tmp_path, graphs), images)
    assert "file.json" in str(caught.value)
    with pytest.raises(UsageError, match="no masks"):
        gqa_pairs(written(tmp_path, graphs), images, filters=PairFilters(area_of="mask"))


def test_an_empty_box_of_a_scene_graph_is_counted(tmp_path, images):
    graph = scene(
        a=("cup", 20, 30, 0, 40, [("to the left of", "b")]),
        b=("lamp", 140, 30, 30, 40, [("to the right of", "c")]),
        c=("cat", 20, 30, 30, 40, []),
    )
    pairs, report = taken(gqa_pairs(written(tmp_path, {"1": graph}), images))
    assert report.excluded == {"an empty box": 1}
    assert pairs[0].others == ()


# VSR


def caption(image, text, relation, label=1):
    return {
        "image": f"{image:012d}.jpg", "image_link": "http://…", "caption": text, "label": label, "relation": relation,
        "annotator_id": 1, "vote_true_validator_id": "[2, 9]", "vote_false_validator_id": "[]", "reference_frame": None,
    }  # fmt: skip


VSR = [
    caption(1, "The cat is right of the dog.", "right of"),
    caption(1, "The cat is right of the dog.", "right of", 0),
    caption(1, "The dog is touching the cat.", "touching"),
    caption(1, "The dog is at the left side of the cat.", "at the left side of"),
    caption(1, "The dog is under the cat.", "under"),
    caption(2, "The dining table is above the dog.", "above"),
    caption(2, "The unicorn is above the dog.", "above"),
    caption(2, "The car is above the dog.", "above"),
    caption(3, "The hot dog is above the dog.", "above"),
    caption(8, "The cat is above the dog.", "above"),
    caption(1, "Nothing of the sort", "above"),
]
VSR_BOXES = coco(
    DOG,
    CAT,
    (2, "dog", 20, 60, 40, 30),
    (2, "dining table", 15, 2, 50, 30),
    (3, "dog", 10, 50, 40, 40),
    (3, "dog", 90, 50, 20, 20),
    (3, "hot dog", 10, 2, 40, 20),
)


def lines(tmp_path, rows, name="test.jsonl"):
    return written(tmp_path, "\n".join(json.dumps(row) for row in rows) + "\n", name)


def test_captions_are_matched_to_boxes(tmp_path, images):
    selection = vsr_pairs(lines(tmp_path, VSR), written(tmp_path, VSR_BOXES), images)
    pairs, report = taken(selection)
    assert [(p.target.name, p.direction, p.reference.name) for p in pairs] == [
        ("cat", "right", "dog"),
        ("dog", "left", "cat"),
        ("dining table", "above", "dog"),
    ]
    assert pairs[0].meta["caption"] == "The cat is right of the dog."
    assert (pairs[0].id, pairs[0].group) == ("test-00001", "test")
    assert report.excluded == {
        "a caption that is false": 1,
        "a relation without a direction": 1,
        "a caption that cannot be read": 1,
        "a name that is no category": 1,
        "a picture without annotations": 1,
        "an object without a box": 1,
        "several boxes for one name": 1,
        "words that do not agree with the boxes": 1,
    }


def test_the_policies_of_matching_are_explicit(tmp_path, images):
    captions, boxes = lines(tmp_path, VSR), written(tmp_path, VSR_BOXES)
    largest = vsr_pairs(captions, boxes, images, policy=MatchPolicy(boxes="largest"))
    assert "several boxes for one name" not in largest.report.excluded
    assert largest.pairs[-1].reference.box.centre_px == (30, 70), "the larger dog"
    loose = vsr_pairs(captions, boxes, images, policy=MatchPolicy(agree=False))
    assert ("dog", "below", "cat") in [(p.target.name, p.direction, p.reference.name) for p in loose.pairs]
    rows = [
        caption(2, "The table is above the dog.", "above"),
        caption(2, "The big dining table is above the dog.", "above"),
        caption(2, "The dogs are below the dining table.", "below"),
        caption(3, "The hot is above the dog.", "above"),
    ]
    with pytest.raises(UsageError, match="4 × a name that is no category"):
        vsr_pairs(lines(tmp_path, rows), boxes, images)
    part = vsr_pairs(
        lines(tmp_path, rows), boxes, images, policy=MatchPolicy(names="substring", boxes="largest")
    )
    assert [p.target.name for p in part.pairs] == ["table", "big dining table", "dogs", "hot"]
    assert part.pairs[3].target.box.centre_px == (30, 12)
    for wrong in ({"names": "near"}, {"boxes": "any"}):
        with pytest.raises(UsageError):
            MatchPolicy(**wrong)


def test_a_thing_is_not_left_of_itself(tmp_path, images):
    rows = [caption(2, "The dog is left of the dog.", "left of"), VSR[0]]
    found = vsr_pairs(
        lines(tmp_path, rows), written(tmp_path, VSR_BOXES), images, policy=MatchPolicy(boxes="largest")
    )
    assert found.report.excluded == {"several boxes for one name": 1}


def test_the_audit_says_what_is_lost_where(tmp_path, images):
    captions, boxes = lines(tmp_path, VSR), written(tmp_path, VSR_BOXES)
    audit = vsr_audit(captions, boxes)
    (row,) = audit.splits
    assert (row.split, row.captions, row.positives, row.directional) == ("test", 11, 10, 9)
    assert (row.categories, row.annotated, row.matched, row.valid, row.agreeing) == (8, 8, 4, 4, 3)
    assert (row.coverage, row.validity) == (0.4, 1.0)
    assert audit.directions == {"left": 1, "right": 1, "above": 6, "below": 1}
    assert audit.kept_directions == {"left": 1, "right": 1, "above": 1, "below": 0}
    dog, cat = 1600 / 20000, 1200 / 20000
    assert audit.area_kept == pytest.approx(np.mean([dog, cat, dog, cat, 1200 / 20000, 1500 / 20000]))
    named = [dog, cat] * 4 + [1200 / 20000, 1500 / 20000, *[1200 / 20000] * 2, 0.08, 0.02, 0.04]
    assert audit.area_known == pytest.approx(np.mean(named))
    assert vsr_pairs(captions, boxes, images).report.audit == audit.as_json()
    blind = vsr_audit(captions)
    assert (blind.splits[0].directional, blind.splits[0].matched, blind.splits[0].coverage) == (9, None, None)
    assert blind.area_known is None
    assert "give annotations" in blind.summary
    assert "8 name two categories" in audit.summary


def test_empty_boxes_are_matched_but_not_valid(tmp_path):
    rows = [VSR[0], caption(2, "The cat is right of the dog.", "right of")]
    boxes = coco(DOG, CAT, (2, *DOG[1:]), (2, "cat", 120, 35, 0, 30))
    (row,) = vsr_audit(lines(tmp_path, rows), written(tmp_path, boxes)).splits
    assert (row.matched, row.valid, row.validity) == (2, 1, 0.5)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{**VSR[0], "label": 2}], r"holds no caption: test\.jsonl, line 1: label"),
        ([], "holds no caption"),
    ],
)
def test_a_file_without_captions_is_one_sentence(tmp_path, rows, message):
    with pytest.raises(UsageError, match=message):
        vsr_audit(lines(tmp_path, rows))


def test_a_broken_caption_costs_itself(tmp_path, images):
    path = lines(tmp_path, [{"image": "x"}, *VSR])
    told = "1 broken record is left out: test.jsonl, line 1: caption: Field required"
    audit = vsr_audit(path)
    assert audit.splits[0].captions == len(VSR)
    assert audit.tables()[0].notes == (told,)
    report = vsr_pairs(path, written(tmp_path, VSR_BOXES), images).report
    assert report.excluded["a broken record"] == 1
    assert told in report.notes


def test_splits_are_found_in_a_folder(tmp_path):
    with pytest.raises(UsageError, match=r"none of test\.jsonl"):
        vsr_audit(tmp_path)
    lines(tmp_path, VSR[:2], "dev.jsonl")
    lines(tmp_path, VSR, "test.jsonl")
    assert [(row.split, row.captions) for row in vsr_audit(tmp_path).splits] == [("test", 11), ("dev", 2)]
    assert vsr_audit([tmp_path / "dev.jsonl"]).splits[0].positives == 1


def test_the_whole_of_vsr(shared_data):
    """Table 10's positives, exactly; and every name of theirs is a COCO category, so names cannot explain its coverage."""
    audit = vsr_audit(shared_data / "vsr", shared_data / "coco_tiny_val" / "instances.json")
    assert {row.split: row.positives for row in audit.splits} == {"test": 1181, "dev": 564, "train": 3876}
    assert {row.split: row.directional for row in audit.splits} == {"test": 369, "dev": 187, "train": 1183}
    assert all(row.categories == row.positives for row in audit.splits)
    assert sum(audit.directions.values()) == 1739
    assert sum(row.captions for row in audit.splits) == 10972


# WhatsUp


WHATSUP = [
    {
        "image_path": "data/000000000001.jpg",
        "caption_options": ["A cat to the right of a dog", "A cat on a dog"],
    },
    {"image_path": "data/000000000001.jpg", "caption_options": ["A dog in front of a cat"]},
    {
        "image_id": 2,
        "caption_options": ["A photo of a dining table above a dog", "A photo of a dining table below a dog"],
    },
]


def test_captions_of_whatsup_are_joined_with_boxes(tmp_path, images):
    arrays = [
        [1, "A photo of a dog to the left of a cat", "A photo of a dog to the right of a cat"],
        [2, "A photo of a dog under a dining table.", "…"],
        [2, "A photo of a dog on the left", "…"],
    ]
    pairs, report = taken(
        whatsup_pairs(written(tmp_path, WHATSUP, "a.json"), images, annotations=written(tmp_path, VSR_BOXES))
    )
    assert [(p.target.name, p.direction, p.reference.name) for p in pairs] == [
        ("cat", "right", "dog"),
        ("dining table", "above", "dog"),
    ]
    assert report.excluded == {"a relation without a direction": 1}
    assert (pairs[0].id, pairs[0].group) == ("a-00000", "a")
    pairs, report = taken(
        whatsup_pairs(written(tmp_path, arrays, "b.json"), images, annotations=[tmp_path / "file.json"])
    )
    assert [(p.target.name, p.direction, p.reference.name) for p in pairs] == [
        ("dog", "left", "cat"),
        ("dog", "below", "dining table"),
    ]
    assert report.excluded == {"a caption about one object": 1}


def test_whatsup_without_boxes_says_what_is_missing(tmp_path, images):
    with pytest.raises(UsageError, match=r"3 items .* have no boxes.*--annotations"):
        whatsup_pairs(written(tmp_path, WHATSUP), images)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([{"image_path": "x.jpg"}], r"\[0\]"),
        ({"a": 1}, "is not a list"),
    ],
)
def test_a_wrong_whatsup_file_is_one_sentence(tmp_path, images, items, message):
    with pytest.raises(UsageError, match=message) as caught:
        whatsup_pairs(
            written(tmp_path, items), images, annotations=written(tmp_path, VSR_BOXES, "boxes.json")
        )
    assert "file.json" in str(caught.value)


@pytest.mark.parametrize("item", [[3], 5, {"image_path": 10**30, "caption_options": ["x"]}, None])
def test_a_broken_whatsup_item_costs_itself(tmp_path, images, item):
    boxes = written(tmp_path, VSR_BOXES, "boxes.json")
    plain, _ = taken(whatsup_pairs(written(tmp_path, WHATSUP), images, annotations=boxes))
    found, report = taken(whatsup_pairs(written(tmp_path, [*WHATSUP, item]), images, annotations=boxes))
    assert found == plain
    assert report.excluded["a broken record"] == 1
    assert any(f"file.json[{len(WHATSUP)}]: " in note for note in report.notes)


# Coloured squares


def test_squares_are_where_their_boxes_say():
    pairs, report = taken(coloured_squares(48, seed=7))
    assert report.directions == dict.fromkeys(CARDINAL.names, 12)
    for i, pair in enumerate(pairs):
        pixels = pair.picture.pixels()
        assert pair.size_px == pair.picture.size
        for box, colour in ((pair.reference.box, (0, 0, 255)), (pair.target.box, (255, 0, 0))):
            rows, columns = np.nonzero((pixels == colour).all(axis=2))
            assert len(rows) == 1600
            assert (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1) == (
                box.x0,
                box.y0,
                box.x1,
                box.y1,
            )
        assert len(np.unique(pixels.astype(int) @ [65536, 256, 1])) == 3
        nominal = 22.5 * (i % 16)
        assert pair.meta["nominal_deg"] == nominal
        assert abs((pair.true_deg - nominal + 180) % 360 - 180) < 0.6
        assert 79 <= pair.distance_px <= 241


def test_squares_come_from_their_seed():
    one, same, other = (
        [pair.picture.digest for pair in coloured_squares(6, seed=seed).pairs] for seed in (1, 1, 2)
    )
    assert one == same != other
    assert [pair.picture.digest for pair in coloured_squares(3, seed=1).pairs] == one[:3]
    plan = SquaresPlan((300, 200), 20, 5, 40, 180)
    assert [pair.meta["nominal_deg"] for pair in coloured_squares(6, plan=plan).pairs] == [
        0,
        72,
        144,
        216,
        288,
        0,
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"min_distance_px": 50},
        {"max_distance_px": 420},
        {"min_distance_px": 300},
        {"n_angles": 0},
        {"side_px": 440},
    ],
)
def test_squares_that_do_not_fit_are_refused(change):
    with pytest.raises(UsageError):
        SquaresPlan(**change)
    with pytest.raises(UsageError, match="at least 1"):
        coloured_squares(0)


def test_every_source_is_registered():
    names = {entry.name for entry in registry().entries("source")}
    assert names >= {"coco-pairs", "gqa", "vsr", "whatsup", "squares", "jsonl"}
    assert registry().entry("source", "coco-pairs").load() is coco_pairs
    assert all(callable(registry().entry("source", name).load()) for name in names)

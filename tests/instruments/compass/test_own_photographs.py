"""The user's own photographs in a diagnosis: edits with known answers, what is not used, and files that are not as they should be."""

import io
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from picture_scenes import HEIGHT, RED, WHITE, WIDTH, disc_picture
from PIL import Image

from theodolite.core.errors import UsageError
from theodolite.core.scores import OWN_SPLIT
from theodolite.core.types import Response
from theodolite.geometry.directions import opposite
from theodolite.instruments.compass.data.coco import coco_pairs
from theodolite.instruments.compass.data.drawn import relation_pairs
from theodolite.instruments.compass.instrument import COMPASS
from theodolite.instruments.compass.questions import photograph_edits, shown_item
from theodolite.instruments.instrument import Study, UserData
from theodolite.pairs import pair_shares
from theodolite.pairs.outcomes import EDITS, picture_of
from theodolite.runs import LocalEngine, MeasureOptions, Run, RunInfo, measure

SIZE = (WIDTH, HEIGHT)
COLOURS = {"ball": RED, "plate": WHITE}
LAYOUTS = {
    "left.png": {"ball": (80, 90, 14), "plate": (150, 84, 14)},
    "above.png": {"ball": (120, 64, 14), "plate": (126, 116, 14)},
    "diagonal.png": {"ball": (60, 40, 14), "plate": (130, 108, 14)},
    "touching.png": {"ball": (70, 90, 26), "plate": (122, 90, 26)},
    "cut.png": {"ball": (120, 10, 14), "plate": (60, 24, 14)},
}


RUN = SimpleNamespace(info=SimpleNamespace(model="scripted:oracle"))
"""All that a plan asks of its run."""


def encoded(pixels, name):
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "PNG" if name.endswith("png") else "JPEG", quality=95)
    return data.getvalue()


def coco_folder(folder, layouts=LAYOUTS, *, outlines=True, change=None):
    """Pictures of a red ball and a white plate, with their annotations."""
    (folder / "images").mkdir(parents=True)
    names = list(COLOURS)
    content = {"images": [], "annotations": [], "categories": []}
    content["categories"] = [{"id": i, "name": name} for i, name in enumerate(names)]
    for number, (file_name, places) in enumerate(layouts.items()):
        pixels, cutouts = disc_picture(*((*place, COLOURS[name]) for name, place in places.items()))
        (folder / "images" / file_name).write_bytes(encoded(pixels, file_name))
        content["images"].append({"id": number, "file_name": file_name, "width": WIDTH, "height": HEIGHT})
        for name, cutout in zip(places, cutouts, strict=True):
            box = cutout.box
            row = {"id": len(content["annotations"]), "image_id": number, "category_id": names.index(name)}
            row["bbox"] = [box.x0, box.y0, box.width_px, box.height_px]
            if outlines:
                row["segmentation"] = [list(polygon) for polygon in cutout.outline]
            content["annotations"].append(row)
    if change is not None:
        change(content)
    (folder / "instances.json").write_text(json.dumps(content), "utf-8")
    return folder


def study_of(folder, size=20):
    data = COMPASS.find_data(folder, None)
    assert data is not None
    return Study(folder / "made", size=size, data=data)


def items_of(study, gives="text"):
    (own,) = [plan for plan in COMPASS.plan(study, gives) if plan.name == "compass-own"]
    return [item for item in own.items(RUN) if not item.truth.repeats]


def look(request):
    """Where the target is, seen from the reference, by the colours in the picture."""
    pixels = request.pictures[0].pixels().astype(int)
    red = pixels[..., 0] - pixels[..., 1:].max(axis=2) > 90
    white = pixels.min(axis=2) > 215
    if not (red.any() and white.any()):
        return "nowhere"
    ball, plate = (np.argwhere(each).mean(axis=0) for each in (red, white))
    down, right = ball - plate if "where is the ball" in request.text else plate - ball
    if abs(right) > abs(down):
        return "right" if right > 0 else "left"
    return "below" if down > 0 else "above"


def looked(item):
    return look(shown_item(item).request)


def by_condition(items, pair):
    return {item.truth.condition: item for item in items if item.meta["pair"] == pair}


def gold(item):
    return item.truth.golds[0]


@pytest.mark.parametrize("outlines", [True, False])
def test_photographs_are_edited_and_the_right_answer_is_what_they_show(tmp_path, outlines):
    items = items_of(study_of(coco_folder(tmp_path / "data", outlines=outlines)))
    for pair, across in (("left-plate-to-ball", "upside down"), ("above-plate-to-ball", "mirrored sideways")):
        found = by_condition(items, pair)
        relevant = {"mirrored", "exchanged", "target moved", "reference moved"}
        assert set(found) - {"noise", "re-encode"} == {
            "plain",
            "blank",
            "light",
            "moved unasked",
            across,
            *relevant,
        }
        for condition, item in found.items():
            if condition == "blank":
                continue
            assert looked(item) == gold(item), condition
            assert (gold(item) != gold(found["plain"])) == (condition in relevant)
        pixels = {name: shown_item(item).request.pictures[0].pixels() for name, item in found.items()}
        assert {each.shape for each in pixels.values()} == {(HEIGHT, WIDTH, 3)}
        assert len({each.tobytes() for each in pixels.values()}) == len(pixels)
        assert len({item.request.pictures[0].digest for item in found.values()}) == 1, "one picture is stored"
        assert {item.cluster for item in found.values()} == {found["plain"].request.pictures[0].digest}


def test_boxes_of_moved_objects_are_where_they_are_seen(tmp_path):
    found = by_condition(items_of(study_of(coco_folder(tmp_path / "data"))), "left-plate-to-ball")
    for condition, mover in (("target moved", "target"), ("reference moved", "reference")):
        item = found[condition]
        stays = {"target": "reference", "reference": "target"}[mover]
        assert item.meta[stays] == found["plain"].meta[stays]
        assert item.meta[mover] != found["plain"].meta[mover]
        x0, y0, x1, y1 = item.meta[mover]["box"]
        colour = shown_item(item).request.pictures[0].pixels()[int(y0 + y1) // 2, int(x0 + x1) // 2]
        assert tuple(colour.tolist()) == COLOURS[item.meta[mover]["name"]]


def test_what_is_not_used_is_counted_and_adds_up(tmp_path):
    study = study_of(coco_folder(tmp_path / "data"))
    unused = dict(COMPASS.unused(study))
    assert unused.pop("too near a border between directions") == 2, "the diagonal picture, both ways"
    pairs = {item.meta["pair"] for item in items_of(study)}
    assert len(pairs) + 2 == 2 * len(LAYOUTS)
    assert unused == {
        "not exchanged or moved: the boxes of the two objects touch or overlap": 2 * 3,
        "not exchanged or moved: the object is cut off by the edge of the picture": 2 * 2,
    }
    cut = by_condition(items_of(study), "cut-ball-to-plate")
    assert {"mirrored", "light", "target moved"} < set(cut), "a plate can move although the ball is cut off"
    assert not {"exchanged", "reference moved"} & set(cut)
    few = COMPASS.unused(study_of(tmp_path / "data", size=1))
    assert few["not drawn (more with --size)"] == 6
    assert not COMPASS.unused(Study(tmp_path))


class Model:
    """Answers in words only."""

    name = identity = "model"
    lacks, batch_size = {}, 8

    def __init__(self, says):
        self.says = says

    def generate(self, requests):
        return [Response("answered", text=self.says(request)) for request in requests]

    def close(self):
        pass


def answered(folder, study, says):
    plans = [plan for plan in COMPASS.plan(study, "text") if plan.name == "compass-own"]
    info = RunInfo(instrument="compass", model="m", identity="m", settings={}, seed=0, theodolite="0")
    with Run.start(folder, info) as run:
        run.plan(plans[0].items(run), whole=True)
        measure(run, LocalEngine(plans[0].measurer(Model(says))), MeasureOptions())
        return list(COMPASS.pairs(run)), COMPASS.score(run)


def test_pairs_of_a_text_model_are_followed_or_not(tmp_path):
    study = study_of(coco_folder(tmp_path / "data"))
    pairs, scores = answered(tmp_path / "looks", study, look)
    shares = pair_shares(pairs)
    assert shares.followed.value == shares.kept.value == 1
    assert {each.edit.name for each in pairs} == {
        "mirror",
        "upside down",
        "exchange",
        "move the target",
        "move the reference",
        "light",
        "noise",
        "re-encode",
        "mirror, not asked for",
        "upside down, not asked for",
        "move, not asked for",
    }
    assert all(each.edit is EDITS[each.edit.name] for each in pairs)
    assert {each.split for each in pairs} == {OWN_SPLIT}
    assert {each.relation for each in pairs} == {"left", "right", "above", "below"}
    assert len({each.cluster for each in pairs}) == 4, "both questions about a picture are one cluster"
    assert all((each.gold != each.edited_gold) == each.edit.is_relevant for each in pairs)
    assert {score.metric for score in scores} == {
        "compass.right",
        "compass.mirror_follows",
        "compass.mirror_changes",
        "compass.blank_changes",
    }
    pairs, _ = answered(tmp_path / "blind", study, lambda _: "1")
    assert pair_shares(pairs).followed.value == 0
    assert pair_shares(pairs).unmoved.value == 1
    pairs, _ = answered(tmp_path / "silent", study, lambda _: "I would rather not say.")
    assert pair_shares(pairs).lost.value == 1


def test_a_recorded_answer_about_the_picture_is_not_one_about_its_edits(tmp_path):
    for item in items_of(study_of(coco_folder(tmp_path / "data"))):
        assert (item.request.recall == "words") == (item.truth.condition == "plain")


# Files that are not as they should be


def spoil(content, **rows):
    for part, values in rows.items():
        content[part] += values


def test_pictures_that_are_missing_or_damaged_are_told(tmp_path):
    folder = coco_folder(tmp_path / "data")
    images = folder / "images"
    (images / "above.png").unlink()
    (images / "cut.png").write_bytes((images / "cut.png").read_bytes()[:900])  # its header is whole
    (images / "touching.png").write_bytes(b"no picture")
    unused = list(COMPASS.unused(study_of(folder)).items())
    assert unused[:3] == [
        ("picture not found", 2), ("file that is not a picture", 2),
        ("picture that is damaged, cut short or too large", 2),
    ]  # fmt: skip
    assert {item.meta["pair"] for item in items_of(study_of(folder))} == {
        "left-ball-to-plate",
        "left-plate-to-ball",
    }
    for each in images.iterdir():
        each.write_bytes(b"no picture")
    with pytest.raises(UsageError, match=r"none of .* candidates is left: .*not a picture"):
        COMPASS.unused(study_of(folder))


def test_annotations_that_cannot_be_used_are_counted(tmp_path):
    def change(content):
        spoil(
            content,
            annotations=[
                {"image_id": 0, "category_id": 99, "bbox": [100, 20, 20, 20]},
                {"image_id": 1, "category_id": 0, "bbox": [10, 10, 20, 20], "iscrowd": 1},
                {"image_id": 4, "category_id": 1, "bbox": [5, 5, 0, 10]},
            ],
        )

    unused = COMPASS.unused(study_of(coco_folder(tmp_path / "data", change=change)))
    assert unused["a name that is no category"] == 4
    assert unused["a crowd"] == 4
    assert unused["an empty box"] == 4
    assert unused["a name that occurs twice"] == 4, "beside a crowd of balls no ball is meant"


def outside(content):
    content["annotations"][0]["bbox"] = [500, 500, 30, 30]


def test_boxes_outside_the_picture_are_told_first(tmp_path):
    unused = COMPASS.unused(study_of(coco_folder(tmp_path / "data", change=outside)))
    assert next(iter(unused.items())) == ("a box outside the picture", 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content["categories"].clear(), "none of .* is no category"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read_are_refused_in_words(tmp_path, change, words):
    study = study_of(coco_folder(tmp_path / "data", change=change))
    with pytest.raises(UsageError, match=words):
        COMPASS.unused(study)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: spoil(content, annotations=[{"image_id": 77, "category_id": 0, "bbox": [1, 1, 5, 5]}]), "77"),
        (lambda content: content["images"][0].pop("width"), "images[0]: width"),
        (lambda content: content["annotations"][0].pop("bbox"), "annotations[0]: bbox"),
    ],
)  # fmt: skip
def test_broken_records_are_told_first_with_their_place(tmp_path, change, words):
    unused = COMPASS.unused(study_of(coco_folder(tmp_path / "data", change=change)))
    assert words in next(iter(unused))


def test_photographs_of_every_kind_are_edited(tmp_path):
    """Grey, CMYK and 16-bit pictures, and one that is stored on its side."""
    folder = coco_folder(tmp_path / "data", {f"{kind}.png": LAYOUTS["left.png"] for kind in "abcd"})
    images = folder / "images"
    pixels, _ = disc_picture(*((*place, COLOURS[name]) for name, place in LAYOUTS["left.png"].items()))
    grey = Image.fromarray(pixels).convert("L")
    grey.save(images / "a.png")
    Image.fromarray(np.asarray(grey).astype(np.uint16) * 257).save(images / "b.png")
    Image.fromarray(pixels).convert("CMYK").save(images / "c.png", "JPEG", quality=95)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(np.rot90(pixels)).save(images / "d.png", "JPEG", quality=95, exif=exif)
    items = items_of(study_of(folder))
    unseen = "not exchanged or moved: the object hardly differs from what is behind it"
    assert set(COMPASS.unused(study_of(folder))) == {unseen}, (
        "without colours the ball is as grey as the background"
    )
    for item in items:
        assert shown_item(item).request.pictures[0].size == SIZE
    for name in ("c", "d"):
        found = by_condition(items, f"{name}-plate-to-ball")
        for condition in ("plain", "mirrored", "exchanged", "target moved", "reference moved"):
            assert looked(found[condition]) == gold(found[condition]), (name, condition)


def test_pictures_too_small_to_edit_are_only_mirrored(tmp_path):
    tiny = {"tiny.png": {"ball": (60, 90, 14), "plate": (170, 84, 14)}}
    folder = coco_folder(tmp_path / "data", tiny, outlines=False)
    path = folder / "images" / "tiny.png"
    with Image.open(path) as image:
        image.resize((16, 12)).save(path)
    content = json.loads((folder / "instances.json").read_text("utf-8"))
    content["images"][0] |= {"width": 16, "height": 12}
    for row in content["annotations"]:
        row["bbox"] = [value / 15 for value in row["bbox"]]
    (folder / "instances.json").write_text(json.dumps(content), "utf-8")
    items = items_of(study_of(folder))
    assert {item.truth.condition for item in items} == {"plain", "mirrored", "blank", "light", "noise", "re-encode", "upside down"}  # fmt: skip
    assert sum(COMPASS.unused(study_of(folder)).values()) == 6


# Pair files


def pair_file(folder, *rows):
    folder.mkdir()
    for name, places in LAYOUTS.items():
        pixels, _ = disc_picture(*((*place, COLOURS[each]) for each, place in places.items()))
        (folder / name).write_bytes(encoded(pixels, name))
    lines = []
    for number, (picture, extra) in enumerate(rows):
        boxes = {
            role: {"name": name, "box": [x - r, y - r, x + r, y + r]}
            for role, (name, (x, y, r)) in zip(
                ("target", "reference"), LAYOUTS.get(picture, LAYOUTS["left.png"]).items(), strict=True
            )
        }
        lines.append(json.dumps({"id": str(number), "picture": picture, **boxes, **extra}))
    (folder / "pairs.jsonl").write_text("\n".join(lines), "utf-8")
    return folder


def test_pair_files_are_edited_and_what_cannot_be_asked_is_told(tmp_path):
    away = {"target": {"name": "ball", "box": [900, 900, 930, 930]}}
    centred = {"target": {"name": "ball", "box": [140, 74, 160, 94]}}
    folder = pair_file(
        tmp_path / "data",
        ("left.png", {"direction": "left"}),
        ("above.png", {}),
        ("diagonal.png", {"direction": "left"}),
        ("left.png", {"direction": "right"}),
        ("left.png", {"direction": "behind"}),
        ("gone.png", {}),
        ("left.png", {"width": 10, "height": 10}),
        ("left.png", away),
        ("left.png", centred),
        ("left.png", {"direction": "left", "meta": {"outlines": {"target": "none", "reference": [["a"] * 6]}}}),
    )  # fmt: skip
    study = study_of(folder)
    unused = {reason: n for reason, n in COMPASS.unused(study).items() if not reason.startswith("not exch")}
    assert unused == {
        "picture not found": 1,
        "picture of another size than annotated": 1,
        "a box outside the picture": 1,
        "too near each other": 1,
        "a relation without a direction": 1,
        "too near a border between directions": 1,
        "words that do not agree with the boxes": 1,
    }
    items = items_of(study)
    assert {item.meta["pair"] for item in items} == {"0", "1", "9"}
    for pair in ("0", "9"):
        found = by_condition(items, pair)
        for condition in ("exchanged", "target moved", "reference moved"):
            assert looked(found[condition]) == gold(found[condition]) != gold(found["plain"])


def test_a_pair_file_of_which_nothing_is_left_says_why(tmp_path):
    folder = pair_file(tmp_path / "data", ("diagonal.png", {}), ("gone.png", {}))
    with pytest.raises(UsageError, match=r"none of 2 candidates.*border.*not found.*gone\.png"):
        COMPASS.unused(study_of(folder))


def test_a_line_that_is_wrong_is_named(tmp_path):
    folder = pair_file(tmp_path / "data", ("left.png", {}), ("left.png", {"target": {"name": "ball"}}))
    unused = COMPASS.unused(study_of(folder))
    assert next(iter(unused)).startswith("broken records, such as pairs.jsonl, line 2: ")
    assert next(iter(unused.values())) == 1


# Drawn pictures


def test_drawn_pairs_are_edited_in_kind_and_asked_with_roles_exchanged(tmp_path):
    (plan,) = COMPASS.plan(Study(tmp_path, size=8), "text")
    drawn = {pair.id: pair for split in ("aligned", "crossed") for pair in relation_pairs(8, split=split)}
    items = [item for item in plan.items(RUN) if not item.truth.repeats]
    moves = Counter()
    for pair in drawn.values():
        found = by_condition(items, pair.id)
        (condition,) = {"target moved", "reference moved", "exchanged"} & set(found)
        (in_kind,) = {"moved unasked", "exchanged unasked"} & set(found)
        across = "mirrored sideways" if pair.direction in {"above", "below"} else "upside down"
        asked = {"plain", "mirrored", condition}
        turned = {f"roles exchanged, {name}".removesuffix(", plain") for name in asked}
        assert set(found) == {*asked, "blank", "light", across, in_kind, *turned}
        assert in_kind == "moved unasked" or condition == "exchanged"
        moves[condition] += 1
        assert {gold(found[name]) for name in ("plain", "light", across, in_kind)} == {pair.direction}
        assert {gold(found[name]) for name in ("mirrored", condition)} == {opposite(pair.direction)}
        for name in asked:
            other = found[f"roles exchanged, {name}".removesuffix(", plain")]
            assert gold(other) == opposite(gold(found[name]))
            assert other.options == found[name].options
            assert picture_of(other) == picture_of(found[name])
            assert shown_item(other).request.pictures == shown_item(found[name]).request.pictures
            assert f"the {pair.reference.name} relative to the {pair.target.name}" in other.request.text
        if condition == "exchanged":
            continue
        moved, plain = found[condition], found["plain"]
        mover, stays = ("target", "reference") if condition == "target moved" else ("reference", "target")
        assert moved.meta[stays] == plain.meta[stays]
        before, after = (shown_item(item).request.pictures[0].pixels() for item in (plain, moved))
        changed = np.argwhere((before != after).any(axis=2))
        for box in (plain.meta[mover]["box"], moved.meta[mover]["box"]):
            x0, y0, x1, y1 = box
            inside = (changed >= (y0, x0)).all(axis=1) & (changed < (y1, x1)).all(axis=1)
            assert inside.any()
            changed = changed[~inside]
        assert not len(changed), "nothing else changes"
    assert len(moves) == 3
    assert min(moves.values()) >= 2


# Real photographs


def test_real_photographs_are_edited_and_counted(shared_data):
    folder = shared_data / "coco_tiny_val"
    data = COMPASS.find_data(folder, None)
    assert data == UserData("compass", "coco", folder / "instances.json", folder / "images")
    study = Study(folder, size=14, data=data)
    unused = COMPASS.unused(study)
    whole = coco_pairs(folder / "instances.json", folder / "images").report
    left_out = sum(n for reason, n in unused.items() if not reason.startswith("not exchanged"))
    assert whole.candidates == left_out + 28
    items = items_of(study)
    edits = [item for item in items if "edit" in item.meta]
    made = [
        item for item in edits if item.truth.condition in {"exchanged", "target moved", "reference moved"}
    ]
    assert len(made) + sum(n for reason, n in unused.items() if reason.startswith("not exchanged")) == 3 * 28
    assert len(made) >= 4
    for item in made[:4]:
        shown = shown_item(item).request.pictures[0]
        assert shown.size == tuple(item.meta["size"])
        assert shown != item.request.pictures[0]


def test_the_docs_tell_how_many_real_objects_can_be_moved(shared_data):
    folder = shared_data / "coco_tiny_val"
    items = items_of(Study(folder, size=100, data=COMPASS.find_data(folder, None)))
    made = Counter(item.truth.condition for item in items)
    words = (Path(__file__).parents[3] / "docs" / "instruments" / "compass.md").read_text("utf-8")
    assert f"{made['target moved']} of {made['plain']} pairs have a target that can be moved" in words
    assert made["mirrored"] == made["plain"]


def test_an_edit_looks_the_same_when_it_is_shown_as_when_it_was_checked(tmp_path):
    folder = coco_folder(tmp_path / "data")
    pair = next(p for p in coco_pairs(folder / "instances.json", folder / "images").pairs if "left" in p.id)
    (first,) = [e for e in photograph_edits(pair, 0) if e.condition == "exchanged"]
    (again,) = [e for e in photograph_edits(pair, 0) if e.condition == "exchanged"]
    assert first == again
    items = items_of(study_of(folder))
    shown = {shown_item(by_condition(items, pair.id)["exchanged"]).request.pictures[0] for _ in range(2)}
    assert len(shown) == 1

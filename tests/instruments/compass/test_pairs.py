import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite.core.errors import UsageError
from theodolite.core.files import allow_outside
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.geometry.directions import CARDINAL, EIGHT, Vocabulary
from theodolite.instruments.compass.data.drawn import coloured_squares
from theodolite.instruments.compass.data.pairs import Pair, Region, Sieve, read_pairs, write_pairs
from theodolite.instruments.compass.experiments.ablations import split_clusters
from theodolite.instruments.compass.questions import PROMPTS, Prompt, find_prompts

ROW = {
    "id": "1",
    "picture": "a.png",
    "reference": {"name": "cup", "box": [2, 3, 10, 12]},
    "target": {"name": "pen", "xywh": [40, 5, 6, 6]},
}


@pytest.fixture
def folder(tmp_path, picture):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.png").write_bytes(picture.read())
    return tmp_path / "data"


def write(folder, *rows):
    path = folder / "pairs.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def changed(role, **change):
    return {**ROW, role: {**ROW[role], **change}}


def without(row, *keys):
    return {key: value for key, value in row.items() if key not in keys}


def test_a_file_by_hand_may_leave_out_what_follows_from_the_rest(folder):
    (pair,) = read_pairs(write(folder, "", ROW))
    assert (pair.id, pair.direction, pair.size_px) == ("1", "right", (60, 40))
    assert pair.reference == Region("cup", Box(2, 3, 10, 12))
    assert pair.target == Region("pen", Box(40, 5, 46, 11))
    assert (pair.others, pair.group, pair.source, dict(pair.meta)) == ((), "", "", {})
    full = {
        **ROW, "id": 7, "direction": "above right", "width": 60, "height": 40, "others": [[0, 0, 5, 5]],
        "group": "g", "source": "me", "meta": {"x": [1, None]},
    }  # fmt: skip
    (pair,) = read_pairs(write(folder, full).parent)
    assert (pair.id, pair.direction, pair.others) == ("7", "above right", (Box(0, 0, 5, 5),))
    assert (pair.group, pair.source, pair.meta) == ("g", "me", {"x": [1, None]})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "holds no pair"),
        (["{broken"], "line 1"),
        (["[1]"], "line 1"),
        ([ROW, ROW], "line 2: the id '1' occurs twice"),
        ([ROW, without(ROW, "target")], "line 2: target: Field required"),
        ([{**ROW, "refrence": 1}], "line 1: refrence: Extra inputs"),
        ([changed("target", name="")], "target.name"),
        ([changed("target", box=[1, 2, 3, 4])], "either box"),
        ([{**ROW, "reference": {"name": "cup"}}], "either box"),
        ([changed("reference", box=[10, 3, 2, 12])], "x0 < x1"),
        ([changed("reference", box=[1, 2, 3])], "reference.box"),
        ([changed("reference", box=[1, 2, 3, "x"])], "reference.box.3"),
        (['{"id": 1, "picture": "a.png", "reference": {"name": "a", "box": [NaN, 0, 1, 1]}}'], "line 1"),
        ([changed("reference", box=[70, 3, 80, 12])], "lies outside its picture of 60×40"),
        ([changed("target", xywh=[5, 6.5, 2, 2])], "same centre"),
        ([{**ROW, "width": 61}], "is 60×40, but the line says 61×40"),
        ([{**ROW, "width": 0}], "width"),
        ([{**ROW, "picture": "b.png"}], "b.png"),
        ([{**ROW, "picture": "../a.png"}], "lies outside"),
        ([{**ROW, "picture": "/etc/passwd"}], "lies outside"),
        ([{**ROW, "others": [[5, 5, 5, 5]]}], "x0 < x1"),
    ],
)
def test_wrong_files_are_told_by_line(folder, rows, message):
    with pytest.raises(UsageError, match=message):
        read_pairs(write(folder, *rows))


def test_what_is_no_picture_and_what_is_no_file_are_told(folder, tmp_path):
    (folder / "text.png").write_text("no picture")
    with pytest.raises(UsageError, match=r"line 1: .*picture"):
        read_pairs(write(folder, {**ROW, "picture": "text.png"}))
    with pytest.raises(UsageError, match="cannot read the pairs"):
        read_pairs(tmp_path / "nowhere.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot read the pairs"):
        read_pairs(tmp_path / "latin.jsonl")


def test_another_folder_of_pictures_must_be_named(folder, tmp_path, picture):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "b.png").write_bytes(picture.read())
    path = write(folder, {**ROW, "picture": "b.png"})
    with pytest.raises(UsageError, match=r"b\.png"):
        read_pairs(path)
    assert read_pairs(path, images=tmp_path / "pictures")[0].picture.path == tmp_path / "pictures" / "b.png"
    (folder / "link.png").symlink_to(tmp_path / "pictures" / "b.png")
    with pytest.raises(UsageError, match="name its folder with --images"):
        read_pairs(write(folder, {**ROW, "picture": "../pictures/b.png"}))
    with allow_outside():
        (linked,) = read_pairs(write(folder, {**ROW, "picture": "link.png"}))
    assert linked.size_px == (60, 40), "caches consist of links"


def test_a_broken_line_costs_itself(folder):
    problems = []
    path = write(folder, ROW, "{broken", {**ROW, "id": "2", "picture": "gone.png"}, {**ROW, "id": "3"}, ROW)
    assert [pair.id for pair in read_pairs(path, problems=problems)] == ["1", "3"]
    assert [problem.where.rpartition(" ")[2] for problem in problems] == ["2", "3", "5"]
    assert "occurs twice" in problems[2].reason
    sieve = Sieve("mine", {})
    assert len(read_pairs(path, sieve=sieve)) == 2
    assert sieve.told() == {"a broken record": 2, "picture not found": 1}
    assert "pairs.jsonl, line 2: " in sieve.notes[0]


def test_a_turned_photograph_has_the_size_that_it_is_shown_in(folder):
    from PIL import Image

    image = Image.new("RGB", (60, 40))
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(folder / "turned.jpg", exif=exif)
    (pair,) = read_pairs(write(folder, {**changed("target", xywh=[20, 50, 5, 5]), "picture": "turned.jpg"}))
    assert pair.size_px == pair.picture.size == (40, 60)


def test_pairs_survive_a_round_trip(tmp_path):
    made = coloured_squares(5, seed=3).pairs
    path = write_pairs([*made, *(Pair(**{**fields(p), "id": p.id + "b"}) for p in made)], tmp_path / "out")
    found = read_pairs(path)
    assert len(list((tmp_path / "out" / "pictures").iterdir())) == 5, "a picture is written once"
    for one, other in zip(made, found[:5], strict=True):
        assert without(fields(one), "picture") == without(fields(other), "picture")
        assert np.array_equal(one.picture.pixels(), other.picture.pixels())
    again = read_pairs(write_pairs(found, tmp_path / "again"))
    assert again == found, "files are copied as they are"
    moved = tmp_path / "moved"
    (tmp_path / "again").rename(moved)
    assert read_pairs(moved) == found
    assert read_pairs(write_pairs(read_pairs(moved), moved)) == found, "into its own folder"


def fields(pair):
    return {name: getattr(pair, name) for name in Pair.__slots__}


def test_pictures_may_be_pointed_at(folder, tmp_path):
    pairs = read_pairs(write(folder, ROW))
    path = write_pairs(pairs, tmp_path / "out", images=folder)
    assert sorted(p.name for p in path.parent.iterdir()) == ["pairs.jsonl"]
    assert read_pairs(path, images=folder) == pairs
    with pytest.raises(UsageError, match="lies outside"):
        write_pairs(pairs, tmp_path / "out", images=tmp_path / "out")
    with pytest.raises(UsageError, match="in memory"):
        write_pairs(coloured_squares(1).pairs, tmp_path / "out", images=folder)


def test_links_may_be_pointed_at(folder, tmp_path):
    (tmp_path / "cache").mkdir()
    (folder / "a.png").rename(tmp_path / "cache" / "blob")
    (folder / "a.png").symlink_to(tmp_path / "cache" / "blob")
    with allow_outside():
        pairs = read_pairs(write(folder, ROW))
        path = write_pairs(pairs, tmp_path / "out", images=folder)
        assert read_pairs(path, images=folder) == pairs


def test_pictures_of_the_same_name_stay_apart(tmp_path):
    pairs = []
    for i in range(2):
        (tmp_path / str(i)).mkdir()
        made = Picture.from_array(np.full((40, 60, 3), i, np.uint8))
        (tmp_path / str(i) / "a.png").write_bytes(made.read())
        pairs += read_pairs(write(tmp_path / str(i), {**ROW, "id": str(i)}))
    found = read_pairs(write_pairs(pairs, tmp_path / "out"))
    assert [pair.picture.pixels()[0, 0, 0] for pair in found] == [0, 1]


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write the pairs"):
        write_pairs(coloured_squares(1).pairs, tmp_path / "file" / "sub")


@pytest.mark.parametrize("change", [{"id": " "}, {"direction": ""}, {"size_px": (0, 5)}])
def test_a_pair_needs_its_parts(picture, change):
    good = {
        "id": "p", "picture": picture, "size_px": (60, 40), "direction": "left",
        "reference": Region("a", Box(0, 0, 5, 5)), "target": Region("b", Box(9, 9, 12, 12)),
    }  # fmt: skip
    assert Pair(**good).distance_px == pytest.approx(8 * 2**0.5)
    with pytest.raises(UsageError):
        Pair(**{**good, **change})
    with pytest.raises(UsageError, match="needs a name"):
        Region("  ", Box(0, 0, 1, 1))


def test_the_paper_s_directions():
    a = Box(40, 40, 60, 60)
    for name, (dx, dy) in {"left": (-30, 5), "right": (30, -5), "above": (5, -30), "below": (-5, 30)}.items():
        assert CARDINAL.between(a, a.moved(dx, dy)).name == name
    assert EIGHT.between(a, a.moved(30, -28)).name == "above right"
    assert EIGHT.between(a, a.moved(-30, 28)).name == "below left"
    with pytest.raises(UsageError, match="same centre"):
        CARDINAL.between(a, Box(45, 45, 55, 55))


@settings(deadline=None)
@given(st.floats(-720, 720), st.sampled_from([CARDINAL, EIGHT, Vocabulary({"a": 10, "b": 200, "c": 290})]))
def test_the_nearest_name_is_the_nearest(angle, vocabulary):
    found = vocabulary.nearest(angle)
    distances = sorted(abs((other - angle + 180) % 360 - 180) for other in vocabulary.angles_deg.values())
    assert found.distance_deg == pytest.approx(distances[0], abs=1e-9)
    assert found.margin_deg == pytest.approx(distances[1] - distances[0], abs=1e-9)
    assert found.name in vocabulary.names


def test_on_a_border_the_name_counter_clockwise_wins():
    assert [CARDINAL.nearest(angle).name for angle in (45, 135, 225, 315)] == [
        "above",
        "left",
        "below",
        "right",
    ]
    assert [CARDINAL.nearest(angle).margin_deg for angle in (45, -45, 0)] == [0, 0, 90]


@pytest.mark.parametrize("angles", [{"a": 0}, {"a": 0, "b": 360}, {"a": 0, "b": float("nan")}, {}])
def test_a_vocabulary_needs_distinct_angles(angles):
    with pytest.raises(UsageError):
        Vocabulary(angles)


PAIR = Pair(
    "p",
    Picture("bytes-0"),
    (60, 40),
    Region("dog", Box(0, 0, 5, 5)),
    Region("cat", Box(9, 9, 12, 12)),
    "right",
)


def test_the_prompts_of_table_9_word_for_word():
    asked = {prompt.name: prompt.ask(PAIR) for prompt in find_prompts("all")}
    assert asked == {
        "A": "In this image, where is the cat relative to the dog? Choose one option: 1) to the left, 2) to the right, "
        "3) above, 4) below. Answer with just the number.",
        "B": "Look at the image. Is the cat to the left (1), right (2), above (3), or below (4) the dog? Answer with one "
        "number.",
        "C": "I can see two objects: dog and cat. What is the spatial position of cat relative to dog? Options: 1=left, "
        "2=right, 3=above, 4=below. Answer:",
    }
    for prompt in find_prompts("all"):
        assert dict(prompt.options) == {"1": "left", "2": "right", "3": "above", "4": "below"}
        assert [prompt.token_for(name) for name in CARDINAL.names] == list(prompt.tokens)
    with pytest.raises(UsageError, match="does not offer 'above left'"):
        PROMPTS["A"].token_for("above left")


@pytest.mark.parametrize(
    ("template", "options"),
    [
        ("Where is the {tgt}?", {"1": "left", "2": "right"}),
        ("{tgt} {ref} {other}", {"1": "left", "2": "right"}),
        ("{tgt} {ref} {", {"1": "left", "2": "right"}),
        ("{tgt} {ref} {}", {"1": "left", "2": "right"}),
        ("{tgt} {ref}", {"1": "left"}),
        ("{tgt} {ref}", {"1": "left", "2": "left"}),
        ("{tgt} {ref}", {"": "left", "2": "right"}),
    ],
)
def test_a_prompt_of_one_s_own_is_checked(template, options):
    assert Prompt("mine", "{{{tgt}}} {ref}", {"1": "left", "2": "right"}).ask(PAIR) == "{cat} dog"
    with pytest.raises(UsageError, match="mine"):
        Prompt("mine", template, options)


def some_clusters(per_picture):
    return [f"picture-{i}" for i, count in enumerate(per_picture) for _ in range(count)]


@settings(deadline=None)
@given(st.lists(st.integers(1, 6), min_size=20, max_size=40), st.integers(1, 15), st.integers(0, 99))
def test_no_picture_is_on_both_sides_of_the_split(per_picture, n, seed):
    clusters = some_clusters(per_picture)
    parts = development, reported, set_aside = split_clusters(clusters, n, seed=seed)
    assert len(development) == n
    assert sorted(i for part in parts for i in part) == list(range(len(clusters)))
    seen = {clusters[i] for i in development}
    assert not seen & {clusters[i] for i in reported}
    assert {clusters[i] for i in set_aside} <= seen
    assert parts == split_clusters(clusters, n, seed=seed)


def test_a_split_that_leaves_nothing_is_refused():
    clusters = some_clusters([3, 3])
    assert split_clusters(clusters, 2, seed=0) != split_clusters(clusters, 2, seed=3)
    for n in (0, 4, 7):
        with pytest.raises(UsageError):
            split_clusters(clusters, n, seed=0)

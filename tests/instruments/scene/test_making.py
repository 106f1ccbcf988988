"""Made scenes: what stands where, what can be seen, and what is written down about it."""

import subprocess
import sys
from collections import Counter
from functools import cache

import numpy as np
import pytest

from theodolite.core.errors import UsageError
from theodolite.geometry import projected_box_px
from theodolite.instruments.scene.data.files import read_data
from theodolite.instruments.scene.data.make import (
    MakeOptions,
    Recipe,
    make_data,
    make_questions,
    make_scenes,
    render_made,
    scene_of,
    seen_things,
    world_of,
)
from theodolite.worlds.marks import RADII, draw_marks, place_marks
from theodolite.worlds.things import CATALOGUE, N_VARIANTS, are_apart, sized, thing_of, variant


@cache
def twenty():
    """Ten rooms and ten streets."""
    return make_scenes(10, 10, seed=5)


def test_as_many_rooms_and_streets_as_asked_for_in_proportion():
    assert Counter(made.graph.domain for made in twenty().scenes) == {"indoor": 10, "outdoor": 10}
    crowding = Counter((made.graph.domain, made.graph.crowding) for made in twenty().scenes)
    assert all(
        crowding[domain, kind] == n
        for domain in ("indoor", "outdoor")
        for kind, n in (("sparse", 2), ("common", 4), ("dense", 4))
    )
    with pytest.raises(UsageError, match="at least one"):
        make_scenes(0, 0)


def test_the_same_seed_makes_the_same_scenes_in_any_number_of_processes():
    again = make_scenes(40, 30, seed=5, workers=2)
    assert [m.graph for m in again.scenes[:10]] == [m.graph for m in twenty().scenes[:10]]
    assert make_scenes(2, 0, seed=6).scenes[0].graph != twenty().scenes[0].graph


def test_nothing_stands_in_anything_else():
    for made in twenty().scenes:
        things = world_of(made.recipe).things
        for i, one in enumerate(things):
            for two in things[i + 1 :]:
                if one.category == "kitchen counter" and two.place[2] > 0.9:
                    assert _stands_beside_the_tap(one, two)
                    continue
                overlap = min(one.top_m, two.top_m) - max(
                    one.place[2] + one.low[2], two.place[2] + two.low[2]
                )
                if overlap > 1e-6:
                    assert _is_separated(one.footprint, two.footprint), (one.category, two.category)


def _stands_beside_the_tap(counter, thing):
    tap = next(part for part in counter.parts if part.shape == "cone").centre
    local = counter.world_SE3_thing.inverse().apply(thing.place)
    return abs(local[1] - tap[1]) > 0.25 or are_apart(counter.outline, thing.outline, 0.0)


def _is_separated(one, two):
    """By sampling: no point of one rectangle lies in the other."""
    weights = np.stack(np.meshgrid(*[np.linspace(0, 1, 25)] * 2), axis=-1).reshape(-1, 2)
    for first, second in ((one, two), (two, one)):
        points = first[0] + weights[:, :1] * (first[1] - first[0]) + weights[:, 1:] * (first[3] - first[0])
        axes = np.stack([second[1] - second[0], second[3] - second[0]])
        local = (points - second[0]) @ np.linalg.inv(axes)
        if ((local > 1e-6) & (local < 1 - 1e-6)).all(axis=1).any():
            return False
    return True


def test_marked_objects_are_seen_whole_large_and_unhidden():
    for made in twenty().scenes:
        camera = made.graph.camera
        for thing in made.graph.objects:
            assert thing.visibility >= 0.8
            assert thing.truncation <= 0.2
            assert max(thing.box_px.width_px, thing.box_px.height_px) >= 40 * camera.width_px / 1600
            assert thing.length_m >= thing.width_m
            whole = projected_box_px(thing.cuboid_cam, camera)
            assert whole.x0 - 1 <= thing.box_px.x0
            assert thing.box_px.x1 <= whole.x1 + 1  # an outline lies within its box's


def test_marks_tell_nothing_of_place_size_or_kind():
    """Over many scenes the number of a mark is unrelated to distance, side or volume."""
    rows = []
    for number in range(60):
        graph, _ = scene_of(Recipe("outdoor", 9, 5 * number + 2, 0))
        if graph is not None:
            places = np.array([[t.distance_m, t.centre_cam[0], t.volume_m3] for t in graph.objects])
            ranks = places.argsort(axis=0).argsort(axis=0)
            rows += [np.corrcoef(np.arange(len(ranks)), ranks[:, k])[0, 1] for k in range(3)]
    assert abs(np.mean(rows)) < 3 * np.std(rows) / np.sqrt(len(rows))


@pytest.mark.parametrize("place", [0, 2, 11, 14])
def test_the_picture_shows_what_the_graph_says(place):
    """True at every pixel: instance ids lie in their boxes, at the depth of their objects; hidden shares agree."""
    made = twenty().scenes[place]
    drawn = render_made(made, samples=1)
    alone = {c.cuboid_cam.centre_m.round(6).tobytes(): c for c in seen_things(world_of(made.recipe))}
    for thing in made.graph.objects:
        rows, columns = np.nonzero(drawn.instance == thing.id)
        assert len(rows) > 20
        box = thing.box_px
        assert columns.min() >= box.x0 - 2
        assert columns.max() <= box.x1 + 2
        assert rows.min() >= box.y0 - 2
        assert rows.max() <= box.y1 + 2
        depths = drawn.depth_m[rows, columns]
        corners = thing.cuboid_cam.corners_m[:, 2]
        assert corners.min() - 0.05 <= depths.min()
        assert depths.max() <= corners.max() + 0.05
        assert np.array(thing.centre_cam).round(6).tobytes() in alone
    assert drawn.picture.std() > 15


def test_marks_stay_apart_and_on_their_objects():
    for made in twenty().scenes:
        size = made.graph.camera.width_px, made.graph.camera.height_px
        far = {t.id: t.distance_m for t in made.graph.objects}
        marks = place_marks({t.id: t.box_px for t in made.graph.objects}, size, distances_m=far)
        assert [mark.id for mark in marks] == [t.id for t in made.graph.objects]
        for i, one in enumerate(marks):
            assert one.radius_px <= one.centre_px[0] <= size[0] - one.radius_px
            assert one.radius_px <= one.centre_px[1] <= size[1] - one.radius_px
            box = made.graph[one.id].box_px
            assert box.x0 <= one.anchor_px[0] <= box.x1
            assert box.y0 <= one.anchor_px[1] <= box.y1
            for two in marks[i + 1 :]:
                gap = np.hypot(*(np.array(one.centre_px) - two.centre_px))
                assert gap >= one.radius_px + two.radius_px, (made.graph.id, one.id, two.id)


def test_a_mark_lies_on_its_own_object_or_points_at_it():
    """Where the pixels are known, a disc's middle or its line's end shows the object, and mostly so does the disc."""
    for made in (twenty().scenes[2], twenty().scenes[14]):
        drawn = render_made(made, samples=1)
        size = drawn.picture.shape[1], drawn.picture.shape[0]
        marks = place_marks({t.id: t.box_px for t in made.graph.objects}, size, instance=drawn.instance)
        for mark in marks:
            column, row = map(int, mark.anchor_px)
            assert drawn.instance[row, column] == mark.id


def test_marks_hide_no_more_than_a_fifth_of_any_object():
    """As counted in pixels that the marks change."""
    for made in make_scenes(2, 3, seed=5).scenes:
        drawn = render_made(made, samples=1)
        boxes = {t.id: t.box_px for t in made.graph.objects}
        size = drawn.picture.shape[1], drawn.picture.shape[0]
        marks = place_marks(boxes, size, instance=drawn.instance)
        changed = (draw_marks(drawn.picture, marks) != drawn.picture).any(axis=2)
        for mark in boxes:
            is_shown = drawn.instance == mark
            assert changed[is_shown].mean() <= RADII.most_hidden, (made.graph.id, mark)


def test_a_category_does_not_tell_the_size():
    for category in CATALOGUE:
        extents = np.array([np.subtract(*sized(category, number)[:0:-1]) for number in range(N_VARIANTS)])
        assert (np.ptp(extents, axis=0) / extents.mean(axis=0)).max() > 0.1, category


def test_small_rooms_keep_the_sizes_that_the_twins_know():
    for category in ("chair", "washbasin", "clock"):
        parts, low, high = variant(category, 3)
        thing = thing_of(category, 3, (0, 0, 0))
        assert thing.parts is parts
        assert np.array_equal(thing.high - thing.low, high - low)


def test_a_data_set_is_written_with_pictures_and_truth(tmp_path):
    data = make_data(tmp_path / "d", MakeOptions(1, 1, seed=3, with_truth=True))
    assert data == read_data(tmp_path / "d")
    for scene in data.scenes.values():
        size = (scene.camera.width_px, scene.camera.height_px)
        assert data.picture(scene.id).size == data.picture(scene.id, is_marked=False).size == size
        assert data.picture(scene.id).digest != data.picture(scene.id, is_marked=False).digest
        truth = np.load(tmp_path / "d" / "truth" / f"{scene.id}.npz")
        shown = truth["instance"]
        assert set(np.unique(shown[shown >= 0])) == set(range(len(scene.objects) + 1))
    assert data.manifest.counts["scenes"] == {"indoor sparse": 1, "outdoor sparse": 1}
    with pytest.raises(UsageError, match="not empty"):
        make_data(tmp_path / "d", MakeOptions(1, 0))


def test_without_rendering_the_graphs_are_the_same(tmp_path):
    drawn = [m.graph for m in make_scenes(2, 2, seed=8).scenes]
    data = make_data(tmp_path / "d", MakeOptions(2, 2, seed=8, is_rendered=False, n_questions=20))
    assert list(data.scenes.values()) == drawn
    assert len(data.questions) == 20
    assert data.manifest.left_out["questions beyond the number asked for"] > 0


def test_the_maker_needs_numpy_scipy_and_pillow_alone():
    """Training code imports it on a machine without the rest; numba is used where it is, not needed."""
    code = (
        "import sys\n"
        "absent = ['typer', 'rich', 'torch', 'transformers', 'matplotlib', 'pyarrow', 'numba']\n"
        "sys.modules.update(dict.fromkeys(absent))\n"
        "from theodolite.instruments.scene.data.make import make_questions; from theodolite.instruments.scene.questions import qa_prompt, graph_prompt\n"
        "from theodolite.instruments.scene.data.make import make_scenes; from theodolite.worlds.marks import place_marks; from theodolite.worlds.marks import draw_marks\n"
        "made = make_scenes(1, 1, seed=1)\n"
        "asked = make_questions([m.graph for m in made.scenes])\n"
        "print(len(asked.questions), qa_prompt(asked.questions[0], 3)[:11], graph_prompt(made.scenes[0].graph)[:11])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    graphs = [m.graph for m in make_scenes(1, 1, seed=1).scenes]
    assert done.stdout.split()[0] == str(len(make_questions(graphs).questions))
    assert done.stdout.count("The picture") == 2

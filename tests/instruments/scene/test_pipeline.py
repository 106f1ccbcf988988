"""Which objects and scenes are kept."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scene_made import strewn_scene, strewn_scenes

from theodolite.core.errors import UsageError
from theodolite.geometry import SE3, Cuboid, PinholeCamera
from theodolite.instruments.scene.data.pipeline import (
    Candidate,
    KeepOptions,
    View,
    balance_crowding,
    build_graph,
    canonical,
    drop_alike,
    edge_signature,
    estimated_visibility,
)

CAMERA = PinholeCamera.from_field_of_view(90, (1600, 900))
VIEW = View("v", "outdoor", CAMERA, (0.0, -1.0, 0.0))
UPRIGHT = np.array(
    [[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]
)  # box x right, y forward, z up, in a level camera's frame


def crate(x, z, *, size=(1.0, 1.0, 1.0), visibility=1.0, y=0.0):
    return Candidate(
        "crate", Cuboid(SE3(UPRIGHT, np.array([x, y, z], float)), *size), visibility, key=f"{x}/{z}"
    )


def test_each_reason_is_counted_once():
    candidates = [
        crate(0, 10),
        crate(3, 10),
        crate(0, -5),  # behind
        crate(40, 10),  # far to the side
        crate(10, 10.2),  # half out of the picture
        crate(2, 30, size=(1.0, 1.0, 1.0)),  # 800 / 29.5 ≈ 27 px
        crate(-3, 10, visibility=0.79),
    ]
    graph, counts = build_graph(VIEW, candidates)
    assert counts == {
        "behind the camera": 1,
        "outside the picture": 1,
        "cut off by the picture's edge": 1,
        "too small": 1,
        "hidden by others": 1,
    }
    assert sorted(thing.key for thing in graph.objects) == ["0/10", "3/10"]


def test_the_smallest_size_scales_with_the_picture():
    small = replace(VIEW, camera=CAMERA.resized((800, 450)))
    edge = [
        crate(-4, 10),
        crate(0, 20.4),
    ]  # 800 · 1 / 19.9 = 40.2 px in the large picture, half that in the small one
    for view in (VIEW, small):
        graph, _ = build_graph(view, edge)
        assert len(graph.objects) == 2
    gone, counts = build_graph(small, [crate(-4, 10), crate(0, 20.8)])
    assert gone is None
    assert counts == {"too small": 1, "alone in its picture": 1}


def test_too_many_objects_are_dealt_by_seed():
    candidates = [crate(x, 12) for x in np.linspace(-9, 9, 15)]
    graphs = [build_graph(VIEW, candidates, seed=seed)[0] for seed in (0, 0, 1)]
    assert len(graphs[0].objects) == 12
    assert graphs[0] == graphs[1]
    assert graphs[0] != graphs[2]
    assert build_graph(VIEW, candidates)[1] == {"more objects than are marked": 3}
    with pytest.raises(UsageError, match="from two objects"):
        KeepOptions(fewest_objects=1)


def test_length_is_the_longer_side_and_the_box_stays_where_it_is():
    box = Cuboid(SE3(UPRIGHT, np.array([1.0, 2, 9])), 1.0, 3.0, 0.5)
    turned = canonical(box)
    assert turned.size_lwh_m == (3.0, 1.0, 0.5)
    gaps = np.linalg.norm(box.corners_m[:, None] - turned.corners_m[None], axis=2)
    assert gaps.min(axis=1).max() < 1e-12
    assert canonical(turned) is turned


def test_visibility_is_estimated_by_what_stands_before():
    boxes = [
        crate(0, 5, size=(2, 0.1, 2)),
        crate(0, 10, size=(1, 0.1, 1)),
        crate(4, 10),
        crate(1.0, 10.0, size=(2, 0.1, 2)),
    ]
    shares = estimated_visibility([b.cuboid_cam for b in boxes], CAMERA)
    assert shares[0] == 1.0
    assert shares[1] == 0.0  # all of it behind the first
    assert shares[2] == 1.0
    # the fourth spans x 0 … 2 at z = 10 and is hidden where |x| < 2 (and |y| < 2): the first covers twice its own size there
    assert shares[3] == pytest.approx(0.0, abs=0.02)


def test_the_same_objects_or_the_same_arrangement_count_once():
    scenes = [replace(s, id=f"k{i}") for i, s in enumerate(strewn_scenes(12, seed=4))]
    again = replace(scenes[3], id="again")
    kept, counts = drop_alike([*scenes, again])
    assert [s.id for s in kept] == [s.id for s in scenes]
    assert counts == {"scenes arranged alike": 1}
    keyed = [
        replace(s, objects=tuple(replace(t, key=f"tok{t.id}", category=f"c{i}{t.id}") for t in s.objects))
        for i, s in enumerate((strewn_scene("a", "outdoor", 5, 1), strewn_scene("b", "outdoor", 6, 2)))
    ]
    kept, counts = drop_alike(keyed)
    assert [s.id for s in kept] == ["b"]  # five of six objects are the same; the one with more edges stays
    assert counts == {"scenes that show the same objects": 1}


def test_a_signature_knows_kinds_words_and_rough_distance_alone():
    scene = strewn_scene("a", "indoor", 5, 1)
    nudged = replace(
        scene,
        objects=tuple(replace(t, centre_cam=tuple(v + 1e-4 for v in t.centre_cam)) for t in scene.objects),
    )
    assert edge_signature(scene) == edge_signature(nudged)
    renamed = replace(scene, objects=tuple(replace(t, category=f"c{t.id}") for t in scene.objects))
    assert not edge_signature(scene) & edge_signature(renamed)
    assert edge_signature(scene).total() == 4


def test_crowding_is_balanced_one_two_two():
    scenes = strewn_scenes(200, seed=6)
    have = Counter(s.crowding for s in scenes)
    kept, counts = balance_crowding(scenes)
    now = Counter(s.crowding for s in kept)
    assert now["common"] == pytest.approx(2 * now["sparse"], abs=1)
    assert now["dense"] == pytest.approx(2 * now["sparse"], abs=1)
    assert any(now[k] == have[k] for k in have)  # as many as that allows
    assert counts["scenes left out for balance"] == 200 - len(kept)
    assert len(balance_crowding(scenes, most=50)[0]) == pytest.approx(50, abs=2)
    assert balance_crowding([])[0] == []

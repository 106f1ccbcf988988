"""Readers: real files where they are at hand, else files written here in the documented form, with known answers."""

import json
from collections import Counter

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.geometry import SE3, Box, Cuboid, PinholeCamera, inside_box_px, projected_box_px
from theodolite.instruments.scene.data.build import BuildOptions, build_data
from theodolite.instruments.scene.data.files import read_data
from theodolite.instruments.scene.data.pipeline import KeepOptions, estimated_visibility
from theodolite.instruments.scene.data.sources.kitti import kitti_views, sunrgbd_views
from theodolite.instruments.scene.data.sources.nuscenes import camera_box_views, nuscenes_views
from theodolite.instruments.scene.data.sources.scannetpp import Mesh, _vertex_visibility, scannetpp_views

# Boxes in a world with z up, before a camera at the origin that looks along +x: middle, size (l, w, h), turn about z.
BOXES = [
    ("car", (14.0, 3.0, -0.7), (4.4, 1.8, 1.5), 0.4),
    ("pedestrian", (9.0, -2.5, -0.6), (0.7, 0.6, 1.7), 2.0),
    ("truck", (24.0, -5.0, 0.3), (8.0, 2.5, 3.4), -1.1),
]
SIZE = (800, 450)
INTRINSIC = np.array([[620.0, 0, 402.0], [0, 618.0, 223.0], [0, 0, 1.0]])
LEVEL = np.array([[0.0, -1, 0], [0, 0, -1], [1, 0, 0]])  # rows: the level camera's x, y, z in the world


def world_corners(middle, size, turn):
    """Shape (8, 3), by hand."""
    c, s = np.cos(turn), np.sin(turn)
    found = []
    for x in (-1, 1):
        for y in (-1, 1):
            for z in (-1, 1):
                dx, dy, dz = x * size[0] / 2, y * size[1] / 2, z * size[2] / 2
                found.append([middle[0] + c * dx - s * dy, middle[1] + s * dx + c * dy, middle[2] + dz])
    return np.array(found)


def same_corners(one, two):
    gaps = np.linalg.norm(one[:, None] - two[None], axis=2)
    return gaps.min(axis=0).max() < 1e-6 and gaps.min(axis=1).max() < 1e-6


def write_picture(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (SIZE[1], SIZE[0], 3), dtype=np.uint8)).save(
        path
    )


def wxyz(rotation):
    x, y, z, w = Rotation.from_matrix(rotation).as_quat()
    return [w, x, y, z]


def nuscenes_folder(root, *, visibility="4"):
    """One keyframe whose ego car stands somewhere else and is turned, with the camera mounted on it."""
    ego = Rotation.from_euler("zyx", [0.8, 0.02, -0.01]).as_matrix()
    place, mount = np.array([411.0, 1180.0, 0.0]), np.array([1.7, 0.01, 1.5])
    ego_from_cam = LEVEL.T
    rows = {
        "sensor": [
            {"token": "s", "channel": "CAM_FRONT", "modality": "camera"},
            {"token": "l", "channel": "LIDAR_TOP", "modality": "lidar"},
        ],
        "calibrated_sensor": [
            {
                "token": "c",
                "sensor_token": "s",
                "translation": mount.tolist(),
                "rotation": wxyz(ego_from_cam),
                "camera_intrinsic": INTRINSIC.tolist(),
            },
            {
                "token": "cl",
                "sensor_token": "l",
                "translation": [0, 0, 0],
                "rotation": [1, 0, 0, 0],
                "camera_intrinsic": [],
            },
        ],
        "ego_pose": [{"token": "e", "translation": place.tolist(), "rotation": wxyz(ego), "timestamp": 1}],
        "sample_data": [
            {
                "token": "d",
                "sample_token": "x",
                "ego_pose_token": "e",
                "calibrated_sensor_token": "c",
                "filename": "samples/a.jpg",
                "width": SIZE[0],
                "height": SIZE[1],
                "is_key_frame": True,
            },
            {
                "token": "sweep",
                "sample_token": "x",
                "ego_pose_token": "e",
                "calibrated_sensor_token": "c",
                "filename": "sweeps/b.jpg",
                "width": SIZE[0],
                "height": SIZE[1],
                "is_key_frame": False,
            },
            {
                "token": "dl",
                "sample_token": "x",
                "ego_pose_token": "e",
                "calibrated_sensor_token": "cl",
                "filename": "l.bin",
                "width": 0,
                "height": 0,
                "is_key_frame": True,
            },
        ],
        "category": [{"token": f"k{i}", "name": f"vehicle.{name}"} for i, (name, *_) in enumerate(BOXES)],
        "instance": [{"token": f"i{i}", "category_token": f"k{i}"} for i in range(len(BOXES))],
        "sample_annotation": [
            {
                "token": f"a{i}",
                "sample_token": "x",
                "instance_token": f"i{i}",
                "visibility_token": visibility,
                "translation": (ego @ (np.array(middle) + mount) + place).tolist(),
                "size": [size[1], size[0], size[2]],
                "rotation": wxyz(ego @ Rotation.from_euler("z", turn).as_matrix()),
            }
            for i, (_, middle, size, turn) in enumerate(BOXES)
        ],
    }
    folder = root / "v1.0-mini"
    folder.mkdir(parents=True)
    for name, table in rows.items():
        (folder / f"{name}.json").write_text(json.dumps(table))
    write_picture(root / "samples" / "a.jpg")
    return root


def test_nuscenes_boxes_come_out_where_they_are(tmp_path):
    (view,) = nuscenes_views(nuscenes_folder(tmp_path))
    assert [c.category for c in view.candidates] == ["vehicle.car", "vehicle.pedestrian", "vehicle.truck"]
    assert [c.visibility for c in view.candidates] == [0.8] * 3
    for candidate, (_, middle, size, turn) in zip(view.candidates, BOXES, strict=True):
        assert same_corners(candidate.cuboid_cam.corners_m, world_corners(middle, size, turn) @ LEVEL.T)
    assert view.view.camera_height_m == 1.5
    up = Rotation.from_euler("zyx", [0.8, 0.02, -0.01]).as_matrix().T @ [0, 0, 1]
    assert np.allclose(view.view.up_cam, LEVEL @ up)


@pytest.mark.parametrize(
    ("token", "share"), [("1", 0.0), ("2", 0.4), ("3", 0.6), ("4", 0.8), ("", None), (None, None)]
)
def test_visibility_levels_and_an_empty_token(tmp_path, token, share):
    (view,) = nuscenes_views(nuscenes_folder(tmp_path, visibility=token))
    assert {c.visibility for c in view.candidates} == {share}


def test_tables_that_are_not_whole_are_refused(tmp_path):
    root = nuscenes_folder(tmp_path)
    (root / "v1.0-mini" / "instance.json").write_text("[]")
    *problems, view = nuscenes_views(root)
    assert len(problems) == 3
    assert str(problems[0]).startswith(
        "sample_annotation.json[0]: the table instance has no row with the token 'i0'"
    )
    assert not view.candidates
    (root / "v1.0-mini" / "instance.json").unlink()
    with pytest.raises(UsageError, match="lacks the tables instance"):
        list(nuscenes_views(root))
    with pytest.raises(UsageError, match="has no tables"):
        list(nuscenes_views(tmp_path / "v1.0-mini" / "nowhere"))


def test_the_real_keyframe_projects_onto_its_stored_boxes(shared_data):
    folder = shared_data / "nuscenes_demo"
    stored = json.loads((folder / "boxes.json").read_text())["cameras"]
    overlaps = []
    for view in camera_box_views(folder):
        rows = stored[view.view.source.split()[1]]["boxes"]
        for candidate, row in zip(view.candidates, rows, strict=True):
            whole = projected_box_px(candidate.cuboid_cam, view.view.camera)
            overlaps.append(inside_box_px(whole, view.view.camera).iou(Box(*row["bbox"])))
    assert len(overlaps) == 84
    assert min(overlaps) >= 0.80
    assert np.median(overlaps) >= 0.94


def test_the_lyft_tables_are_read_with_their_empty_visibility(shared_data):
    views = list(nuscenes_views(shared_data / "lyft_tables"))
    assert len(views) == 7
    assert {c.visibility for view in views for c in view.candidates} == {None}
    assert {c.category for view in views for c in view.candidates} == {"car"}
    assert all(abs(view.view.up_cam[1] + 1) < 0.05 for view in views)
    seen = [projected_box_px(c.cuboid_cam, v.view.camera) for v in views for c in v.candidates]
    assert any(box is not None and inside_box_px(box, views[0].view.camera) for box in seen)


def test_a_data_set_is_built_from_the_real_keyframe(shared_data, tmp_path):
    views = camera_box_views(shared_data / "nuscenes_demo")
    data = build_data(
        tmp_path / "d", views, options=BuildOptions(is_balanced=False), made={"source": "camera-boxes"}
    )
    assert data == read_data(tmp_path / "d")
    assert data.manifest.left_out["(visibility estimated from boxes)"] == 84
    kept = sum(len(scene.objects) for scene in data.scenes.values())
    reasons = {
        k: n for k, n in data.manifest.left_out.items() if not k.startswith(("(", "scenes", "questions"))
    }
    assert kept + sum(reasons.values()) == 84
    for scene in data.scenes.values():
        assert data.picture(scene.id).size == (1600, 900)
        plain, marked = (data.picture(scene.id, is_marked=m).pixels() for m in (False, True))
        changed = (plain != marked).any(axis=2)
        for thing in scene.objects:  # a pedestrian is 20 pixels wide
            box = thing.box_px
            shown = changed[int(box.y0) : int(box.y1) + 1, int(box.x0) : int(box.x1) + 1]
            assert shown.mean() <= 0.2, (scene.id, thing.id)


def test_kitti_boxes_stand_on_their_underside_and_are_seen_by_camera_two(tmp_path):
    shift = np.array([0.06, -0.002, 0.003])
    projection = np.column_stack([INTRINSIC, INTRINSIC @ shift])
    lines = []
    for name, middle, size, turn in BOXES:
        x, y, z = LEVEL @ np.array(middle)
        # heading (cos t, sin t) in the world is (−sin t, 0, cos t) in the camera; KITTI's is (cos r, 0, −sin r)
        yaw = np.arctan2(-np.cos(turn), -np.sin(turn))
        lines.append(
            f"{name.capitalize()} 0.00 0 0 1 2 3 4 {size[2]} {size[1]} {size[0]} {x} {y + size[2] / 2} {z} {yaw}"
        )
    lines.append("DontCare -1 -1 -10 1 2 3 4 -1 -1 -1 -1000 -1000 -1000 -10")
    for folder, name, text in (
        ("label_2", "000007.txt", "\n".join(lines)),
        (
            "calib",
            "000007.txt",
            "P2: " + " ".join(map(str, projection.ravel())) + "\nR0_rect: 1 0 0 0 1 0 0 0 1\n",
        ),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    write_picture(tmp_path / "image_2" / "000007.png")
    (view,) = kitti_views(tmp_path)
    assert view.skipped == {"DontCare regions": 1}
    assert [c.visibility for c in view.candidates] == [1.0] * 3
    for candidate, (_, middle, size, turn) in zip(view.candidates, BOXES, strict=True):
        corners = world_corners(middle, size, turn) @ LEVEL.T
        assert same_corners(candidate.cuboid_cam.corners_m, corners + shift)
        # the same pixels as P2 applied to homogeneous points of camera 0
        seen = np.column_stack([corners, np.ones(8)]) @ projection.T
        pixels = seen[:, :2] / seen[:, 2:]
        box = projected_box_px(candidate.cuboid_cam, view.view.camera)
        assert np.allclose([box.x0, box.y0, box.x1, box.y1], [*pixels.min(axis=0), *pixels.max(axis=0)])
    (tmp_path / "label_2" / "000007.txt").write_text("Car 0 0\n")
    problem, view = kitti_views(tmp_path)
    assert str(problem) == "label_2/000007.txt, line 1: expected 15 fields, got 3"
    assert not view.candidates


def test_sunrgbd_boxes_are_half_sides_in_a_tilted_frame(tmp_path):
    tilt = Rotation.from_euler("x", 0.25).as_matrix()
    upright = [
        ("bed", (0.4, 3.1, -0.4), (0.9, 1.05, 0.35), (0.6, 0.8)),
        ("night_stand", (-0.9, 2.8, -0.3), (0.25, 0.2, 0.3), (1.0, 0.0)),
    ]
    lines = [
        " ".join(map(str, [name, 1, 2, 3, 4, *middle, *half, *heading]))
        for name, middle, half, heading in upright
    ]
    for folder, text in (
        ("label_v1", "\n".join(lines)),
        (
            "calib",
            " ".join(map(str, tilt.ravel(order="F"))) + "\n" + " ".join(map(str, INTRINSIC.ravel(order="F"))),
        ),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "000017.txt").write_text(text)
    write_picture(tmp_path / "image" / "000017.jpg")
    (view,) = sunrgbd_views(tmp_path)
    for candidate, (name, middle, half, heading) in zip(view.candidates, upright, strict=True):
        assert candidate.category == name
        turn = np.arctan2(heading[1], heading[0])
        corners = world_corners(middle, (2 * half[1], 2 * half[0], 2 * half[2]), turn) @ tilt  # rows: tiltᵀ x
        in_camera = np.stack([corners[:, 0], -corners[:, 2], corners[:, 1]], axis=1)
        assert same_corners(candidate.cuboid_cam.corners_m, in_camera)
        assert candidate.visibility is None
    up = tilt.T @ [0, 0, 1]
    assert np.allclose(view.view.up_cam, [up[0], -up[2], up[1]])
    assert view.view.domain == "indoor"


def scannetpp_folder(root, *, with_mesh):
    """A scene with a table, and a cup behind a board; the height stands on another axis each time."""
    things = [
        (1, "table", (2.5, 0.4, 0.4), (1.2, 0.8, 0.8), 0.3, 2),
        (2, "cup", (3.5, -0.8, 0.5), (0.3, 0.3, 0.4), 0.0, 0),
        (3, "board", (2.8, -0.65, 0.5), (0.05, 0.9, 0.9), 0.0, 1),
        (4, "wall", (6, 0, 1), (0.1, 8, 2.5), 0.0, 2),
        (5, "lamp", (4.5, 1.5, 1.5), (0.5, 0.4, 0.6), 0.4, 0),
    ]
    world_from_cam = np.eye(4)
    tilt = Rotation.from_euler("y", 0.2).as_matrix()  # looks a little down
    world_from_cam[:3, :3] = tilt @ LEVEL.T
    world_from_cam[:3, 3] = (0.1, 0.2, 1.4)
    stored = world_from_cam @ np.diag([1.0, -1, -1, 1])
    stored = stored[[1, 0, 2, 3]]
    stored[2] *= -1
    groups, points, segments = [], [], []
    rng = np.random.default_rng(0)
    for number, label, middle, size, turn, place in things:
        axes = Rotation.from_euler("z", turn).as_matrix().T
        order = {2: [0, 1, 2], 0: [2, 0, 1], 1: [1, 2, 0]}[place]
        groups.append(
            {
                "id": number,
                "objectId": number,
                "label": label,
                "segments": [10 * number],
                "obb": {
                    "centroid": list(middle),
                    "axesLengths": [size[k] for k in order],
                    "normalizedAxes": (axes[order] * [[1], [-1], [1]]).ravel().tolist(),
                },
            }
        )
        face = rng.uniform(-0.5, 0.5, (1500, 3))
        side = rng.integers(0, 3, 1500)
        face[np.arange(1500), side] = np.sign(face[np.arange(1500), side]) / 2
        points.append((face * size) @ axes + np.array(middle))
        segments += [10 * number] * 1500
    scans, dslr = root / "scene0" / "scans", root / "scene0" / "dslr"
    scans.mkdir(parents=True)
    (dslr / "nerfstudio").mkdir(parents=True)
    (scans / "segments_anno.json").write_text(json.dumps({"segGroups": groups}))
    frames = {
        "fl_x": 2 * INTRINSIC[0, 0],
        "fl_y": 2 * INTRINSIC[1, 1],
        "cx": 2 * INTRINSIC[0, 2],
        "cy": 2 * INTRINSIC[1, 2],
    }
    frames |= {
        "w": 2 * SIZE[0],
        "h": 2 * SIZE[1],
        "frames": [{"file_path": "DSC1.JPG", "transform_matrix": stored.tolist()}],
    }
    (dslr / "nerfstudio" / "transforms_undistorted.json").write_text(json.dumps(frames))
    write_picture(dslr / "resized_undistorted_images" / "DSC1.JPG")
    if with_mesh:
        whole = np.concatenate(points).astype("<f4")
        header = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(whole)}\nproperty float x\nproperty float y\nproperty float z\nelement face 0\nproperty list uchar int vertex_indices\nend_header\n"
        (scans / "mesh_aligned_0.05.ply").write_bytes(header.encode() + whole.tobytes())
        (scans / "segments.json").write_text(json.dumps({"segIndices": segments}))
    return things, np.linalg.inv(world_from_cam)


@pytest.mark.parametrize("with_mesh", [False, True])
def test_scannetpp_poses_axes_and_sizes(tmp_path, with_mesh):
    things, cam_from_world = scannetpp_folder(tmp_path, with_mesh=with_mesh)
    (view,) = scannetpp_views(tmp_path)
    assert view.view.id == "scannetpp-scene0-DSC1"
    assert view.skipped == {"part of the building": 1}
    assert np.allclose(view.view.camera.matrix, INTRINSIC)  # scaled to the real picture
    kept = [thing for thing in things if thing[1] != "wall"]
    for candidate, (_, label, middle, size, turn, _) in zip(view.candidates, kept, strict=True):
        assert candidate.category == label
        assert candidate.cuboid_cam.height_m == pytest.approx(size[2])
        corners = world_corners(middle, size, turn)
        assert same_corners(
            candidate.cuboid_cam.corners_m, corners @ cam_from_world[:3, :3].T + cam_from_world[:3, 3]
        )
    assert np.allclose(view.view.up_cam, cam_from_world[:3, 2])
    shares = [candidate.visibility for candidate in view.candidates]
    if with_mesh:
        assert shares[0] == 1  # an object's own back, hidden by its front, does not count
        assert shares[2] > 0.8  # the table hides a corner of the board
        assert shares[1] < 0.1
    else:
        assert shares == [None] * 4


@pytest.mark.parametrize("with_mesh", [False, True])
def test_a_scannetpp_scene_in_the_documented_format_is_accepted(tmp_path, with_mesh):
    """By its mesh as by the depth of its boxes, the hidden cup is left out and the rest is kept with its truth."""
    things, cam_from_world = scannetpp_folder(tmp_path / "s", with_mesh=with_mesh)
    told = ["scene", "import", "--format", "scannetpp", "--data", str(tmp_path / "s")]
    assert main([*told, "--out", str(tmp_path / "d")]) == 0
    data = read_data(tmp_path / "d")
    (scene,) = data.scenes.values()
    assert data.manifest.left_out["hidden by others"] == 1
    assert data.manifest.left_out["cut off by the picture's edge"] == 1
    assert data.manifest.left_out["part of the building"] == 1
    truth = {label: (middle, size) for _, label, middle, size, _, _ in things}
    assert {thing.category for thing in scene.objects} == {"board", "lamp"}
    for thing in scene.objects:
        middle, size = truth[thing.category]
        place = cam_from_world[:3, :3] @ middle + cam_from_world[:3, 3]
        assert np.allclose(thing.centre_cam, place, atol=1e-6)
        assert (thing.length_m, thing.width_m, thing.height_m) == pytest.approx(
            (max(size[:2]), min(size[:2]), size[2])
        )
        assert thing.visibility > 0.8
    assert scene.camera_height_m == pytest.approx(1.4)
    assert data.picture(scene.id).size == SIZE
    assert data.questions


def test_visibility_by_a_mesh_agrees_with_the_depth_of_the_boxes(tmp_path):
    """Boards in front of one another, each shifted further: drawn as boxes into a depth buffer, and as the points of a mesh."""
    camera = PinholeCamera.from_field_of_view(60, (480, 360))
    forward = np.array([[0.0, -1, 0], [0, 0, -1], [1, 0, 0]])
    boxes = [Cuboid(SE3(forward, np.array([0.28 * k, 0.0, 2.0 + 0.6 * k])), 0.05, 0.8, 0.8) for k in range(4)]
    by_depth = estimated_visibility(boxes, camera)
    rng = np.random.default_rng(1)
    points = []
    for box in boxes:
        face = rng.uniform(-0.5, 0.5, (6000, 3))
        face[:, 0] = np.sign(face[:, 0]) / 2
        points.append(box.frame_SE3_box.apply(face * [box.length_m, box.width_m, box.height_m]))
    mesh = Mesh(np.concatenate(points), np.repeat(np.arange(4), 6000))
    by_mesh = _vertex_visibility(mesh, camera, SE3(np.eye(3), np.zeros(3)))
    assert by_depth[0] == 1
    assert 0.2 < by_depth[1] < 0.8
    assert np.allclose([by_mesh[k] for k in range(4)], by_depth, atol=0.1)


def test_near_objects_are_clipped_not_dropped():
    """A bus beside the camera: half of it behind, yet what is ahead projects exactly."""
    camera = PinholeCamera.from_field_of_view(90, (400, 400))
    bus = Cuboid(
        SE3(np.array([[0.0, -1, 0], [0, 0, -1], [1, 0, 0]]), np.array([-2.0, 0, 1.0])), 10.0, 2.0, 3.0
    )
    box = projected_box_px(bus, camera)
    # the near right edge runs from z = 0.1 to z = 6 at x = −1: it ends at 200 − 200 / 6
    assert box.x1 == pytest.approx(200 - 200 / 6)
    assert box.x0 == pytest.approx(200 - 200 * 3 / 0.1)
    rng = np.random.default_rng(0)
    inside = bus.frame_SE3_box.apply((rng.random((20000, 3)) - 0.5) * [10, 2, 3])
    ahead = camera.project(inside[inside[:, 2] > 0.1])
    assert ahead[:, 0].max() <= box.x1
    assert ahead[:, 1].max() <= box.y1


def test_unknown_visibility_is_estimated_kept_or_dropped_and_counted(tmp_path):
    """Three boxes in a row, each hidden by the one before it."""
    root = nuscenes_folder(tmp_path, visibility="")
    counts = {}
    for how in ("estimate", "keep", "drop"):
        options = BuildOptions(
            KeepOptions(unknown_visibility=how, fewest_objects=2), is_balanced=False, with_pictures=False
        )
        try:
            counts[how] = build_data(tmp_path / how, nuscenes_views(root), options=options).manifest.left_out
        except UsageError as error:
            counts[how] = str(error)
    assert counts["estimate"]["(visibility estimated from boxes)"] == 3
    assert counts["keep"]["(kept with unknown visibility)"] == 3
    assert "3 visibility not known" in counts["drop"]


def test_missing_pictures_are_counted(tmp_path):
    root = nuscenes_folder(tmp_path / "n")
    (root / "samples" / "a.jpg").unlink()
    with pytest.raises(UsageError, match="1 scenes whose picture is missing"):
        build_data(tmp_path / "d", nuscenes_views(root), options=BuildOptions(is_balanced=False))
    assert Counter(path.name for path in tmp_path.iterdir()) == {"n": 1}

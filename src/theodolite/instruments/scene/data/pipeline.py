"""From a source's annotations of a picture to a scene graph: which objects and scenes are kept, and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, read_each, read_text
from theodolite.geometry import SE3, Box, Cuboid, PinholeCamera, inside_box_px, projected_box_px
from theodolite.worlds.render.parts import Material, Part, box
from theodolite.worlds.render.raster import Lattice, visible_shares
from theodolite.worlds.scene_graph import Crowding, Domain, SceneGraph, SceneObject, Triple, in_order

# From a source's annotations of a picture to a scene graph: which objects are kept, and why others are not.
#
# An object is kept if its visible part is large enough, not cut off by the edge and not hidden. Everything left out is counted
# by reason.


Unknown: TypeAlias = Literal["estimate", "keep", "drop"]
"""What to do with an object of unknown visibility: estimate it by drawing all boxes into a depth buffer, keep the object, or
drop it. All three are counted."""

_ESTIMATE_WIDTH_PX = 480
_GREY = Material((0.5, 0.5, 0.5))


@dataclass(frozen=True, slots=True)
class KeepOptions:
    """Which objects are kept. The defaults are the paper's."""

    least_visibility: float = 0.8
    least_edge_px: float = 40.0
    """Of the longer side of the visible box, in a picture of `reference_width_px`; scaled to other sizes."""
    reference_width_px: int = 1600
    most_truncation: float = 0.2
    """Share of the projected box outside the picture."""
    fewest_objects: int = 2
    most_objects: int = 12
    unknown_visibility: Unknown = "estimate"

    def __post_init__(self) -> None:
        if not 2 <= self.fewest_objects <= self.most_objects:
            raise UsageError(
                f"a scene has from two objects to the largest number, not {self.fewest_objects} to {self.most_objects}"
            )

    def least_edge_in_px(self, camera: PinholeCamera) -> float:
        """Return the smallest longer side in a camera's pictures."""
        return self.least_edge_px * camera.width_px / self.reference_width_px


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """An object as a source gives it."""

    category: str
    cuboid_cam: Cuboid
    """In the camera's frame; its z axis points up."""
    visibility: float | None = None
    key: str = ""
    box_px: Box | None = None
    """The source's 2D box, which may reach beyond the picture; computed from the 3D box if None."""


@dataclass(frozen=True, slots=True)
class View:
    """One picture of a source, without its objects."""

    id: str
    domain: Domain
    camera: PinholeCamera
    up_cam: Triple
    camera_height_m: float = 0.0
    source: str = ""


def build_graph(
    view: View, candidates: Sequence[Candidate], *, options: KeepOptions | None = None, seed: int = 0
) -> tuple[SceneGraph | None, Counter[str]]:
    """Return the scene graph of a picture, and how many objects were left out, by reason.

    Args:
        view: The picture.
        candidates: All annotated objects; those left out may still hide others.
        options: What to keep.
        seed: Seed of the numbers of the marks, and of the choice if there are too many objects.

    Returns:
        The graph, or None if too few objects are left; and the counts.
    """
    options = options or KeepOptions()
    counts: Counter[str] = Counter()
    shares = _visibilities(view, candidates, options, counts)
    kept = []
    for candidate, share in zip(candidates, shares, strict=True):
        thing, reason = _judged(candidate, share, view, options)
        if thing is None:
            counts[reason] += 1
        else:
            kept.append(thing)
    rng = np.random.default_rng(seed)
    shuffled = [kept[i] for i in rng.permutation(len(kept))]
    counts["more objects than are marked"] += max(0, len(shuffled) - options.most_objects)
    shuffled = shuffled[: options.most_objects]
    if len(shuffled) < options.fewest_objects:
        counts["alone in its picture"] += len(shuffled)
        return None, +counts
    objects = tuple(replace(thing, id=mark) for mark, thing in enumerate(shuffled, 1))
    graph = SceneGraph(
        view.id,
        view.domain,
        objects,
        view.camera,
        view.up_cam,
        camera_height_m=view.camera_height_m,
        source=view.source,
    )
    return graph, +counts


def canonical(cuboid: Cuboid) -> Cuboid:
    """Return the same box with its length as the longer and its width as the shorter horizontal side.

    Sources name the two sides by different rules; a question about *length* needs a rule that can be seen.
    """
    if cuboid.length_m >= cuboid.width_m:
        return cuboid
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    motion = cuboid.frame_SE3_box
    return Cuboid(
        type(motion)(motion.rotation @ quarter, motion.translation_m),
        cuboid.width_m,
        cuboid.length_m,
        cuboid.height_m,
    )


def _judged(
    candidate: Candidate, share: float | None, view: View, options: KeepOptions
) -> tuple[SceneObject | None, str]:
    """Return the object, or why it is not kept."""
    whole = candidate.box_px or projected_box_px(candidate.cuboid_cam, view.camera)
    inside = inside_box_px(whole, view.camera) if whole is not None else None
    if whole is None or inside is None:
        return None, "behind the camera" if whole is None else "outside the picture"
    truncation = 1 - inside.area_px / whole.area_px
    faults = {
        "cut off by the picture's edge": truncation > options.most_truncation,
        "too small": max(inside.width_px, inside.height_px) < options.least_edge_in_px(view.camera),
        "hidden by others": share is not None and share < options.least_visibility,
        "visibility not known": share is None and options.unknown_visibility == "drop",
    }
    reason = next((reason for reason, is_so in faults.items() if is_so), "")
    return (None, reason) if reason else (_object(candidate, inside, share, truncation), "")


def _object(candidate: Candidate, inside: Box, share: float | None, truncation: float) -> SceneObject:
    upright = canonical(candidate.cuboid_cam)
    motion = upright.frame_SE3_box
    x, y, z = map(float, motion.translation_m)
    return SceneObject(
        id=1,
        category=candidate.category,
        centre_cam=(x, y, z),
        rotation_cam=motion.quaternion_wxyz,
        length_m=float(upright.length_m),
        width_m=float(upright.width_m),
        height_m=float(upright.height_m),
        box_px=inside,
        visibility=None if share is None else round(float(share), 4),
        truncation=round(float(truncation), 4),
        key=candidate.key,
    )


def _visibilities(
    view: View, candidates: Sequence[Candidate], options: KeepOptions, counts: Counter[str]
) -> list[float | None]:
    """Return the visibility of each candidate: from the source, else estimated if the options say so, else None."""
    known = [candidate.visibility for candidate in candidates]
    n_unknown = sum(share is None for share in known)
    if n_unknown == 0 or options.unknown_visibility != "estimate":
        if n_unknown and options.unknown_visibility == "keep":
            counts["(kept with unknown visibility)"] += n_unknown
        return known
    counts["(visibility estimated from boxes)"] += n_unknown
    shares = estimated_visibility([candidate.cuboid_cam for candidate in candidates], view.camera)
    return [
        share if share is not None else float(estimate) for share, estimate in zip(known, shares, strict=True)
    ]


def estimated_visibility(cuboids_cam: Sequence[Cuboid], camera: PinholeCamera) -> list[float]:
    """Return the share of each box's pixels that no other box hides; 0 for a box outside the picture."""
    small = camera.resized(thumbnail_size(camera, _ESTIMATE_WIDTH_PX))
    things = [[cuboid_part(cuboid)] for cuboid in cuboids_cam]
    shares, _ = visible_shares(things, Lattice.of_camera(small))
    return [float(share) for share in shares]


def thumbnail_size(camera: PinholeCamera, width_px: int) -> tuple[int, int]:
    """Return the size of a small picture of the same view: as wide as given, and at most four times as high."""
    return width_px, min(4 * width_px, max(1, round(camera.height_px * width_px / camera.width_px)))


def cuboid_part(cuboid: Cuboid) -> Part:
    """Return a 3D box as a solid to draw."""
    motion = cuboid.frame_SE3_box
    return box((0, 0, 0), cuboid.size_lwh_m, _GREY).placed(motion.rotation, motion.translation_m)


# Drops near-duplicate scenes, and balances how crowded scenes are.


SAME_OBJECTS, SAME_EDGES = 0.8, 0.9
"""Jaccard indices at which two scenes count as the same."""
DISTANCE_BINS_M = (5.0, 15.0, 25.0)
BALANCE: Mapping[Crowding, int] = {"sparse": 1, "common": 2, "dense": 2}
"""Proportion of scenes of each crowding."""


def drop_alike(scenes: Sequence[SceneGraph]) -> tuple[list[SceneGraph], Counter[str]]:
    """Drop scenes that show the same objects, or the same arrangement of the same kinds of objects.

    Two scenes are near-duplicates if the Jaccard index |A ∩ B| / |A ∪ B| of their objects' keys is at least 0.8, or that of
    their edges (category of both ends, words, distance in bins of 5, 15 and 25 m; as multisets) is at least 0.9. The one with
    fewer edges is dropped; of equals, the later one.

    Returns:
        The remaining scenes, in their old order, and how many were dropped by each rule.
    """
    counts: Counter[str] = Counter()
    order = sorted(range(len(scenes)), key=lambda i: (-scenes[i].n_edges, i))
    kept = _distinct(order, [_keys(scene) for scene in scenes], SAME_OBJECTS)
    counts["scenes that show the same objects"] = len(order) - len(kept)
    final = _distinct(kept, [edge_signature(scene) for scene in scenes], SAME_EDGES)
    counts["scenes arranged alike"] = len(kept) - len(final)
    return [scenes[i] for i in sorted(final)], +counts


def edge_signature(scene: SceneGraph) -> Counter[Hashable]:
    """Return the star's edges without names and exact distances, for comparing arrangements."""
    edges: Counter[Hashable] = Counter()
    for thing in scene.objects:
        if thing.id != scene.centre:
            words = tuple(in_order(scene.relation(thing.id, scene.centre)))
            distance_bin = int(
                np.searchsorted(DISTANCE_BINS_M, scene.between_m(scene.centre, thing.id), side="right")
            )
            edges[scene[scene.centre].category, thing.category, words, distance_bin] += 1
    return edges


def _keys(scene: SceneGraph) -> Counter[Hashable]:
    return Counter(thing.key for thing in scene.objects if thing.key)


def _distinct(order: Iterable[int], features: Sequence[Counter[Hashable]], limit: float) -> list[int]:
    """Choose scenes greedily: one is kept unless a kept one is too similar. Only scenes that share a feature are compared."""
    holders: defaultdict[Hashable, list[int]] = defaultdict(list)
    kept = []
    for i in order:
        mine = features[i]
        rivals = {j for feature in mine for j in holders[feature]}
        if any(_jaccard(mine, features[j]) >= limit for j in rivals):
            continue
        kept.append(i)
        for feature in mine:
            holders[feature].append(i)
    return kept


def _jaccard(one: Counter[Hashable], two: Counter[Hashable]) -> float:
    shared = sum((one & two).values())
    return shared / max(1, one.total() + two.total() - shared)


def balance_crowding(
    scenes: Sequence[SceneGraph],
    *,
    most: int | None = None,
    shares: Mapping[Crowding, int] = BALANCE,
    seed: int = 0,
) -> tuple[list[SceneGraph], Counter[str]]:
    """Keep as many sparse, common and dense scenes as the proportion 1 : 2 : 2 allows.

    Args:
        scenes: To choose from.
        most: The largest number of scenes in all.
        shares: The proportion.
        seed: Seed of the choice.

    Returns:
        The chosen scenes in their old order, and how many were left out.
    """
    by_crowding: defaultdict[Crowding, list[int]] = defaultdict(list)
    for i, scene in enumerate(scenes):
        by_crowding[scene.crowding].append(i)
    present = {crowding: share for crowding, share in shares.items() if by_crowding[crowding]}
    if not present:
        return [], Counter()
    units = min(len(by_crowding[crowding]) / share for crowding, share in present.items())
    if most is not None:
        units = min(units, most / sum(present.values()))
    rng = np.random.default_rng(seed)
    chosen: list[int] = []
    for crowding, share in present.items():
        indices = by_crowding[crowding]
        n = min(len(indices), max(1, round(units * share)))
        chosen += [indices[k] for k in rng.permutation(len(indices))[:n]]
    return [scenes[i] for i in sorted(chosen)], Counter(
        {"scenes left out for balance": len(scenes) - len(chosen)}
    )


# What every reader of a source yields, and helpers that they share.
#
# A reader yields a `SourceView` for each picture, and a `Problem` for each record that is broken: an object, or a picture with all
# its objects.


FARTHEST_M = 1e6
"""No object of a scene is farther away, or larger."""

Metres: TypeAlias = Annotated[float, Field(ge=-FARTHEST_M, le=FARTHEST_M)]
Place: TypeAlias = tuple[Metres, Metres, Metres]
Turn: TypeAlias = tuple[Metres, Metres, Metres, Metres]
"""A quaternion w, x, y, z."""
Matrix: TypeAlias = list[list[Metres]]


@dataclass(frozen=True, slots=True, eq=False)
class SourceView:
    """A picture of a source with all its annotated objects."""

    view: View
    candidates: tuple[Candidate, ...]
    picture: Path
    """May not exist on this machine."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Annotations that cannot be used, by reason."""


Found: TypeAlias = SourceView | Problem


def read_view(where: str, read: Callable[[], Iterator[Found]]) -> Iterator[Found]:
    """Yield the views of a picture's files; a `Problem` if one of them is broken."""
    # `read` is exhausted inside `read_each`, which catches what it raises.
    views, problems = read_each([(where, None)], lambda _: list(read()))
    yield from problems
    for _, all_of_it in views:
        yield from all_of_it


def text_lines(path: Path) -> list[tuple[str, str]]:
    """Return the lines of a text file that are not empty, each with its place."""
    lines = enumerate(read_text(path).split("\n"), 1)
    return [
        (f"{path.parent.name}/{path.name}, line {number}", line) for number, line in lines if line.strip()
    ]


def numbers(words: Sequence[str], n: int) -> NDArray[np.float64]:
    """Parse exactly `n` words as numbers within the range of a scene."""
    excerpt = " ".join(words)[:80]
    if len(words) != n:
        raise UsageError(f"expected {n} numbers, got {len(words)}: {excerpt!r}")
    try:
        values = np.array([float(word) for word in words])
    except ValueError:
        raise UsageError(f"expected numbers, got {excerpt!r}") from None
    if not (np.abs(values) <= FARTHEST_M).all():
        raise UsageError(f"expected numbers of at most {FARTHEST_M:g}, got {excerpt!r}")
    return values


def up_in(dst_SE3_world: SE3) -> tuple[float, float, float]:
    """Return the world's z axis in another frame."""
    x, y, z = map(float, dst_SE3_world.rotation @ np.array([0.0, 0.0, 1.0]))
    return x, y, z


def yawed_about_down(yaw_rad: float) -> NDArray[np.float64]:
    """Return the axes of a box in a level camera's frame, turned about +y by an angle in KITTI's convention.

    The frame has x right, y down and z forward.

    The length lies along (cos, 0, −sin), the width along (sin, 0, cos), the height along (0, −1, 0).
    """
    c, s = np.cos(yaw_rad), np.sin(yaw_rad)
    return np.array([[c, s, 0.0], [0.0, 0.0, -1.0], [-s, c, 0.0]])

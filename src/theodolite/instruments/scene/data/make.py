"""Makes scenes: builds a place, looks at it, keeps what can be seen well, and tries again until it is as crowded as wanted."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.geometry import SE3, Box, PinholeCamera
from theodolite.instruments.scene.data.diversity import drop_alike
from theodolite.instruments.scene.data.graph import Crowding, Domain, SceneGraph
from theodolite.instruments.scene.data.pipeline import Candidate, KeepOptions, View, build_graph
from theodolite.instruments.scene.data.render.parts import Part
from theodolite.instruments.scene.data.render.raster import NEAR, Lattice, visible_shares
from theodolite.instruments.scene.data.render.shade import Render, Solid, render
from theodolite.instruments.scene.data.world.rooms import make_room
from theodolite.instruments.scene.data.world.streets import make_street
from theodolite.instruments.scene.data.world.things import Thing, World

In = TypeVar("In")
Out = TypeVar("Out")

CROWDING: Mapping[Crowding, tuple[int, int]] = {"sparse": (2, 3), "common": (4, 8), "dense": (9, 12)}
PATTERN: tuple[Crowding, ...] = ("sparse", "common", "dense", "common", "dense")
"""How crowded one scene after the other is: 1 : 2 : 2."""
_TRIES = 60
_FEWEST_FOR_PROCESSES = 64
"""Starting processes takes a few seconds: fewer items are done here."""
_ROUNDS = 12
_RASTER_WIDTH_PX = 320
_MAKERS: Mapping[Domain, Callable[[np.random.Generator, int], World]] = {
    "indoor": make_room,
    "outdoor": make_street,
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that a made scene depends on: from it the same world is built again, to draw it."""

    domain: Domain
    seed: int
    number: int
    attempt: int

    @property
    def id(self) -> str:
        """The scene's name."""
        return f"{self.domain}-{self.seed}-{self.number:05d}"

    @property
    def crowding(self) -> Crowding:
        """How crowded it is to be."""
        return PATTERN[self.number % len(PATTERN)]


@dataclass(frozen=True, slots=True)
class MadeScene:
    """A scene graph and how to draw it."""

    graph: SceneGraph
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class MadeScenes:
    """Scenes, and what was left out on the way."""

    scenes: tuple[MadeScene, ...]
    left_out: Mapping[str, int]


def make_scenes(
    n_indoor: int,
    n_outdoor: int,
    *,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int], None] | None = None,
) -> MadeScenes:
    """Makes so many indoor and outdoor scenes, no two alike, sparse, common and dense as 1 : 2 : 2.

    Args:
        n_indoor: rooms.
        n_outdoor: streets.
        seed: of everything. The scenes do not depend on `workers`.
        workers: processes to make them in.
        progress: is told how many are made.
    """
    if min(n_indoor, n_outdoor) < 0 or n_indoor + n_outdoor < 1:
        raise UsageError(
            f"cannot make {n_indoor} indoor and {n_outdoor} outdoor scenes; ask for at least one"
        )
    wanted: list[Recipe] = []
    for domain, n in (("indoor", n_indoor), ("outdoor", n_outdoor)):
        wanted += [Recipe(domain, seed, number, 0) for number in range(n)]  # type: ignore[arg-type]
    counts: Counter[str] = Counter()
    found: dict[str, MadeScene] = {}
    with hands(workers if len(wanted) >= _FEWEST_FOR_PROCESSES else 1) as spread:
        for _ in range(_ROUNDS):
            for made, left_out in spread(_make_one, wanted):
                found[made.recipe.id] = made
                counts.update(left_out)
                if progress is not None:
                    progress(len(found))
            distinct, alike = drop_alike([made.graph for made in found.values()])
            kept = {graph.id for graph in distinct}
            again = [made.recipe for made in found.values() if made.graph.id not in kept]
            wanted = [replace(recipe, attempt=recipe.attempt + 1) for recipe in again]
            if not wanted:
                break
            counts += alike
    counts["scenes that stayed alike"] += len(wanted)
    return MadeScenes(tuple(found.values()), dict(+counts))


def _make_one(recipe: Recipe) -> tuple[MadeScene, Counter[str]]:
    """The first attempt that shows as many objects as are wanted, and what was left out on the way."""
    counts: Counter[str] = Counter()
    for attempt in range(recipe.attempt, recipe.attempt + _TRIES):
        tried = replace(recipe, attempt=attempt)
        graph, left_out = scene_of(tried)
        if graph is not None:
            counts.update(left_out)
            return MadeScene(graph, tried), counts
        counts["worlds with too few objects in view"] += 1
    raise UsageError(f"no {recipe.crowding} scene {recipe.id} in {_TRIES} tries; take another seed")


class Spread(Protocol):
    """Does the same with every item, in order."""

    def __call__(self, work: Callable[[In], Out], items: Sequence[In], /) -> Iterable[Out]:
        """The results, as they come."""
        ...


@contextmanager
def hands(workers: int) -> Iterator[Spread]:
    """Something that spreads work over processes, or does it here if there is but one worker."""
    if workers <= 1:
        yield map
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield lambda work, items: pool.map(work, items, chunksize=max(1, min(8, len(items) // (2 * workers))))


def world_of(recipe: Recipe) -> World:
    """Builds the world of a recipe."""
    rng, n_marked = _drawn(recipe)
    n_things = round(n_marked * (1.5 if recipe.domain == "indoor" else 1.7)) + 2 + recipe.attempt // 4
    return _MAKERS[recipe.domain](rng, n_things)


def _drawn(recipe: Recipe) -> tuple[np.random.Generator, int]:
    """The random source of a recipe, and how many objects are to be marked."""
    code = ("indoor", "outdoor").index(recipe.domain)
    rng = np.random.default_rng([recipe.seed, code, recipe.number, recipe.attempt])
    low, high = CROWDING[recipe.crowding]
    return rng, int(rng.integers(low, high + 1))


def scene_of(recipe: Recipe) -> tuple[SceneGraph | None, Counter[str]]:
    """The scene graph of a recipe, or None if too few objects can be seen well; and what was left out."""
    _, n_marked = _drawn(recipe)
    world = world_of(recipe)
    options = KeepOptions(fewest_objects=n_marked, most_objects=n_marked)
    view = View(
        recipe.id,
        recipe.domain,
        world.camera,
        _up(world.world_SE3_cam),
        camera_height_m=round(float(world.world_SE3_cam.translation_m[2]), 4),
        source="made",
    )
    return build_graph(view, seen_things(world), options=options, seed=recipe.number)


def seen_things(world: World) -> list[Candidate]:
    """Every thing of a world as its camera sees it, with its true visibility."""
    cam_SE3_world = world.world_SE3_cam.inverse()
    placed = [_parts_cam(thing, cam_SE3_world) for thing in world.things]
    size = _RASTER_WIDTH_PX, round(world.camera.height_px * _RASTER_WIDTH_PX / world.camera.width_px)
    shares, _ = visible_shares(placed, Lattice.of_camera(world.camera.resized(size)))
    return [
        Candidate(
            thing.category,
            thing.cuboid_world.seen_from(cam_SE3_world),
            float(share),
            key="",
            box_px=_silhouette_px(parts, world.camera),
        )
        for thing, parts, share in zip(world.things, placed, shares, strict=True)
    ]


def render_made(made: MadeScene, *, samples: int = 2) -> Render:
    """Draws a made scene: the picture, the depth, and the mark of the object that each pixel shows.

    Where the picture shows no object, the mark is 0; where it shows one that bears no mark, a number below 0.
    """
    world = world_of(made.recipe)
    marks = _marks(made.graph, world)
    things = [
        Solid(thing.parts, thing.world_SE3_thing, mark)
        for thing, mark in zip(world.things, marks, strict=True)
    ]
    return render(
        [*world.backdrop(), *things], world.camera, world.world_SE3_cam, world.light, samples=samples
    )


def _marks(graph: SceneGraph, world: World) -> list[int]:
    """The mark of each thing of a world, found by where it stands; things without a mark count down from -1."""
    cam_SE3_world = world.world_SE3_cam.inverse()
    by_place = {tuple(np.round(thing.centre_cam, 6)): thing.id for thing in graph.objects}
    places = [thing.cuboid_world.seen_from(cam_SE3_world).centre_m for thing in world.things]
    return [by_place.get(tuple(np.round(place, 6)), -number) for number, place in enumerate(places, 1)]


def _parts_cam(thing: Thing, cam_SE3_world: SE3) -> list[Part]:
    move = cam_SE3_world @ thing.world_SE3_thing
    return [part.placed(move.rotation, move.translation_m) for part in thing.parts]


def _silhouette_px(parts: Sequence[Part], camera: PinholeCamera) -> Box | None:
    """The upright box round a thing's own outline; None (then the 3D box serves) where it reaches behind the camera."""
    points = np.concatenate([part.points for part in parts])
    if (points[:, 2] <= max(NEAR, 0.11)).any():
        return None
    pixels = camera.project(points)
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    return Box(*map(float, (*low, *high)))


def _up(world_SE3_cam: SE3) -> tuple[float, float, float]:
    x, y, z = map(float, world_SE3_cam.rotation.T @ np.array([0.0, 0.0, 1.0]))
    return x, y, z

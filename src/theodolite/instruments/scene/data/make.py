"""Makes data sets of drawn rooms and streets.

A scene is built, seen through its camera, and kept if enough objects are well visible; otherwise the next attempt is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.processes import worker_pool
from theodolite.geometry import SE3, Box, PinholeCamera
from theodolite.instruments.scene.data.engine import make_questions, thin_questions
from theodolite.instruments.scene.data.files import (
    TRUTH,
    Manifest,
    SceneData,
    new_folder,
    read_data,
    tally,
    write_data,
    write_pictures,
)
from theodolite.instruments.scene.data.pipeline import Candidate, KeepOptions, View, build_graph, drop_alike
from theodolite.instruments.scene.data.questions import SceneQuestion
from theodolite.worlds.render.parts import Part
from theodolite.worlds.render.raster import NEAR, Lattice, visible_shares
from theodolite.worlds.render.shade import Render, Solid, render
from theodolite.worlds.rooms import make_room
from theodolite.worlds.scene_graph import Crowding, Domain, SceneGraph
from theodolite.worlds.streets import make_street
from theodolite.worlds.things import Thing, World

In = TypeVar("In")
Out = TypeVar("Out")

CROWDING: Mapping[Crowding, tuple[int, int]] = {"sparse": (2, 3), "common": (4, 8), "dense": (9, 12)}
PATTERN: tuple[Crowding, ...] = ("sparse", "common", "dense", "common", "dense")
"""The crowding of consecutive scenes: 1 : 2 : 2."""
_TRIES = 60
_FEWEST_FOR_PROCESSES = 64
"""Starting processes takes a few seconds; fewer items are done in this one."""
_ROUNDS = 12
_RASTER_WIDTH_PX = 320
_MAKERS: Mapping[Domain, Callable[[np.random.Generator, int], World]] = {
    "indoor": make_room,
    "outdoor": make_street,
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that a made scene depends on; the same world can be built from it again."""

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
        """How crowded the scene should be."""
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
    """Makes indoor and outdoor scenes, no two alike, with sparse, common and dense ones as 1 : 2 : 2.

    Args:
        n_indoor: Number of rooms.
        n_outdoor: Number of streets.
        seed: Seed of every draw. The scenes do not depend on `workers`.
        workers: Number of processes.
        progress: Called with the number of scenes made so far.
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
    with processes(workers if len(wanted) >= _FEWEST_FOR_PROCESSES else 1) as spread:
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
    """The first attempt with enough visible objects, and what was left out on the way."""
    counts: Counter[str] = Counter()
    for attempt in range(recipe.attempt, recipe.attempt + _TRIES):
        tried = replace(recipe, attempt=attempt)
        graph, left_out = scene_of(tried)
        if graph is not None:
            counts.update(left_out)
            return MadeScene(graph, tried), counts
        counts["worlds with too few objects in view"] += 1
    raise UsageError(f"no {recipe.crowding} scene {recipe.id} in {_TRIES} attempts; choose another seed")


class Spread(Protocol):
    """Applies a function to every item, in order."""

    def __call__(self, work: Callable[[In], Out], items: Sequence[In], /) -> Iterable[Out]:
        """The results."""
        ...


@contextmanager
def processes(workers: int) -> Iterator[Spread]:
    """A `map` over several processes; the built-in one for a single worker."""
    if workers <= 1:
        yield map
        return
    with worker_pool(workers) as pool:
        yield lambda work, items: pool.map(work, items, chunksize=max(1, min(8, len(items) // (2 * workers))))


def world_of(recipe: Recipe) -> World:
    """Builds the world of a recipe."""
    rng, n_marked = _drawn(recipe)
    n_things = round(n_marked * (1.5 if recipe.domain == "indoor" else 1.7)) + 2 + recipe.attempt // 4
    return _MAKERS[recipe.domain](rng, n_things)


def _drawn(recipe: Recipe) -> tuple[np.random.Generator, int]:
    """The random generator of a recipe, and how many objects to mark."""
    code = ("indoor", "outdoor").index(recipe.domain)
    rng = np.random.default_rng([recipe.seed, code, recipe.number, recipe.attempt])
    low, high = CROWDING[recipe.crowding]
    return rng, int(rng.integers(low, high + 1))


def scene_of(recipe: Recipe) -> tuple[SceneGraph | None, Counter[str]]:
    """The scene graph of a recipe, or None if too few objects are well visible; and what was left out."""
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
    """Every object of a world as its camera sees it, with its true visibility."""
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

    The mark is 0 where the picture shows no object, and below 0 where it shows one without a mark.
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
    """The mark of each object of a world, found by its place; objects without a mark count down from −1."""
    cam_SE3_world = world.world_SE3_cam.inverse()
    by_place = {tuple(np.round(thing.centre_cam, 6)): thing.id for thing in graph.objects}
    places = [thing.cuboid_world.seen_from(cam_SE3_world).centre_m for thing in world.things]
    return [by_place.get(tuple(np.round(place, 6)), -number) for number, place in enumerate(places, 1)]


def _parts_cam(thing: Thing, cam_SE3_world: SE3) -> list[Part]:
    move = cam_SE3_world @ thing.world_SE3_thing
    return [part.placed(move.rotation, move.translation_m) for part in thing.parts]


def _silhouette_px(parts: Sequence[Part], camera: PinholeCamera) -> Box | None:
    """The upright box around an object's outline; None if it reaches behind the camera."""
    points = np.concatenate([part.points for part in parts])
    if (points[:, 2] <= max(NEAR, 0.11)).any():
        return None
    pixels = camera.project(points)
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    return Box(*map(float, (*low, *high)))


def _up(world_SE3_cam: SE3) -> tuple[float, float, float]:
    x, y, z = map(float, world_SE3_cam.rotation.T @ np.array([0.0, 0.0, 1.0]))
    return x, y, z


@dataclass(frozen=True, slots=True)
class MakeOptions:
    """What a made data set should hold."""

    n_indoor: int
    n_outdoor: int
    seed: int = 0
    n_questions: int | None = None
    """All that the scenes allow if None."""
    is_rendered: bool = True
    with_truth: bool = False
    """True to write depth and instance maps too."""
    workers: int = 1


def make_data(
    folder: str | Path,
    options: MakeOptions,
    *,
    version: str = "",
    progress: Callable[[str, int], None] | None = None,
) -> SceneData:
    """Makes scenes and questions, draws the pictures, and writes everything.

    Args:
        folder: New or empty.
        options: How many scenes and questions, the seed, and whether to draw.
        version: Version of the program, for the manifest.
        progress: Called with the stage (``scenes``, ``pictures``) and how many are done.
    """
    folder = new_folder(folder)
    tell = partial(progress, "scenes") if progress is not None else None
    made = make_scenes(
        options.n_indoor, options.n_outdoor, seed=options.seed, workers=options.workers, progress=tell
    )
    graphs = [scene.graph for scene in made.scenes]
    asked = make_questions(graphs, seed=options.seed)
    questions: Sequence[SceneQuestion] = asked.questions
    left_out: dict[str, Any] = dict(made.left_out) | {
        f"questions: no clear {k}": v for k, v in asked.unmet.items()
    }
    if options.n_questions is not None:
        questions = thin_questions(questions, options.n_questions, seed=options.seed)
        left_out["questions beyond the number asked for"] = len(asked.questions) - len(questions)
    if options.is_rendered:
        graphs = _draw_all(folder, made.scenes, options, progress)
    manifest = Manifest(
        made={
            "source": "made",
            "indoor": options.n_indoor,
            "outdoor": options.n_outdoor,
            "seed": options.seed,
            "rendered": options.is_rendered,
            "theodolite": version,
        },
        counts=tally(graphs, questions),
        left_out=left_out,
    )
    return read_data(write_data(folder, graphs, questions, manifest))


def _draw_all(
    folder: Path, made: Sequence[MadeScene], options: MakeOptions, progress: Callable[[str, int], None] | None
) -> list[SceneGraph]:
    graphs = []
    work = partial(_draw_one, folder=folder, with_truth=options.with_truth)
    with processes(min(options.workers, len(made))) as spread:
        for graph in spread(work, made):
            graphs.append(graph)
            if progress is not None:
                progress("pictures", len(graphs))
    return graphs


def _draw_one(made: MadeScene, *, folder: Path, with_truth: bool) -> SceneGraph:
    """Draws one scene, plain and marked; returns its graph with the paths of the pictures."""
    drawn = render_made(made)
    if with_truth:
        (folder / TRUTH).mkdir(parents=True, exist_ok=True)
        np.savez_compressed(
            folder / TRUTH / f"{made.graph.id}.npz", depth_m=drawn.depth_m, instance=drawn.instance
        )
    return write_pictures(folder, made.graph, drawn.picture, instance=drawn.instance)

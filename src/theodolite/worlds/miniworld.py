"""Walks through rooms of MiniWorld, a three-dimensional simulator: an extra, because it draws with OpenGL.

Each frame is drawn with and without a thing; the thing is visible where the two differ. So boxes and visibility are exact for
these pixels, occlusion included. MiniWorld's axes are x, y up, z towards the viewer, and angles run
counter-clockwise from +x; here x stays, north is −z, and the heading is 90° minus the angle.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import MissingExtraError, UsageError
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.worlds.episodes import ASPECTS, EGO, Action, Episode, Frame, FrameObject, Pose, Split
from theodolite.worlds.facts import oracle_text
from theodolite.worlds.palette import SPLITS

SIZE_PX = (320, 240)
LOOKS: dict[Split, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "in-distribution": (("red", "blue"), ("box", "ball")),
    "ood": (("green", "purple", "yellow", "grey"), ("key",)),
}
"""Colours and things of each split: four looks each, and nothing in both."""
_SIDES_M: dict[Split, tuple[float, float]] = {"in-distribution": (8.0, 8.0), "ood": (6.5, 10.0)}
"""The room's extent, x and z: layouts differ too."""
N_MOVES = 8
_MARGIN_M = 0.8
_STEP_M, _TURN_DEG = 0.9, 45.0
_LEAST_PX = 20
"""Fewer pixels than this are no sight of a thing."""
_CLEAR_DEG = 15.0
_MOST_DRAFTS = 4000
KINDS, OPTIONS = ("side", "turn"), ("left", "right")


def make_miniworld(n: int, *, seed: int = 0, splits: tuple[Split, ...] = SPLITS) -> Iterator[Episode]:
    """Make walks of eight moves, `n` of each split; the same seed gives the same walks, and the same pixels on the same driver.

    Raises:
        MissingExtraError: MiniWorld is not installed.
        UsageError: MiniWorld cannot draw on this machine.
    """
    if importlib.util.find_spec("miniworld") is None:
        raise MissingExtraError("miniworld", "miniworld", "the world 'miniworld'")
    return _made(n, seed, splits)


def _made(n: int, seed: int, splits: tuple[Split, ...]) -> Iterator[Episode]:
    for split in splits:
        with contextlib.closing(_Simulator(_SIDES_M[split])) as simulator:
            for index in range(n):
                name = f"miniworld-{'id' if split == 'in-distribution' else 'ood'}-{seed}-{index:04d}"
                episode = _drawn(simulator, split, index, seed, name)
                yield replace(episode, meta={**episode.meta, "oracle": oracle_text(episode)})


def _drawn(simulator: _Simulator, split: Split, index: int, seed: int, name: str) -> Episode:
    for attempt in range(_MOST_DRAFTS):
        rng = np.random.default_rng([seed, SPLITS.index(split), index, attempt])
        draft = _Draft.drawn(simulator.sides_m, split, KINDS[index % len(KINDS)], rng)
        if draft is None or draft.answer != OPTIONS[index // len(KINDS) % len(OPTIONS)]:
            continue
        episode = _walk(simulator, draft, split, name)
        if episode is not None:
            return episode
    raise UsageError(
        f"no good walk for miniworld {split} {index} in {_MOST_DRAFTS}; take another seed than {seed}"
    )


@dataclass(frozen=True, slots=True)
class _Placed:
    """A thing of the room."""

    colour: str
    category: str
    x_m: float
    y_m: float

    @property
    def id(self) -> str:
        return f"{self.colour}-{self.category}"


class _Simulator:
    """One room that is emptied and furnished anew for every walk."""

    def __init__(self, sides_m: tuple[float, float]) -> None:
        import pyglet

        pyglet.options["headless"] = True  # before MiniWorld opens a window
        try:
            from miniworld import entity, miniworld

            class MiniWorldRoom(miniworld.MiniWorldEnv):  # type: ignore[misc]  # MiniWorld is not typed
                def _gen_world(self) -> None:
                    self.add_rect_room(min_x=0, max_x=sides_m[0], min_z=0, max_z=sides_m[1])
                    self.place_agent()

            self._env: Any = MiniWorldRoom(obs_width=SIZE_PX[0], obs_height=SIZE_PX[1])
            self._env.reset(seed=0)
        except Exception as error:  # pyglet raises whatever its driver raises
            raise UsageError(
                f"MiniWorld cannot draw here ({type(error).__name__}: {error}); on Debian it needs"
                " apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri libglu1-mesa"
            ) from error
        self._entities, self.sides_m = entity, sides_m

    def furnish(self, things: list[_Placed]) -> list[Any]:
        """Replace the things in the room."""
        kinds = {"box": self._entities.Box, "ball": self._entities.Ball, "key": self._entities.Key}
        self._env.entities = [self._env.agent]
        placed = []
        for thing in things:
            entity = kinds[thing.category](thing.colour)
            entity.randomize(self._env.params.no_random(), None)  # sets the paint, and nothing at random
            self._env.place_entity(entity, pos=np.array([thing.x_m, 0.0, -thing.y_m]), dir=0.0)
            placed.append(entity)
        return placed

    def look(self, pose: Pose) -> NDArray[np.uint8]:
        """Return the picture from a pose."""
        self._env.agent.pos = np.array([pose.x_m, 0.0, -pose.y_m])
        self._env.agent.dir = np.radians(90.0 - pose.heading_deg)
        return np.array(self._env.render_obs(), np.uint8)

    def without(self, thing: Any, pose: Pose) -> NDArray[np.uint8]:
        """Return the same picture with one thing taken away."""
        kept, self._env.entities = self._env.entities, [e for e in self._env.entities if e is not thing]
        try:
            return self.look(pose)
        finally:
            self._env.entities = kept

    def close(self) -> None:
        """Release the drawing context."""
        self._env.close()


@dataclass(frozen=True, slots=True)
class _Draft:
    """A walk before it is drawn."""

    kind: str
    things: list[_Placed]
    poses: list[Pose]
    asked: _Placed
    answer: str

    @classmethod
    def drawn(
        cls, sides_m: tuple[float, float], split: Split, kind: str, rng: np.random.Generator
    ) -> _Draft | None:
        """Draw four things and a walk among them; None if it runs into something, or if the question has no clear answer."""
        things = _furniture(sides_m, split, rng)
        poses = _way(rng, sides_m)
        asked = things[int(rng.integers(len(things)))]
        inside = all(
            _MARGIN_M <= p.x_m <= sides_m[0] - _MARGIN_M and _MARGIN_M <= -p.y_m <= sides_m[1] - _MARGIN_M
            for p in poses
        )
        if not inside or any(np.hypot(p.x_m - t.x_m, p.y_m - t.y_m) <= 1.0 for p in poses for t in things):
            return None
        if kind == "turn":
            turn = next(t for a, b in pairwise(poses) if (t := a.turn_to_deg(b)))
            return cls(kind, things, poses, asked, OPTIONS[turn > 0])
        bearing = poses[-1].bearing_deg((asked.x_m, asked.y_m, 0.0))
        is_clear = _CLEAR_DEG < abs(bearing) < 180 - _CLEAR_DEG
        return cls(kind, things, poses, asked, OPTIONS[bearing > 0]) if is_clear else None

    @property
    def task(self) -> str:
        """The question."""
        if self.kind == "turn":
            return "Which way do you turn first?"
        return (
            f"When you stop, is the {self.asked.colour} {self.asked.category} on your left or on your right?"
        )


def _furniture(sides_m: tuple[float, float], split: Split, rng: np.random.Generator) -> list[_Placed]:
    """Return one thing of each look, no two within a metre and a half."""
    colours, categories = LOOKS[split]
    looks = [(c, k) for c in colours for k in categories]
    spots: list[NDArray[np.float64]] = []
    while len(spots) < len(looks):
        spot = rng.uniform(_MARGIN_M, np.array(sides_m) - _MARGIN_M)
        if all(np.hypot(*(spot - other)) > 1.5 for other in spots):
            spots.append(spot)
    order = [looks[int(i)] for i in rng.permutation(len(looks))]
    return [
        _Placed(c, k, round(float(x), 3), round(float(-z), 3))
        for (c, k), (x, z) in zip(order, spots, strict=True)
    ]


def _way(rng: np.random.Generator, sides_m: tuple[float, float]) -> list[Pose]:
    """Return eight moves, three of them turns; the caller checks whether they stay in the room."""
    x, z = rng.uniform(_MARGIN_M, np.array(sides_m) - _MARGIN_M)
    poses = [Pose(float(x), float(-z), 0.0, float(rng.integers(8)) * _TURN_DEG)]
    turns = set(rng.permutation(N_MOVES)[:3].tolist())
    for move in range(N_MOVES):
        last = poses[-1]
        if move in turns:
            turned = (last.heading_deg + float(rng.choice([-1, 1])) * _TURN_DEG) % 360
            poses.append(replace(last, heading_deg=turned))
        else:
            ahead = np.radians(last.heading_deg)
            east, north = _STEP_M * float(np.sin(ahead)), _STEP_M * float(np.cos(ahead))
            poses.append(replace(last, x_m=last.x_m + east, y_m=last.y_m + north))
    return poses


def _walk(simulator: _Simulator, draft: _Draft, split: Split, name: str) -> Episode | None:
    """Draw the walk; None if it shows too little, or nothing that the question is about."""
    placed = simulator.furnish(draft.things)
    frames = tuple(
        _shot(simulator, draft.things, placed, pose, moment) for moment, pose in enumerate(draft.poses)
    )
    sights = [thing.id for frame in frames for thing in frame.objects if thing.is_visible]
    recent = {thing.id for frame in frames[-4:] for thing in frame.objects if thing.is_visible}
    if len(sights) < N_MOVES or (draft.kind == "side" and draft.asked.id not in recent):
        return None
    actions = tuple(_moves(draft.poses))
    colours, categories = (sorted({word for both in LOOKS.values() for word in both[k]}) for k in (0, 1))
    return Episode(
        name,
        draft.task,
        frames,
        answer=draft.answer,
        options=OPTIONS,
        actions=actions,
        known=dict.fromkeys(ASPECTS, "complete"),
        vocabulary={
            "objects": tuple(categories),
            "attributes": tuple(colours),
            "actions": ("turn left", "turn right", "move forward"),
        },
        world="miniworld",
        split=split,
        difficulty={
            "frames": float(len(frames)),
            "objects": float(len(draft.things)),
            "options": float(len(OPTIONS)),
            "turns": float(sum(a.verb.startswith("turn") for a in actions)),
            "things in view": len(sights) / len(frames),
        },
        cluster=name,
        meta={"kind": draft.kind},
    )


def _shot(simulator: _Simulator, things: list[_Placed], placed: list[Any], pose: Pose, moment: int) -> Frame:
    """Return the picture of a moment and its truth."""
    pixels = simulator.look(pose)
    objects = []
    for thing, one in zip(things, placed, strict=True):
        box = _sight(pixels, simulator.without(one, pose))
        where = (thing.x_m, thing.y_m, 0.0)
        objects.append(
            FrameObject(
                thing.id, thing.category, box, box is not None, {"colour": thing.colour}, position_m=where
            )
        )
    return Frame(float(moment), Picture.from_array(pixels), SIZE_PX, tuple(objects), (), pose)


def _sight(with_it: NDArray[np.uint8], without_it: NDArray[np.uint8]) -> Box | None:
    """Return the box where two pictures differ; None if they hardly do."""
    rows, columns = np.nonzero((with_it != without_it).any(axis=2))
    if rows.size < _LEAST_PX:
        return None
    return Box(float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1))


def _moves(poses: list[Pose]) -> Iterator[Action]:
    for moment, (a, b) in enumerate(pairwise(poses)):
        turn = a.turn_to_deg(b)
        verb = "move forward" if turn == 0 else "turn right" if turn > 0 else "turn left"
        yield Action(verb, EGO, (), float(moment), moment + 0.9)

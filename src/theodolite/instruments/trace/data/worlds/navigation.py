"""The world of ways: four rooms with walls of different colours, furniture, and a walk of eight moves seen from within."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from theodolite.core.types import Picture
from theodolite.instruments.trace.data.episode import (
    ASPECTS,
    EGO,
    Action,
    Episode,
    Frame,
    Pose,
    Relation,
    SceneObject,
    Split,
)
from theodolite.instruments.trace.data.worlds.houses import (
    ROOM,
    Place,
    is_passage,
    layout_split,
    room_of,
    shortest_walk,
    walls_of,
)
from theodolite.instruments.trace.data.worlds.palette import COLOURS, PAINTS, blended
from theodolite.instruments.trace.data.worlds.raycast import SIZE_PX, Furniture, House, pastel, view
from theodolite.instruments.trace.data.worlds.sprites import FURNITURE

N_THINGS = 8
N_SIGHTS = 12
"""So many times, at least, a thing is in view."""
SEEN_SHARE = 0.3
"""What shows less of itself than this counts as not in view."""
KINDS = ("side", "turn", "room", "ahead")


@dataclass(frozen=True, slots=True)
class NavigationScenario:
    """All that a walk follows from."""

    split: Split
    kind: str
    openings: tuple[int, int, int, int]
    """Where the walls between the rooms are open: upper, lower, left, right; −1 where there is no opening."""
    rooms: tuple[str, str, str, str]
    """The colours of the rooms: north-west, north-east, south-west, south-east."""
    things: tuple[tuple[str, str, int, int], ...]
    """Colour, category, row and column."""
    walk: tuple[Place, ...]
    asked: int
    """The thing that the question names."""
    fog: float = 0.0
    """0 clear; at 1 nothing is seen beyond a metre."""
    blend: float = 0.0
    """How far floor and ceiling are changed."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> NavigationScenario:
        """Out of what `as_json` wrote."""
        lists: dict[str, Any] = {name: tuple(value[name]) for name in ("openings", "rooms")}
        return cls(
            **{
                **value,
                **lists,
                "things": tuple((c, s, r, k) for c, s, r, k in value["things"]),
                "walk": tuple((r, c, h) for r, c, h in value["walk"]),
            }
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def name(self, index: int) -> str:
        """*red chair*."""
        return " ".join(self.things[index][:2])


def draft_navigation(rng: np.random.Generator, split: Split, index: int) -> NavigationScenario | None:
    """A layout of the split, eight things, and a shortest walk of eight moves with two turns into another room."""
    while True:
        drawn = [int(rng.integers(ROOM)) for _ in range(4)]
        if rng.random() < 0.5:
            drawn[int(rng.integers(4))] = -1
        if layout_split(drawn) == split:
            break
    walls = walls_of(drawn)
    walk = shortest_walk(walls, rng)
    if walk is None:
        return None
    taken = {state[:2] for state in walk}
    free = [
        (r, c)
        for r, c in np.argwhere(~walls).tolist()
        if (r, c) not in taken and r != ROOM + 1 and c != ROOM + 1 and not is_passage(walls, r, c)
    ]
    if len(free) < N_THINGS:
        return None
    chosen = [free[int(i)] for i in rng.permutation(len(free))[:N_THINGS]]
    looks = [(c, k) for c in COLOURS[split] for k in FURNITURE[split]]
    things = tuple(
        (*looks[int(i)], *cell) for i, cell in zip(rng.permutation(len(looks)), chosen, strict=False)
    )
    rooms = tuple(str(c) for c in rng.permutation(COLOURS[split]))
    openings = (drawn[0], drawn[1], drawn[2], drawn[3])
    kind = KINDS[index % len(KINDS)]
    return NavigationScenario(split, kind, openings, rooms, things, walk, int(rng.integers(N_THINGS)))  # type: ignore[arg-type]  # four rooms


def navigation_episode(scenario: NavigationScenario, name: str) -> Episode:
    """Walks, draws, and asks."""
    house = _house(scenario)
    things = [
        Furniture(f"{c}-{k}", k, c, float(column), float(-row)) for c, k, row, column in scenario.things
    ]
    frames = tuple(_shot(scenario, house, things, i) for i in range(len(scenario.walk)))
    actions = tuple(_moves(scenario))
    task, answer, options = _question(scenario, frames, actions)
    shown = [o for f in frames for o in f.objects if o.is_visible and o.category != "room"]
    return Episode(
        name,
        task,
        frames,
        answer=answer,
        options=options,
        actions=actions,
        known=dict.fromkeys(ASPECTS, "complete"),
        vocabulary={
            "objects": (*FURNITURE["in-distribution"], *FURNITURE["ood"], "room"),
            "actions": ("turn left", "turn right", "move forward", "enter"),
        },
        world="navigation",
        split=scenario.split,
        difficulty={
            "frames": float(len(frames)),
            "objects": float(len(things)),
            "options": float(len(options)),
            "turns": float(sum(a.verb.startswith("turn") for a in actions)),
            "things in view": len(shown) / len(frames),
        },
        cluster=name,
        meta={"scenario": scenario.as_json(), "kind": scenario.kind},
    )


def _house(scenario: NavigationScenario) -> House:
    walls = walls_of(scenario.openings)
    paint = {(r, c): pastel(PAINTS[scenario.rooms[room_of(r, c)]]) for r, c in np.argwhere(~walls).tolist()}
    fog = float("inf") if scenario.fog <= 0 else 1.0 + 5.0 * (1 - scenario.fog)
    return House(
        walls,
        paint,
        blended((182, 156, 124), (96, 104, 128), scenario.blend),
        blended((238, 238, 234), (196, 178, 150), scenario.blend),
        fog,
    )


def _shot(scenario: NavigationScenario, house: House, things: Sequence[Furniture], index: int) -> Frame:
    row, column, facing = scenario.walk[index]
    pose = Pose(float(column), float(-row), 0.75, 90.0 * facing)
    pixels, seen = view(house, pose, things)
    objects = []
    for thing in things:
        box, share = seen[thing.id]
        is_visible = box is not None and share >= SEEN_SHARE
        objects.append(
            SceneObject(
                thing.id,
                thing.category,
                box if is_visible else None,
                is_visible,
                {"colour": thing.colour},
                position_m=(thing.x_m, thing.y_m, 0.75),
            )
        )
    here = room_of(row, column)
    rooms = [
        SceneObject(f"{c}-room", "room", None, i == here, {"colour": c}) for i, c in enumerate(scenario.rooms)
    ]
    return Frame(
        float(index),
        Picture.from_array(pixels),
        SIZE_PX,
        (*objects, *rooms),
        (Relation(EGO, "in", rooms[here].id),),
        pose,
    )


def _moves(scenario: NavigationScenario) -> list[Action]:
    """What is done from each frame to the next."""
    found = []
    for i, (a, b) in enumerate(pairwise(scenario.walk)):
        turn = (b[2] - a[2]) % 4
        verb = {0: "move forward", 1: "turn right", 3: "turn left"}[turn]
        found.append(Action(verb, EGO, (), float(i), i + 0.9))
        before, after = room_of(*a[:2]), room_of(*b[:2])
        if before != after:
            found.append(Action("enter", EGO, (f"{scenario.rooms[after]}-room",), float(i), i + 0.9))
    return found


def _question(
    scenario: NavigationScenario, frames: Sequence[Frame], actions: Sequence[Action]
) -> tuple[str, str, tuple[str, ...]]:
    """What is asked, the answer (empty if it has none), and the options."""
    end, pose = frames[-1], frames[-1].pose
    if scenario.kind == "turn":
        first = next((a.verb.partition(" ")[2] for a in actions if a.verb.startswith("turn")), "")
        return "Which way do you turn first?", first, ("left", "right")
    if scenario.kind == "room":
        row, column, _ = scenario.walk[-1]
        return (
            "What colour are the walls of the room in which you stop?",
            scenario.rooms[room_of(row, column)],
            tuple(sorted(scenario.rooms)),
        )
    names = [scenario.name(i) for i in range(len(scenario.things))]
    bearings = [
        pose.bearing_deg(o.position_m) for o in end.objects if pose is not None and o.position_m is not None
    ]
    if scenario.kind == "side":
        bearing = bearings[scenario.asked]
        was_seen = any(f.objects[scenario.asked].is_visible for f in frames[-4:])
        is_clear = 15 < abs(bearing) < 165 and was_seen
        answer = ("right" if bearing > 0 else "left") if is_clear else ""
        return (
            f"When you stop, is the {names[scenario.asked]} on your left or on your right?",
            answer,
            ("left", "right"),
        )
    ahead = [
        (_distance(o, pose), names[i])
        for i, o in enumerate(end.objects[: len(names)])
        if o.is_visible and abs(bearings[i]) <= 40
    ]
    ahead.sort()
    is_clear = len(ahead) == 1 or (len(ahead) > 1 and ahead[1][0] - ahead[0][0] > 0.5)
    options = tuple(sorted(names))
    return "Which thing is nearest in front of you when you stop?", ahead[0][1] if is_clear else "", options


def _distance(thing: SceneObject, pose: Pose | None) -> float:
    if pose is None or thing.position_m is None:
        return float("inf")
    return float(np.hypot(thing.position_m[0] - pose.x_m, thing.position_m[1] - pose.y_m))


def is_good_navigation(scenario: NavigationScenario, wanted: int) -> bool:
    """Whether a draft is worth keeping: things in view on most of the way, and the answer that is wanted."""
    if _n_sights(scenario) < N_SIGHTS:
        return False
    house = _house(scenario)
    things = [Furniture(f"{c}-{k}", k, c, float(x), float(-y)) for c, k, y, x in scenario.things]
    last = range(len(scenario.walk) - 4, len(scenario.walk)) if scenario.kind in {"side", "ahead"} else ()
    frames = [_shot(scenario, house, things, i) for i in last]
    if frames and sum(any(o.is_visible for o in f.objects[: len(things)]) for f in frames) < 2:
        return False
    if not frames:
        frames = [Frame(0.0, pose=Pose(0.0, 0.0))]
    _, answer, options = _question(scenario, frames, _moves(scenario))
    return answer == options[wanted % len(options)]


def _n_sights(scenario: NavigationScenario) -> int:
    """How often, on the way, a thing lies within the view with no wall between."""
    walls = walls_of(scenario.openings)
    found = 0
    for row, column, facing in scenario.walk:
        pose = Pose(float(column), float(-row), heading_deg=90.0 * facing)
        for _, _, r, c in scenario.things:
            if abs(pose.bearing_deg((float(c), float(-r), 0.0))) > 38:
                continue
            line = np.linspace((row, column), (r, c), 24)
            found += not walls[np.round(line[:, 0]).astype(int), np.round(line[:, 1]).astype(int)].any()
    return found


def move_navigation(
    scenario: NavigationScenario, rng: np.random.Generator, magnitude: float
) -> tuple[NavigationScenario, str, float] | None:
    """The thing that is asked for stands elsewhere, `magnitude` times eight metres away."""
    walls = walls_of(scenario.openings)
    taken = {s[:2] for s in scenario.walk} | {t[2:] for t in scenario.things}
    colour, category, row, column = scenario.things[scenario.asked]
    free = [
        (r, c)
        for r, c in np.argwhere(~walls).tolist()
        if (r, c) not in taken and r != ROOM + 1 and c != ROOM + 1 and not is_passage(walls, r, c)
    ]
    if not free:
        return None
    off = [abs(float(np.hypot(r - row, c - column)) - 8 * magnitude) for r, c in free]
    best = [cell for cell, o in zip(free, off, strict=True) if o <= min(off) + 1.0]
    cell = best[int(rng.integers(len(best)))]
    things = tuple(
        (colour, category, *cell) if i == scenario.asked else t for i, t in enumerate(scenario.things)
    )
    far = float(np.hypot(cell[0] - row, cell[1] - column))
    return replace(scenario, things=things), f"{colour}-{category}", min(1.0, far / 8)


def hide_navigation(
    scenario: NavigationScenario, rng: np.random.Generator, magnitude: float
) -> NavigationScenario:
    """Fog: what is farther off than 6 − 5 × magnitude metres is no longer seen."""
    del rng
    return replace(scenario, fog=magnitude)


def answer_navigation(scenario: NavigationScenario, episode: Episode) -> str:
    """The answer as the episode's frames and actions now are."""
    if scenario.kind == "room":
        relation = next((r for r in episode.frames[-1].relations if r.subject == EGO), None)
        return "" if relation is None else relation.object.partition("-")[0]
    return _question(scenario, episode.frames, episode.actions)[1]


def restyle_navigation(scenario: NavigationScenario, magnitude: float) -> NavigationScenario:
    """Another floor and another ceiling."""
    return replace(scenario, blend=magnitude)

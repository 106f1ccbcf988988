"""Missions in a house of two rooms: *open the red door, then pick up the blue key*, and an expert's moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from theodolite.core.files import dump
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.worlds.episodes import (
    ASPECTS,
    EGO,
    Action,
    Episode,
    Frame,
    FrameObject,
    Pose,
    Relation,
    Split,
)
from theodolite.worlds.palette import COLOURS, PAINTS, Rgb, blended, shaded

# A house of two rooms with a door, an agent, and things that it can carry: the rules, and an expert that completes missions.
#
# The agent turns, goes forward, picks up, puts down and opens. It carries one thing at a time. Missions are clauses:
# ``go to X``, ``pick up X``, ``open D``, ``put X next to Y``; the expert takes a shortest way for each clause in turn.


SIDE = 9
STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Row and column, facing north, east, south and west."""
MOVES = ("turn left", "turn right", "go forward", "pick up", "put down", "open the door")
Cell = tuple[int, int]


@dataclass(frozen=True, slots=True)
class MissionThing:
    """A thing, or the door."""

    id: str
    colour: str
    category: str
    cell: Cell


@dataclass(frozen=True, slots=True)
class MissionPart:
    """One part of a mission."""

    verb: str
    """``go to``, ``pick up``, ``open`` or ``put next to``."""
    target: str
    second: str = ""
    """For ``put next to``: the id of what it is put next to."""


@dataclass(frozen=True, slots=True)
class State:
    """The state at one moment."""

    cell: Cell
    facing: int
    items: dict[str, MissionThing]
    walls: frozenset[Cell]
    is_open: bool = False
    held: str = ""
    done: tuple[tuple[str, str], ...] = field(default=())
    """The move that led here and the id of what it was done to, if any: one or none."""

    @property
    def front(self) -> Cell:
        """The cell before the agent."""
        return self.cell[0] + STEPS[self.facing][0], self.cell[1] + STEPS[self.facing][1]

    def at(self, cell: Cell) -> MissionThing | None:
        """Return the item in a cell."""
        return next((i for i in self.items.values() if i.cell == cell and i.id != self.held), None)

    def is_free(self, cell: Cell) -> bool:
        """Return whether the agent can go there."""
        item = self.at(cell)
        return cell not in self.walls and (item is None or (item.category == "door" and self.is_open))


def moved(state: State, move: str) -> State | None:
    """Return the state after a move; None if the move has no effect."""
    if move in {"turn left", "turn right"}:
        turn = 1 if move == "turn right" else -1
        return replace(state, facing=(state.facing + turn) % 4, done=((move, ""),))
    front, item = state.front, state.at(state.front)
    if move == "go forward" and state.is_free(front):
        return replace(state, cell=front, done=(("move forward", ""),))
    if move == "open the door" and item is not None and item.category == "door" and not state.is_open:
        return replace(state, is_open=True, done=(("open", item.id),))
    if move == "pick up" and item is not None and item.category != "door" and not state.held:
        return replace(state, held=item.id, done=((move, item.id),))
    if move == "put down" and state.held and item is None and front not in state.walls:
        items = state.items | {state.held: replace(state.items[state.held], cell=front)}
        return replace(state, items=items, held="", done=((move, state.held),))
    return None


def next_moves(state: State, clause: MissionPart) -> tuple[str, ...]:
    """Return all first moves of a shortest way to fulfil a clause; empty if it is fulfilled already, or cannot be.

    >>> start = State((2, 2), 1, {"b": MissionThing("b", "red", "ball", (2, 5))}, frozenset())
    >>> next_moves(start, MissionPart("go to", "b"))
    ('go forward',)
    """
    if clause.verb == "put next to" and state.held != clause.target:
        if _is_next_to(state, clause):
            return ()
        return _first_moves(state, _facing(clause.target), "pick up")
    if clause.verb == "put next to":
        return _first_moves(state, _gap_beside(clause), "put down")
    if clause.verb == "pick up":
        return () if state.held == clause.target else _first_moves(state, _facing(clause.target), "pick up")
    if clause.verb == "open":
        return () if state.is_open else _first_moves(state, _facing(clause.target), "open the door")
    return _first_moves(state, _facing(clause.target), "")


def _facing(target: str) -> Callable[[State], bool]:
    return lambda s: (item := s.at(s.front)) is not None and item.id == target


def _gap_beside(clause: MissionPart) -> Callable[[State], bool]:
    def is_gap(s: State) -> bool:
        other = s.items[clause.second].cell
        front = s.front
        is_beside = abs(front[0] - other[0]) + abs(front[1] - other[1]) == 1
        return is_beside and front not in s.walls and s.at(front) is None

    return is_gap


def _is_next_to(state: State, clause: MissionPart) -> bool:
    a, b = state.items[clause.target].cell, state.items[clause.second].cell
    return state.held != clause.target and abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1


def _first_moves(state: State, is_there: Callable[[State], bool], last: str) -> tuple[str, ...]:
    """Return the first moves of all shortest ways to a state where a condition holds, and `last` if the way is empty."""
    if is_there(state):
        return (last,) if last else ()
    start = (state.cell, state.facing, state.is_open)
    layer: dict[tuple[Cell, int, bool], tuple[State, set[str]]] = {start: (state, set())}
    seen = {start}
    while layer:
        reached = [names for here, names in layer.values() if is_there(here)]
        if reached:
            return tuple(m for m in MOVES if any(m in names for names in reached))
        following: dict[tuple[Cell, int, bool], tuple[State, set[str]]] = {}
        for here, names in layer.values():
            for move in ("turn left", "turn right", "go forward", "open the door"):
                after = moved(here, move)
                if after is None:
                    continue
                key = (after.cell, after.facing, after.is_open)
                if key in seen:
                    continue
                old = following.setdefault(key, (after, set()))
                old[1].update(names or {move})
        seen.update(following)
        layer = following
    return ()


def follow(state: State, clauses: tuple[MissionPart, ...], *, most: int = 60) -> Iterator[tuple[State, int]]:
    """Yield the expert's states, including the first, each with the number of the clause that it serves.

    Args:
        state: The first state.
        clauses: Clauses of the mission, in order.
        most: Maximum number of moves.
    """
    yield state, 0
    steps = 0
    for number, clause in enumerate(clauses):
        while moves := next_moves(state, clause):
            after = moved(
                state, moves[-1] if len(moves) > 1 and "go forward" not in moves else _straight(moves)
            )
            steps += 1
            if after is None or steps > most:
                return
            state = after
            yield state, number


def _straight(moves: tuple[str, ...]) -> str:
    """Return one of several good moves, preferably forward."""
    return "go forward" if "go forward" in moves else moves[0]


def is_kept(state: State, clause: MissionPart) -> bool:
    """Return True if a clause is fulfilled in a state."""
    if clause.verb == "go to":
        return _facing(clause.target)(state)
    return not next_moves(state, clause)


# Pictures of the grid world from above, with exact boxes.


TILE_PX = 28
SIZE_PX = (SIDE * TILE_PX, SIDE * TILE_PX)
_SUPER = 3
THINGS = {"in-distribution": ("ball", "box", "key"), "ood": ("cup", "star", "lamp")}
_Pen = ImageDraw.ImageDraw


def draw_grid(
    state: State, *, blend: float = 0.0, reach: float | None = None
) -> tuple[NDArray[np.uint8], dict[str, Box | None]]:
    """Draw a state, and return the box of each item; None for those in the dark, farther away than `reach` cells.

    Args:
        state: The state to draw.
        blend: Position between the two palettes of floor and wall, from 0 to 1.
        reach: Distance in cells up to which the house is lit. Default: all of it.
    """
    tile = TILE_PX * _SUPER
    canvas = Image.new("RGB", (SIDE * tile, SIDE * tile))
    pen = ImageDraw.Draw(canvas)
    floor = blended((238, 235, 228), (206, 222, 232), blend)
    wall = blended((84, 88, 98), (104, 78, 66), blend)
    for row in range(SIDE):
        for column in range(SIDE):
            _tile(pen, (row, column), floor, wall if (row, column) in state.walls else None)
    boxes: dict[str, Box | None] = {}
    for item in state.items.values():
        if item.id == state.held:
            continue
        patch = icon(item.category, item.colour, state.is_open)
        canvas.paste(patch, (item.cell[1] * tile, item.cell[0] * tile), patch)
        boxes[item.id] = _box(patch, item.cell, 1.0, (0.0, 0.0))
    _agent(pen, state)
    if state.held:
        held = state.items[state.held]
        whole = icon(held.category, held.colour, state.is_open)
        patch = whole.resize((tile // 2, tile // 2), Image.Resampling.LANCZOS)
        corner_px = (state.cell[1] * tile + tile // 4, state.cell[0] * tile + tile // 4)
        pen.ellipse(
            (corner_px[0] - 6, corner_px[1] - 6, corner_px[0] + tile // 2 + 6, corner_px[1] + tile // 2 + 6),
            fill=(255, 255, 255),
        )
        canvas.paste(patch, corner_px, patch)
        boxes[held.id] = _box(whole, state.cell, 0.5, (0.25, 0.25))
    pixels = np.asarray(canvas.resize(SIZE_PX, Image.Resampling.LANCZOS)).astype(float)
    if reach is not None:
        pixels, boxes = _darkened(pixels, boxes, state, reach)
    return pixels.clip(0, 255).astype(np.uint8), boxes


def _darkened(
    pixels: NDArray[np.float64], boxes: dict[str, Box | None], state: State, reach: float
) -> tuple[NDArray[np.float64], dict[str, Box | None]]:
    rows, columns = np.mgrid[:SIDE, :SIDE]
    far = np.maximum(np.abs(rows - state.cell[0]), np.abs(columns - state.cell[1])) > reach
    dark = np.kron(far, np.ones((TILE_PX, TILE_PX), bool))
    pixels[dark] = 34
    lit = {
        i.id: i.id == state.held
        or max(abs(i.cell[0] - state.cell[0]), abs(i.cell[1] - state.cell[1])) <= reach
        for i in state.items.values()
    }
    return pixels, {name: box if lit[name] else None for name, box in boxes.items()}


def _tile(pen: _Pen, cell: Cell, floor: Rgb, wall: Rgb | None) -> None:
    tile = TILE_PX * _SUPER
    x, y = cell[1] * tile, cell[0] * tile
    if wall is None:
        pen.rectangle((x, y, x + tile, y + tile), fill=floor, outline=shaded(floor, 0.88), width=2)
        return
    pen.rectangle((x, y, x + tile, y + tile), fill=wall)
    for k in range(3):
        top = y + k * tile // 3
        pen.line((x, top, x + tile, top), fill=shaded(wall, 0.8), width=3)
        for shift in (0.25, 0.75) if k % 2 else (0.0, 0.5):
            pen.line(
                (x + shift * tile, top, x + shift * tile, top + tile // 3), fill=shaded(wall, 0.8), width=3
            )


def _agent(pen: _Pen, state: State) -> None:
    """Draw an arrow head that points where the agent faces."""
    tile = TILE_PX * _SUPER
    middle = np.array([state.cell[1] + 0.5, state.cell[0] + 0.5]) * tile
    down, right = STEPS[state.facing]
    ahead, side = np.array([right, down]) * tile, np.array([-down, right]) * tile
    corners = (
        middle + 0.42 * ahead,
        middle - 0.36 * ahead + 0.34 * side,
        middle - 0.2 * ahead,
        middle - 0.36 * ahead - 0.34 * side,
    )
    pen.polygon([tuple(map(float, c)) for c in corners], fill=(36, 42, 54), outline=(255, 255, 255))


def _box(patch: Image.Image, cell: Cell, scale: float, shift: tuple[float, float]) -> Box:
    """Return the box of an icon in a cell, in pixels of the picture."""
    x0, y0, x1, y1 = patch.getchannel("A").getbbox() or (0, 0, *patch.size)
    unit = scale / patch.size[0]
    return Box(
        (cell[1] + shift[0] + x0 * unit) * TILE_PX,
        (cell[0] + shift[1] + y0 * unit) * TILE_PX,
        (cell[1] + shift[0] + x1 * unit) * TILE_PX,
        (cell[0] + shift[1] + y1 * unit) * TILE_PX,
    )


@lru_cache(maxsize=128)
def icon(category: str, colour: str, is_open: bool) -> Image.Image:  # noqa: FBT001 - part of the look
    """Draw a thing on a transparent tile."""
    tile = TILE_PX * _SUPER
    image = Image.new("RGBA", (tile, tile))
    pen = ImageDraw.Draw(image)
    paint = PAINTS[colour]

    def at(*shares: float) -> tuple[float, ...]:
        return tuple(s * tile for s in shares)

    if category == "ball":
        pen.ellipse(at(0.16, 0.16, 0.84, 0.84), fill=paint)
        pen.ellipse(at(0.28, 0.26, 0.48, 0.44), fill=shaded(paint, 1.5))
    elif category == "box":
        pen.rectangle(at(0.14, 0.2, 0.86, 0.84), fill=paint, outline=shaded(paint, 0.6), width=5)
        pen.line(at(0.14, 0.42, 0.86, 0.42), fill=shaded(paint, 0.6), width=5)
        pen.rectangle(at(0.43, 0.36, 0.57, 0.5), fill=shaded(paint, 0.6))
    elif category == "key":
        pen.ellipse(at(0.34, 0.08, 0.7, 0.44), outline=paint, width=11)
        pen.rectangle(at(0.47, 0.42, 0.59, 0.92), fill=paint)
        for y in (0.66, 0.82):
            pen.rectangle(at(0.58, y, 0.76, y + 0.1), fill=paint)
    elif category == "cup":
        pen.ellipse(at(0.56, 0.34, 0.92, 0.68), outline=shaded(paint, 0.8), width=9)
        pen.polygon(at(0.16, 0.22, 0.72, 0.22, 0.64, 0.86, 0.24, 0.86), fill=paint)
        pen.ellipse(at(0.16, 0.14, 0.72, 0.32), fill=shaded(paint, 1.35))
    elif category == "star":
        turns = np.arange(10) * np.pi / 5 - np.pi / 2
        radii = np.where(np.arange(10) % 2 == 0, 0.42, 0.18)
        corners = np.stack([0.5 + radii * np.cos(turns), 0.52 + radii * np.sin(turns)], 1)
        pen.polygon(at(*map(float, corners.ravel())), fill=paint, outline=shaded(paint, 0.7))
    elif category == "lamp":
        pen.ellipse(at(0.28, 0.78, 0.72, 0.92), fill=shaded(paint, 0.6))
        pen.rectangle(at(0.46, 0.48, 0.54, 0.86), fill=shaded(paint, 0.6))
        pen.polygon(at(0.34, 0.1, 0.66, 0.1, 0.84, 0.52, 0.16, 0.52), fill=paint)
    elif is_open:
        pen.rectangle(at(0.0, 0.0, 1.0, 1.0), outline=paint, width=14)
    else:
        pen.rectangle(at(0.0, 0.0, 1.0, 1.0), fill=shaded(paint, 0.75))
        pen.rectangle(at(0.1, 0.1, 0.9, 0.9), fill=paint, outline=shaded(paint, 0.6), width=4)
        pen.ellipse(at(0.66, 0.44, 0.8, 0.58), fill=shaded(paint, 0.4))
    return image


# The world of missions: *open the red door, then pick up the blue key*, and an expert's moves seen from above.


N_FRAMES, N_THINGS = 8, 5
LENGTH = (9, 26)
"""The least and the largest number of moves in an episode."""
KINDS = ("next", "done")
TEMPLATES: dict[Split, str] = {"in-distribution": "{0}, then {1}", "ood": "{1} after you {0}"}
"""How two clauses make a mission: the one is never said in the other split."""


@dataclass(frozen=True, slots=True)
class InstructionScenario:
    """Everything that determines an episode."""

    split: Split
    kind: str
    is_upright: bool
    """Whether the wall between the rooms runs from north to south."""
    items: tuple[tuple[str, str, int, int], ...]
    """Colour, category, row and column; the door first."""
    start: tuple[int, int, int]
    """The agent's row, column and facing."""
    mission: tuple[tuple[str, int, int], ...]
    """Verb, and the numbers of one or two items (−1 for none)."""
    share: float = 1.0
    """How much of the expert's way is shown."""
    dark: float = 0.0
    """0 light; at 1 only the cells next to the agent are lit."""
    blend: float = 0.0

    def name(self, index: int) -> str:
        """Return for example *red door*."""
        return " ".join(self.items[index][:2])


def draft_instruction(rng: np.random.Generator, split: Split, index: int) -> InstructionScenario | None:
    """Draft two rooms, a closed door, five things, an agent, and a mission of two clauses."""
    is_upright = split == "in-distribution"
    middle = SIDE // 2
    gap = int(rng.integers(2, SIDE - 2))
    door = (gap, middle) if is_upright else (middle, gap)
    cells = [
        (r, c)
        for r in range(1, SIDE - 1)
        for c in range(1, SIDE - 1)
        if (c if is_upright else r) != middle and abs(r - door[0]) + abs(c - door[1]) > 2
    ]
    order = rng.permutation(len(cells))
    looks = [(c, k) for c in COLOURS[split] for k in THINGS[split]]
    chosen = [looks[int(i)] for i in rng.permutation(len(looks))[:N_THINGS]]
    items = [(str(rng.choice(COLOURS[split])), "door", *door)]
    items += [(*look, *cells[int(i)]) for look, i in zip(chosen, order, strict=False)]
    row, column = cells[int(order[N_THINGS])]
    drafted = InstructionScenario(
        split,
        KINDS[index % 2],
        is_upright,
        tuple(items),
        (row, column, int(rng.integers(4))),
        _mission(rng),
    )
    if drafted.kind == "next":
        return _cut_before(drafted, MOVES[index // 2 % len(MOVES)], rng)
    return drafted if index % 4 == 1 else replace(drafted, share=round(float(rng.uniform(0.35, 0.9)), 3))


def _cut_before(
    scenario: InstructionScenario, move: str, rng: np.random.Generator
) -> InstructionScenario | None:
    """Return the scenario, shown up to just before the expert makes a move; None if the expert never makes it."""
    states, _, _ = _states(scenario)
    verb = {"go forward": "move forward", "open the door": "open"}.get(move, move)
    places = [k for k in range(N_FRAMES, len(states)) if states[k].done[0][0] == verb]
    if not places:
        return None
    shown = places[int(rng.integers(len(places)))]
    return replace(scenario, share=round((shown - 1) / (len(states) - 1), 4))


def _mission(rng: np.random.Generator) -> tuple[tuple[str, int, int], ...]:
    a, b, c = (1 + int(i) for i in rng.permutation(N_THINGS)[:3])
    forms = (
        (("open", 0, -1), ("go to", a, -1)),
        (("pick up", a, -1), ("open", 0, -1)),
        (("go to", a, -1), ("pick up", b, -1)),
        (("open", 0, -1), ("pick up", a, -1)),
        (("go to", a, -1), ("put next to", b, c)),
        (("open", 0, -1), ("put next to", b, c)),
    )
    return forms[int(rng.integers(len(forms)))]


def mission_text(scenario: InstructionScenario) -> str:
    """Return the mission in words.

    >>> from theodolite.worlds.missions import InstructionScenario
    >>> items = (("red", "door", 4, 4), ("blue", "key", 2, 2))
    >>> s = InstructionScenario("ood", "next", True, items, (1, 1, 0), (("open", 0, -1), ("pick up", 1, -1)))
    >>> mission_text(s)
    'pick up the blue key after you open the red door'
    """
    clauses = []
    for verb, a, b in scenario.mission:
        first = f"the {scenario.name(a)}"
        clauses.append(f"put {first} next to the {scenario.name(b)}" if b >= 0 else f"{verb} {first}")
    return TEMPLATES[scenario.split].format(*clauses)


def _states(scenario: InstructionScenario) -> tuple[list[State], list[int], tuple[MissionPart, ...]]:
    """Return all states of the expert, the clause that each serves, and the clauses."""
    ids = [f"{c}-{k}" for c, k, *_ in scenario.items]
    items = {
        i: MissionThing(i, c, k, (row, column))
        for i, (c, k, row, column) in zip(ids, scenario.items, strict=True)
    }
    middle = SIDE // 2
    walls = frozenset(
        (r, c)
        for r in range(SIDE)
        for c in range(SIDE)
        if r in {0, SIDE - 1} or c in {0, SIDE - 1} or (c if scenario.is_upright else r) == middle
    ) - {items[ids[0]].cell}
    clauses = tuple(MissionPart(v, ids[a], ids[b] if b >= 0 else "") for v, a, b in scenario.mission)
    row, column, facing = scenario.start
    way = list(follow(State((row, column), facing, items, walls), clauses))
    return [s for s, _ in way], [n for _, n in way], clauses


def _shown(scenario: InstructionScenario, states: Sequence[State]) -> int:
    """Return how many states are shown."""
    return min(len(states), max(2, round(scenario.share * (len(states) - 1)) + 1))


def is_good_instruction(scenario: InstructionScenario, wanted: int) -> bool:
    """Return whether a draft is worth keeping: the mission is possible, in neither few nor many moves, with one best next move."""
    states, serves, clauses = _states(scenario)
    if not LENGTH[0] <= len(states) - 1 <= LENGTH[1] or not is_kept(states[-1], clauses[-1]):
        return False
    opened = [n for s, n in zip(states, serves, strict=True) if s.is_open]
    if any(c.verb == "open" and opened and opened[0] < k for k, c in enumerate(clauses)):
        return False  # the door had to be opened on the way, before its clause
    n = _shown(scenario, states)
    if n < N_FRAMES or (scenario.kind == "done" and scenario.share < 1 and n >= len(states)):
        return False
    if scenario.kind == "done":
        return True
    if n >= len(states):
        return False
    best = next_moves(states[n - 1], clauses[serves[n]])
    return len(best) == 1 and best[0] == MOVES[wanted % len(MOVES)]


def instruction_episode(scenario: InstructionScenario, name: str) -> Episode:
    """Let the expert act, draw, and ask."""
    states, serves, clauses = _states(scenario)
    n = _shown(scenario, states)
    moments = sorted({round(x) for x in np.linspace(0, n - 1, min(n, N_FRAMES))})
    frames = tuple(_shot(scenario, states[i], i) for i in moments)
    actions = tuple(_actions(states[:n]))
    answer = "yes" if n == len(states) and is_kept(states[-1], clauses[-1]) else "no"
    options: tuple[str, ...] = ("yes", "no")
    task = f"You are the arrow. Your mission: {mission_text(scenario)}. Is the mission accomplished in the last frame?"
    if scenario.kind == "next":
        best = next_moves(states[n - 1], clauses[serves[min(n, len(states) - 1)]])
        answer, options = best[0] if len(best) == 1 else "", MOVES
        task = f"You are the arrow. Your mission: {mission_text(scenario)}. What is the best move to do next?"
    return Episode(
        name,
        task,
        frames,
        answer=answer,
        options=options,
        actions=actions,
        known=dict.fromkeys(ASPECTS, "complete"),
        vocabulary={
            "objects": (*THINGS["in-distribution"], *THINGS["ood"], "door"),
            "actions": ("turn left", "turn right", "move forward", "pick up", "put down", "open", "hold"),
        },
        world="instruction",
        split=scenario.split,
        difficulty={
            "frames": float(len(frames)),
            "objects": float(len(scenario.items)),
            "options": float(len(options)),
            "moves": float(n - 1),
        },
        cluster=name,
        meta={"scenario": dump(scenario), "kind": scenario.kind, "mission": mission_text(scenario)},
    )


def _shot(scenario: InstructionScenario, state: State, index: int) -> Frame:
    reach = None if scenario.dark <= 0 else 1 + round(5 * (1 - scenario.dark))
    pixels, boxes = draw_grid(state, blend=scenario.blend, reach=reach)
    objects = []
    for item in state.items.values():
        cell = state.cell if item.id == state.held else item.cell
        objects.append(
            FrameObject(
                item.id,
                item.category,
                boxes[item.id],
                boxes[item.id] is not None,
                {"colour": item.colour},
                {"open": state.is_open} if item.category == "door" else {},
                (float(cell[1]), float(-cell[0]), 0.0),
            )
        )
    relations = (Relation(EGO, "holding", state.held),) if state.held else ()
    pose = Pose(float(state.cell[1]), float(-state.cell[0]), heading_deg=90.0 * state.facing)
    return Frame(float(index), Picture.from_array(pixels), SIZE_PX, tuple(objects), relations, pose)


def _actions(states: Sequence[State]) -> list[Action]:
    """Return the moves, one per second, and the intervals in which something is held."""
    actions, since = [], None
    for i, state in enumerate(states[1:]):
        for verb, target in state.done:
            actions.append(Action(verb, EGO, (target,) if target else (), float(i), i + 0.9))
        if state.held and since is None:
            since = (i + 1, state.held)
        if since is not None and (not state.held or i == len(states) - 2):
            actions.append(Action("hold", EGO, (since[1],), float(since[0]), float(max(since[0], i))))
            since = None
    return actions


def move_instruction(
    scenario: InstructionScenario, rng: np.random.Generator, magnitude: float
) -> tuple[InstructionScenario, str, float] | None:
    """Move a thing of the mission about `magnitude` times eight cells; the expert acts accordingly."""
    asked = [k for _, a, b in scenario.mission for k in (a, b) if k > 0]
    middle = SIDE // 2
    occupied = {item[2:] for item in scenario.items} | {scenario.start[:2]}
    for _ in range(40):
        k = int(rng.choice(asked))
        row, column = scenario.items[k][2:]
        free = [
            (r, c)
            for r in range(1, SIDE - 1)
            for c in range(1, SIDE - 1)
            if (c if scenario.is_upright else r) != middle
            and (r, c) not in occupied
            and abs(r - scenario.items[0][2]) + abs(c - scenario.items[0][3]) > 2
        ]
        off = np.array([abs(np.hypot(r - row, c - column) - 8 * magnitude) for r, c in free])
        near = np.argsort(off + rng.uniform(0, 0.6, len(off)))
        cell = free[int(near[int(rng.integers(3))])]
        items = tuple((*item[:2], *cell) if i == k else item for i, item in enumerate(scenario.items))
        moved = replace(scenario, items=items)
        states, _, clauses = _states(moved)
        if (
            is_kept(states[-1], clauses[-1])
            and _shown(moved, states) >= N_FRAMES
            and instruction_episode(moved, "x").answer
        ):
            far = float(np.hypot(cell[0] - row, cell[1] - column))
            return moved, "-".join(scenario.items[k][:2]), min(1.0, far / 8)
    return None


def hide_instruction(
    scenario: InstructionScenario, rng: np.random.Generator, magnitude: float
) -> InstructionScenario:
    """Add darkness: only cells within 1 + 5 × (1 − magnitude) of the agent are lit."""
    del rng
    return replace(scenario, dark=magnitude)


def answer_instruction(scenario: InstructionScenario, episode: Episode) -> str:
    """Return the answer after the frames were reordered: the mission is accomplished only if the expert's last frame is last."""
    if scenario.kind == "next":
        return ""
    whole = instruction_episode(scenario, "x")
    shown, expected = episode.frames[-1].picture, whole.frames[-1].picture
    is_last = shown is not None and expected is not None and shown.digest == expected.digest
    return whole.answer if is_last else "no"


def restyle_instruction(scenario: InstructionScenario, magnitude: float) -> InstructionScenario:
    """Change floor and walls."""
    return replace(scenario, blend=magnitude)

"""The world of missions: *open the red door, then pick up the blue key*, and an expert's moves seen from above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
from theodolite.instruments.trace.data.worlds.gridview import SIZE_PX, THINGS, draw_grid
from theodolite.instruments.trace.data.worlds.gridworld import (
    MOVES,
    SIDE,
    Clause,
    Item,
    State,
    follow,
    is_kept,
    next_moves,
)
from theodolite.instruments.trace.data.worlds.palette import COLOURS

N_FRAMES, N_THINGS = 8, 5
LENGTH = (9, 26)
"""The least and the largest number of moves in an episode."""
KINDS = ("next", "done")
TEMPLATES: dict[Split, str] = {"in-distribution": "{0}, then {1}", "ood": "{1} after you {0}"}
"""How two clauses make a mission: the one is never said in the other split."""


@dataclass(frozen=True, slots=True)
class InstructionScenario:
    """All that an episode follows from."""

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

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> InstructionScenario:
        """Out of what `as_json` wrote."""
        return cls(
            **{
                **value,
                "items": tuple((c, k, row, column) for c, k, row, column in value["items"]),
                "start": tuple(value["start"]),
                "mission": tuple((v, a, b) for v, a, b in value["mission"]),
            }
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def name(self, index: int) -> str:
        """*red door*."""
        return " ".join(self.items[index][:2])


def draft_instruction(rng: np.random.Generator, split: Split, index: int) -> InstructionScenario | None:
    """Two rooms, a closed door, five things, an agent, and a mission of two clauses."""
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
    """The scenario shown up to where the expert is about to make a move; None if it never does."""
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
    """The mission in words.

    >>> from theodolite.instruments.trace.data.worlds.instruction import InstructionScenario
    >>> items = (("red", "door", 4, 4), ("blue", "key", 2, 2))
    >>> s = InstructionScenario("ood", "next", True, items, (1, 1, 0), (("open", 0, -1), ("pick up", 1, -1)))
    >>> mission_text(s)
    'pick up the blue key after you open the red door'
    """
    said = []
    for verb, a, b in scenario.mission:
        first = f"the {scenario.name(a)}"
        said.append(f"put {first} next to the {scenario.name(b)}" if b >= 0 else f"{verb} {first}")
    return TEMPLATES[scenario.split].format(*said)


def _states(scenario: InstructionScenario) -> tuple[list[State], list[int], tuple[Clause, ...]]:
    """The expert's whole way, the clause that each moment serves, and the clauses."""
    ids = [f"{c}-{k}" for c, k, *_ in scenario.items]
    items = {
        i: Item(i, c, k, (row, column)) for i, (c, k, row, column) in zip(ids, scenario.items, strict=True)
    }
    middle = SIDE // 2
    walls = frozenset(
        (r, c)
        for r in range(SIDE)
        for c in range(SIDE)
        if r in {0, SIDE - 1} or c in {0, SIDE - 1} or (c if scenario.is_upright else r) == middle
    ) - {items[ids[0]].cell}
    clauses = tuple(Clause(v, ids[a], ids[b] if b >= 0 else "") for v, a, b in scenario.mission)
    row, column, facing = scenario.start
    way = list(follow(State((row, column), facing, items, walls), clauses))
    return [s for s, _ in way], [n for _, n in way], clauses


def _shown(scenario: InstructionScenario, states: Sequence[State]) -> int:
    """How many moments are shown."""
    return min(len(states), max(2, round(scenario.share * (len(states) - 1)) + 1))


def is_good_instruction(scenario: InstructionScenario, wanted: int) -> bool:
    """Whether a draft is worth keeping: the mission can be kept, in neither few nor many moves, with one best next move."""
    states, serves, clauses = _states(scenario)
    if not LENGTH[0] <= len(states) - 1 <= LENGTH[1] or not is_kept(states[-1], clauses[-1]):
        return False
    opened = [n for s, n in zip(states, serves, strict=True) if s.is_open]
    if any(c.verb == "open" and opened and opened[0] < k for k, c in enumerate(clauses)):
        return False  # the door had to be opened on the way, before the mission says so
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
    """Lets the expert act, draws, and asks."""
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
        meta={"scenario": scenario.as_json(), "kind": scenario.kind, "mission": mission_text(scenario)},
    )


def _shot(scenario: InstructionScenario, state: State, index: int) -> Frame:
    reach = None if scenario.dark <= 0 else 1 + round(5 * (1 - scenario.dark))
    pixels, boxes = draw_grid(state, blend=scenario.blend, reach=reach)
    objects = []
    for item in state.items.values():
        cell = state.cell if item.id == state.held else item.cell
        objects.append(
            SceneObject(
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
    """The moves, one a second, and the times in which something is held."""
    found, since = [], None
    for i, state in enumerate(states[1:]):
        for verb, target in state.done:
            found.append(Action(verb, EGO, (target,) if target else (), float(i), i + 0.9))
        if state.held and since is None:
            since = (i + 1, state.held)
        if since is not None and (not state.held or i == len(states) - 2):
            found.append(Action("hold", EGO, (since[1],), float(since[0]), float(max(since[0], i))))
            since = None
    return found


def move_instruction(
    scenario: InstructionScenario, rng: np.random.Generator, magnitude: float
) -> tuple[InstructionScenario, str, float] | None:
    """A thing of the mission lies elsewhere, about `magnitude` times eight cells away; the expert acts accordingly."""
    asked = [k for _, a, b in scenario.mission for k in (a, b) if k > 0]
    middle = SIDE // 2
    taken = {item[2:] for item in scenario.items} | {scenario.start[:2]}
    for _ in range(40):
        k = int(rng.choice(asked))
        row, column = scenario.items[k][2:]
        free = [
            (r, c)
            for r in range(1, SIDE - 1)
            for c in range(1, SIDE - 1)
            if (c if scenario.is_upright else r) != middle
            and (r, c) not in taken
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
    """Darkness: only cells within 1 + 5 × (1 − magnitude) of the agent are lit."""
    del rng
    return replace(scenario, dark=magnitude)


def answer_instruction(scenario: InstructionScenario, episode: Episode) -> str:
    """The answer after the frames were reordered: the mission is accomplished only where the last frame is the expert's last."""
    if scenario.kind == "next":
        return ""
    whole = instruction_episode(scenario, "x")
    here, there = episode.frames[-1].picture, whole.frames[-1].picture
    is_last = here is not None and there is not None and here.digest == there.digest
    return whole.answer if is_last else "no"


def restyle_instruction(scenario: InstructionScenario, magnitude: float) -> InstructionScenario:
    """Another floor and other walls."""
    return replace(scenario, blend=magnitude)

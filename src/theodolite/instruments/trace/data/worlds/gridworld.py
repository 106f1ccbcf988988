"""A house of two rooms with a door, an agent, and things that it can carry: the rules, and an expert that completes missions.

The agent turns, goes forward, picks up, puts down and opens. It carries one thing at a time. Missions are clauses:
``go to X``, ``pick up X``, ``open D``, ``put X next to Y``; the expert takes a shortest way for each clause in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

SIDE = 9
STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Row and column, facing north, east, south and west."""
MOVES = ("turn left", "turn right", "go forward", "pick up", "put down", "open the door")
Cell = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Item:
    """A thing, or the door."""

    id: str
    colour: str
    category: str
    cell: Cell


@dataclass(frozen=True, slots=True)
class Clause:
    """One part of a mission."""

    verb: str
    """``go to``, ``pick up``, ``open`` or ``put next to``."""
    target: str
    second: str = ""
    """For ``put next to``: the id of what it is put next to."""


@dataclass(frozen=True, slots=True)
class State:
    """A moment."""

    cell: Cell
    facing: int
    items: dict[str, Item]
    walls: frozenset[Cell]
    is_open: bool = False
    held: str = ""
    done: tuple[tuple[str, str], ...] = field(default=())
    """The move that led here and the id of what it was done to, if any: one or none."""

    @property
    def front(self) -> Cell:
        """The cell before the agent."""
        return self.cell[0] + STEPS[self.facing][0], self.cell[1] + STEPS[self.facing][1]

    def at(self, cell: Cell) -> Item | None:
        """What stands in a cell."""
        return next((i for i in self.items.values() if i.cell == cell and i.id != self.held), None)

    def is_free(self, cell: Cell) -> bool:
        """Whether the agent can go there."""
        there = self.at(cell)
        return cell not in self.walls and (there is None or (there.category == "door" and self.is_open))


def moved(state: State, move: str) -> State | None:
    """The moment after a move; None if it has no effect."""
    if move in {"turn left", "turn right"}:
        turn = 1 if move == "turn right" else -1
        return replace(state, facing=(state.facing + turn) % 4, done=((move, ""),))
    front, there = state.front, state.at(state.front)
    if move == "go forward" and state.is_free(front):
        return replace(state, cell=front, done=(("move forward", ""),))
    if move == "open the door" and there is not None and there.category == "door" and not state.is_open:
        return replace(state, is_open=True, done=(("open", there.id),))
    if move == "pick up" and there is not None and there.category != "door" and not state.held:
        return replace(state, held=there.id, done=((move, there.id),))
    if move == "put down" and state.held and there is None and front not in state.walls:
        items = state.items | {state.held: replace(state.items[state.held], cell=front)}
        return replace(state, items=items, held="", done=((move, state.held),))
    return None


def next_moves(state: State, clause: Clause) -> tuple[str, ...]:
    """All moves that begin a shortest way to keep a clause; empty if it is kept already, or cannot be kept.

    >>> start = State((2, 2), 1, {"b": Item("b", "red", "ball", (2, 5))}, frozenset())
    >>> next_moves(start, Clause("go to", "b"))
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
    return lambda s: (there := s.at(s.front)) is not None and there.id == target


def _gap_beside(clause: Clause) -> Callable[[State], bool]:
    def is_gap(s: State) -> bool:
        other = s.items[clause.second].cell
        front = s.front
        is_beside = abs(front[0] - other[0]) + abs(front[1] - other[1]) == 1
        return is_beside and front not in s.walls and s.at(front) is None

    return is_gap


def _is_next_to(state: State, clause: Clause) -> bool:
    a, b = state.items[clause.target].cell, state.items[clause.second].cell
    return state.held != clause.target and abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1


def _first_moves(state: State, is_there: Callable[[State], bool], last: str) -> tuple[str, ...]:
    """The first moves of all shortest ways to a state where something holds, and then `last`, if the way is empty."""
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
                there = moved(here, move)
                if there is None:
                    continue
                key = (there.cell, there.facing, there.is_open)
                if key in seen:
                    continue
                old = following.setdefault(key, (there, set()))
                old[1].update(names or {move})
        seen.update(following)
        layer = following
    return ()


def follow(state: State, clauses: tuple[Clause, ...], *, most: int = 60) -> Iterator[tuple[State, int]]:
    """The expert's moments, the first among them, each with the number of the clause that it serves."""
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
    """Of several good moves, forward."""
    return "go forward" if "go forward" in moves else moves[0]


def is_kept(state: State, clause: Clause) -> bool:
    """True if a clause is fulfilled in a state."""
    if clause.verb == "go to":
        return _facing(clause.target)(state)
    return not next_moves(state, clause)

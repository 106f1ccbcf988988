"""TEACh: the driver's side of a dialogue (execution from dialogue history, EDH), with poses, actions and changes of state.

A game's pose is ``[x, y, z, x rotation, y rotation, z rotation]``: z up, the z rotation counter-clockwise from +x, the y rotation
downward; it is given after each movement. *Pan* is a step to the side. Interactions that failed (``success`` 0) are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from pydantic import Field

from theodolite.core.errors import UsageError
from theodolite.core.files import check, read_each, read_json
from theodolite.core.types import Picture
from theodolite.core.views import Form, Name, Number, Whole
from theodolite.instruments.trace.data.dataset import (
    EpisodeSet,
    find_picture,
    picture_folder,
    without_pictures,
)
from theodolite.worlds.episodes import EGO, Action, Episode, Frame, FrameObject, Pose, Relation

DRIVER = 1
MOVES = {
    2: "move forward",
    3: "move backward",
    4: "turn left",
    5: "turn right",
    6: "look up",
    7: "look down",
    8: "move left",
    9: "move right",
}
"""The ids of movements -> what they are called in claims."""
HANDLING = {
    200: "pick up",
    201: "put down",
    202: "open",
    203: "close",
    204: "turn on",
    205: "turn off",
    206: "slice",
    207: "clean",
    209: "fill",
    210: "empty",
    211: "pour",
}
"""The ids of what is done to things."""
_STATES = {
    "isOpen": "open",
    "isToggled": "on",
    "isSliced": "sliced",
    "isDirty": "dirty",
    "isFilledWithLiquid": "filled",
    "isCooked": "cooked",
    "isBroken": "broken",
}


_Six: TypeAlias = tuple[Number, Number, Number, Number, Number, Number]


class _Interaction(Form):
    agent_id: Whole
    action_id: Whole
    time_start: Number
    success: Whole | None = 1
    """None where the log does not tell: then it is taken to have happened."""
    pose: _Six | None = None
    pose_delta: _Six | None = None
    oid: str | None = None
    utterance: str | None = None


class _Position(Form):
    x: Number
    y: Number
    z: Number


class _Thing(Form):
    position: _Position | None = None
    visible: bool | None = None
    isOpen: bool | None = None  # noqa: N815 - as the file names them
    isToggled: bool | None = None  # noqa: N815
    isSliced: bool | None = None  # noqa: N815
    isDirty: bool | None = None  # noqa: N815
    isFilledWithLiquid: bool | None = None  # noqa: N815
    isCooked: bool | None = None  # noqa: N815
    isBroken: bool | None = None  # noqa: N815


class _States(Form):
    objects: dict[str, _Thing] = Field(default_factory=dict)


class _Game(Form):
    instance_id: Name
    game_id: Name
    interactions: list[_Interaction]
    dialog_history_cleaned: tuple[tuple[str, str], ...] = ()
    dialog_history: tuple[tuple[str, str], ...] = ()
    driver_image_history: tuple[str, ...] = ()
    driver_images_future: tuple[str, ...] = ()
    init_state_diff: _States = _States()
    final_state_diff: _States = _States()


def read_teach(path: str | Path, *, images: str | Path | None = None) -> EpisodeSet:
    """Read one episode per EDH instance, with one frame per interaction of the driver and one for the end.

    Args:
        path: An instance's JSON file, or a folder of them.
        images: The folder of pictures, with a subfolder per game; without it frames have no pictures.

    Raises:
        UsageError: There is no such file, none could be read, or there is no such folder of pictures.
    """
    path, pictures = Path(path), picture_folder(images)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    read, problems = read_each(
        [(file.name, file) for file in files],
        lambda file: _episode(check(_Game, read_json(file)), pictures, file),
    )
    episodes = [episode for _, episode in read]
    if not episodes:
        raise UsageError(
            f"{path} holds no usable EDH instance" + (f": {problems[0].reason}" if problems else "")
        )
    problems += without_pictures(episodes, pictures, "<game>/driver.frame.<time>.jpeg")
    return EpisodeSet(tuple(episodes), tuple(problems))


def _episode(game: _Game, images: Path | None, file: Path) -> Episode:
    done = [i for i in game.interactions if i.agent_id == DRIVER and i.action_id in MOVES | HANDLING]
    if not done:
        raise UsageError(f"{game.instance_id}: the driver does nothing")
    poses = list(_poses(done))
    pictures = _pictures(game, images)
    held: list[str] = []
    frames = []
    end = done[-1].time_start + 1.0
    for i, pose in enumerate(poses):
        time_s = done[i].time_start if i < len(done) else end
        states = game.init_state_diff if i == 0 else (game.final_state_diff if i == len(done) else _States())
        things = {thing.id: thing for thing in _things(states)}
        for name in held:
            things.setdefault(name, FrameObject(name, category_of(name)))
        relations = tuple(Relation(EGO, "holding", name) for name in held)
        frames.append(Frame(time_s, pictures.get(time_s), None, tuple(things.values()), relations, pose))
        if i < len(done) and done[i].success != 0 and done[i].oid:
            held = _held(held, done[i])
    commands = [
        text for who, text in game.dialog_history_cleaned or game.dialog_history if who == "Commander"
    ]
    split = file.name.partition("__")[0]
    return Episode(
        game.instance_id,
        " ".join(commands) or "Do as you are told.",
        tuple(frames),
        actions=tuple(_actions(done, end)),
        known={
            "objects": "partial",
            "states": "partial",
            "relations": "partial",
            "actions": "complete",
            "poses": "complete",
        },
        vocabulary={"actions": (*MOVES.values(), *HANDLING.values(), "hold")},
        world="teach",
        split="ood" if "unseen" in f"{file.parent.name} {split}" else "in-distribution",
        difficulty={"frames": float(len(frames)), "turns of dialogue": float(len(game.dialog_history))},
        cluster=game.game_id,
        meta={"part": split if "__" in file.name else file.parent.name},
    )


def _poses(done: Sequence[_Interaction]) -> Iterator[Pose | None]:
    """Yield the pose before each interaction, and the last one.

    The pose before the first movement is computed backwards from the change that the movement made.
    """
    first = next((i for i in done if i.pose is not None), None)
    now = None if first is None else _before(first)
    for step in done:
        yield now
        if step.pose is not None:
            now = _pose(step.pose)
    yield now


def _pose(values: _Six) -> Pose:
    x, y, z, _, down, turn = values
    return Pose(x, y, z, heading_deg=(90.0 - turn) % 360.0, pitch_deg=-down)


def _before(step: _Interaction) -> Pose:
    """Return the pose before a movement, from the pose after it and the change, which is in the driver's own axes."""
    after = _pose(step.pose or (0, 0, 0, 0, 0, 0))
    if step.success == 0 or step.pose_delta is None:
        return after
    ahead, left, up, _, down, turn = step.pose_delta
    heading = math.radians(after.heading_deg)
    return Pose(
        after.x_m - ahead * math.sin(heading) + left * math.cos(heading),
        after.y_m - ahead * math.cos(heading) - left * math.sin(heading),
        after.z_m - up,
        (after.heading_deg + turn) % 360.0,
        after.pitch_deg + down,
    )


def _actions(done: Sequence[_Interaction], end: float) -> Iterator[Action]:
    """Yield the actions that succeeded, each lasting until the next one begins, and the intervals in which an object is held."""
    since: dict[str, float] = {}
    for step, following in zip(done, (*(s.time_start for s in done[1:]), end), strict=True):
        if step.success == 0:
            continue
        verb = (MOVES | HANDLING)[step.action_id]
        until = max(step.time_start, step.time_start + 0.9 * (following - step.time_start))
        yield Action(verb, EGO, (step.oid,) if step.oid else (), step.time_start, until)
        if verb == "pick up" and step.oid:
            since[step.oid] = until
        if verb == "put down":
            for name, start in since.items():
                yield Action("hold", EGO, (name,), start, max(start, step.time_start))
            since.clear()
    for name, start in since.items():
        yield Action("hold", EGO, (name,), start, max(start, end))


def _held(held: list[str], step: _Interaction) -> list[str]:
    verb = HANDLING.get(step.action_id)
    if verb == "pick up" and step.oid:
        return [*held, step.oid]
    return [] if verb == "put down" else held


def _things(states: _States) -> Iterator[FrameObject]:
    """Yield the objects whose state the game records, at the beginning or at the end."""
    for name, state in states.objects.items():
        at = state.position
        yield FrameObject(
            name,
            category_of(name),
            is_visible=bool(state.visible),
            states={
                ours: bool(getattr(state, theirs))
                for theirs, ours in _STATES.items()
                if theirs in state.model_fields_set
            },
            position_m=(at.x, at.z, at.y) if at is not None else None,
        )


def category_of(object_id: str) -> str:
    """Return the noun in an object id of AI2-THOR.

    >>> category_of("CoffeeTable|-02.65|+00.02|+04.06"), category_of("Lettuce|1|2|3|LettuceSliced_6")
    ('coffee table', 'lettuce')
    """
    word = object_id.partition("|")[0].partition("_")[0].removesuffix("Sliced")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", word).casefold()


def _pictures(game: _Game, images: Path | None) -> dict[float, Picture]:
    """Return the pictures of a game by the time in their names."""
    by_time: dict[float, Picture] = {}
    for name in (*game.driver_image_history, *game.driver_images_future) if images is not None else ():
        time = re.fullmatch(r"driver\.frame\.([0-9]+(?:\.[0-9]+)?)\.\w+", name)
        picture = find_picture(images, [f"{game.game_id}/{name}"]) if images is not None and time else None
        if time and picture is not None:
            by_time[float(time[1])] = picture
    return by_time

"""Pairs on drawn pictures of everyday things, and edits of the pictures with their new right answers.

Everything follows from a seed. The pocket twins were trained on pictures of this kind, but not on these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.splits import Split, check_split
from theodolite.core.types import Json, Picture
from theodolite.instruments.compass.data import drawn_pictures as relation
from theodolite.instruments.compass.data.pairs import Pair, Region

__all__ = ["EDITS", "Edit", "drawn_picture", "edited_pair", "moved_alone", "relation_pairs"]

_SEED = 101


def relation_pairs(
    n: int, *, seed: int = 0, split: Split = "free", n_things: int | None = None
) -> list[Pair]:
    """Pairs of named things, the four directions in turn.

    ``meta`` holds the shortcut's direction, the split, and the scene that `edited_pair` edits.

    Args:
        n: Sample size; each pair has its own picture.
        seed: Seed of the draw.
        split: Aligned, crossed or free.
        n_things: On each picture; two to five if not given.

    >>> pair = relation_pairs(1, seed=1, split="aligned")[0]
    >>> pair.direction == pair.meta["shortcut"]
    True
    """
    check_split(split)
    return [_pair(i, seed, split, n_things) for i in range(n)]


def _pair(number: int, seed: int, split: Split, n_things: int | None) -> Pair:
    wanted = relation.DIRECTIONS[number % 4]
    rng = np.random.default_rng([_SEED, seed, number, ("aligned", "crossed", "free").index(split)])
    while True:
        scene = relation.draw_scene(rng, n_things)
        for i, j in rng.permutation(
            [(a, b) for a in range(len(scene.things)) for b in range(len(scene.things)) if a != b]
        ):
            target, reference = scene.things[i], scene.things[j]
            rule = relation.SHORTCUT[target.name, reference.name]
            is_fit = split == "free" or (rule == wanted) == (split == "aligned")
            if relation.direction(target, reference) == wanted and is_fit:
                return _as_pair(
                    f"relation-{split}-{seed}-{number:05d}", scene, (int(i), int(j)), {"split": split}
                )


def _as_pair(name: str, scene: relation.DrawnScene, roles: tuple[int, int], meta: Mapping[str, Json]) -> Pair:
    target, reference = (scene.things[i] for i in roles)
    return Pair(
        id=name,
        picture=Picture.from_array(relation.render(scene)),
        size_px=(relation.SIZE_PX, relation.SIZE_PX),
        reference=Region(reference.name, reference.box),
        target=Region(target.name, target.box),
        direction=str(relation.direction(target, reference)),
        others=tuple(t.box for k, t in enumerate(scene.things) if k not in roles),
        source="pocket",
        meta={
            "shortcut": relation.SHORTCUT[target.name, reference.name],
            "scene": {"things": [[t.name, t.x, t.y, t.side] for t in scene.things], "ground": scene.ground},
            "roles": list(roles),
            **meta,
        },
    )


Edit: TypeAlias = Literal["mirror", "move", "swap", "blank", "ground", "clutter"]
"""``mirror``: positions are mirrored along the axis of the answer, each thing keeps its own look. ``move``: the target goes to
another side of the reference. ``swap``: target and reference exchange places. ``blank``: a grey picture. ``ground``: another
background. ``clutter``: things that are not asked about are removed. The last two do not change the answer."""
EDITS: tuple[Edit, ...] = ("mirror", "move", "swap", "blank", "ground", "clutter")


def edited_pair(pair: Pair, edit: Edit, *, seed: int = 0) -> Pair:
    """The same question about a picture drawn from an edited scene; ``direction`` is the new right answer.

    Args:
        pair: From `relation_pairs`.
        edit: What to change; a blank picture keeps the old direction.
        seed: Seed of random choices of the edit.
    """
    scene, (i, j) = _scene(pair.meta["scene"]), _roles(pair)
    rng = np.random.default_rng([_SEED, seed, scene.ground])
    name, meta = f"{pair.id}/{edit}", {"split": pair.meta["split"], "edit": edit}
    if edit == "blank":
        grey = np.full((relation.SIZE_PX, relation.SIZE_PX, 3), 128, np.uint8)
        return replace(pair, id=name, picture=Picture.from_array(grey), meta={**pair.meta, "edit": edit})
    if edit == "mirror":
        scene = scene.mirrored(across=pair.direction in {"left", "right"})
    elif edit == "swap":
        scene = scene.swapped(i, j)
    elif edit == "ground":
        scene = replace(scene, ground=int(rng.integers(2**31)))
    elif edit == "clutter":
        scene, i, j = replace(scene, things=(scene.things[i], scene.things[j])), 0, 1
    elif edit == "move":
        scene = _moved(scene, i, (i, j), rng) or scene.swapped(i, j)
    else:
        raise UsageError(f"there is no edit {edit!r}; there are {', '.join(EDITS)}")
    return _as_pair(name, scene, (i, j), meta)


def moved_alone(pair: Pair, role: Literal["target", "reference"]) -> Pair | None:
    """The same question after one of the two things moved to where the answer is another one; None if there is no room.

    Args:
        pair: From `relation_pairs`.
        role: Which thing moves.
    """
    scene, roles = _scene(pair.meta["scene"]), _roles(pair)
    moving = roles[0 if role == "target" else 1]
    moved = _moved(scene, moving, roles, np.random.default_rng([_SEED, scene.ground]))
    if moved is None:
        return None
    return _as_pair(pair.id, moved, roles, {"split": pair.meta["split"]})


def drawn_picture(scene: Json) -> Picture:
    """The picture of a scene as a pair's ``meta["scene"]`` holds it."""
    return Picture.from_array(relation.render(_scene(scene)))


def _scene(data: Any) -> relation.DrawnScene:
    return relation.DrawnScene(tuple(relation.PlacedThing(*t) for t in data["things"]), data["ground"])


def _roles(pair: Pair) -> tuple[int, int]:
    target, reference = cast("list[int]", pair.meta["roles"])
    return int(target), int(reference)


def _moved(
    scene: relation.DrawnScene, moving: int, roles: tuple[int, int], rng: np.random.Generator
) -> relation.DrawnScene | None:
    """One thing moved so that target and reference have another direction, clear of the others; None if there is no room."""
    old = relation.direction(scene.things[roles[0]], scene.things[roles[1]])
    for _ in range(2000):
        side = scene.things[moving].side
        x, y = (int(v) for v in rng.integers(2, relation.SIZE_PX - side - 1, 2))
        there = replace(scene.things[moving], x=x, y=y)
        things = tuple(there if k == moving else t for k, t in enumerate(scene.things))
        way = relation.direction(things[roles[0]], things[roles[1]])
        if way not in {None, old} and not any(
            relation.touch(there, t) for k, t in enumerate(things) if k != moving
        ):
            return replace(scene, things=things)
    return None

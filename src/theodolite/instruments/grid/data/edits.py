"""Edits of scenes and questions with known effect on the right answer.

`remove_roles` and `swap_directions` are single edits; `edited_scenes` makes the edits that a diagnosis asks
about. The paper's equation 1 states P(y | do(o_d → o_d′)) = P(y) for every distractor o_d. It needs a condition: o_d′ must
not look like a target inside the valid region, nor like an anchor (`safe_changes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.truth import PLAIN
from theodolite.instruments.grid.data.batch import (
    ADVERSARIAL,
    FIRST_ANCHOR,
    FIRST_TARGET,
    OTHER,
    ROLES,
    SceneBatch,
    answer,
    bag_of_words,
    complete,
    look,
)
from theodolite.instruments.grid.data.question_types import ANCHOR_SIDE, BUCKETS, MOST_SIDES
from theodolite.instruments.grid.data.wording import write_questions
from theodolite.instruments.grid.data.world import MATCHES, OPPOSITE, Flags, Integers
from theodolite.pairs.edits import CLEAR, DECOY, EXCHANGE, MOVE_REFERENCE, MOVE_TARGET

SWAPPED, DECOYED, CLEARED, EMPTIED = "swapped", "decoyed", "cleared", "emptied"
"""The edits: every direction reversed; look-alikes added outside the valid region; unrelated objects removed; all
objects removed."""
EXCHANGED, TARGET_MOVED, ANCHOR_MOVED = "exchanged", "target moved", "anchor moved"
"""The edits of places, which change the right answer: two objects exchange their cells; an object that looks like a target,
or an anchor, moves to an empty cell."""
PICTURE_EDITS = {
    EXCHANGED: EXCHANGE,
    TARGET_MOVED: MOVE_TARGET,
    ANCHOR_MOVED: MOVE_REFERENCE,
    DECOYED: DECOY,
    CLEARED: CLEAR,
}
"""The edits of the picture. A reversed direction is an edit of the question, so it does not show that a model looks."""
_MOST_TRIED = 500
"""Exchanges of two cells that are tried for each scene and edit."""


def harmless_contents(batch: SceneBatch) -> Flags:
    """Contents of each cell that leave the answer unchanged, (n, cells, 1 + classes); class 0 is empty.

    A class is harmless in a cell if it looks like no anchor, and if it looks like no target or the cell is outside V_T.
    """
    questions = batch.questions
    sight = look(batch.world, batch.cells, questions)
    harmless = np.ones((*batch.cells.shape, MATCHES.shape[1]), bool)
    for side in range(sight.alike.shape[1]):
        is_asked = (questions.targets[:, side] > 0)[:, None, None]
        looks = MATCHES[questions.targets[:, side]][:, None, :]
        harmless &= ~(looks & sight.region(side)[:, :, None] & is_asked)
    for k in range(sight.sides.shape[1]):
        looks = MATCHES[questions.anchors[:, k]] & (sight.sides[:, k] > 0)[:, None]
        harmless &= ~looks[:, None, :]
    return harmless


def safe_changes(batch: SceneBatch) -> Flags:
    """Where equation 1 holds: ``[scene, cell, class]`` is True if do(o_d → class) at that cell keeps the answer.

    True only for cells that hold a distractor, and for contents that are harmless there; class 0 removes it.
    """
    is_distractor = np.isin(batch.roles, (ADVERSARIAL, OTHER))
    return harmless_contents(batch) & is_distractor[:, :, None]


def remove_roles(batch: SceneBatch, roles: Sequence[str]) -> SceneBatch:
    """Removes all objects of some roles, such as ``["adversarial"]``, and computes the new answers.

    Anchors cannot be removed: the question would have no answer.
    """
    unknown = [role for role in roles if role not in ROLES or role.startswith("anchor")]
    if unknown:
        raise UsageError(f"{unknown[0]!r} cannot be removed; targets, adversarial and other objects can")
    gone = np.isin(batch.roles, [ROLES.index(role) for role in roles])
    return with_cells(batch, np.where(gone, 0, batch.cells).astype(np.uint8))


def swap_directions(batch: SceneBatch, *, k: int | None = None) -> SceneBatch:
    """Reverses the direction of anchor k (from 0), or of all anchors, and computes the new answers."""
    directions = batch.questions.directions.copy()
    which = slice(None) if k is None else slice(k, k + 1)
    if k is not None and not (ANCHOR_SIDE[batch.bucket, k] > 0).all():
        raise UsageError(f"not every question has an anchor {k + 1}")
    directions[:, which] = OPPOSITE[directions[:, which]]
    questions = replace(batch.questions, directions=directions)
    return complete(
        batch.world, batch.mode, cells=batch.cells, questions=questions, written=write_questions(questions)
    )


def with_cells(batch: SceneBatch, cells: NDArray[np.uint8]) -> SceneBatch:
    """The same questions about other scenes, with new answers."""
    return complete(
        batch.world, batch.mode, cells=cells, questions=batch.questions, written=(batch.words, batch.spans)
    )


@dataclass(frozen=True, slots=True)
class EditedScenes:
    """Scenes after one edit."""

    kind: str
    """One of `PLAIN`, `SWAPPED`, `DECOYED`, `CLEARED`, `EXCHANGED`, `TARGET_MOVED` and `ANCHOR_MOVED`."""
    scenes: SceneBatch
    rows: Integers
    """Which of the given scenes they were."""


def edited_scenes(scenes: SceneBatch, *, seed: int) -> list[EditedScenes]:
    """The scenes as they are and after every edit. A scene that an edit cannot be made of is not among its rows.

    Swapped scenes are those where the right answer changes and a bag of words is wrong afterwards. Decoys are added until
    a bag of words is wrong; the right answer stays. Edits of places are made where the right answer changes; which objects
    there are stays the same, and so do all answers that do not depend on places.

    Args:
        scenes: Scenes of questions with a relation.
        seed: Seed of the places of decoys, and of what is exchanged and moved.
    """
    if not all(BUCKETS[int(bucket)].is_relational for bucket in scenes.bucket):
        raise UsageError("these metrics are about relations: give scenes of relational buckets alone")
    everything = np.arange(len(scenes))
    swapped = swap_directions(scenes)
    is_swapped = (swapped.answer != scenes.answer) & (shortcut_answer(swapped) != swapped.answer)
    decoyed, is_decoyed = _with_decoys(scenes, seed)
    others = scenes.roles == OTHER
    cleared = with_cells(scenes, np.where(others, 0, scenes.cells).astype(np.uint8))
    return [
        EditedScenes(PLAIN, scenes, everything),
        EditedScenes(SWAPPED, swapped.take(is_swapped), everything[is_swapped]),
        EditedScenes(DECOYED, decoyed.take(is_decoyed), everything[is_decoyed]),
        EditedScenes(CLEARED, cleared.take(others.any(axis=1)), everything[others.any(axis=1)]),
        *(move_objects(scenes, kind, [seed, place]) for place, kind in enumerate(_PLACE_EDITS)),
    ]


def shortcut_answer(scenes: SceneBatch) -> NDArray[np.uint8]:
    """The answer of a bag of words, as indices into `World.answers`."""
    return bag_of_words(scenes.world, scenes.cells, scenes.questions)


def _with_decoys(scenes: SceneBatch, seed: int) -> tuple[SceneBatch, Flags]:
    """Look-alikes in empty cells where they are harmless, until a bag of words is wrong."""
    rng = np.random.default_rng(seed)
    cells = scenes.cells.copy()
    done = np.zeros(len(scenes), bool)
    for row in range(len(scenes)):
        one = scenes.take(slice(row, row + 1))
        for side in rng.permutation(MOST_SIDES):
            kind = int(one.questions.targets[0, side])
            changed = _decoyed(one, kind, rng) if kind else None
            if changed is not None:
                cells[row], done[row] = changed, True
                break
    return with_cells(scenes, cells), done


def _decoyed(one: SceneBatch, kind: int, rng: np.random.Generator) -> NDArray[np.uint8] | None:
    """The cells of one scene with as few decoys of a kind as make a bag of words wrong; None if none do."""
    harmless = harmless_contents(one)[0] & MATCHES[kind][None]
    harmless[:, 0] = False
    places = rng.permutation(np.flatnonzero(harmless.any(axis=1) & (one.cells[0] == 0)))
    cells = one.cells.copy()
    for place in places:
        cells[0, place] = rng.choice(np.flatnonzero(harmless[place]))
        if shortcut_answer(with_cells(one, cells))[0] != one.answer[0]:
            return np.asarray(cells[0])
    return None


def _exchanges(one: SceneBatch) -> list[Integers]:
    """The pairs of cells with different objects, (n, 2): first those without an anchor, then those with one."""
    taken = np.flatnonzero(one.cells[0])
    first, second = np.triu_indices(len(taken), 1)
    pairs = np.stack([taken[first], taken[second]], axis=1)
    pairs = pairs[one.cells[0][pairs[:, 0]] != one.cells[0][pairs[:, 1]]]
    has_anchor = _is_anchor(one.roles[0])[pairs].any(axis=1)
    return [pairs[~has_anchor], pairs[has_anchor]]


def _target_moves(one: SceneBatch) -> list[Integers]:
    """Each object that looks like a target, with each empty cell."""
    is_alike = np.isin(one.roles[0], (ADVERSARIAL, *range(FIRST_TARGET, FIRST_TARGET + MOST_SIDES)))
    return [_moves(one, is_alike)]


def _anchor_moves(one: SceneBatch) -> list[Integers]:
    """Each anchor with each empty cell."""
    return [_moves(one, _is_anchor(one.roles[0]))]


_PLACE_EDITS: Mapping[str, Callable[[SceneBatch], list[Integers]]] = {
    EXCHANGED: _exchanges,
    TARGET_MOVED: _target_moves,
    ANCHOR_MOVED: _anchor_moves,
}
"""The pairs of cells of a scene whose contents may be exchanged, in groups of falling preference."""


def _is_anchor(roles: NDArray[np.uint8]) -> Flags:
    return (roles >= FIRST_ANCHOR) & (roles < FIRST_TARGET)


def _moves(one: SceneBatch, is_moved: Flags) -> Integers:
    moved, empty = np.flatnonzero(is_moved), np.flatnonzero(one.cells[0] == 0)
    return np.stack([np.repeat(moved, len(empty)), np.tile(empty, len(moved))], axis=1)


def move_objects(scenes: SceneBatch, kind: str, seed: Sequence[int]) -> EditedScenes:
    """The scenes after an edit of places that changes the answer, of those that have one.

    Args:
        scenes: Scenes of questions with a relation.
        kind: `EXCHANGED`, `TARGET_MOVED` or `ANCHOR_MOVED`.
        seed: Seed of what is exchanged or moved.
    """
    rng = np.random.default_rng(seed)
    cells, done = scenes.cells.copy(), np.zeros(len(scenes), bool)
    for row in range(len(scenes)):
        one = scenes.take(slice(row, row + 1))
        for pairs in _PLACE_EDITS[kind](one):
            changed = _with_other_answer(one, pairs, rng)
            if changed is not None:
                cells[row], done[row] = changed, True
                break
    return EditedScenes(kind, with_cells(scenes, cells).take(done), np.flatnonzero(done))


def _with_other_answer(
    one: SceneBatch, pairs: Integers, rng: np.random.Generator
) -> NDArray[np.uint8] | None:
    """The cells of one scene with two of them exchanged so that the answer changes; None if none of the pairs does that.

    All new answers that the pairs give are equally likely.
    """
    pairs = rng.permutation(pairs)[:_MOST_TRIED]
    rows = np.arange(len(pairs))
    cells = np.repeat(one.cells, len(pairs), axis=0)
    cells[rows[:, None], pairs] = one.cells[0][pairs[:, ::-1]]
    said = answer(one.world, cells, one.questions.take(np.zeros(len(pairs), np.int64)))
    others = np.setdiff1d(said, one.answer)
    if len(others) == 0:
        return None
    return np.asarray(cells[rng.choice(np.flatnonzero(said == rng.choice(others)))])

"""Edits of scenes and questions with known effect on the right answer.

`remove_roles` and `swap_directions` are single edits; `edited_scenes` makes the edits that a diagnosis asks
about. The paper's equation 1 states P(y | do(o_d → o_d′)) = P(y) for every distractor o_d. It needs a condition: o_d′ must
not look like a target inside the valid region, nor like an anchor (`safe_changes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import ADVERSARIAL, OTHER, ROLES, SceneBatch, complete
from theodolite.instruments.grid.data.evaluate import bag_of_words, look
from theodolite.instruments.grid.data.words import write_questions
from theodolite.instruments.grid.data.world import (
    ANCHOR_SIDE,
    BUCKETS,
    MATCHES,
    MOST_SIDES,
    OPPOSITE,
    Flags,
    Integers,
)

PLAIN, SWAPPED, DECOYED, CLEARED, EMPTIED = "plain", "swapped", "decoyed", "cleared", "emptied"
"""The edits: none; every direction reversed; look-alikes added outside the valid region; unrelated objects removed; all
objects removed."""


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
    """One of `PLAIN`, `SWAPPED`, `DECOYED` and `CLEARED`."""
    scenes: SceneBatch
    rows: Integers
    """Which of the given scenes they were."""


def edited_scenes(scenes: SceneBatch, *, seed: int) -> list[EditedScenes]:
    """The scenes as they are and after every edit. A scene that an edit cannot be made of is not among its rows.

    Swapped scenes are those where the right answer changes and a bag of words is wrong afterwards. Decoys are added until
    a bag of words is wrong; the right answer stays.

    Args:
        scenes: Scenes of questions with a relation.
        seed: Seed of the places of decoys.
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

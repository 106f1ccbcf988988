"""Changing scenes and questions on purpose, with equation 1 and the condition under which it really holds.

The paper states P(y | do(o_d → o_d′)) = P(y) for every distractor o_d. That needs a side condition: o_d′ must not look
like a target inside the valid region, nor like an anchor. Removing a distractor is always safe; repainting it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import ADVERSARIAL, OTHER, ROLES, SceneBatch, complete
from theodolite.instruments.grid.data.evaluate import look
from theodolite.instruments.grid.data.words import write_questions
from theodolite.instruments.grid.data.world import ANCHOR_SIDE, MATCHES, OPPOSITE, Flags, Integers


def harmless_contents(batch: SceneBatch) -> Flags:
    """What may stand in each cell without touching the answer, (n, cells, 1 + classes); class 0 is nothing.

    A class is harmless in a cell if it looks like no anchor, and like no target or lies outside that group's V_T.
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
    """Where equation 1 holds: ``[scene, cell, class]`` says whether do(o_d → class) at that cell keeps the answer.

    True only for cells that hold a distractor, and for contents that are harmless there; class 0 removes it.
    """
    is_distractor = np.isin(batch.roles, (ADVERSARIAL, OTHER))
    return harmless_contents(batch) & is_distractor[:, :, None]


def replace_objects(batch: SceneBatch, cells: Integers, classes: NDArray[np.integer]) -> SceneBatch:
    """do(o → o′): puts a class into one cell of each scene (0 empties it) and answers anew.

    Args:
        batch: The scenes.
        cells: One cell for each scene, (n,).
        classes: The new content of that cell, (n,).

    Raises:
        UsageError: an anchor is no longer exactly one object, so that the question has no answer.
    """
    if len(cells) != len(batch) or len(classes) != len(batch):
        raise UsageError(
            f"{len(batch)} scenes need as many cells and classes, got {len(cells)} and {len(classes)}"
        )
    changed = batch.cells.copy()
    changed[np.arange(len(batch)), cells] = classes
    return with_cells(batch, changed)


def move_objects(batch: SceneBatch, sources: Integers, places: Integers) -> SceneBatch:
    """Moves one object of each scene to an empty cell and answers anew.

    A distractor may move to any cell where its class is harmless (`harmless_contents`) without touching the answer.
    """
    rows = np.arange(len(batch))
    if (batch.cells[rows, sources] == 0).any() or (batch.cells[rows, places] > 0).any():
        raise UsageError("an object moves from a cell that holds one to a cell that is empty")
    changed = batch.cells.copy()
    changed[rows, places] = changed[rows, sources]
    changed[rows, sources] = 0
    return with_cells(batch, changed)


def remove_roles(batch: SceneBatch, roles: Sequence[str]) -> SceneBatch:
    """Takes away all objects of some roles, such as ``["adversarial"]``, and answers anew.

    Anchors cannot be taken away: their questions would have no answer.
    """
    unknown = [role for role in roles if role not in ROLES or role.startswith("anchor")]
    if unknown:
        raise UsageError(f"{unknown[0]!r} cannot be removed; targets, adversarial and other objects can")
    gone = np.isin(batch.roles, [ROLES.index(role) for role in roles])
    return with_cells(batch, np.where(gone, 0, batch.cells).astype(np.uint8))


def swap_directions(batch: SceneBatch, *, k: int | None = None) -> SceneBatch:
    """Turns the direction of anchor k (from 0), or of all anchors, into its opposite, and answers anew."""
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
    """The same questions about other scenes, answered anew."""
    return complete(
        batch.world, batch.mode, cells=cells, questions=batch.questions, written=(batch.words, batch.spans)
    )

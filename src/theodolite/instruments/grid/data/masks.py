"""Ground truth as masks: cells and pixels of anchors, targets, look-alikes, other objects and background."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import (
    ADVERSARIAL,
    BACKGROUND,
    FIRST_ANCHOR,
    FIRST_TARGET,
    OTHER,
    ROLES,
    SceneBatch,
)
from theodolite.instruments.grid.data.evaluate import look
from theodolite.instruments.grid.data.words import PHRASES, character_spans
from theodolite.instruments.grid.data.world import MOST_ANCHORS, MOST_SIDES, Flags, class_name

MaskName: TypeAlias = Literal["anchors", "targets", "adversarial", "other", "background", "truth"]

_ANCHORS = tuple(range(FIRST_ANCHOR, FIRST_TARGET))
_TARGETS = tuple(range(FIRST_TARGET, ADVERSARIAL))
_ROLES: dict[MaskName, tuple[int, ...]] = {
    "anchors": _ANCHORS,
    "targets": _TARGETS,
    "adversarial": (ADVERSARIAL,),
    "other": (OTHER,),
    "background": (BACKGROUND,),
    "truth": (*_ANCHORS, *_TARGETS),
}
PARTS: tuple[MaskName, ...] = ("anchors", "targets", "adversarial", "other", "background")
"""The masks that partition a picture. ``truth`` is anchors and targets together: what a right answer depends on."""


def cell_mask(batch: SceneBatch, name: MaskName) -> Flags:
    """A mask at cell level, (n, rows, columns).

    >>> from theodolite.instruments.grid.data.generate import generate
    >>> batch = generate("M-F0-D2", 2, seed=0)
    >>> int(cell_mask(batch, "anchors")[0].sum()), int(cell_mask(batch, "targets")[0].sum()) == int(batch.answer[0])
    (2, True)
    """
    if name not in _ROLES:
        raise UsageError(f"there is no mask {name!r}; there are: {', '.join(_ROLES)}")
    shape = (len(batch), batch.world.rows, batch.world.columns)
    return np.isin(batch.roles, _ROLES[name]).reshape(shape)


def pixel_mask(batch: SceneBatch, name: MaskName) -> Flags:
    """A mask at pixel level, (n, height, width): whole cells."""
    px = batch.world.cell_px
    return cell_mask(batch, name).repeat(px, axis=1).repeat(px, axis=2)


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One object of a scene."""

    cell: int
    class_id: int
    name: str
    """Such as ``red circle``."""
    role: str
    """One of `ROLES`."""
    box_px: tuple[int, int, int, int]
    """Its whole cell: left, top, right, bottom (exclusive)."""
    phrase: str
    """The phrase of the question that names it, one of `PHRASES`; empty for a distractor."""


def scene_objects(batch: SceneBatch, row: int) -> list[SceneObject]:
    """All objects of one scene, row by row from the top left."""
    found = []
    for cell in np.flatnonzero(batch.cells[row]):
        class_id, role = int(batch.cells[row, cell]), ROLES[int(batch.roles[row, cell])]
        phrase = role if role in PHRASES else ""
        found.append(
            SceneObject(
                int(cell), class_id, class_name(class_id), role, batch.world.box_px(int(cell)), phrase
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class SceneRegions:
    """The regions of a question."""

    valid: Flags
    """V_T of each group of targets, (n, 2, cells); all cells for a group that is not in the question."""
    confusers: Flags
    """C_k of each anchor, (n, 4, cells); no cell where there is no anchor k."""


def regions_of(batch: SceneBatch) -> SceneRegions:
    r"""The valid and the confuser regions: V_T = ⋂ V_i, C_k = (⋂_{i≠k} V_i) \ V_k."""
    sight = look(batch.world, batch.cells, batch.questions)
    valid = np.stack([sight.region(side) for side in range(MOST_SIDES)], axis=1)
    confusers = np.zeros((len(batch), MOST_ANCHORS, batch.world.n_cells), bool)
    for k in range(sight.valid.shape[1]):
        confusers[:, k] = sight.confusers(k)
    return SceneRegions(valid, confusers)


def phrase_spans(batch: SceneBatch, row: int) -> dict[str, tuple[int, int]]:
    """The characters of each phrase of the question: first, and one after the last.

    >>> from theodolite.instruments.grid.data.generate import generate
    >>> batch = generate("M-F0-D1", 1, seed=0)
    >>> first, last = phrase_spans(batch, 0)["direction_1"]
    >>> batch.text(0)[first:last] in {"left of", "right of", "above", "below"}
    True
    """
    return character_spans(batch.text(row), batch.spans[row])


def word_roles(batch: SceneBatch) -> NDArray[np.str_]:
    """The role of each word: target, anchor, direction, other, or empty after the end, (n, words)."""
    roles = np.where(batch.words > 0, "other", "").astype("<U9")
    place = np.arange(batch.words.shape[1])[None]
    for phrase, name in enumerate(PHRASES):
        inside = (place >= batch.spans[:, phrase, :1]) & (place < batch.spans[:, phrase, 1:])
        roles[inside] = name.rpartition("_")[0]
    return roles

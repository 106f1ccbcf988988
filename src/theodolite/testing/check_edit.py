"""Check that an edit, a function that fills a part of a photograph, fulfils its contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from theodolite.core.registry import registry
from theodolite.core.types import Pixels
from theodolite.pairs.pictures.filling import Inpainter
from theodolite.testing.findings import Findings, Remark, examine, not_a

_SIZES = ((180, 240), (241, 167), (160, 160))
"""Height and width of the pictures: wide, tall with odd sides, and square."""
_THING = (240, 20, 20)
_FAR = 60.0
"""A fill whose mean differs from the background by more than this, in grey levels, is no background."""


def check_edit(edit: str | Inpainter) -> Findings:
    """Check an edit against its contract, on a smooth, a striped and a noisy background.

    This does not check whether its fills look right: `theodolite ask figures --fill NAME` draws them.

    Args:
        edit: The function, or its name.

    Raises:
        BrokenContractError: If a check fails. The message lists all failures.

    >>> check_edit("copied").remarks
    ()
    """
    tested = registry().entry("edit", edit).load() if isinstance(edit, str) else edit
    if not callable(tested):
        raise not_a("edit", tested, "it is not a function of a picture, a mask and a seed")
    name = edit if isinstance(edit, str) else getattr(edit, "__name__", type(edit).__name__)
    return examine("edit", name, _Trial(cast("Inpainter", tested)), _CHECKS)


@dataclass(frozen=True, slots=True)
class _Case:
    title: str
    background: Pixels
    mask: NDArray[np.bool_]

    def shown(self) -> Pixels:
        """Return the picture with a red thing where it is to be filled."""
        pixels = self.background.copy()
        pixels[self.mask] = _THING
        return pixels


@dataclass(frozen=True, slots=True)
class _Trial:
    edit: Inpainter

    def fill(self, case: _Case, seed: int = 0) -> Pixels:
        return self.edit(case.shown(), case.mask.copy(), seed)


def _cases() -> Iterator[_Case]:
    rng = np.random.default_rng(0)
    for (height, width), title in zip(_SIZES, ("smooth", "striped", "noisy"), strict=True):
        y, x = np.mgrid[:height, :width]
        grey = {
            "smooth": 80 + x / 4 + y / 4,
            "striped": np.where(x // 6 % 2 == 0, 90.0, 130.0),
            "noisy": rng.normal(120, 12, (height, width)),
        }[title]
        mask = np.hypot((x - width / 2) / 14, (y - height / 2) / 10) < 1
        background = np.repeat(np.clip(grey, 0, 255)[..., None], 3, axis=2).round().astype(np.uint8)
        yield _Case(title, background, mask)


def _returns_a_picture_of_the_same_size(trial: _Trial) -> Iterator[str]:
    for case in _cases():
        filled: object = trial.fill(case)
        if not isinstance(filled, np.ndarray):
            yield f"it returned a {type(filled).__name__}, not an array"
        elif filled.dtype != np.uint8 or filled.shape != case.background.shape:
            yield f"it returned {filled.dtype} of shape {filled.shape}, not uint8 of shape {case.background.shape}"


def _fills_with_background(trial: _Trial) -> Iterator[str]:
    for case in _cases():
        inside = np.asarray(trial.fill(case), np.float64)[case.mask]
        if np.abs(inside - _THING).max() == 0:
            yield f"on a {case.title} background the masked part is as it was"
        elif np.abs(inside.mean(axis=0) - case.background[~case.mask].mean(axis=0)).max() > _FAR:
            yield Remark(f"on a {case.title} background the fill has quite another colour")


def _does_not_read_what_it_replaces(trial: _Trial) -> Iterator[str]:
    for case in _cases():
        other = case.shown()
        other[case.mask] = (10, 40, 250)
        if not np.array_equal(trial.fill(case)[case.mask], trial.edit(other, case.mask.copy(), 0)[case.mask]):
            yield Remark(f"on a {case.title} background the fill depends on the object that it replaces")


def _is_deterministic(trial: _Trial) -> Iterator[str]:
    for case in _cases():
        if not np.array_equal(trial.fill(case, 7), trial.fill(case, 7)):
            yield f"on a {case.title} background the same seed gives different pictures"


def _leaves_its_arguments_unchanged(trial: _Trial) -> Iterator[str]:
    for case in _cases():
        shown, mask = case.shown(), case.mask.copy()
        trial.edit(shown, mask, 0)
        if not np.array_equal(shown, case.shown()):
            yield "it changes the picture that it is given; work on a copy"
        if not np.array_equal(mask, case.mask):
            yield "it changes the mask that it is given; work on a copy"


_CHECKS: tuple[Callable[[_Trial], Iterator[str]], ...] = (
    _returns_a_picture_of_the_same_size,
    _fills_with_background,
    _does_not_read_what_it_replaces,
    _is_deterministic,
    _leaves_its_arguments_unchanged,
)
